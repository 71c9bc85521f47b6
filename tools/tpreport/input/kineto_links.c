/* SPDX-License-Identifier: MIT */
#include "input/kineto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/post_process.h"
#include "model/trace_rows.h"

/* Times below it count from a machine's start. */
#define YEAR_2001_NS 1000000000000000000ll

/* ---- links ---- */

/* Old files give work that belongs to no operator its own correlation as External id. */
static bool is_linked(const struct tp_kineto *kineto, const struct tp_function_event *event,
                      int64_t external_id, uint32_t *ret_number)
{
    if (!external_id || (external_id == event->id && !kineto->has_base_time))
        return false;
    *ret_number = tp_id_index_find(&kineto->op_ids, external_id);
    return *ret_number != TP_NO_NUMBER;
}

static bool is_device_annotation(const struct tp_function_event *event)
{
    return event->device_type != TP_DEVICE_CPU && event->flags & TP_EVENT_USER_ANNOTATION;
}

/* Modern files show an annotation 1 ns wider on either side than the work below it. */
static void narrow(struct tp_function_event *event)
{
    int64_t start = (int64_t)event->numbers[TP_EVENT_START].low;
    int64_t duration = (int64_t)(event->numbers[TP_EVENT_END].low - (uint64_t)start);

    duration = duration > 2 ? duration - 2 : duration < 0 ? duration : 0;
    tp_event_set(event, TP_EVENT_START, tp_number_integer((int64_t)((uint64_t)start + 1)));
    tp_event_set(event, TP_EVENT_END,
                 tp_number_integer((int64_t)((uint64_t)start + 1 + (uint64_t)duration)));
}

static void resolve(struct tp_kineto *kineto)
{
    struct tp_raw_records *records = &kineto->records;
    struct tp_event_list *list = records->list;

    for (uint32_t i = records->first; i < list->count; i++) {
        struct tp_function_event *event = &list->events[i];
        int64_t *linked = &records->linked_ids[i - records->first];
        uint32_t number;
        if (is_device_annotation(event)) {
            if (kineto->has_base_time)
                narrow(event);
            int64_t start = (int64_t)event->numbers[TP_EVENT_START].low;
            if (!kineto->has_start || start < kineto->first_start_ns)
                kineto->first_start_ns = start;
            kineto->has_start = true;
        } else if (!is_linked(kineto, event, *linked, &number)) {
            *linked = 0;
        } else {
            event->thread = kineto->op_threads[number];
        }
        if (list->keeps_details)
            list->details[i].linked_correlation_id = *linked;
    }
}

/* ---- selection ---- */

struct choice {
    const struct tp_kineto *kineto;
    const struct tp_selection *selection;
    int64_t from_ns, to_ns;  /* on the file's clock */
    struct tp_id_index kept; /* ids of operators that stay */
    bool has_thread;
    int64_t thread;
    bool failed;
};

