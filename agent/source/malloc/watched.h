/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_WATCHED_H
#define TP_SOURCE_MALLOC_WATCHED_H

/*
 * Addresses of the sampled blocks that are not freed yet: which of all frees are to be recorded. A
 * filter answers for nearly all others with one load: a counter of one byte for what lies in a KiB.
 * Behind it stands a table of buckets, two for each address: one that it shares with its
 * neighbours, and, where that is full, one at random. So a small heap, or the part of a large one
 * that is in use, needs few lines of either, which stay in the caches. Bounded: an address that
 * finds no place is refused. Without locks: only one thread at a time has the block, so only one
 * puts or takes its address.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_WATCHED_BUCKET 8u /* addresses, a cache line */

/* The filter: a counter of each KiB, and of all others that lie a multiple of 4 GiB away. */
#define TP_WATCHED_SHIFT 10
#define TP_WATCHED_FILTER (1u << (32 - TP_WATCHED_SHIFT))
extern _Atomic uint8_t tp_watched_filter[TP_WATCHED_FILTER] __attribute__((visibility("hidden")));

struct tp_watched {
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

/** tp_watched_always - tp_watched_maybe says so of these bytes from now on. Context: start. */
void tp_watched_always(const void *from, size_t bytes);

static inline uint32_t tp_watched_place(const void *address)
{
    return (uint32_t)(uintptr_t)address >> TP_WATCHED_SHIFT;
}

/** tp_watched_maybe - false: it is not watched */
static inline bool tp_watched_maybe(const void *address)
{
    /* not by an atomic load, which gcc does not join with the comparison */
    return ((const uint8_t *)tp_watched_filter)[tp_watched_place(address)] != 0;
}

#endif
