/* SPDX-License-Identifier: MIT
 * The kernels report as one JSON object: head, totals, then one row per line. */
#include "view/view.h"

#include "kernel_columns.h"
#include "model/geometry.h"
#include "model/python_text.h"

static void put_key(struct tp_buffer *out, const char *key)
{
    tp_buffer_format(out, "\"%s\": ", key);
}

static void put_us(struct tp_buffer *out, const char *key, bool is_known, struct tp_number ns,
                   uint32_t repeat)
{
    put_key(out, key);
    if (is_known)
        tp_format_json_number(out, tp_number_real(tp_number_to_double(ns) / 1000.0 / repeat));
    else
        tp_buffer_string(out, "null");
}

/* The times that are told both in all and per repeat. */
static void put_times(struct tp_buffer *out, const struct tp_kernel_report *report, uint32_t repeat)
{
    const struct tp_kernels *kernels = report->kernels;
    bool is_device =
        report->profiler == TP_PROFILER_DEVICE || report->profiler == TP_PROFILER_ASCEND;
    struct tp_number none = tp_number_integer(0);

    put_us(out, "device_time_us", is_device,
           is_device ? tp_kernel_report_rows(report)->total_ns : none, repeat);
    tp_buffer_string(out, ", ");
    put_us(out, "copy_time_us", kernels->saw_device, kernels->classes[TP_CLASS_COPIES].total_ns,
           repeat);
    tp_buffer_string(out, ", ");
    put_us(out, "self_cpu_time_total", kernels->saw_host, kernels->self_cpu_ns, repeat);
    tp_buffer_string(out, ", ");
    put_us(out, "cpu_time_total", kernels->saw_host, kernels->cpu_ns, repeat);
    tp_buffer_string(out, ", ");
    put_us(out, "elapsed_us", kernels->has_elapsed, kernels->elapsed_ns, repeat);
}

static void put_head(struct tp_buffer *out, const struct tp_kernel_report *report)
{
    static const struct tp_kernel_rows no_rows;
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(report);

    rows = rows ? rows : &no_rows;
    tp_buffer_format(out,
                     "{\"version\": 1, \"producer\": \"tpreport " TP_VERSION
                     "\", \"units\": {\"time\": \"us\"},\n\"profiler\": \"%s\", \"rows_are\": "
                     "\"%s\", \"repeat\": %u,\n\"totals\": {",
                     tp_profiler_name(report->profiler), tp_work_class_name(report->shown),
                     report->repeat);
    put_times(out, report, 1);
    tp_buffer_format(out, ", \"calls\": %llu, \"copies\": %llu, \"waits\": %llu},\n",
                     (unsigned long long)rows->calls,
                     (unsigned long long)report->kernels->classes[TP_CLASS_COPIES].calls,
                     (unsigned long long)report->kernels->classes[TP_CLASS_WAITS].calls);
    tp_buffer_string(out, "\"per_repeat\": {");
    put_times(out, report, report->repeat);
    tp_buffer_format(out,
                     "},\n\"skipped\": {\"without_duration\": %llu, \"negative_duration\": %llu, ",
                     (unsigned long long)rows->without_time, (unsigned long long)rows->negative);
    put_us(out, "negative_us", true, rows->negative_ns, 1);
    tp_buffer_string(out, "},\n\"rows\": [");
}

/* "grid": [4, 1, 1], ...; null where launches differ or nothing is known. */
static void put_geometry(struct tp_buffer *out, const struct tp_report *report,
                         const struct tp_kernel_row *row)
{
    const struct tp_string *json = tp_strings_get(report->strings, row->geometry);
    struct tp_geometry g;

    if (row->occupied_ns > 0)
        tp_buffer_format(out, ", \"occupancy_percent\": %.1f",
                         row->occupancy_ns / row->occupied_ns);
    else
        tp_buffer_string(out, ", \"occupancy_percent\": null");
    tp_buffer_format(
        out, ", \"geometry_varies\": %s, \"geometry\": ", row->geometry_varies ? "true" : "false");
    if (row->geometry_varies || !tp_geometry_parse(&g, json->bytes, json->size)) {
        tp_buffer_string(out, "null");
        return;
    }
    tp_buffer_format(out,
                     "{\"grid\": [%lld, %lld, %lld], \"block\": [%lld, %lld, %lld], "
                     "\"registers\": %lld, \"static_shared_bytes\": %lld, "
                     "\"dynamic_shared_bytes\": %lld, \"local_bytes\": %lld}",
                     (long long)g.grid[0], (long long)g.grid[1], (long long)g.grid[2],
                     (long long)g.block[0], (long long)g.block[1], (long long)g.block[2],
                     (long long)g.registers, (long long)g.static_shared,
                     (long long)g.dynamic_shared, (long long)g.local);
}

