/* SPDX-License-Identifier: MIT */
#include "trace/allocations.h"

#include <string.h>

static void *lay(uint8_t *base, size_t *used, size_t size)
{
    void *part = base ? base + *used : NULL;

    *used += (size + 15) & ~(size_t)15;
    return part;
}

size_t tp_allocations_lay(struct tp_allocations *lists, void *base, uint32_t records)
{
    size_t used = 0;

    lists->allocated = lay(base, &used, records * sizeof(*lists->allocated));
    lists->freed = lay(base, &used, records * sizeof(*lists->freed));
    lists->pools = lay(base, &used, records * sizeof(*lists->pools));
    lists->seats = lay(base, &used, records * sizeof(*lists->seats));
    lists->empty = lay(base, &used, records * sizeof(*lists->empty));
    lists->pools_by_bytes = lay(base, &used, tp_allocations_table(records) * sizeof(uint32_t));
    return used;
}

void tp_allocations_begin(struct tp_allocations *lists, uint32_t records)
{
    uint32_t size = tp_allocations_table(records);

    memset(lists->pools_by_bytes, 0, size * sizeof(uint32_t));
    lists->pools_mask = size - 1;
    lists->allocated_count = lists->freed_count = lists->pool_count = 0;
    lists->seat_count = lists->empty_count = 0;
    lists->behind = 0;
}
