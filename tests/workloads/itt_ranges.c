/* SPDX-License-Identifier: MIT */
/*
 * A program with an ITT stub of its own, which does what the static one does: load the file that
 * INTEL_LIBITTNOTIFY64 names, hand it a list of functions, call through the pointers that it sets.
 * A domain, a string and a counter are made before the collector is there. Declared here once more,
 * apart from the agent's declarations.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "itt_stub.h"

static int failures;

#define EXPECT(expression)                                                                         \
    do {                                                                                           \
        if (!(expression)) {                                                                       \
            printf("not so: %s\n", #expression);                                                   \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static const struct id no_id;

static void tasks(struct domain *domain)
{
    struct string_handle *outer = itt_string_handle_create("outer"),
                         *inner = itt_string_handle_create("in\"ner\n");

    EXPECT(domain->flags && !strcmp(domain->nameA, "d"));
    EXPECT(outer != inner && outer == itt_string_handle_create("outer") &&
           domain == itt_domain_create("d"));
    EXPECT(!strcmp(outer->strA, "outer"));
    EXPECT(early_domain.flags);
    itt_task_end(domain); /* no task is open */
    itt_task_begin(domain, no_id, no_id, outer);
    itt_task_begin(&early_domain, no_id, no_id, &early_string);
    itt_task_begin(domain, no_id, no_id, inner);
    itt_task_begin(NULL, no_id, no_id, outer);
    itt_task_begin(domain, no_id, no_id, NULL);
    itt_task_begin_fn(domain, no_id, no_id, (void *)0x1234);
    for (int i = 0; i < 6; i++)
        itt_task_end(domain);
    itt_task_end(domain); /* once too often */
}

static void metadata(struct domain *domain)
{
    struct string_handle *key = itt_string_handle_create("key");
    unsigned long long whole = 1ull << 63;
    int minus = -5, list[3] = {1, -2, 3};
    short small = -7;
    float third = 0.25f, reals[2] = {1.5f, -2.25f};
    double real = 1e-3;

    itt_task_begin(domain, no_id, no_id, itt_string_handle_create("with metadata"));
    itt_metadata_add(domain, no_id, key, 1, 1, &whole);
    itt_metadata_add(domain, no_id, key, 4, 1, &minus);
    itt_metadata_add(domain, no_id, key, 6, 1, &small);
    itt_metadata_add(domain, no_id, key, 7, 1, &third);
    itt_metadata_add(domain, no_id, key, 8, 1, &real);
    itt_metadata_add(domain, no_id, key, 4, 3, list);
    itt_metadata_add(domain, no_id, key, 7, 2, reals);
    itt_metadata_add(domain, no_id, key, 99, 1, &real); /* no such type */
    itt_metadata_add(domain, no_id, key, 1, 1, NULL);
    itt_metadata_str_add(domain, no_id, key, "whole text", 0);
    itt_metadata_str_add(domain, no_id, key, "part of it", 4);
    itt_task_end(domain);
}

static void counters(struct domain *domain)
{
    void *plain = itt_counter_create("plain", "d"),
         *typed = itt_counter_create_typed("typed", NULL, 8);
    double real = -1.5;
    unsigned long long whole = 42;

    EXPECT(plain && typed && plain != typed && plain == itt_counter_create("plain", "d"));
    itt_counter_set_value(plain, &whole);
    itt_counter_inc(plain);
    itt_counter_inc_delta(plain, 10);
    itt_counter_dec(plain);
    itt_counter_set_value(typed, &real);
    itt_counter_set_value(&early_counter, &whole);
    itt_counter_inc_delta_v3(domain, itt_string_handle_create("third way"), 3);
    itt_counter_inc_delta_v3(domain, itt_string_handle_create("third way"), 4);
}

static void *end_elsewhere(void *domain)
{
    itt_task_end_overlapped(domain, (struct id){1, 2, 3});
    return NULL;
}

static void ranges(struct domain *domain)
{
    pthread_t thread;
    struct id id = {1, 2, 3}, frame = {4, 5, 6};
    unsigned long long now = itt_get_timestamp();

    itt_id_create(domain, id);
    itt_task_begin_overlapped(domain, id, no_id, itt_string_handle_create("overlapped"));
    itt_frame_begin_v3(domain, NULL);
    itt_frame_begin_v3(domain, &frame);
    itt_frame_end_v3(domain, NULL);
    itt_frame_end_v3(domain, &frame);
    itt_frame_submit_v3(domain, NULL, now, now + 1000);
    if (pthread_create(&thread, NULL, end_elsewhere, domain))
        abort();
    pthread_join(thread, NULL);
    itt_id_destroy(domain, id);
    itt_marker(domain, no_id, itt_string_handle_create("marker"), 1);
    int event = itt_event_create("event", 5), same = itt_event_create("eventful", 5);
    EXPECT(event && event == same && event != itt_event_create("other", 5));
    itt_event_start(event);
    itt_event_end(event);
    itt_event_start(12345);
    itt_thread_set_name("main thread of ITT");
    itt_pause();
    itt_resume();
    EXPECT((void *)itt_sync_create == (void *)null_function);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (!load_collector()) {
        puts("no collector");
        return 1;
    }
    struct domain *domain = itt_domain_create("d");
    tasks(domain);
    metadata(domain);
    counters(domain);
    ranges(domain);
    void (*fini)(void *) = (void (*)(void *))dlsym(global.lib, "__itt_api_fini");
    EXPECT(fini != NULL);
    if (fini)
        fini(&global);
    if (!failures)
        puts("all answers right");
    return failures != 0;
}
