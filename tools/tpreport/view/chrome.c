/* SPDX-License-Identifier: MIT
 * The reference's own short trace of an event list: one JSON array on one line. */
#include "view/view.h"

#include "model/python_text.h"

static void put_name(struct tp_buffer *out, const struct tp_report *report, uint32_t id)
{
    const struct tp_string *name = tp_strings_get(report->strings, id);

    tp_json_ascii(out, name->bytes, name->size);
}

static void put_event(struct tp_buffer *out, const struct tp_report *report,
                      const struct tp_function_event *event)
{
    tp_buffer_string(out, "{\"name\": ");
    put_name(out, report, event->trace_name);
    tp_buffer_string(out, ", \"ph\": \"X\", \"ts\": ");
    tp_format_json_number(out, tp_event_get(event, TP_EVENT_START));
    tp_buffer_string(out, ", \"dur\": ");
    tp_format_json_number(out, tp_event_elapsed(event));
    if (event->flags & TP_EVENT_REMOTE)
        tp_buffer_format(out, ", \"tid\": \" node_id:%d, thread_id:%lld \"", event->node_id,
                         (long long)event->thread);
    else
        tp_buffer_format(out, ", \"tid\": %lld", (long long)event->thread);
    tp_buffer_string(out, ", \"pid\": \"CPU functions\", \"args\": {}}");
}

static void put_arrow(struct tp_buffer *out, const struct tp_report *report,
                      const struct tp_function_event *event, size_t number)
{
    const struct tp_string *device = tp_strings_get(report->strings, report->use_device);
    struct tp_buffer category = {0};

    tp_buffer_string(&category, "cpu_to_");
    if (report->use_device == TP_STRING_NONE)
        tp_buffer_string(&category, "cuda");
    else
        tp_buffer_bytes(&category, device->bytes, device->size);
    tp_buffer_string(out, "{\"name\": ");
    put_name(out, report, event->trace_name);
    tp_buffer_string(out, ", \"ph\": \"s\", \"ts\": ");
    tp_format_json_number(out, tp_event_get(event, TP_EVENT_START));
    tp_buffer_format(out, ", \"tid\": %lld, \"pid\": \"CPU functions\", \"id\": %zu, \"cat\": ",
                     (long long)event->thread, number);
    tp_json_ascii(out, category.bytes ? category.bytes : "", category.size);
    tp_buffer_string(out, ", \"args\": {}}");
    tp_buffer_fini(&category);
}

int tp_chrome_list_write(const struct tp_report *report, const struct tp_view_options *options,
                         struct tp_output *output, struct tp_diag *diag)
{
    struct tp_buffer line = {0};
    size_t entries = 0, arrows = 0;

    (void)options;
    if (!tp_report_shows_events(report))
        return tp_diag_fail(
            diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
            "'FunctionEventAvg' object has no attribute 'trace_name': a trace needs "
            "events, not averages");
    tp_output_bytes(output, "[", 1);
    for (size_t i = 0; i < report->count && !tp_output_failed(output); i++) {
        const struct tp_function_event *event = &report->list->events[report->order[i]];
        if (event->trace_name == TP_STRING_NONE)
            continue;
        tp_buffer_reset(&line);
        tp_buffer_string(&line, entries++ ? ", " : "");
        put_event(&line, report, event);
        for (uint32_t kernel = 0; kernel < event->kernel_count; kernel++) {
            tp_buffer_string(&line, ", ");
            put_arrow(&line, report, event, arrows++);
        }
        tp_output_buffer(output, &line);
    }
    tp_output_bytes(output, "]", 1);
    tp_buffer_fini(&line);
    return 0;
}
