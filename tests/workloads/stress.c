/* SPDX-License-Identifier: MIT */
/*
 * stress THREADS PAIRS [FILE]: every thread begins and ends PAIRS ranges, at most three deep, as
 * fast as it can. How many calls have returned stands in FILE, a number a thread, also after the
 * process was killed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tpagent.h"

#define THREADS_MAX 64

struct worker {
    pthread_t thread;
    uint64_t pairs;
    volatile uint64_t *calls;
};

static void *work(void *argument)
{
    static const char *const names[] = {"one", "two", "three"};
    struct worker *worker = argument;
    unsigned depth = 0;

    for (uint64_t begun = 0; begun < worker->pairs || depth;) {
        if (begun < worker->pairs && depth < 3 && (depth == 0 || begun % 3)) {
            tpagent_begin(names[depth++]);
            begun++;
        } else {
            tpagent_end();
            depth--;
        }
        ++*worker->calls;
        if (depth == 3 || begun == worker->pairs)
            for (; depth; depth--) {
                tpagent_end();
                ++*worker->calls;
            }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    struct worker workers[THREADS_MAX];
    size_t bytes = THREADS_MAX * sizeof(uint64_t);
    volatile uint64_t *calls;

    if (threads < 1 || threads > THREADS_MAX)
        return 2;
    int fd = open(argc > 3 ? argv[3] : "calls", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
        return 2;
    calls = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (calls == MAP_FAILED)
        return 2;
    for (int i = 0; i < threads; i++) {
        workers[i].pairs = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
        workers[i].calls = calls + i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 2;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    return 0;
}
