/* SPDX-License-Identifier: MIT */
#ifndef TP_EVENT_BRIEF_H
#define TP_EVENT_BRIEF_H

/*
 * Allocations and frees in short. A thread that records each of its allocations writes most of them
 * in one slot, without a time and without counters: the counters follow from those of the record
 * before, and the time is somewhere between that one's and the next one's that has a time. They
 * stand in rings only: whoever takes records out of a ring makes whole ones of them.
 *
 * Unlike in all other kinds, the words of the slot are
 *
 *   word 0   kind << 56 | usable bytes
 *   word 1   call stack of an allocation (name id), 0 of a free
 *   word 2   address
 *   word 3   flags << 48 | slack (of a free 0), both as in word 6 of an allocation's record
 */

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

#define TP_BRIEF_WHOLE_SLOTS 2 /* of the record that stands for one */
#define TP_BRIEF_BYTES_MAX ((UINT64_C(1) << 56) - 1)
#define TP_ALLOC_FLAGS_SHIFT 48                      /* in word 6 of an allocation */
#define TP_ALLOC_WORD_MASK ((UINT64_C(1) << 56) - 1) /* what of that word has a meaning */

#define TP_ALLOC_RESIZED 1u   /* flags of allocations and frees */
#define TP_ALLOC_UNWATCHED 2u /* of allocations: the free will not be recorded */
#define TP_ALLOC_UNTIMED 4u   /* the time is that of the record before; it was later */
#define TP_ALLOC_BY_ASKED 8u  /* a sample, drawn by the bytes asked for and so many more: */
#define TP_ALLOC_DRAWN_MORE 16u

static inline bool tp_is_brief(unsigned kind)
{
    return kind == TP_EVENT_ALLOC_BRIEF || kind == TP_EVENT_FREE_BRIEF;
}

/**
 * tp_brief_expand - the whole record that stands for a brief one
 * @brief:  its slot
 * @before: the first slot of the track's record before it, whole; zeros for none
 * @record: two slots; may not overlap
 */
static inline void tp_brief_expand(const uint64_t brief[TP_SLOT_WORDS],
                                   const uint64_t before[TP_SLOT_WORDS],
                                   uint64_t record[2 * TP_SLOT_WORDS])
{
    uint64_t bytes = brief[0] & TP_BRIEF_BYTES_MAX, ticks = before[0] & TP_TICKS_MASK;
    uint64_t calls = before[1] & ~(uint64_t)UINT32_MAX;
    uint64_t flags = (brief[3] & TP_ALLOC_WORD_MASK) | (uint64_t)TP_ALLOC_UNTIMED
                                                           << TP_ALLOC_FLAGS_SHIFT;

    record[4] = brief[2];
    record[7] = 0;
    if (tp_slot_kind(brief) == TP_EVENT_ALLOC_BRIEF) {
        record[0] = (uint64_t)TP_EVENT_ALLOC << 56 | ticks;
        record[1] = (calls + (UINT64_C(1) << 32)) | (uint32_t)brief[1];
        record[2] = before[2] + bytes;
        record[3] = before[3];
        record[5] = bytes;
        record[6] = flags;
    } else {
        record[0] = (uint64_t)TP_EVENT_FREE << 56 | ticks;
        record[1] = calls;
        record[2] = before[2];
        record[3] = before[3] + bytes;
        record[5] = flags >> TP_ALLOC_FLAGS_SHIFT;
        record[6] = 0;
    }
}

/**
 * tp_brief_before - what stood before the first of @count slots of a ring, as far as they tell
 * themselves: the counters of the first whole record without what the brief ones before it counted
 * (what that one itself freed is not known, and counts as if before them), and its time
 * @slots:  whole records
 * @before: a first slot for tp_brief_expand; zeros where they do not tell
 * Return: whether they do.
 */
bool tp_brief_before(const uint64_t *slots, uint64_t count, uint64_t before[TP_SLOT_WORDS]);

/** tp_ring_slots - of the slots of its ring those of a whole record: one if it was brief there */
static inline unsigned tp_ring_slots(const uint64_t *record)
{
    unsigned kind = tp_slot_kind(record);
    uint64_t flags = kind == TP_EVENT_ALLOC  ? record[6] >> TP_ALLOC_FLAGS_SHIFT
                     : kind == TP_EVENT_FREE ? record[5]
                                             : 0;

    return flags & TP_ALLOC_UNTIMED ? 1 : tp_kind_slots(kind);
}

#endif
