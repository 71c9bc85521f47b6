/* SPDX-License-Identifier: MIT
 * soak SECONDS SEED: threads that come and go, ranges, names that are new for a while, and storms
 * of forks, each of whose children records and ends in some way. Once a second a line: seconds, the
 * process's memory without files in KiB, its mappings. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tpagent.h"

#define NAMES 5000

static uint64_t seed;

static unsigned draw(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % below;
}

static void make_ranges(unsigned count, unsigned from)
{
    char name[32];

    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "range %u", (from + i) % NAMES);
        tpagent_begin("outer");
        tpagent_begin(name);
        free(malloc(i % 500));
        tpagent_end();
        tpagent_end();
    }
}

static void *work(void *argument)
{
    unsigned count = (unsigned)(uintptr_t)argument;

    make_ranges(count % 2000, count);
    return NULL;
}

static void make_threads(unsigned count)
{
    pthread_t threads[16];
    unsigned made = 0;

    for (unsigned i = 0; i < count; i++)
        made += !pthread_create(&threads[made], NULL, work, (void *)(uintptr_t)draw(100000));
    for (unsigned i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
}

static void be_child(unsigned way)
{
    make_ranges(way % 400, way);
    if (way % 4 == 0)
        abort();
    if (way % 4 == 1)
        kill(getpid(), SIGKILL);
    if (way % 4 == 2)
        exit(0);
    _exit(0);
}

static void make_children(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned way = draw(100000);
        if (!fork())
            be_child(way);
    }
    while (wait(NULL) > 0)
        ;
}

static long value_of(const char *file_name, const char *key)
{
    FILE *file = fopen(file_name, "r");
    char line[512];
    long value = 0;

    while (file && fgets(line, sizeof(line), file)) {
        if (!key)
            value++;
        else if (!strncmp(line, key, strlen(key)))
            value = atol(line + strlen(key));
    }
    if (file)
        fclose(file);
    return value;
}

int main(int argc, char **argv)
{
    time_t begin = time(NULL), last = 0;
    long seconds = argc == 3 ? atol(argv[1]) : 0;

    seed = argc == 3 ? (uint64_t)atol(argv[2]) * 2654435769u + 1 : 0;
    if (!seconds)
        return 2;
    for (time_t now; (now = time(NULL)) - begin < seconds;) {
        make_threads(1 + draw(16));
        make_ranges(draw(3000), draw(NAMES));
        if (draw(20) == 0)
            make_children(1 + draw(12));
        usleep(draw(3000));
        if (now == last)
            continue;
        last = now;
        printf("%ld %ld %ld\n", (long)(now - begin), value_of("/proc/self/status", "RssAnon:"),
               value_of("/proc/self/maps", NULL));
        fflush(stdout);
    }
    return 0;
}
