/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_CAPTURE_H
#define TP_AGENT_CAPTURE_H

/*
 * The capture window: while it is closed no source's records are written. TPAGENT_CAPTURE says what
 * opens and closes it; whoever sees that happen calls the two functions below. The hot path does
 * not ask: a closed window makes every thread `careful`, and the slow way knows.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t tp_capture_closed; /* how often it was closed, * 2 + whether it is now */

static inline bool tp_capture_is_open(void)
{
    return !(atomic_load_explicit(&tp_capture_closed, memory_order_seq_cst) & 1);
}

/** tp_capture_turn - a number that changes when the window opens or closes; odd while it is closed
 */
static inline uint32_t tp_capture_turn(void)
{
    return atomic_load_explicit(&tp_capture_closed, memory_order_relaxed);
}

/** tp_capture_start - closed at first, unless everything is captured. Context: start. */
void tp_capture_start(bool always);

/** tp_capture_open, tp_capture_close - open or close the window; nothing where it is. Context:
 * hook. */
void tp_capture_open(void);
void tp_capture_close(void);

struct tp_text;
/** tp_capture_report - append the `capture` lines that are new since the last call (all of this
 * process when @all). Context: arming thread or drain. */
void tp_capture_report(struct tp_text *text, bool all);

#endif
