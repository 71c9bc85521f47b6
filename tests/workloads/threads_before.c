/* SPDX-License-Identifier: MIT */
/*
 * threads_before COUNT: threads that are there before any library has been started, and allocate
 * all the time; then COUNT blocks each, in a range of their own.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "tpagent.h"

enum { THREADS = 4 };

static pthread_t threads[THREADS];
static atomic_int has_begun, at_work;
static int count;

static void *allocate(void *argument)
{
    atomic_fetch_add(&at_work, 1);
    while (!atomic_load(&has_begun))
        free(malloc(48));
    tpagent_begin("work");
    for (int i = 0; i < count; i++)
        free(malloc(1000));
    tpagent_end();
    return argument;
}

static void before_all(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    while (atomic_load(&at_work) < THREADS)
        ;
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_all;

static void *nothing(void *argument)
{
    return argument;
}

int main(int argc, char **argv)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    pthread_t thread;

    count = argc > 1 ? atoi(argv[1]) : 1000;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    nanosleep(&moment, NULL);
    atomic_store(&has_begun, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
