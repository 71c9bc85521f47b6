/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_CAPTURE_H
#define TP_AGENT_CAPTURE_H

/*
 * The capture window: while it is closed no source's records are written. It is open while all of
 * these hold, each of which is true where its variable says nothing:
 *
 *   the trigger of TPAGENT_CAPTURE is on: a range is open, a signal or cudaProfilerStart has come;
 *   the step is one that TPAGENT_SCHEDULE records;
 *   TPAGENT_DELAY is over;
 *   the window has not been open for TPAGENT_DURATION. That ends when another one does not hold.
 *
 * Whoever changes one of them calls tp_capture_update, which looks at all of them again until the
 * window agrees: no lock, so it may happen in a signal handler in the midst of another one.
 *
 * The hot path does not ask: a closed window makes every thread `careful`, and the slow way knows.
 * Where records themselves may turn the window (ranges, steps, a time that is over) every record
 * goes the slow way: tp_capture_watches.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t tp_capture_closed; /* how often it was closed, * 2 + whether it is now */
extern bool tp_capture_watches;            /* constant after the start */

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

struct tp_config;
/** tp_capture_start - as the configuration says, from now on. Context: start. */
void tp_capture_start(const struct tp_config *config);

/** tp_capture_fork_child - the child's window begins as the parent's is, but for ranges, which are
 * the parent's. Context: fork child. */
void tp_capture_fork_child(void);

/** tp_capture_open, tp_capture_close - cudaProfilerStart and cudaProfilerStop; nothing where they
 * are no trigger. Context: hook. */
void tp_capture_open(void);
void tp_capture_close(void);

/** tp_capture_toggle - the signal has come. Context: hook, signal handler. */
void tp_capture_toggle(void);

/** tp_capture_signal_taken - the program handles the signal itself. Context: hook. */
void tp_capture_signal_taken(void);

/** tp_capture_update - open or close the window, as of @ticks. Context: hook. */
void tp_capture_update(uint64_t ticks);

/** tp_capture_tick - see whether a time is over; @ticks: now. Context: hook, drain. */
void tp_capture_tick(uint64_t ticks);

struct tp_text;
/** tp_capture_report - append the `capture` lines that are new since the last call (all of this
 * process when @all). Context: arming thread or drain. */
void tp_capture_report(struct tp_text *text, bool all);

#endif
