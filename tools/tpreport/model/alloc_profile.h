/* SPDX-License-Identifier: MIT
 * The allocation profile: single allocations and frees in the order of time, summed by where they
 * came from. Samples are weighed: one drawn by n bytes is recorded with the probability
 * p = 1 - exp(-n / period), so it stands for 1 / p allocations and its bytes / p. Memory grows with
 * places and with blocks that are live at a time, not with the number of allocations. */
#ifndef TP_MODEL_ALLOC_PROFILE_H
#define TP_MODEL_ALLOC_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/alloc_coverage.h"
#include "model/alloc_interval.h"
#include "model/alloc_overlaps.h"
#include "model/frames.h"
#include "model/id_index.h"
#include "model/live_memory.h"
#include "model/stacks.h"
#include "model/strings.h"

/* Of samples, as alloc_interval.h has them. */
struct tp_alloc_sampled {
    double unseen, unseen_bytes; /* what samples stand for beyond themselves */
    double allocations_variance, bytes_variance;
    double bytes_grain;
    double most;       /* allocations that one of the samples stands for, but for itself */
    double most_bytes; /* bytes that a sample may stand for so: of a small block a period */
};

/* What is told of a place, or of a group of places. Numbers of samples are estimates. */
struct tp_alloc_sums {
    double allocations, allocated_bytes;
    double frees, freed_bytes;
    double live_blocks, live_bytes;  /* at the end of the recording */
    double peak_bytes;               /* live when most was live */
    double temporary;                /* freed by their thread before it allocated anything else */
    struct tp_alloc_sampled sampled; /* how far the first two may be off; 0 where all is recorded */
    int64_t first_ns, last_ns;       /* of the allocations; since the run's start */
    unsigned quarters; /* bit q: of its blocks that are live at the end some are among quarter q of
                        * the process's allocations since its own first one */
};

/* Where allocations came from; a place of one process. */
struct tp_alloc_site {
    uint32_t range;  /* string id of the innermost range; TP_STRING_NONE: in none */
    uint32_t stack;  /* the caller's, until it is resolved to a stack of the profile's frames */
    uint32_t thread; /* string id */
    int64_t first;   /* number of its first allocation in the process */
    struct tp_alloc_sums sums;
    double live_bytes, live_at_peak;
    uint64_t peak_seen; /* the peak that live_at_peak is about */
};

/* What a thread's counters, which are exact, say of a range or a thread. */
struct tp_alloc_counters {
    uint32_t name;  /* string id */
    uint64_t calls; /* of the range */
    uint64_t allocations, allocated_bytes;
    int64_t net_bytes, self_net_bytes;
};

/* Start from zeros. */
struct tp_alloc_counter_table {
    struct tp_id_index names;
    struct tp_alloc_counters *items; /* by the name's number */
    size_t count, capacity;
};

#define TP_ALLOC_CURVE 256u

/* Most bytes that were live in each stretch of time. */
struct tp_alloc_curve {
    double most[TP_ALLOC_CURVE];
    size_t count;
    int64_t width_ns; /* of a stretch; the first one begins with the run */
    double last;
};

/* Of a free only its address and its time. */
struct tp_alloc_event {
    uint64_t address, bytes, period;
    uint64_t drawn_bytes; /* by which it was drawn among samples */
    int64_t ns;           /* since the run's start */
    uint64_t ticks;       /* the same, by which order is told */
    uint32_t range, stack, thread;
    uint32_t calls;  /* allocations that its thread had made then, modulo 2^32 */
    bool is_untimed; /* it was later, but before the thread's next time */
    bool is_resize;
    bool is_unwatched; /* its free will not be seen */
    bool is_selected;  /* false: its free is known, and nothing is counted */
};

/* A thread of the process. */
struct tp_alloc_thread {
    uint64_t last;       /* address of its last allocation while nothing came after */
    uint32_t last_calls; /* how many it had made then, that one too */
    uint64_t told;       /* ticks of its last record that has a time */
    uint32_t open;       /* list of what it did since, as far as its order is not certain */
};

struct tp_alloc_profile {
    struct tp_alloc_site *sites;
    size_t count, capacity;
    size_t process_first; /* sites from here on are of the process that is being read */
    uint32_t *slots;      /* open addressing over those: index + 1 */
    size_t slot_count;
    uint64_t seed; /* of hashes */
    struct tp_live_memory live;
    struct tp_overlaps overlaps;
    uint64_t cut_overlaps; /* of which a part was put in order before all of it was known */
    struct tp_alloc_thread *threads_known; /* by number */
    size_t threads_known_count;
    double live_bytes, process_peak;
    int64_t process_records; /* allocations of the process so far */
    uint64_t peaks;          /* how often the peak moved */
    struct tp_alloc_curve process_curve;

