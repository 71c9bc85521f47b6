/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_ROOM_H
#define TP_TRACE_ROOM_H

/* Parts of a workspace, one behind the other, each at a multiple of 16. Where there is no workspace
 * they are only counted. Private to trace/. */

#include <stddef.h>
#include <stdint.h>

struct tp_room {
    uint8_t *base; /* NULL: none */
    size_t used;
};

static inline void *tp_room_next(const struct tp_room *room)
{
    return room->base ? room->base + room->used : NULL;
}

static inline void *tp_room_take(struct tp_room *room, size_t size)
{
    void *part = tp_room_next(room);

    room->used += (size + 15) & ~(size_t)15;
    return part;
}

#endif
