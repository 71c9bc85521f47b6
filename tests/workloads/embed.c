/* SPDX-License-Identifier: MIT */
/*
 * An interpreter that is loaded while the program runs: embed LIBPYTHON CODE. It allocates before,
 * inside and, when the library is unloaded, after it; on other threads, too, where THREADS is set,
 * one beside the interpreter and some while the library goes.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tpagent.h"

static void take(int count)
{
    for (int i = 0; i < count; i++) {
        void *volatile kept = malloc(50);
        free(kept);
    }
}

static void *take_many(void *unused)
{
    take(100000);
    return unused;
}

#define LATE 3

static _Atomic int late;
static _Atomic bool is_over;

static void *take_on(void *unused)
{
    late++;
    while (!is_over)
        take(10);
    return unused;
}

static void find(void *library, void *ret_function, const char *name)
{
    void *address = dlsym(library, name);

    if (!address)
        exit(3);
    memcpy(ret_function, &address, sizeof(address));
}

int main(int argc, char **argv)
{
    void (*begin)(int);
    int (*end)(void), (*run)(const char *, void *);
    pthread_t thread, others[LATE];

    if (argc < 3)
        return 2;
    tpagent_begin("work");
    take(100);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    find(library, &begin, "Py_InitializeEx");
    find(library, &run, "PyRun_SimpleStringFlags");
    find(library, &end, "Py_FinalizeEx");
    begin(0);
    if (getenv("THREADS") && pthread_create(&thread, NULL, take_many, NULL))
        return 3;
    int result = run(argv[2], NULL);
    result |= end();
    for (int i = 0; getenv("THREADS") && i < LATE; i++)
        if (pthread_create(&others[i], NULL, take_on, NULL))
            return 3;
    while (getenv("THREADS") && late < LATE)
        ;
    dlclose(library);
    take(1000);
    is_over = true;
    for (int i = 0; getenv("THREADS") && i < LATE; i++)
        pthread_join(others[i], NULL);
    if (getenv("THREADS"))
        pthread_join(thread, NULL);
    tpagent_end();
    return result ? 1 : 0;
}
