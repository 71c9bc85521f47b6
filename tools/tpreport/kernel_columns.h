/* SPDX-License-Identifier: MIT
 * Columns of the kernels report; the table is kernel_columns.def. */
#ifndef TP_KERNEL_COLUMNS_H
#define TP_KERNEL_COLUMNS_H

#include "base/error.h"
#include "model/kernels.h"

enum tp_kernel_column_id {
#define TP_KERNEL_COLUMN(id, name, heading, unit, value, help) TP_KERNEL_COLUMN_##id,
#include "kernel_columns.def"
#undef TP_KERNEL_COLUMN
    TP_KERNEL_COLUMNS
};

enum tp_kernel_unit { TP_KERNEL_TEXT, TP_KERNEL_US, TP_KERNEL_SHARE, TP_KERNEL_COUNT };

struct tp_kernel_column {
    const char *name;
    const char *heading;
    enum tp_kernel_unit unit;
    struct tp_number (*value)(const struct tp_kernel_report *report,
                              const struct tp_kernel_row *row); /* TEXT: the string id */
    const char *help;
};

/** tp_kernel_column_get - the table's row. Context: any thread, constant. */
const struct tp_kernel_column *tp_kernel_column_get(enum tp_kernel_column_id id);

/**
 * tp_kernel_column_find - what --sort-by means here
 * The names of event-list columns that say the same are taken as well (key, count,
 * self_device_time_total, device_time_total, self_cpu_time_total; cuda, xpu and privateuse1 read
 * as device).
 * @diag: the names there are
 * Return: a column id or -TP_ENOTFOUND.
 */
int tp_kernel_column_find(const char *name, struct tp_diag *diag);

/** tp_kernel_column_sort - put the report's rows into descending order; equal ones keep theirs.
 * Return: 0 or -ENOMEM. */
int tp_kernel_column_sort(struct tp_kernel_report *report, enum tp_kernel_column_id id,
                          const struct tp_strings *strings);

/** tp_kernel_us - nanoseconds as microseconds: whole ones stay exact to their three decimals */
struct tp_number tp_kernel_us(struct tp_number ns);

#endif
