/* SPDX-License-Identifier: MIT */
#include "source/malloc/watched.h"

#include <errno.h>

#include "base/os.h"

#define SATURATED 255u
#define GRANULE_SHIFT_MIN 6u

_Atomic uint8_t tp_watched_pages[TP_WATCHED_PAGES];

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

static bool replace(const struct tp_watched *watched, uint64_t bucket, uint64_t old, uint64_t new)
{
    _Atomic uint64_t *entry = watched->table + bucket * TP_WATCHED_BUCKET;

    /* all without a branch, which could not be foretold */
    unsigned found = 0;
    for (unsigned i = 0; i < TP_WATCHED_BUCKET; i++)
        found |= (unsigned)(atomic_load_explicit(&entry[i], memory_order_relaxed) == old) << i;
    for (; found; found &= found - 1) {
        uint64_t seen = old;
        if (atomic_compare_exchange_strong_explicit(&entry[__builtin_ctz(found)], &seen, new,
                                                    memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
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

    for (uintptr_t page = first; page <= last; page++)
        atomic_store(&tp_watched_pages[page % TP_WATCHED_PAGES], SATURATED);
}

bool tp_watched_put(struct tp_watched *watched, const void *address)
{
    uint64_t bucket = first_bucket(watched, address);

    if (!replace(watched, bucket, 0, (uintptr_t)address)) {
        if (!replace(watched, second_bucket(watched, address, bucket), 0, (uintptr_t)address))
            return false;
        count(&watched->spilled[bucket], 1);
    }
    count(&tp_watched_pages[tp_watched_page(address)], 1);
    return true;
}

bool tp_watched_take(struct tp_watched *watched, const void *address)
{
    uint64_t bucket = first_bucket(watched, address);

    if (!replace(watched, bucket, (uintptr_t)address, 0)) {
        if (!atomic_load_explicit(&watched->spilled[bucket], memory_order_relaxed) ||
            !replace(watched, second_bucket(watched, address, bucket), (uintptr_t)address, 0))
            return false;
        count(&watched->spilled[bucket], -1);
    }
    count(&tp_watched_pages[tp_watched_page(address)], -1);
    return true;
}
