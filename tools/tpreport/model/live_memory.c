/* SPDX-License-Identifier: MIT */
#include "model/live_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "model/hash.h"

static size_t place_of(const struct tp_live_memory *live, uint64_t space, uint64_t address)
{
    uint64_t key[] = {address, space};

    return (size_t)tp_hash_bytes(live->seed, key, sizeof(key)) & (live->slot_count - 1);
}

static size_t find(const struct tp_live_memory *live, uint64_t space, uint64_t address)
{
    size_t at = place_of(live, space, address);

    while (live->slots[at].is_used &&
           (live->slots[at].address != address || live->slots[at].space != space))
        at = (at + 1) & (live->slot_count - 1);
    return at;
}

static int grow(struct tp_live_memory *live)
{
    struct tp_live_memory larger = {.slot_count = live->slot_count ? live->slot_count * 2 : 64,
                                    .count = live->count,
                                    .seed = tp_hash_seed()};

    larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < live->slot_count; i++) {
        const struct tp_live_block *block = &live->slots[i];
        if (block->is_used)
            larger.slots[find(&larger, block->space, block->address)] = *block;
    }
    free(live->slots);
    *live = larger;
    return 0;
}

int tp_live_memory_put(struct tp_live_memory *live, const struct tp_live_block *block,
                       struct tp_live_block *ret_before)
{
    if (live->count * 2 >= live->slot_count) {
        int error = grow(live);
        if (error)
            return error;
    }
    struct tp_live_block *slot = &live->slots[find(live, block->space, block->address)];
    *ret_before = *slot;
    live->count += !slot->is_used;
    *slot = *block;
    slot->is_used = true;
    return 0;
}

bool tp_live_memory_take(struct tp_live_memory *live, uint64_t space, uint64_t address,
                         struct tp_live_block *ret_block)
{
    size_t mask = live->slot_count - 1;

    if (!live->count)
        return false;
    size_t hole = find(live, space, address);
    if (!live->slots[hole].is_used)
        return false;
    *ret_block = live->slots[hole];
    live->count--;
    for (size_t at = (hole + 1) & mask; live->slots[at].is_used; at = (at + 1) & mask) {
        size_t home = place_of(live, live->slots[at].space, live->slots[at].address);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* it would stand before its home */
        live->slots[hole] = live->slots[at];
        hole = at;
    }
    live->slots[hole].is_used = false;
    return true;
}

void tp_live_memory_fini(struct tp_live_memory *live)
{
    free(live->slots);
    *live = (struct tp_live_memory){0};
}
