/* SPDX-License-Identifier: MIT */
/*
 * The operators new and delete: a known number of blocks by each of them, one that there is no
 * memory for, and one in a module of its own. Prints what it saw.
 *
 *     news COUNT [small]     small: without the block for which there is no memory
 */
#include <cstdio>
#include <cstdlib>
#include <new>

#include "tpagent.h"

struct alignas(128) wide {
    char bytes[256];
};

static void *volatile kept;

static __attribute__((noinline)) void leak()
{
    kept = new char[1000];
}

static __attribute__((noinline)) void take_and_give(int count)
{
    for (int i = 0; i < count; i++) {
        int *one = new int(i);
        kept = one;
        delete one;
        char *many = new char[100 + i % 50];
        kept = many;
        delete[] many;
        wide *aligned = new wide;
        kept = aligned;
        delete aligned;
        int *quiet = new (std::nothrow) int[10];
        kept = quiet;
        delete[] quiet;
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    volatile size_t too_much = SIZE_MAX / 4;

    tpagent_begin("work");
    take_and_give(count);
    for (int i = 0; i < 10; i++)
        leak();
    tpagent_end();
    if (argc > 2)
        return 0;
    try {
        kept = ::operator new(too_much);
        puts("there is no end of memory");
    } catch (const std::bad_alloc &) {
        puts("bad_alloc");
    }
    puts(::operator new(too_much, std::nothrow) ? "memory" : "none");
    return 0;
}
