/* SPDX-License-Identifier: MIT */
#include "view/kineto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/python_text.h"

/* ---- entries ---- */

void tp_kineto_begin(struct tp_kineto_writer *w, const char *phase)
{
    tp_buffer_format(&w->line, "%s\n{\"ph\": \"%s\", ", w->entries++ ? "," : "", phase);
}

void tp_kineto_end(struct tp_kineto_writer *w)
{
    tp_buffer_char(&w->line, '}');
    tp_output_buffer(w->output, &w->line);
    tp_buffer_reset(&w->line);
}

static void put_text(struct tp_kineto_writer *w, uint32_t id)
{
    const struct tp_string *text = tp_strings_get(w->report->strings, id);

    tp_buffer_bytes(&w->line, text->bytes, text->size);
}

void tp_kineto_string(struct tp_kineto_writer *w, uint32_t id)
{
    const struct tp_string *text = tp_strings_get(w->report->strings, id);

    tp_json_string(&w->line, text->bytes, text->size);
}

void tp_kineto_time(struct tp_buffer *out, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    tp_buffer_format(out, "%s%llu.%03llu", ns < 0 ? "-" : "", (unsigned long long)(size / 1000),
                     (unsigned long long)(size % 1000));
}

/* ---- sources ---- */

const struct tp_trace_source *tp_kineto_source_of(struct tp_kineto_writer *w, uint32_t event)
{
    const struct tp_trace_source *sources = w->trace->sources;

    if (event < sources[w->source].first_event)
        w->source = 0;
    while (w->source + 1 < w->trace->source_count && event >= sources[w->source + 1].first_event)
        w->source++;
    return &sources[w->source];
}

int64_t tp_kineto_shift(const struct tp_kineto_writer *w, const struct tp_trace_source *source)
{
    return source->has_base ? source->base_ns - w->base_ns : 0;
}

/* The earliest source's; parents only where all sources have them. */
static void look_at_sources(struct tp_kineto_writer *w)
{
    bool has_base = false;

    w->is_nested = w->has_derived_stacks = true;
    for (uint32_t i = 0; i < w->trace->source_count; i++) {
        const struct tp_trace_source *source = &w->trace->sources[i];
        w->is_nested &= source->is_nested;
        w->has_derived_stacks &= source->has_derived_stacks;
        if (source->has_base && (!has_base || source->base_ns < w->base_ns))
            w->base_ns = source->base_ns;
        has_base |= source->has_base;
    }
}

static bool is_text(const struct tp_kineto_writer *w, uint32_t id, const char *text)
{
    return !strcmp(tp_strings_get(w->report->strings, id)->bytes, text);
}

static void look_at_marks(struct tp_kineto_writer *w)
{
    for (uint32_t i = 0; i < w->trace->mark_count; i++) {
        const struct tp_trace_mark *mark = &w->trace->marks[i];
        w->has_memory_marks |= mark->phase == 'i' && is_text(w, mark->name, "[memory]");
        w->has_launch_marks |= mark->phase == 's' && is_text(w, mark->category, "ac2g");
        w->has_backward_marks |= mark->phase == 's' && is_text(w, mark->category, "fwdbwd");
    }
}

/* Events of no known process get a number that no device has. */
static int look_at_events(struct tp_kineto_writer *w)
{
    uint32_t next = 0;

    w->host_pid = 1;
    w->positions = malloc(((size_t)w->list->count + 1) * sizeof(*w->positions));
    if (!w->positions)
        return -ENOMEM;
    for (uint32_t i = tp_event_list_next(w->list, 0); i < w->list->count;
         i = tp_event_list_next(w->list, i + 1)) {
        const struct tp_function_event *event = &w->list->events[i];
        w->positions[i] = next++;
        w->has_flops |= !(event->flags & TP_EVENT_NO_FLOPS);
        if (event->device_type == TP_DEVICE_CPU && event->device_resource_id)
            w->resource_is_thread = true;
        if (event->device_type != TP_DEVICE_CPU && event->device_index >= w->host_pid)
            w->host_pid = (int64_t)event->device_index + 1;
    }
    return tp_trace_rows_find(&w->rows, w->list);
}

/* ---- what the input said besides events ---- */

static void put_key(struct tp_kineto_writer *w, const char *key, uint32_t id)
{
    if (id == TP_STRING_NONE)
        return;
    tp_buffer_format(&w->line, "\"%s\": ", key);
    put_text(w, id);
    tp_buffer_string(&w->line, ", ");
}

