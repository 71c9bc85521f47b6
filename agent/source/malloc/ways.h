/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_WAYS_H
#define TP_SOURCE_MALLOC_WAYS_H

/*
 * What malloc, free and calloc, which most calls are, do: functions for each mode that have nothing
 * in them that the mode doesn't need. The three that the program calls jump there, so that the
 * frame below theirs is the program's. What they decide themselves, in any mode, is whether an
 * allocation may be a sample and a free may be of one: so the ways of samples alone are the next
 * functions.
 */

#include <stdbool.h>
#include <stddef.h>

#include "source/malloc/profile.h"

struct tp_ways {
    void *(*malloc)(size_t size);
    void (*free)(void *pointer);
    void *(*calloc)(size_t count, size_t size);
};

/* Before the start, and where a mode has no ways of its own, those for any mode. */
extern struct tp_ways_here {
    struct tp_ways to;
    struct tp_ways due;  /* of what may be a sample */
    struct tp_ways next; /* the next functions of these names; NULL before they are known */
} tp_ways __attribute__((visibility("hidden")));

/**
 * tp_ways_choose - take the ways of a mode
 * @is_told: blocks say what they hold
 * @is_any:  rather those of any mode: the mode may change, or calls must be seen to be counted
 * Context: any.
 */
void tp_ways_choose(enum tp_malloc_mode mode, bool is_told, bool is_any);

/** tp_malloc_ready - whether the next functions are known. Context: hook. */
bool tp_malloc_ready(void);

#endif
