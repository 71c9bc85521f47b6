/* SPDX-License-Identifier: MIT */
#include "model/launch_tree.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_NODES 128

struct tp_launch_chunk {
    struct tp_launch_chunk *next;
    struct tp_launch_node nodes[CHUNK_NODES];
};

void tp_launch_tree_fini(struct tp_launch_tree *tree)
{
    for (struct tp_launch_chunk *chunk = tree->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(tree->slots);
    *tree = (struct tp_launch_tree){0};
}

static bool more_nodes(struct tp_launch_tree *tree)
{
    struct tp_launch_chunk *chunk = malloc(sizeof(*chunk));

    if (!chunk)
        return false;
    chunk->next = tree->chunks;
    tree->chunks = chunk;
    for (size_t i = 0; i < CHUNK_NODES; i++) {
        chunk->nodes[i].references = 0;
        chunk->nodes[i].next_sibling = tree->spare;
        tree->spare = &chunk->nodes[i];
    }
    return true;
}

struct tp_launch_node *tp_launch_open(struct tp_launch_tree *tree, const struct tp_launch_key *key)
{
    if (!tree->spare && !more_nodes(tree))
        return NULL;
    struct tp_launch_node *node = tree->spare;
    tree->spare = node->next_sibling;
    *node = (struct tp_launch_node){.key = *key, .references = 1};
    return node;
}

void tp_launch_release(struct tp_launch_tree *tree, struct tp_launch_node *node)
{
    while (node && !--node->references) { /* only what was merged is given up by all */
        struct tp_launch_node *forward = node->forward;
        node->next_sibling = tree->spare;
        tree->spare = node;
        node = forward;
    }
}

struct tp_launch_node *tp_launch_find(struct tp_launch_tree *tree, struct tp_launch_node **node)
{
    struct tp_launch_node *found = *node;

    if (!found->forward)
        return found;
    while (found->forward)
        found = found->forward;
    tp_launch_hold(found);
    tp_launch_release(tree, *node);
    *node = found;
    return found;
}

/* ---- children by key ---- */

static size_t hash_of(const struct tp_launch_node *parent, const struct tp_launch_key *key)
{
    uint64_t hash = (uintptr_t)parent * UINT64_C(0x9e3779b97f4a7c15) ^
                    (uintptr_t)key->name * UINT64_C(0xd6e8feb86659fd93) ^
                    key->shapes * UINT64_C(0x9fb21c651e98df25) ^ (uint64_t)key->kind << 32 ^
                    (uint64_t)key->scope << 40;

    return (size_t)(hash ^ hash >> 29);
}

static bool same_key(const struct tp_launch_key *a, const struct tp_launch_key *b)
{
    return a->name == b->name && a->shapes == b->shapes && a->kind == b->kind &&
           a->scope == b->scope;
}

static struct tp_launch_node *find_child(const struct tp_launch_tree *tree,
                                         const struct tp_launch_node *parent,
                                         const struct tp_launch_key *key)
{
    if (!tree->slot_count)
        return NULL;
    struct tp_launch_node *node = tree->slots[hash_of(parent, key) & (tree->slot_count - 1)];
    while (node && (node->parent != parent || !same_key(&node->key, key)))
        node = node->hash_next;
    return node;
}

static void put_in_slot(struct tp_launch_tree *tree, struct tp_launch_node *node)
{
    struct tp_launch_node **slot =
        &tree->slots[hash_of(node->parent, &node->key) & (tree->slot_count - 1)];

    node->hash_next = *slot;
    *slot = node;
}

static void take_from_slot(struct tp_launch_tree *tree, struct tp_launch_node *node)
{
    struct tp_launch_node **link =
        &tree->slots[hash_of(node->parent, &node->key) & (tree->slot_count - 1)];

    while (*link != node)
        link = &(*link)->hash_next;
    *link = node->hash_next;
    tree->node_count--;
}

/* Without memory chains are longer, that is all; there is a first table or no node has a parent. */
static bool make_slots(struct tp_launch_tree *tree)
{
    size_t count = tree->slot_count ? tree->slot_count * 2 : 256;
    struct tp_launch_node **old = tree->slots;
    size_t old_count = tree->slot_count;

    if (tree->node_count < tree->slot_count)
        return true;
    struct tp_launch_node **slots = calloc(count, sizeof(*slots));
    if (!slots)
        return tree->slot_count != 0;
    tree->slots = slots;
    tree->slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct tp_launch_node *node = old[i], *next; node; node = next) {
            next = node->hash_next;
            put_in_slot(tree, node);
        }
    }
    free(old);
    return true;
}

/* ---- merging ---- */

static void link_child(struct tp_launch_tree *tree, struct tp_launch_node *parent,
                       struct tp_launch_node *node)
{
    node->parent = parent;
    node->next_sibling = parent->first_child;
    parent->first_child = node;
    put_in_slot(tree, node);
    tree->node_count++;
}

