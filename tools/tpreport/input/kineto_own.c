/* SPDX-License-Identifier: MIT
 * Traces that tpreport itself has written (view/kineto.c). They are Kineto traces for everybody;
 * for us each entry that stands for an event has an object "tpreport" besides, with what the other
 * keys do not tell or tell differently. Such an event is taken as it is, in the order of the file:
 * nothing is joined, credited or sorted again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/kineto.h"
#include "input/kineto_json.h"
#include "model/trace_rows.h"
#include "model/tree.h"

static bool has(const struct tp_kineto_entry *entry, enum tp_kineto_key key)
{
    return entry->seen >> key & 1;
}

static int fail(struct tp_diag *diag, int code)
{
    return tp_diag_fail(diag, code, TP_DIAG_NO_OFFSET, "no memory for an entry");
}

/* ---- entries that are no events ---- */

int tp_kineto_mark(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    struct tp_event_list *list = kineto->records.list;
    struct tp_trace_mark mark = {
        .ts_ns = entry->ts_ns,
        .duration_ns = entry->duration_ns,
        .name = entry->name,
        .category = entry->category_name,
        .id = entry->flow_text,
        .phase = entry->phase,
        .scope = entry->scope,
        .binding = entry->binding,
        .has_ts = has(entry, TP_KINETO_TS),
    };

    if (!list->trace || !entry->phase || tp_kineto_is_other_process(kineto, TP_KINETO_IS_CPU_OP))
        return 0;
    int result = tp_kineto_place_json(kineto, &entry->pid, &mark.pid);
    if (!result)
        result = tp_kineto_place_json(kineto, &entry->tid, &mark.tid);
    if (!result)
        result = tp_kineto_arguments(kineto, &mark.args);
    if (!result)
        result = tp_trace_context_mark(list->trace, &mark);
    return result < 0 ? fail(diag, result) : 0;
}

/* ---- events ---- */

static enum tp_kineto_kind kind_of(const struct tp_kineto_entry *entry)
{
    return entry->category ? entry->category->kind : TP_KINETO_IS_CPU_OP;
}

static int32_t small(int64_t number)
{
    return number >= INT32_MIN && number <= INT32_MAX ? (int32_t)number : 0;
}

static void fill_device(const struct tp_kineto_entry *entry, struct tp_function_event *event)
{
    const struct tp_kineto_place *device = entry->device.is_there ? &entry->device : &entry->pid;
    const struct tp_kineto_place *stream = entry->stream.is_there ? &entry->stream : &entry->tid;

    event->device_type = TP_DEVICE_CUDA;
    event->device_index = small(device->number);
    event->device_resource_id = stream->number;
}

/* What the usual keys tell of it. */
static int fill_event(struct tp_kineto *kineto, struct tp_function_event *event)
{
    static const char step[] = "ProfilerStep#";
    const struct tp_kineto_entry *entry = &kineto->entry;
    struct tp_strings *strings = kineto->records.list->strings;
    enum tp_kineto_kind kind = kind_of(entry);
    bool is_remote;
    int result = 0;

    tp_function_event_init(event);
    event->name = event->trace_name = entry->name;
    if (!strncmp(tp_strings_get(strings, entry->name)->bytes, step, sizeof(step) - 1))
        result = tp_strings_put(strings, "ProfilerStep*", 13, &event->name);
    event->thread = tp_kineto_thread_of(strings, &entry->tid, &is_remote);
    event->device_resource_id = event->thread;
    event->id = kind == TP_KINETO_IS_CALL || kind == TP_KINETO_IS_DEVICE ? entry->correlation
                                                                         : entry->external_id;
    event->sequence_nr = entry->sequence_nr;
    event->fwd_thread = entry->fwd_thread;
    event->use_device = kineto->use_device;
    event->flags |= TP_EVENT_HAS_FWD_THREAD;
    if (!kineto->has_flops)
        event->flags |= TP_EVENT_NO_FLOPS;
    if (kind == TP_KINETO_IS_ANNOTATION || kind == TP_KINETO_IS_DEVICE_ANNOTATION)
        event->flags |= TP_EVENT_USER_ANNOTATION;
    if (kind == TP_KINETO_IS_ANNOTATION)
        event->scope = TP_SCOPE_USER;
    if (kind == TP_KINETO_IS_PYTHON)
        event->flags |= TP_EVENT_PYTHON_FUNCTION;
    if (kind == TP_KINETO_IS_CALL)
        event->flags |= TP_EVENT_CALL;
    if (kind >= TP_KINETO_IS_DEVICE)
        fill_device(entry, event);
    int64_t end_ns = (int64_t)((uint64_t)entry->ts_ns + (uint64_t)entry->duration_ns);
    tp_event_set(event, TP_EVENT_START, tp_number_real((double)entry->ts_ns / 1000.0));
    tp_event_set(event, TP_EVENT_END, tp_number_real((double)end_ns / 1000.0));
    return result ? result : tp_kineto_take_shapes(kineto, &event->input_shapes);
}

