/* SPDX-License-Identifier: MIT */
/*
 * frames: allocates at the end of functions of several shapes, built without frame pointers. Each
 * block's size says which it was.
 * frames SEED COUNT: COUNT times through functions of any shape in any order, of which most are the
 * same as the time before; prints their first letters, innermost first, a line each time.
 */
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noinline, noclone))
#endif

static void *volatile sink;
static volatile size_t many = 300;

OWN static void take(size_t size)
{
    sink = malloc(size);
    __asm__ volatile("" ::: "memory");
}

OWN static void plain(size_t size)
{
    take(size);
    __asm__ volatile("");
}

OWN static void of_any_size(size_t size)
{
    char *bytes = alloca(many);

    memset(bytes, 1, many);
    sink = bytes;
    plain(size);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

/* Its stack is aligned to more than a call leaves it. */
OWN static void aligned(size_t size)
{
    _Alignas(64) char bytes[128];

    memset(bytes, 1, many % sizeof(bytes));
    sink = bytes;
    of_any_size(size);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

OWN static void aligned_of_any_size(size_t size)
{
    _Alignas(64) char bytes[128];
    char *more = alloca(many);

    memset(bytes, 1, many % sizeof(bytes));
    memset(more, 1, many);
    sink = bytes;
    aligned(size);
    __asm__ volatile("" ::"r"(bytes), "r"(more) : "memory");
}

OWN static void large(size_t size)
{
    char bytes[100000];

    memset(bytes, 1, many);
    sink = bytes;
    plain(size);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

OWN static int compare(const void *a, const void *b)
{
    if (!sink)
        plain(5000);
    sink = (void *)a;
    return *(const int *)a - *(const int *)b;
}

OWN static void through_libc(void)
{
    int numbers[2] = {2, 1};

    sink = NULL;
    qsort(numbers, 2, sizeof(*numbers), compare);
    __asm__ volatile("" ::"r"(numbers) : "memory");
}

static void *thread(void *argument)
{
    (void)argument;
    aligned(6000);
    return NULL;
}

#define DEEPEST 12
#define SHAPES 4

static unsigned path[DEEPEST], depth;

static void deeper(unsigned level);

OWN static void p_lain(unsigned level)
{
    deeper(level);
    __asm__ volatile("");
}

OWN static void v_ariable(unsigned level)
{
    size_t size = 16 + many * (path[level] >> 8 & 7);
    char *bytes = alloca(size);

    memset(bytes, 1, size);
    deeper(level);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

OWN static void a_ligned(unsigned level)
{
    _Alignas(64) char bytes[64];

    memset(bytes, 1, many % sizeof(bytes));
    deeper(level);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

OWN static void b_oth(unsigned level)
{
    _Alignas(64) char bytes[64];
    char *more = alloca(many * (1 + (path[level] >> 8 & 3)));

    memset(bytes, 1, many % sizeof(bytes));
    memset(more, 1, many);
    deeper(level);
    __asm__ volatile("" ::"r"(bytes), "r"(more) : "memory");
}

static void (*const shapes[SHAPES])(unsigned level) = {p_lain, v_ariable, a_ligned, b_oth};

OWN static void deeper(unsigned level)
{
    if (level == depth)
        take(100);
    else
        shapes[path[level] % SHAPES](level + 1);
    __asm__ volatile("");
}

OWN static void at_random(unsigned seed, long count)
{
    for (long i = 0; i < count; i++) {
        unsigned from = (unsigned)rand_r(&seed) % DEEPEST;
        for (unsigned k = from; k < DEEPEST; k++)
            path[k] = (unsigned)rand_r(&seed) >> 4;
        depth = (unsigned)rand_r(&seed) % DEEPEST + 1;
        deeper(0);
        for (unsigned k = depth; k-- > 0;)
            putchar("pvab"[path[k] % SHAPES]);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    pthread_t id;

    if (argc == 3) {
        at_random((unsigned)atol(argv[1]), atol(argv[2]));
        return 0;
    }
    plain(1000);
    of_any_size(2000);
    aligned_of_any_size(3000);
    large(4000);
    through_libc();
    pthread_create(&id, NULL, thread, NULL);
    pthread_join(id, NULL);
    return 0;
}
