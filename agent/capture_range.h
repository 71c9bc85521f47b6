/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_CAPTURE_RANGE_H
#define TP_AGENT_CAPTURE_RANGE_H

/*
 * Ranges that turn the capture window: those that TPAGENT_CAPTURE=range: names, and the steps of
 * TPAGENT_SCHEDULE. A name is compared once, when its id is made. Of a thread's ranges of a class
 * only the outermost such range counts: what is inside of it ends before it.
 */

#include <stdbool.h>
#include <stdint.h>

struct tp_live;
struct tp_name_record;
struct tp_record;
struct tp_thread;

/** tp_capture_range_wants - whether ranges and steps would have the window open. Context: hook. */
bool tp_capture_range_wants(void);

/** tp_capture_range_name - a name has got its id. Context: hook. */
void tp_capture_range_name(struct tp_live *live, const struct tp_name_record *record);

/** tp_capture_is_unit - whether @record begins a range that may open the window. Context: hook. */
bool tp_capture_is_unit(const struct tp_record *record);

/** tp_capture_before - @record is about to be written or left out: what it begins opens the window
 * before it. Return: whether its end, or what it says, is to be told to tp_capture_after. */
bool tp_capture_before(struct tp_thread *thread, const struct tp_record *record, uint64_t ticks);

/** tp_capture_after - the same, written or left out: what it ends closes the window behind it */
void tp_capture_after(struct tp_thread *thread, const struct tp_record *record, uint64_t ticks);

/** tp_capture_thread_gone - the ranges of a thread that ended inside of them. Context: drain. */
void tp_capture_thread_gone(struct tp_thread *thread);

#endif
