/* SPDX-License-Identifier: MIT
 * Where the nodes of graphs were captured. A launch replays them somewhere else, and a graph that
 * is made ready to run has copies of them. */
#include <errno.h>
#include <stdlib.h>

#include "input/tptrace_list.h"

#define COPIES_MAX 16 /* of copies */

int tptrace_list_take_node(struct tptrace_list *list, const struct tptrace_source *source,
                           const uint64_t *record, const struct tp_stream *stream)
{
    if (list->node_count == list->node_capacity) {
        size_t capacity = list->node_capacity ? list->node_capacity * 2 : 64;
        struct tptrace_node_item *nodes = realloc(list->nodes, capacity * sizeof(*nodes));
        if (!nodes)
            return -ENOMEM;
        list->nodes = nodes;
        list->node_capacity = capacity;
    }
    list->nodes[list->node_count] = (struct tptrace_node_item){
        .user = source->user,
        .node = record[4],
        .original = record[5],
        .ordinal = source->ordinal,
        .sequence = tp_stream_innermost(stream),
    };
    list->node_count++;
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

static size_t drop_twins(struct tptrace_node_item *nodes, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!kept || compare_keys(&nodes[kept - 1], &nodes[i]))
            nodes[kept++] = nodes[i];
    }
    return kept;
}

/* The node itself, or the one that it is a copy of. */
static const struct tptrace_node_item *find_original(const struct tptrace_list *list, uint64_t user,
                                                     uint64_t number)
{
    const struct tptrace_node_item *found = NULL;
    struct tptrace_node_item key = {.user = user, .node = number};

    for (int copies = 0; key.node && copies < COPIES_MAX; copies++) {
        const struct tptrace_node_item *node =
            bsearch(&key, list->nodes, list->node_count, sizeof(key), compare_keys);
        if (!node)
            break;
        found = node;
        key.node = node->original;
    }
    return found;
}

void tptrace_list_join_nodes(struct tptrace_list *list)
{
    if (!list->node_count)
        return;
    qsort(list->nodes, list->node_count, sizeof(*list->nodes), compare_nodes);
    list->node_count = drop_twins(list->nodes, list->node_count);
    for (size_t i = 0; i < list->work_count; i++) {
        struct tptrace_work_item *work = &list->works[i];
        const struct tptrace_node_item *node =
            find_original(list, work->user, work->activity.graph_node);
        size_t range = node && node->sequence ? tptrace_items_find(list->items, list->count,
                                                                   node->ordinal, node->sequence)
                                              : TPTRACE_NO_ITEM;
        if (range != TPTRACE_NO_ITEM)
            work->captured_in = list->items[range].event.name;
    }
}
