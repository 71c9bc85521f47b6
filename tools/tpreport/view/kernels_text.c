/* SPDX-License-Identifier: MIT
 * The kernels report for people: a table in the manner of the averages, then what it adds up to. */
#include "view/view.h"

#include "base/text.h"
#include "kernel_columns.h"
#include "model/geometry.h"

enum { FIXED_WIDTH = 12, EXTRA_WIDTH = 4, DEFAULT_ROWS = 100, SHOWN_CAPTURES = 3 };

struct kernels_text {
    const struct tp_report *report;
    const struct tp_view_options *options;
    struct tp_buffer out, cell;
    size_t widths[TP_KERNEL_COLUMNS]; /* 0: not shown */
};

/* ---- the table ---- */

static void choose_widths(struct kernels_text *t)
{
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(t->report->kernels);
    size_t longest = 0;

    for (uint32_t i = 0; i < rows->count; i++) {
        size_t length =
            tp_format_display_length(tp_strings_get(t->report->strings, rows->items[i].name));
        longest = length > longest ? length : longest;
    }
    for (int id = 0; id < TP_KERNEL_COLUMNS; id++)
        t->widths[id] = FIXED_WIDTH;
    if (t->report->kernels->repeat == 1)
        t->widths[TP_KERNEL_COLUMN_PER_REPEAT] = 0;
    longest += EXTRA_WIDTH;
    if (t->options->max_name_width && longest > t->options->max_name_width)
        longest = t->options->max_name_width;
    t->widths[TP_KERNEL_COLUMN_NAME] = longest;
}

static void put_rule(struct kernels_text *t, char c)
{
    for (int id = 0; id < TP_KERNEL_COLUMNS; id++) {
        for (size_t i = 0; i < t->widths[id]; i++)
            tp_buffer_char(&t->out, c);
        if (t->widths[id])
            tp_buffer_string(&t->out, "  ");
    }
    tp_buffer_char(&t->out, '\n');
}

/* What is in t->cell, right-aligned. */
static void put_cell(struct kernels_text *t, size_t width)
{
    for (size_t length = tp_utf8_length(t->cell.bytes, t->cell.size); length < width; length++)
        tp_buffer_char(&t->out, ' ');
    tp_buffer_bytes(&t->out, t->cell.bytes, t->cell.size);
    tp_buffer_string(&t->out, "  ");
    tp_buffer_reset(&t->cell);
}

static void format_name(struct kernels_text *t, uint32_t id)
{
    size_t limit = t->options->max_name_width;

    tp_format_display(&t->cell, tp_strings_get(t->report->strings, id));
    if (!limit || tp_utf8_length(t->cell.bytes, t->cell.size) <= limit)
        return;
    t->cell.size = tp_format_prefix(t->cell.bytes, t->cell.size, limit > 3 ? limit - 3 : 0);
    tp_buffer_string(&t->cell, "...");
}

static void format_value(struct kernels_text *t, int id, const struct tp_kernel_row *row)
{
    const struct tp_kernel_column *column = tp_kernel_column_get(id);
    struct tp_number value = column->value(t->report->kernels, row);

    switch (column->unit) {
    case TP_KERNEL_TEXT:
        format_name(t, (uint32_t)value.bits.low);
        break;
    case TP_KERNEL_US:
        if (id == TP_KERNEL_COLUMN_MEDIAN && row->durations.is_rounded)
            tp_buffer_char(&t->cell, '~');
        tp_format_time(&t->cell, value, t->options->time_unit);
        break;
    case TP_KERNEL_SHARE:
        tp_buffer_format(&t->cell, "%.2f%%", tp_number_to_double(value));
        break;
    case TP_KERNEL_COUNT:
        tp_format_number(&t->cell, value);
        break;
    }
}

static void put_headings(struct kernels_text *t)
{
    for (int id = 0; id < TP_KERNEL_COLUMNS; id++) {
        if (!t->widths[id])
            continue;
        tp_buffer_string(&t->cell, tp_kernel_column_get(id)->heading);
        put_cell(t, t->widths[id]);
    }
    tp_buffer_char(&t->out, '\n');
}

static void put_row(struct kernels_text *t, const struct tp_kernel_row *row)
{
    for (int id = 0; id < TP_KERNEL_COLUMNS; id++) {
        if (!t->widths[id])
            continue;
        format_value(t, id, row);
        put_cell(t, t->widths[id]);
    }
    tp_buffer_char(&t->out, '\n');
}

