/* SPDX-License-Identifier: MIT */
/* Four threads that allocate, free each other's blocks and add up. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1000

static void *blocks[4][BLOCKS];

static void *fill(void *argument)
{
    long index = (long)argument, sum = 0;

    for (int i = 0; i < BLOCKS; i++) {
        blocks[index][i] = malloc((size_t)(i * 7 % 5000) + 1);
        memset(blocks[index][i], (int)index, 1);
        sum += i;
    }
    return (void *)sum;
}

static void *empty(void *argument)
{
    long index = ((long)argument + 1) % 4;

    for (int i = 0; i < BLOCKS; i++)
        free(blocks[index][i]);
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    long sum = 0;

    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, fill, (void *)i);
    for (int i = 0; i < 4; i++) {
        void *part;
        pthread_join(threads[i], &part);
        sum += (long)part;
    }
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, empty, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", sum);
    return 7;
}
