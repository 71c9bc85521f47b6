/* SPDX-License-Identifier: MIT
 * told: does what its standard input says, a line each, and answers "ok" when it is done:
 *   main N    N ranges by the first thread
 *   thread N  a new thread makes N ranges and stays
 *   gone N    a new thread makes N ranges and ends
 *   names N   N ranges with names of their own
 *   end       exit */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tpagent.h"

static pthread_barrier_t made;

static void make_ranges(long count)
{
    for (long i = 0; i < count; i++) {
        tpagent_begin("range");
        tpagent_end();
    }
}

static void make_names(long count)
{
    static long last;
    char name[512];

    memset(name, 'n', sizeof(name));
    for (long i = 0; i < count; i++) {
        snprintf(name + 400, sizeof(name) - 400, "%ld", last++);
        tpagent_begin(name);
        tpagent_end();
    }
}

static void *make_and_end(void *count)
{
    make_ranges((intptr_t)count);
    return NULL;
}

static void *make_and_stay(void *count)
{
    make_ranges((intptr_t)count);
    pthread_barrier_wait(&made);
    while (pause())
        ;
    return NULL;
}

static void start(void *(*work)(void *), long count, pthread_t *ret_thread)
{
    if (pthread_create(ret_thread, NULL, work, (void *)(intptr_t)count))
        exit(3);
}

int main(void)
{
    char word[16];
    long count;
    pthread_t thread;

    pthread_barrier_init(&made, NULL, 2);
    while (scanf("%15s", word) == 1 && strcmp(word, "end") != 0) {
        if (scanf("%ld", &count) != 1)
            return 2;
        if (!strcmp(word, "main")) {
            make_ranges(count);
        } else if (!strcmp(word, "names")) {
            make_names(count);
        } else if (!strcmp(word, "thread")) {
            start(make_and_stay, count, &thread);
            pthread_barrier_wait(&made);
        } else {
            start(make_and_end, count, &thread);
            pthread_join(thread, NULL);
        }
        puts("ok");
        fflush(stdout);
    }
    return 0;
}
