/* SPDX-License-Identifier: MIT */
#include "source/malloc/ways.h"

#include <stdlib.h>

#include "real.h"
#include "source/malloc/counted.h"

#define EXPORT __attribute__((visibility("default")))
#define HERE __builtin_frame_address(0)
#define INLINE inline __attribute__((always_inline))
#define APART                                                                                      \
    __attribute__((noinline)) /* jumped to: what most calls don't need costs them nothing */

enum tp_malloc_mode tp_malloc_mode = TP_MALLOC_COUNT;
bool tp_malloc_is_told;

bool tp_malloc_ready(void)
{
    if (tp_likely(tp_real.malloc != NULL))
        return true;
    tp_real_find();
    return tp_real.malloc && !tp_tls.resolving;
}

/* ---- in any mode ---- */

static void *any_malloc(size_t size)
{
    if (tp_unlikely(!tp_malloc_ready()))
        return tp_arena_allocate(16, size);
    uint64_t before = tp_malloc_allocations();
    void *pointer = tp_real.malloc(size);
    tp_malloc_allocated(pointer, size, before, HERE, 0);
    return pointer;
}

static void any_free(void *pointer)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!tp_malloc_ready()))
        return;
    tp_malloc_freeing(pointer);
    tp_real.free(pointer);
}

static void *any_calloc(size_t count, size_t size)
{
    size_t bytes;

    if (tp_unlikely(!tp_malloc_ready()))
        return __builtin_mul_overflow(count, size, &bytes) ? NULL : tp_arena_allocate(16, bytes);
    uint64_t before = tp_malloc_allocations();
    void *pointer = tp_real.calloc(count, size);
    tp_malloc_allocated(pointer, count * size, before, HERE, 0);
    return pointer;
}

struct tp_ways_here tp_ways
    __attribute__((aligned(64))) = {.to = {any_malloc, any_free, any_calloc}};

/* ---- off ---- */

static void off_free(void *pointer)
{
    size_t size;

    if (tp_unlikely(tp_arena_owns(pointer, &size)))
        return;
    tp_ways.next.free(pointer);
}

/* ---- samples without counters ---- */

static APART void *sampled_malloc_due(size_t size)
{
    void *pointer = tp_ways.next.malloc(size);

    if (tp_profile_is_drawn(size) && pointer)
        tp_profile_sample(pointer, tp_malloc_usable(pointer), size, HERE, 0);
    return pointer;
}

static APART void *sampled_calloc_due(size_t count, size_t size)
{
    void *pointer = tp_ways.next.calloc(count, size);

    if (tp_profile_is_drawn(count * size) && pointer)
        tp_profile_sample(pointer, tp_malloc_usable(pointer), count * size, HERE, 0);
    return pointer;
}

/* The arena's pages are watched, too. */
static APART void sampled_free_watched(void *pointer)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size))
        return;
    tp_profile_freed(TP_MALLOC_SAMPLE, pointer);
    tp_ways.next.free(pointer);
}

/* ---- counted, where blocks tell what they hold ---- */

/*
 * That is glibc's malloc, which calls no other of the family. Of a block with a mapping of its own
 * the size is to be asked for.
 */

static APART void *counted_block(void *pointer)
{
    tp_malloc_count(tp_malloc_measured(pointer));
    return pointer;
}

/* Counted, and a sample perhaps. */
static APART void *counted_sample(void *pointer, size_t bytes, size_t asked)
{
    tp_profile_allocated(TP_MALLOC_COUNT_SAMPLE, pointer, bytes, asked, HERE, 0);
    __asm__("" : "+r"(pointer)); /* a compiler that knew what is returned would not jump here */
    return pointer;
}

static APART void *counted_sample_block(void *pointer, size_t asked)
{
    size_t bytes = tp_malloc_measured(pointer);

    tp_malloc_count(bytes);
    tp_malloc_record(TP_MALLOC_COUNT_SAMPLE, pointer, bytes, asked, HERE, 0);
    return pointer;
}

/* Counted, and to be recorded at length. */
static APART void *all_block(void *pointer, size_t bytes, size_t asked)
{
    tp_profile_allocated(TP_MALLOC_ALL, pointer, bytes, asked, HERE, 0);
    __asm__("" : "+r"(pointer));
    return pointer;
}

/* What follows the next function; @mode is a constant. */
static INLINE void *counted(enum tp_malloc_mode mode, void *pointer, size_t asked)
{
    if (tp_unlikely(!pointer))
        return NULL;
    size_t bytes = tp_usable_told(pointer);
    if (mode == TP_MALLOC_COUNT) {
        if (tp_unlikely(bytes == (size_t)-1))
            return counted_block(pointer);
        tp_malloc_count(bytes);
        return pointer;
    }
    if (mode == TP_MALLOC_COUNT_SAMPLE) {
        if (tp_unlikely(bytes == (size_t)-1))
            return counted_sample_block(pointer, asked);
        tp_malloc_count(bytes);
        return tp_unlikely(tp_tls.allocated_bytes >= tp_tls.sample_at)
                   ? counted_sample(pointer, bytes, asked)
                   : pointer; /* each has some bytes */
    }
    if (tp_unlikely(bytes == (size_t)-1))
        bytes = tp_malloc_measured(pointer);
    tp_malloc_count(bytes);
    if (tp_profile_depth ||
        tp_unlikely(!tp_profile_brief(TP_EVENT_ALLOC_BRIEF, pointer, bytes, TP_NAME_NONE,
                                      tp_slack_and_flags(bytes, asked, 0))))
        return all_block(pointer, bytes, asked);
    return pointer;
}

