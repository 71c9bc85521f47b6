/* SPDX-License-Identifier: MIT
 * The begin records of the ranges that are open at a slot of a track: what a block begins with, and
 * what a thread is inside now. */
#ifndef TP_INPUT_TPTRACE_OPEN_H
#define TP_INPUT_TPTRACE_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "input/tptrace_process.h"
#include "trace/block.h"

#define TPTRACE_OPEN_MAX (TP_BLOCK_OPEN_MAX / 2u)
#define TPTRACE_OPEN_WORDS (2u * TP_SLOT_WORDS) /* of an entry */

/* Outermost first. Zeros: none. */
struct tptrace_open_stack {
    uint32_t count, over[TP_CLASS_END]; /* begins deeper than the entries go, by class */
    bool knows_before;                  /* the last record before here, */
    uint64_t before[TP_SLOT_WORDS];     /* of which this is the first slot, whole */
    uint64_t entries[TPTRACE_OPEN_MAX * TPTRACE_OPEN_WORDS];
};

/* What reading blocks needs, kept from one to the next. Zeros at the start. */
struct tptrace_open_block {
    struct tp_block_decoder *decoder;
    void *bytes;
    size_t capacity;
};
void tptrace_open_block_fini(struct tptrace_open_block *block);

void tptrace_open_clear(struct tptrace_open_stack *stack);

/** tptrace_open_replay - records of known kinds, @count slots. Return: the last one, NULL for none.
 */
const uint64_t *tptrace_open_replay(struct tptrace_open_stack *stack, const uint64_t *slots,
                                    uint32_t count);

/** tptrace_open_read - what was open, and what the last record was, behind block @piece; as it is
 * when the block is damaged. Return: 0 or -ENOMEM. */
int tptrace_open_read(struct tptrace_open_stack *stack, struct tptrace_process *process,
                      const struct tptrace_piece *piece, struct tptrace_open_block *block);

/** tptrace_open_evicted - the same at slot @slot of a track, if all before it was evicted and
 * the running summary knows; else the stack is as it is */
void tptrace_open_evicted(struct tptrace_open_stack *stack, const struct tptrace_process *process,
                          uint32_t track, uint64_t slot);

/** tptrace_open_slots - the records one behind the other; @ret has room for TP_BLOCK_OPEN_MAX
 * slots. Return: slots. */
uint32_t tptrace_open_slots(const struct tptrace_open_stack *stack, uint64_t *ret);

#endif
