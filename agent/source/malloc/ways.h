/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_WAYS_H
#define TP_SOURCE_MALLOC_WAYS_H

/*
 * What malloc, free and calloc, which most calls are, do: a function for each mode that has nothing
 * in it that the mode doesn't need. The three that the program calls jump there, so that the frame
 * below a way's own is the program's. Where samples are all that is wanted a jump would be a good
 * part of what it costs, so that way is in the three themselves.
 */

#include <stdbool.h>
#include <stddef.h>

#include "source/malloc/profile.h"

struct tp_ways {
    void *(*malloc)(size_t size);
    void (*free)(void *pointer);
    void *(*calloc)(size_t count, size_t size);
};

/* In a cache line. Before the start, and where a mode has no ways of its own, those for any mode.
 */
extern struct tp_ways_here {
    struct tp_ways to;      /* right in any mode, and if that changes meanwhile */
    struct tp_ways next;    /* the next functions of these names; NULL before they are known */
    struct tp_ways sampled; /* the same where samples are all, else NULL */
} tp_ways __attribute__((visibility("hidden")));

/** tp_ways_choose - the ways of @mode, by what is known of the blocks; of any, where @mode may
 * change or calls must be seen to be counted. Context: any. */
void tp_ways_choose(enum tp_malloc_mode mode, bool is_any);

/** tp_malloc_ready - whether the next functions are known. Context: hook. */
bool tp_malloc_ready(void);

#endif
