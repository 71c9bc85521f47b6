/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_FOLD_H
#define TP_AGENT_FOLD_H

/*
 * Blocks in, sums out: the stack machine of tpreport, in memory of fixed size. What finds no room
 * is counted. Ranges and their ends may lie in different blocks; a range that is open after the
 * last block is kept with what its children added up to.
 */

#include "name_index.h"
#include "trace/block.h"
#include "trace/summary.h"

#define TP_FOLD_ROWS 16384u
#define TP_FOLD_CELLS (256u << 10) /* of sketches: a row and a bucket each */
#define TP_FOLD_FRAMES 16384u
#define TP_FOLD_TRACKS 8192u
#define TP_FOLD_HALVES 8192u

struct tp_fold;

/** tp_fold_size - bytes that one takes, zeroed; most of them are never touched */
size_t tp_fold_size(void);

/** tp_fold_open - @memory: tp_fold_size bytes, zeroed; @map, @used: of names.tpn */
struct tp_fold *tp_fold_open(void *memory, const char *map, const _Atomic uint64_t *used);

/** tp_fold_totals - to be read, and to be added to where something could not be folded */
struct tp_summary_totals *tp_fold_totals(struct tp_fold *fold);

/** tp_fold_block - the next block of its track. Context: drainer; no allocation, no system call. */
void tp_fold_block(struct tp_fold *fold, const struct tp_block *block);

/** tp_fold_put - everything as the payload of a running summary */
void tp_fold_put(struct tp_fold *fold, struct tp_wire_out *out);

#endif
