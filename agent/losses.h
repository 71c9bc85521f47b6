/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_LOSSES_H
#define TP_AGENT_LOSSES_H

/* The counters in the header of names.tpn. Before there is one nothing is told: what was lost until
 * then is raised to later. Context: any thread. */

#include "agent.h"
#include "trace/losses.h"

_Static_assert(sizeof(struct tp_ring_header) == TP_MEMORY_RING_BYTES, "format.md");

static inline _Atomic uint64_t *tp_loss_at(const struct tp_live *live, enum tp_loss loss)
{
    return live->names.map ? (_Atomic uint64_t *)(void *)(live->names.map + TP_LOSSES_AT) + loss
                           : NULL;
}

/* How many calls of exec have set out: not zero behind one that has made another program of the
 * process. Of a recording that is armed. */
static inline _Atomic uint64_t *tp_exec_count_at(const struct tp_live *live)
{
    return (_Atomic uint64_t *)(void *)(live->names.map + TP_EXEC_COUNT_AT);
}

/** tp_loss_raise - to @value, where it is less: threads that count together may come in any order
 */
static inline void tp_loss_raise(const struct tp_live *live, enum tp_loss loss, uint64_t value)
{
    _Atomic uint64_t *at = tp_loss_at(live, loss);
    uint64_t seen = at ? atomic_load_explicit(at, memory_order_relaxed) : UINT64_MAX;

    while (seen < value && !atomic_compare_exchange_weak(at, &seen, value))
        ;
}

static inline void tp_loss_add(const struct tp_live *live, enum tp_loss loss, uint64_t value)
{
    _Atomic uint64_t *at = tp_loss_at(live, loss);

    if (at)
        atomic_fetch_add(at, value);
}

/** tp_loss_set - of what is a state and no sum */
static inline void tp_loss_set(const struct tp_live *live, enum tp_loss loss, uint64_t value)
{
    _Atomic uint64_t *at = tp_loss_at(live, loss);

    if (at && atomic_load(at) != value)
        atomic_store(at, value);
}

#endif
