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

struct api_info {
    const char *name;
    void **func_ptr;
    void *init_func;
    void *null_func;
    int group;
};

struct domain {
    volatile int flags;
    const char *nameA;
    void *nameW;
    int extra1;
    void *extra2;
    struct domain *next;
};

struct string_handle {
    const char *strA;
    void *strW;
    int extra1;
    void *extra2;
    struct string_handle *next;
};

struct counter_info {
    const char *nameA;
    void *nameW;
    const char *domainA;
    void *domainW;
    int type;
    long index;
    int extra1;
    void *extra2;
    struct counter_info *next;
};

struct id {
    unsigned long long d1, d2, d3;
};

static int failures;

#define EXPECT(expression)                                                                         \
    do {                                                                                           \
        if (!(expression)) {                                                                       \
            printf("not so: %s\n", #expression);                                                   \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* FUNCTION(name, result, parameters): pointers like the stub's */
#define FUNCTIONS(F)                                                                               \
    F(domain_create, struct domain *, (const char *))                                              \
    F(string_handle_create, struct string_handle *, (const char *))                                \
    F(task_begin, void, (const struct domain *, struct id, struct id, struct string_handle *))     \
    F(task_begin_fn, void, (const struct domain *, struct id, struct id, void *))                  \
    F(task_end, void, (const struct domain *))                                                     \
    F(task_begin_overlapped, void,                                                                 \
      (const struct domain *, struct id, struct id, struct string_handle *))                       \
    F(task_end_overlapped, void, (const struct domain *, struct id))                               \
    F(id_create, void, (const struct domain *, struct id))                                         \
    F(id_destroy, void, (const struct domain *, struct id))                                        \
    F(metadata_add, void,                                                                          \
      (const struct domain *, struct id, struct string_handle *, int, size_t, void *))             \
    F(metadata_str_add, void,                                                                      \
      (const struct domain *, struct id, struct string_handle *, const char *, size_t))            \
    F(marker, void, (const struct domain *, struct id, struct string_handle *, int))               \
    F(frame_begin_v3, void, (const struct domain *, struct id *))                                  \
    F(frame_end_v3, void, (const struct domain *, struct id *))                                    \
    F(frame_submit_v3, void,                                                                       \
      (const struct domain *, struct id *, unsigned long long, unsigned long long))                \
    F(get_timestamp, unsigned long long, (void))                                                   \
    F(counter_create, void *, (const char *, const char *))                                        \
    F(counter_create_typed, void *, (const char *, const char *, int))                             \
    F(counter_set_value, void, (void *, void *))                                                   \
    F(counter_inc, void, (void *))                                                                 \
    F(counter_inc_delta, void, (void *, unsigned long long))                                       \
    F(counter_dec, void, (void *))                                                                 \
    F(counter_inc_delta_v3, void,                                                                  \
      (const struct domain *, struct string_handle *, unsigned long long))                         \
    F(thread_set_name, void, (const char *))                                                       \
    F(event_create, int, (const char *, int))                                                      \
    F(event_start, int, (int))                                                                     \
    F(event_end, int, (int))                                                                       \
    F(pause, void, (void))                                                                         \
    F(resume, void, (void))                                                                        \
    F(sync_create, void, (void *, const char *, const char *, int))

#define DECLARE(name, result, parameters) static result(*name) parameters;
FUNCTIONS(DECLARE)

static void null_function(void)
{
}

#define ROW(name, result, parameters)                                                              \
    {"__itt_" #name, (void **)(void *)&name, NULL, (void *)null_function, 1},
static struct api_info api_list[] = {FUNCTIONS(ROW){NULL, NULL, NULL, NULL, 0}};

static struct domain early_domain = {.nameA = "early"};
static struct string_handle early_string = {.strA = "made before"};
static struct counter_info early_counter = {
    .nameA = "early counter", .type = 1, .extra1 = 77, .extra2 = (void *)99};

static struct {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long api_initialized, mutex_initialized, atomic_counter;
    pthread_mutex_t mutex;
    void *lib;
    void *error_handler;
    const char **dll_path_ptr;
    struct api_info *api_list_ptr;
    void *next;
    void *thread_list;
    struct domain *domain_list;
    struct string_handle *string_list;
    int state;
    struct counter_info *counter_list;
    unsigned int ipt_collect_events;
    void *histogram_list;
} global = {
    .magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
    .version_major = 3,
    .version_minor = 26,
    .version_build = 20180723,
    .mutex_initialized = 1,
    .mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    .api_list_ptr = api_list,
    .domain_list = &early_domain,
    .string_list = &early_string,
    .counter_list = &early_counter,
};

static int load_collector(void)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");

    global.lib = path ? dlopen(path, RTLD_LAZY) : NULL;
    void (*init)(void *, int) =
        global.lib ? (void (*)(void *, int))dlsym(global.lib, "__itt_api_init") : NULL;
    if (!init)
        return 0;
    pthread_mutex_lock(&global.mutex);
    init(&global, 0x7fffffff);
    global.api_initialized = 1;
    pthread_mutex_unlock(&global.mutex);
    return 1;
}

static const struct id no_id;

static void tasks(struct domain *domain)
{
    struct string_handle *outer = string_handle_create("outer"),
                         *inner = string_handle_create("in\"ner\n");

    EXPECT(domain->flags && !strcmp(domain->nameA, "d"));
    EXPECT(outer != inner && outer == string_handle_create("outer") &&
           domain == domain_create("d"));
    EXPECT(!strcmp(outer->strA, "outer"));
    EXPECT(early_domain.flags);
    task_end(domain); /* no task is open */
    task_begin(domain, no_id, no_id, outer);
    task_begin(&early_domain, no_id, no_id, &early_string);
    task_begin(domain, no_id, no_id, inner);
    task_begin(NULL, no_id, no_id, outer);
    task_begin(domain, no_id, no_id, NULL);
    task_begin_fn(domain, no_id, no_id, (void *)0x1234);
    for (int i = 0; i < 6; i++)
        task_end(domain);
    task_end(domain); /* once too often */
}

static void metadata(struct domain *domain)
{
    struct string_handle *key = string_handle_create("key");
    unsigned long long whole = 1ull << 63;
    int minus = -5, list[3] = {1, -2, 3};
    short small = -7;
    float third = 0.25f, reals[2] = {1.5f, -2.25f};
    double real = 1e-3;

    task_begin(domain, no_id, no_id, string_handle_create("with metadata"));
    metadata_add(domain, no_id, key, 1, 1, &whole);
    metadata_add(domain, no_id, key, 4, 1, &minus);
    metadata_add(domain, no_id, key, 6, 1, &small);
    metadata_add(domain, no_id, key, 7, 1, &third);
    metadata_add(domain, no_id, key, 8, 1, &real);
    metadata_add(domain, no_id, key, 4, 3, list);
    metadata_add(domain, no_id, key, 7, 2, reals);
    metadata_add(domain, no_id, key, 99, 1, &real); /* no such type */
    metadata_add(domain, no_id, key, 1, 1, NULL);
    metadata_str_add(domain, no_id, key, "whole text", 0);
    metadata_str_add(domain, no_id, key, "part of it", 4);
    task_end(domain);
}

static void counters(struct domain *domain)
{
    void *plain = counter_create("plain", "d"), *typed = counter_create_typed("typed", NULL, 8);
    double real = -1.5;
    unsigned long long whole = 42;

    EXPECT(plain && typed && plain != typed && plain == counter_create("plain", "d"));
    counter_set_value(plain, &whole);
    counter_inc(plain);
    counter_inc_delta(plain, 10);
    counter_dec(plain);
    counter_set_value(typed, &real);
    counter_set_value(&early_counter, &whole);
    counter_inc_delta_v3(domain, string_handle_create("third way"), 3);
    counter_inc_delta_v3(domain, string_handle_create("third way"), 4);
}

static void *end_elsewhere(void *domain)
{
    task_end_overlapped(domain, (struct id){1, 2, 3});
    return NULL;
}

static void ranges(struct domain *domain)
{
    pthread_t thread;
    struct id id = {1, 2, 3}, frame = {4, 5, 6};
    unsigned long long now = get_timestamp();

    id_create(domain, id);
    task_begin_overlapped(domain, id, no_id, string_handle_create("overlapped"));
    frame_begin_v3(domain, NULL);
    frame_begin_v3(domain, &frame);
    frame_end_v3(domain, NULL);
    frame_end_v3(domain, &frame);
    frame_submit_v3(domain, NULL, now, now + 1000);
    if (pthread_create(&thread, NULL, end_elsewhere, domain))
        abort();
    pthread_join(thread, NULL);
    id_destroy(domain, id);
    marker(domain, no_id, string_handle_create("marker"), 1);
    int event = event_create("event", 5), same = event_create("eventful", 5);
    EXPECT(event && event == same && event != event_create("other", 5));
    event_start(event);
    event_end(event);
    event_start(12345);
    thread_set_name("main thread of ITT");
    pause();
    resume();
    EXPECT((void *)sync_create == (void *)null_function);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (!load_collector()) {
        puts("no collector");
        return 1;
    }
    struct domain *domain = domain_create("d");
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
