/* SPDX-License-Identifier: MIT */
#include "kernel_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "nearest.h"

struct tp_number tp_kernel_us(struct tp_number ns)
{
    return tp_number_real(tp_number_to_double(ns) / 1000.0);
}

/* ---- values, one function for each name in the table ---- */

#define KERNEL_VALUE(name, expression)                                                             \
    static struct tp_number value_##name(const struct tp_kernel_report *report,                    \
                                         const struct tp_kernel_row *row)                          \
    {                                                                                              \
        (void)report;                                                                              \
        return expression;                                                                         \
    }
KERNEL_VALUE(name, tp_number_integer(row->name))
KERNEL_VALUE(total, tp_kernel_us(row->total_ns))
KERNEL_VALUE(per_repeat,
             tp_number_real(tp_number_to_double(row->total_ns) / 1000.0 / report->repeat))
KERNEL_VALUE(count, tp_number_wide(row->durations.count))
KERNEL_VALUE(average, tp_number_real(tp_number_to_double(row->total_ns) / 1000.0 /
                                     (double)row->durations.count))
KERNEL_VALUE(median, tp_number_real(row->median_ns / 1000.0))
KERNEL_VALUE(minimum, tp_kernel_us(row->minimum_ns))
KERNEL_VALUE(maximum, tp_kernel_us(row->maximum_ns))
KERNEL_VALUE(stddev, tp_number_real(tp_durations_deviation(&row->durations) / 1000.0))

/* Multiplied first, as the reference does it. */
KERNEL_VALUE(share, tp_number_real(tp_number_to_double(row->total_ns) * 100.0 /
                                   tp_number_to_double(tp_kernel_report_rows(report)->total_ns)))

static const struct tp_kernel_column columns[] = {
#define TP_KERNEL_COLUMN(id, name, heading, unit, value, help)                                     \
    {name, heading, TP_KERNEL_##unit, value_##value, help},
#include "kernel_columns.def"
#undef TP_KERNEL_COLUMN
};

const struct tp_kernel_column *tp_kernel_column_get(enum tp_kernel_column_id id)
{
    return &columns[id];
}

/* ---- names ---- */

static const struct {
    const char *name;
    enum tp_kernel_column_id id;
} aliases[] = {
    {"key", TP_KERNEL_COLUMN_NAME},
    {"device_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"self_device_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"cuda_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"self_cuda_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"xpu_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"self_xpu_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"privateuse1_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"self_privateuse1_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"self_cpu_time_total", TP_KERNEL_COLUMN_TOTAL},
    {"device_time", TP_KERNEL_COLUMN_AVERAGE},
    {"cuda_time", TP_KERNEL_COLUMN_AVERAGE},
};

int tp_kernel_column_find(const char *name, struct tp_diag *diag)
{
    const char *names[TP_KERNEL_COLUMNS];
    char known[256];
    struct tp_text text;

    for (int i = 0; i < TP_KERNEL_COLUMNS; i++) {
        if (!strcmp(columns[i].name, name))
            return i;
        names[i] = columns[i].name;
    }
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (!strcmp(aliases[i].name, name))
            return (int)aliases[i].id;
    }
    tp_text_init(&text, known, sizeof(known));
    tp_put_nearest_first(&text, name, names, TP_KERNEL_COLUMNS, ", ");
    return tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                        "--sort-by: kernels have no column '%.*s'; the nearest first: %s", 60, name,
                        known);
}

/* ---- order ---- */

struct sort_item {
    struct tp_number value;
    uint32_t position;
};

struct sort_context {
    const struct tp_strings *strings; /* NULL: by number */
};

static int compare_items(const void *a, const void *b, void *context)
{
    const struct sort_item *left = a, *right = b;
    const struct tp_strings *strings = ((struct sort_context *)context)->strings;
    int order = strings ? tp_strings_compare(strings, (uint32_t)right->value.bits.low,
                                             (uint32_t)left->value.bits.low)
                        : tp_number_compare(right->value, left->value);

    return order ? order : left->position < right->position ? -1 : left->position > right->position;
}

int tp_kernel_column_sort(struct tp_kernel_report *report, enum tp_kernel_column_id id,
                          const struct tp_strings *strings)
{
    struct sort_context context = {columns[id].unit == TP_KERNEL_TEXT ? strings : NULL};
    struct tp_kernel_rows *rows;

    if (report->shown >= TP_CLASSES || !report->kernels->classes[report->shown].count)
        return 0;
    rows = &report->kernels->classes[report->shown];
    struct sort_item *items = malloc(rows->count * sizeof(*items));
    struct tp_kernel_row *sorted = malloc(rows->count * sizeof(*sorted));
    if (items && sorted) {
        for (uint32_t i = 0; i < rows->count; i++)
            items[i] = (struct sort_item){columns[id].value(report, &rows->items[i]), i};
        qsort_r(items, rows->count, sizeof(*items), compare_items, &context);
        for (uint32_t i = 0; i < rows->count; i++)
            sorted[i] = rows->items[items[i].position];
        memcpy(rows->items, sorted, rows->count * sizeof(*sorted));
    }
    int result = items && sorted ? 0 : -ENOMEM;
    free(items);
    free(sorted);
    return result;
}
