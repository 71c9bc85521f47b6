/* SPDX-License-Identifier: MIT */
#ifndef TP_PROGRESS_H
#define TP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "input/input.h"

/* One line on a terminal while something takes long. */
struct tp_progress {
    struct tp_input_watch watch; /* to be given to an input */
    const char *name;            /* of what is read */
    int64_t start_ms, shown_ms;
    int fd; /* -1: not a terminal */
    bool is_shown;
};

/**
 * tp_progress_init - nothing is shown yet
 * @fd: usually standard error; unless it is a terminal nothing is ever written
 * The progress stays where it is while its watch is in use.
 */
void tp_progress_init(struct tp_progress *progress, int fd);

/** tp_progress_start - reading @name (borrowed) begins; its line appears after a second */
void tp_progress_start(struct tp_progress *progress, const char *name);

/** tp_progress_clear - take the line away */
void tp_progress_clear(struct tp_progress *progress);

/** tp_progress_line - "reading trace.json: 45% of 1.2 GB", at most @size - 1 bytes; total 0: not
 * known */
void tp_progress_line(char *line, size_t size, const char *name, uint64_t done, uint64_t total);

#endif