static APART void counted_free_block(void *pointer)
{
    size_t bytes = tp_malloc_measured(pointer);

    tp_malloc_count_free(bytes);
    tp_malloc_record_free(tp_malloc_mode, pointer, bytes);
    tp_ways.next.free(pointer);
}

static INLINE void counted_free(enum tp_malloc_mode mode, void *pointer)
{
    size_t size;

    if (tp_unlikely(!pointer || tp_arena_owns(pointer, &size)))
        return;
    size_t bytes = tp_usable_told(pointer);
    if (tp_unlikely(bytes == (size_t)-1)) {
        counted_free_block(pointer);
        return;
    }
    tp_malloc_count_free(bytes);
    tp_malloc_record_free(mode, pointer, bytes);
    tp_ways.next.free(pointer);
}

#define COUNTED_WAYS(name, mode)                                                                   \
    static void *name##_malloc(size_t size)                                                        \
    {                                                                                              \
        return counted(mode, tp_ways.next.malloc(size), size);                                     \
    }                                                                                              \
    static void name##_free(void *pointer)                                                         \
    {                                                                                              \
        counted_free(mode, pointer);                                                               \
    }                                                                                              \
    static void *name##_calloc(size_t count, size_t size)                                          \
    {                                                                                              \
        return counted(mode, tp_ways.next.calloc(count, size), count * size);                      \
    }

COUNTED_WAYS(count, TP_MALLOC_COUNT)
COUNTED_WAYS(count_sample, TP_MALLOC_COUNT_SAMPLE)
COUNTED_WAYS(all, TP_MALLOC_ALL)

/* ---- which ---- */

static struct tp_ways ways_of(enum tp_malloc_mode mode, bool is_any)
{
    static const struct tp_ways any = {any_malloc, any_free, any_calloc},
                                told[] = {
                                    [TP_MALLOC_COUNT] = {count_malloc, count_free, count_calloc},
                                    [TP_MALLOC_COUNT_SAMPLE] = {count_sample_malloc,
                                                                count_sample_free,
                                                                count_sample_calloc},
                                    [TP_MALLOC_ALL] = {all_malloc, all_free, all_calloc},
                                };

    if (is_any)
        return any;
    if (mode == TP_MALLOC_OFF)
        return (struct tp_ways){tp_real.malloc, off_free, tp_real.calloc};
    return tp_malloc_is_told && mode != TP_MALLOC_SAMPLE ? told[mode] : any;
}

/* Each is right by itself, and finds the next functions. */
static void set_ways(struct tp_ways *to, struct tp_ways ways)
{
    __atomic_store_n(&to->malloc, ways.malloc, __ATOMIC_RELEASE);
    __atomic_store_n(&to->free, ways.free, __ATOMIC_RELEASE);
    __atomic_store_n(&to->calloc, ways.calloc, __ATOMIC_RELEASE);
}

void tp_ways_choose(enum tp_malloc_mode mode, bool is_any)
{
    if (!tp_real.malloc)
        return;
    if (!tp_ways.next.malloc)
        set_ways(&tp_ways.next, (struct tp_ways){tp_real.malloc, tp_real.free, tp_real.calloc});
    set_ways(&tp_ways.to, ways_of(mode, is_any));
    set_ways(&tp_ways.sampled,
             mode == TP_MALLOC_SAMPLE && !is_any ? tp_ways.next : (struct tp_ways){0});
}

/* ---- what the program calls ---- */

EXPORT void *malloc(size_t size)
{
    void *(*next)(size_t) = tp_ways.sampled.malloc;

    if (!tp_likely(next))
        return tp_ways.to.malloc(size);
    return tp_unlikely(tp_profile_spend(size)) ? sampled_malloc_due(size) : next(size);
}

EXPORT void free(void *pointer)
{
    void (*next)(void *) = tp_ways.sampled.free;

    if (!tp_likely(next))
        tp_ways.to.free(pointer);
    else if (tp_unlikely(tp_watched_maybe(pointer)))
        sampled_free_watched(pointer);
    else
        next(pointer);
}

EXPORT void *calloc(size_t count, size_t size)
{
    void *(*next)(size_t, size_t) = tp_ways.sampled.calloc;

    if (!tp_likely(next))
        return tp_ways.to.calloc(count, size);
    return tp_unlikely(tp_profile_spend(count * size)) ? sampled_calloc_due(count, size)
                                                       : next(count, size);
}
