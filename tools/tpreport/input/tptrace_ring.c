/* SPDX-License-Identifier: MIT */
#include "input/tptrace_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/tptrace_file.h"
#include "ring/ring.h"

#define ATTEMPTS 16

union header_bytes {
    struct tp_ring_header header;
    char bytes[TP_RING_HEADER_BYTES];
};

static int read_header_once(int fd, uint64_t size, union header_bytes *header,
                            const uint8_t *expect_uuid, struct tp_ring_view *ret_view,
                            struct tp_diag *diag)
{
    int64_t n = tptrace_read_at(fd, header, sizeof(*header), 0);

    if (n < 0)
        return tp_diag_fail(diag, (int)n, 0, "%s", tp_error_text((int)n));
    if (n < (int64_t)sizeof(*header))
        size = (uint64_t)n;
    return tp_ring_view_open(ret_view, header, size, expect_uuid, diag);
}

/* Head and tail of a ring in use may be read a lap apart: then again. */
static int read_header(int fd, uint64_t size, union header_bytes *header,
                       const uint8_t *expect_uuid, struct tp_ring_view *ret_view,
                       struct tp_diag *diag)
{
    int error = -TP_ECORRUPT;

    for (int attempt = 0; attempt < ATTEMPTS && error == -TP_ECORRUPT; attempt++)
        error = read_header_once(fd, size, header, expect_uuid, ret_view, diag);
    return error;
}

/* Slots [from, from + count), which may go round the end of the file. */
static int copy_slots(int fd, const struct tp_ring_view *view, uint64_t from, uint64_t count,
                      uint64_t *slots, struct tp_diag *diag)
{
    while (count) {
        uint64_t index = from & (view->slot_count - 1), part = view->slot_count - index;
        uint64_t offset = TP_RING_HEADER_BYTES + index * TP_SLOT_BYTES;
        if (part > count)
            part = count;
        int64_t n = tptrace_read_at(fd, slots, part * TP_SLOT_BYTES, offset);
        if (n < 0)
            return tp_diag_fail(diag, (int)n, offset, "%s", tp_error_text((int)n));
        if (n < (int64_t)(part * TP_SLOT_BYTES))
            return tp_diag_fail(diag, -TP_ETRUNCATED, offset + (uint64_t)n, "the ring ends here");
        slots += part * TP_SLOT_WORDS;
        from += part;
        count -= part;
    }
    return 0;
}

/* What is still valid of what we copied: the drain may have gone on, the ring may serve another
 * track. */
static int check_again(int fd, uint64_t size, const struct tp_ring_view *then,
                       struct tptrace_ring *ring, struct tp_diag *diag)
{
    union header_bytes header;
    struct tp_ring_view now;
    int error = read_header(fd, size, &header, then->header->uuid, &now, diag);

    if (error)
        return error;
    uint64_t gone =
        now.track == then->track && now.first == then->first ? now.tail - then->tail : ring->count;
    if (now.tail < then->tail || gone > ring->count)
        gone = ring->count;
    ring->first_slot += gone;
    ring->count -= gone;
    memmove(ring->slots, ring->slots + gone * TP_SLOT_WORDS, ring->count * TP_SLOT_BYTES);
    return 0;
}

static int copy_ring(int fd, uint64_t size, struct tptrace_ring *ring, const uint8_t *expect_uuid,
                     struct tp_diag *diag)
{
    union header_bytes header;
    struct tp_ring_view view;
    int error = read_header(fd, size, &header, expect_uuid, &view, diag);

    if (error)
        return error;
    *ring = (struct tptrace_ring){
        .track = view.track,
        .tid = view.tid,
        .first_slot = view.tail,
        .count = view.head - view.tail,
        .dropped = view.track == TP_RING_UNCLAIMED ? 0 : view.dropped,
        .file_bytes = size,
    };
    memcpy(ring->name, (const void *)view.header->name, sizeof(ring->name) - 1);
    if (!ring->count)
        return 0;
    ring->slots = malloc(ring->count * TP_SLOT_BYTES);
    if (!ring->slots)
        return tp_diag_fail(diag, -ENOMEM, 0, "no memory for %llu slots",
                            (unsigned long long)ring->count);
    error = copy_slots(fd, &view, view.tail, ring->count, ring->slots, diag);
    return error ? error : check_again(fd, size, &view, ring, diag);
}

int tptrace_ring_read(struct tptrace_ring *ring, const char *path, const uint8_t *expect_uuid,
                      struct tp_diag *diag)
{
    uint64_t size;

    *ring = (struct tptrace_ring){0};
    int fd = tptrace_open(path, &size, diag);
    if (fd < 0)
        return fd;
    int error = copy_ring(fd, size, ring, expect_uuid, diag);
    close(fd);
    if (!error)
        return 0;
    tp_diag_at(diag, path);
    free(ring->slots);
    *ring = (struct tptrace_ring){0};
    return error;
}
