/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_NOTES_H
#define TP_AGENT_NOTES_H

/*
 * Names that a program gives to things which are no events: threads and categories. They go to
 * meta.jsonl, in lines of their own (`thread`, `category`), once, and again in a forked child's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_text;
struct tp_scope;

enum tp_note_kind { TP_NOTE_THREAD, TP_NOTE_CATEGORY };

/**
 * tp_note - thread or category @number has a name (@size bytes, copied, cut at 255)
 * @source: "nvtx", "itt", lives for ever
 * Context: hook. The table has 1,024 places; what comes later is counted and said in one more line.
 */
void tp_note(enum tp_note_kind kind, const char *source, const struct tp_scope *scope,
             uint32_t number, const char *name, size_t size);

/** tp_notes_report - append the lines that are new since the last call (all of them when @all).
 * Context: arming thread or drain. */
void tp_notes_report(struct tp_text *text, bool all);

#endif
