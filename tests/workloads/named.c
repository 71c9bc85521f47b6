/* SPDX-License-Identifier: MIT
 * named [kill]: threads that get their names in each way, make a range and are gone at once (where
 * kill: the process is, while they are there). Each thread's range has the name that its thread
 * shall have. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tpagent.h"

#define EACH 8

static int stays;
static sem_t begun, go_on;

struct way {
    const char *name;
    void (*before)(const char *name); /* by the thread, its range */
    void (*behind)(const char *name);
    int by_creator; /* while the thread waits: 1 before its range, 2 behind it */
};

static void set(const char *name)
{
    if (pthread_setname_np(pthread_self(), name))
        exit(3);
}

static void set_by_prctl(const char *name)
{
    if (prctl(PR_SET_NAME, name, 0, 0, 0))
        exit(3);
}

static void set_by_syscall(const char *name)
{
    if (syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0))
        exit(3);
}

static void set_another(const char *name)
{
    (void)name;
    set("not this one");
}

static void nothing(const char *name)
{
    (void)name;
}

static const struct way ways[] = {
    {"self", set, nothing, 0},
    {"behind", nothing, set, 0},
    {"again", set_another, set, 0},
    {"prctl", set_by_prctl, nothing, 0},
    {"syscall", set_another, set_by_syscall, 0},
    {"creator", nothing, nothing, 1},
    {"creator later", set_another, nothing, 2},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void wait_for_creator(void)
{
    sem_post(&begun);
    sem_wait(&go_on);
}

static void *work(void *argument)
{
    const struct way *way = argument;

    way->before(way->name);
    if (way->by_creator == 1)
        wait_for_creator();
    tpagent_begin(way->name);
    tpagent_end();
    way->behind(way->name);
    if (way->by_creator == 2)
        wait_for_creator();
    if (stays) {
        sem_post(&begun);
        pause();
    }
    return NULL;
}

static void *plain_work(void *argument)
{
    tpagent_begin(argument);
    tpagent_end();
    return NULL;
}

static pthread_t start(const struct way *way)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, work, (void *)way))
        exit(4);
    if (way->by_creator) {
        sem_wait(&begun);
        if (pthread_setname_np(thread, way->name))
            exit(5);
        sem_post(&go_on);
    }
    if (stays)
        sem_wait(&begun);
    return thread;
}

int main(int argc, char **argv)
{
    static char inherited[] = "inherited";
    pthread_t thread;

    (void)argv;
    stays = argc > 1;
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    for (size_t i = 0; i < EACH * WAYS; i++) {
        thread = start(&ways[i % WAYS]);
        if (!stays)
            pthread_join(thread, NULL);
    }
    if (stays)
        kill(getpid(), SIGKILL);
    set(inherited);
    if (pthread_create(&thread, NULL, plain_work, inherited))
        return 4;
    pthread_join(thread, NULL);
    return 0;
}
