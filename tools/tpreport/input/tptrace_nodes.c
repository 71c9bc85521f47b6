/* SPDX-License-Identifier: MIT */
#include "input/tptrace_nodes.h"

#include <errno.h>
#include <stdlib.h>

#define COPIES_MAX 16 /* of copies */

int tptrace_nodes_take(struct tptrace_nodes *nodes, const struct tptrace_source *source,
                       const uint64_t *record, const struct tp_stream *stream)
{
    const struct tp_stream_range *range;
    void **note;

    if (nodes->count == nodes->capacity) {
        size_t capacity = nodes->capacity ? nodes->capacity * 2 : 64;
        struct tptrace_node_item *items = realloc(nodes->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        nodes->items = items;
        nodes->capacity = capacity;
    }
    bool is_inside = tp_stream_top(stream, &range, &note);
    nodes->items[nodes->count++] = (struct tptrace_node_item){
        .user = source->user,
        .node = record[4],
        .original = record[5],
        .ordinal = source->ordinal,
        .sequence = is_inside ? range->sequence : 0,
        .name = is_inside ? range->name->name : TP_STRING_NONE,
    };
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct tptrace_node_item *left = a, *right = b;

    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    return (left->node > right->node) - (left->node < right->node);
}

/* One told twice by a thread: the first time counts. */
static int compare_nodes(const void *a, const void *b)
{
    const struct tptrace_node_item *left = a, *right = b;
    int order = compare_keys(a, b);

    if (order)
        return order;
    if (left->ordinal != right->ordinal)
        return left->ordinal < right->ordinal ? -1 : 1;
    return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

void tptrace_nodes_sort(struct tptrace_nodes *nodes)
{
    size_t kept = 0;

    if (nodes->count)
        qsort(nodes->items, nodes->count, sizeof(*nodes->items), compare_nodes);
    for (size_t i = 0; i < nodes->count; i++) {
        if (!kept || compare_keys(&nodes->items[kept - 1], &nodes->items[i]))
            nodes->items[kept++] = nodes->items[i];
    }
    nodes->count = kept;
}

uint32_t tptrace_nodes_origin(const struct tptrace_nodes *nodes, uint64_t user, uint64_t node)
{
    struct tptrace_node_item key = {.user = user, .node = node};
    uint32_t name = TP_STRING_NONE;

    for (int copies = 0; key.node && nodes->count && copies < COPIES_MAX; copies++) {
        const struct tptrace_node_item *found =
            bsearch(&key, nodes->items, nodes->count, sizeof(key), compare_keys);
        if (!found)
            break;
        name = found->name;
        key.node = found->original;
    }
    return name;
}

void tptrace_nodes_fini(struct tptrace_nodes *nodes)
{
    free(nodes->items);
    *nodes = (struct tptrace_nodes){0};
}
