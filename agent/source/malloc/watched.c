/* SPDX-License-Identifier: MIT */
#include "source/malloc/watched.h"

#include <errno.h>

#include "base/os.h"

#define SATURATED 255u

int tp_watched_init(struct tp_watched *watched, uint32_t count)
{
    watched->shift = 64 - (unsigned)__builtin_ctz(count);
    watched->mask = count - 1;
    watched->filter = tp_os_map(count);
    watched->table = tp_os_map((size_t)count * sizeof(*watched->table));
    return watched->filter && watched->table ? 0 : -ENOMEM;
}

/* The bucket of a hash: its first or its second one. */
static _Atomic uint64_t *bucket(const struct tp_watched *watched, uint64_t hash, unsigned which)
{
    uint64_t mixed = which ? (hash ^ hash >> 31) * UINT64_C(0xbf58476d1ce4e5b9) : hash;

    return watched->table + (mixed >> watched->shift & ~(uint64_t)(TP_WATCHED_BUCKET - 1));
}

static bool replace(const struct tp_watched *watched, uint64_t hash, uint64_t old, uint64_t new)
{
    for (unsigned which = 0; which < 2; which++) {
        _Atomic uint64_t *entry = bucket(watched, hash, which);
        for (unsigned i = 0; i < TP_WATCHED_BUCKET; i++) {
            uint64_t seen = atomic_load_explicit(&entry[i], memory_order_relaxed);
            if (seen == old &&
                atomic_compare_exchange_strong_explicit(&entry[i], &seen, new, memory_order_relaxed,
                                                        memory_order_relaxed))
                return true;
        }
    }
    return false;
}

/* A counter that has reached the top stays there: addresses beyond could not be counted. */
static void count(struct tp_watched *watched, const void *address, int by)
{
    _Atomic uint8_t *counter = &watched->filter[tp_watched_counter(watched, address)];
    uint8_t seen = atomic_load_explicit(counter, memory_order_relaxed);

    while (seen != SATURATED &&
           !atomic_compare_exchange_weak_explicit(counter, &seen, (uint8_t)(seen + by),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

bool tp_watched_put(struct tp_watched *watched, const void *address)
{
    uint64_t hash = tp_watched_hash(address);

    if (!replace(watched, hash, 0, (uintptr_t)address))
        return false;
    count(watched, address, 1);
    return true;
}

bool tp_watched_take(struct tp_watched *watched, const void *address)
{
    uint64_t hash = tp_watched_hash(address);

    if (!replace(watched, hash, (uintptr_t)address, 0))
        return false;
    count(watched, address, -1);
    return true;
}
