/* SPDX-License-Identifier: MIT
 * A process's pieces one after the other: blocks as they stand in the segments, joined with what is
 * left in rings. One segment's list is in memory at a time, so that it does not matter how many
 * there are. */
#ifndef TP_INPUT_TPTRACE_BLOCKS_H
#define TP_INPUT_TPTRACE_BLOCKS_H

#include "input/tptrace_process.h"

struct tptrace_blocks {
    struct tptrace_process *process;
    bool verify;                 /* gaps are troubles, each with its place */
    uint32_t first_segment;      /* those before it are in the running summary */
    size_t segment;              /* to be scanned next */
    struct tptrace_pieces found; /* blocks of the last one */
    size_t found_at;
    struct tptrace_pieces ready; /* joined */
    size_t ready_at;
    size_t track; /* whose rings come next, once there are no more segments */
};

/** tptrace_blocks_begin - before the first piece; the tracks are as if nothing had been read */
void tptrace_blocks_begin(struct tptrace_blocks *blocks, struct tptrace_process *process,
                          bool verify);
void tptrace_blocks_end(struct tptrace_blocks *blocks);

/**
 * tptrace_blocks_next - the next piece; the pieces of a track come in the order of their slots
 *
 * Totals and troubles of the process are added to. After the last piece all that is missing is
 * counted, and process->last_ticks is what it will be.
 *
 * Context: offline, one caller at a time.
 * Return: 1 with a piece, 0 at the end, -ENOMEM.
 */
int tptrace_blocks_next(struct tptrace_blocks *blocks, struct tptrace_piece *ret_piece);

#endif
