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
#include "source/malloc/counted.h"
#include "source/malloc/hooks.h"
#include "source/malloc/malloc.h"
#include "source/malloc/ways.h"
#include "sources.h"

#define EXPORT __attribute__((visibility("default")))

/* In no header of the oldest libc that we build on. */
void cfree(void *pointer);
void free_sized(void *pointer, size_t hint);
void free_aligned_sized(void *pointer, size_t alignment, size_t hint);

#define HERE __builtin_frame_address(0)

/* Operators that are being tried out: meanwhile each call is seen. */
static _Atomic int being_tried;

struct what_ways_depend_on {
    enum tp_malloc_mode mode;
    bool is_told, is_any;
};

static struct what_ways_depend_on look(void)
{
    return (struct what_ways_depend_on){
        .mode = __atomic_load_n(&tp_malloc_mode, __ATOMIC_SEQ_CST),
        .is_told = __atomic_load_n(&tp_malloc_is_told, __ATOMIC_SEQ_CST),
        .is_any = atomic_load(&being_tried) > 0,
    };
}

/* Threads may do so at the same time: whoever is the last one has seen the newest. */
static void choose_ways(void)
{
    struct what_ways_depend_on now = look(), then;

    do {
        then = now;
        tp_ways_choose(then.mode, then.is_told, then.is_any);
        atomic_thread_fence(memory_order_seq_cst);
        now = look();
    } while (now.mode != then.mode || now.is_told != then.is_told || now.is_any != then.is_any);
}

/* Blocks that must still agree before all are believed; 0: none, -1: one did not. */
static _Atomic int trials;

static void try_told(const void *pointer, size_t bytes)
{
    size_t told = tp_usable_told(pointer);
    int left = atomic_load_explicit(&trials, memory_order_relaxed);

    if (left <= 0 || told == (size_t)-1)
        return;
    if (told != bytes)
        atomic_store(&trials, -1);
    else if (!atomic_compare_exchange_strong(&trials, &left, left - 1) || left != 1)
        return;
    __atomic_store_n(&tp_malloc_is_told, told == bytes, __ATOMIC_SEQ_CST);
    choose_ways();
}

size_t tp_malloc_measured(void *pointer)
{
    size_t bytes = tp_real.malloc_usable_size ? tp_real.malloc_usable_size(pointer) : 0;

    if (tp_unlikely(atomic_load_explicit(&trials, memory_order_relaxed) > 0))
        try_told(pointer, bytes);
    return bytes;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *move_out(size_t size, const void *frame)
{
    uint64_t before = tp_malloc_allocations();
    void *moved = tp_real.malloc(size);

    tp_malloc_allocated(moved, size, before, frame, 0);
    return moved;
}

/* A block of the arena grows by moving to a real one, as soon as there are such. */
static void *leave_arena(void *pointer, size_t old_size, size_t size, const void *frame)
{
    void *moved = tp_malloc_ready() ? move_out(size, frame) : tp_arena_allocate(16, size);

    if (moved)
        memcpy(moved, pointer, old_size < size ? old_size : size);
    return moved;
}

/* A resize by the next function: what is known before it. */
struct resize {
    void *old;
    uint64_t allocations, freed_calls;
    struct tp_resize_time time;
    size_t freed; /* what the old block holds */
    int is_known; /* a free of it is to be recorded */
};

static inline struct resize before_resize(void *pointer)
{
    enum tp_malloc_mode mode = tp_malloc_mode;
    struct resize r = {
        .old = pointer, .allocations = tp_malloc_allocations(), .freed_calls = tp_tls.freed_calls};

    if (!pointer || mode == TP_MALLOC_OFF)
        return r;
    if (mode != TP_MALLOC_SAMPLE)
        r.freed = tp_malloc_usable(pointer);
    if (mode >= TP_MALLOC_SAMPLE)
        r.is_known = tp_profile_resize(mode, pointer, &r.time);
    return r;
}

/* A failed resize frees nothing; realloc(p, 0) does. */
static inline __attribute__((always_inline)) void count_resize(const struct resize *r, void *result,
                                                               size_t size, const void *frame)
{
    enum tp_malloc_mode mode = tp_malloc_mode;
    bool freed = r->old && (result || !size);

    if (mode == TP_MALLOC_OFF)
        return;
    bool is_freed = tp_tls.freed_calls != r->freed_calls; /* by an inner wrapper */
    if (freed && r->freed && !is_freed)
        tp_malloc_count_free(r->freed);
    if (r->is_known && !(mode == TP_MALLOC_ALL && is_freed)) /* that one has recorded it */
        tp_profile_resized(mode, r->old, freed ? &r->freed : NULL, &r->time);
    tp_malloc_allocated(result, size, r->allocations, frame, r->old ? TP_ALLOC_RESIZED : 0);
}

EXPORT void *realloc(void *pointer, size_t size)
{
    size_t old_size;

    if (tp_arena_owns(pointer, &old_size))
        return leave_arena(pointer, old_size, size, HERE);
    if (tp_unlikely(!tp_malloc_ready()))
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
        return leave_arena(pointer, old_size, bytes, HERE);
    if (tp_unlikely(!tp_malloc_ready() || !tp_real.reallocarray))
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
    if (tp_unlikely(!tp_malloc_ready()))
        return tp_arena_allocate(alignment, size);
    if (!tp_real.memalign)
        return no_memory();
    uint64_t before = tp_malloc_allocations();
    void *pointer = tp_real.memalign(alignment, size);
    tp_malloc_allocated(pointer, size, before, HERE, 0);
    return pointer;
}

EXPORT int posix_memalign(void **ret_pointer, size_t alignment, size_t size)
{
    if (tp_unlikely(!tp_malloc_ready() || !tp_real.posix_memalign)) {
        void *pointer = tp_real.malloc ? NULL : tp_arena_allocate(alignment, size);
        if (pointer)
            *ret_pointer = pointer;
        return pointer ? 0 : ENOMEM;
    }
    uint64_t before = tp_malloc_allocations();
    int error = tp_real.posix_memalign(ret_pointer, alignment, size);
    if (!error)
        tp_malloc_allocated(*ret_pointer, size, before, HERE, 0);
    return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    if (tp_unlikely(!tp_malloc_ready()))
        return tp_arena_allocate(alignment, size);
    if (!tp_real.aligned_alloc)
        return no_memory();
    uint64_t before = tp_malloc_allocations();
    void *pointer = tp_real.aligned_alloc(alignment, size);
    tp_malloc_allocated(pointer, size, before, HERE, 0);
    return pointer;
}

EXPORT void *valloc(size_t size)
{
    if (tp_unlikely(!tp_malloc_ready()))
        return tp_arena_allocate(4096, size);
    if (!tp_real.valloc)
        return no_memory();
    uint64_t before = tp_malloc_allocations();
    void *pointer = tp_real.valloc(size);
    tp_malloc_allocated(pointer, size, before, HERE, 0);
    return pointer;
}

EXPORT void *pvalloc(size_t size)
{
    if (tp_unlikely(!tp_malloc_ready()))
        return tp_arena_allocate(4096, (size + 4095) & ~(size_t)4095);
    if (!tp_real.pvalloc)
        return no_memory();
    uint64_t before = tp_malloc_allocations();
    void *pointer = tp_real.pvalloc(size);
    tp_malloc_allocated(pointer, size, before, HERE, 0);
    return pointer;
}

/* Old binaries' name for free. */
EXPORT void cfree(void *pointer)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!tp_malloc_ready()))
        return;
    tp_malloc_freeing(pointer);
    if (tp_real.cfree)
        tp_real.cfree(pointer);
    else
        tp_real.free(pointer);
}

