/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_SOURCES_H
#define TP_AGENT_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

enum tp_source_id {
#define TP_SOURCE(NAME, name, fallback, help) TP_SOURCE_##NAME,
#include "sources.def"
#undef TP_SOURCE
    TP_SOURCE_END
};

/* What a source may do and when. Every function may be NULL. */
struct tp_source {
    /* In the constructor, one thread, before main. No file, no thread. 0, or negative with *ret_why
     * (a constant text). */
    int (*start)(const struct tp_config *config, const char **ret_why);
    /* On the drain thread about once a second. No libc lock: no malloc, stdio, dl*. */
    void (*tick)(void);
    /* Where there is no drain thread yet, which may never be: when the recording is armed and when
     * a thread writes its ring out itself. Inside of a hook, malloc's, too. */
    void (*look)(void);
    /* In a child of fork, before it runs on: only stores. What was learnt of the program stands. */
    void (*fork_child)(void);
    /* On the thread that ends the process, before the last drain. */
    void (*stop)(void);
};

/* State of a source, written once by its start and possibly later by the source itself; read by the
 * drain. */
enum tp_source_state { TP_SOURCE_OFF, TP_SOURCE_STARTED, TP_SOURCE_FAILED };

/** tp_sources_mask - parse TPAGENT_SOURCES; unknown names give a line. Context: start. */
uint32_t tp_sources_mask(const char *text);

void tp_sources_start(const struct tp_config *config);
void tp_sources_tick(void);
void tp_sources_look(void);
void tp_sources_fork_child(void);
void tp_sources_stop(void);
bool tp_source_wanted(enum tp_source_id id);

/**
 * tp_source_say - set what the manifest says of a source: a new `source` line is written at the
 * next chance
 * @why: a string that lives for ever, or NULL
 * Context: hook.
 */
void tp_source_say(enum tp_source_id id, enum tp_source_state state, const char *why);

struct tp_text;
/** tp_sources_report - append the `source` lines that changed since the last call (all of them when
 * @all). Context: arming thread or drain. */
void tp_sources_report(struct tp_text *text, bool all);

#endif
