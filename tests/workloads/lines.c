/* SPDX-License-Identifier: MIT */
/*
 * lines: allocates on lines that are marked, in functions that are inlined and that are not. Each
 * block's size says which line it was: built with debug information, that line is told.
 */
#include <stdlib.h>

#include "lines.h"

static void *volatile sink;

__attribute__((noinline)) void *take(size_t size)
{
    sink = malloc(size); /* take */
    return sink;
}

INLINED void inner(size_t size)
{
    sink = take(size); /* inner */
    __asm__ volatile("");
}

INLINED void middle(size_t size)
{
    inner(size); /* middle */
}

OWN void outer(void)
{
    middle(1000);             /* outer 1000 */
    middle(2000);             /* outer 2000 */
    sink = from_header(3000); /* outer 3000 */
    __asm__ volatile("");
}

OWN int compare(const void *a, const void *b)
{
    if (!sink)
        sink = take(4000); /* compare 4000 */
    return *(const int *)a - *(const int *)b;
}

OWN void through_libc(void)
{
    int numbers[2] = {2, 1};

    sink = NULL;
    qsort(numbers, 2, sizeof(*numbers), compare);
    __asm__ volatile("" ::"r"(numbers) : "memory");
}

/* Nothing of a function follows its last call. */
OWN __attribute__((noreturn)) void leave(void)
{
    sink = take(5000); /* leave 5000 */
    exit(0);
}

OWN __attribute__((noreturn)) void last(void)
{
    leave(); /* last 5000 */
}

OWN void next(void)
{
    sink = take(6000); /* next 6000 */
    __asm__ volatile("");
}

int main(void)
{
    outer();
    through_libc();
    for (int i = 0; i < 3; i++)
        sink = take(7000); /* main 7000 */
    next();
    last();
}