    struct tp_alloc_sums total;
    double peak_bytes; /* sum of the processes' */
    int64_t peak_ns;   /* of the process with the highest */
    double highest_peak;
    struct tp_alloc_curve curve;
    struct tp_alloc_counter_table ranges, threads;
    struct tp_frames frames; /* of call stacks */
    unsigned processes;
    uint64_t records;                      /* allocations that are recorded one by one */
    uint64_t untimed;                      /* of them; their times are those of records before */
    uint64_t least_period, largest_period; /* of them */
    uint64_t unknown_frees; /* of blocks from before the recording, or whose allocation is lost */
    uint64_t unseen_frees;  /* a block's address was allocated again, its free is lost */
    uint64_t unwatched;     /* allocations whose free could not be recorded */
    uint64_t resizes;
    struct tp_alloc_coverage coverage;
};

/** tp_alloc_profile_init, _fini - fini takes a zeroed one as well */
void tp_alloc_profile_init(struct tp_alloc_profile *profile);
void tp_alloc_profile_fini(struct tp_alloc_profile *profile);

/**
 * tp_alloc_profile_allocated, _freed - the next event of a process
 *
 * Events come by their ticks, those of a thread in its order. Of those without a time it is found
 * out what they are before and behind: what one thread allocated and another freed may be told the
 * other way round.
 *
 * Return: 0 or -ENOMEM.
 */
int tp_alloc_profile_allocated(struct tp_alloc_profile *profile, const struct tp_alloc_event *event,
                               uint32_t thread_number);
int tp_alloc_profile_freed(struct tp_alloc_profile *profile, const struct tp_alloc_event *event,
                           uint32_t thread_number);

/** tp_alloc_count - add exact counters of @name. Return: 0 or -ENOMEM. */
int tp_alloc_count(struct tp_alloc_counter_table *table, const struct tp_alloc_counters *more);

/** tp_alloc_profile_end_process - what is live now is live at the end, @end_ns since the run's
 * start. Return: 0 or -ENOMEM.
 */
int tp_alloc_profile_end_process(struct tp_alloc_profile *profile, int64_t end_ns);

/* ---- groups ---- */

enum tp_alloc_group { TP_ALLOC_BY_RANGE, TP_ALLOC_BY_STACK, TP_ALLOC_BY_THREAD, TP_ALLOC_GROUPS };

/* What rows are sorted by; the folded form weighs by it. */
enum tp_alloc_key {
#define TP_ALLOC_KEY(id, name, value, help) TP_ALLOC_##id,
#include "model/alloc_keys.def"
#undef TP_ALLOC_KEY
    TP_ALLOC_KEYS,
};

struct tp_alloc_row {
    uint32_t key; /* string id, of stacks the stack's */
    struct tp_alloc_sums sums;
};

/* What a view shows. */
struct tp_alloc_report {
    const struct tp_alloc_profile *profile;
    enum tp_alloc_key key;
    struct tp_alloc_row *rows[TP_ALLOC_GROUPS]; /* descending by the key */
    size_t row_count[TP_ALLOC_GROUPS];
    double shortened; /* allocations of whose stack only a part was recorded, or nothing */
};

/** tp_alloc_key_name, _help, _find - "peak_bytes"; a clause; TP_ALLOC_KEYS for no such name */
const char *tp_alloc_key_name(enum tp_alloc_key key);
const char *tp_alloc_key_help(enum tp_alloc_key key);
enum tp_alloc_key tp_alloc_key_find(const char *name);
double tp_alloc_key_value(const struct tp_alloc_sums *sums, enum tp_alloc_key key);

/** tp_alloc_is_suspect - is more and more live, to the end: are blocks that are live then among
 * each quarter of the process's allocations since the first one there, and some of them? */
bool tp_alloc_is_suspect(const struct tp_alloc_sums *sums);

/** tp_alloc_is_kept - is all live at the end that was allocated there, and not ever more? A leak of
 * one burst is, and so is what a program keeps. */
bool tp_alloc_is_kept(const struct tp_alloc_sums *sums);

/**
 * tp_alloc_report_init - the rows of all groups
 * Return: 0 or -ENOMEM; @report is for tp_alloc_report_fini, whatever is returned.
 */
int tp_alloc_report_init(struct tp_alloc_report *report, const struct tp_alloc_profile *profile,
                         enum tp_alloc_key key);
void tp_alloc_report_fini(struct tp_alloc_report *report);

/** tp_alloc_report_count_shortened - look for such stacks, by what stands for what they lack */
void tp_alloc_report_count_shortened(struct tp_alloc_report *report,
                                     const struct tp_strings *strings,
                                     const struct tp_stacks *stacks);

/** tp_alloc_count_interval, _bytes_interval - in which the number of allocations lies with 95 %,
 * and what they allocated */
struct tp_alloc_interval tp_alloc_count_interval(const struct tp_alloc_sums *sums);
struct tp_alloc_interval tp_alloc_bytes_interval(const struct tp_alloc_sums *sums);

#endif