static void put_mark(struct tp_kineto_writer *w, const struct tp_trace_mark *mark, int64_t shift)
{
    char phase[2] = {mark->phase, '\0'};

    if ((unsigned char)mark->phase < ' ' || strchr("\"\\\x7f", mark->phase))
        return;
    tp_kineto_begin(w, phase);
    if (mark->category != TP_STRING_NONE) {
        tp_buffer_string(&w->line, "\"cat\": ");
        tp_kineto_string(w, mark->category);
        tp_buffer_string(&w->line, ", ");
    }
    put_key(w, "id", mark->id);
    if (mark->pid == TP_STRING_NONE && mark->phase == 'i')
        tp_buffer_format(&w->line, "\"pid\": %lld, ", (long long)w->host_pid);
    put_key(w, "pid", mark->pid);
    put_key(w, "tid", mark->tid);
    if (mark->scope && strchr("tpg", mark->scope))
        tp_buffer_format(&w->line, "\"s\": \"%c\", ", mark->scope);
    if (mark->binding == 'e')
        tp_buffer_string(&w->line, "\"bp\": \"e\", ");
    if (mark->has_ts) {
        tp_buffer_string(&w->line, "\"ts\": ");
        tp_kineto_time(&w->line, mark->ts_ns + shift);
        tp_buffer_string(&w->line, ", ");
    }
    if (mark->phase == 'X') {
        tp_buffer_string(&w->line, "\"dur\": ");
        tp_kineto_time(&w->line, mark->duration_ns);
        tp_buffer_string(&w->line, ", ");
    }
    put_key(w, "args", mark->args);
    tp_buffer_string(&w->line, "\"name\": ");
    tp_kineto_string(w, mark->name);
    tp_kineto_end(w);
}

static void put_marks(struct tp_kineto_writer *w, bool names)
{
    for (uint32_t i = 0; i < w->trace->source_count; i++) {
        const struct tp_trace_source *source = &w->trace->sources[i];
        uint32_t end = i + 1 < w->trace->source_count ? source[1].first_mark : w->trace->mark_count;
        for (uint32_t m = source->first_mark; m < end; m++) {
            const struct tp_trace_mark *mark = &w->trace->marks[m];
            if ((mark->phase == 'M') == names)
                put_mark(w, mark, tp_kineto_shift(w, source));
        }
    }
}

/* ---- names that the input did not say ---- */

/* NULL: of any process, or thread. */
static bool has_name(const struct tp_kineto_writer *w, const char *kind, const char *pid,
                     const char *tid)
{
    for (uint32_t i = 0; i < w->trace->mark_count; i++) {
        const struct tp_trace_mark *mark = &w->trace->marks[i];
        if (mark->phase == 'M' && is_text(w, mark->name, kind) &&
            (!pid || is_text(w, mark->pid, pid)) && (!tid || is_text(w, mark->tid, tid)))
            return true;
    }
    return false;
}

static void put_process_name(struct tp_kineto_writer *w, int64_t number, const char *name,
                             const char *label)
{
    char pid[24];

    snprintf(pid, sizeof(pid), "%lld", (long long)number);
    if (has_name(w, "process_name", pid, NULL))
        return;
    tp_kineto_begin(w, "M");
    tp_buffer_format(&w->line, "\"pid\": %s, \"tid\": 0, \"args\": {\"name\": \"%s\"}", pid, name);
    tp_buffer_string(&w->line, ", \"name\": \"process_name\"");
    tp_kineto_end(w);
    tp_kineto_begin(w, "M");
    tp_buffer_format(&w->line, "\"pid\": %s, \"tid\": 0, \"args\": {\"labels\": \"%s\"}", pid,
                     label);
    tp_buffer_string(&w->line, ", \"name\": \"process_labels\"");
    tp_kineto_end(w);
}

/* Devices are found at their first event. */
static void put_process_names(struct tp_kineto_writer *w)
{
    bool host = false;
    uint64_t seen[4] = {0}; /* devices 0 to 255 */
    char label[32];

    for (size_t i = 0; i < w->report->count; i++) {
        const struct tp_function_event *event = &w->list->events[w->report->order[i]];
        if (event->device_type == TP_DEVICE_CPU) {
            host |= w->list->details[w->report->order[i]].pid == TP_STRING_NONE;
            continue;
        }
        uint32_t device = (uint32_t)event->device_index;
        if (device > 255 || seen[device / 64] >> device % 64 & 1)
            continue;
        seen[device / 64] |= UINT64_C(1) << device % 64;
        snprintf(label, sizeof(label), "GPU %u", device);
        put_process_name(w, device, tp_device_type_name(event->device_type), label);
    }
    if (host)
        put_process_name(w, w->host_pid, "CPU functions", "CPU");
}

