/* SPDX-License-Identifier: MIT */
#include "event/names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t tp_name_checksum(const struct tp_name_record *record, const void *bytes)
{
    uint64_t seed = XXH3_64bits(record, 12);
    uint32_t sum = (uint32_t)XXH3_64bits_withSeed(bytes, record->length, seed);

    return sum ? sum : 1;
}

uint64_t tp_name_hash(unsigned kind, const void *bytes, size_t size)
{
    return XXH3_64bits_withSeed(bytes, size, kind);
}
