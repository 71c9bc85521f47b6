/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_SUMMARY_H
#define TP_TRACE_SUMMARY_H

/*
 * The running summary of a process: what the segments came to that were deleted to stay under a
 * limit. A file header, then one block of type 5; format.md, section 9. Its writer has fixed memory
 * and puts the parts one by one, its reader has all of them at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "trace/file.h"
#include "trace/wire.h"

#define TP_SUMMARY_MAGIC "TPSUMRY\n"
#define TP_SUMMARY_FILE "summary.tps"
#define TP_SUMMARY_RECORD_SLOTS 4u
#define TP_SUMMARY_RECORD_WORDS (TP_SUMMARY_RECORD_SLOTS * TP_SLOT_WORDS)

/* Sketches: so many buckets for each power of two, and below that one for each value. */
#define TP_SKETCH_BITS 6u
#define TP_SKETCH_STEPS (1u << TP_SKETCH_BITS)
#define TP_SKETCH_BUCKETS ((65u - TP_SKETCH_BITS) << TP_SKETCH_BITS)

/** tp_sketch_bucket - the bucket of a value; a bucket's values differ by less than 1/64 */
static inline uint32_t tp_sketch_bucket(uint64_t value)
{
    unsigned shift;

    if (value < TP_SKETCH_STEPS)
        return (uint32_t)value;
    shift = 63u - (unsigned)__builtin_clzll(value) - TP_SKETCH_BITS;
    return ((shift + 1) << TP_SKETCH_BITS) + (uint32_t)((value >> shift) & (TP_SKETCH_STEPS - 1));
}

/** tp_sketch_value - the middle of a bucket: within 1/128 of every value in it */
static inline uint64_t tp_sketch_value(uint32_t bucket)
{
    unsigned shift = bucket >> TP_SKETCH_BITS;

    if (!shift)
        return bucket;
    uint64_t step = bucket & (TP_SKETCH_STEPS - 1);
    return ((TP_SKETCH_STEPS + step) << (shift - 1)) + ((UINT64_C(1) << (shift - 1)) >> 1);
}

/* What ranges, or pieces of work, of one row came to. Times in the ticks of their records. */
struct tp_summary_sums {
    uint64_t count, ticks;
    int64_t self_ticks;
    int64_t memory, self_memory, device, self_device; /* bytes */
    uint64_t least, most;                             /* ticks of one */
    uint64_t first_start, first_end;                  /* of the earliest one */
    bool has_parent;                                  /* that one */
    uint64_t work_ticks, own_work_ticks; /* of devices, for calls in ranges of the row or below; in
                                            none below. In the clock of the device's records. */
};

struct tp_summary_bucket {
    uint32_t bucket;
    uint64_t count;
};

struct tp_summary_row {
    uint64_t record[TP_SUMMARY_RECORD_WORDS]; /* of the earliest one; its begin if it is a range */
    struct tp_summary_sums sums;
    struct tp_summary_bucket *buckets; /* ascending */
    uint32_t bucket_count;
};

/* What the children of a range that is open added up to so far. */
struct tp_summary_kids {
    uint64_t ticks;
    int64_t memory, device;
    uint32_t count; /* 0, 1 or 2, which stands for more */
};

/* A range whose end is in a segment that is not counted, or nowhere. */
struct tp_summary_frame {
    uint64_t record[TP_SUMMARY_RECORD_WORDS];
    uint64_t start;       /* ticks, all 64 bits */
    int64_t device_start; /* the track's device bytes at its begin */
    struct tp_summary_kids kids;
    bool has_held; /* an only child of the same name, which may turn out to be the same range */
    struct {
        uint64_t record[TP_SUMMARY_RECORD_WORDS];
        uint64_t start, end;
        int64_t memory, device;
        struct tp_summary_kids kids;
    } held;
};

/* A track with ranges that are open. */
struct tp_summary_track {
    uint32_t track;
    uint32_t first_frame, frame_count; /* outermost first */
    uint64_t next_slot;                /* number behind its last slot that is counted */
    uint64_t ticks;                    /* of its last record */
    uint64_t counters[3];              /* words 1 to 3 of it */
    int64_t device_bytes;
    uint32_t skipped[TP_CLASS_END]; /* begins too deep for the writer, whose ends are to come */
};

/* Half of a start/end range whose other half is not counted. */
struct tp_summary_half {
    uint64_t record[TP_SUMMARY_RECORD_WORDS];
    uint64_t ticks;
    uint32_t track;
};

/* Which ranges have called CUDA: one of those that are open, or ranges of one row that ended, all
 * below the same other ones. */
enum tp_summary_place {
    TP_SUMMARY_ENDED,
    TP_SUMMARY_OPEN,
    TP_SUMMARY_HELD, /* the only child of an open one */
    TP_SUMMARY_PLACE_END,
};

