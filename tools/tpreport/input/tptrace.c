/* SPDX-License-Identifier: MIT */
#include "input/tptrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/function_event.h"

#define TROUBLES_KEPT 8 /* texts per process that a report's head may show */

enum { SCOPE_USER = 7 };

/* ---- ranges as events ---- */

int32_t tptrace_node_of(const struct tptrace_source *source, enum tp_by by)
{
    if (by == TP_BY_RANK)
        return (int32_t)source->process->meta.rank;
    return by == TP_BY_PROCESS ? (int32_t)source->process->meta.pid : -1;
}

static inline __attribute__((always_inline)) void fill_event(struct tptrace_event *event,
                                                             const struct tptrace_source *source,
                                                             const struct tp_stream_name *name,
                                                             const uint64_t *record)
{
    bool op = tp_slot_kind(record) == TP_EVENT_OP_BEGIN;
    uint8_t scope = op ? (uint8_t)record[7] : name->annotation ? SCOPE_USER : 0;

    event->name = name->name;
    event->trace_name = name->trace_name;
    event->overload_name = name->overload_name;
    event->input_shapes = op ? tptrace_names_shapes(source->names, (uint32_t)record[6])
                          : name->input_shapes ? name->input_shapes
                                               : TP_STRING_LIST;
    event->sequence_nr = op && !name->step ? (int64_t)record[4] : name->sequence_nr;
    event->step = op && name->step ? (int64_t)record[4] : -1;
    event->fwd_thread = op ? (uint32_t)record[5] : 0;
    event->scope = scope;
    event->flags = TP_EVENT_NO_FLOPS | (scope == SCOPE_USER ? TP_EVENT_USER_ANNOTATION : 0);
    event->node_id = -1;
}

void tptrace_event_of(struct tptrace_event *event, const struct tptrace_source *source,
                      const struct tp_stream_name *name, const uint64_t *record)
{
    fill_event(event, source, name, record);
}

/* ---- averages ---- */

struct averages_consumer {
    struct tp_averages *averages;
    enum tp_by by;
};

static int average_range(void *context, const struct tptrace_source *source, const struct tp_stream_range *range)
{
    struct averages_consumer *c = context;
    struct tptrace_event event;

    fill_event(&event, source, range->name, range->record);
    struct tp_average_event average = {
        .name = event.name,
        .overload_name = event.overload_name,
        .input_shapes = event.input_shapes,
        .stack = TP_STACK_EMPTY,
        .use_device = TP_STRING_NONE,
        .node_id = tptrace_node_of(source, c->by),
        .flags = (uint16_t)(event.flags | (range->parent ? TP_EVENT_HAS_PARENT : 0)),
        .device_type = TP_DEVICE_CPU,
        .scope = event.scope,
        .start_ns = range->start_ns,
        .end_ns = range->end_ns,
        .sequence = source->ordinal << 40 | range->sequence,
        .cpu_total_ns = range->end_ns - range->start_ns,
        .cpu_self_ns = range->self_ns,
        .cpu_memory = range->memory_bytes,
        .cpu_memory_self = range->self_memory_bytes,
        .device_memory = range->device_bytes,
        .device_memory_self = range->self_device_bytes,
        .count = 1,
    };
    return tp_averages_add(c->averages, &average);
}

static int average_async(void *context, const struct tptrace_source *source, const struct tptrace_async *async)
{
    struct averages_consumer *c = context;
    struct tptrace_event event;

    tptrace_event_of(&event, source, async->name, async->record);
    struct tp_average_event average = {
        .name = event.name,
        .overload_name = event.overload_name,
        .input_shapes = event.input_shapes,
        .stack = TP_STACK_EMPTY,
        .use_device = TP_STRING_NONE,
        .node_id = tptrace_node_of(source, c->by),
        .flags = (uint16_t)(event.flags | TP_EVENT_ASYNC),
        .device_type = TP_DEVICE_CPU,
        .scope = event.scope,
        .start_ns = async->start_ns,
        .end_ns = async->end_ns,
        .sequence = source->ordinal << 40 | async->sequence,
        .cpu_total_ns = async->end_ns - async->start_ns,
        .count = 1,
    };
    return tp_averages_add(c->averages, &average);
}

/* ---- the input ---- */

static int probe(const struct tp_input *input)
{
    return input->is_directory && tptrace_is_recording(input->path) ? 100 : 0;
}

