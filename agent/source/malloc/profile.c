/* SPDX-License-Identifier: MIT */
/*
 * An allocation is recorded after the allocator has made it, a free before the allocator has it
 * back: so in the order of time an address never is allocated twice. Allocations alone make no
 * recording: in a process of which nothing else is recorded they are left out, but for a forked
 * child that makes many.
 */
#include "source/malloc/profile.h"

#include "agent.h"
#include "capture.h"
#include "plain.h"
#include "python_frames.h"
#include "record.h"
#include "source/malloc/sampler.h"
#include "stack.h"

/* Blocks watched at a time: for the usual period 64 GiB of them, for smaller ones more. */
#define USUAL_PERIOD (UINT64_C(256) << 10)
#define WATCHED_USUAL (128u << 10)
#define WATCHED_MANY (1u << 20)

/* From so many on a forked child is more than a step to another program. */
#define CHILD_ALLOCATIONS 1000u
#define CHILD_SAMPLES 4u

struct tp_watched tp_watched;
unsigned tp_profile_depth;

/* Set at start, constant afterwards. */
static struct {
    uint64_t period;
    uint64_t ticks_mask;
} profile;

/*
 * The last bits of the time stamp counter are noise, which on disk would take half a byte for an
 * allocation and its free. Reading it takes longer than so many ticks: no time is before that of
 * the record before.
 */
#define FINEST_TICKS 8u

static inline uint64_t ticks_now(void)
{
    return tp_ticks() & profile.ticks_mask;
}

enum tp_malloc_mode tp_profile_start(const struct tp_config *config, const char **ret_why)
{
    bool is_counted = config->alloc.choice != TP_ALLOC_SAMPLE;

    if (config->alloc.choice < TP_ALLOC_SAMPLE)
        return TP_MALLOC_COUNT;
    profile.ticks_mask = tp_clock_kind == TP_CLOCK_TSC ? ~(uint64_t)(FINEST_TICKS - 1) : UINT64_MAX;
    tp_profile_depth =
        config->stacks < TP_STACK_FRAMES_MAX ? (unsigned)config->stacks : TP_STACK_FRAMES_MAX;
    tp_stack_start(); /* whoever records inside of malloc may have to drain there */
    if (tp_profile_depth) {
        const char *lack = tp_stack_start_frames();
        *ret_why = lack ? lack : *ret_why;
    }
    if (config->alloc.choice == TP_ALLOC_ALL) {
        tp_plain_start();
        return TP_MALLOC_ALL;
    }
    uint64_t period =
        config->alloc.bytes < TP_SAMPLER_PERIOD_MAX ? config->alloc.bytes : TP_SAMPLER_PERIOD_MAX;
    if (tp_watched_init(&tp_watched, period >= USUAL_PERIOD ? WATCHED_USUAL : WATCHED_MANY,
                        period) < 0) {
        *ret_why = is_counted ? "no memory to watch sampled blocks: allocations are only counted"
                              : "no memory to watch sampled blocks: there are none";
        return is_counted ? TP_MALLOC_COUNT : TP_MALLOC_OFF;
    }
    profile.period = period;
    return is_counted ? TP_MALLOC_COUNT_SAMPLE : TP_MALLOC_SAMPLE;
}

void tp_profile_fork_child(void)
{
    tp_python_frames_fork_child();
    tp_tls.sample_random = 0;
    tp_tls.sample_gaps_left = 0;
    tp_tls.sample_left = tp_tls.sample_drawn = 0;
    tp_tls.alloc_calls = tp_tls.freed_calls = 0; /* they are the thread's, which begins here */
    tp_tls.allocated_bytes = tp_tls.freed_bytes = 0;
}

/* A child of a recorded process, forked and of which nothing is recorded yet. */
static __attribute__((noinline)) bool is_busy_child(struct tp_live *live)
{
    uint32_t enough = profile.period ? CHILD_SAMPLES : CHILD_ALLOCATIONS;

    return tp_agent.armed_pid && tp_agent.config.follow &&
           atomic_fetch_add_explicit(&live->unrecorded_allocations, 1, memory_order_relaxed) >=
               enough;
}

