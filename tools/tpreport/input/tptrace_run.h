/* SPDX-License-Identifier: MIT
 * A recording of one or many processes: which of them are wanted, their clocks, and all their
 * records once. */
#ifndef TP_INPUT_TPTRACE_RUN_H
#define TP_INPUT_TPTRACE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "input/selection.h"
#include "input/tptrace_find.h"
#include "input/tptrace_process.h"
#include "input/tptrace_stream.h"
#include "model/strings.h"

/* Where a process's ticks per second are from. */
enum tptrace_rate {
    TPTRACE_RATE_MEASURED, /* its own clock lines */
    TPTRACE_RATE_OTHER,    /* another process of the same boot */
    TPTRACE_RATE_SAID,     /* ticks_per_second of its start line */
    TPTRACE_RATE_ASSUMED,  /* nanoseconds */
};

struct tptrace_member {
    char *dir;
    bool failed; /* could not be read at all; @why says */
    struct tp_diag why;
    uint32_t pid;
    int64_t rank; /* -1 unknown */
    int64_t start_ns;
    uint64_t boot_hash;              /* 0 unknown */
    struct tp_clock_pair first_pair; /* ticks 0 and times 0 without one */
    size_t pair_count;
    double own_rate;   /* ticks per second; 0 not measured */
    double said_rate;  /* 0 not said */
    int64_t offset_ns; /* realtime - monotonic, one for all processes of a boot */
    double rate;
    enum tptrace_rate rate_from;
    bool uses_cuda;                 /* there is a `cuda` line ... */
    bool uses_cupti;                /* ... and it says so */
    bool was_read;                  /* what follows is set */
    struct tptrace_process process; /* after reading: without descriptors and ring slots */
    struct tptrace_open_ranges open;
    uint32_t name_count, names_damaged, names_unknown;
    uint64_t names_bytes;
    struct tp_diag names_damage; /* the first */
};

struct tptrace_run {
    struct tptrace_place place;
    struct tptrace_member *members; /* the selected ones, by start time and pid */
    size_t count;
    size_t found;     /* before selection */
    int64_t start_ns; /* of the run: times count from here */
    int64_t end_ns;   /* last moment that any member tells of, after reading */
    bool has_steps;   /* with a selection by step: those that there are */
    int64_t first_step, last_step;
    struct tp_progress_part progress; /* of reading */
};

/* How records are read. */
struct tptrace_run_options {
    const struct tp_selection *selection; /* NULL: all */
    bool fold;
    bool want_shapes;
    bool in_time;                 /* as in struct tptrace_stream_options, as the next one */
    bool verify;                  /* as in struct tptrace_stream_options */
    unsigned workers;             /* 0: as many as there are cores */
    size_t trouble_limit;         /* texts kept per process */
    struct tp_progress *progress; /* shown is how far the whole run is read; NULL: nothing */

    /* Called for each member, open and with its clock fitted, and its records are not read. NULL:
     * they are. */
    int (*instead)(void *context, struct tptrace_member *member, struct tptrace_names *names);
    void *instead_context;
};

/**
 * tptrace_run_open - find a recording and what its processes say of themselves
 * @input: as tptrace_find
 *
 * Processes whose meta.jsonl cannot be read are members that failed, unless all are.
 *
 * Context: offline. @run is for tptrace_run_close, whatever is returned.
 * Return: 0, -TP_ENOTFOUND (no recording, or no process that is selected), or negative; @diag says
 * which.
 */
int tptrace_run_open(struct tptrace_run *run, const char *input,
                     const struct tp_selection *selection, struct tp_diag *diag);
void tptrace_run_close(struct tptrace_run *run);

/**
 * tptrace_run_read - all records of all members, process by process
 * @consumers: as many as tptrace_run_workers says
 *
 * Members keep what they are about, and what went wrong. source->user is the member's index.
 *
 * Return: 0, or negative to stop.
 */
int tptrace_run_read(struct tptrace_run *run, const struct tptrace_run_options *options,
                     struct tp_strings *strings, const struct tptrace_consumer *consumers,
                     struct tp_diag *diag);
unsigned tptrace_run_workers(const struct tptrace_run_options *options);

/** tptrace_run_was_cut - is anything lost or unreadable? (Deaths and eviction are not.) */
bool tptrace_run_was_cut(const struct tptrace_run *run);

/** tptrace_run_uses_cuda - is there work of a device, or memory on one? Known after reading. */
bool tptrace_run_uses_cuda(const struct tptrace_run *run);

/** tptrace_counts_memory - did it count its allocations? */
bool tptrace_counts_memory(const struct tptrace_member *member);

/** tptrace_run_counts_memory - did any member count its allocations, or does it tell of device
 * memory? */
bool tptrace_run_counts_memory(const struct tptrace_run *run);

#endif
