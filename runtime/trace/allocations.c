/* SPDX-License-Identifier: MIT */
#include "trace/allocations.h"

#include <string.h>

#include "trace/room.h"

size_t tp_allocations_lay(struct tp_allocations *lists, void *base, uint32_t records)
{
    struct tp_room room = {base, 0};

    lists->allocated = tp_room_take(&room, records * sizeof(*lists->allocated));
    lists->freed = tp_room_take(&room, records * sizeof(*lists->freed));
    lists->pools = tp_room_take(&room, records * sizeof(*lists->pools));
    lists->seats = tp_room_take(&room, records * sizeof(*lists->seats));
    lists->empty = tp_room_take(&room, records * sizeof(*lists->empty));
    lists->pools_by_bytes = tp_room_take(&room, tp_allocations_table(records) * sizeof(uint32_t));
    return room.used;
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
