/* SPDX-License-Identifier: MIT
 * Averages of a whole list, with the reference's arithmetic: sums in list order, integers where the
 * input has integers. For streams see averages_stream.c. */
#include "model/averages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/event_list.h"
#include "model/group.h"

void tp_average_of_event(const struct tp_event_list *list, const struct tp_function_event *event,
                         struct tp_average *ret_row)
{
    *ret_row = (struct tp_average){
        .sums = {[TP_MEASURE_CPU_TIME] = tp_event_cpu_time_total(event),
                 [TP_MEASURE_SELF_CPU_TIME] = tp_event_get(event, TP_EVENT_SELF_CPU_TIME),
                 [TP_MEASURE_DEVICE_TIME] = tp_event_get(event, TP_EVENT_DEVICE_TIME),
                 [TP_MEASURE_SELF_DEVICE_TIME] = tp_event_get(event, TP_EVENT_SELF_DEVICE_TIME),
                 [TP_MEASURE_CPU_MEMORY] = tp_event_get(event, TP_EVENT_CPU_MEMORY),
                 [TP_MEASURE_SELF_CPU_MEMORY] = tp_event_get(event, TP_EVENT_SELF_CPU_MEMORY),
                 [TP_MEASURE_DEVICE_MEMORY] = tp_event_get(event, TP_EVENT_DEVICE_MEMORY),
                 [TP_MEASURE_SELF_DEVICE_MEMORY] = tp_event_get(event, TP_EVENT_SELF_DEVICE_MEMORY),
                 [TP_MEASURE_FLOPS] = tp_event_get(event, TP_EVENT_FLOPS),
                 [TP_MEASURE_COUNT] = tp_number_integer(1)},
        .event = event,
        .details = list->keeps_details ? &list->details[event - list->events] : NULL,
        .key = event->name,
        .overload_name = event->overload_name,
        .input_shapes = event->input_shapes,
        .use_device = event->use_device,
        .stack = event->stack,
        .stack_count = tp_stacks_count(list->stacks, event->stack),
        .node_id = event->node_id,
        .flags = event->flags,
        .device_type = event->device_type,
        .scope = event->scope,
    };
}

static void add_sums(struct tp_average *into, const struct tp_average *row)
{
    for (int i = 0; i < TP_MEASURES; i++)
        into->sums[i] = tp_number_add(into->sums[i], row->sums[i]);
}

void tp_average_start(struct tp_average *total)
{
    *total = (struct tp_average){.flags = TP_EVENT_UNSET};
}

void tp_average_total(struct tp_average *total, const struct tp_average *row)
{
    struct tp_average sum = *row;

    for (int i = 0; i < TP_MEASURES; i++)
        sum.sums[i] = tp_number_add(total->sums[i], row->sums[i]);
    sum.event = NULL;
    sum.details = NULL;
    sum.key = total->key;
    sum.flags &= (uint16_t)~TP_EVENT_NO_FLOPS;
    *total = sum;
}

/* Rows grow with the groups. */
struct rows {
    struct tp_average *items;
    struct tp_spread *spreads; /* NULL: nobody wants them */
    size_t capacity;
};

static int rows_reserve(struct rows *rows, size_t count)
{
    if (count <= rows->capacity)
        return 0;
    size_t capacity = rows->capacity ? rows->capacity * 2 : 64;
    struct tp_average *items = realloc(rows->items, capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    rows->items = items;
    if (rows->spreads) {
        struct tp_spread *spreads = realloc(rows->spreads, capacity * sizeof(*spreads));
        if (!spreads)
            return -ENOMEM;
        memset(spreads + rows->capacity, 0, (capacity - rows->capacity) * sizeof(*spreads));
        rows->spreads = spreads;
    }
    rows->capacity = capacity;
    return 0;
}

static int add_length(struct tp_spread *spread, const struct tp_average *event)
{
    bool host = event->device_type == TP_DEVICE_CPU;

    return tp_spread_add(
        spread, 1e3 * tp_number_to_double(
                          event->sums[host ? TP_MEASURE_CPU_TIME : TP_MEASURE_DEVICE_TIME]));
}

/* Rows of @count groups have them then. */
static int finish_spreads(struct rows *rows, size_t count, int result)
{
    for (size_t i = 0; rows->spreads && i < rows->capacity; i++) {
        if (!result && i < count)
            result = tp_spread_values(&rows->spreads[i], &rows->items[i].spread);
        tp_spread_fini(&rows->spreads[i]);
    }
    free(rows->spreads);
    return result;
}

static int start_group(struct tp_grouping *grouping, const struct tp_average *first,
                       struct tp_average *ret_row)
{
    *ret_row = *first;
    for (int i = 0; i < TP_MEASURES; i++)
        ret_row->sums[i] = tp_number_integer(0);
    ret_row->event = NULL;
    ret_row->details = NULL;
    ret_row->flags &= (uint16_t)~TP_EVENT_NO_FLOPS;
    if (!grouping->options.group_by_input_shapes)
        ret_row->input_shapes = TP_STRING_EMPTY;
    if (!grouping->options.group_by_overload_name)
        ret_row->overload_name = TP_STRING_EMPTY;
    return tp_grouping_stack(grouping, first->stack, &ret_row->stack, &ret_row->stack_count);
}

static int add_event(struct tp_grouping *grouping, struct rows *rows,
                     const struct tp_average *event)
{
    struct tp_group_fields fields = {
        .name = event->key,
        .overload_name = event->overload_name,
        .input_shapes = event->input_shapes,
        .stack = event->stack,
        .node_id = event->node_id,
        .flags = event->flags,
        .device_type = event->device_type,
    };
    uint32_t number;

    int result = tp_grouping_find(grouping, &fields, &number);
    if (result > 0) {
        result = rows_reserve(rows, (size_t)number + 1);
        if (!result)
            result = start_group(grouping, event, &rows->items[number]);
    }
    if (result)
        return result;
    add_sums(&rows->items[number], event);
    return rows->spreads ? add_length(&rows->spreads[number], event) : 0;
}

int tp_key_averages(const struct tp_event_list *list, const struct tp_averages_options *options,
                    struct tp_average **ret_rows, size_t *ret_count)
{
    struct tp_grouping grouping;
    struct rows rows = {0};
    struct tp_average event;
    int result = 0;

    tp_grouping_init(&grouping, list->stacks, options);
    if (options->percentiles && !(rows.spreads = calloc(1, sizeof(*rows.spreads))))
        result = -ENOMEM;
    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        if (list->events[i].flags & TP_EVENT_PYTHON_FUNCTION && !options->include_python_functions)
            continue;
        tp_average_of_event(list, &list->events[i], &event);
        result = add_event(&grouping, &rows, &event);
    }
    result = finish_spreads(&rows, grouping.groups.count, result);
    if (!result) {
        *ret_rows = rows.items;
        *ret_count = grouping.groups.count;
    } else {
        free(rows.items);
    }
    tp_grouping_fini(&grouping);
    return result;
}
