/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_LOSSES_H
#define TP_TRACE_LOSSES_H

/*
 * What a process lost, in the mapped header of its names.tpn: a full disk cannot refuse it, and the
 * kernel holds it when the process is killed. Behind the counters stand a u64, the calls of exec
 * that have not come back, and the headers of rings whose slots are only memory.
 */

#define TP_NAMES_HEADER_BYTES 16384u /* 64 in files without all of this */
#define TP_LOSSES_AT 64u
#define TP_EXEC_COUNT_AT 504u
#define TP_MEMORY_RINGS_AT 512u
#define TP_MEMORY_RING_BYTES 512u
#define TP_MEMORY_RINGS_MAX ((TP_NAMES_HEADER_BYTES - TP_MEMORY_RINGS_AT) / TP_MEMORY_RING_BYTES)

/* A u64 each. */
enum tp_loss {
    TP_LOSS_EVICTED,       /* number of the newest segment that was evicted, with all before it */
    TP_LOSS_EVICTED_SLOTS, /* in those */
    TP_LOSS_DISCARDED,     /* slots that came when the recording might not grow any more */
    TP_LOSS_NO_RING,       /* records of threads that got no ring */
    TP_LOSS_RING_FULL,     /* records that found no room, of threads that are gone */
    TP_LOSS_NO_NAME,       /* names that found no room */
    TP_LOSS_LINES,         /* of meta.jsonl, for which the disk had no room */
    TP_LOSS_ERROR,         /* errno of the last block, where that could not be written */
    TP_LOSS_END
};

_Static_assert(TP_LOSSES_AT + 8 * TP_LOSS_END <= TP_EXEC_COUNT_AT, "format.md");

#endif
