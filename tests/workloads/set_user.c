/* SPDX-License-Identifier: MIT
 * A program with threads changes its user and group (to what they are): libc makes every thread do
 * it, and waits for each. Its records are ranges of every thread, before and after. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tpagent.h"

static pthread_barrier_t barrier;

static void *work(void *argument)
{
    for (int i = 0; i < 100; i++) {
        tpagent_begin("work");
        tpagent_end();
        if (i % 10 == 0)
            pthread_barrier_wait(&barrier);
    }
    return argument;
}

int main(void)
{
    pthread_t threads[3];

    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 10; i++) {
        pthread_barrier_wait(&barrier);
        printf("%d %d\n", setgid(getgid()), setuid(getuid()));
        usleep(2000);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