/* Whether the capture window is open, or its time has come now: no allocation opens it otherwise.
 */
static __attribute__((noinline)) bool is_window_open(void)
{
    if (tp_capture_is_open())
        return true;
    tp_capture_tick(tp_ticks());
    return tp_capture_is_open();
}

/* This thread's ring, or a recording in which it may get one. */
static inline bool may_record(void)
{
    const struct tp_thread *t = tp_tls.thread;
    struct tp_live *live = tp_agent.live;

    if (tp_likely(t && t->slots))
        return tp_likely(!atomic_load_explicit(&t->careful, memory_order_relaxed)) ||
               (tp_recording() && is_window_open());
    return live && tp_recording() && (live->pid || is_busy_child(live)) && tp_thread_attach();
}

static __attribute__((noinline)) void draw_ahead(void)
{
    if (!tp_tls.sample_random)
        tp_tls.sample_random = tp_sampler_seed(tp_ticks(), (uintptr_t)&tp_tls);
    for (unsigned i = 0; i < TP_SAMPLE_GAPS; i++)
        tp_tls.sample_gaps[i] = (uint64_t)tp_sampler_draw(&tp_tls.sample_random, profile.period);
    tp_tls.sample_gaps_left = TP_SAMPLE_GAPS;
}

/* Bytes to the next sample, at least 1. A thread's first draw follows a seed of its own. */
static inline uint64_t draw(void)
{
    /* once: a signal handler may draw, too */
    unsigned left = *(volatile uint8_t *)&tp_tls.sample_gaps_left;

    if (tp_unlikely(!left)) {
        draw_ahead();
        left = TP_SAMPLE_GAPS;
    }
    tp_tls.sample_gaps_left = (uint8_t)(left - 1);
    return tp_tls.sample_gaps[left - 1];
}

bool tp_profile_is_drawn(size_t asked)
{
    uint64_t spent = tp_profile_spent(), bytes = asked + TP_ALLOC_DRAWN_MORE, left = 0;

    if (!profile.period) {
        tp_tls.sample_left = 0; /* that of a thread's that there is before the start */
        return false;
    }
    if (!tp_tls.sample_random) /* the first one of this thread */
        left = draw() - 1;
    bool is_sample = left < bytes;
    tp_tls.sample_left = is_sample ? draw() - 1 : left - bytes;
    tp_tls.sample_drawn = spent + tp_tls.sample_left;
    return is_sample;
}

/* Where allocations are not counted, two records of a thread have the same number if there was none
 * between them. */
static inline void mark(enum tp_malloc_mode mode)
{
    if (mode == TP_MALLOC_SAMPLE)
        tp_tls.alloc_calls = tp_profile_spent();
}

static __attribute__((noinline)) bool write_slowly(unsigned kind, const uint64_t words[4],
                                                   uint32_t argument, uint64_t ticks)
{
    const struct tp_record record = {
        .kind = (uint8_t)kind,
        .role = TP_ROLE_POINT,
        .slots = 2,
        .drains = 1,
        .argument = argument,
        .words = {words[0], words[1], words[2], words[3]},
    };
    bool result = tp_record_slow(&record, ticks);

    if (tp_agent.config.alloc.choice == TP_ALLOC_ALL)
        tp_agent_go_live_if_busy();
    return result;
}

/* As tp_record_write_at, word by word out of registers. */
static inline __attribute__((always_inline)) bool write_record(unsigned kind, uint32_t argument,
                                                               uint64_t word4, uint64_t word5,
                                                               uint64_t word6, uint64_t word7,
                                                               uint64_t ticks)
{
    struct tp_thread *t;

    if (!tp_fast(&t, 2)) {
        const uint64_t words[4] = {word4, word5, word6, word7};
        return write_slowly(kind, words, argument, ticks);
    }
    t->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t cursor = t->cursor; /* not before: a signal handler may have moved it */
    uint64_t *slot = t->slots + ((cursor + 1) & t->mask) * TP_SLOT_WORDS;
    slot[0] = word4;
    slot[1] = word5;
    slot[2] = word6;
    slot[3] = word7;
    tp_slot0(t, cursor, kind, ticks, argument);
    tp_publish(t, cursor + 2);
    tp_record_allow_brief(t);
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return true;
}