/* The report's head, and whether anything is missing. */
static void tell(struct tp_input *input, const struct tptrace_run *run, const struct tp_strings *strings)
{
    tptrace_head_lines(run, strings, &input->notes);
    tptrace_head_json(run, strings, &input->recording);
    if (tptrace_run_was_cut(run))
        input->lost_count++;
}

static int fail_memory(struct tp_diag *diag, int error)
{
    return error ? tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "%s", tp_error_text(error)) : 0;
}

struct averages_run {
    struct averages_consumer consumers[64];
    struct tptrace_consumer tables[64];
    unsigned count;
};

static int make_averages(struct averages_run *averages, unsigned count, const struct tp_stacks *stacks,
                         const struct tp_averages_options *options, enum tp_by by)
{
    int error = 0;

    for (; averages->count < count && !error; averages->count++) {
        struct averages_consumer *c = &averages->consumers[averages->count];
        c->by = by;
        averages->tables[averages->count] =
            (struct tptrace_consumer){.context = c, .range = average_range, .async = average_async};
        error = tp_averages_create(stacks, options, &c->averages);
        if (error)
            break;
    }
    return error;
}

static int read_averages(struct tp_input *input, struct tp_strings *strings, struct tp_stacks *stacks,
                         const struct tp_averages_options *options, struct tp_input_averages *ret,
                         struct tp_diag *diag)
{
    struct averages_run averages = {.count = 0};
    struct tptrace_run run;
    struct tptrace_run_options how = {.selection = input->selection,
                                      .fold = true,
                                      .want_shapes = options->group_by_input_shapes,
                                      .trouble_limit = TROUBLES_KEPT};

    int error = tptrace_run_open(&run, input->path, input->selection, diag);
    if (!error)
        error = fail_memory(diag, make_averages(&averages, tptrace_run_workers(&how), stacks, options,
                                                input->selection->by));
    if (!error)
        error = tptrace_run_read(&run, &how, strings, averages.tables, diag);
    for (unsigned i = 1; i < averages.count && !error; i++)
        error = fail_memory(diag, tp_averages_merge(averages.consumers[0].averages, averages.consumers[i].averages));
    if (!error) {
        tell(input, &run, strings);
        *ret = (struct tp_input_averages){.averages = averages.consumers[0].averages,
                                          .use_device = TP_STRING_NONE,
                                          .profile_memory = tptrace_run_counts_memory(&run)};
    }
    for (unsigned i = error ? 0 : 1; i < averages.count; i++)
        tp_averages_destroy(averages.consumers[i].averages);
    tptrace_run_close(&run);
    return error;
}

static int read_into_lists(struct tp_input *input, struct tptrace_run *run, struct tptrace_list **lists,
                           unsigned count, struct tp_event_list *events, struct tp_diag *diag)
{
    struct tptrace_run_options how = {
        .selection = input->selection, .want_shapes = true, .workers = count, .trouble_limit = TROUBLES_KEPT};
    struct tptrace_consumer consumers[64] = {{0}};

    for (unsigned i = 0; i < count; i++)
        tptrace_list_consumer(lists[i], &consumers[i]);
    int error = tptrace_run_read(run, &how, events->strings, consumers, diag);
    if (error)
        return error;
    for (unsigned i = 1; i < count && !error; i++)
        error = tptrace_list_add(lists[0], lists[i]);
    if (!error)
        error = tptrace_list_finish(lists[0], run->start_ns, events);
    return fail_memory(diag, error);
}

static int read_list(struct tp_input *input, struct tp_event_list *events, struct tp_diag *diag)
{
    struct tptrace_list *lists[64] = {NULL};
    unsigned count = tptrace_worker_count(), made = 0;
    struct tptrace_run run;

    int error = tptrace_run_open(&run, input->path, input->selection, diag);
    while (!error && made < count && (lists[made] = tptrace_list_create(input->selection->by)))
        made++;
    if (!error && made < count)
        error = fail_memory(diag, -ENOMEM);
    if (!error)
        error = read_into_lists(input, &run, lists, count, events, diag);
    if (!error) {
        tell(input, &run, events->strings);
        events->profile_memory |= tptrace_run_counts_memory(&run);
    }
    for (unsigned i = 0; i < made; i++)
        tptrace_list_destroy(lists[i]);
    tptrace_run_close(&run);
    return error;
}

const struct tp_input_kind tp_input_tptrace = {
    .name = "tptrace",
    .help = "a recording of tpagent",
    .probe = probe,
    .read_list = read_list,
    .read_averages = read_averages,
};
