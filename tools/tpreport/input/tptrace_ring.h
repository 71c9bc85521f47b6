/* SPDX-License-Identifier: MIT */
#ifndef TP_INPUT_TPTRACE_RING_H
#define TP_INPUT_TPTRACE_RING_H

#include <stdint.h>

#include "base/error.h"

/* What was left in a ring: slots [first, first + count) of a track, copied. */
struct tptrace_ring {
    uint32_t track, tid;
    char name[16]; /* of the thread; "" unknown */
    uint64_t first_slot;
    uint64_t dropped;
    uint64_t *slots; /* for free(); NULL when count is 0 */
    uint64_t count;
    uint64_t file_bytes;
};

/**
 * tptrace_ring_read - copy the remains of a ring that may be in use
 * @expect_uuid: NULL = do not compare
 *
 * Slots that the drain took meanwhile are left out: they are in a block by then.
 *
 * Context: offline.
 * Return: 0, or negative with @diag filled (file and offset).
 */
int tptrace_ring_read(struct tptrace_ring *ring, const char *path, const uint8_t *expect_uuid,
                      struct tp_diag *diag);

#endif