static inline uint32_t stack_from(const void *frame, uint64_t weight)
{
    return tp_profile_depth ? tp_stack_id(frame, tp_profile_depth, weight) : (uint32_t)TP_NAME_NONE;
}

static void write_sample(const void *pointer, size_t bytes, size_t asked, const void *frame,
                         unsigned flags)
{
    uint32_t stack = stack_from(frame, bytes > profile.period ? bytes : profile.period);
    bool is_watched = tp_watched_put(&tp_watched, pointer);

    if (!is_watched)
        flags |= TP_ALLOC_UNWATCHED;
    if (!write_record(TP_EVENT_ALLOC, stack, (uintptr_t)pointer, bytes,
                      tp_slack_and_flags(bytes, asked, flags), profile.period, ticks_now()) &&
        is_watched)
        tp_watched_take(&tp_watched, pointer);
}

void tp_profile_sample(enum tp_malloc_mode mode, const void *pointer, size_t bytes, size_t asked,
                       const void *frame, unsigned flags)
{
    mark(mode);
    if (may_record())
        write_sample(pointer, bytes ? bytes : asked, asked, frame, flags | TP_ALLOC_BY_ASKED);
}

void tp_profile_allocated(const void *pointer, size_t bytes, size_t asked, const void *frame,
                          unsigned flags)
{
    if (!may_record())
        return;
    uint32_t stack = stack_from(frame, bytes);
    uint64_t more = tp_slack_and_flags(bytes, asked, flags);
    if (!tp_profile_brief(TP_EVENT_ALLOC_BRIEF, pointer, bytes, stack, more))
        write_record(TP_EVENT_ALLOC, stack, (uintptr_t)pointer, bytes, more, 0, ticks_now());
}

void tp_profile_freed(enum tp_malloc_mode mode, const void *pointer)
{
    mark(mode);
    if ((mode == TP_MALLOC_ALL || tp_watched_take(&tp_watched, pointer)) && may_record())
        write_record(TP_EVENT_FREE, 0, (uintptr_t)pointer, 0, 0, 0, ticks_now());
}

static uint64_t cursor_now(void)
{
    return tp_tls.thread ? tp_tls.thread->cursor : 0;
}

int tp_profile_resize(enum tp_malloc_mode mode, const void *pointer,
                      struct tp_resize_time *ret_time)
{
    mark(mode);
    ret_time->ticks = mode == TP_MALLOC_ALL && tp_record_may_be_brief() ? 0 : ticks_now();
    ret_time->cursor = cursor_now();
    if (tp_tls.resizing == pointer) { /* of an outer call: from here on it is ours */
        tp_tls.resizing = NULL;
        return 1;
    }
    return mode == TP_MALLOC_ALL ||
           (tp_watched_maybe(pointer) && tp_watched_take(&tp_watched, pointer));
}

void tp_profile_resized(enum tp_malloc_mode mode, const void *pointer, const size_t *freed,
                        const struct tp_resize_time *time)
{
    if (freed && mode == TP_MALLOC_ALL &&
        tp_profile_brief(TP_EVENT_FREE_BRIEF, pointer, *freed, 0,
                         tp_slack_and_flags(0, 0, TP_ALLOC_RESIZED)))
        return;
    if (freed && may_record())
        write_record(TP_EVENT_FREE, 0, (uintptr_t)pointer, TP_ALLOC_RESIZED, 0, 0,
                     time->ticks && time->cursor == cursor_now() ? time->ticks : ticks_now());
    else if (!freed && mode != TP_MALLOC_ALL) /* the place that it had is still there */
        tp_watched_put(&tp_watched, pointer);
}
