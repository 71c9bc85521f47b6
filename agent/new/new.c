/* SPDX-License-Identifier: MIT */
/*
 * libtpagent_new.so: C++ allocations where another allocator is preloaded. jemalloc, tcmalloc and
 * mimalloc define operator new and delete themselves, so that malloc is not called. Preloaded
 * between the agent and the allocator:
 *
 *     LD_PRELOAD="libtpagent.so libtpagent_new.so libjemalloc.so.2"
 *
 * Each operator calls the next one of its own name, which may throw through us: nothing is held
 * across the call. Counted once: where the next operator new has called malloc after all, as
 * libstdc++'s does, the thread's counter has moved, and nothing is told. Whether a delete will call
 * free must be known before it does: each is tried out once.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "source/malloc/hooks.h"

#define EXPORT __attribute__((visibility("default")))
#define HERE __builtin_frame_address(0)

/* A prototype for each. */
#define TP_NEW(symbol, parameters, arguments, alignment) void *symbol parameters;
#define TP_DELETE(symbol, parameters, arguments) void symbol parameters;
#include "operators.def"
#undef TP_NEW
#undef TP_DELETE

static struct {
#define TP_NEW(symbol, parameters, arguments, alignment) void *(*symbol)parameters;
#define TP_DELETE(symbol, parameters, arguments) void(*symbol) parameters;
#include "operators.def"
#undef TP_NEW
#undef TP_DELETE
} real;

enum { UNKNOWN, FINDING, KNOWN };
static _Atomic int state;
static const struct tp_allocation_hooks *_Atomic hooks; /* NULL: there is nothing to tell */

/* The next operators delete that don't call free. */
static struct {
#define TP_NEW(symbol, parameters, arguments, alignment)
#define TP_DELETE(symbol, parameters, arguments) bool symbol;
#include "operators.def"
#undef TP_NEW
#undef TP_DELETE
} is_silent;

/* In a program that gets libstdc++ by dlopen(RTLD_LOCAL) nothing comes next, and yet its calls
 * arrive here. */
static void *find(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);

    if (found)
        return found;
    void *library = dlopen("libstdc++.so.6", RTLD_NOLOAD | RTLD_LAZY);
    if (!library)
        return NULL;
    found = dlsym(library, symbol);
    dlclose(library); /* it is there all the same */
    return found;
}

/* Which of the next operators delete call free? */
static void try_out(const struct tp_allocation_hooks *found)
{
    static const char nothrow_object;
    const void *nothrow = &nothrow_object;
    const size_t size = 64, alignment = 64;

    found->try_out(1);
#define TP_NEW(symbol, parameters, arguments, unused)
#define TP_DELETE(symbol, parameters, arguments)                                                   \
    {                                                                                              \
        uint64_t before, after, allocations;                                                       \
        void *block = real._ZnwmSt11align_val_tRKSt9nothrow_t && strstr(#symbol, "align")          \
                          ? real._ZnwmSt11align_val_tRKSt9nothrow_t(size, alignment, nothrow)      \
                          : real._ZnwmRKSt9nothrow_t(size, nothrow);                               \
        found->count(&allocations, &before);                                                       \
        if (block && real.symbol) {                                                                \
            real.symbol arguments;                                                                 \
            found->count(&allocations, &after);                                                    \
            is_silent.symbol = after == before;                                                    \
        }                                                                                          \
    }
#include "operators.def"
#undef TP_NEW
#undef TP_DELETE
    (void)alignment;
    found->try_out(0);
    atomic_store(&hooks, found);
}

/* Whoever comes meanwhile, as the lookup itself might, is served by malloc and free. */
static bool is_ready(void)
{
    int unknown = UNKNOWN;

    if (__builtin_expect(atomic_load_explicit(&state, memory_order_acquire) == KNOWN, 1))
        return true;
    if (!atomic_compare_exchange_strong(&state, &unknown, FINDING))
        return unknown == KNOWN;
#define TP_NEW(symbol, parameters, arguments, alignment) *(void **)&real.symbol = find(#symbol);
#define TP_DELETE(symbol, parameters, arguments) *(void **)&real.symbol = find(#symbol);
#include "operators.def"
#undef TP_NEW
#undef TP_DELETE
    const struct tp_allocation_hooks *found = dlsym(RTLD_DEFAULT, TP_ALLOCATION_HOOKS);
    if (found && real._ZnwmRKSt9nothrow_t)
        try_out(found);
    atomic_store_explicit(&state, real._Znwm ? KNOWN : UNKNOWN, memory_order_release);
    return real._Znwm != NULL;
}

static void *allocate(size_t size, size_t alignment)
{
    return alignment > 16 ? aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1))
                          : malloc(size ? size : 1);
}

static inline uint64_t count_before(void)
{
    const struct tp_allocation_hooks *to = atomic_load_explicit(&hooks, memory_order_relaxed);
    uint64_t allocations = 0, frees;

    if (to)
        to->count(&allocations, &frees);
    return allocations;
}

/* @block was allocated by an operator of the next object. */
static inline __attribute__((always_inline)) void *told(void *block, size_t size, uint64_t before,
                                                        const void *frame)
{
    const struct tp_allocation_hooks *to = atomic_load_explicit(&hooks, memory_order_relaxed);

    if (to && block && count_before() == before)
        to->allocated(block, size, frame);
    return block;
}

static inline void tell_delete(void *block, bool is_silent_one)
{
    const struct tp_allocation_hooks *to = atomic_load_explicit(&hooks, memory_order_relaxed);

    if (to && block && is_silent_one)
        to->freeing(block);
}

#define TP_NEW(symbol, parameters, arguments, alignment)                                           \
    EXPORT void *symbol parameters                                                                 \
    {                                                                                              \
        if (!is_ready() || !real.symbol)                                                           \
            return allocate(size, alignment);                                                      \
        uint64_t before = count_before();                                                          \
        return told(real.symbol arguments, size, before, HERE);                                    \
    }
#define TP_DELETE(symbol, parameters, arguments)                                                   \
    EXPORT void symbol parameters                                                                  \
    {                                                                                              \
        if (!is_ready() || !real.symbol) {                                                         \
            free(block);                                                                           \
            return;                                                                                \
        }                                                                                          \
        tell_delete(block, is_silent.symbol);                                                      \
        real.symbol arguments;                                                                     \
    }
#include "operators.def"
#undef TP_NEW
#undef TP_DELETE

/* Here, where it can be: not inside of a range of the program's. */
static void __attribute__((constructor)) look_early(void)
{
    is_ready();
}
