/* SPDX-License-Identifier: MIT */
/*
 * An ITT stub of our own, which does what the static one does: load the file that
 * INTEL_LIBITTNOTIFY64 names, hand it a list of functions, call through the pointers that it sets.
 * A domain, a string and a counter are made before the collector is there. Declared here once more,
 * apart from the agent's declarations.
 */
#ifndef ITT_STUB_H
#define ITT_STUB_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

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

#define DECLARE(name, result, parameters) static result(*itt_##name) parameters;
FUNCTIONS(DECLARE)

static void null_function(void)
{
}

#define ROW(name, result, parameters)                                                              \
    {"__itt_" #name, (void **)(void *)&itt_##name, NULL, (void *)null_function, 1},
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

#endif
