/* SPDX-License-Identifier: MIT */
/*
 * The malloc family, counted. Each wrapper calls the next function of its own name and adds what
 * the allocator says it really gave (malloc_usable_size, on both sides) to the thread's counters,
 * which every record carries. Where single ones are wanted, profile.c records them.
 *
 * Counted once: where the next function calls another of the family through the PLT (glibc's
 * reallocarray calls realloc), the inner wrapper has moved the counters and the outer one does not.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "real.h"
#include "source/malloc/hooks.h"
#include "source/malloc/malloc.h"
#include "source/malloc/profile.h"
#include "source/malloc/usable.h"
#include "sources.h"

#define EXPORT __attribute__((visibility("default")))

/* In no header of the oldest libc that we build on. */
void cfree(void *pointer);
void free_sized(void *pointer, size_t hint);
void free_aligned_sized(void *pointer, size_t alignment, size_t hint);

/* TP_MALLOC_OFF when the source is not wanted: then only the next function is called. */
static enum tp_malloc_mode mode = TP_MALLOC_COUNT;

#define HERE __builtin_frame_address(0)

/*
 * The short way of what is called most, where allocations are counted and at most samples of them
 * recorded: all that it needs, in one cache line. The next functions are NULL before the start and
 * in the other modes.
 */
static struct {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    bool is_told;                     /* blocks say what they hold */
    struct tp_watched_filter watched; /* all zero where there are no samples */
} __attribute__((aligned(64))) counted;

static inline bool ready(void)
{
    if (tp_likely(tp_real.malloc != NULL))
        return true;
    tp_real_find();
    return tp_real.malloc && !tp_tls.resolving;
}

/* Blocks that must still agree before all are believed; 0: none, -1: one did not. */
static _Atomic int trials;

static void try_told(const void *pointer, size_t bytes)
{
    size_t told = tp_usable_told(pointer);
    int left = atomic_load_explicit(&trials, memory_order_relaxed);

    if (left <= 0 || told == (size_t)-1)
        return;
    if (told != bytes) {
        atomic_store(&trials, -1);
        counted.is_told = false;
    } else if (atomic_compare_exchange_strong(&trials, &left, left - 1) && left == 1) {
        counted.is_told = true;
    }
}

static __attribute__((noinline)) size_t measured(void *pointer)
{
    size_t bytes = tp_real.malloc_usable_size ? tp_real.malloc_usable_size(pointer) : 0;

    if (tp_unlikely(atomic_load_explicit(&trials, memory_order_relaxed) > 0))
        try_told(pointer, bytes);
    return bytes;
}

static inline size_t usable(void *pointer)
{
    size_t told = tp_likely(counted.is_told) ? tp_usable_told(pointer) : (size_t)-1;

    return tp_likely(told != (size_t)-1) ? told : measured(pointer);
}

static inline void count_allocation(size_t bytes)
{
    tp_tls.alloc_calls++;
    tp_tls.allocated_bytes += bytes;
}

static inline void count_free(size_t bytes)
{
    tp_tls.freed_calls++;
    tp_tls.freed_bytes += bytes;
}

/* One that is counted: as a record, where single ones are recorded. */
static inline __attribute__((always_inline)) void
record_allocation(void *pointer, size_t bytes, size_t asked, const void *frame, unsigned flags)
{
    if (mode == TP_MALLOC_ALL && !tp_profile_depth &&
        tp_likely(tp_profile_brief(TP_EVENT_ALLOC_BRIEF, pointer, bytes, TP_NAME_NONE,
                                   tp_slack_and_flags(bytes, asked, flags))))
        return;
    if (mode >= TP_MALLOC_SAMPLE && tp_profile_due(mode, bytes))
        tp_profile_allocated(mode, pointer, bytes, asked, frame, flags);
}

static inline __attribute__((always_inline)) void record_free(void *pointer, size_t bytes)
{
    if (mode == TP_MALLOC_ALL &&
        tp_likely(tp_profile_brief(TP_EVENT_FREE_BRIEF, pointer, bytes, 0, 0)))
        return;
    if (mode >= TP_MALLOC_SAMPLE && tp_profile_may_be_known(mode, pointer))
        tp_profile_freed(mode, pointer);
}

/* Behind the next function: an allocation, whatever the mode. */
static inline __attribute__((always_inline)) void
allocated(void *pointer, size_t asked, uint64_t calls_before, const void *frame)
{
    if (!pointer || mode == TP_MALLOC_OFF || tp_tls.alloc_calls != calls_before)
        return;
    size_t bytes = usable(pointer);
    count_allocation(bytes);
    record_allocation(pointer, bytes, asked, frame, 0);
}

