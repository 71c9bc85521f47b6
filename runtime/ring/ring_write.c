/* SPDX-License-Identifier: MIT */
#include "ring/ring.h"

#include <stddef.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(offsetof(struct tp_ring_header, checksum) == 124, "format.md");
_Static_assert(offsetof(struct tp_ring_header, track) == 128, "format.md");
_Static_assert(offsetof(struct tp_ring_header, name) == 144, "format.md");
_Static_assert(offsetof(struct tp_ring_header, head) == 256, "format.md");
_Static_assert(offsetof(struct tp_ring_header, tail) == 384, "format.md");

void tp_ring_header_init(struct tp_ring_header *header, const uint8_t uuid[16], uint32_t pid,
                         uint32_t ring, uint32_t slot_count)
{
    memcpy(header->magic, TP_RING_MAGIC, sizeof(header->magic));
    header->major = TP_RING_MAJOR;
    header->minor = TP_RING_MINOR;
    header->header_size = TP_RING_HEADER_BYTES;
    memcpy(header->uuid, uuid, 16);
    header->slot_size = TP_SLOT_BYTES;
    header->slot_count = slot_count;
    header->pid = pid;
    header->ring = ring;
    memset(header->reserved, 0, sizeof(header->reserved));
    header->track = TP_RING_UNCLAIMED;
    header->checksum = (uint32_t)XXH3_64bits(header, offsetof(struct tp_ring_header, checksum));
}

void tp_ring_claim(struct tp_ring_header *header, uint32_t track, uint32_t tid, uint64_t cursor,
                   uint64_t dropped)
{
    header->tid = tid;
    header->first = cursor;
    atomic_store_explicit(&header->tail, cursor, memory_order_relaxed);
    atomic_store_explicit(&header->dropped, dropped, memory_order_relaxed);
    atomic_store_explicit(&header->head, cursor, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    *(volatile uint32_t *)&header->track = track;
}

void tp_ring_unclaim(struct tp_ring_header *header)
{
    *(volatile uint32_t *)&header->track = TP_RING_UNCLAIMED;
    atomic_thread_fence(memory_order_seq_cst);
    header->tid = 0;
    header->first = 0;
    atomic_store_explicit(&header->head, 0, memory_order_relaxed);
    atomic_store_explicit(&header->tail, 0, memory_order_relaxed);
    atomic_store_explicit(&header->dropped, 0, memory_order_relaxed);
    atomic_store_explicit(&header->open, 0, memory_order_relaxed);
    atomic_store_explicit(&header->closed, 0, memory_order_relaxed);
    for (unsigned i = 0; i < 2; i++)
        atomic_store_explicit(&header->name[i], 0, memory_order_relaxed);
}
