/* SPDX-License-Identifier: MIT */
#include "model/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/strings.h"

/* ---- keys ---- */

static inline uint64_t hash_key(const struct tp_group_key *key)
{
    uint64_t hash = key->names * 0x9e3779b97f4a7c15u;

    hash = (hash ^ hash >> 32 ^ key->places) * 0x9fb21c651e98df25u;
    hash = (hash ^ hash >> 29 ^ key->kind) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static inline bool keys_equal(const struct tp_group_key *a, const struct tp_group_key *b)
{
    return a->names == b->names && a->places == b->places && a->kind == b->kind;
}

static inline uint32_t *find_slot(const struct tp_groups *groups, const struct tp_group_key *key)
{
    uint32_t mask = groups->slot_count - 1;

    for (uint64_t i = hash_key(key);; i++) {
        uint32_t *slot = &groups->slots[i & mask];
        if (!*slot || keys_equal(&groups->keys[*slot - 1], key))
            return slot;
    }
}

static int grow_groups(struct tp_groups *groups)
{
    uint32_t capacity = groups->capacity ? groups->capacity * 2 : 128;

    struct tp_group_key *keys = realloc(groups->keys, capacity * sizeof(*keys));
    if (!keys)
        return -ENOMEM;
    groups->keys = keys;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(groups->slots);
    groups->slots = slots;
    groups->slot_count = capacity * 2;
    groups->capacity = capacity;
    for (uint32_t i = 0; i < groups->count; i++)
        *find_slot(groups, &groups->keys[i]) = i + 1;
    return 0;
}

static int find_group(struct tp_groups *groups, const struct tp_group_key *key,
                      uint32_t *ret_number)
{
    if (groups->count == groups->capacity) {
        int result = grow_groups(groups);
        if (result < 0)
            return result;
    }
    uint32_t *slot = find_slot(groups, key);
    if (*slot) {
        *ret_number = *slot - 1;
        return 0;
    }
    groups->keys[groups->count] = *key;
    *ret_number = groups->count++;
    *slot = groups->count;
    return 1;
}

/* ---- stack prefixes ---- */

static uint32_t prefix_count(const struct tp_stack_prefixes *prefixes, uint32_t stack)
{
    uint32_t count = tp_stacks_count(prefixes->stacks, stack);

    return count < prefixes->length ? count : prefixes->length;
}

static uint32_t *find_prefix(const struct tp_stack_prefixes *prefixes, uint32_t stack)
{
    const uint32_t *frames = tp_stacks_frames(prefixes->stacks, stack);
    uint32_t count = prefix_count(prefixes, stack), mask = prefixes->slot_count - 1;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ count;

    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ frames[i]) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
    }
    for (;; hash++) {
        uint32_t *slot = &prefixes->slots[hash & mask];
        if (!*slot)
            return slot;
        uint32_t other = *slot - 1;
        if (prefix_count(prefixes, other) == count &&
            !memcmp(tp_stacks_frames(prefixes->stacks, other), frames, count * sizeof(*frames)))
            return slot;
    }
}

static int grow_prefixes(struct tp_stack_prefixes *prefixes)
{
    uint32_t *old = prefixes->slots, old_count = prefixes->slot_count;

    uint32_t count = old_count ? old_count * 2 : 128;
    uint32_t *slots = calloc(count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    prefixes->slots = slots;
    prefixes->slot_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i])
            *find_prefix(prefixes, old[i] - 1) = old[i];
    }
    free(old);
    return 0;
}

static int grow_known(struct tp_stack_prefixes *prefixes, uint32_t stack)
{
    uint32_t count = prefixes->stacks->count > stack ? prefixes->stacks->count : stack + 1;

    uint32_t *known = realloc(prefixes->known, count * sizeof(*known));
    if (!known)
        return -ENOMEM;
    memset(known + prefixes->known_count, 0, (count - prefixes->known_count) * sizeof(*known));
    prefixes->known = known;
    prefixes->known_count = count;
    return 0;
}

static int represent(struct tp_stack_prefixes *prefixes, uint32_t stack, uint32_t *ret_stack)
{
    int result = 0;

    if (stack >= prefixes->known_count)
        result = grow_known(prefixes, stack);
    if (!result && !prefixes->known[stack]) {
        if (prefixes->used_count * 2 >= prefixes->slot_count)
            result = grow_prefixes(prefixes);
        if (result < 0)
            return result;
        uint32_t *slot = find_prefix(prefixes, stack);
        if (!*slot) {
            *slot = stack + 1;
            prefixes->used_count++;
        }
        prefixes->known[stack] = *slot;
    }
    if (!result)
        *ret_stack = prefixes->known[stack] - 1;
    return result;
}

/* ---- both ---- */

void tp_grouping_init(struct tp_grouping *grouping, const struct tp_stacks *stacks,
                      const struct tp_averages_options *options)
{
    memset(grouping, 0, sizeof(*grouping));
    grouping->options = *options;
    grouping->prefixes.stacks = stacks;
    grouping->prefixes.length = options->group_by_stack_n;
}

void tp_grouping_fini(struct tp_grouping *grouping)
{
    free(grouping->groups.keys);
    free(grouping->groups.slots);
    free(grouping->prefixes.known);
    free(grouping->prefixes.slots);
    memset(grouping, 0, sizeof(*grouping));
}

int tp_grouping_stack(struct tp_grouping *grouping, uint32_t stack, uint32_t *ret_stack,
                      uint32_t *ret_count)
{
    struct tp_stack_prefixes *prefixes = &grouping->prefixes;

    *ret_stack = TP_STACK_EMPTY;
    *ret_count = 0;
    if (!prefixes->length || stack == TP_STACK_NONE || stack == TP_STACK_EMPTY)
        return 0;
    int result = represent(prefixes, stack, ret_stack);
    if (!result)
        *ret_count = prefix_count(prefixes, *ret_stack);
    return result;
}

int tp_grouping_find(struct tp_grouping *grouping, const struct tp_group_fields *fields,
                     uint32_t *ret_number)
{
    const struct tp_averages_options *options = &grouping->options;
    uint16_t counted = TP_EVENT_LEGACY | TP_EVENT_USER_ANNOTATION;
    uint32_t stack = TP_STACK_EMPTY, unused;

    if (!options->include_python_functions) /* kept apart, to be left out later */
        counted |= TP_EVENT_PYTHON_FUNCTION;
    if (options->group_by_stack_n) {
        int result = tp_grouping_stack(grouping, fields->stack, &stack, &unused);
        if (result < 0)
            return result;
    }
    struct tp_group_key key = {
        .names =
            fields->name |
            (uint64_t)(options->group_by_overload_name ? fields->overload_name : TP_STRING_EMPTY)
                << 32,
        .places = (options->group_by_input_shapes ? fields->input_shapes : TP_STRING_EMPTY) |
                  (uint64_t)stack << 32,
        .kind = (uint32_t)fields->node_id | (uint64_t)fields->device_type << 32 |
                (uint64_t)(fields->flags & counted) << 40,
    };
    return find_group(&grouping->groups, &key, ret_number);
}