/* Before the next function: a free, whatever the mode. */
static inline __attribute__((always_inline)) void freeing(void *pointer)
{
    if (mode == TP_MALLOC_OFF)
        return;
    size_t bytes = usable(pointer);
    count_free(bytes);
    record_free(pointer, bytes);
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

/* What follows are functions to which a wrapper jumps: their frame is the one below the program's.
 */

/* An allocation that was counted and may be a sample. Where there are none, no other one of this
 * thread comes here. */
static __attribute__((noinline)) void *due(void *pointer, size_t bytes, size_t asked)
{
    if (mode == TP_MALLOC_SAMPLE)
        tp_profile_allocated(mode, pointer, bytes, asked, HERE, 0);
    else
        tp_tls.sample_at = UINT64_MAX;
    __asm__("" : "+r"(pointer)); /* a compiler that knew what is returned would not jump here */
    return pointer;
}

static __attribute__((noinline)) void *malloc_otherwise(size_t size)
{
    if (tp_unlikely(!ready()))
        return tp_arena_allocate(16, size);
    uint64_t calls = tp_tls.alloc_calls;
    void *pointer = tp_real.malloc(size);
    allocated(pointer, size, calls, HERE);
    return pointer;
}

static __attribute__((noinline)) void free_otherwise(void *pointer)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!ready()))
        return;
    freeing(pointer);
    tp_real.free(pointer);
}

static __attribute__((noinline)) void *calloc_otherwise(size_t count, size_t size)
{
    size_t bytes;

    if (tp_unlikely(!ready()))
        return __builtin_mul_overflow(count, size, &bytes) ? NULL : tp_arena_allocate(16, bytes);
    uint64_t calls = tp_tls.alloc_calls;
    void *pointer = tp_real.calloc(count, size);
    allocated(pointer, count * size, calls, HERE);
    return pointer;
}

/* The short ways. They call out of registers: out of memory it takes longer. */

EXPORT void *malloc(size_t size)
{
    void *(*next)(size_t) = counted.malloc;

    if (tp_unlikely(!next))
        return malloc_otherwise(size);
    uint64_t calls = tp_tls.alloc_calls;
    void *pointer = next(size);
    if (tp_unlikely(!pointer || tp_tls.alloc_calls != calls))
        return pointer;
    size_t bytes = usable(pointer);
    count_allocation(bytes);
    return tp_profile_sample_due(bytes) ? due(pointer, bytes, size) : pointer;
}

EXPORT void free(void *pointer)
{
    void (*next)(void *) = counted.free;
    size_t size;

    if (tp_unlikely(!next || !pointer || tp_arena_owns(pointer, &size))) {
        free_otherwise(pointer);
        return;
    }
    count_free(usable(pointer));
    if (tp_unlikely(counted.watched.mask) && tp_watched_maybe(&counted.watched, pointer))
        tp_profile_freed(TP_MALLOC_SAMPLE, pointer);
    next(pointer);
}

EXPORT void *calloc(size_t count, size_t size)
{
    void *(*next)(size_t, size_t) = counted.calloc;

    if (tp_unlikely(!next))
        return calloc_otherwise(count, size);
    uint64_t calls = tp_tls.alloc_calls;
    void *pointer = next(count, size);
    if (tp_unlikely(!pointer || tp_tls.alloc_calls != calls))
        return pointer;
    size_t bytes = usable(pointer);
    count_allocation(bytes);
    return tp_profile_sample_due(bytes) ? due(pointer, bytes, count * size) : pointer;
}

/* A block of the arena grows by moving to a real one. */
static void *leave_arena(void *pointer, size_t old_size, size_t size)
{
    void *moved = malloc(size);

    if (moved)
        memcpy(moved, pointer, old_size < size ? old_size : size);
    return moved;
}

/* A resize by the next function: what is known before it. */
struct resize {
    void *old;
    uint64_t calls, freed_calls;
    struct tp_resize_time time;
    size_t freed; /* what the old block holds */
    int is_known; /* a free of it is to be recorded */
};

static inline struct resize before_resize(void *pointer)
{
    struct resize r = {
        .old = pointer, .calls = tp_tls.alloc_calls, .freed_calls = tp_tls.freed_calls};

    if (pointer && mode != TP_MALLOC_OFF) {
        r.freed = usable(pointer);
        if (mode >= TP_MALLOC_SAMPLE)
            r.is_known = tp_profile_resize(mode, pointer, &r.time);
    }
    return r;
}

