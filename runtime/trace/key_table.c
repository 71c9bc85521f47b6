/* SPDX-License-Identifier: MIT */
#include "trace/key_table.h"

#include <string.h>

#define FIRST_BITS 9u

static size_t size_of(unsigned bits)
{
    return sizeof(uint64_t) << bits;
}

size_t tp_key_table_lay(struct tp_key_table *table, void *base, uint32_t keys)
{
    unsigned bits = FIRST_BITS;

    while (UINT32_C(1) << bits < 2 * keys)
        bits++;
    table->arrays = base;
    table->bits = 0;
    table->bits_max = bits;
    return size_of(bits + 1) - size_of(FIRST_BITS);
}

static void take_array(struct tp_key_table *table, unsigned bits)
{
    size_t before = size_of(bits) - size_of(FIRST_BITS);

    table->entries = table->arrays + before / sizeof(uint64_t);
    table->mask = (UINT32_C(1) << bits) - 1;
    table->bits = bits;
    table->used_max = bits < table->bits_max ? UINT32_C(1) << (bits - 1) : UINT32_MAX;
    memset(table->entries, 0, size_of(bits));
}

void tp_key_table_begin(struct tp_key_table *table)
{
    unsigned bits = table->bits < FIRST_BITS ? FIRST_BITS : table->bits;

    if (bits > FIRST_BITS && table->used < UINT32_C(1) << (bits - 3))
        bits--;
    take_array(table, bits);
    table->used = 0;
}

void tp_key_table_grow(struct tp_key_table *table)
{
    const uint64_t *entries = table->entries;
    uint32_t count = table->mask + 1;

    take_array(table, table->bits + 1);
    for (uint32_t i = 0; i < count; i++)
        if (entries[i])
            *tp_key_table_find(table, entries[i] >> TP_TABLE_VALUE_BITS) = entries[i];
}
