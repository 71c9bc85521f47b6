/* SPDX-License-Identifier: MIT */
#include "ring/ring.h"

#include <stddef.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

static int check_fixed_part(const struct tp_ring_header *header, uint64_t size,
                            const uint8_t *expect_uuid, struct tp_diag *diag)
{
    if (size < TP_RING_HEADER_BYTES)
        return tp_diag_fail(diag, -TP_ETRUNCATED, 0, "ring of %llu bytes, expected at least %u",
                            (unsigned long long)size, TP_RING_HEADER_BYTES);
    if (memcmp(header->magic, TP_RING_MAGIC, sizeof(header->magic)))
        return tp_diag_fail(diag, -TP_EFOREIGN, 0, "no ring: magic is not \"" TP_RING_MAGIC "\"");
    if (header->major != TP_RING_MAJOR)
        return tp_diag_fail(diag, -TP_EVERSION, 8, "ring of major version %u, expected %u",
                            (unsigned)header->major, (unsigned)TP_RING_MAJOR);
    uint32_t sum = (uint32_t)XXH3_64bits(header, offsetof(struct tp_ring_header, checksum));
    if (sum != header->checksum)
        return tp_diag_fail(diag, -TP_ECORRUPT, 124,
                            "ring header's checksum is %08x, expected %08x", header->checksum, sum);
    if (header->slot_size != TP_SLOT_BYTES || header->slot_count < TP_RING_SLOTS_MIN ||
        header->slot_count > TP_RING_SLOTS_MAX || (header->slot_count & (header->slot_count - 1)) ||
        header->header_size != TP_RING_HEADER_BYTES)
        return tp_diag_fail(diag, -TP_ECORRUPT, 32, "ring of %u slots of %u bytes",
                            header->slot_count, header->slot_size);
    if (expect_uuid && memcmp(expect_uuid, header->uuid, 16))
        return tp_diag_fail(diag, -TP_EFOREIGN, 16, "ring of another process instance");
    return 0;
}

int tp_ring_view_open(struct tp_ring_view *view, const void *bytes, uint64_t size,
                      const uint8_t *expect_uuid, struct tp_diag *diag)
{
    const struct tp_ring_header *header = bytes;
    int error = check_fixed_part(header, size, expect_uuid, diag);

    if (error)
        return error;
    uint64_t need = TP_RING_HEADER_BYTES + (uint64_t)header->slot_count * TP_SLOT_BYTES;
    if (size < need)
        return tp_diag_fail(diag, -TP_ETRUNCATED, size, "ring of %llu bytes, expected %llu",
                            (unsigned long long)size, (unsigned long long)need);
    uint64_t head = atomic_load_explicit(&header->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&header->tail, memory_order_acquire);
    if (header->track == TP_RING_UNCLAIMED)
        head = tail = 0;
    else if (tail > head || head - tail > header->slot_count || tail < header->first)
        return tp_diag_fail(diag, -TP_ECORRUPT, 256, "ring from slot %llu to %llu of %u",
                            (unsigned long long)tail, (unsigned long long)head, header->slot_count);
    *view = (struct tp_ring_view){
        .header = header,
        .slots = (const uint64_t *)((const char *)bytes + TP_RING_HEADER_BYTES),
        .slot_count = header->slot_count,
        .track = header->track,
        .tid = header->tid,
        .first = header->first,
        .head = head,
        .tail = tail,
        .dropped = atomic_load_explicit(&header->dropped, memory_order_relaxed),
    };
    return 0;
}
