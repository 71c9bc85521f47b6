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

#endif