/* Asked for, and not in the file. */
static int count_flops(struct tp_kineto *kineto, struct tp_function_event *event)
{
    uint64_t flops = 0;

    if (!kineto->records.list->with_flops || kineto->with_flops ||
        kind_of(&kineto->entry) != TP_KINETO_IS_CPU_OP)
        return 0;
    int result = tp_kineto_take_flops(kineto, event->name, &flops);
    if (flops)
        tp_event_set(event, TP_EVENT_FLOPS, tp_number_wide((tp_wide)flops));
    return result;
}

static int append_event(struct tp_kineto *kineto, const struct tp_function_event *event)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    struct tp_event_list *list = kineto->records.list;
    enum tp_kineto_kind kind = kind_of(entry);
    struct tp_event_details details;
    bool is_linked = kind == TP_KINETO_IS_CALL || kind == TP_KINETO_IS_DEVICE;
    int result = 0;

    if (list->keeps_details) {
        result = tp_kineto_take_details(
            kineto, entry->category ? entry->category->activity : "cpu_op", &details);
        details.linked_correlation_id = is_linked ? entry->external_id : 0;
    }
    if (!result)
        result = tp_raw_records_append(&kineto->records, event, is_linked ? entry->external_id : 0,
                                       list->keeps_details ? &details : NULL);
    for (size_t i = 0; !result && i < kineto->own.kernel_count; i++)
        result = tp_event_list_append_kernel(list, &kineto->own.kernels[i]);
    return result;
}

static bool wants_stacks(const struct tp_kineto *kineto)
{
    enum tp_stacks_wanted wanted = kineto->records.list->stacks_wanted;

    return kineto->has_derived_stacks ? wanted == TP_STACKS_DERIVED : wanted != TP_STACKS_DROPPED;
}

static int use_event(struct tp_kineto *kineto)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    enum tp_kineto_kind kind = kind_of(entry);
    struct tp_function_event event;
    int result = 0;

    if (kind == TP_KINETO_IS_ANNOTATION)
        result = tp_kineto_remember_step(kineto);
    if (result < 0 || tp_kineto_is_other_process(kineto, kind))
        return result;
    result = fill_event(kineto, &event);
    if (!result)
        result = count_flops(kineto, &event);
    if (result < 0)
        return result;
    tp_json_event_apply(&kineto->own, &event);
    if (!wants_stacks(kineto))
        event.stack = TP_STACK_EMPTY;
    if (event.device_type == TP_DEVICE_CPU &&
        !tp_json_event_has(&kineto->own, "device_resource_id"))
        event.device_resource_id = kineto->resource_is_thread ? event.thread : 0;
    if (kineto->is_nested && event.parent != TP_NO_EVENT)
        event.parent += kineto->records.first;
    if (!kineto->is_nested)
        event.parent = TP_NO_EVENT;
    if (kind != TP_KINETO_IS_CALL && kind < TP_KINETO_IS_DEVICE && entry->external_id)
        result = tp_kineto_remember_op(kineto, event.thread);
    return result ? result : append_event(kineto, &event);
}

int tp_kineto_own_entry(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_kineto_entry *entry = &kineto->entry;
    int result = 0;

    if (entry->phase == 'M')
        result = tp_kineto_remember_thread(kineto, diag);
    if (result < 0 || !entry->has_own)
        return result < 0 ? result : tp_kineto_mark(kineto, diag);
    if (!has(entry, TP_KINETO_TS)) {
        kineto->undated++;
        return 0;
    }
    result = use_event(kineto);
    return result < 0 ? fail(diag, result) : 0;
}

/* ---- averages ---- */

static int64_t integer_of(const struct tp_function_event *event, enum tp_event_number n)
{
    return tp_number_truncate(tp_event_get(event, n));
}

static int average_event(const struct tp_event_list *list, uint32_t index,
                         struct tp_averages *averages)
{
    const struct tp_function_event *event = &list->events[index];

