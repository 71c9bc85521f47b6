/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_WATCHED_H
#define TP_SOURCE_MALLOC_WATCHED_H

/*
 * Addresses of the sampled blocks that are not freed yet: which of all frees are to be recorded. A
 * filter answers for nearly all others with one load: a counter of one byte for a page's blocks.
 * Behind it stands a table of buckets, two for each address: one that it shares with its
 * neighbours, and, where that is full, one at random. So a small heap, or the part of a large one
 * that is in use, needs few lines of either, which stay in the caches. Bounded: an address that
 * finds no place is refused. Without locks: only one thread at a time has the block, so only one
 * puts or takes its address.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TP_WATCHED_BUCKET 8u /* addresses, a cache line */

struct tp_watched_filter {
    _Atomic uint8_t *counters;
    uint32_t mask;
};

struct tp_watched {
    struct tp_watched_filter filter;
    _Atomic uint8_t *spilled; /* by bucket: addresses that have found no place in it */
    _Atomic uint64_t *table;
    unsigned bucket_bits;   /* binary logarithm of the number of buckets */
    unsigned granule_shift; /* of the bytes whose blocks share a bucket */
};

/**
 * tp_watched_init - room for @count addresses, a power of two; memory is taken as it is used
 * @period: mean bytes for each that is put
 * Context: start. Return: 0 or -ENOMEM.
 */
int tp_watched_init(struct tp_watched *watched, uint32_t count, uint64_t period);

/** tp_watched_put - from now on the address is watched. Return: false: no place. Context: hook. */
bool tp_watched_put(struct tp_watched *watched, const void *address);

/** tp_watched_take - from now on it is not. Return: was it watched? Context: hook. */
bool tp_watched_take(struct tp_watched *watched, const void *address);

/* Pages that lie together have counters that lie together. */
static inline uint32_t tp_watched_counter(const struct tp_watched_filter *filter,
                                          const void *address)
{
    return (uint32_t)((uintptr_t)address >> 12 ^ (uintptr_t)address >> 22) & filter->mask;
}

/** tp_watched_maybe - false: it is not watched */
static inline bool tp_watched_maybe(const struct tp_watched_filter *filter, const void *address)
{
    return atomic_load_explicit(&filter->counters[tp_watched_counter(filter, address)],
                                memory_order_relaxed) != 0;
}

#endif
