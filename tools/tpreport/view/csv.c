/* SPDX-License-Identifier: MIT
 * RFC 4180: a header line, lines end in CR LF, fields with special characters in quotes. None is an
 * empty field; a stack is a JSON array in one field, so that it can be taken apart again. */
#include "view/view.h"

#include <string.h>

#include "columns.h"
#include "model/python_text.h"

struct csv {
    struct tp_output *output;
    struct tp_buffer line, field;
    bool is_first; /* of its line */
};

static void put_field(struct csv *csv, const char *bytes, size_t size)
{
    bool quoted = false;

    if (!csv->is_first)
        tp_buffer_char(&csv->line, ',');
    csv->is_first = false;
    for (size_t i = 0; i < size; i++)
        quoted |= bytes[i] == '"' || bytes[i] == ',' || bytes[i] == '\n' || bytes[i] == '\r';
    if (!quoted) {
        tp_buffer_bytes(&csv->line, bytes, size);
        return;
    }
    tp_buffer_char(&csv->line, '"');
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '"')
            tp_buffer_char(&csv->line, '"');
        tp_buffer_char(&csv->line, bytes[i]);
    }
    tp_buffer_char(&csv->line, '"');
}

static void end_line(struct csv *csv)
{
    tp_buffer_string(&csv->line, "\r\n");
    tp_output_buffer(csv->output, &csv->line);
    tp_buffer_reset(&csv->line);
    csv->is_first = true;
}

static void put_string(struct csv *csv, const struct tp_report *report, uint32_t id)
{
    const struct tp_string *string = tp_strings_get(report->strings, id);

    put_field(csv, string->bytes, string->size);
}

static void put_number(struct csv *csv, struct tp_number number)
{
    char text[TP_NUMBER_TEXT_MAX];

    put_field(csv, text, tp_number_print(number, text));
}

static void put_stack(struct csv *csv, const struct tp_report *report, uint32_t stack,
                      uint32_t count)
{
    tp_buffer_reset(&csv->field);
    tp_buffer_char(&csv->field, '[');
    for (uint32_t i = 0; i < count; i++) {
        uint32_t frame = tp_stacks_frames(report->stacks, stack)[i];
        const struct tp_string *string = tp_strings_get(report->strings, frame);
        tp_buffer_string(&csv->field, i ? ", " : "");
        tp_json_string(&csv->field, string->bytes, string->size);
    }
    tp_buffer_char(&csv->field, ']');
    put_field(csv, csv->field.bytes, csv->field.size);
}

static void put_value(struct csv *csv, const struct tp_report *report, const struct tp_value *value)
{
    switch (value->kind) {
    case TP_VALUE_NONE:
        put_field(csv, "", 0);
        break;
    case TP_VALUE_NUMBER:
        put_number(csv, value->number);
        break;
    case TP_VALUE_STRING:
        put_string(csv, report, value->id);
        break;
    case TP_VALUE_TEXT:
        put_field(csv, value->text, strlen(value->text));
        break;
    case TP_VALUE_FLAG:
        put_field(csv, value->flag ? "true" : "false", value->flag ? 4 : 5);
        break;
    case TP_VALUE_STACK:
        put_stack(csv, report, value->id, value->count);
        break;
    }
}

static void finish(struct csv *csv)
{
    tp_buffer_fini(&csv->line);
    tp_buffer_fini(&csv->field);
}

static void put_head(struct csv *csv, bool rows_are_events)
{
    for (int id = 0; id < TP_COLUMNS; id++) {
        const char *name = tp_column_get(id)->name;
        if (tp_column_is_shown(id, rows_are_events))
            put_field(csv, name, strlen(name));
    }
    end_line(csv);
}

int tp_csv_write_rows(const struct tp_report *report, const struct tp_view_options *options,
                      struct tp_output *output, struct tp_diag *diag)
{
    struct csv csv = {.output = output, .is_first = true};
    int64_t printed = 0, limit = options->row_limit_given ? options->row_limit : -1;
    bool events = tp_report_shows_events(report);
    struct tp_average scratch;
    const struct tp_average *row;

    (void)diag;
    put_head(&csv, events);
    for (size_t i = 0; !tp_output_failed(output); i++) {
        row = tp_view_next_row(report, options, limit, &i, &printed, &scratch);
        if (!row)
            break;
        for (int id = 0; id < TP_COLUMNS; id++) {
            if (!tp_column_is_shown(id, events))
                continue;
            struct tp_value value = tp_column_get(id)->value(row);
            put_value(&csv, report, &value);
        }
        end_line(&csv);
    }
    finish(&csv);
    return 0;
}

int tp_csv_write_total(const struct tp_report *report, const struct tp_view_options *options,
                       struct tp_output *output, struct tp_diag *diag)
{
    struct tp_view_options all = *options;

    all.row_limit_given = false;
    all.top_level_events_only = false;
    return tp_csv_write_rows(report, &all, output, diag);
}

int tp_csv_write_tree(const struct tp_report *report, const struct tp_view_options *options,
                      struct tp_output *output, struct tp_diag *diag)
{
    struct csv csv = {.output = output, .is_first = true};
    const char *head = "ix,id,name,parent,cpu_time_total,self_cpu_time_total,device_time_total,"
                       "self_device_time_total,self_cpu_memory_usage,self_device_memory_usage\r\n";

    (void)options;
    (void)diag;
    tp_output_bytes(output, head, strlen(head));
    for (size_t i = 0; i < report->count && !tp_output_failed(output); i++) {
        const struct tp_function_event *event = &report->list->events[report->order[i]];
        put_number(&csv, tp_number_integer(report->order[i]));
        put_number(&csv, tp_number_integer(event->id));
        put_string(&csv, report, event->name);
        if (event->parent == TP_NO_EVENT)
            put_field(&csv, "", 0);
        else
            put_number(&csv, tp_number_integer(event->parent));
        put_number(&csv, tp_event_cpu_time_total(event));
        put_number(&csv, tp_event_get(event, TP_EVENT_SELF_CPU_TIME));
        put_number(&csv, tp_event_get(event, TP_EVENT_DEVICE_TIME));
        put_number(&csv, tp_event_get(event, TP_EVENT_SELF_DEVICE_TIME));
        put_number(&csv, tp_event_get(event, TP_EVENT_SELF_CPU_MEMORY));
        put_number(&csv, tp_event_get(event, TP_EVENT_SELF_DEVICE_MEMORY));
        end_line(&csv);
    }
    finish(&csv);
    return 0;
}
