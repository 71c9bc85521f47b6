/* SPDX-License-Identifier: MIT
 * Which allocations are in a profile, as far as that is known. Threads count each one, and what
 * they had counted then stands in every record: so those that are not recorded one by one are known
 * by number, where their thread has records. */
#ifndef TP_MODEL_ALLOC_COVERAGE_H
#define TP_MODEL_ALLOC_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Allocations of a thread that are recorded. */
struct tp_alloc_seen {
    uint64_t records;
    uint32_t first, last; /* how many the thread had made then, these too; modulo 2^32 */
};

struct tp_alloc_coverage {
    uint64_t counted, counted_bytes; /* by threads, up to their last records of any kind */

    /* Of them, in processes where all are recorded, those that are not: */
    uint64_t before;  /* their thread's first one that is */
    uint64_t between; /* such */
    uint64_t after;   /* the last one */

    uint64_t until_start; /* counted before the recordings of processes that began with these */
    unsigned late;        /* processes whose recording began in their midst */
    uint64_t late_calls, late_bytes; /* counted there until then by the thread that began it */
    bool start_unknown;              /* of some process: its recording does not say */
    bool has_windows;                /* recorded was what happened in capture windows */
    bool is_selected;      /* by time or step: counters are of whole threads all the same */
    bool is_counted;       /* threads have counters, whether they have records or not */
    bool is_wanted;        /* single allocations were asked for */
    bool follows_none;     /* children of some process are not recorded */
    uint64_t without_ring; /* records of threads that got no ring */

    unsigned unrecorded; /* processes that have no recording, and what they counted, at least */
    uint64_t unrecorded_calls, unrecorded_bytes;
    uint32_t unrecorded_program; /* string id: of one of them; TP_STRING_NONE unknown */
    bool unrecorded_more;        /* of others, too */
};

/** tp_alloc_seen_next - an allocation was recorded when its thread had made @calls */
static inline void tp_alloc_seen_next(struct tp_alloc_seen *seen, uint32_t calls)
{
    if (!seen->records++)
        seen->first = calls;
    seen->last = calls;
}

/** tp_alloc_coverage_thread - a thread's records are over: all its allocations were to be recorded,
 * and it had made @calls then, modulo 2^32 */
void tp_alloc_coverage_thread(struct tp_alloc_coverage *coverage, const struct tp_alloc_seen *seen,
                              uint32_t calls);

/** tp_alloc_coverage_is_whole - whether each one from each thread's first one that is recorded on
 * is
 */
bool tp_alloc_coverage_is_whole(const struct tp_alloc_coverage *coverage);

/** tp_alloc_coverage_is_from_start - and each one from the agent's start on */
bool tp_alloc_coverage_is_from_start(const struct tp_alloc_coverage *coverage);

#endif
