/* SPDX-License-Identifier: MIT
 * Allocations and frees whose place among those of other threads is not known yet.
 *
 * A record without a time of its own bears that of its thread's record before; what it tells of
 * happened later, but before the thread's next time. Until that is known the event is open, and
 * what else happens at its address is kept with it: together they are an overlap, which ends when
 * none of its events is open any more. What came before an overlap, and what comes behind it, did
 * so in truth, too. */
#ifndef TP_MODEL_ALLOC_OVERLAPS_H
#define TP_MODEL_ALLOC_OVERLAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/alloc_order.h"
#include "model/live_memory.h"

#define TP_OVERLAP_NONE UINT32_MAX
#define TP_OVERLAP_MAX TP_ALLOC_ORDER_MAX /* events of one */
#define TP_OVERLAP_EVENTS_MAX (64u << 10) /* of all overlaps */

struct tp_overlap_event {
    uint64_t from, to;          /* ticks; it happened at @from or later, and before @to */
    struct tp_live_block block; /* of an allocation; of a free what it freed as far as is known */
    uint32_t thread;
    uint32_t overlap; /* TP_OVERLAP_NONE: that has ended already */
    uint32_t next, next_of_thread;
    bool is_open, is_free;
    bool is_last; /* a free of what its thread allocated last */
    bool is_dead; /* an allocation whose block is taken as freed */
    bool is_over; /* to be swept away */
};

struct tp_overlap {
    uint64_t address;
    struct tp_live_block base; /* that was there before; is_used false: none */
    uint32_t first, last,
        next; /* events in the order in which they were told; next in its bucket */
    uint32_t count, open;
    uint32_t owed;    /* frees for which there is no block yet */
    bool is_disputed; /* what was told is no order in which it can have happened */
    bool base_is_dead;
};

/* Start from zeros. */
struct tp_overlaps {
    struct tp_overlap_event *events;
    struct tp_overlap *items;
    uint32_t *buckets;
    uint32_t bucket_count, event_room, item_room;
    uint32_t spare_event, spare_item; /* index + 1 */
    uint32_t count, event_count;
    uint32_t steps; /* that may be taken in search of an order; there are more with each event */
    uint64_t seed;
};

#define TP_OVERLAP_BASE TP_OVERLAP_MAX /* whose block one is, where it is no event's */
#define TP_OVERLAP_NOBODY (TP_OVERLAP_MAX + 1)

/* An overlap's events in an order in which they can have happened. */
struct tp_overlap_verdict {
    struct tp_overlap *overlap;
    struct tp_overlap_event *events[TP_OVERLAP_MAX]; /* as they were told */
    unsigned count, past;                            /* the first @past of the order stay so */
    uint8_t order[TP_OVERLAP_MAX];
    unsigned before[TP_OVERLAP_MAX + 1]; /* by place in the order: whose block was there */
    bool dies[TP_OVERLAP_MAX + 1];       /* by whose it is; the caller's */
};

void tp_overlaps_fini(struct tp_overlaps *overlaps);

/** tp_overlaps_find - the one at an address. Return: its index, TP_OVERLAP_NONE for none. */
uint32_t tp_overlaps_find(const struct tp_overlaps *overlaps, uint64_t address);

/** tp_overlaps_begin - a new one, without events. Return: its index, or -ENOMEM. */
int64_t tp_overlaps_begin(struct tp_overlaps *overlaps, uint64_t address);

/**
 * tp_overlaps_add - one more event of an overlap
 * @of_thread: list of the open events of its thread, index + 1, which it joins if it is open
 * Return: 0 or -ENOMEM.
 */
int tp_overlaps_add(struct tp_overlaps *overlaps, uint32_t overlap,
                    const struct tp_overlap_event *event, uint32_t *of_thread);

/** tp_overlaps_sweep - without the events that are over; those of them that are open stay in their
 * threads' lists */
void tp_overlaps_sweep(struct tp_overlaps *overlaps, uint32_t overlap);

/** tp_overlaps_end - it goes away, and all its events in the same way */
void tp_overlaps_end(struct tp_overlaps *overlaps, uint32_t overlap);

/** tp_overlaps_close - take the first of the events in a thread's list, which happened before @to.
 * Return: its overlap if nothing of that is open any more, else TP_OVERLAP_NONE. */
uint32_t tp_overlaps_close(struct tp_overlaps *overlaps, uint32_t *of_thread, uint64_t to);

/** tp_overlaps_judge - put the events of an overlap in order, as far as they are past: what is told
 * from @now on was not before it. UINT64_MAX: nothing more is told. */
void tp_overlaps_judge(struct tp_overlaps *overlaps, struct tp_overlap *overlap, uint64_t now,
                       struct tp_overlap_verdict *ret_verdict);

#endif
