/* SPDX-License-Identifier: MIT */
#include "source/malloc/watched.h"

#include <errno.h>

#include "base/os.h"

#define SATURATED 255u
#define GRANULE_SHIFT_MIN 6u

_Atomic uint8_t tp_watched_filter[TP_WATCHED_FILTER];

static unsigned log2_of(uint64_t x)
{
    return 63 - (unsigned)__builtin_clzll(x);
}

int tp_watched_init(struct tp_watched *watched, uint32_t count, uint64_t period)
{
    unsigned shift = log2_of(period) + 1; /* a bucket's neighbours are then one or two addresses */
    uint32_t buckets = count / TP_WATCHED_BUCKET;

    watched->granule_shift = shift < GRANULE_SHIFT_MIN ? GRANULE_SHIFT_MIN : shift;
    watched->bucket_bits = log2_of(buckets);
    watched->spilled = tp_os_map(buckets);
    watched->table = tp_os_map((size_t)count * sizeof(*watched->table));
    return watched->spilled && watched->table ? 0 : -ENOMEM;
}

static uint64_t mix(uint64_t x)
{
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Neighbours have the same one; what lies next to them has the next one. */
static uint64_t first_bucket(const struct tp_watched *watched, const void *address)
{
    uint64_t granule = (uintptr_t)address >> watched->granule_shift;

    return (granule + mix(granule >> watched->bucket_bits)) &
           ((UINT64_C(1) << watched->bucket_bits) - 1);
}

static uint64_t second_bucket(const struct tp_watched *watched, const void *address, uint64_t first)
{
    uint64_t second = mix((uintptr_t)address >> 4) >> (64 - watched->bucket_bits);

    return second ^ (second == first);
}

static _Atomic uint64_t *entries_of(const struct tp_watched *watched, uint64_t bucket)
{
    return watched->table + bucket * TP_WATCHED_BUCKET;
}

/* Which of a bucket's entries are @what, a bit each; all are looked at, without a branch, which
 * could not be foretold. */
static unsigned those_that_are(const _Atomic uint64_t *entries, uint64_t what)
{
    unsigned found = 0;

#pragma GCC unroll 8
    for (unsigned i = 0; i < TP_WATCHED_BUCKET; i++)
        found |= (unsigned)(atomic_load_explicit(&entries[i], memory_order_relaxed) == what) << i;
    return found;
}

static bool put_into(const struct tp_watched *watched, uint64_t bucket, const void *address)
{
    _Atomic uint64_t *entries = entries_of(watched, bucket);

    for (unsigned empty = those_that_are(entries, 0); empty; empty &= empty - 1) {
        uint64_t nothing = 0;
        if (atomic_compare_exchange_strong_explicit(&entries[__builtin_ctz(empty)], &nothing,
                                                    (uintptr_t)address, memory_order_relaxed,
                                                    memory_order_relaxed))
            return true;
    }
    return false;
}

/* Whoever has the block: nobody else changes its entry. */
static bool remove_from(const struct tp_watched *watched, uint64_t bucket, const void *address)
{
    _Atomic uint64_t *entries = entries_of(watched, bucket);
    unsigned found = those_that_are(entries, (uintptr_t)address);

    if (found)
        atomic_store_explicit(&entries[__builtin_ctz(found)], 0, memory_order_relaxed);
    return found;
}

/* A counter that has reached the top stays there: addresses beyond could not be counted. */
static void count(_Atomic uint8_t *counter, int by)
{
    uint8_t seen = atomic_load_explicit(counter, memory_order_relaxed);

    while (seen != SATURATED &&
           !atomic_compare_exchange_weak_explicit(counter, &seen, (uint8_t)(seen + by),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void tp_watched_always(const void *from, size_t bytes)
{
    uintptr_t first = (uintptr_t)from >> TP_WATCHED_SHIFT,
              last = ((uintptr_t)from + bytes - 1) >> TP_WATCHED_SHIFT;

    for (uintptr_t place = first; place <= last; place++)
        atomic_store(&tp_watched_filter[place % TP_WATCHED_FILTER], SATURATED);
}

bool tp_watched_put(struct tp_watched *watched, const void *address)
{
    uint64_t bucket = first_bucket(watched, address);

    if (!put_into(watched, bucket, address)) {
        if (!put_into(watched, second_bucket(watched, address, bucket), address))
            return false;
        count(&watched->spilled[bucket], 1);
    }
    count(&tp_watched_filter[tp_watched_place(address)], 1);
    return true;
}

bool tp_watched_take(struct tp_watched *watched, const void *address)
{
    uint64_t bucket = first_bucket(watched, address);

    if (!remove_from(watched, bucket, address)) {
        if (!atomic_load_explicit(&watched->spilled[bucket], memory_order_relaxed) ||
            !remove_from(watched, second_bucket(watched, address, bucket), address))
            return false;
        count(&watched->spilled[bucket], -1);
    }
    count(&tp_watched_filter[tp_watched_place(address)], -1);
    return true;
}
