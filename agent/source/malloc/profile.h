/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_PROFILE_H
#define TP_SOURCE_MALLOC_PROFILE_H

/* Records of single allocations: all of them, or samples. */

#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "event/brief.h"
#include "guard.h"
#include "record.h"
#include "source/malloc/watched.h"

enum tp_malloc_mode { TP_MALLOC_OFF, TP_MALLOC_COUNT, TP_MALLOC_SAMPLE, TP_MALLOC_ALL };

extern struct tp_watched tp_watched;
extern unsigned tp_profile_depth; /* of call stacks; 0 none. Set at start. */

/**
 * tp_profile_start - what TPAGENT_ALLOC and TPAGENT_STACKS say. Context: start.
 * Return: the mode; TP_MALLOC_COUNT with *ret_why where there is no memory for more.
 */
enum tp_malloc_mode tp_profile_start(const struct tp_config *config, const char **ret_why);

/** tp_profile_fork_child - a child's draws and counters are its own. Context: fork child. */
void tp_profile_fork_child(void);

/**
 * tp_profile_allocated - a block was allocated: record it, if it is to be
 * @mode:  TP_MALLOC_SAMPLE or TP_MALLOC_ALL
 * @bytes: usable
 * @asked: by the program
 * @frame: of the wrapper that the program has called
 * Context: hook.
 */
void tp_profile_allocated(enum tp_malloc_mode mode, const void *pointer, size_t bytes, size_t asked,
                          const void *frame, unsigned flags);

/** tp_profile_sample_due - whether an allocation, counted already, may be a sample */
static inline int tp_profile_sample_due(size_t bytes)
{
    return tp_unlikely(tp_tls.allocated_bytes >= tp_tls.sample_at || !bytes);
}

/** tp_profile_due - whether an allocation, counted already, must be told to tp_profile_allocated */
static inline int tp_profile_due(enum tp_malloc_mode mode, size_t bytes)
{
    return mode == TP_MALLOC_ALL || tp_profile_sample_due(bytes);
}

/** tp_profile_may_be_known - whether a block's free must be told to tp_profile_freed */
static inline int tp_profile_may_be_known(enum tp_malloc_mode mode, const void *pointer)
{
    return mode == TP_MALLOC_ALL || tp_watched_maybe(&tp_watched.filter, pointer);
}

static inline uint64_t tp_slack_and_flags(size_t bytes, size_t asked, unsigned flags)
{
    uint64_t slack = bytes > asked ? bytes - asked : 0, most = (UINT64_C(1) << 48) - 1;

    return (slack < most ? slack : most) | (uint64_t)flags << TP_ALLOC_FLAGS_SHIFT;
}

/** tp_profile_brief - record an allocation or a free in short, if that is allowed here. Return:
 * whether it was written. Context: hook. */
static inline __attribute__((always_inline)) bool tp_profile_brief(enum tp_event_kind kind,
                                                                   const void *pointer,
                                                                   size_t bytes, uint32_t stack,
                                                                   uint64_t slack_and_flags)
{
    return tp_record_brief((uint64_t)kind << 56 | bytes, stack, (uintptr_t)pointer,
                           slack_and_flags);
}

/** tp_profile_freed - a block is about to be freed. Context: hook. */
void tp_profile_freed(enum tp_malloc_mode mode, const void *pointer);

/* When a resize began. */
struct tp_resize_time {
    uint64_t ticks;  /* 0: the free may be told without a time */
    uint64_t cursor; /* of the thread: behind it other records have later times */
};

/**
 * tp_profile_resize - before a resize, which may free its block
 * @ret_time: for tp_profile_resized
 * Return: whether a free of the block is to be recorded.
 */
int tp_profile_resize(enum tp_malloc_mode mode, const void *pointer,
                      struct tp_resize_time *ret_time);

/** tp_profile_resized - after it; @freed: it did free the block, of so many bytes; else NULL */
void tp_profile_resized(enum tp_malloc_mode mode, const void *pointer, const size_t *freed,
                        const struct tp_resize_time *time);

#endif
