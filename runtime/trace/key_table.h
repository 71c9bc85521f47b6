/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_KEY_TABLE_H
#define TP_TRACE_KEY_TABLE_H

/* From keys of 46 bits to values of 18, not 0, in one word each: whoever looks a key up touches no
 * other memory. A table begins small, so that it stays in a near cache, and grows. Private to
 * trace/. */

#include <stddef.h>
#include <stdint.h>

#define TP_TABLE_KEY_BITS 46
#define TP_TABLE_VALUE_BITS 18

struct tp_key_table {
    uint64_t *entries; /* key << 18 | value, 0 none */
    uint32_t mask;     /* how many there are, less 1 */
    uint32_t used, used_max;
    uint64_t *arrays; /* of all sizes, one behind the other */
    unsigned bits, bits_max;
};

/** tp_key_table_lay - a table for up to @keys keys at @base, or only how much it takes where that
 * is NULL. Return: bytes. */
size_t tp_key_table_lay(struct tp_key_table *table, void *base, uint32_t keys);

/** tp_key_table_begin - an empty table, of the size that was last of use */
void tp_key_table_begin(struct tp_key_table *table);

/** tp_key_table_grow - room for more; entries move */
void tp_key_table_grow(struct tp_key_table *table);

static inline uint32_t tp_key_table_at(const struct tp_key_table *table, uint64_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & table->mask;
}

/* Where the key's entry is, or would be. */
static inline uint64_t *tp_key_table_find(const struct tp_key_table *table, uint64_t key)
{
    uint32_t at = tp_key_table_at(table, key);
    uint64_t *const entries = table->entries;
    uint64_t *entry = &entries[at];

    while (*entry && *entry >> TP_TABLE_VALUE_BITS != key) {
        at = (at + 1) & table->mask;
        entry = &entries[at];
    }
    return entry;
}

static inline uint32_t tp_key_table_value(const uint64_t *entry)
{
    return (uint32_t)*entry & ((1u << TP_TABLE_VALUE_BITS) - 1);
}

/* @entry is where it was not found; it may move. */
static inline void tp_key_table_add(struct tp_key_table *table, uint64_t *entry, uint64_t key,
                                    uint32_t value)
{
    *entry = key << TP_TABLE_VALUE_BITS | value;
    if (++table->used > table->used_max)
        tp_key_table_grow(table);
}

#endif
