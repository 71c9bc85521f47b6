/* SPDX-License-Identifier: MIT
 * churn sequence THREADS RANGES: one thread after the other, each of which makes RANGES ranges; it
 *     rests before it looks at its memory, so that what waits for the agent's drain is not in it
 * churn c11 THREADS RANGES: the same with C11's functions
 * churn together THREADS RANGES: all at once
 * churn names NAMES: so many ranges of different names
 * Prints the calls that were made, then its memory half-way (of names: after a tenth) and at the
 * end: resident (without files) and mapped KiB, mappings. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#include "tpagent.h"

#define REST_NS 100000000
#define CALM_RESTS 25
#define RESTS_MAX 300

static long range_count;
static pthread_barrier_t barrier;

static void *work(void *argument)
{
    if (argument)
        pthread_barrier_wait(&barrier);
    for (long i = 0; i < range_count; i++) {
        tpagent_begin("range");
        tpagent_end();
    }
    if (argument)
        pthread_barrier_wait(&barrier);
    return NULL;
}

static long value_of(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long value = -1;

    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, key, strlen(key)))
            value = atol(line + strlen(key));
    fclose(file);
    return value;
}

static long count_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    long lines = 0;

    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static void print_memory(void)
{
    printf("%ld %ld %ld\n", value_of("RssAnon:"), value_of("VmSize:"), count_mappings());
}

/* Until the mappings have been the same for a while, or half a minute is over. */
static void rest(void)
{
    long before = -1;
    int calm = 0;

    for (int i = 0; i < RESTS_MAX && calm < CALM_RESTS; i++) {
        long now = count_mappings();
        calm = now == before ? calm + 1 : 0;
        before = now;
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    }
}

static int work_and_return(void *argument)
{
    work(argument);
    return 7;
}

static void run_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, work, NULL))
        exit(3);
    pthread_join(thread, NULL);
}

static void run_c11_thread(void)
{
    thrd_t thread;
    int result;

    if (thrd_create(&thread, work_and_return, NULL) != thrd_success)
        exit(3);
    if (thrd_join(thread, &result) != thrd_success || result != 7)
        exit(4);
}

static void one_by_one(long count, void (*run)(void))
{
    for (long i = 0; i < count; i++) {
        if (i == count / 2) {
            rest();
            print_memory();
        }
        run();
    }
    rest();
}

static void all_at_once(long count)
{
    pthread_t *threads = calloc((size_t)count, sizeof(*threads));
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attributes, work, &barrier))
            exit(3);
    print_memory();
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static void many_names(long count)
{
    char name[32];

    for (long i = 0; i < count; i++) {
        if (i == count / 10)
            print_memory();
        snprintf(name, sizeof(name), "name %ld", i);
        tpagent_begin(name);
        tpagent_end();
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "";
    long count = argc > 2 ? atol(argv[2]) : 0;

    range_count = argc > 3 ? atol(argv[3]) : 1;
    printf("%ld\n", 2 * count * range_count);
    if (!strcmp(how, "sequence"))
        one_by_one(count, run_thread);
    else if (!strcmp(how, "c11"))
        one_by_one(count, run_c11_thread);
    else if (!strcmp(how, "together"))
        all_at_once(count);
    else if (!strcmp(how, "names"))
        many_names(count);
    else
        return 2;
    print_memory();
    return 0;
}