static int compare_steps(const void *a, const void *b)
{
    const struct tp_kineto_step *left = a, *right = b;

    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

/* Of all steps only the selected ones stay, as windows that do not overlap. */
static void choose_steps(struct tp_kineto *kineto)
{
    const struct tp_selection *selection = kineto->input->selection;
    struct tp_kineto_step *steps = kineto->steps;
    uint32_t count = 0, last = 0;

    for (uint32_t i = 0; i < kineto->step_count; i++) {
        if (steps[i].number >= selection->first_step && steps[i].number <= selection->last_step &&
            steps[i].end_ns > steps[i].start_ns)
            steps[count++] = steps[i];
    }
    if (count)
        qsort(steps, count, sizeof(*steps), compare_steps);
    for (uint32_t i = 1; i < count; i++) {
        if (steps[i].start_ns > steps[last].end_ns)
            steps[++last] = steps[i];
        else if (steps[i].end_ns > steps[last].end_ns)
            steps[last].end_ns = steps[i].end_ns;
    }
    kineto->step_count = count ? last + 1 : 0;
}

static bool in_steps(const struct tp_kineto *kineto, int64_t start_ns)
{
    uint32_t low = 0, high = kineto->step_count; /* the first that ends behind it */

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (kineto->steps[middle].end_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < kineto->step_count && start_ns >= kineto->steps[low].start_ns;
}

static bool in_window(const struct choice *choice, int64_t start_ns)
{
    return start_ns >= choice->from_ns && start_ns < choice->to_ns &&
           (!choice->selection->has_step || in_steps(choice->kineto, start_ns));
}

static bool is_thread(const struct choice *choice, int64_t thread)
{
    return !choice->has_thread || thread == choice->thread;
}

/* Nanoseconds on the file's clock. */
static int64_t start_of(const struct tp_kineto *kineto, const struct tp_function_event *event)
{
    return kineto->is_own ? tp_trace_event_ns(event, TP_EVENT_START)
                          : (int64_t)event->numbers[TP_EVENT_START].low;
}

/* Work for an operator goes with it, other events by themselves. */
static bool keep(void *context, const struct tp_function_event *event, int64_t linked_id,
                 const struct tp_memory_record *memory)
{
    struct choice *choice = context;
    uint32_t number;

    if (memory)
        return in_window(choice, memory->start_ns) && is_thread(choice, memory->thread);
    if (linked_id && tp_id_index_find(&choice->kineto->op_ids, linked_id) != TP_NO_NUMBER)
        return tp_id_index_find(&choice->kept, linked_id) != TP_NO_NUMBER;
    if (choice->selection->has_pid && event->device_type != TP_DEVICE_CPU)
        return false;
    if (!in_window(choice, start_of(choice->kineto, event)) || !is_thread(choice, event->thread))
        return false;
    if (event->device_type == TP_DEVICE_CPU && event->id &&
        tp_id_index_put(&choice->kept, event->id, &number) < 0)
        choice->failed = true;
    return true;
}

/* Operators first: what is kept of them decides over the rest. */
static void choose_operators(struct choice *choice)
{
    const struct tp_raw_records *records = &choice->kineto->records;

    for (uint32_t i = records->first; i < records->list->count; i++) {
        const struct tp_function_event *event = &records->list->events[i];
        if (event->device_type == TP_DEVICE_CPU && !records->linked_ids[i - records->first])
            keep(choice, event, 0, NULL);
    }
}

static int find_thread(struct choice *choice, struct tp_diag *diag)
{
    const struct tp_kineto *kineto = choice->kineto;
    const char *wanted = choice->selection->thread;
    char *end;

    if (!wanted)
        return 0;
    choice->has_thread = true;
    choice->thread = strtoll(wanted, &end, 10);
    if (end != wanted && !*end)
        return 0;
    for (uint32_t i = 0; i < kineto->thread_count; i++) {
        if (!strcmp(tp_strings_get(kineto->records.list->strings, kineto->threads[i].name)->bytes,
                    wanted)) {
            choice->thread = kineto->threads[i].tid;
            return 0;
        }
    }
    return tp_diag_fail(
        diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
        "--thread: no thread is named '%.*s'; there are %s%s", 60, wanted,
        kineto->input->extent.threads,
        kineto->input->extent.threads_shown < kineto->input->extent.thread_count ? ", ..." : "");
}

/* Where events count their times from, which decides over the last bit of their differences. New
 * files (those with a trace_id) have the profiler's own start; for older ones it is settled that
 * the earliest entry counts. */
static int64_t trace_start(const struct tp_kineto *kineto)
{
    if (kineto->is_own)
        return 0;
    if (kineto->has_trace_start && kineto->has_trace_id)
        return kineto->trace_start_ns;
    return kineto->has_start ? kineto->first_start_ns : 0;
}

/* An instant on the file's own clock. */
static int place_instant(const struct tp_kineto *kineto, const struct tp_instant *instant,
                         int64_t *ret_ns, struct tp_diag *diag)
{
    if (instant->kind == TP_INSTANT_UNSET)
        return 0;
    if (instant->kind == TP_INSTANT_RELATIVE)
        *ret_ns = trace_start(kineto) + instant->ns;
    else if (kineto->has_base_time)
        *ret_ns = instant->ns - kineto->base_time_ns;
    else if (trace_start(kineto) > YEAR_2001_NS)
        *ret_ns = instant->ns;
    else
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                            "--from, --to: this trace doesn't say when it began; give seconds "
                            "from its start");
    return 0;
}

static int select_rank(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_selection *selection = kineto->input->selection;

    if (!selection->has_rank)
        return 0;
    if (!kineto->has_rank)
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                            "--rank: this trace doesn't say which rank it is of");
    if (kineto->rank != selection->rank)
        tp_kineto_drop(kineto);
    return 0;
}

