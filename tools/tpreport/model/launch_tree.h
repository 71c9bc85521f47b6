/* SPDX-License-Identifier: MIT
 * Call paths that launched work, with sums. What a device did is known long after the ranges that
 * launched it have ended, and which range is a range's parent is known when it ends. So a range
 * that calls CUDA gets a node of its own; when it ends the node is merged into the one of its
 * parent that stands for the same path, which forwards whoever still refers to it. What is left
 * grows with the number of different paths and of launches under way, not with the number of
 * launches. */
#ifndef TP_MODEL_LAUNCH_TREE_H
#define TP_MODEL_LAUNCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/stream.h"

#define TP_LAUNCH_NODES 4096u

/* What ranges of one path have in common. */
struct tp_launch_key {
    const struct tp_stream_name *name; /* NULL: the root */
    uint32_t shapes;                   /* name id, when these tell ranges apart; else 0 */
    uint8_t kind;                      /* of the begin record */
    uint8_t scope;                     /* of an operator; else 0 */
};

/* Of the ranges themselves, without what is below them. */
struct tp_launch_sums {
    int64_t device_ns;
    int64_t calls_ns; /* in calls of CUDA, which are rows of their own */
    int64_t memory;   /* of the device: allocated minus freed */
};

/* What finding one takes comes first: it fits a line of the cache. */
struct tp_launch_node {
    struct tp_launch_key key;
    struct tp_launch_node *next_sibling;
    struct tp_launch_node *hint;    /* the child that was found last */
    struct tp_launch_node *forward; /* merged into this one */
    struct tp_launch_node *parent, *first_child;
    uint32_t references;
    bool is_hashed; /* its children are */
    struct tp_launch_sums sums;
    uint32_t id, id_count; /* calls with ids in a row: who alone refers to it; 0 nobody */
    struct tp_launch_node *last_child, *previous_sibling;
    struct tp_launch_node *hash_next; /* among the children of a node that has many */
    uint32_t child_count;
    struct tp_launch_sums below; /* of ranges below that were told already */
};

/* Start from zeros. */
struct tp_launch_tree {
    struct tp_launch_node root;
    struct tp_launch_node **slots; /* (parent, key) to node, chained */
    size_t slot_count, hashed_count;
    size_t node_count; /* nodes with a parent */
    /* a node is merged into another one: may the references of its ids move? NULL: never */
    void (*moved)(void *context, struct tp_launch_node *from, struct tp_launch_node *to);
    void *context;
    size_t limit; /* so many were left when it was told last */
    struct tp_launch_node *spare;
    struct tp_launch_chunk *chunks;
    bool failed; /* the owner's: out of memory */
};

/** tp_launch_tree_fini - frees all nodes, whoever refers to them */
void tp_launch_tree_fini(struct tp_launch_tree *tree);

/** tp_launch_open - a node for a range; the caller's reference. Return: NULL without memory. */
struct tp_launch_node *tp_launch_open(struct tp_launch_tree *tree, const struct tp_launch_key *key);

/** tp_launch_hold - one more reference */
static inline struct tp_launch_node *tp_launch_hold(struct tp_launch_node *node)
{
    node->references++;
    return node;
}

/** tp_launch_release - give up a reference */
void tp_launch_release(struct tp_launch_tree *tree, struct tp_launch_node *node);

/** tp_launch_find - the node that stands for *@node now; the reference moves on to it */
struct tp_launch_node *tp_launch_find(struct tp_launch_tree *tree, struct tp_launch_node **node);

/**
 * tp_launch_adopt - a range has ended below another one
 * @parent: stands for itself
 * @node: the caller's reference goes over
 */
void tp_launch_adopt(struct tp_launch_tree *tree, struct tp_launch_node *parent,
                     struct tp_launch_node *node);

/** tp_launch_fold - @node is the same range as @into; likewise */
void tp_launch_fold(struct tp_launch_tree *tree, struct tp_launch_node *into,
                    struct tp_launch_node *node);

/** tp_launch_child - the node below @parent with a key, made if it is new; NULL without memory */
struct tp_launch_node *tp_launch_child(struct tp_launch_tree *tree, struct tp_launch_node *parent,
                                       const struct tp_launch_key *key);

/* A path's sums so far: its own, and with those of all below it. Return: 0, or negative to stop. */
typedef int tp_launch_tell(void *context, const struct tp_launch_key *key,
                           const struct tp_launch_sums *own, const struct tp_launch_sums *total);

/**
 * tp_launch_tree_tell - every path below a range that is open, or that has no parent, with what
 * came to it since it was told last; sums begin anew, and nodes that nobody refers to go
 * Return: 0 or what @tell returned.
 */
int tp_launch_tree_tell(struct tp_launch_tree *tree, tp_launch_tell *tell, void *context);

/** tp_launch_tree_is_full - there are so many nodes that it should be told */
static inline bool tp_launch_tree_is_full(const struct tp_launch_tree *tree)
{
    return tree->node_count >= tree->limit + TP_LAUNCH_NODES;
}

#endif
