/* SPDX-License-Identifier: MIT
 * evicted nested ROUNDS [FILE]: one range that is open all the time, ranges of three names in it,
 * and start/end ranges that end on another thread; how many rounds have begun stands in FILE
 * evicted names NAMES ROUNDS: so many names, each ROUNDS times
 * evicted threads THREADS RANGES: one thread after the other, each with RANGES ranges of its own
 *   and one that is never ended
 * evicted fork CHILDREN ROUNDS: `nested` in the process and in so many children
 * Prints a line for each name: how many ranges of it were begun. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tpagent.h"

static void *end_all(void *argument)
{
    for (const uint64_t *id = argument; *id; id++)
        tpagent_async_end(*id);
    return NULL;
}

static volatile uint64_t *progress;

static void nested(long rounds)
{
    uint64_t ids[101] = {0};
    pthread_t thread;

    tpagent_begin("whole run");
    for (long i = 0; i < rounds; i++) {
        tpagent_begin("outer");
        if (progress)
            ++*progress;
        for (int k = 0; k < 3; k++) {
            tpagent_begin("inner");
            tpagent_begin("inner"); /* an only child of the same name is the same range */
            tpagent_end();
            tpagent_end();
        }
        tpagent_begin("leaf");
        tpagent_end();
        tpagent_end();
        if (i % (rounds / 100 ? rounds / 100 : 1) == 0 && !ids[99]) {
            int n = 0;
            while (ids[n])
                n++;
            ids[n] = tpagent_async_begin("start/end");
        }
    }
    if (pthread_create(&thread, NULL, end_all, ids))
        exit(3);
    pthread_join(thread, NULL);
    tpagent_end();
    int count = 0;
    while (count < 100 && ids[count])
        count++;
    printf("whole run\t1\nouter\t%ld\ninner\t%ld\nleaf\t%ld\nstart/end\t%d\n", rounds, 3 * rounds,
           rounds, tpagent_recording() ? count : 0);
    fflush(stdout);
}

static void names(long count, long rounds)
{
    char name[32];

    for (long i = 0; i < count * rounds; i++) {
        snprintf(name, sizeof(name), "name %ld", i % count);
        tpagent_begin(name);
        tpagent_end();
    }
    printf("all\t%ld\n", count * rounds);
}

static long range_count;

static void *work(void *argument)
{
    tpagent_begin("never ended");
    for (long i = 0; i < range_count; i++) {
        tpagent_begin("range");
        tpagent_end();
    }
    return argument;
}

static void threads(long count)
{
    pthread_t thread;

    for (long i = 0; i < count; i++) {
        if (pthread_create(&thread, NULL, work, NULL))
            exit(3);
        pthread_join(thread, NULL);
    }
    printf("never ended\t%ld\nrange\t%ld\n", count, count * range_count);
}

static void forks(long children, long rounds)
{
    for (long i = 0; i < children; i++) {
        pid_t child = fork();
        if (!child) {
            nested(rounds);
            exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
            exit(3);
    }
    nested(rounds);
}

static void map_progress(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    if (fd < 0 || ftruncate(fd, sizeof(*progress)))
        exit(3);
    progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (progress == MAP_FAILED)
        exit(3);
    close(fd);
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "";
    long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 1;

    range_count = second;
    if (!strcmp(how, "nested") && argc > 3)
        map_progress(argv[3]);
    if (!strcmp(how, "nested"))
        nested(first);
    else if (!strcmp(how, "names"))
        names(first, second);
    else if (!strcmp(how, "threads"))
        threads(first);
    else if (!strcmp(how, "fork"))
        forks(first, second);
    else
        return 2;
    return 0;
}
