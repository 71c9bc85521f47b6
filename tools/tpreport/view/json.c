/* SPDX-License-Identifier: MIT */
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "columns.h"
#include "model/python_text.h"

/* One object: a head, then one row per line. */
struct json {
    struct tp_output *output;
    struct tp_buffer line;
    size_t rows;
};

static void put_head(struct json *json, const struct tp_report *report)
{
    tp_buffer_string(&json->line, "{\"version\": 1, \"producer\": \"tpreport " TP_VERSION
                                  "\", \"units\": {\"time\": \"us\", \"memory\": \"bytes\"}, ");
    if (report->recording) {
        tp_buffer_string(&json->line, "\"recording\": ");
        tp_buffer_bytes(&json->line, report->recording->bytes, report->recording->size);
        tp_buffer_string(&json->line, ", ");
    }
    tp_buffer_string(&json->line, "\"rows\": [");
}

static void begin_row(struct json *json, char bracket)
{
    if (json->rows++)
        tp_buffer_char(&json->line, ',');
    tp_buffer_char(&json->line, '\n');
    tp_buffer_char(&json->line, bracket);
}

static void end_row(struct json *json, char bracket)
{
    tp_buffer_char(&json->line, bracket);
    tp_output_buffer(json->output, &json->line);
    tp_buffer_reset(&json->line);
}

static void put_foot(struct json *json)
{
    tp_buffer_string(&json->line, "\n]}\n");
    tp_output_buffer(json->output, &json->line);
    tp_buffer_fini(&json->line);
}

static void put_key(struct tp_buffer *out, const char *key, bool first)
{
    tp_buffer_format(out, "%s\"%s\":", first ? "" : ",", key);
}

static void put_stack(struct tp_buffer *out, const struct tp_report *report, uint32_t stack,
                      uint32_t count)
{
    tp_buffer_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            tp_buffer_char(out, ',');
        tp_format_json_string(out, report->strings, tp_stacks_frames(report->stacks, stack)[i]);
    }
    tp_buffer_char(out, ']');
}

static void put_shapes(struct tp_buffer *out, const struct tp_report *report, uint32_t id)
{
    const struct tp_string *text = tp_strings_get(report->strings, id);

    tp_python_to_json(out, text->bytes, text->size);
}

static void put_value(struct tp_buffer *out, const struct tp_report *report, enum tp_unit unit,
                      const struct tp_value *value)
{
    switch (value->kind) {
    case TP_VALUE_NONE:
        tp_buffer_string(out, "null");
        break;
    case TP_VALUE_NUMBER:
        tp_format_json_number(out, value->number);
        break;
    case TP_VALUE_STRING:
        if (unit == TP_UNIT_SHAPES)
            put_shapes(out, report, value->id);
        else
            tp_format_json_string(out, report->strings, value->id);
        break;
    case TP_VALUE_TEXT:
        tp_buffer_format(out, "\"%s\"", value->text);
        break;
    case TP_VALUE_FLAG:
        tp_buffer_string(out, value->flag ? "true" : "false");
        break;
    case TP_VALUE_STACK:
        put_stack(out, report, value->id, value->count);
        break;
    }
}

/* ---- rows ---- */

static void put_columns(struct json *json, const struct tp_report *report,
                        const struct tp_average *row)
{
    bool first = true;

    for (int id = 0; id < TP_COLUMNS; id++) {
        if (!tp_column_is_shown(id, row->event != NULL, report->percentiles))
            continue;
        const struct tp_column *column = tp_column_get(id);
        if (column->unit == TP_UNIT_JSON) /* of the details, which follow */
            continue;
        struct tp_value value = column->value(row);
        put_key(&json->line, column->name, first);
        put_value(&json->line, report, column->unit, &value);
        first = false;
    }
}

static void put_row(struct json *json, const struct tp_report *report, const struct tp_average *row)
{
    begin_row(json, '{');
    put_columns(json, report, row);
    end_row(json, '}');
}

/* ---- events, with all that they have ---- */

static void put_settings(struct json *json, const struct tp_report *report)
{
    struct tp_buffer *out = &json->line;

    out->size -= sizeof("\"rows\": [") - 1; /* before the rows */
    tp_buffer_string(out, "\"list\": {\"use_device\": ");
    tp_format_json_string(out, report->strings, report->use_device);
    tp_buffer_format(out, ", \"profile_memory\": %s, \"with_flops\": %s}, \"rows\": [",
                     report->profile_memory ? "true" : "false",
                     report->with_flops ? "true" : "false");
}

/* Where each event stands among those listed. */
static int find_positions(const struct tp_report *report, uint32_t **ret_positions)
{
    uint32_t *positions = malloc(((size_t)report->list->count + 1) * sizeof(*positions)), next = 0;

    if (!positions)
        return -ENOMEM;
    for (uint32_t i = tp_event_list_next(report->list, 0); i < report->list->count;
         i = tp_event_list_next(report->list, i + 1))
        positions[i] = next++;
    *ret_positions = positions;
    return 0;
}

