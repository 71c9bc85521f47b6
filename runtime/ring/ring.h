/* SPDX-License-Identifier: MIT */
#ifndef TP_RING_RING_H
#define TP_RING_RING_H

/*
 * A ring: one writer (a thread of the host), one reader (the drain, or who reads a dead process's
 * remains). Slot numbers are absolute: the first slot of a track is 0 and a number is never used
 * twice; slot n lies at slots[n & (count - 1)]. [tail, head) is what the reader has not taken. The
 * writer moves head with a release store after the slots are written; the reader moves tail after
 * the slots are safe in a file. A track may be served by several rings one after the other: a
 * successor begins (first = tail = head) where its predecessor was closed.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

#define TP_RING_MAGIC "TPRING1"
#define TP_RING_HEADER_BYTES 4096u
#define TP_RING_MAJOR 1
#define TP_RING_MINOR 0
#define TP_RING_SLOTS_MIN 256u
#define TP_RING_SLOTS_MAX (1u << 20)

/* The mapped header; the offsets are the file's (format.md). */
struct tp_ring_header {
    char magic[8];        /*  0 */
    uint16_t major;       /*  8 */
    uint16_t minor;       /* 10 */
    uint32_t header_size; /* 12 */
    uint8_t uuid[16];     /* 16: of the process instance */
    uint32_t slot_size;   /* 32 */
    uint32_t slot_count;  /* 36: a power of two */
    uint32_t pid;         /* 40 */
    uint32_t ring;        /* 44: number of the ring in its process */
    uint8_t reserved[76]; /* 48 */
    uint32_t checksum;    /* 124: low half of XXH3-64 of bytes 0..123 */

    /* written by the thread that claims the ring, before its first record */
    uint32_t track; /* 128 */
    uint32_t tid;   /* 132 */
    uint64_t first; /* 136: number of the first slot */

    /* by that thread when it has another name, and by the reader */
    _Atomic uint64_t name[2]; /* 144: the bytes of the thread's name, then zeros; all 0 unknown */
    char padding1[96];        /* 160 */

    /* the writer's line */
    _Atomic uint64_t head;    /* 256 */
    _Atomic uint64_t dropped; /* 264: records of the track that found no room, since its start */
    _Atomic uint32_t open;    /* 272: ranges open */
    _Atomic uint32_t closed;  /* 276: 1 = the writer went on to another ring, or is gone */
    char padding2[104];       /* 280 */

    /* the reader's line */
    _Atomic uint64_t tail; /* 384 */
    char padding3[120];
};

/**
 * tp_ring_header_init - fill and seal the fixed part of a ring's header; the rest must be zero
 */
void tp_ring_header_init(struct tp_ring_header *header, const uint8_t uuid[16], uint32_t pid,
                         uint32_t ring, uint32_t slot_count);

/**
 * tp_ring_claim - the ring serves @track of thread @tid from slot @cursor on
 * @dropped: of the track so far
 *
 * The track is stored last: until then the ring is nobody's, whoever dies when. Context: hook, the
 * thread that will write, of a ring that nobody has claimed.
 */
void tp_ring_claim(struct tp_ring_header *header, uint32_t track, uint32_t tid, uint64_t cursor,
                   uint64_t dropped);

/** tp_ring_unclaim - the ring is nobody's again. Context: the reader, of an empty ring whose writer
 * is gone. */
void tp_ring_unclaim(struct tp_ring_header *header);

struct tp_diag;

/* What a reader needs to know of ring remains, checked. */
struct tp_ring_view {
    const struct tp_ring_header *header;
    const uint64_t *slots;
    uint32_t slot_count;
    uint32_t track, tid;
    uint64_t first, head, tail;
    uint64_t dropped;
};

/**
 * tp_ring_view_open - check a ring's bytes (a private copy, or a mapping of at least @size bytes)
 * @bytes: 8-byte aligned
 * @expect_uuid: NULL = do not compare
 *
 * A ring that was never claimed (track 0xffffffff) gives 0 slots. head is read with acquire.
 * Context: offline or drain.
 * Return: 0, or -TP_EFOREIGN, -TP_EVERSION, -TP_ETRUNCATED, -TP_ECORRUPT (in @diag).
 */
int tp_ring_view_open(struct tp_ring_view *view, const void *bytes, uint64_t size,
                      const uint8_t *expect_uuid, struct tp_diag *diag);

static inline const uint64_t *tp_ring_view_slot(const struct tp_ring_view *view, uint64_t number)
{
    return view->slots + (number & (view->slot_count - 1)) * TP_SLOT_WORDS;
}

#define TP_RING_UNCLAIMED UINT32_MAX

#endif
