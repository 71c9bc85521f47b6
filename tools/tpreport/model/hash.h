/* SPDX-License-Identifier: MIT
 * Hashes of what a file holds. Whoever wrote the file must not be able to choose texts and ids that
 * all meet in one slot; so every run draws a seed of its own. Nothing that is printed depends on
 * it. */
#ifndef TP_MODEL_HASH_H
#define TP_MODEL_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/os.h"

/** tp_hash_seed - this run's; to be kept in each table, since finding it costs more than hashing */
static inline uint64_t tp_hash_seed(void)
{
    const void *bytes = tp_os_auxval_random();
    uint64_t seed = 0;

    if (bytes)
        memcpy(&seed, (const char *)bytes + 8, sizeof(seed));
    return seed;
}

/** tp_hash_bytes - of @size bytes */
static inline uint64_t tp_hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

#endif