static void put_relatives(struct tp_buffer *out, const struct tp_event_list *list,
                          const struct tp_function_event *event, const uint32_t *positions)
{
    put_key(out, "cpu_parent", false);
    if (event->parent == TP_NO_EVENT)
        tp_buffer_string(out, "null");
    else
        tp_buffer_format(out, "%u", positions[event->parent]);
    put_key(out, "cpu_children", false);
    tp_buffer_char(out, '[');
    for (uint32_t i = event->first_child; i != TP_NO_EVENT; i = list->events[i].next_sibling)
        tp_buffer_format(out, "%s%u", i == event->first_child ? "" : ",", positions[i]);
    tp_buffer_char(out, ']');
}

static void put_named_kernels(struct tp_buffer *out, const struct tp_report *report,
                              const struct tp_function_event *event)
{
    put_key(out, "kernels", false);
    tp_buffer_char(out, '[');
    for (uint32_t i = 0; i < event->kernel_count; i++) {
        const struct tp_kernel *kernel = &report->list->kernels[event->first_kernel + i];
        tp_buffer_string(out, i ? ",{\"name\":" : "{\"name\":");
        tp_format_json_string(out, report->strings, kernel->name);
        tp_buffer_format(out, ",\"device\":%d,\"duration\":", kernel->device);
        tp_format_json_number(out, kernel->duration);
        tp_buffer_char(out, '}');
    }
    tp_buffer_char(out, ']');
}

static void put_detail_INTEGER(struct tp_buffer *out, const struct tp_report *report, int64_t value)
{
    (void)report;
    tp_buffer_format(out, "%" PRId64, value);
}

static void put_detail_TEXT(struct tp_buffer *out, const struct tp_report *report, uint32_t id)
{
    tp_format_json_string(out, report->strings, id);
}

static void put_detail_JSON(struct tp_buffer *out, const struct tp_report *report, uint32_t id)
{
    const struct tp_string *text = tp_strings_get(report->strings, id);

    if (id == TP_STRING_NONE)
        tp_buffer_string(out, "null");
    else
        tp_buffer_bytes(out, text->bytes, text->size);
}

