/* SPDX-License-Identifier: MIT
 * Blocks of memory that are allocated, by address. */
#ifndef TP_MODEL_LIVE_MEMORY_H
#define TP_MODEL_LIVE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_live_block {
    uint64_t address, space; /* addresses of different spaces have nothing to do with each other */
    uint64_t bytes : 63;
    bool is_used : 1;
    int64_t ns;     /* when it was allocated */
    uint32_t owner; /* the caller's */
    float weight;   /* so, too */
};

/* Start from zeros. */
struct tp_live_memory {
    struct tp_live_block *slots; /* open addressing */
    size_t slot_count, count;
    uint64_t seed;
};

/**
 * tp_live_memory_put - a block is allocated
 * @ret_before: a block there that was never freed, is_used false for none
 * Return: 0 or -ENOMEM.
 */
int tp_live_memory_put(struct tp_live_memory *live, const struct tp_live_block *block,
                       struct tp_live_block *ret_before);

/** tp_live_memory_take - a block is freed. Return: was it there? */
bool tp_live_memory_take(struct tp_live_memory *live, uint64_t space, uint64_t address,
                         struct tp_live_block *ret_block);
void tp_live_memory_fini(struct tp_live_memory *live);

#endif
