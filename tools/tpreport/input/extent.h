/* SPDX-License-Identifier: MIT
 * What an input holds, told to who has selected nothing of it: threads, time, steps. */
#ifndef TP_INPUT_EXTENT_H
#define TP_INPUT_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Start from zeros. */
struct tp_extent {
    char threads[160]; /* "12 (worker), 13"; the first ones */
    size_t threads_size;
    uint32_t thread_count, threads_shown;
    int64_t last_thread; /* the one added last */
    bool has_time, has_steps;
    int64_t first_ns, last_ns; /* from the input's start */
    int64_t first_step, last_step;
};

/* One more of each. @name may be NULL. A thread that was added before counts once if it was among
 * the ones that are shown. */
void tp_extent_thread(struct tp_extent *extent, int64_t thread, const char *name);
void tp_extent_time(struct tp_extent *extent, int64_t ns);
void tp_extent_step(struct tp_extent *extent, int64_t step);

#endif