/* Below the row, when asked for. */
static void put_geometry(struct kernels_text *t, const struct tp_kernel_row *row)
{
    const struct tp_string *json = tp_strings_get(t->report->strings, row->geometry);
    struct tp_geometry g;

    if (!tp_geometry_parse(&g, json->bytes, json->size))
        return;
    tp_buffer_format(&t->out, "    %sgrid %lldx%lldx%lld, block %lldx%lldx%lld",
                     row->geometry_varies ? "varies; first: " : "", (long long)g.grid[0],
                     (long long)g.grid[1], (long long)g.grid[2], (long long)g.block[0],
                     (long long)g.block[1], (long long)g.block[2]);
    if (g.registers >= 0)
        tp_buffer_format(&t->out, ", %lld register%s", (long long)g.registers,
                         g.registers == 1 ? "" : "s");
    if (g.static_shared >= 0 && g.dynamic_shared >= 0)
        tp_buffer_format(&t->out, ", %lld + %lld B shared", (long long)g.static_shared,
                         (long long)g.dynamic_shared);
    if (g.local > 0)
        tp_buffer_format(&t->out, ", %lld B local", (long long)g.local);
    if (row->occupied_ns > 0)
        tp_buffer_format(&t->out, ", estimated occupancy %.1f%%",
                         row->occupancy_ns / row->occupied_ns);
    tp_buffer_char(&t->out, '\n');
}

/* Below the row of kernels of graphs: the longest ones first. */
static void put_captures(struct kernels_text *t, const struct tp_kernel_row *row)
{
    for (uint32_t i = 0; i < row->capture_count && i < SHOWN_CAPTURES; i++) {
        const struct tp_kernel_capture *capture = &row->captures[i];
        tp_buffer_string(&t->out, i ? ", " : "    captured in ");
        format_name(t, capture->name);
        tp_buffer_bytes(&t->out, t->cell.bytes, t->cell.size);
        tp_buffer_reset(&t->cell);
        tp_buffer_format(&t->out, " (%llu call%s, ", (unsigned long long)capture->calls,
                         capture->calls == 1 ? "" : "s");
        tp_format_time(&t->out, tp_kernel_us(capture->ns), t->options->time_unit);
        tp_buffer_char(&t->out, ')');
    }
    if (row->capture_count > SHOWN_CAPTURES)
        tp_buffer_format(&t->out, ", %u more", row->capture_count - SHOWN_CAPTURES);
    if (row->capture_count)
        tp_buffer_char(&t->out, '\n');
}

static void put_header(struct kernels_text *t)
{
    put_rule(t, '=');
    tp_buffer_string(&t->out, t->options->header);
    tp_buffer_char(&t->out, '\n');
}

static void put_table(struct kernels_text *t)
{
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(t->report->kernels);
    int64_t limit = tp_view_row_limit(t->options, DEFAULT_ROWS);
    uint32_t count = limit < 0 || limit > rows->count ? rows->count : (uint32_t)limit;

    choose_widths(t);
    if (t->options->header)
        put_header(t);
    put_rule(t, '-');
    put_headings(t);
    put_rule(t, '-');
    for (uint32_t i = 0; i < count; i++) {
        put_row(t, &rows->items[i]);
        if (t->options->geometry)
            put_geometry(t, &rows->items[i]);
        put_captures(t, &rows->items[i]);
    }
    put_rule(t, '-');
    if (count < rows->count)
        tp_buffer_format(&t->out, "%u more row%s (--row-limit)\n", rows->count - count,
                         rows->count - count == 1 ? "" : "s");
}

/* ---- what it adds up to ---- */

static void put_time(struct kernels_text *t, struct tp_number ns)
{
    tp_format_time(&t->out, tp_kernel_us(ns), t->options->time_unit);
}

static void put_calls(struct kernels_text *t, uint64_t calls)
{
    tp_buffer_format(&t->out, " in %llu call%s", (unsigned long long)calls, calls == 1 ? "" : "s");
}

/* "; per repeat: 1.5ms" and the line's end */
static void end_total(struct kernels_text *t, struct tp_number ns)
{
    uint32_t repeat = t->report->kernels->repeat;

    if (repeat > 1) {
        tp_buffer_string(&t->out, "; per repeat: ");
        put_time(t, tp_number_real(tp_number_to_double(ns) / repeat));
    }
    tp_buffer_char(&t->out, '\n');
}

