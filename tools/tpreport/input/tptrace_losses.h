/* SPDX-License-Identifier: MIT
 * What a process lost and could not tell in meta.jsonl: the header of its names.tpn
 * (runtime/trace/format.md, section 6). */
#ifndef TP_INPUT_TPTRACE_LOSSES_H
#define TP_INPUT_TPTRACE_LOSSES_H

#include "input/tptrace_meta.h"
#include "trace/losses.h"

struct tptrace_process;
struct tptrace_track;

struct tptrace_losses {
    uint64_t counts[TP_LOSS_END];
    uint64_t untold[TP_LOSS_END]; /* of records and names: what no line of meta.jsonl tells */

    /* Slots of tracks that were only in memory */
    struct tptrace_memory_ring {
        struct tptrace_track *track;
        uint64_t first, end;
    } rings[TP_MEMORY_RINGS_MAX];
    size_t ring_count;
};

/** tptrace_memory_rings_read - before segments are listed, as other rings. Return: 0 or -ENOMEM. */
int tptrace_memory_rings_read(struct tptrace_process *process);

/** tptrace_execs - how many calls of exec have not come back */
uint64_t tptrace_execs(const struct tptrace_process *process);

/** tptrace_losses_read - the counters; behind segments and meta.jsonl */
void tptrace_losses_read(struct tptrace_process *process);

/** tptrace_loss_reason - as `drop` lines have it; NULL: none has that one */
const char *tptrace_loss_reason(enum tp_loss loss);

/** tptrace_losses_in_memory - how many of slots [from, from + slots) were in memory */
uint64_t tptrace_losses_in_memory(const struct tptrace_losses *losses,
                                  const struct tptrace_track *track, uint64_t from, uint64_t slots);

/** tptrace_losses_memory_end - behind the last slot of the track that was in memory; 0 none */
uint64_t tptrace_losses_memory_end(const struct tptrace_losses *losses,
                                   const struct tptrace_track *track);

#endif
