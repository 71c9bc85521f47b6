/* SPDX-License-Identifier: MIT
 * RFC 4180: a header line, lines end in CR LF, fields with special characters in quotes. None is an
 * empty field; a stack is a JSON array in one field, so that it can be taken apart again. */
#include "view/view.h"

#include <string.h>

#include "columns.h"
#include "model/python_text.h"
#include "view/csv_line.h"

struct csv {
    struct tp_csv_line line;
    struct tp_buffer field;
};

static void put_string(struct csv *csv, const struct tp_report *report, uint32_t id)
{
    const struct tp_string *string = tp_strings_get(report->strings, id);

    tp_csv_line_field(&csv->line, string->bytes, string->size);
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
    tp_csv_line_field(&csv->line, csv->field.bytes, csv->field.size);
}

static void put_value(struct csv *csv, const struct tp_report *report, const struct tp_value *value)
{
    switch (value->kind) {
    case TP_VALUE_NONE:
        tp_csv_line_text(&csv->line, "");
        break;
    case TP_VALUE_NUMBER:
        tp_csv_line_number(&csv->line, value->number);
        break;
    case TP_VALUE_STRING:
        put_string(csv, report, value->id);
        break;
    case TP_VALUE_TEXT:
        tp_csv_line_text(&csv->line, value->text);
        break;
    case TP_VALUE_FLAG:
        tp_csv_line_text(&csv->line, value->flag ? "true" : "false");
        break;
    case TP_VALUE_STACK:
        put_stack(csv, report, value->id, value->count);
        break;
    }
}

static void finish(struct csv *csv)
{
    tp_csv_line_fini(&csv->line);
    tp_buffer_fini(&csv->field);
}

static void put_head(struct csv *csv, bool rows_are_events, bool percentiles)
{
    for (int id = 0; id < TP_COLUMNS; id++) {
        const char *name = tp_column_get(id)->name;
        if (tp_column_is_shown(id, rows_are_events, percentiles))
            tp_csv_line_text(&csv->line, name);
    }
    tp_csv_line_end(&csv->line);
}

int tp_csv_write_rows(const struct tp_report *report, const struct tp_view_options *options,
                      struct tp_output *output, struct tp_diag *diag)
{
    struct csv csv = {.line = {.output = output, .end = "\r\n"}};
    int64_t printed = 0, limit = tp_view_row_limit(options, -1);
    bool events = tp_report_shows_events(report);
    struct tp_average scratch;
    const struct tp_average *row;

    (void)diag;
    put_head(&csv, events, report->percentiles);
    for (size_t i = 0; !tp_output_failed(output); i++) {
        row = tp_view_next_row(report, options, limit, &i, &printed, &scratch);
        if (!row)
            break;
        for (int id = 0; id < TP_COLUMNS; id++) {
            if (!tp_column_is_shown(id, events, report->percentiles))
                continue;
            struct tp_value value = tp_column_get(id)->value(row);
            put_value(&csv, report, &value);
        }
        tp_csv_line_end(&csv.line);
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
    struct csv csv = {.line = {.output = output, .end = "\r\n"}};
    const char *head = "ix,id,name,parent,cpu_time_total,self_cpu_time_total,device_time_total,"
                       "self_device_time_total,self_cpu_memory_usage,self_device_memory_usage\r\n";

    (void)options;
    (void)diag;
    tp_output_bytes(output, head, strlen(head));
    for (size_t i = 0; i < report->count && !tp_output_failed(output); i++) {
        const struct tp_function_event *event = &report->list->events[report->order[i]];
        tp_csv_line_number(&csv.line, tp_number_integer(report->order[i]));
        tp_csv_line_number(&csv.line, tp_number_integer(event->id));
        put_string(&csv, report, event->name);
        if (event->parent == TP_NO_EVENT)
            tp_csv_line_text(&csv.line, "");
        else
            tp_csv_line_number(&csv.line, tp_number_integer(event->parent));
        tp_csv_line_number(&csv.line, tp_event_cpu_time_total(event));
        tp_csv_line_number(&csv.line, tp_event_get(event, TP_EVENT_SELF_CPU_TIME));
        tp_csv_line_number(&csv.line, tp_event_get(event, TP_EVENT_DEVICE_TIME));
        tp_csv_line_number(&csv.line, tp_event_get(event, TP_EVENT_SELF_DEVICE_TIME));
        tp_csv_line_number(&csv.line, tp_event_get(event, TP_EVENT_SELF_CPU_MEMORY));
        tp_csv_line_number(&csv.line, tp_event_get(event, TP_EVENT_SELF_DEVICE_MEMORY));
        tp_csv_line_end(&csv.line);
    }
    finish(&csv);
    return 0;
}
