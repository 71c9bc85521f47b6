/* SPDX-License-Identifier: MIT
 * One process's directory: what it says of itself, and where on disk each stretch of each track is.
 */
#ifndef TP_INPUT_TPTRACE_PROCESS_H
#define TP_INPUT_TPTRACE_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "input/tptrace_cuda.h"
#include "input/tptrace_losses.h"
#include "input/tptrace_meta.h"
#include "input/tptrace_summary.h"
#include "input/tptrace_tracks.h"
#include "model/stream.h"

enum tptrace_state {
    TPTRACE_ENDED,   /* there is an end line */
    TPTRACE_DIED,    /* none, and the process is gone */
    TPTRACE_RUNNING, /* none, and it runs on this machine */
    TPTRACE_WENT_ON, /* none: it has become another program (exec) */
};

struct tptrace_segment {
    uint32_t number;
    int fd; /* -1: opened when it is needed */
    uint64_t size;
};

#define TPTRACE_SLOT_MAX (UINT64_C(1) << 60) /* no track ever has so many */

/* What became of records of CUDA. */
struct tptrace_cuda_totals {
    uint64_t activities;     /* read and wanted */
    uint64_t without_time;   /* of device work and calls: in no sum */
    uint64_t without_launch; /* device work of which neither call nor place is recorded */
    int64_t without_launch_ns;
    uint64_t inner_calls;   /* of the driver, made by the runtime: left out */
    uint64_t late_calls;    /* nothing tells which range they were made in */
    uint64_t by_external;   /* device work whose launch is known by an external id only */
    uint64_t unknown_sizes; /* frees of blocks whose allocation is not recorded */
    bool has_device_work;
    bool has_memory; /* device memory by calls of CUDA */
};

/* Numbers that a report's head and `info` show; sums over tracks. */
struct tptrace_totals {
    uint64_t disk_bytes, block_bytes, blocks;
    uint64_t block_slots, ring_slots; /* read from there, each counted once */
    uint64_t rings;
    uint64_t evicted_slots, missing_slots, gaps;
    uint64_t memory_slots; /* of rings that were no file */
    uint64_t damaged_blocks, damaged_slots, damaged_bytes, torn_tails, unreadable_files;
    uint64_t double_slots;
    uint64_t unknown_records;
    uint64_t
        lost_records; /* the larger of what `lost` records and what rings or the end line say */
    uint64_t dropped_elsewhere; /* `drop` lines of meta.jsonl without a track */
    struct tp_stream_counts stream;
    uint64_t async_ranges, async_unfinished, async_without_begin;
    struct tptrace_cuda_totals cuda;
};

/* What went wrong, each with its place; the first ones are kept. */
struct tptrace_troubles {
    struct tp_diag *items;
    size_t kept, limit;
    uint64_t count;
    pthread_mutex_t lock;
};

struct tptrace_process {
    char *dir;
    struct tptrace_meta meta;
    enum tptrace_state state;
    char *ring_folder; /* what a process that ended has not: NULL */
    int64_t read_ns;   /* real time at which its rings were read */
    struct tptrace_segment *segments;
    size_t segment_count;
    struct tptrace_tracks tracks;
    struct tptrace_summary summary; /* of segments that are gone */
    uint64_t *ring_slots;           /* what is left in rings, one ring behind the other */
    uint64_t ring_slot_count;
    uint64_t last_ticks; /* of all records read so far */
    struct tp_clock clock;
    struct tptrace_cuda_clock cuda_clock;
    struct tptrace_losses losses;
    struct tptrace_totals totals;
    struct tptrace_troubles troubles;
};

/**
 * tptrace_process_open - read the small files and the rings, list the segments
 * @trouble_limit: how many troubles are kept with their text
 *
 * A live process may go on writing: rings are read before segments, so that what leaves a ring is
 * found in one.
 *
 * Context: offline. @process is for tptrace_process_close, whatever is returned.
 * Return: 0, with troubles noted in the process; negative when there is nothing to read (-ENOMEM,
 * no meta.jsonl, a newer major version).
 */
int tptrace_process_open(struct tptrace_process *process, const char *dir, size_t trouble_limit,
                         struct tp_diag *diag);
void tptrace_process_close(struct tptrace_process *process);

/** tptrace_track_named - a ring with @slot and what follows says its thread's name; terminated */
void tptrace_track_named(struct tptrace_track *track, const char name[16], uint64_t slot);

/** tptrace_is_gone - whether it has left rings, and nobody writes them any more */
static inline bool tptrace_is_gone(const struct tptrace_process *process)
{
    return process->state == TPTRACE_DIED || process->state == TPTRACE_WENT_ON;
}

/** tptrace_trouble - note a trouble; @file may be NULL when the diag has it. Context: any thread.
 */
void tptrace_trouble(struct tptrace_process *process, struct tp_diag *diag, const char *file);

/**
 * tptrace_process_read_piece - the bytes of a block
 * @buffer: grown as needed, for free()
 * Return: bytes read, or negative with @diag filled.
 */
int64_t tptrace_process_read_piece(struct tptrace_process *process,
                                   const struct tptrace_piece *piece, void **buffer,
                                   size_t *capacity, struct tp_diag *diag);

/** tptrace_track_dropped - a track has dropped so many records, says @path (NULL: meta.jsonl); a
 * number that cannot be is told as damage and not taken */
void tptrace_track_dropped(struct tptrace_process *process, struct tptrace_track *track,
                           uint64_t count, const char *path);

/** tptrace_process_find_track - made if it is new. Return: 0, -ENOMEM or -TP_ELIMIT. */
int tptrace_process_find_track(struct tptrace_process *process, uint32_t number,
                               struct tptrace_track **ret_track);

/**
 * tptrace_segment_open - a segment's descriptor; it is the caller's unless it is segment->fd
 * Return: descriptor or negative with @diag filled.
 */
int tptrace_segment_open(const struct tptrace_process *process,
                         const struct tptrace_segment *segment, struct tp_diag *diag);

/** tptrace_calls_without_record - calls of CUDA, at least, that CUPTI did not report. Its records
 * were read. */
uint64_t tptrace_calls_without_record(const struct tptrace_process *process);

/** tptrace_memory_source - whose blocks of device memory it told of: an enum tp_memory_source, 0
 * none. Its records were read. */
unsigned tptrace_memory_source(const struct tptrace_process *process);

/** tptrace_segment_path - "DIR/000001.tpt" into TPTRACE_PATH_MAX bytes */
void tptrace_segment_path(char *path, const struct tptrace_process *process,
                          const struct tptrace_segment *segment);

/** tptrace_process_uncounted - segments that were evicted and that the running summary, which is
 * there, does not count */
uint32_t tptrace_process_uncounted(const struct tptrace_process *process);

/** tptrace_process_evicted - whether it has thrown segments away to stay within its limits */
static inline bool tptrace_process_evicted(const struct tptrace_process *process)
{
    return process->meta.eviction_count || process->losses.counts[TP_LOSS_EVICTED];
}

/** tptrace_process_was_cut - did something make its report less than whole? (A death and eviction
 * do not.) */
bool tptrace_process_was_cut(const struct tptrace_process *process);

#endif
