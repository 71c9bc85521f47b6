/* SPDX-License-Identifier: MIT
 * One line per row as the reference prints an object of it. */
#include "view/view.h"

static void put_text(struct tp_buffer *out, const struct tp_report *report, const char *before,
                     uint32_t id)
{
    const struct tp_string *string = tp_strings_get(report->strings, id);

    tp_buffer_string(out, before);
    if (id == TP_STRING_NONE)
        tp_buffer_string(out, "None");
    else
        tp_buffer_bytes(out, string->bytes, string->size);
}

static void put_number(struct tp_buffer *out, const char *before, struct tp_number number)
{
    tp_buffer_string(out, before);
    tp_format_number(out, number);
}

static void put_time(struct tp_buffer *out, const char *before, struct tp_number time)
{
    tp_buffer_string(out, before);
    tp_format_time(out, time, TP_TIME_AUTO);
}

static void put_flag(struct tp_buffer *out, const char *before, bool flag)
{
    tp_buffer_string(out, before);
    tp_buffer_string(out, flag ? "True" : "False");
}

static struct tp_number per_call(const struct tp_average *row, enum tp_measure total)
{
    return tp_number_real(tp_number_divide(row->sums[total], row->sums[TP_MEASURE_COUNT]));
}

static void put_child_ids(struct tp_buffer *out, const struct tp_event_list *list,
                          const struct tp_function_event *event)
{
    tp_buffer_string(out, " cpu_children=[");
    for (uint32_t i = event->first_child; i != TP_NO_EVENT; i = list->events[i].next_sibling)
        tp_buffer_format(out, "%s%lld", i == event->first_child ? "" : ", ",
                         (long long)list->events[i].id);
    tp_buffer_char(out, ']');
}

static void put_event(struct tp_buffer *out, const struct tp_report *report,
                      const struct tp_average *row)
{
    const struct tp_function_event *event = row->event;

    tp_buffer_format(out, "<FunctionEvent id=%lld", (long long)event->id);
    put_text(out, report, " name=", event->name);
    put_text(out, report, " overload_name=", event->overload_name);
    tp_buffer_format(out, " device_type=DeviceType.%s node_id=%d",
                     tp_device_type_name(event->device_type), event->node_id);
    put_time(out, " cpu_time=", per_call(row, TP_MEASURE_CPU_TIME));
    put_number(out, " start_us=", tp_event_get(event, TP_EVENT_START));
    put_number(out, " end_us=", tp_event_get(event, TP_EVENT_END));
    put_child_ids(out, report->list, event);
    put_text(out, report, " ", event->use_device);
    put_time(out, "_time=", per_call(row, TP_MEASURE_DEVICE_TIME));
    put_text(out, report, " name=", event->name);
    tp_buffer_format(out, " thread=%lld", (long long)event->thread);
    put_text(out, report, " input_shapes=", event->input_shapes);
    put_number(out, " cpu_memory_usage=", tp_event_get(event, TP_EVENT_CPU_MEMORY));
    put_text(out, report, " ", event->use_device);
    put_number(out, "_memory_usage=", tp_event_get(event, TP_EVENT_DEVICE_MEMORY));
    put_flag(out, " is_async=", event->flags & TP_EVENT_ASYNC);
    put_flag(out, " is_remote=", event->flags & TP_EVENT_REMOTE);
    tp_buffer_format(out, " seq_nr=%lld", (long long)event->sequence_nr);
    put_flag(out, " is_legacy=", event->flags & TP_EVENT_LEGACY);
    tp_buffer_string(out, ">\n");
}

/* The device's name in labels; "cuda" when there is none. */
static void put_device(struct tp_buffer *out, const struct tp_report *report,
                       const struct tp_average *row, const char *after)
{
    if (row->use_device == TP_STRING_NONE || row->use_device == TP_STRING_EMPTY)
        tp_buffer_string(out, "cuda");
    else
        put_text(out, report, "", row->use_device);
    tp_buffer_string(out, after);
}

static void put_average(struct tp_buffer *out, const struct tp_report *report,
                        const struct tp_average *row)
{
    put_text(out, report, "<FunctionEventAvg key=", row->key);
    put_time(out, " self_cpu_time=", row->sums[TP_MEASURE_SELF_CPU_TIME]);
    put_time(out, " cpu_time=", per_call(row, TP_MEASURE_CPU_TIME));
    tp_buffer_string(out, "  self_");
    put_device(out, report, row, "_time=");
    put_time(out, "", row->sums[TP_MEASURE_SELF_DEVICE_TIME]);
    tp_buffer_char(out, ' ');
    put_device(out, report, row, "_time=");
    put_time(out, "", per_call(row, TP_MEASURE_DEVICE_TIME));
    put_text(out, report, " input_shapes=", row->input_shapes);
    put_number(out, " cpu_memory_usage=", row->sums[TP_MEASURE_CPU_MEMORY]);
    tp_buffer_char(out, ' ');
    put_device(out, report, row, "_memory_usage=");
    put_number(out, "", row->sums[TP_MEASURE_DEVICE_MEMORY]);
    tp_buffer_string(out, ">\n");
}

int tp_repr_write(const struct tp_report *report, const struct tp_view_options *options,
                  struct tp_output *output, struct tp_diag *diag)
{
    struct tp_buffer line = {0};
    int64_t printed = 0, limit = tp_view_row_limit(options, -1);
    struct tp_average scratch;
    const struct tp_average *row;

    (void)diag;
    for (size_t i = 0; !tp_output_failed(output); i++) {
        row = tp_view_next_row(report, options, limit, &i, &printed, &scratch);
        if (!row)
            break;
        tp_buffer_reset(&line);
        if (row->event)
            put_event(&line, report, row);
        else
            put_average(&line, report, row);
        tp_output_buffer(output, &line);
    }
    tp_buffer_fini(&line);
    return 0;
}

int tp_repr_write_total(const struct tp_report *report, const struct tp_view_options *options,
                        struct tp_output *output, struct tp_diag *diag)
{
    struct tp_view_options all = *options;

    all.row_limit_given = false;
    all.top_level_events_only = false;
    return tp_repr_write(report, &all, output, diag);
}