/* A failed resize frees nothing; realloc(p, 0) does. */
static inline __attribute__((always_inline)) void count_resize(const struct resize *r, void *result,
                                                               size_t size, const void *frame)
{
    bool freed = r->old && (result || !size);

    if (mode == TP_MALLOC_OFF)
        return;
    bool is_allocated = tp_tls.alloc_calls != r->calls; /* by an inner wrapper */
    bool is_freed = tp_tls.freed_calls != r->freed_calls;
    if (freed && r->freed && !is_freed)
        count_free(r->freed);
    if (r->is_known && !(mode == TP_MALLOC_ALL && is_freed)) /* that one has recorded it */
        tp_profile_resized(mode, r->old, freed ? &r->freed : NULL, &r->time);
    if (!result || is_allocated)
        return;
    size_t bytes = usable(result);
    count_allocation(bytes);
    record_allocation(result, bytes, size, frame, r->old ? TP_ALLOC_RESIZED : 0);
}

EXPORT void *realloc(void *pointer, size_t size)
{
    size_t old_size;

    if (tp_arena_owns(pointer, &old_size))
        return leave_arena(pointer, old_size, size);
    if (tp_unlikely(!ready()))
        return pointer ? NULL : tp_arena_allocate(16, size);
    struct resize r = before_resize(pointer);
    void *result = tp_real.realloc(pointer, size);
    count_resize(&r, result, size, HERE);
    return result;
}

EXPORT void *reallocarray(void *pointer, size_t count, size_t size)
{
    size_t old_size, bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return no_memory();
    if (tp_arena_owns(pointer, &old_size))
        return leave_arena(pointer, old_size, bytes);
    if (tp_unlikely(!ready() || !tp_real.reallocarray))
        return no_memory();
    struct resize r = before_resize(pointer);
    tp_tls.resizing = r.is_known ? pointer : NULL;
    void *result = tp_real.reallocarray(pointer, count, size);
    r.is_known = tp_tls.resizing != NULL; /* not where an inner realloc has taken it over */
    tp_tls.resizing = NULL;
    count_resize(&r, result, bytes, HERE);
    return result;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    if (tp_unlikely(!ready()))
        return tp_arena_allocate(alignment, size);
    if (!tp_real.memalign)
        return no_memory();
    uint64_t calls = tp_tls.alloc_calls;
    void *pointer = tp_real.memalign(alignment, size);
    allocated(pointer, size, calls, HERE);
    return pointer;
}

EXPORT int posix_memalign(void **ret_pointer, size_t alignment, size_t size)
{
    if (tp_unlikely(!ready() || !tp_real.posix_memalign)) {
        void *pointer = tp_real.malloc ? NULL : tp_arena_allocate(alignment, size);
        if (pointer)
            *ret_pointer = pointer;
        return pointer ? 0 : ENOMEM;
    }
    uint64_t calls = tp_tls.alloc_calls;
    int error = tp_real.posix_memalign(ret_pointer, alignment, size);
    if (!error)
        allocated(*ret_pointer, size, calls, HERE);
    return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    if (tp_unlikely(!ready()))
        return tp_arena_allocate(alignment, size);
    if (!tp_real.aligned_alloc)
        return no_memory();
    uint64_t calls = tp_tls.alloc_calls;
    void *pointer = tp_real.aligned_alloc(alignment, size);
    allocated(pointer, size, calls, HERE);
    return pointer;
}

EXPORT void *valloc(size_t size)
{
    if (tp_unlikely(!ready()))
        return tp_arena_allocate(4096, size);
    if (!tp_real.valloc)
        return no_memory();
    uint64_t calls = tp_tls.alloc_calls;
    void *pointer = tp_real.valloc(size);
    allocated(pointer, size, calls, HERE);
    return pointer;
}

EXPORT void *pvalloc(size_t size)
{
    if (tp_unlikely(!ready()))
        return tp_arena_allocate(4096, (size + 4095) & ~(size_t)4095);
    if (!tp_real.pvalloc)
        return no_memory();
    uint64_t calls = tp_tls.alloc_calls;
    void *pointer = tp_real.pvalloc(size);
    allocated(pointer, size, calls, HERE);
    return pointer;
}

/* Old binaries' name for free. */
EXPORT void cfree(void *pointer)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!ready()))
        return;
    if (!tp_real.cfree) {
        free(pointer);
        return;
    }
    freeing(pointer);
    tp_real.cfree(pointer);
}

