/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_COUNTED_H
#define TP_SOURCE_MALLOC_COUNTED_H

/* What a function of the malloc family does around the next one of its name. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/malloc/profile.h"
#include "source/malloc/usable.h"

/* TP_MALLOC_OFF when the source is not wanted: then only the next function is called. */
extern enum tp_malloc_mode tp_malloc_mode;

/* Set when enough blocks have agreed that they say what they hold. */
extern bool tp_malloc_is_told;

/** tp_malloc_measured - what a block holds, by malloc_usable_size; 0 where there is none */
size_t tp_malloc_measured(void *pointer);

static inline size_t tp_malloc_usable(void *pointer)
{
    size_t told = tp_likely(tp_malloc_is_told) ? tp_usable_told(pointer) : (size_t)-1;

    return tp_likely(told != (size_t)-1) ? told : tp_malloc_measured(pointer);
}

static inline void tp_malloc_count(size_t bytes)
{
    tp_tls.alloc_calls++;
    tp_tls.allocated_bytes += bytes;
}

static inline void tp_malloc_count_free(size_t bytes)
{
    tp_tls.freed_calls++;
    tp_tls.freed_bytes += bytes;
}

/** tp_malloc_allocations - a number of this thread's that any allocation of the family changes */
static inline uint64_t tp_malloc_allocations(void)
{
    return tp_malloc_mode == TP_MALLOC_SAMPLE ? tp_profile_spent() : tp_tls.alloc_calls;
}

/* Every one, where that is wanted: as a record. */
static inline __attribute__((always_inline)) void
tp_malloc_record(void *pointer, size_t bytes, size_t asked, const void *frame, unsigned flags)
{
    if (tp_profile_depth ||
        tp_unlikely(!tp_profile_brief(TP_EVENT_ALLOC_BRIEF, pointer, bytes, TP_NAME_NONE,
                                      tp_slack_and_flags(bytes, asked, flags))))
        tp_profile_allocated(pointer, bytes, asked, frame, flags);
}

static inline __attribute__((always_inline)) void tp_malloc_record_free(enum tp_malloc_mode mode,
                                                                        void *pointer, size_t bytes)
{
    if (mode == TP_MALLOC_ALL &&
        tp_likely(tp_profile_brief(TP_EVENT_FREE_BRIEF, pointer, bytes, 0, 0)))
        return;
    if (mode >= TP_MALLOC_SAMPLE && tp_profile_may_be_known(mode, pointer))
        tp_profile_freed(mode, pointer);
}

/**
 * tp_malloc_got - behind the next function, whatever the mode
 * @before:   what tp_malloc_allocations was before it: one that called another of the family has
 *            been told
 * @is_drawn: it is the sample that the draw meant
 * Return: whether it is told now.
 */
static inline __attribute__((always_inline)) bool tp_malloc_got(void *pointer, size_t asked,
                                                                uint64_t before, bool is_drawn,
                                                                const void *frame, unsigned flags)
{
    enum tp_malloc_mode mode = tp_malloc_mode;

    if (!pointer || mode == TP_MALLOC_OFF || tp_malloc_allocations() != before)
        return false;
    if (mode != TP_MALLOC_SAMPLE) {
        size_t bytes = tp_malloc_usable(pointer);
        tp_malloc_count(bytes);
        if (mode == TP_MALLOC_ALL)
            tp_malloc_record(pointer, bytes, asked, frame, flags);
    }
    if (tp_unlikely(is_drawn))
        tp_profile_sample(mode, pointer, tp_malloc_usable(pointer), asked, frame, flags);
    return true;
}

/** tp_malloc_allocated - the same of a function that has not drawn before */
static inline __attribute__((always_inline)) void
tp_malloc_allocated(void *pointer, size_t asked, uint64_t before, const void *frame, unsigned flags)
{
    if (tp_malloc_got(pointer, asked, before, false, frame, flags) &&
        tp_unlikely(tp_profile_spend(asked)) && tp_profile_is_drawn(asked))
        tp_profile_sample(tp_malloc_mode, pointer, tp_malloc_usable(pointer), asked, frame, flags);
}

/** tp_malloc_freeing - before the next function, whatever the mode */
static inline __attribute__((always_inline)) void tp_malloc_freeing(void *pointer)
{
    enum tp_malloc_mode mode = tp_malloc_mode;

    if (mode == TP_MALLOC_OFF)
        return;
    size_t bytes = mode == TP_MALLOC_SAMPLE ? 0 : tp_malloc_usable(pointer);
    tp_malloc_count_free(bytes);
    tp_malloc_record_free(mode, pointer, bytes);
}

#endif