/* Of kernels of graphs. */
static void put_captures(struct tp_buffer *out, const struct tp_report *report,
                         const struct tp_kernel_row *row)
{
    tp_buffer_string(out, ", \"captured_in\": [");
    for (uint32_t i = 0; i < row->capture_count; i++) {
        const struct tp_kernel_capture *capture = &row->captures[i];
        const struct tp_string *name = tp_strings_get(report->strings, capture->name);
        tp_buffer_string(out, i ? ", {\"name\": " : "{\"name\": ");
        tp_json_string(out, name->bytes, name->size);
        tp_buffer_format(out,
                         ", \"count\": %llu, \"total_us\": ", (unsigned long long)capture->calls);
        tp_format_json_number(out, tp_kernel_us(capture->ns));
        tp_buffer_char(out, '}');
    }
    tp_buffer_char(out, ']');
}

static void put_row(struct tp_buffer *out, const struct tp_report *report,
                    const struct tp_kernel_row *row)
{
    for (int id = 0; id < TP_KERNEL_COLUMNS; id++) {
        const struct tp_kernel_column *column = tp_kernel_column_get(id);
        struct tp_number value = column->value(report->kernels, row);
        tp_buffer_string(out, id ? ", " : "{");
        put_key(out, column->name);
        if (column->unit == TP_KERNEL_TEXT) {
            const struct tp_string *name =
                tp_strings_get(report->strings, (uint32_t)value.bits.low);
            tp_json_string(out, name->bytes, name->size);
        } else {
            tp_format_json_number(out, value);
        }
    }
    tp_buffer_format(out, ", \"median_is_exact\": %s, \"names\": %u",
                     row->durations.is_rounded ? "false" : "true", row->name_count);
    if (report->kernels->kernels->has_geometry)
        put_geometry(out, report, row);
    if (report->kernels->kernels->has_captures)
        put_captures(out, report, row);
    tp_buffer_char(out, '}');
}

/* Kernels whose times are not known, where there are any. */
static void put_launches(struct tp_buffer *out, const struct tp_report *report)
{
    const struct tp_kernel_rows *rows = &report->kernels->kernels->launches;

    if (!rows->count)
        return;
    tp_buffer_string(out, ",\n\"launches_without_time\": [");
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct tp_string *name = tp_strings_get(report->strings, rows->items[i].name);
        tp_buffer_string(out, i ? ",\n{\"name\": " : "\n{\"name\": ");
        tp_json_string(out, name->bytes, name->size);
        tp_buffer_format(out, ", \"count\": %llu}", (unsigned long long)rows->items[i].launches);
    }
    tp_buffer_string(out, "\n]");
}

int tp_kernels_write_json(const struct tp_report *report, const struct tp_view_options *options,
                          struct tp_output *output, struct tp_diag *diag)
{
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(report->kernels);
    int64_t limit = tp_view_row_limit(options, -1);
    struct tp_buffer line = {0};

    (void)diag;
    put_head(&line, report->kernels);
    for (uint32_t i = 0; rows && i < rows->count && i != limit; i++) {
        tp_buffer_string(&line, i ? ",\n" : "\n");
        put_row(&line, report, &rows->items[i]);
        tp_output_buffer(output, &line);
        tp_buffer_reset(&line);
    }
    tp_buffer_string(&line, "\n]");
    put_launches(&line, report);
    tp_buffer_string(&line, "}\n");
    tp_output_buffer(output, &line);
    tp_buffer_fini(&line);
    return 0;
}
