/* SPDX-License-Identifier: MIT
 * hang RANGES: two threads and the main one open ranges and stay in them for ever; before that the
 * main thread makes RANGES short ones. Prints "ready". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tpagent.h"

static pthread_barrier_t barrier;

static void stay(void)
{
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
}

static void *wait_in_one(void *argument)
{
    tpagent_begin("waits for a batch");
    stay();
    return argument;
}

static void *wait_deep_inside(void *argument)
{
    char name[] = "level 0";

    for (; name[6] <= '9'; name[6]++)
        tpagent_begin(name);
    stay();
    return argument;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 0;
    pthread_t thread;

    pthread_barrier_init(&barrier, NULL, 3);
    tpagent_begin("epoch");
    for (long i = 0; i < count; i++) {
        tpagent_begin("step");
        tpagent_end();
    }
    pthread_create(&thread, NULL, wait_in_one, NULL);
    pthread_create(&thread, NULL, wait_deep_inside, NULL);
    tpagent_begin("collective");
    pthread_barrier_wait(&barrier);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
