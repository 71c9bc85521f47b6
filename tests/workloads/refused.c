/* SPDX-License-Identifier: MIT */
/*
 * What no allocator can give, and what a limit forbids: each is refused as always, and frees and
 * counts nothing. In a range, after 300 blocks of an ordinary program, with one block that stays.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tpagent.h"

enum { LIMITED = 16 << 20 };

static char *kept;

static void expect_refused(int line, const void *pointer)
{
    if (pointer || errno != ENOMEM || strcmp(kept, "kept") != 0)
        printf("line %d: not refused, errno %d, %s\n", line, errno, kept);
    errno = 0;
}

#define REFUSED(call) expect_refused(__LINE__, call)

static void ask_for(volatile size_t size)
{
    void *pointer = NULL;

    errno = 0;
    REFUSED(malloc(size));
    REFUSED(calloc(1, size));
    REFUSED(calloc(size / 16, 16));
    REFUSED(realloc(NULL, size));
    REFUSED(realloc(kept, size));
    REFUSED(reallocarray(kept, 1, size));
    REFUSED(memalign(64, size));
    REFUSED(aligned_alloc(64, size));
    REFUSED(valloc(size));
    errno = posix_memalign(&pointer, 64, size);
    REFUSED(pointer);
}

int main(void)
{
    static const size_t sizes[] = {
        SIZE_MAX,        SIZE_MAX - 15,           SIZE_MAX - 16,
        SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1, (size_t)PTRDIFF_MAX - 100,
    };
    volatile size_t half = (size_t)1 << 32;
    struct rlimit before, limit;

    for (int i = 0; i < 300; i++)
        free(malloc(64));
    tpagent_begin("work");
    kept = malloc(100);
    strcpy(kept, "kept");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        ask_for(sizes[i]);
    errno = 0;
    REFUSED(calloc(half, half));
    REFUSED(calloc(half, half + 1));
    REFUSED(reallocarray(kept, half, half));
    getrlimit(RLIMIT_AS, &before);
    limit = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
    for (int i = 0; i < 100; i++)
        ask_for(LIMITED);
    setrlimit(RLIMIT_AS, &before);
    for (size_t size = 0; size < 100; size++)
        free(malloc(size));
    tpagent_end();
    return 0;
}