static void add_sums(struct tp_launch_sums *into, const struct tp_launch_sums *from)
{
    into->device_ns += from->device_ns;
    into->calls_ns += from->calls_ns;
    into->memory = (int64_t)((uint64_t)into->memory + (uint64_t)from->memory);
}

/* One level of a merge: @node's sums and its reference go to @into; its children are left to the
 * caller, as a list. */
static struct tp_launch_node *dissolve(struct tp_launch_tree *tree, struct tp_launch_node *into,
                                       struct tp_launch_node *node)
{
    struct tp_launch_node *children = node->first_child;

    add_sums(&into->sums, &node->sums);
    add_sums(&into->below, &node->below);
    node->first_child = NULL;
    node->forward = tp_launch_hold(into);
    tp_launch_release(tree, node);
    return children;
}

/* Give a list of @from's children to @into. Those that it has already are dissolved in turn; what
 * is to be done waits in their own parent links, so that no depth is too deep. */
static void move_children(struct tp_launch_tree *tree, struct tp_launch_node *into,
                          struct tp_launch_node *children)
{
    struct work {
        struct tp_launch_node *into, *children;
    } *stack = NULL, first = {into, children};
    size_t depth = 0, capacity = 0;

    for (struct work work = first;;) {
        struct tp_launch_node *child = work.children;
        if (!child) {
            if (!depth)
                break;
            work = stack[--depth];
            continue;
        }
        work.children = child->next_sibling;
        take_from_slot(tree, child);
        struct tp_launch_node *there = find_child(tree, work.into, &child->key);
        if (!there) {
            link_child(tree, work.into, child);
            continue;
        }
        struct tp_launch_node *below = dissolve(tree, there, child);
        if (!below)
            continue;
        if (depth == capacity) {
            struct work *grown = realloc(stack, (capacity * 2 + 8) * sizeof(*stack));
            tree->failed |= !grown;
            if (!grown)
                continue;
            stack = grown;
            capacity = capacity * 2 + 8;
        }
        stack[depth++] = work;
        work = (struct work){there, below};
    }
    free(stack);
}

void tp_launch_fold(struct tp_launch_tree *tree, struct tp_launch_node *into,
                    struct tp_launch_node *node)
{
    struct tp_launch_node *children = dissolve(tree, into, node);

    if (children)
        move_children(tree, into, children);
}

void tp_launch_adopt(struct tp_launch_tree *tree, struct tp_launch_node *parent,
                     struct tp_launch_node *node)
{
    struct tp_launch_node *there = find_child(tree, parent, &node->key);

    if (there)
        tp_launch_fold(tree, there, node);
    else if (make_slots(tree))
        link_child(tree, parent, node);
    else
        tp_launch_fold(tree, parent, node);
}

struct tp_launch_node *tp_launch_child(struct tp_launch_tree *tree, struct tp_launch_node *parent,
                                       const struct tp_launch_key *key)
{
    struct tp_launch_node *node = find_child(tree, parent, key);

    if (node || !make_slots(tree))
        return node;
    node = tp_launch_open(tree, key);
    if (node)
        link_child(tree, parent, node);
    return node;
}

static struct tp_launch_node *deepest_first(struct tp_launch_node *node)
{
    while (node->first_child)
        node = node->first_child;
    return node;
}

static int tell_node(struct tp_launch_node *node, tp_launch_tell *tell, void *context)
{
    struct tp_launch_sums own = node->sums, total = node->below;

    node->sums = node->below = (struct tp_launch_sums){0};
    add_sums(&total, &own);
    if (!(total.device_ns | total.calls_ns | total.memory | own.device_ns | own.calls_ns |
          own.memory))
        return 0;
    add_sums(&node->parent->below, &total);
    return tell(context, &node->key, &own, &total);
}

/* Below @top; what nobody refers to goes. */
static int tell_below(struct tp_launch_tree *tree, struct tp_launch_node *top, tp_launch_tell *tell,
                      void *context)
{
    struct tp_launch_node *node = deepest_first(top);
    int result = 0;

    while (node != top && !result) {
        struct tp_launch_node *next = node->next_sibling, *parent = node->parent;
        struct tp_launch_node **kept = &parent->first_child;
        result = tell_node(node, tell, context);
        if (!node->first_child && node->references == 1) {
            take_from_slot(tree, node);
            while (*kept != node)
                kept = &(*kept)->next_sibling;
            *kept = next;
            tp_launch_release(tree, node);
        }
        node = next ? deepest_first(next) : parent;
    }
    return result;
}

int tp_launch_tree_tell(struct tp_launch_tree *tree, tp_launch_tell *tell, void *context)
{
    int result = tell_below(tree, &tree->root, tell, context);

    for (struct tp_launch_chunk *chunk = tree->chunks; chunk && !result; chunk = chunk->next) {
        for (size_t i = 0; i < CHUNK_NODES && !result; i++) {
            struct tp_launch_node *node = &chunk->nodes[i];
            if (node->references && !node->parent && !node->forward)
                result = tell_below(tree, node, tell, context);
        }
    }
    tree->limit = tree->node_count;
    return result;
}
