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

enum tp_malloc_mode {
    TP_MALLOC_OFF,
    TP_MALLOC_COUNT,
    TP_MALLOC_SAMPLE, /* without counters */
    TP_MALLOC_COUNT_SAMPLE,
    TP_MALLOC_ALL
};

extern struct tp_watched tp_watched;
extern unsigned tp_profile_depth; /* of call stacks; 0 none. Set at start. */

/**
 * tp_profile_start - what TPAGENT_ALLOC and TPAGENT_STACKS say. Context: start.
 * Return: the mode; with *ret_why one without samples where there is no memory for them.
 */
enum tp_malloc_mode tp_profile_start(const struct tp_config *config, const char **ret_why);

/** tp_profile_fork_child - a child's draws and counters are its own. Context: fork child. */
void tp_profile_fork_child(void);

/**
 * tp_profile_allocated - record an allocation, where all are
 * @bytes: usable
 * @asked: by the program
 * @frame: of the wrapper that the program has called
 * Context: hook.
 */
void tp_profile_allocated(const void *pointer, size_t bytes, size_t asked, const void *frame,
                          unsigned flags);

/**
 * tp_profile_spend - an allocation, also one that will fail: may it be a sample?
 *
 * It is as likely as one of TP_ALLOC_DRAWN_MORE bytes more: about what any takes, so that those of
 * no bytes are seen, too. The draw says how many bytes until the next sample; where fewer are left,
 * which a size that no allocator can give does not confuse, tp_profile_is_drawn must be asked.
 */
static inline bool tp_profile_spend(size_t asked)
{
    uint64_t bytes = (uint64_t)asked + TP_ALLOC_DRAWN_MORE;
#ifdef __x86_64__
    bool is_due; /* in one instruction, which gcc does not make of the below */

    __asm__("subq %2, %0" : "+m"(tp_tls.sample_left), "=@ccc"(is_due) : "r"(bytes));
    return is_due;
#else
    return __builtin_sub_overflow(tp_tls.sample_left, bytes, &tp_tls.sample_left);
#endif
}

/** tp_profile_is_drawn - whether the one of which tp_profile_spend said so is the sample that the
 * draw meant; the next one is drawn. In other modes it is none, and the next one is asked for, too.
 * Context: hook. */
bool tp_profile_is_drawn(size_t asked);

/** tp_profile_spent - a number that changes with each allocation of this thread's in a mode that
 * samples */
static inline uint64_t tp_profile_spent(void)
{
    return tp_tls.sample_drawn - tp_tls.sample_left;
}

/** tp_profile_sample - record the sample that tp_profile_is_drawn has told; as
 * tp_profile_allocated. Context: hook. */
void tp_profile_sample(enum tp_malloc_mode mode, const void *pointer, size_t bytes, size_t asked,
                       const void *frame, unsigned flags);

/** tp_profile_may_be_known - whether a block's free must be told to tp_profile_freed */
static inline int tp_profile_may_be_known(enum tp_malloc_mode mode, const void *pointer)
{
    return mode == TP_MALLOC_ALL || tp_watched_maybe(pointer);
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
