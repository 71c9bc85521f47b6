/* SPDX-License-Identifier: MIT */
#include "model/launch_tree.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_NODES 128
#define FEW_CHILDREN 8 /* are not hashed */

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
    *tree = (struct tp_launch_tree){.moved = tree->moved, .context = tree->context};
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

static struct tp_launch_node *find_hashed(const struct tp_launch_tree *tree,
                                          const struct tp_launch_node *parent,
                                          const struct tp_launch_key *key)
{
    struct tp_launch_node *node = tree->slots[hash_of(parent, key) & (tree->slot_count - 1)];

    while (node && (node->parent != parent || !same_key(&node->key, key)))
        node = node->hash_next;
    return node;
}

/* A program does things in the same order again and again. */
static struct tp_launch_node *find_child(const struct tp_launch_tree *tree,
                                         struct tp_launch_node *parent,
                                         const struct tp_launch_key *key)
{
    struct tp_launch_node *node = parent->hint ? parent->hint->next_sibling : NULL;

    if (!parent->first_child)
        return NULL;
    if (!node)
        node = parent->first_child;
    if (!same_key(&node->key, key)) {
        if (parent->is_hashed)
            node = find_hashed(tree, parent, key);
        else
            for (node = parent->first_child; node && !same_key(&node->key, key);)
                node = node->next_sibling;
    }
    if (node)
        parent->hint = node;
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
    tree->hashed_count--;
}

/* Without memory chains are longer, or children are looked for one by one. */
static bool make_slots(struct tp_launch_tree *tree)
{
    size_t count = tree->slot_count ? tree->slot_count * 2 : 256;
    struct tp_launch_node **old = tree->slots;
    size_t old_count = tree->slot_count;

    if (tree->hashed_count < tree->slot_count)
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

static void hash_child(struct tp_launch_tree *tree, struct tp_launch_node *node)
{
    put_in_slot(tree, node);
    tree->hashed_count++;
}

static void link_child(struct tp_launch_tree *tree, struct tp_launch_node *parent,
                       struct tp_launch_node *node)
{
    node->parent = parent;
    node->next_sibling = NULL;
    node->previous_sibling = parent->last_child;
    if (parent->last_child)
        parent->last_child->next_sibling = node;
    else
        parent->first_child = node;
    parent->last_child = parent->hint = node;
    tree->node_count++;
    if (parent->is_hashed && make_slots(tree)) {
        hash_child(tree, node);
    } else if (++parent->child_count > FEW_CHILDREN && !parent->is_hashed && make_slots(tree)) {
        parent->is_hashed = true;
        for (struct tp_launch_node *n = parent->first_child; n; n = n->next_sibling)
            hash_child(tree, n);
    }
}

static void unlink_child(struct tp_launch_tree *tree, struct tp_launch_node *node)
{
    struct tp_launch_node *parent = node->parent;

    if (parent->is_hashed)
        take_from_slot(tree, node);
    if (node->previous_sibling)
        node->previous_sibling->next_sibling = node->next_sibling;
    else
        parent->first_child = node->next_sibling;
    if (node->next_sibling)
        node->next_sibling->previous_sibling = node->previous_sibling;
    else
        parent->last_child = node->previous_sibling;
    parent->hint = NULL;
    parent->child_count -= !parent->is_hashed;
    tree->node_count--;
}

/* ---- merging ---- */

static void add_sums(struct tp_launch_sums *into, const struct tp_launch_sums *from)
{
    into->device_ns += from->device_ns;
    into->calls_ns += from->calls_ns;
    into->memory = (int64_t)((uint64_t)into->memory + (uint64_t)from->memory);
}

/* A node without children goes to @into: its sums, and who refers to it. */
static void dissolve(struct tp_launch_tree *tree, struct tp_launch_node *into,
                     struct tp_launch_node *node)
{
    add_sums(&into->sums, &node->sums);
    add_sums(&into->below, &node->below);
    node->forward = tp_launch_hold(into);
    if (node->id && node->references == 1 + node->id_count && tree->moved)
        tree->moved(tree->context, node, into);
    tp_launch_release(tree, node);
}

/* The children of @node go to @into, and so on for those that it has already. Depth first, and the
 * way back is the nodes' own: a node is dissolved when it has no children left. */
static void merge(struct tp_launch_tree *tree, struct tp_launch_node *into,
                  struct tp_launch_node *node)
{
    struct tp_launch_node *top = node;

    for (;;) {
        struct tp_launch_node *child = node->first_child;
        if (child) {
            struct tp_launch_node *there = find_child(tree, into, &child->key);
            if (there) {
                into = there;
                node = child;
                continue;
            }
            unlink_child(tree, child);
            link_child(tree, into, child);
            continue;
        }
        struct tp_launch_node *up = node->parent;
        if (node != top)
            unlink_child(tree, node);
        dissolve(tree, into, node);
        if (node == top)
            return;
        node = up;
        into = into->parent;
    }
}

void tp_launch_fold(struct tp_launch_tree *tree, struct tp_launch_node *into,
                    struct tp_launch_node *node)
{
    merge(tree, into, node);
}

void tp_launch_adopt(struct tp_launch_tree *tree, struct tp_launch_node *parent,
                     struct tp_launch_node *node)
{
    struct tp_launch_node *there = find_child(tree, parent, &node->key);

    if (there)
        merge(tree, there, node);
    else
        link_child(tree, parent, node);
}

struct tp_launch_node *tp_launch_child(struct tp_launch_tree *tree, struct tp_launch_node *parent,
                                       const struct tp_launch_key *key)
{
    struct tp_launch_node *node = find_child(tree, parent, key);

    if (node)
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
        result = tell_node(node, tell, context);
        if (!node->first_child && node->references == 1) {
            unlink_child(tree, node);
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
