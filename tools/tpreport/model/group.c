/* SPDX-License-Identifier: MIT */
#include "model/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hash.h"

int tp_groups_grow(struct tp_groups *groups)
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
        *tp_groups_slot(groups, &groups->keys[i]) = i + 1;
    return 0;
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
    uint64_t hash = tp_hash_bytes(prefixes->stacks->seed, frames, count * sizeof(*frames));

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
