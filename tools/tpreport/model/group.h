/* SPDX-License-Identifier: MIT
 * What makes events one group, and the table from such keys to group numbers. */
#ifndef TP_MODEL_GROUP_H
#define TP_MODEL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/averages.h"
#include "model/strings.h"

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

/** tp_grouping_stack - what a row of this stack shows: a stack id and how many of its frames */
int tp_grouping_stack(struct tp_grouping *grouping, uint32_t stack, uint32_t *ret_stack,
                      uint32_t *ret_count);

/** tp_groups_grow - room for one more key. Return: 0 or -ENOMEM. */
int tp_groups_grow(struct tp_groups *groups);

/* ---- the way of every event, inlined ---- */

/* The products don't wait for each other. */
static inline uint64_t tp_group_hash(const struct tp_group_key *key)
{
    uint64_t hash = key->names * 0x9e3779b97f4a7c15u ^ key->places * 0x9fb21c651e98df25u ^
                    key->kind * 0xd6e8feb86659fd93u;

    return hash ^ hash >> 32 ^ hash >> 47;
}

/* The slot that holds the key, or the free one where it belongs. */
static inline uint32_t *tp_groups_slot(const struct tp_groups *groups,
                                       const struct tp_group_key *key)
{
    uint32_t mask = groups->slot_count - 1;

    for (uint64_t i = tp_group_hash(key);; i++) {
        uint32_t *slot = &groups->slots[i & mask];
        if (!*slot)
            return slot;
        const struct tp_group_key *other = &groups->keys[*slot - 1];
        if (!((other->names ^ key->names) | (other->places ^ key->places) |
              (other->kind ^ key->kind)))
            return slot;
    }
}

static inline struct tp_group_key tp_group_key_of(const struct tp_averages_options *options,
                                                  const struct tp_group_fields *fields,
                                                  uint32_t stack)
{
    uint32_t overload = options->group_by_overload_name ? fields->overload_name : TP_STRING_EMPTY;
    uint32_t shapes = options->group_by_input_shapes ? fields->input_shapes : TP_STRING_EMPTY;
    uint16_t counted = TP_EVENT_LEGACY | TP_EVENT_USER_ANNOTATION;

    if (!options->include_python_functions) /* kept apart, to be left out later */
        counted |= TP_EVENT_PYTHON_FUNCTION;
    return (struct tp_group_key){
        .names = fields->name | (uint64_t)overload << 32,
        .places = shapes | (uint64_t)stack << 32,
        .kind = (uint32_t)fields->node_id | (uint64_t)fields->device_type << 32 |
                (uint64_t)(fields->flags & counted) << 40,
    };
}

/**
 * tp_grouping_find - the number of the group these fields belong to, made if it is new
 * Context: offline, one thread.
 * Return: 0 (it was there), 1 (new, the highest number), or -ENOMEM.
 */
static inline int tp_grouping_find(struct tp_grouping *grouping,
                                   const struct tp_group_fields *fields, uint32_t *ret_number)
{
    struct tp_groups *groups = &grouping->groups;
    uint32_t stack = TP_STACK_EMPTY, unused;
    int result = 0;

    if (grouping->options.group_by_stack_n)
        result = tp_grouping_stack(grouping, fields->stack, &stack, &unused);
    if (!result && groups->count == groups->capacity)
        result = tp_groups_grow(groups);
    if (result < 0)
        return result;
    struct tp_group_key key = tp_group_key_of(&grouping->options, fields, stack);
    uint32_t *slot = tp_groups_slot(groups, &key);
    if (*slot) {
        *ret_number = *slot - 1;
        return 0;
    }
    groups->keys[groups->count] = key;
    *ret_number = groups->count++;
    *slot = groups->count;
    return 1;
}

#endif
