/* SPDX-License-Identifier: MIT */
#include "model/trace_flows.h"

#include <errno.h>
#include <stdlib.h>

#include "model/id_index.h"
#include "model/work.h"

void tp_trace_flows_fini(struct tp_trace_flows *flows)
{
    free(flows->items);
    *flows = (struct tp_trace_flows){0};
}

static int add_flow(struct tp_trace_flows *flows, uint32_t from, uint32_t to)
{
    if (flows->count == flows->capacity) {
        size_t capacity = flows->capacity ? flows->capacity * 2 : 64;
        struct tp_trace_flow *items = realloc(flows->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        flows->items = items;
        flows->capacity = capacity;
    }
    flows->items[flows->count++] = (struct tp_trace_flow){from, to};
    return 0;
}

/* Ids and the last event that each stands for. */
struct owners {
    struct tp_id_index ids;
    uint32_t *events; /* by the id's number; TP_NO_EVENT none */
    uint32_t capacity;
};

static void owners_fini(struct owners *owners)
{
    tp_id_index_fini(&owners->ids);
    free(owners->events);
}

static uint32_t find_owner(const struct owners *owners, int64_t id)
{
    uint32_t number = id ? tp_id_index_find(&owners->ids, id) : TP_NO_NUMBER;

    return number == TP_NO_NUMBER ? TP_NO_EVENT : owners->events[number];
}

static int set_owner(struct owners *owners, int64_t id, uint32_t event)
{
    uint32_t number;
    int result = tp_id_index_put(&owners->ids, id, &number);

    if (result < 0)
        return result;
    if (number >= owners->capacity) {
        uint32_t capacity = owners->capacity ? owners->capacity * 2 : 256;
        uint32_t *events = realloc(owners->events, capacity * sizeof(*events));
        if (!events)
            return -ENOMEM;
        owners->events = events;
        owners->capacity = capacity;
    }
    owners->events[number] = event;
    return 0;
}

/* ---- launches ---- */

static bool is_call(const struct tp_event_list *list, const struct tp_function_event *event)
{
    return event->flags & TP_EVENT_CALL || tp_work_kind_of_event(list, event) == TP_WORK_CALL;
}

static int find_launchers(struct owners *calls, struct owners *others,
                          const struct tp_event_list *list)
{
    int result = 0;

    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        const struct tp_function_event *event = &list->events[i];
        if (event->device_type == TP_DEVICE_CPU && event->id)
            result = set_owner(is_call(list, event) ? calls : others, event->id, i);
    }
    return result;
}

int tp_trace_flows_launches(struct tp_trace_flows *flows, const struct tp_event_list *list)
{
    struct owners calls = {0}, others = {0};
    int result = find_launchers(&calls, &others, list);

    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        const struct tp_function_event *event = &list->events[i];
        const struct tp_event_details *details = &list->details[i];
        if (event->device_type == TP_DEVICE_CPU || event->flags & TP_EVENT_USER_ANNOTATION)
            continue;
        uint32_t from = find_owner(&calls, event->id);
        if (from == TP_NO_EVENT)
            from = find_owner(&others, details->linked_correlation_id);
        if (from == TP_NO_EVENT)
            from = find_owner(&others, details->external_id);
        if (from != TP_NO_EVENT)
            result = add_flow(flows, from, i);
    }
    owners_fini(&calls);
    owners_fini(&others);
    return result;
}

/* ---- forward and backward ---- */

static int compare_ends(const void *a, const void *b, void *context)
{
    const struct tp_event_list *list = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int order = tp_number_compare(tp_event_get(&list->events[i], TP_EVENT_END),
                                  tp_event_get(&list->events[j], TP_EVENT_END));

    return order ? order : i < j ? -1 : i > j;
}

/* A thread's sequence number as one; who has it is compared again. */
static int64_t key_of(int64_t thread, int64_t sequence_nr)
{
    return (int64_t)((uint64_t)sequence_nr ^ (uint64_t)(thread + 1) * 0x9e3779b97f4a7c15u);
}

static uint32_t find_forward(const struct owners *forward, const struct tp_event_list *list,
                             int64_t thread, int64_t sequence_nr)
{
    uint32_t found = find_owner(forward, key_of(thread, sequence_nr));

    return found != TP_NO_EVENT && list->events[found].thread == thread &&
                   list->events[found].sequence_nr == sequence_nr
               ? found
               : TP_NO_EVENT;
}

static int take_in_turn(struct tp_trace_flows *flows, struct owners *forward,
                        const struct tp_event_list *list, uint32_t i)
{
    const struct tp_function_event *event = &list->events[i];
    bool is_backward = event->flags & TP_EVENT_HAS_FWD_THREAD && event->fwd_thread > 0;
    int64_t thread = is_backward ? event->fwd_thread : event->thread;
    uint32_t before = find_forward(forward, list, thread, event->sequence_nr);

    if (!is_backward) {
        if (before != TP_NO_EVENT &&
            tp_number_compare(tp_event_get(event, TP_EVENT_START),
                              tp_event_get(&list->events[before], TP_EVENT_START)) < 0)
            return 0;
        return set_owner(forward, key_of(thread, event->sequence_nr), i);
    }
    if (before == TP_NO_EVENT)
        return 0;
    int result = set_owner(forward, key_of(thread, event->sequence_nr), TP_NO_EVENT);
    return result ? result : add_flow(flows, before, i);
}

int tp_trace_flows_backward(struct tp_trace_flows *flows, const struct tp_event_list *list)
{
    uint32_t *order = malloc(((size_t)list->count + 1) * sizeof(*order)), count = 0;
    struct owners forward = {0};
    int result = order ? 0 : -ENOMEM;

    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        const struct tp_function_event *event = &list->events[i];
        if (event->device_type == TP_DEVICE_CPU && event->sequence_nr >= 0 &&
            !(event->flags & TP_EVENT_ASYNC))
            order[count++] = i;
    }
    if (count)
        qsort_r(order, count, sizeof(*order), compare_ends, (void *)list);
    for (uint32_t i = 0; !result && i < count; i++)
        result = take_in_turn(flows, &forward, list, order[i]);
    owners_fini(&forward);
    free(order);
    return result;
}
