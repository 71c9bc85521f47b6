/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_ALLOC_PACK_H
#define TP_TRACE_ALLOC_PACK_H

/* A block's records taken apart, its allocations and frees as what cannot be foretold of them.
 * Private to trace/. */

#include "event/event.h"
#include "trace/allocations.h"
#include "trace/block.h"
#include "trace/column_encode.h"
#include "trace/key_table.h"
#include "trace/series.h"

/* Words of all records, less what is foretold; and of allocations or frees. */
enum tp_packer_series {
    TP_SERIES_TICKS,
    TP_SERIES_CALLS,
    TP_SERIES_ALLOCATED,
    TP_SERIES_FREED,
    TP_SERIES_ALLOC_FLAGS,
    TP_SERIES_ALLOC_PERIOD,
    TP_SERIES_FREE_FLAGS,
    TP_SERIES_SLACK,
    TP_SERIES_ASKED_HIGH, /* halves of sizes */
    TP_SERIES_END
};

#define TP_PACKER_SMALL 1024 /* sizes that are found at once */

/* The lists of allocations.h, in short: addresses are in the table. */
struct tp_pack_seat {
    uint32_t number, pool; /* of the allocation that has it */
};

struct tp_pack_freed {
    uint32_t older; /* of the pool: number + 1, 0 none; those that are taken are passed over */
    uint32_t pool;  /* and a bit where an allocation has taken it */
};

struct tp_packer {
    struct tp_key_table addresses; /* allocated there: 1 + 2 × seat; freed: 2 + 2 × number */
    struct tp_key_table sizes;     /* number + 1 of the pool */
    uint32_t small_pools[TP_PACKER_SMALL]; /* the same, of small multiples of 8 */
    struct tp_pool *pools;
    struct tp_pack_seat *seats;
    struct tp_pack_freed *freed;
    uint32_t *empty; /* seats, the last one emptied last */
    uint32_t pool_count, seat_count, empty_count;
    uint64_t behind; /* the last new one and a header */

    /* what comes of it */
    struct tp_packed_values columns[TP_PACKED_END];
    struct tp_packed_values stacks; /* of the allocations */
    struct tp_series series[TP_SERIES_END];
    uint8_t *kinds; /* of the records */
    uint32_t records, allocs, frees, briefs, others;
    uint64_t *other_slots; /* copies of those that are neither allocations nor frees */
    uint32_t *other_at;    /* where in them each begins */
    uint8_t *other_kinds;
    uint32_t other_slot_count;
    uint64_t first_ticks;
    int64_t latest;               /* time, in ticks since the first */
    uint64_t last[TP_SLOT_WORDS]; /* the last record's first slot, whole */

    uint32_t *narrow_asked;
    uint64_t *wide_asked; /* in its place where a value is too large */
    uint32_t counted;     /* allocations and frees up to the last whole one */
    int64_t since;        /* time now, in ticks since the first */
    uint64_t sums[4];     /* of what is taken off each common word; of calls that is allocs */
};

/** tp_packer_lay - as tp_allocations_lay */
size_t tp_packer_lay(struct tp_packer *packer, void *base, uint32_t records);

/** tp_packer_worst - the most bytes that the columns take for a record of @kind, a whole one's */
size_t tp_packer_worst(unsigned kind);

/**
 * tp_packer_take - take a block's records apart, each slot is read once
 *
 * Ends before a record that is cut off or of no known kind.
 * Return: slots taken.
 */
uint32_t tp_packer_take(struct tp_packer *packer, const struct tp_block_source *source);

/** tp_packer_first_period - of the first allocation; 0: they are no samples, or there are none */
uint64_t tp_packer_first_period(const struct tp_packer *packer);

#endif
