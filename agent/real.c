/* SPDX-License-Identifier: MIT */
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct tp_real tp_real;

char tp_arena[TP_ARENA_BYTES] __attribute__((aligned(4096)));
static _Atomic size_t arena_used;

bool tp_real_is_sanitized(void)
{
    return dlsym(RTLD_DEFAULT, "__sanitizer_get_allocated_size") != NULL;
}

void tp_real_find(void)
{
    int kept = errno;

    if (tp_tls.resolving)
        return;
    /* gcc takes dlsym for a leaf and would keep a plain flag in a register across it */
    *(volatile uint8_t *)&tp_tls.resolving = 1;
    struct tp_real found;
#define TP_REAL(result, name, parameters) *(void **)&found.name = dlsym(RTLD_NEXT, #name);
#include "real_symbols.def"
#undef TP_REAL
    if (tp_real_is_sanitized())
        found.malloc_usable_size = NULL;
    /* malloc last: whoever sees it sees all of them */
    void *(*next_malloc)(size_t) = found.malloc;
    found.malloc = NULL;
    if (!tp_real.malloc) {
        tp_real = found;
        __atomic_store_n(&tp_real.malloc, next_malloc, __ATOMIC_RELEASE);
    }
    *(volatile uint8_t *)&tp_tls.resolving = 0;
    errno = kept;
}

void *tp_arena_allocate(size_t alignment, size_t size)
{
    size_t used = atomic_load_explicit(&arena_used, memory_order_relaxed), at;

    if (alignment < 16)
        alignment = 16;
    if (size > TP_ARENA_BYTES || alignment > 4096)
        return NULL;
    do {
        at = (used + sizeof(size_t) + alignment - 1) & ~(alignment - 1);
        if (at + size > TP_ARENA_BYTES)
            return NULL;
    } while (!atomic_compare_exchange_weak(&arena_used, &used, at + size));
    ((size_t *)(tp_arena + at))[-1] = size;
    return tp_arena + at;
}
