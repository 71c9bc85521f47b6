/* SPDX-License-Identifier: MIT
 * What makes events one group, and the table from such keys to group numbers. */
#ifndef TP_MODEL_GROUP_H
#define TP_MODEL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/averages.h"

/* Packed so that hashing and comparing are three words. */
struct tp_group_key {
    uint64_t names;  /* name, overload name */
    uint64_t places; /* shapes, stack prefix */
    uint64_t kind;   /* node, device type, flags that count */
};

/* Keys to numbers 0, 1, 2, ... in order of first sight. */
struct tp_groups {
    struct tp_group_key *keys;
    uint32_t count, capacity;
    uint32_t *slots; /* open addressing; number + 1, 0 = free */
    uint32_t slot_count;
};

/* Stacks that agree in their first @length frames get one representative. */
struct tp_stack_prefixes {
    const struct tp_stacks *stacks;
    uint32_t length;
    uint32_t *known; /* by stack id: representative + 1, 0 = not asked yet */
    uint32_t known_count;
    uint32_t *slots; /* representatives by content; id + 1, 0 = free */
    uint32_t slot_count, used_count;
};

/* The raw fields of a key, before the options have their say. */
struct tp_group_fields {
    uint32_t name, overload_name, input_shapes, stack;
    int32_t node_id;
    uint16_t flags;
    uint8_t device_type;
};

struct tp_grouping {
    struct tp_averages_options options;
    struct tp_groups groups;
    struct tp_stack_prefixes prefixes;
};

/**
 * tp_grouping_init - no groups; @stacks may be NULL when stacks don't count
 * tp_grouping_fini - free; takes a zeroed one
 */
void tp_grouping_init(struct tp_grouping *grouping, const struct tp_stacks *stacks,
                      const struct tp_averages_options *options);
void tp_grouping_fini(struct tp_grouping *grouping);

/**
 * tp_grouping_find - the number of the group these fields belong to, made if it is new
 * Context: offline, one thread.
 * Return: 0 (it was there), 1 (new, the highest number), or -ENOMEM.
 */
int tp_grouping_find(struct tp_grouping *grouping, const struct tp_group_fields *fields,
                     uint32_t *ret_number);

/** tp_grouping_stack - what a row of this stack shows: a stack id and how many of its frames */
int tp_grouping_stack(struct tp_grouping *grouping, uint32_t stack, uint32_t *ret_stack,
                      uint32_t *ret_count);

#endif
