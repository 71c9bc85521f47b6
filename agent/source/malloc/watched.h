/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_WATCHED_H
#define TP_SOURCE_MALLOC_WATCHED_H

/*
 * Addresses of the sampled blocks that are not freed yet: which of all frees are to be recorded. A
 * filter of one-byte counters answers for nearly all others with one load; behind it stands a
 * table of buckets, two for each address. Bounded: an address that finds no place is refused.
 * Without locks: only one thread at a time has the block, so only one puts or takes its address.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TP_WATCHED_BUCKET 8u /* addresses, a cache line */

struct tp_watched {
    _Atomic uint8_t *filter;
    _Atomic uint64_t *table;
    unsigned shift; /* 64 less the binary logarithm of the table's addresses */
    uint32_t mask;  /* of the filter */
};

/** tp_watched_init - room for @count addresses, a power of two; memory is taken as it is used.
 * Return: 0 or -ENOMEM. Context: start. */
int tp_watched_init(struct tp_watched *watched, uint32_t count);

/** tp_watched_put - from now on the address is watched. Return: false: no place. Context: hook. */
bool tp_watched_put(struct tp_watched *watched, const void *address);

/** tp_watched_take - from now on it is not. Return: was it watched? Context: hook. */
bool tp_watched_take(struct tp_watched *watched, const void *address);

static inline uint64_t tp_watched_hash(const void *address)
{
    return ((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Blocks that lie together have counters that lie together: what is warm there is warm here. */
static inline uint32_t tp_watched_counter(const struct tp_watched *watched, const void *address)
{
    return (uint32_t)((uintptr_t)address >> 6 ^ (uintptr_t)address >> 23) & watched->mask;
}

/** tp_watched_maybe - false: it is not watched */
static inline bool tp_watched_maybe(const struct tp_watched *watched, const void *address)
{
    return atomic_load_explicit(&watched->filter[tp_watched_counter(watched, address)],
                                memory_order_relaxed) != 0;
}

#endif
