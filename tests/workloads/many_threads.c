/* SPDX-License-Identifier: MIT */
/* 200 threads at once with the smallest stacks, then 2,000 one after the other. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *argument)
{
    for (int i = 0; i < 10; i++)
        free(malloc(64));
    return argument;
}

int main(void)
{
    pthread_t threads[200];
    pthread_attr_t small;
    int made = 0;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)sysconf(_SC_THREAD_STACK_MIN) + 4096);
    for (int i = 0; i < 200; i++)
        made += !pthread_create(&threads[i], &small, work, NULL);
    for (int i = 0; i < 200; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2000; i++)
        if (!pthread_create(&threads[0], &small, work, NULL)) {
            pthread_join(threads[0], NULL);
            made++;
        }
    printf("%d\n", made);
    return 0;
}