/* The rows of what crosses. */
static void put_row_names(struct tp_kineto_writer *w)
{
    char tid[24];

    for (uint32_t i = 0; i < w->rows.count; i++) {
        const struct tp_trace_row *row = &w->rows.items[i];
        const struct tp_function_event *event = &w->list->events[row->event];
        snprintf(tid, sizeof(tid), "%lld", (long long)row->tid);
        if (has_name(w, "thread_name", NULL, tid))
            continue; /* it was in the trace that this one is made of: only that has such numbers */
        tp_kineto_begin(w, "M");
        tp_kineto_place(w, row->event);
        tp_buffer_format(&w->line, "\"args\": {\"name\": \"%s %lld, row %u\"}, ",
                         event->device_type == TP_DEVICE_CPU ? "thread" : "stream",
                         (long long)tp_trace_tid(event), row->number);
        tp_buffer_string(&w->line, "\"name\": \"thread_name\"");
        tp_kineto_end(w);
    }
}

/* ---- the document ---- */

static uint32_t one_of_sources(const struct tp_kineto_writer *w, bool devices)
{
    for (uint32_t i = 0; i < w->trace->source_count; i++) {
        const struct tp_trace_source *source = &w->trace->sources[i];
        uint32_t id = devices ? source->device_properties : source->distributed_info;
        if (id != TP_STRING_NONE)
            return id;
    }
    return TP_STRING_NONE;
}

static void put_settings(struct tp_kineto_writer *w)
{
    const struct tp_trace_source *first = w->trace->sources;
    struct tp_buffer *out = &w->line;

    tp_buffer_format(out, "\"record_shapes\": 1, \"profile_memory\": %d, \"with_flops\": %d,\n",
                     w->report->profile_memory, w->report->with_flops);
    tp_buffer_format(out,
                     "\"tpreport\": {\"version\": 1, \"is_nested\": %d, \"resource_is_thread\": "
                     "%d, \"has_flops\": %d, "
                     "\"has_derived_stacks\": %d",
                     w->is_nested, w->resource_is_thread, w->has_flops, w->has_derived_stacks);
    if (w->report->use_device != TP_STRING_NONE) {
        tp_buffer_string(out, ", \"use_device\": ");
        tp_kineto_string(w, w->report->use_device);
    }
    if (w->trace->source_count == 1 && first->has_span)
        tp_buffer_format(out, ", \"start_ns\": %lld, \"end_ns\": %lld", (long long)first->start_ns,
                         (long long)first->end_ns);
    tp_buffer_string(out, "},\n");
}

static void put_head(struct tp_kineto_writer *w)
{
    uint32_t devices = one_of_sources(w, true), ranks = one_of_sources(w, false);
    struct tp_buffer *out = &w->line;

    tp_buffer_string(out, "{\n\"schemaVersion\": 1,\n\"deviceProperties\": ");
    if (devices == TP_STRING_NONE)
        tp_buffer_string(out, "[]");
    put_text(w, devices);
    tp_buffer_string(out, ",\n");
    if (ranks != TP_STRING_NONE) {
        tp_buffer_string(out, "\"distributedInfo\": ");
        put_text(w, ranks);
        tp_buffer_string(out, ",\n");
    }
    put_settings(w);
    tp_buffer_format(out,
                     "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %lld,\n"
                     "\"traceEvents\": [",
                     (long long)w->base_ns);
}

static void put_foot(struct tp_kineto_writer *w)
{
    const char *path = w->output->path ? w->output->path : "";

    tp_buffer_string(&w->line, "\n],\n\"traceName\": ");
    tp_json_string(&w->line, path, strlen(path));
    tp_buffer_string(&w->line, "\n}\n");
    tp_output_buffer(w->output, &w->line);
}

static int write_all(struct tp_kineto_writer *w)
{
    int result = look_at_events(w);

    if (result < 0)
        return result;
    put_head(w);
    put_marks(w, true);
    put_process_names(w);
    put_row_names(w);
    for (size_t i = 0; i < w->report->count && !tp_output_failed(w->output); i++)
        tp_kineto_event(w, w->report->order[i]);
    put_marks(w, false);
    result = tp_kineto_flows(w);
    if (!result)
        result = tp_kineto_memory(w);
    put_foot(w);
    return result;
}

int tp_kineto_write(const struct tp_report *report, const struct tp_view_options *options,
                    struct tp_output *output, struct tp_diag *diag)
{
    struct tp_kineto_writer w = {
        .report = report, .list = report->list, .trace = report->list->trace, .output = output};

    (void)options;
    look_at_sources(&w);
    look_at_marks(&w);
    int result = write_all(&w);
    if (!result && (w.line.failed || w.text.failed))
        result = -ENOMEM;
    tp_trace_rows_fini(&w.rows);
    tp_buffer_fini(&w.line);
    tp_buffer_fini(&w.text);
    free(w.positions);
    return result < 0 ? tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for the trace")
                      : 0;
}
