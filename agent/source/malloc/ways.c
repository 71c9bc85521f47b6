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

static INLINE void *any_malloc_as(size_t size, bool is_drawn, const void *frame)
{
    if (tp_unlikely(!tp_malloc_ready()))
        return tp_arena_allocate(16, size);
    uint64_t before = tp_malloc_allocations();
    void *pointer = tp_real.malloc(size);
    tp_malloc_got(pointer, size, before, is_drawn, frame, 0);
    return pointer;
}

static void *any_malloc(size_t size)
{
    return any_malloc_as(size, false, HERE);
}

static void *any_malloc_due(size_t size)
{
    return any_malloc_as(size, tp_profile_is_drawn(size), HERE);
}

static void any_free(void *pointer)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!tp_malloc_ready()))
        return;
    tp_malloc_freeing(pointer);
    tp_real.free(pointer);
}

static INLINE void *any_calloc_as(size_t count, size_t size, bool is_drawn, const void *frame)
{
    size_t bytes;

    if (tp_unlikely(!tp_malloc_ready()))
        return __builtin_mul_overflow(count, size, &bytes) ? NULL : tp_arena_allocate(16, bytes);
    uint64_t before = tp_malloc_allocations();
    void *pointer = tp_real.calloc(count, size);
    tp_malloc_got(pointer, count * size, before, is_drawn, frame, 0);
    return pointer;
}

static void *any_calloc(size_t count, size_t size)
{
    return any_calloc_as(count, size, false, HERE);
}

static void *any_calloc_due(size_t count, size_t size)
{
    return any_calloc_as(count, size, tp_profile_is_drawn(count * size), HERE);
}

#define ANY any_malloc, any_free, any_calloc
#define ANY_DUE any_malloc_due, any_free, any_calloc_due

struct tp_ways_here tp_ways __attribute__((aligned(64))) = {.to = {ANY}, .due = {ANY_DUE}};

/* ---- off ---- */

static void off_free(void *pointer)
{
    size_t size;

    if (tp_unlikely(tp_arena_owns(pointer, &size)))
        return;
    tp_ways.next.free(pointer);
}

/* ---- samples without counters ---- */

/* The arena's blocks are watched, too. */
static void sampled_free(void *pointer)
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

static APART void *count_block(void *pointer)
{
    tp_malloc_count(tp_malloc_measured(pointer));
    return pointer;
}

static INLINE void *count(void *pointer)
{
    if (tp_unlikely(!pointer))
        return NULL;
    size_t bytes = tp_usable_told(pointer);
    if (tp_unlikely(bytes == (size_t)-1))
        return count_block(pointer);
    tp_malloc_count(bytes);
    return pointer;
}

static void *count_malloc(size_t size)
{
    return count(tp_ways.next.malloc(size));
}

static void *count_calloc(size_t items, size_t size)
{
    return count(tp_ways.next.calloc(items, size));
}

/* At length; in the modes that count, and of all or of samples. */
static APART void count_free_block(void *pointer)
{
    size_t bytes = tp_malloc_measured(pointer);

    tp_malloc_count_free(bytes);
    tp_malloc_record_free(tp_malloc_mode, pointer, bytes);
    tp_ways.next.free(pointer);
}

static INLINE void count_free_as(enum tp_malloc_mode mode, void *pointer)
{
    size_t size;

    if (tp_unlikely(!pointer || tp_arena_owns(pointer, &size)))
        return;
    size_t bytes = tp_usable_told(pointer);
    if (tp_unlikely(bytes == (size_t)-1)) {
        count_free_block(pointer);
        return;
    }
    tp_malloc_count_free(bytes);
    tp_malloc_record_free(mode, pointer, bytes);
    tp_ways.next.free(pointer);
}

static void count_free(void *pointer)
{
    count_free_as(TP_MALLOC_COUNT, pointer);
}

