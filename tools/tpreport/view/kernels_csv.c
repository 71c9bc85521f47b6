/* SPDX-License-Identifier: MIT
 * The kernels report as CSV: our own columns, and those of nsys's reports (nanoseconds, totals and
 * extremes whole, the rest with one decimal; StdDev is the sample's, 0.0 for a single call). */
#include "view/view.h"

#include <string.h>

#include "kernel_columns.h"
#include "model/geometry.h"
#include "view/csv_line.h"

static void put_name(struct tp_csv_line *line, const struct tp_report *report, uint32_t id)
{
    const struct tp_string *name = tp_strings_get(report->strings, id);

    tp_csv_line_field(line, name->bytes, name->size);
}

static const char *const geometry_columns[] = {"grid",
                                               "block",
                                               "registers",
                                               "static_shared_bytes",
                                               "dynamic_shared_bytes",
                                               "local_bytes",
                                               "occupancy_percent"};

enum { GEOMETRY_COLUMNS = sizeof(geometry_columns) / sizeof(geometry_columns[0]) };

static void put_three(struct tp_csv_line *line, const int64_t values[3])
{
    tp_csv_line_format(line, "%lldx%lldx%lld", (long long)values[0], (long long)values[1],
                       (long long)values[2]);
}

/* Empty where launches differ or nothing is known. */
static void put_geometry(struct tp_csv_line *line, const struct tp_report *report,
                         const struct tp_kernel_row *row)
{
    const struct tp_string *json = tp_strings_get(report->strings, row->geometry);
    struct tp_geometry g;

    if (!row->geometry_varies && tp_geometry_parse(&g, json->bytes, json->size)) {
        const int64_t numbers[] = {g.registers, g.static_shared, g.dynamic_shared, g.local};
        put_three(line, g.grid);
        put_three(line, g.block);
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
            tp_csv_line_format(line, "%lld", (long long)numbers[i]);
    } else {
        for (int i = 0; i + 1 < GEOMETRY_COLUMNS; i++)
            tp_csv_line_text(line, "");
    }
    if (row->occupied_ns > 0)
        tp_csv_line_format(line, "%.1f", row->occupancy_ns / row->occupied_ns);
    else
        tp_csv_line_text(line, "");
}

static void put_row(struct tp_csv_line *line, const struct tp_report *report,
                    const struct tp_kernel_row *row)
{
    for (int id = 0; id < TP_KERNEL_COLUMNS; id++) {
        const struct tp_kernel_column *column = tp_kernel_column_get(id);
        struct tp_number value = column->value(report->kernels, row);
        if (column->unit == TP_KERNEL_TEXT)
            put_name(line, report, (uint32_t)value.bits.low);
        else
            tp_csv_line_number(line, value);
    }
    tp_csv_line_text(line, row->durations.is_rounded ? "false" : "true");
    if (report->kernels->kernels->has_geometry)
        put_geometry(line, report, row);
    tp_csv_line_end(line);
}

int tp_kernels_write_csv(const struct tp_report *report, const struct tp_view_options *options,
                         struct tp_output *output, struct tp_diag *diag)
{
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(report->kernels);
    int64_t limit = tp_view_row_limit(options, -1);
    struct tp_csv_line line = {.output = output, .end = "\r\n"};

    (void)diag;
    for (int id = 0; id < TP_KERNEL_COLUMNS; id++)
        tp_csv_line_text(&line, tp_kernel_column_get(id)->name);
    tp_csv_line_text(&line, "median_is_exact");
    for (int i = 0; report->kernels->kernels->has_geometry && i < GEOMETRY_COLUMNS; i++)
        tp_csv_line_text(&line, geometry_columns[i]);
    tp_csv_line_end(&line);
    for (uint32_t i = 0; rows && i < rows->count && i != limit; i++)
        put_row(&line, report, &rows->items[i]);
    tp_csv_line_fini(&line);
    return 0;
}

/* ---- nsys ---- */

/* Whole nanoseconds; of an integer exactly. */
static void put_whole(struct tp_csv_line *line, struct tp_number ns)
{
    if (ns.is_real)
        tp_csv_line_format(line, "%.0f", ns.bits.real);
    else
        tp_csv_line_number(line, ns);
}

static void put_nsys_row(struct tp_csv_line *line, const struct tp_report *report,
                         const struct tp_kernel_row *row, struct tp_number all_ns)
{
    double total = tp_number_to_double(row->total_ns);
    const struct tp_durations *durations = &row->durations;

    tp_csv_line_format(line, "%.1f", total * 100.0 / tp_number_to_double(all_ns));
    put_whole(line, row->total_ns);
    tp_csv_line_number(line, tp_number_wide(durations->count));
    tp_csv_line_format(line, "%.1f", total / (double)durations->count);
    tp_csv_line_format(line, "%s%.1f", durations->is_rounded ? "~" : "", row->median_ns);
    put_whole(line, row->minimum_ns);
    put_whole(line, row->maximum_ns);
    tp_csv_line_format(line, "%.1f", tp_durations_deviation(durations));
    put_name(line, report, row->name);
    tp_csv_line_end(line);
}

static int write_nsys(const struct tp_report *report, const struct tp_view_options *options,
                      struct tp_output *output, const char *header)
{
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(report->kernels);
    int64_t limit = tp_view_row_limit(options, -1);
    struct tp_csv_line line = {.output = output, .end = "\n"};

    tp_output_bytes(output, header, strlen(header));
    for (uint32_t i = 0; rows && i < rows->count && i != limit; i++)
        put_nsys_row(&line, report, &rows->items[i], rows->total_ns);
    tp_csv_line_fini(&line);
    return 0;
}

int tp_nsys_write_kernels(const struct tp_report *report, const struct tp_view_options *options,
                          struct tp_output *output, struct tp_diag *diag)
{
    (void)diag;
    return write_nsys(report, options, output,
                      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),"
                      "StdDev (ns),Name\n");
}

int tp_nsys_write_calls(const struct tp_report *report, const struct tp_view_options *options,
                        struct tp_output *output, struct tp_diag *diag)
{
    (void)diag;
    return write_nsys(report, options, output,
                      "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),"
                      "StdDev (ns),Name\n");
}