/* C23: the sizes are only hints, so a libc without these two is served by free. */
EXPORT void free_sized(void *pointer, size_t hint)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!ready()))
        return;
    if (!tp_real.free_sized) {
        free(pointer);
        return;
    }
    freeing(pointer);
    tp_real.free_sized(pointer, hint);
}

EXPORT void free_aligned_sized(void *pointer, size_t alignment, size_t hint)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!ready()))
        return;
    if (!tp_real.free_aligned_sized) {
        free(pointer);
        return;
    }
    freeing(pointer);
    tp_real.free_aligned_sized(pointer, alignment, hint);
}

/* --- for libtpagent_new.so */

static void hook_count(uint64_t *ret_allocations, uint64_t *ret_frees)
{
    *ret_allocations = tp_tls.alloc_calls;
    *ret_frees = tp_tls.freed_calls;
}

/* tcmalloc's malloc_usable_size makes an object at its first call, by operator new. */
static void hook_allocated(void *pointer, size_t size, const void *frame)
{
    if (tp_tls.in_hook)
        return;
    *(volatile uint8_t *)&tp_tls.in_hook = 1;
    allocated(pointer, size, tp_tls.alloc_calls, frame);
    *(volatile uint8_t *)&tp_tls.in_hook = 0;
}

static void hook_freeing(void *pointer)
{
    if (tp_tls.in_hook)
        return;
    *(volatile uint8_t *)&tp_tls.in_hook = 1;
    freeing(pointer);
    *(volatile uint8_t *)&tp_tls.in_hook = 0;
}

EXPORT const struct tp_allocation_hooks tpagent_allocation_hooks = {
    .count = hook_count, .allocated = hook_allocated, .freeing = hook_freeing};

/* Which object has @address; "" for none. */
static const char *owner(void *address)
{
    Dl_info info;

    return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

static char owner_text[512];

/* An allocator that has operators new of its own, which nobody wraps: they don't call malloc. */
static void look_for_operators(const char **ret_why)
{
    const char *operators = owner(dlsym(RTLD_DEFAULT, "_Znwm"));
    struct tp_text text;

    if (!*operators || strcmp(operators, owner(*(void **)&tp_real.malloc)) != 0)
        return;
    tp_text_init(&text, owner_text, sizeof(owner_text));
    tp_text_format(&text,
                   "C++ allocations not visible: operator new belongs to %s; preload "
                   "libtpagent_new.so behind the agent",
                   operators);
    *ret_why = owner_text;
}

static void set_mode(enum tp_malloc_mode wanted)
{
    bool is_counted =
        (wanted == TP_MALLOC_COUNT || wanted == TP_MALLOC_SAMPLE) && tp_real.malloc_usable_size;

    mode = wanted;
    if (mode == TP_MALLOC_SAMPLE)
        counted.watched = tp_watched.filter;
    /* these last: whoever sees one sees the others */
    __atomic_store_n(&counted.malloc, is_counted ? tp_real.malloc : NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&counted.free, is_counted ? tp_real.free : NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&counted.calloc, is_counted ? tp_real.calloc : NULL, __ATOMIC_RELEASE);
}

/*
 * Whose malloc does the program call? Not ours where the executable or an earlier preload has one
 * of its own. Addresses do not tell (an executable's own table of functions gives other ones), so a
 * call through libc is watched.
 */
static int malloc_start(const struct tp_config *config, const char **ret_why)
{
    if (tp_real_is_sanitized()) {
        tp_malloc_stop_counting();
        *ret_why = "host allocations not visible: they belong to a sanitizer";
        return -ENOTSUP;
    }
    uint64_t calls = tp_tls.alloc_calls;
    char *copy = strdup("tpagent");
    void *used_free = dlsym(RTLD_DEFAULT, "free"), *used = dlsym(RTLD_DEFAULT, "malloc");
    struct tp_text text;

    bool seen = tp_tls.alloc_calls != calls;
    if (copy && used_free)
        ((void (*)(void *))used_free)(copy);
    if (seen || !copy) {
        trials = tp_usable_start() ? TP_USABLE_TRIALS : 0;
        look_for_operators(ret_why);
        set_mode(tp_profile_start(config, ret_why));
        return 0;
    }
    tp_text_init(&text, owner_text, sizeof(owner_text));
    tp_text_format(&text, "host allocations not visible: malloc belongs to %s",
                   *owner(used) ? owner(used) : "another object");
    *ret_why = owner_text;
    return -ENOENT;
}

void tp_malloc_stop_counting(void)
{
    set_mode(TP_MALLOC_OFF);
}

const struct tp_source tp_source_malloc = {.start = malloc_start,
                                           .fork_child = tp_profile_fork_child};
