/* SPDX-License-Identifier: MIT */
#include "source/malloc/usable.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"

extern const char *gnu_get_libc_version(void) __attribute__((weak));

static const void *object_of(const void *function)
{
    Dl_info info;

    return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

static bool is_glibcs(void)
{
    const void *functions[] = {
        *(void **)&tp_real.malloc,   *(void **)&tp_real.free,
        *(void **)&tp_real.calloc,   *(void **)&tp_real.realloc,
        *(void **)&tp_real.memalign, *(void **)&tp_real.malloc_usable_size,
    };
    const char *(*version)(void) = gnu_get_libc_version;
    const void *libc = object_of(*(void **)&version);

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (!libc || object_of(functions[i]) != libc)
            return false;
    return true;
}

/* Valgrind puts its own functions where glibc's are, and reports who reads below a block. */
static bool is_below_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return preload && strstr(preload, "vgpreload_");
}

bool tp_usable_start(void)
{
#if defined(__x86_64__)
    return is_glibcs() && !is_below_valgrind();
#else
    (void)is_glibcs;
    (void)is_below_valgrind;
    return false;
#endif
}