/* Names stay; what has a time goes by it, and by its thread. */
static void retain_marks(const struct choice *choice)
{
    const struct tp_event_list *list = choice->kineto->records.list;
    struct tp_trace_context *trace = list->trace;

    if (!trace)
        return;
    uint32_t kept = tp_trace_context_source(trace)->first_mark;
    for (uint32_t i = kept; i < trace->mark_count; i++) {
        const struct tp_trace_mark *mark = &trace->marks[i];
        const char *tid = tp_strings_get(list->strings, mark->tid)->bytes;
        if (mark->phase == 'M' ||
            (in_window(choice, mark->ts_ns) &&
             (!choice->has_thread || strtoll(tid, NULL, 10) == choice->thread)))
            trace->marks[kept++] = *mark;
    }
    trace->mark_count = kept;
}

static const char *thread_name(const struct tp_kineto *kineto, int64_t thread)
{
    for (uint32_t i = 0; i < kineto->thread_count; i++) {
        if (kineto->threads[i].tid == thread)
            return tp_strings_get(kineto->records.list->strings, kineto->threads[i].name)->bytes;
    }
    return NULL;
}

/* What there is, before some of it is left out. */
static void tell_extent(const struct tp_kineto *kineto)
{
    const struct tp_raw_records *records = &kineto->records;
    struct tp_extent *extent = &kineto->input->extent;

    for (uint32_t i = records->first; i < records->list->count; i++) {
        const struct tp_function_event *event = &records->list->events[i];
        tp_extent_time(extent, start_of(kineto, event) - trace_start(kineto));
        if (event->device_type == TP_DEVICE_CPU)
            tp_extent_thread(extent, event->thread, thread_name(kineto, event->thread));
    }
    for (uint32_t i = 0; i < kineto->step_count; i++)
        tp_extent_step(extent, kineto->steps[i].number);
}

static int select_events(struct tp_kineto *kineto, struct tp_diag *diag)
{
    const struct tp_selection *selection = kineto->input->selection;
    struct choice choice = {
        .kineto = kineto, .selection = selection, .from_ns = INT64_MIN, .to_ns = INT64_MAX};

    if (!selection)
        return 0;
    int result = select_rank(kineto, diag);
    if (result < 0 || (!selection->has_pid && !tp_selects_in_process(selection)))
        return result;
    tell_extent(kineto);
    if (selection->has_step && !kineto->step_count)
        return tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                            "--step: this trace has no steps (ProfilerStep#N)");
    result = find_thread(&choice, diag);
    if (!result)
        result = place_instant(kineto, &selection->from, &choice.from_ns, diag);
    if (!result)
        result = place_instant(kineto, &selection->to, &choice.to_ns, diag);
    if (!result) {
        if (selection->has_step)
            choose_steps(kineto);
        choose_operators(&choice);
        if (kineto->is_own)
            choice.failed |= tp_kineto_own_retain(kineto, keep, &choice) < 0;
        else
            tp_raw_records_retain(&kineto->records, keep, &choice);
        retain_marks(&choice);
        if (choice.failed)
            result = tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for a selection");
    }
    tp_id_index_fini(&choice.kept);
    return result;
}

/* ---- the end ---- */

