/* SPDX-License-Identifier: MIT */
/* errno before and after calls that are interposed. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *nothing(void *argument)
{
    return argument;
}

int main(void)
{
    pthread_t thread;
    void *p;

    errno = 77;
    p = malloc(100);
    printf("malloc %d\n", errno);
    p = realloc(p, 200);
    printf("realloc %d\n", errno);
    free(p);
    printf("free %d\n", errno);
    pthread_create(&thread, NULL, nothing, NULL);
    printf("pthread_create %d\n", errno);
    pthread_join(thread, NULL);
    volatile size_t huge = SIZE_MAX / 2;
    p = malloc(huge);
    printf("malloc of too much %d %d\n", p == NULL, errno);
    errno = 78;
    p = calloc(huge, 16);
    printf("calloc of too much %d %d\n", p == NULL, errno);
    errno = 79;
    p = reallocarray(NULL, huge, 16);
    printf("reallocarray of too much %d %d\n", p == NULL, errno);
    errno = 80;
    printf("posix_memalign %d %d\n", posix_memalign(&p, 3, 100), errno);
    errno = 81;
    free(NULL);
    printf("free(NULL) %d\n", errno);
    return 0;
}
