/* SPDX-License-Identifier: MIT */
/* What glibc's blocks say of themselves, against malloc_usable_size. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host.h"
#include "real.h"
#include "source/malloc/usable.h"

struct tp_real tp_real;

static void *another_malloc(size_t size)
{
    return malloc(size);
}

static void set_up(void)
{
    unsetenv("LD_PRELOAD");
    tp_real.malloc = malloc;
    tp_real.free = free;
    tp_real.calloc = calloc;
    tp_real.realloc = realloc;
    tp_real.memalign = memalign;
    tp_real.malloc_usable_size = malloc_usable_size;
}

static void *any_block(unsigned *state)
{
    size_t size = (size_t)rand_r(state) % (16u << rand_r(state) % 15);

    switch (rand_r(state) % 4) {
    case 0:
        return malloc(size);
    case 1:
        return calloc(1, size);
    case 2:
        return memalign((size_t)16 << rand_r(state) % 9, size);
    default:
        return realloc(malloc((size_t)rand_r(state) % 3000), size + 1);
    }
}

START_TEST(blocks_tell_what_they_hold)
{
    unsigned seed = (unsigned)time(NULL), state = seed, mapped = 0;
    void *live[256] = {NULL};

    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* it stays there */
    ck_assert(tp_usable_start());
    for (int i = 0; i < 40000; i++) {
        void **at = &live[rand_r(&state) % 256];
        free(*at);
        *at = any_block(&state);
        size_t told = tp_usable_told(*at), is = malloc_usable_size(*at);
        mapped += told == (size_t)-1;
        ck_assert_msg(told == is || (told == (size_t)-1 && is > 100000),
                      "seed %u: block %d says %zu and holds %zu", seed, i, told, is);
    }
    ck_assert_uint_gt(mapped, 10);
    for (int i = 0; i < 256; i++)
        free(live[i]);
}
END_TEST

START_TEST(who_else_allocates_is_asked)
{
    setenv("LD_PRELOAD", "/usr/libexec/valgrind/vgpreload_core-amd64-linux.so", 1);
    ck_assert(!tp_usable_start());
    unsetenv("LD_PRELOAD");
    tp_real.malloc = another_malloc;
    ck_assert(!tp_usable_start());
    tp_real.malloc = malloc;
    tp_real.malloc_usable_size = NULL;
    ck_assert(!tp_usable_start());
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("usable");

    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, who_else_allocates_is_asked);
#if defined(__x86_64__) && defined(__GLIBC__)
    tcase_add_test(tests, blocks_tell_what_they_hold);
#endif
    return host_run(tests, "usable");
}
