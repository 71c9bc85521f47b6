/* SPDX-License-Identifier: MIT
 * "reading FILE 42%" on a terminal, once reading has taken longer than a second. */
#ifndef TP_INPUT_PROGRESS_H
#define TP_INPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_progress {
    int fd; /* of a terminal; -1: shows nothing */
    int64_t start_ns;
    int64_t shown_ns; /* when something was last shown, 0 never */
};

/* How far the reading of one thing is, for who reads it in many places. */
struct tp_progress_part {
    struct tp_progress *progress; /* borrowed; NULL: nothing is shown */
    const char *what;
    uint64_t done, total; /* bytes; what grows meanwhile may be done more than whole */
};

/**
 * tp_progress_init - start the clock; shows nothing unless @fd is a terminal
 * tp_progress_step - say how far: @done of @total bytes of @what; @total 0: unknown
 * tp_progress_end  - wipe the line, if there is one
 *
 * Context: offline, one thread. A zeroed one shows on descriptor 0: always init. NULL is allowed.
 */
void tp_progress_init(struct tp_progress *progress, int fd);
void tp_progress_step(struct tp_progress *progress, const char *what, uint64_t done,
                      uint64_t total);
void tp_progress_end(struct tp_progress *progress);

/** tp_progress_part_step - tp_progress_step, @done of a part */
static inline void tp_progress_part_step(const struct tp_progress_part *part, uint64_t done)
{
    tp_progress_step(part->progress, part->what, done < part->total ? done : part->total,
                     part->total);
}

#endif
