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

uint32_t tp_allocations_pool(struct tp_allocations *lists, uint64_t bytes)
{
    uint64_t hash = bytes * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> 32) & lists->pools_mask, found;

    for (; (found = lists->pools_by_bytes[at]); at = (at + 1) & lists->pools_mask)
        if (lists->pools[found - 1].bytes == bytes)
            return found - 1;
    lists->pools[lists->pool_count] = (struct tp_pool){.bytes = bytes};
    lists->pools_by_bytes[at] = ++lists->pool_count;
    return lists->pool_count - 1;
}

void tp_allocations_put(struct tp_allocations *lists, uint64_t address, uint32_t pool, bool is_new)
{
    uint32_t number = lists->allocated_count++;
    uint32_t seat = lists->empty_count ? lists->empty[--lists->empty_count] : lists->seat_count++;

    lists->allocated[number] = (struct tp_allocated){address, pool, seat};
    lists->seats[seat] = number;
    if (is_new) {
        struct tp_pool *of = &lists->pools[pool];
        of->next = address + of->bytes;
        lists->behind = of->next + 8;
    }
}

void tp_allocations_take(struct tp_allocations *lists, uint32_t number)
{
    struct tp_freed *freed = &lists->freed[number];

    if (freed->newer)
        lists->freed[freed->newer - 1].older = freed->older;
    else
        lists->pools[freed->pool].latest = freed->older;
    if (freed->older)
        lists->freed[freed->older - 1].newer = freed->newer;
    freed->is_taken = true;
}

uint32_t tp_allocations_leave(struct tp_allocations *lists, uint32_t number)
{
    const struct tp_allocated *allocated = &lists->allocated[number];

    lists->empty[lists->empty_count++] = allocated->seat;
    return allocated->pool;
}

void tp_allocations_free(struct tp_allocations *lists, uint64_t address, uint32_t pool)
{
    struct tp_pool *of = &lists->pools[pool];
    uint32_t number = lists->freed_count++;

    lists->freed[number] = (struct tp_freed){.address = address, .pool = pool, .older = of->latest};
    if (of->latest)
        lists->freed[of->latest - 1].newer = number + 1;
    of->latest = number + 1;
}
