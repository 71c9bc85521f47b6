/* SPDX-License-Identifier: MIT */
/*
 * Rings, drain, names and their threads, inside one program without a preload: what ThreadSanitizer
 * can look at. Threads come and go while others record, and one still does when the process ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "intern.h"
#include "points.h"
#include "record.h"
#include "scope.h"
#include "source/malloc/malloc.h"
#include "sources.h"

/* The one source that cannot be in a program that ThreadSanitizer looks at. */
const struct tp_source tp_source_malloc = {0};

void tp_malloc_stop_counting(void)
{
}

/* Ours is a raw system call, of which ThreadSanitizer knows nothing: it would mistake what lies at
 * the same address later. */
void __wrap_tp_os_unmap(void *memory, size_t size);

void __wrap_tp_os_unmap(void *memory, size_t size)
{
    munmap(memory, size);
}

static struct tp_scope *scope;

static void *record_some(void *argument)
{
    unsigned long turns = (unsigned long)argument;
    char name[32];

    for (unsigned long i = 0; i < turns; i++) {
        snprintf(name, sizeof(name), "name %lu", i % 100);
        tp_record_begin(TP_EVENT_API_BEGIN, TP_CLASS_API, tp_intern_text(TP_NAME_TEXT, name));
        tp_record_begin(TP_EVENT_NVTX_PUSH, TP_CLASS_NVTX, tp_scope_text(scope, name));
        tp_record_mark(TP_CLASS_API, tp_intern(TP_NAME_TEXT, "mark", 4), 0, 0, 0);
        tp_record_end(TP_EVENT_NVTX_POP, TP_CLASS_NVTX);
        tp_record_end(TP_EVENT_API_END, TP_CLASS_API);
    }
    return NULL;
}

/* Still records when the process ends. */
static void *record_for_ever(void *argument)
{
    for (;;)
        record_some((void *)100);
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t threads[6], brief;

    (void)argc;
    (void)argv;
    scope = tp_scope_create("domain", 6);
    for (int i = 0; i < 6; i++)
        if (pthread_create(&threads[i], NULL, i == 5 ? record_for_ever : record_some,
                           (void *)30000))
            abort();
    /* that a thread is gone the agent knows from the kernel, the sanitizer from a join only */
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 40; i++) {
        if (pthread_create(&brief, NULL, record_some, (void *)50))
            abort();
        pthread_join(brief, NULL);
        usleep(50000);
    }
    return 0;
}
