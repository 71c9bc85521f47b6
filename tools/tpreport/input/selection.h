/* SPDX-License-Identifier: MIT
 * Which events the user asked for; inputs apply it before any tree is built. */
#ifndef TP_INPUT_SELECTION_H
#define TP_INPUT_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

enum tp_instant_kind {
    TP_INSTANT_UNSET,
    TP_INSTANT_RELATIVE, /* since the run's start */
    TP_INSTANT_WALL,     /* since 1970, UTC */
};

struct tp_instant {
    enum tp_instant_kind kind;
    int64_t ns;
};

/* What node_id stands for. */
enum tp_by {
    TP_BY_NOTHING, /* -1 */
    TP_BY_RANK,
    TP_BY_PROCESS, /* the pid */
};

/* A window of time keeps the events that start in [from, to), whole. */
struct tp_selection {
    bool has_pid, has_rank, has_step;
    int64_t pid;
    int64_t rank;
    int64_t first_step, last_step; /* numbers as in "ProfilerStep#N", both included */
    const char *thread;            /* NULL: all; a tid in decimal, or a thread's name */
    struct tp_instant from, to;
    enum tp_by by;
    bool kept_only; /* nothing of what is known in sums only, of events that are gone */
};

/** tp_selects_in_process - does it leave out a part of a process's events? */
static inline bool tp_selects_in_process(const struct tp_selection *selection)
{
    return selection->has_step || selection->thread || selection->from.kind != TP_INSTANT_UNSET ||
           selection->to.kind != TP_INSTANT_UNSET;
}

/** tp_selects - does it leave out anything? */
static inline bool tp_selects(const struct tp_selection *selection)
{
    return selection->has_pid || selection->has_rank || tp_selects_in_process(selection);
}

#endif
