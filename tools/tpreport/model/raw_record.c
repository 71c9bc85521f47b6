/* SPDX-License-Identifier: MIT */
#include "model/raw_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void tp_raw_record_init(struct tp_raw_record *record)
{
    *record = (struct tp_raw_record){
        .start_thread = 1,
        .end_thread = 1,
        .sequence_nr = -1,
        .name = TP_STRING_EMPTY,
        .overload_name = TP_STRING_EMPTY,
        .input_shapes = TP_STRING_LIST,
        .stack = TP_STACK_EMPTY,
        .cuda_elapsed_us = tp_number_integer(-1),
        .privateuse1_elapsed_us = tp_number_integer(-1),
    };
}

void tp_raw_records_init(struct tp_raw_records *records, struct tp_event_list *list)
{
    *records = (struct tp_raw_records){
        .list = list,
        .first = list->count,
        .names = {.strings = list->strings},
    };
}

void tp_raw_records_fini(struct tp_raw_records *records)
{
    free(records->linked_ids);
    free(records->measured);
    free(records->kept_stacks);
    tp_string_table_fini(&records->names);
    tp_memory_records_fini(&records->memory);
    tp_memory_records_fini(&records->out_of_memory);
    *records = (struct tp_raw_records){0};
}

/* ---- stacks without the profiler's own frames ---- */

static bool is_filtered_frame(const char *frame)
{
    static const char *const pairs[][2] = {
        {"autograd/__init__", "_make_grads"},
        {"autograd/__init__", "backward"},
        {"torch/tensor", "backward"},
        {"tensorplay/tensor", "backward"},
        {"_internal/common_utils", "prof_callable"},
        {"_internal/common_utils", "prof_func_call"},
        {"_internal/common_utils", "prof_meth_call"},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (strstr(frame, pairs[i][0]) && strstr(frame, pairs[i][1]))
            return true;
    }
    return false;
}

static int filter_stack(const struct tp_event_list *list, uint32_t stack, uint32_t *ret_stack)
{
    uint32_t count = tp_stacks_count(list->stacks, stack), kept = 0;
    const uint32_t *frames = tp_stacks_frames(list->stacks, stack);
    uint32_t *copy = malloc(((size_t)count + 1) * sizeof(*copy));

    if (!copy)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_filtered_frame(tp_strings_get(list->strings, frames[i])->bytes))
            copy[kept++] = frames[i];
    }
    *ret_stack = stack;
    int result = kept < count ? tp_stacks_put(list->stacks, copy, kept, ret_stack) : 0;
    free(copy);
    return result;
}

static int find_kept_stack(struct tp_raw_records *records, uint32_t stack, uint32_t *ret_stack)
{
    *ret_stack = stack;
    if (stack == TP_STACK_NONE || stack == TP_STACK_EMPTY)
        return 0;
    if (stack >= records->kept_stack_count) {
        uint32_t count = stack * 2 + 64;
        uint32_t *kept = realloc(records->kept_stacks, count * sizeof(*kept));
        if (!kept)
            return -ENOMEM;
        memset(kept + records->kept_stack_count, 0,
               (count - records->kept_stack_count) * sizeof(*kept));
        records->kept_stacks = kept;
        records->kept_stack_count = count;
    }
    if (!records->kept_stacks[stack]) {
        int result = filter_stack(records->list, stack, ret_stack);
        if (result < 0)
            return result;
        records->kept_stacks[stack] = *ret_stack + 1;
    }
    *ret_stack = records->kept_stacks[stack] - 1;
    return 0;
}

/* ---- one record ---- */

static int add_memory(struct tp_memory_records *memory, const struct tp_raw_record *record)
{
    return tp_memory_records_add(memory, &(struct tp_memory_record){
                                             .start_ns = record->start_ns,
                                             .bytes = record->bytes,
                                             .thread = record->start_thread,
                                             .device_index = record->device_index,
                                             .device_type = record->device_type,
                                         });
}

static int add_measured(struct tp_raw_records *records, const struct tp_raw_record *record)
{
    if (tp_number_sign(record->cuda_elapsed_us) <= 0 &&
        tp_number_sign(record->privateuse1_elapsed_us) <= 0)
        return 0;
    if (records->measured_count == records->measured_capacity) {
        uint32_t capacity = records->measured_capacity ? records->measured_capacity * 2 : 64;
        struct tp_measured_time *measured =
            realloc(records->measured, capacity * sizeof(*measured));
        if (!measured)
            return -ENOMEM;
        records->measured = measured;
        records->measured_capacity = capacity;
    }
    records->measured[records->measured_count++] = (struct tp_measured_time){
        .event = records->list->count - 1,
        .cuda_us = record->cuda_elapsed_us,
        .privateuse1_us = record->privateuse1_elapsed_us,
    };
    return 0;
}

/* The place of the next event's linked id. */
static int reserve_linked(struct tp_raw_records *records)
{
    uint32_t needed = records->list->count - records->first + 1;

    if (needed <= records->linked_capacity)
        return 0;
    uint32_t capacity = records->linked_capacity ? records->linked_capacity * 2 : 256;
    int64_t *linked = realloc(records->linked_ids, capacity * sizeof(*linked));
    if (!linked)
        return -ENOMEM;
    records->linked_ids = linked;
    records->linked_capacity = capacity;
    return 0;
}

