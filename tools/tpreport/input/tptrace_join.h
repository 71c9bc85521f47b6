/* SPDX-License-Identifier: MIT
 * Pieces of a track (blocks, and what is left in rings) put in the order of their slot numbers, so
 * that nothing is counted twice and what is missing is known. Blocks come first, in the order of
 * their file; of a ring only what no block has. */
#ifndef TP_INPUT_TPTRACE_JOIN_H
#define TP_INPUT_TPTRACE_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TPTRACE_RING UINT32_MAX

struct tptrace_track;

struct tptrace_piece {
    struct tptrace_track *track;
    uint64_t first_slot;
    uint64_t first_ticks, last_ticks;
    uint64_t offset; /* in the segment; of a ring: in the process's ring slots */
    uint64_t gap;    /* slots missing before it */
    uint32_t slots;
    uint32_t skip;    /* of a block's slots, at the start, an earlier block has already */
    uint32_t bytes;   /* in the segment */
    uint32_t segment; /* index, or TPTRACE_RING */
};

struct tptrace_pieces {
    struct tptrace_piece *items; /* for free() */
    size_t count, capacity;
};

/** tptrace_pieces_add - a copy at the end. Return: 0, -ENOMEM or -TP_ELIMIT. */
int tptrace_pieces_add(struct tptrace_pieces *pieces, const struct tptrace_piece *piece);

/* How far a track has been joined. Zeros at its start. */
struct tptrace_join {
    uint64_t next;      /* number behind the last slot that there is */
    uint64_t gap_slots; /* missing between pieces, the first gap not among them */
    uint64_t first_gap; /* missing before the first piece */
    uint64_t begins_at; /* slots before it are in a summary, and what follows may be deleted, too */
    uint64_t double_slots; /* that two blocks have: never made by a writer */
    uint32_t gaps;
    size_t ring; /* rings before it have nothing more to give */
};

/** tptrace_rings_sort - by first slot, as the two below want them */
void tptrace_rings_sort(struct tptrace_pieces *rings);

/**
 * tptrace_join_block - the next block of the track
 * @joined: gets what rings have of a gap before it, and the block, gap and skip set; a block that
 * is covered whole is left out Return: 0 or negative as tptrace_pieces_add.
 */
int tptrace_join_block(struct tptrace_join *join, const struct tptrace_pieces *rings,
                       const struct tptrace_piece *block, struct tptrace_pieces *joined);

/** tptrace_join_end - what rings have behind the last block */
int tptrace_join_end(struct tptrace_join *join, const struct tptrace_pieces *rings,
                     struct tptrace_pieces *joined);

#endif
