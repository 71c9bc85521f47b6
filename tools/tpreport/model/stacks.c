/* SPDX-License-Identifier: MIT */
#include "model/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/hash.h"

static uint32_t *find_slot(const struct tp_stacks *stacks, const uint32_t *frames, uint32_t count)
{
    uint32_t mask = stacks->slot_count - 1;

    for (uint64_t i = tp_hash_bytes(stacks->seed, frames, count * sizeof(*frames));; i++) {
        uint32_t *slot = &stacks->slots[i & mask];
        if (!*slot)
            return slot;
        const struct tp_stack *item = &stacks->items[*slot - 1];
        if (item->count == count &&
            (!count || !memcmp(stacks->frames + item->first, frames, count * sizeof(*frames))))
            return slot;
    }
}

static int grow_slots(struct tp_stacks *stacks)
{
    uint32_t old_count = stacks->slot_count;
    uint32_t *old = stacks->slots;

    uint32_t count = old_count ? old_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    stacks->slots = slots;
    stacks->slot_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        const struct tp_stack *item = &stacks->items[old[i] - 1];
        *find_slot(stacks, stacks->frames + item->first, item->count) = old[i];
    }
    free(old);
    return 0;
}

static int grow_items(struct tp_stacks *stacks)
{
    uint32_t capacity = stacks->capacity ? stacks->capacity * 2 : 128;

    if (capacity > 1u << 30)
        return -TP_ELIMIT;
    struct tp_stack *items = realloc(stacks->items, capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    stacks->items = items;
    stacks->capacity = capacity;
    return 0;
}

static int grow_frames(struct tp_stacks *stacks, uint32_t count)
{
    uint64_t capacity = stacks->frame_capacity ? stacks->frame_capacity * 2 : 1024;

    while (capacity < stacks->frame_count + count)
        capacity *= 2;
    uint32_t *frames = realloc(stacks->frames, capacity * sizeof(*frames));
    if (!frames)
        return -ENOMEM;
    stacks->frames = frames;
    stacks->frame_capacity = capacity;
    return 0;
}

static int append(struct tp_stacks *stacks, const uint32_t *frames, uint32_t count,
                  uint32_t *ret_id)
{
    int result = 0;

    if (stacks->count == stacks->capacity)
        result = grow_items(stacks);
    if (!result && stacks->frame_count + count > stacks->frame_capacity)
        result = grow_frames(stacks, count);
    if (result < 0)
        return result;
    if (count)
        memcpy(stacks->frames + stacks->frame_count, frames, count * sizeof(*frames));
    stacks->items[stacks->count] = (struct tp_stack){.first = stacks->frame_count, .count = count};
    stacks->frame_count += count;
    *ret_id = stacks->count++;
    return 0;
}

int tp_stacks_put(struct tp_stacks *stacks, const uint32_t *frames, uint32_t count,
                  uint32_t *ret_id)
{
    if (stacks->count + stacks->count / 2 >= stacks->slot_count) {
        int result = grow_slots(stacks);
        if (result < 0)
            return result;
    }
    uint32_t *slot = find_slot(stacks, frames, count);
    if (*slot) {
        *ret_id = *slot - 1;
        return 0;
    }
    int result = append(stacks, frames, count, ret_id);
    if (!result)
        *slot = *ret_id + 1;
    return result;
}

int tp_stacks_init(struct tp_stacks *stacks)
{
    uint32_t id;

    memset(stacks, 0, sizeof(*stacks));
    stacks->seed = tp_hash_seed();
    int result = append(stacks, NULL, 0, &id); /* None: in no slot */
    if (!result)
        result = grow_frames(stacks, 0);
    if (!result)
        result = tp_stacks_put(stacks, NULL, 0, &id);
    if (result < 0)
        tp_stacks_fini(stacks);
    return result;
}

void tp_stacks_fini(struct tp_stacks *stacks)
{
    free(stacks->items);
    free(stacks->frames);
    free(stacks->slots);
    memset(stacks, 0, sizeof(*stacks));
}
