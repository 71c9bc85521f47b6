/* SPDX-License-Identifier: MIT
 * What meta.jsonl of a process says (runtime/trace/format.md, section 6). */
#ifndef TP_INPUT_TPTRACE_META_H
#define TP_INPUT_TPTRACE_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "input/tptrace_meta_cuda.h"
#include "model/clock.h"

#define TPTRACE_META_LINE_MAX (1u << 20)
#define TPTRACE_META_TRACKS_MAX (1u << 20)
#define TPTRACE_META_PAIRS_MAX (4u << 20)
#define TPTRACE_META_OTHERS_MAX (64u << 10) /* sources, notes, drops, evictions: each */

struct tptrace_meta_track {
    uint32_t track, tid;
    char *name;     /* the last one; NULL none */
    bool is_untold; /* a ring says so, no line */
};

struct tptrace_meta_source {
    char *name, *state, *why; /* why may be NULL */
};

struct tptrace_meta_drop {
    uint32_t track;
    bool has_track;
    uint64_t count;
    char *reason; /* may be NULL */
};

struct tptrace_meta_evict {
    uint32_t segment, blocks;
    bool for_space; /* by TPAGENT_MIN_FREE, not by TPAGENT_MAX_SIZE */
    uint64_t first_ticks, last_ticks;
};

/* Totals of a track from the `end` line or its own `track_end` line. */
struct tptrace_meta_total {
    uint32_t track;
    uint64_t slots, dropped;
};

/* A file that was mapped to be executed; in the order in which they were seen. */
struct tptrace_meta_module {
    char *path;
    char *build_id; /* hex; NULL unknown */
    uint64_t base, size, offset;
};

/* The capture window opened or closed. */
struct tptrace_meta_turn {
    uint64_t ticks;
    bool is_open;
};

struct tptrace_meta {
    bool has_start;
    bool has_uuid;
    uint8_t uuid[16];
    uint32_t format_major, format_minor;
    uint32_t pid, parent_pid;
    int64_t start_ns;      /* REALTIME */
    uint64_t kernel_start; /* as /proc tells it, in its unit; 0 unknown */
    uint64_t ticks_per_second;
    char *host, *boot_id, *agent, *exe, *program, *clock, *memory, *ring_dir,
        *parent; /* NULL unknown */

    bool has_dist;
    int64_t rank, local_rank, world_size, node_rank; /* -1 unknown */
    char *job;

    struct tp_clock_pair *pairs;
    struct tptrace_meta_track *tracks;   /* ascending by track */
    struct tptrace_meta_source *sources; /* the last word on each */
    char **notes;
    struct tptrace_meta_drop *drops;
    struct tptrace_meta_evict *evictions;
    struct tptrace_meta_total *totals; /* ascending by track */
    struct tptrace_meta_module *modules;
    struct tptrace_meta_turn *turns; /* as they happened; turns_left_out of them are not here */
    size_t pair_count, track_count, source_count, note_count, drop_count, eviction_count,
        total_count, module_count, turn_count;

    char *capture_plan;                                /* NULL: there is no capture window */
    uint64_t window_count, open_ticks, turns_left_out; /* totals, as the process says */

    struct tptrace_meta_cuda cuda;
    bool recovered; /* rings were made blocks */
    bool ended;
    char *end_reason;
    uint64_t end_ticks; /* 0 unknown */
    bool says_names;    /* what names.tpn is like is said: */
    uint64_t said_names, said_names_bytes;
    uint64_t behind_end; /* lines behind the `end` line */

    uint64_t bytes, lines;
    uint64_t unknown_lines;    /* types that we do not know */
    uint64_t damaged_lines;    /* no JSON object, or with values out of all bounds */
    uint64_t first_damaged;    /* number of the first of them, from 1 */
    uint64_t first_damaged_at; /* its offset */
    uint64_t ignored_entries;  /* beyond a limit above */
    bool torn;                 /* the last line has no end */
    uint64_t torn_at;          /* where it begins */
};

/**
 * tptrace_meta_read - read a whole meta.jsonl
 * @path: the file
 *
 * Lines that make no sense are counted and passed over. A file without a `start` line is read all
 * the same.
 *
 * Context: offline. @meta is for tptrace_meta_fini, whatever is returned.
 * Return: 0, or negative when the file cannot be read at all, -TP_EVERSION for a newer major
 * version.
 */
int tptrace_meta_read(struct tptrace_meta *meta, const char *path, struct tp_diag *diag);

/** tptrace_meta_parse - the same from memory. Return: 0, -ENOMEM or -TP_EVERSION. */
int tptrace_meta_parse(struct tptrace_meta *meta, const char *bytes, size_t size,
                       struct tp_diag *diag);

/** tptrace_meta_name_track - a ring tells what its thread is called; newer than any line. Return: 0
 * or -ENOMEM. */
int tptrace_meta_name_track(struct tptrace_meta *meta, uint32_t track, uint32_t tid,
                            const char *name);

void tptrace_meta_fini(struct tptrace_meta *meta);

/** tptrace_meta_find_track - what is said of a track. Return: borrowed, NULL for nothing. */
const struct tptrace_meta_track *tptrace_meta_find_track(const struct tptrace_meta *meta,
                                                         uint32_t track);
const struct tptrace_meta_total *tptrace_meta_find_total(const struct tptrace_meta *meta,
                                                         uint32_t track);

#endif