/* One that may be watched. */
static void count_sample_free(void *pointer)
{
    count_free_as(TP_MALLOC_COUNT_SAMPLE, pointer);
}

/* ---- all, where blocks tell what they hold ---- */

static APART void *all_block(void *pointer, size_t bytes, size_t asked)
{
    tp_profile_allocated(pointer, bytes, asked, HERE, 0);
    __asm__("" : "+r"(pointer)); /* a compiler that knew what is returned would not jump here */
    return pointer;
}

static INLINE void *all(void *pointer, size_t asked)
{
    if (tp_unlikely(!pointer))
        return NULL;
    size_t bytes = tp_usable_told(pointer);
    if (tp_unlikely(bytes == (size_t)-1))
        bytes = tp_malloc_measured(pointer);
    tp_malloc_count(bytes);
    if (tp_profile_depth ||
        tp_unlikely(!tp_profile_brief(TP_EVENT_ALLOC_BRIEF, pointer, bytes, TP_NAME_NONE,
                                      tp_slack_and_flags(bytes, asked, 0))))
        return all_block(pointer, bytes, asked);
    return pointer;
}

static void *all_malloc(size_t size)
{
    return all(tp_ways.next.malloc(size), size);
}

static void *all_calloc(size_t items, size_t size)
{
    return all(tp_ways.next.calloc(items, size), items * size);
}

static void all_free(void *pointer)
{
    count_free_as(TP_MALLOC_ALL, pointer);
}

/* ---- which ---- */

static const struct tp_ways any = {ANY}, any_due = {ANY_DUE};

static void set_ways(struct tp_ways *at, struct tp_ways ways)
{
    __atomic_store_n(&at->malloc, ways.malloc, __ATOMIC_RELEASE);
    __atomic_store_n(&at->free, ways.free, __ATOMIC_RELEASE);
    __atomic_store_n(&at->calloc, ways.calloc, __ATOMIC_RELEASE);
}

/* Each is right by itself, also beside those of before. */
static void set(struct tp_ways to, struct tp_ways due)
{
    set_ways(&tp_ways.to, to);
    set_ways(&tp_ways.due, due);
}

void tp_ways_choose(enum tp_malloc_mode mode, bool is_told, bool is_any)
{
    static const struct tp_ways counted = {count_malloc, count_free, count_calloc},
                                sampled = {any_malloc_due, count_sample_free, any_calloc_due},
                                each = {all_malloc, all_free, all_calloc};
    struct tp_ways next = {tp_real.malloc, tp_real.free, tp_real.calloc},
                   off = {tp_real.malloc, off_free, tp_real.calloc},
                   alone = {any_malloc_due, sampled_free, any_calloc_due};

    if (!tp_real.malloc)
        return;
    if (!tp_ways.next.malloc)
        set_ways(&tp_ways.next, next);
    if (is_any)
        set(any, any_due);
    else if (mode == TP_MALLOC_OFF)
        set(off, off);
    else if (mode == TP_MALLOC_SAMPLE)
        set(next, alone);
    else if (!is_told)
        set(any, any_due);
    else if (mode == TP_MALLOC_COUNT)
        set(counted, counted);
    else if (mode == TP_MALLOC_COUNT_SAMPLE)
        set(counted, sampled);
    else
        set(each, each);
}

/* ---- what the program calls ---- */

EXPORT void *malloc(size_t size)
{
    return tp_unlikely(tp_profile_spend(size)) ? tp_ways.due.malloc(size) : tp_ways.to.malloc(size);
}

EXPORT void free(void *pointer)
{
    if (tp_unlikely(tp_watched_maybe(pointer)))
        tp_ways.due.free(pointer);
    else
        tp_ways.to.free(pointer);
}

EXPORT void *calloc(size_t items, size_t size)
{
    return tp_unlikely(tp_profile_spend(items * size)) ? tp_ways.due.calloc(items, size)
                                                       : tp_ways.to.calloc(items, size);
}