static void clear_flops(const struct tp_raw_records *records)
{
    for (uint32_t i = records->first; i < records->list->count; i++)
        tp_event_set(&records->list->events[i], TP_EVENT_FLOPS, tp_number_integer(0));
}

static int set_settings(struct tp_kineto *kineto, struct tp_diag *diag)
{
    struct tp_event_list *list = kineto->records.list;

    list->profile_memory |= (kineto->has_memory && !kineto->is_own) || kineto->profile_memory;
    if (kineto->with_flops)
        list->with_flops = true;
    if (!list->with_flops && !kineto->is_own)
        clear_flops(&kineto->records);
    if (list->use_device == TP_STRING_NONE)
        list->use_device = kineto->use_device;
    if (kineto->is_own || !kineto->has_device || list->use_device != TP_STRING_NONE)
        return 0;
    if (tp_strings_put(list->strings, "cuda", 4, &list->use_device) < 0)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for a name");
    return 0;
}

static int keep_json(struct tp_kineto *kineto, const struct tp_buffer *text, uint32_t *ret_id)
{
    if (text->failed)
        return -ENOMEM;
    return text->size
               ? tp_strings_put(kineto->records.list->strings, text->bytes, text->size, ret_id)
               : 0;
}

/* The document's own keys, and times from where events count theirs. */
static int set_trace(struct tp_kineto *kineto, struct tp_diag *diag)
{
    struct tp_trace_context *trace = kineto->records.list->trace;
    int64_t start = trace_start(kineto);

    if (!trace)
        return 0;
    struct tp_trace_source *source = tp_trace_context_source(trace);
    source->has_base = kineto->has_base_time || kineto->is_own || start > YEAR_2001_NS;
    source->base_ns = (kineto->has_base_time ? kineto->base_time_ns : 0) + start;
    source->has_derived_stacks = kineto->has_derived_stacks;
    source->has_span = kineto->input->has_span;
    source->start_ns = kineto->span_start_ns;
    source->end_ns = kineto->span_end_ns;
    for (uint32_t i = source->first_mark; i < trace->mark_count; i++)
        trace->marks[i].ts_ns -= start;
    int result = keep_json(kineto, &kineto->device_properties, &source->device_properties);
    if (!result)
        result = keep_json(kineto, &kineto->distributed_info, &source->distributed_info);
    return result < 0 ? tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for a trace") : 0;
}

static void set_span(const struct tp_kineto *kineto)
{
    if (!kineto->span_end_ns)
        return;
    kineto->input->has_span = true;
    kineto->input->start_ns = kineto->span_start_ns;
    kineto->input->end_ns = kineto->span_end_ns;
}

void tp_kineto_drop(struct tp_kineto *kineto)
{
    kineto->records.list->count = kineto->records.first;
    kineto->records.memory.count = kineto->records.out_of_memory.count = 0;
    if (kineto->records.list->trace)
        kineto->records.list->trace->mark_count =
            tp_trace_context_source(kineto->records.list->trace)->first_mark;
}

int tp_kineto_finish(struct tp_kineto *kineto, struct tp_diag *diag)
{
    if (kineto->undated)
        tp_input_lost(kineto->input, kineto->undated, "%" PRIu64 " entr%s without a time left out",
                      kineto->undated, kineto->undated == 1 ? "y" : "ies");
    set_span(kineto);
    if (!kineto->is_own)
        resolve(kineto);
    int result = kineto->is_own ? 0 : tp_kineto_join_stacks(kineto);
    if (result < 0)
        return tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for stacks");
    result = select_events(kineto, diag);
    if (!result)
        result = set_trace(kineto, diag);
    if (!result)
        result = set_settings(kineto, diag);
    tp_id_index_fini(&kineto->op_ids); /* room for what follows */
    free(kineto->op_threads);
    kineto->op_threads = NULL;
    kineto->op_capacity = 0;
    kineto->records.list->is_nested |= kineto->is_own && kineto->is_nested;
    if (!result && !kineto->is_own)
        result = tp_post_process(&kineto->records, trace_start(kineto), diag);
    return result;
}
