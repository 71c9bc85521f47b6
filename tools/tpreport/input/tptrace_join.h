/* SPDX-License-Identifier: MIT
 * Pieces of a track (blocks, and what is left in rings) put in the order of their slot numbers, so
 * that nothing is counted twice and what is missing is known. Blocks come first; of a ring only
 * what no block has. */
#ifndef TP_INPUT_TPTRACE_JOIN_H
#define TP_INPUT_TPTRACE_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TPTRACE_RING UINT32_MAX

struct tptrace_piece {
    uint64_t first_slot;
    uint64_t first_ticks, last_ticks;
    uint64_t offset; /* in the segment; of a ring: in the process's ring slots */
    uint64_t gap;    /* slots missing before it */
    uint32_t slots;
    uint32_t skip;    /* of a block's slots, at the start, the block before has already */
    uint32_t bytes;   /* in the segment */
    uint32_t segment; /* index, or TPTRACE_RING */
    uint32_t track;   /* index of the track */
    uint32_t order;   /* in which it was found */
};

struct tptrace_pieces {
    struct tptrace_piece *items; /* for free() */
    size_t count, capacity;
};

/** tptrace_pieces_add - a copy at the end. Return: 0, -ENOMEM or -TP_ELIMIT. */
int tptrace_pieces_add(struct tptrace_pieces *pieces, const struct tptrace_piece *piece);

struct tptrace_join {
    uint64_t next;         /* number behind the last slot that there is */
    uint64_t gap_slots;    /* missing between pieces, the first gap not among them */
    uint64_t first_gap;    /* missing before the first piece */
    uint64_t double_slots; /* that two blocks have: never made by a writer */
    uint32_t gaps;
};

/** tptrace_piece_compare - by track, first slot, blocks before rings, order: for qsort */
int tptrace_piece_compare(const void *a, const void *b);

/**
 * tptrace_join_track - the stretches of one track, each slot once
 * @pieces: @count pieces of one track, sorted
 * @joined: they are appended there in order, gap and skip set; a ring may come in parts
 * Return: 0 or negative as tptrace_pieces_add.
 */
int tptrace_join_track(const struct tptrace_piece *pieces, size_t count,
                       struct tptrace_pieces *joined, struct tptrace_join *ret_join);

#endif
