/* SPDX-License-Identifier: MIT
 * Preloaded behind the agent: a signal comes while a thread is made, and its handler allocates. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 10

static void *volatile kept;

/* Nothing else allocates meanwhile. */
static void on_signal(int number)
{
    (void)number;
    for (int i = 0; i < BLOCKS; i++)
        kept = malloc(100);
}

int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    signal(SIGUSR1, on_signal);
    kill(getpid(), SIGUSR1);
    return next(ret_thread, attributes, start, argument);
}