static void fill_event(struct tp_function_event *event, const struct tp_raw_record *record,
                       const struct tp_name *name)
{
    tp_function_event_init(event);
    event->numbers[TP_EVENT_START].low = (uint64_t)record->start_ns;
    event->numbers[TP_EVENT_END].low = (uint64_t)record->end_ns;
    if (record->flops)
        tp_event_set(event, TP_EVENT_FLOPS, tp_number_wide((tp_wide)record->flops));
    event->id = record->correlation_id;
    event->thread = record->start_thread;
    event->fwd_thread = record->fwd_thread;
    event->device_resource_id = record->device_resource_id;
    event->sequence_nr = record->sequence_nr;
    event->name = name->key;
    event->trace_name = name->trace_name;
    event->overload_name = record->overload_name;
    event->input_shapes = record->input_shapes;
    event->device_index = record->device_index;
    event->device_type = record->device_type;
    event->scope = record->scope;
    event->flags = TP_EVENT_HAS_FWD_THREAD;
    if (record->is_async || record->start_thread != record->end_thread)
        event->flags |= TP_EVENT_ASYNC;
    if (record->is_user_annotation)
        event->flags |= TP_EVENT_USER_ANNOTATION;
    if (record->is_python_function)
        event->flags |= TP_EVENT_PYTHON_FUNCTION;
    if (record->is_call)
        event->flags |= TP_EVENT_CALL;
    if (record->device_type != TP_DEVICE_CPU && !record->is_user_annotation)
        event->flags |= TP_EVENT_NO_LAUNCH; /* until it is found */
}

int tp_raw_records_append(struct tp_raw_records *records, const struct tp_function_event *event,
                          int64_t linked_id, const struct tp_event_details *details)
{
    struct tp_event_list *list = records->list;
    int result = reserve_linked(records);

    if (!result)
        result = tp_event_list_append(list, event);
    if (result < 0)
        return result;
    records->linked_ids[list->count - 1 - records->first] = linked_id;
    if (list->keeps_details && details)
        list->details[list->count - 1] = *details;
    return 0;
}

static int add_event(struct tp_raw_records *records, const struct tp_raw_record *record,
                     const struct tp_name *name)
{
    struct tp_function_event event;

    fill_event(&event, record, name);
    int result = find_kept_stack(records, record->stack, &event.stack);
    if (!result)
        result =
            tp_raw_records_append(records, &event, record->linked_correlation_id, record->details);
    return result ? result : add_measured(records, record);
}

int tp_raw_records_add(struct tp_raw_records *records, const struct tp_raw_record *record,
                       struct tp_diag *diag)
{
    const struct tp_name *name;

    if (!records->has_start || record->start_ns < records->first_start_ns)
        records->first_start_ns = record->start_ns;
    records->has_start = true;
    int result = tp_string_table_name(&records->names, record->name, &name);
    if (!result && name->kind == TP_NAME_MEMORY)
        result = add_memory(&records->memory, record);
    else if (!result && name->kind == TP_NAME_OUT_OF_MEMORY)
        result = add_memory(&records->out_of_memory, record);
    else if (!result && name->kind == TP_NAME_EVENT && !record->is_hidden) {
        if (record->linked_correlation_id < 0)
            return tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
                                "Got negative correlation id %lld in profiler post processing",
                                (long long)record->linked_correlation_id);
        result = add_event(records, record, name);
    }
    return result < 0 ? tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no room for event %u",
                                     records->list->count)
                      : 0;
}

int tp_raw_records_set_stack(struct tp_raw_records *records, uint32_t event, uint32_t stack)
{
    return find_kept_stack(records, stack, &records->list->events[event].stack);
}

/* ---- leaving some out ---- */

static void retain_memory(struct tp_memory_records *memory,
                          bool (*keep)(void *, const struct tp_function_event *, int64_t,
                                       const struct tp_memory_record *),
                          void *context)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < memory->count; i++) {
        if (keep(context, NULL, 0, &memory->items[i]))
            memory->items[kept++] = memory->items[i];
    }
    memory->count = kept;
}

/* Measured times follow their events. */
static void retain_measured(struct tp_raw_records *records, uint32_t *measured, uint32_t from,
                            uint32_t to, uint32_t *kept)
{
    while (*measured < records->measured_count && records->measured[*measured].event < from)
        ++*measured;
    if (*measured == records->measured_count || records->measured[*measured].event != from)
        return;
    records->measured[*kept] = records->measured[*measured];
    records->measured[(*kept)++].event = to;
}

void tp_raw_records_retain(struct tp_raw_records *records,
                           bool (*keep)(void *context, const struct tp_function_event *event,
                                        int64_t linked_id, const struct tp_memory_record *memory),
                           void *context)
{
    struct tp_event_list *list = records->list;
    uint32_t kept = records->first, measured = 0, kept_measured = 0;

    for (uint32_t i = records->first; i < list->count; i++) {
        if (!keep(context, &list->events[i], records->linked_ids[i - records->first], NULL))
            continue;
        retain_measured(records, &measured, i, kept, &kept_measured);
        list->events[kept] = list->events[i];
        records->linked_ids[kept - records->first] = records->linked_ids[i - records->first];
        if (list->keeps_details)
            list->details[kept] = list->details[i];
        kept++;
    }
    list->count = kept;
    records->measured_count = kept_measured;
    retain_memory(&records->memory, keep, context);
    retain_memory(&records->out_of_memory, keep, context);
}