static void put_device_total(struct kernels_text *t)
{
    const struct tp_kernel_report *report = t->report->kernels;
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(report);
    const struct tp_kernel_rows *copies = &report->kernels->classes[TP_CLASS_COPIES];
    const struct tp_kernel_rows *waits = &report->kernels->classes[TP_CLASS_WAITS];

    tp_buffer_string(&t->out, "Device time total: ");
    put_time(t, rows->total_ns);
    put_calls(t, rows->calls);
    end_total(t, rows->total_ns);
    if (report->shown == TP_CLASS_KERNELS && copies->calls) {
        struct tp_number all_ns = tp_number_add(rows->total_ns, copies->total_ns);
        tp_buffer_string(&t->out, "Copies and fills (not in the rows): ");
        put_time(t, copies->total_ns);
        put_calls(t, copies->calls);
        tp_buffer_string(&t->out, "; with them ");
        put_time(t, all_ns);
        end_total(t, all_ns);
    }
    if (waits->calls)
        tp_buffer_format(&t->out, "Waits and annotations on the device (not in the rows): %llu\n",
                         (unsigned long long)waits->calls);
}

static void put_host_total(struct kernels_text *t)
{
    const struct tp_kernels *kernels = t->report->kernels->kernels;

    tp_buffer_string(&t->out, "Host time total: ");
    if (!kernels->saw_host) {
        tp_buffer_string(&t->out, "not recorded\n");
        return;
    }
    put_time(t, kernels->self_cpu_ns);
    tp_buffer_string(&t->out, " self CPU time, ");
    put_time(t, kernels->cpu_ns);
    tp_buffer_string(&t->out, " CPU time total");
    end_total(t, kernels->self_cpu_ns);
}

static void put_elapsed(struct kernels_text *t)
{
    const struct tp_kernels *kernels = t->report->kernels->kernels;

    tp_buffer_string(&t->out, "Elapsed: ");
    if (!kernels->has_elapsed) {
        tp_buffer_string(&t->out, "not recorded\n");
        return;
    }
    put_time(t, kernels->elapsed_ns);
    end_total(t, kernels->elapsed_ns);
}

static void put_skipped(struct kernels_text *t)
{
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(t->report->kernels);

    if (!rows || !(rows->without_time || rows->negative))
        return;
    tp_buffer_format(&t->out, "Skipped: %llu without a duration, %llu with a negative one",
                     (unsigned long long)rows->without_time, (unsigned long long)rows->negative);
    if (rows->negative) {
        tp_buffer_string(&t->out, " (");
        put_time(t, rows->negative_ns);
        tp_buffer_char(&t->out, ')');
    }
    tp_buffer_char(&t->out, '\n');
}

static void put_launches(struct kernels_text *t)
{
    const struct tp_kernel_rows *rows = &t->report->kernels->kernels->launches;
    int64_t limit = tp_view_row_limit(t->options, DEFAULT_ROWS);

    if (rows->count)
        tp_buffer_string(&t->out, "Launches of kernels whose time is not known:\n");
    for (uint32_t i = 0; i < rows->count && i != limit; i++) {
        tp_buffer_format(&t->out, "%12llu  ", (unsigned long long)rows->items[i].launches);
        format_name(t, rows->items[i].name);
        put_cell(t, 0);
        tp_buffer_char(&t->out, '\n');
    }
}

int tp_kernels_write_text(const struct tp_report *report, const struct tp_view_options *options,
                          struct tp_output *output, struct tp_diag *diag)
{
    struct kernels_text t = {.report = report, .options = options};
    const struct tp_kernel_report *kernels = report->kernels;

    (void)diag;
    if (kernels->shown < TP_CLASSES)
        put_table(&t);
    tp_buffer_format(&t.out, "Profiler: %s (%s); rows: %s\n", tp_profiler_name(kernels->profiler),
                     tp_profiler_help(kernels->profiler), tp_work_class_name(kernels->shown));
    if (kernels->profiler == TP_PROFILER_DEVICE || kernels->profiler == TP_PROFILER_ASCEND)
        put_device_total(&t);
    put_host_total(&t);
    put_elapsed(&t);
    put_skipped(&t);
    put_launches(&t);
    if (kernels->repeat > 1)
        tp_buffer_format(&t.out, "Repeats: %u\n", kernels->repeat);
    tp_output_buffer(output, &t.out);
    tp_buffer_fini(&t.out);
    tp_buffer_fini(&t.cell);
    return 0;
}
