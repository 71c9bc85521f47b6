/* SPDX-License-Identifier: MIT */
#include "model/work.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

struct tp_number tp_work_ns(struct tp_number us)
{
    if (!us.is_real)
        return tp_number_wide(tp_number_to_wide(us) * 1000);
    double ns = us.bits.real * 1000.0, whole = round(ns);
    if (fabs(ns - whole) <= 0.002 && fabs(whole) < 0x1p62)
        return tp_number_integer((int64_t)whole);
    return tp_number_real(ns);
}

static bool begins_with(const struct tp_string *name, const char *prefix)
{
    size_t size = strlen(prefix);

    return name->size >= size && !memcmp(name->bytes, prefix, size);
}

/* A function of a runtime or driver: its prefix, then a capital letter. */
static bool is_call(const struct tp_string *name)
{
    static const char *const prefixes[] = {"cuda", "cu", "hip", "ze", "urEnqueue", "aclrt"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t size = strlen(prefixes[i]);
        if (begins_with(name, prefixes[i]) && name->size > size &&
            isupper((unsigned char)name->bytes[size]))
            return true;
    }
    return false;
}

static bool is_wait(const struct tp_string *name)
{
    static const char *const names[] = {"Context Sync", "Stream Sync", "Event Sync",
                                        "Stream Wait Event"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (begins_with(name, names[i]))
            return true;
    }
    return false;
}

enum tp_work_kind tp_work_kind_of_device_work(const struct tp_string *name)
{
    if (is_wait(name))
        return TP_WORK_WAIT;
    if (begins_with(name, "Memcpy") || begins_with(name, "Memset"))
        return TP_WORK_COPY;
    return TP_WORK_KERNEL;
}

enum tp_work_kind tp_work_kind_of_event(const struct tp_event_list *list,
                                        const struct tp_function_event *event)
{
    const struct tp_string *name = tp_strings_get(list->strings, event->name);

    if (event->device_type == TP_DEVICE_CPU)
        return is_call(name) ? TP_WORK_CALL : TP_WORK_OPERATOR;
    return event->flags & TP_EVENT_USER_ANNOTATION ? TP_WORK_WAIT
                                                   : tp_work_kind_of_device_work(name);
}

static void fill_work(const struct tp_event_list *list, const struct tp_function_event *event,
                      struct tp_work *ret_work)
{
    *ret_work = (struct tp_work){
        .kind = tp_work_kind_of_event(list, event),
        .name = event->name,
        .ns = {[TP_MEASURE_CPU_TIME] = tp_work_ns(tp_event_cpu_time_total(event)),
               [TP_MEASURE_SELF_CPU_TIME] = tp_work_ns(tp_event_get(event, TP_EVENT_SELF_CPU_TIME)),
               [TP_MEASURE_DEVICE_TIME] = tp_work_ns(tp_event_get(event, TP_EVENT_DEVICE_TIME)),
               [TP_MEASURE_SELF_DEVICE_TIME] =
                   tp_work_ns(tp_event_get(event, TP_EVENT_SELF_DEVICE_TIME))},
        .known = (1u << TP_WORK_TIMES) - 1,
        .has_span = true,
        .start_ns = tp_work_ns(tp_event_get(event, TP_EVENT_START)),
        .end_ns = tp_work_ns(tp_event_get(event, TP_EVENT_END)),
        .device = event->device_index,
        .stream = event->device_resource_id,
        .occupancy = -1,
        .event = event,
    };
    const struct tp_event_launch *launch =
        event->device_type == TP_DEVICE_CPU && !(event->flags & TP_EVENT_CALL)
            ? NULL
            : tp_event_list_launch(list, (uint32_t)(event - list->events));
    if (launch) {
        ret_work->launched = launch->kernel;
        ret_work->geometry = launch->geometry;
        ret_work->occupancy = launch->occupancy;
        ret_work->captured_in = launch->captured_in;
    }
}

/* A kernel of which nothing but its launch is known. */
static int take_launched(const struct tp_work *call, struct tp_work_sink *sink)
{
    struct tp_work kernel = {.kind = TP_WORK_KERNEL,
                             .name = call->launched,
                             .launched = call->launched,
                             .geometry = call->geometry,
                             .occupancy = -1,
                             .event = call->event};

    return sink->take(sink, &kernel);
}

int tp_work_of_list(const struct tp_event_list *list, uint32_t first, uint32_t end,
                    struct tp_work_sink *sink)
{
    struct tp_work work;
    int result = 0;

    for (uint32_t i = tp_event_list_next(list, first); !result && i < end;
         i = tp_event_list_next(list, i + 1)) {
        fill_work(list, &list->events[i], &work);
        result = sink->take(sink, &work);
        if (!result && work.launched != TP_STRING_NONE)
            result = take_launched(&work, sink);
    }
    return result;
}