    return tp_averages_add(
        averages, &(struct tp_average_event){
                      .name = event->name,
                      .overload_name = event->overload_name,
                      .input_shapes = event->input_shapes,
                      .stack = event->stack,
                      .use_device = event->use_device,
                      .node_id = event->node_id,
                      .flags = event->flags,
                      .device_type = event->device_type,
                      .scope = event->scope,
                      .start_ns = tp_trace_event_ns(event, TP_EVENT_START),
                      .end_ns = tp_trace_event_ns(event, TP_EVENT_END),
                      .sequence = index,
                      .cpu_total_ns = tp_trace_ns(tp_event_cpu_time_total(event)),
                      .cpu_self_ns = tp_trace_event_ns(event, TP_EVENT_SELF_CPU_TIME),
                      .device_total_ns = tp_trace_event_ns(event, TP_EVENT_DEVICE_TIME),
                      .device_self_ns = tp_trace_event_ns(event, TP_EVENT_SELF_DEVICE_TIME),
                      .cpu_memory = integer_of(event, TP_EVENT_CPU_MEMORY),
                      .cpu_memory_self = integer_of(event, TP_EVENT_SELF_CPU_MEMORY),
                      .device_memory = integer_of(event, TP_EVENT_DEVICE_MEMORY),
                      .device_memory_self = integer_of(event, TP_EVENT_SELF_DEVICE_MEMORY),
                      .flops = integer_of(event, TP_EVENT_FLOPS),
                      .count = 1,
                  });
}

static int average_list(struct tp_event_list *list, struct tp_stacks *stacks,
                        const struct tp_averages_options *options, struct tp_averages **ret,
                        struct tp_diag *diag)
{
    int result = tp_tree_build(list, diag);

    if (!result)
        result = tp_tree_times(list, diag);
    if (result < 0)
        return result;
    result = tp_averages_create(stacks, options, ret);
    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1))
        result = average_event(list, i, *ret);
    return result < 0 ? fail(diag, result) : 0;
}

/* To the nanosecond, as a recording is averaged. */
static int read_averages(struct tp_input *input, struct tp_strings *strings,
                         struct tp_stacks *stacks, const struct tp_averages_options *options,
                         struct tp_input_averages *ret, struct tp_diag *diag)
{
    struct tp_event_list list;

    tp_event_list_init(&list, strings, stacks);
    int result = tp_input_kineto_json.read_list(input, &list, diag);
    if (!result)
        result = average_list(&list, stacks, options, &ret->averages, diag);
    ret->use_device = list.use_device;
    ret->profile_memory = list.profile_memory;
    ret->with_flops = list.with_flops;
    tp_event_list_fini(&list);
    return result;
}

static int read_list(struct tp_input *input, struct tp_event_list *list, struct tp_diag *diag)
{
    return tp_input_kineto_json.read_list(input, list, diag);
}

static int probe(const struct tp_input *input)
{
    static const char sign[] = "\"tpreport\": {\"version\": 1, \"is_nested\": 1";

    return !input->is_directory &&
                   memmem(input->head, input->head_size, sign, sizeof(sign) - 1) != NULL
               ? 96
               : 0;
}

const struct tp_input_kind tp_input_exported_recording = {
    .name = "exported-recording",
    .help = "a trace that tpreport has made of a recording",
    .probe = probe,
    .read_list = read_list,
    .read_averages = read_averages,
};

/* ---- leaving some out ---- */

int tp_kineto_own_retain(struct tp_kineto *kineto,
                         bool (*keep)(void *context, const struct tp_function_event *event,
                                      int64_t linked_id, const struct tp_memory_record *memory),
                         void *context)
{
    struct tp_raw_records *records = &kineto->records;
    struct tp_event_list *list = records->list;
    uint32_t first = records->first, count = list->count - first, kept = 0;
    uint32_t *places =
        malloc(((size_t)count + 1) * sizeof(*places)); /* where each is, or its parent */

    if (!places)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct tp_function_event *event = &list->events[first + i];
        uint32_t parent = event->parent == TP_NO_EVENT ? TP_NO_EVENT : event->parent - first;
        parent = parent < i ? places[parent] : TP_NO_EVENT;
        places[i] = parent;
        if (!keep(context, event, records->linked_ids[i], NULL))
            continue;
        places[i] = first + kept;
        event->parent = parent;
        list->events[first + kept] = *event;
        if (list->keeps_details)
            list->details[first + kept] = list->details[first + i];
        kept++;
    }
    list->count = first + kept;
    free(places);
    return 0;
}