struct tp_summary_path {
    enum tp_summary_place of;
    uint32_t parent, row;            /* of ended ones: a path before, 0 none; from 1 */
    uint32_t track, frame;           /* of the others: indices; of the track's frames */
    uint64_t own_ticks, below_ticks; /* work of devices that is in no row's sums so far */
};

/* A call whose work may not be counted yet. */
struct tp_summary_call {
    uint32_t id, path; /* 0: in no range */
    bool saw_work;
};

/* Work whose call is not counted. */
struct tp_summary_waiting {
    uint32_t id;
    uint64_t count, ticks;
};

/* The last one of all in list order: by start, and of those that start together the shortest. */
struct tp_summary_last {
    uint32_t row;        /* + 1; 0 there is none */
    uint64_t start, end; /* ticks */
    bool has_parent;
};

/* What is counted and what is not. */
struct tp_summary_totals {
    uint32_t first_segment; /* the first that is not counted: all before it are, but for what is
                               missing */
    uint64_t segments, blocks, slots; /* counted */
    uint64_t missing_segments, missing_blocks, missing_slots;
    uint64_t missing_ranges;  /* of which only one end is counted, or that found no room */
    uint64_t missing_records; /* of kinds that are in no row */
    uint64_t without_sketch;  /* ranges that are in no sketch */
    uint64_t crowded;         /* ranges whose name found no room: they are in a row of their own */
    uint64_t first_ticks, last_ticks;
    uint64_t ranges, folded, filtered, ends_without_begin, too_deep, lost_records, device_memory;
    uint64_t kinds[TP_EVENT_KIND_END];
    struct tp_summary_last last;
};

/* ---- writing ---- */

/*
 * In this order: totals; the number of rows, each row and its buckets; the number of tracks, each
 * track and its frames; the number of halves, each half. All into one tp_wire_out, whose `full`
 * tells at the end.
 */
void tp_summary_put_totals(struct tp_wire_out *out, const struct tp_summary_totals *totals);
void tp_summary_put_row(struct tp_wire_out *out, const uint64_t *record,
                        const struct tp_summary_sums *sums, uint32_t bucket_count);
void tp_summary_put_bucket(struct tp_wire_out *out, uint32_t ascent, uint64_t count);
void tp_summary_put_track(struct tp_wire_out *out, const struct tp_summary_track *track);
void tp_summary_put_frame(struct tp_wire_out *out, const struct tp_summary_frame *frame);
void tp_summary_put_half(struct tp_wire_out *out, const struct tp_summary_half *half);

/*
 * Then the number of rows that are credited with work, each of them; the number of paths, each one;
 * of calls, each one; of works, each one; work that was given up, and its ticks. Ids are put as the
 * difference to the one before, modulo 2^32.
 */
void tp_summary_put_credit(struct tp_wire_out *out, uint32_t row,
                           const struct tp_summary_sums *sums);
void tp_summary_put_path(struct tp_wire_out *out, const struct tp_summary_path *path);
void tp_summary_put_call(struct tp_wire_out *out, uint32_t ascent, uint32_t path, bool saw_work);
void tp_summary_put_waiting(struct tp_wire_out *out, uint32_t ascent, uint64_t count,
                            uint64_t ticks);

#define TP_SUMMARY_HEAD_BYTES (TP_FILE_HEADER_BYTES + TP_BLOCK_HEADER_BYTES)

/**
 * tp_summary_seal - the two headers before a payload
 * @bytes: TP_SUMMARY_HEAD_BYTES, then the payload of @size bytes, then room for 7 more
 * Return: bytes of the whole file.
 */
size_t tp_summary_seal(uint8_t *bytes, size_t size, const uint8_t uuid[16],
                       const struct tp_summary_totals *totals);

/* ---- reading ---- */

struct tp_summary {
    struct tp_summary_totals totals;
    struct tp_summary_row *rows;
    struct tp_summary_track *tracks;
    struct tp_summary_frame *frames;
    struct tp_summary_half *halves;
    struct tp_summary_bucket *buckets;
    bool has_credits; /* false: by a writer that credited nobody with the work of devices */
    struct tp_summary_path *paths;
    struct tp_summary_call *calls;
    struct tp_summary_waiting *works;
    uint64_t without_launch, without_launch_ticks;
    uint32_t row_count, track_count, frame_count, half_count, bucket_count;
    uint32_t path_count, call_count, work_count;
};

/**
 * tp_summary_read - check and read a whole file
 * @expect_uuid: of the instance; NULL any
 *
 * Trusts no byte. Context: offline. @ret_summary is for tp_summary_free, whatever is returned.
 * Return: 0, or negative with @diag filled.
 */
int tp_summary_read(struct tp_summary *ret_summary, const void *bytes, uint64_t size,
                    const uint8_t *expect_uuid, struct tp_diag *diag);
void tp_summary_free(struct tp_summary *summary);

#endif
