/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_ALLOC_PACK_H
#define TP_TRACE_ALLOC_PACK_H

/* A block's allocations and frees as what cannot be foretold of them. Private to trace/. */

#include "event/event.h"
#include "trace/allocations.h"

struct tp_packer {
    struct tp_allocations lists;
    uint32_t *by_address; /* 0 none, else 1 + 2 × number of what was allocated there, + 1: freed */
    uint32_t by_address_mask;
    uint64_t *columns[TP_PACKED_END];
    uint32_t counts[TP_PACKED_END];     /* of the columns' values so far */
    uint64_t *arrays[TP_PACKED_ARRAYS]; /* in which they are */
    uint64_t before[2];                 /* ticks and freed bytes of the record before */
    uint64_t sums[4];                   /* of what is taken off each common word */
    bool has_brief;                     /* some of the records are brief in the ring */
    uint64_t brief;                     /* how many since the last whole one */
};

/** tp_packer_lay - as tp_allocations_lay */
size_t tp_packer_lay(struct tp_packer *packer, void *base, uint32_t records);

/** tp_packer_worst - the most bytes that the columns take for a record of @kind, a whole one's */
size_t tp_packer_worst(unsigned kind);

/** tp_packer_begin - before the records of a block with so many of either kind; @first: the first
 * one's words 0..3; @has_brief: some are brief in the ring */
void tp_packer_begin(struct tp_packer *packer, uint32_t allocs, uint32_t frees,
                     const uint64_t first[TP_SLOT_WORDS], bool has_brief);

/* Where the table's entry for @address is, or begins to be looked for. */
static inline uint32_t tp_packer_at(const struct tp_packer *packer, uint64_t address)
{
    return (uint32_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
           packer->by_address_mask;
}

/* An allocation or a free at this address comes soon. */
static inline void tp_packer_expect(const struct tp_packer *packer, uint64_t address)
{
    __builtin_prefetch(&packer->by_address[tp_packer_at(packer, address)]);
}

/**
 * tp_packer_put - the next record of the block, of whatever kind
 * @is_brief: it was brief in the ring
 * @common: its words 0..3, from which is taken what is foretold
 * @more:   of an allocation or a free: words 4.. of it, as they are
 */
void tp_packer_put(struct tp_packer *packer, unsigned kind, bool is_brief,
                   uint64_t common[TP_SLOT_WORDS], const uint64_t *more);

/** tp_packer_end - behind the last record of the block */
void tp_packer_end(struct tp_packer *packer);

#endif