static void put_details(struct tp_buffer *out, const struct tp_report *report, uint32_t index)
{
    const struct tp_event_list *list = report->list;
    struct tp_event_details details =
        list->keeps_details ? list->details[index] : tp_event_details_none();

#define TP_EVENT_DETAIL(name, kind, none)                                                          \
    put_key(out, #name, false);                                                                    \
    put_detail_##kind(out, report, details.name);
#include "model/event_details.def"
#undef TP_EVENT_DETAIL
}

static void put_event(struct json *json, const struct tp_report *report,
                      const struct tp_average *row, const uint32_t *positions)
{
    uint32_t index = (uint32_t)(row->event - report->list->events);

    begin_row(json, '{');
    put_columns(json, report, row);
    put_relatives(&json->line, report->list, row->event, positions);
    put_named_kernels(&json->line, report, row->event);
    put_details(&json->line, report, index);
    if (row->event->flags & TP_EVENT_NO_LAUNCH)
        tp_buffer_string(&json->line, ",\"no_launch_recorded\":true");
    end_row(json, '}');
}

static int write_events(const struct tp_report *report, const struct tp_view_options *options,
                        struct tp_output *output, struct tp_diag *diag)
{
    struct json json = {.output = output};
    int64_t printed = 0, limit = tp_view_row_limit(options, -1);
    const struct tp_average *row;
    struct tp_average scratch;
    uint32_t *positions;

    if (find_positions(report, &positions) < 0)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for the report");
    put_head(&json, report);
    put_settings(&json, report);
    for (size_t i = 0; !tp_output_failed(output); i++) {
        row = tp_view_next_row(report, options, limit, &i, &printed, &scratch);
        if (!row)
            break;
        put_event(&json, report, row, positions);
    }
    put_foot(&json);
    free(positions);
    return 0;
}

int tp_json_write_rows(const struct tp_report *report, const struct tp_view_options *options,
                       struct tp_output *output, struct tp_diag *diag)
{
    struct json json = {.output = output};
    int64_t printed = 0, limit = tp_view_row_limit(options, -1);
    struct tp_average scratch;
    const struct tp_average *row;

    if (tp_report_shows_events(report))
        return write_events(report, options, output, diag);
    put_head(&json, report);
    for (size_t i = 0; !tp_output_failed(output); i++) {
        row = tp_view_next_row(report, options, limit, &i, &printed, &scratch);
        if (!row)
            break;
        put_row(&json, report, row);
    }
    put_foot(&json);
    return 0;
}

int tp_json_write_total(const struct tp_report *report, const struct tp_view_options *options,
                        struct tp_output *output, struct tp_diag *diag)
{
    struct tp_view_options all = *options;

    all.row_limit_given = false;
    all.top_level_events_only = false;
    return tp_json_write_rows(report, &all, output, diag);
}

/* ---- tree ---- */

static void put_children(struct tp_buffer *out, const struct tp_event_list *list,
                         const struct tp_function_event *event)
{
    put_key(out, "children", false);
    tp_buffer_char(out, '[');
    for (uint32_t i = event->first_child; i != TP_NO_EVENT; i = list->events[i].next_sibling)
        tp_buffer_format(out, "%s%u", i == event->first_child ? "" : ",", i);
    tp_buffer_char(out, ']');
}

static void put_kernels(struct tp_buffer *out, const struct tp_report *report,
                        const struct tp_function_event *event)
{
    put_key(out, "kernels", false);
    tp_buffer_char(out, '[');
    for (uint32_t i = 0; i < event->kernel_count; i++) {
        const struct tp_kernel *kernel = &report->list->kernels[event->first_kernel + i];
        tp_buffer_string(out, i ? ",[" : "[");
        tp_format_json_string(out, report->strings, kernel->name);
        tp_buffer_format(out, ",%d,", kernel->device);
        tp_format_json_number(out, kernel->duration);
        tp_buffer_char(out, ']');
    }
    tp_buffer_char(out, ']');
}

static void put_time(struct tp_buffer *out, const char *key, struct tp_number number)
{
    put_key(out, key, false);
    tp_format_json_number(out, number);
}

static void put_node(struct json *json, const struct tp_report *report, uint32_t index)
{
    const struct tp_function_event *event = &report->list->events[index];
    struct tp_buffer *out = &json->line;

    begin_row(json, '{');
    tp_buffer_format(out, "\"ix\":%u,\"id\":%lld,\"name\":", index, (long long)event->id);
    tp_format_json_string(out, report->strings, event->name);
    put_key(out, "parent", false);
    if (event->parent == TP_NO_EVENT)
        tp_buffer_string(out, "null");
    else
        tp_buffer_format(out, "%u", event->parent);
    put_children(out, report->list, event);
    put_time(out, "cpu_time_total", tp_event_cpu_time_total(event));
    put_time(out, "self_cpu_time_total", tp_event_get(event, TP_EVENT_SELF_CPU_TIME));
    put_time(out, "device_time_total", tp_event_get(event, TP_EVENT_DEVICE_TIME));
    put_time(out, "self_device_time_total", tp_event_get(event, TP_EVENT_SELF_DEVICE_TIME));
    put_time(out, "self_cpu_memory_usage", tp_event_get(event, TP_EVENT_SELF_CPU_MEMORY));
    put_time(out, "self_device_memory_usage", tp_event_get(event, TP_EVENT_SELF_DEVICE_MEMORY));
    if (event->kernel_count)
        put_kernels(out, report, event);
    uint32_t captured_in = tp_event_list_captured_in(report->list, index);
    if (captured_in != TP_STRING_NONE) {
        put_key(out, "captured_in", false);
        tp_format_json_string(out, report->strings, captured_in);
    }
    if (tp_stacks_count(report->stacks, event->stack)) {
        put_key(out, "stack", false);
        put_stack(out, report, event->stack, tp_stacks_count(report->stacks, event->stack));
    }
    end_row(json, '}');
}

int tp_json_write_tree(const struct tp_report *report, const struct tp_view_options *options,
                       struct tp_output *output, struct tp_diag *diag)
{
    struct json json = {.output = output};

    (void)options;
    (void)diag;
    put_head(&json, report);
    for (size_t i = 0; i < report->count && !tp_output_failed(output); i++)
        put_node(&json, report, report->order[i]);
    put_foot(&json);
    return 0;
}

/* Position, parent or -1, self CPU and self device time; columns named by place. */
int tp_json_write_tree_compact(const struct tp_report *report,
                               const struct tp_view_options *options, struct tp_output *output,
                               struct tp_diag *diag)
{
    struct json json = {.output = output};

    (void)options;
    (void)diag;
    put_head(&json, report);
    for (size_t i = 0; i < report->count && !tp_output_failed(output); i++) {
        const struct tp_function_event *event = &report->list->events[report->order[i]];
        begin_row(&json, '[');
        tp_buffer_format(&json.line, "%u,%lld,", report->order[i],
                         event->parent == TP_NO_EVENT ? -1LL : (long long)event->parent);
        tp_format_json_number(&json.line, tp_event_get(event, TP_EVENT_SELF_CPU_TIME));
        tp_buffer_char(&json.line, ',');
        tp_format_json_number(&json.line, tp_event_get(event, TP_EVENT_SELF_DEVICE_TIME));
        end_row(&json, ']');
    }
    put_foot(&json);
    return 0;
}
