/* SPDX-License-Identifier: MIT */
/*
 * The agent is an ITT collector. Every object that uses ITT carries a static stub; at its first
 * call the stub loads the file that INTEL_LIBITTNOTIFY64 names and, holding its own lock, calls the
 * function exported here, which sets the pointers that it has an answer for and leaves the others
 * at what does nothing. Once per stub.
 */
#include "source/itt/itt.h"

#include <stdlib.h>
#include <string.h>

#include "self.h"
#include "sources.h"

#define EXPORT __attribute__((visibility("default")))

void __itt_api_init(struct tp_itt_global *global, int groups);
void __itt_api_fini(struct tp_itt_global *global);
const char *__itt_api_version(void);

EXPORT const char *__itt_api_version(void)
{
    return "tpagent " TP_VERSION;
}

static void nothing(void)
{
}

struct handler {
    const char *name;
    void *function;
};

#define HANDLER(name, function)                                                                    \
    {                                                                                              \
        "__itt_" name, (void *)(uintptr_t)(function)                                               \
    }

/* In the order of strcmp. Linux stubs have no A and W forms; a stub that has them finds them. */
static const struct handler handlers[] = {
    HANDLER("api_version", __itt_api_version),
    HANDLER("counter_create", tp_itt_counter_create),
    HANDLER("counter_createA", tp_itt_counter_create),
    HANDLER("counter_create_typed", tp_itt_counter_create_typed),
    HANDLER("counter_create_typedA", tp_itt_counter_create_typed),
    HANDLER("counter_dec", tp_itt_counter_down),
    HANDLER("counter_dec_delta", tp_itt_counter_down_by),
    HANDLER("counter_dec_delta_v3", tp_itt_counter_down_by_v3),
    HANDLER("counter_dec_v3", tp_itt_counter_down_v3),
    HANDLER("counter_destroy", nothing),
    HANDLER("counter_inc", tp_itt_counter_up),
    HANDLER("counter_inc_delta", tp_itt_counter_up_by),
    HANDLER("counter_inc_delta_v3", tp_itt_counter_up_by_v3),
    HANDLER("counter_inc_v3", tp_itt_counter_up_v3),
    HANDLER("counter_set_value", tp_itt_counter_set),
    HANDLER("counter_set_value_ex", tp_itt_counter_set_at),
    HANDLER("domain_create", tp_itt_domain_create),
    HANDLER("domain_createA", tp_itt_domain_create),
    HANDLER("domain_createW", tp_itt_domain_create_wide),
    HANDLER("event_create", tp_itt_event_create),
    HANDLER("event_createA", tp_itt_event_create),
    HANDLER("event_end", tp_itt_event_end),
    HANDLER("event_start", tp_itt_event_start),
    HANDLER("frame_begin_v3", tp_itt_frame_begin),
    HANDLER("frame_end_v3", tp_itt_frame_end),
    HANDLER("frame_submit_v3", tp_itt_frame_submit),
    HANDLER("get_timestamp", tp_itt_timestamp),
    HANDLER("id_create", nothing),
    HANDLER("id_destroy", nothing),
    HANDLER("marker", tp_itt_marker),
    HANDLER("metadata_add", tp_itt_metadata),
    HANDLER("metadata_add_with_scope", tp_itt_metadata_scope),
    HANDLER("metadata_str_add", tp_itt_metadata_text),
    HANDLER("metadata_str_addA", tp_itt_metadata_text),
    HANDLER("metadata_str_add_with_scope", tp_itt_metadata_text_scope),
    HANDLER("metadata_str_add_with_scopeA", tp_itt_metadata_text_scope),
    HANDLER("pause", tp_itt_pause),
    HANDLER("region_begin", tp_itt_range_begin),
    HANDLER("region_end", tp_itt_range_end),
    HANDLER("resume", tp_itt_resume),
    HANDLER("string_handle_create", tp_itt_string_create),
    HANDLER("string_handle_createA", tp_itt_string_create),
    HANDLER("string_handle_createW", tp_itt_string_create_wide),
    HANDLER("task_begin", tp_itt_task_begin),
    HANDLER("task_begin_fn", tp_itt_task_begin_function),
    HANDLER("task_begin_overlapped", tp_itt_range_begin),
    HANDLER("task_end", tp_itt_task_end),
    HANDLER("task_end_overlapped", tp_itt_range_end),
    HANDLER("thread_set_name", tp_itt_thread_name),
    HANDLER("thread_set_nameA", tp_itt_thread_name),
};

static void *find_handler(const char *name)
{
    size_t low = 0, high = sizeof(handlers) / sizeof(handlers[0]);

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(name, handlers[middle].name);
        if (!order)
            return handlers[middle].function;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

EXPORT void __itt_api_init(struct tp_itt_global *global, int groups)
{
    bool on = tp_source_wanted(TP_SOURCE_ITT) && tp_recording();

    (void)groups;
    if (!global || memcmp(global->magic, TP_ITT_MAGIC, 8) || global->build < TP_ITT_BUILD_MIN ||
        !global->functions)
        return;
    for (struct tp_itt_function *f = global->functions; f->name; f++) {
        void *handler = on ? find_handler(f->name) : NULL;
        *f->pointer = handler ? handler : f->null;
    }
    for (struct tp_itt_domain *domain = global->domains; on && domain; domain = domain->next)
        domain->flags = 1; /* made before we were there */
}

/* The stub takes its pointers back itself; what we made stays, for who still holds it. */
EXPORT void __itt_api_fini(struct tp_itt_global *global)
{
    (void)global;
}

static int start(const struct tp_config *config, const char **ret_why)
{
    static char why[512];

    (void)config;
    int error = tp_self_offer("INTEL_LIBITTNOTIFY64", why, sizeof(why));
    *ret_why = error ? why : NULL;
    return error;
}

const struct tp_source tp_source_itt = {.start = start};