/* C23: the sizes are only hints, so a libc without these two is served by free. */
EXPORT void free_sized(void *pointer, size_t hint)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!tp_malloc_ready()))
        return;
    tp_malloc_freeing(pointer);
    if (tp_real.free_sized)
        tp_real.free_sized(pointer, hint);
    else
        tp_real.free(pointer);
}

EXPORT void free_aligned_sized(void *pointer, size_t alignment, size_t hint)
{
    size_t size;

    if (!pointer || tp_arena_owns(pointer, &size) || tp_unlikely(!tp_malloc_ready()))
        return;
    tp_malloc_freeing(pointer);
    if (tp_real.free_aligned_sized)
        tp_real.free_aligned_sized(pointer, alignment, hint);
    else
        tp_real.free(pointer);
}

/* --- for libtpagent_new.so */

static void hook_count(uint64_t *ret_allocations, uint64_t *ret_frees)
{
    *ret_allocations = tp_malloc_allocations();
    *ret_frees = tp_tls.freed_calls;
}

/* tcmalloc's malloc_usable_size makes an object at its first call, by operator new. */
static void hook_allocated(void *pointer, size_t size, const void *frame)
{
    if (tp_tls.in_hook)
        return;
    *(volatile uint8_t *)&tp_tls.in_hook = 1;
    tp_malloc_allocated(pointer, size, tp_malloc_allocations(), frame, 0);
    *(volatile uint8_t *)&tp_tls.in_hook = 0;
}

static void hook_freeing(void *pointer)
{
    if (tp_tls.in_hook)
        return;
    *(volatile uint8_t *)&tp_tls.in_hook = 1;
    tp_malloc_freeing(pointer);
    *(volatile uint8_t *)&tp_tls.in_hook = 0;
}

static void hook_try(int is_on)
{
    atomic_fetch_add(&being_tried, is_on ? 1 : -1);
    choose_ways();
}

EXPORT const struct tp_allocation_hooks tpagent_allocation_hooks = {
    .count = hook_count, .try_out = hook_try, .allocated = hook_allocated, .freeing = hook_freeing};

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
    __atomic_store_n(&tp_malloc_mode, wanted, __ATOMIC_SEQ_CST);
    choose_ways();
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
    uint64_t before = tp_malloc_allocations();
    char *copy = strdup("tpagent");
    void *used_free = dlsym(RTLD_DEFAULT, "free"), *used = dlsym(RTLD_DEFAULT, "malloc");
    struct tp_text text;

    bool seen = tp_malloc_allocations() != before;
    if (copy && used_free)
        ((void (*)(void *))used_free)(copy);
    if (seen || !copy) {
        look_for_operators(ret_why);
        tp_watched_always(tp_arena, sizeof(tp_arena));
        set_mode(tp_profile_start(config, ret_why));
        /* not before: the ways of counting leave threads without draws */
        atomic_store(&trials, tp_usable_start() ? TP_USABLE_TRIALS : 0);
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
