/* SPDX-License-Identifier: MIT */
/* Allocates at the end of functions of several shapes, built without frame pointers. Each block's
 * size says which it was. */
#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OWN __attribute__((noinline, noclone))

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

static int compare(const void *a, const void *b)
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

int main(void)
{
    pthread_t id;

    plain(1000);
    of_any_size(2000);
    aligned_of_any_size(3000);
    large(4000);
    through_libc();
    pthread_create(&id, NULL, thread, NULL);
    pthread_join(id, NULL);
    return 0;
}
