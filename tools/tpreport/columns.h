/* SPDX-License-Identifier: MIT */
#ifndef TP_COLUMNS_H
#define TP_COLUMNS_H

#include "base/error.h"
#include "model/report.h"

enum tp_column_id {
#define TP_COLUMN(id, name, heading, unit, where, value, help) TP_COLUMN_##id,
#include "columns.def"
#undef TP_COLUMN
    TP_COLUMNS
};

enum tp_unit {
    TP_UNIT_TEXT,
    TP_UNIT_US,
    TP_UNIT_BYTES,
    TP_UNIT_COUNT,
    TP_UNIT_FLOP,
    TP_UNIT_FLAG,
    TP_UNIT_SHAPES, /* text form of a list */
    TP_UNIT_JSON,   /* a list or object as JSON text */
    TP_UNIT_STACK,
    TP_UNIT_SHARE_CPU,    /* a time, shown as its part of the CPU sum */
    TP_UNIT_SHARE_DEVICE, /* ... of the device sum */
};

enum tp_column_where {
    TP_WHERE_ROWS,   /* every kind of row, every format */
    TP_WHERE_EVENTS, /* single events, in JSON and CSV */
    TP_WHERE_TABLE,  /* the text table only */
    TP_WHERE_SPREAD, /* groups, every format, when asked for */
};

enum tp_value_kind {
    TP_VALUE_NONE,
    TP_VALUE_NUMBER,
    TP_VALUE_STRING, /* string id */
    TP_VALUE_TEXT,   /* constant C string */
    TP_VALUE_FLAG,
    TP_VALUE_STACK, /* stack id and how many of its frames */
};

struct tp_value {
    enum tp_value_kind kind;
    struct tp_number number;
    const char *text;
    uint32_t id;
    uint32_t count;
    bool flag;
};

struct tp_column {
    const char *name;
    const char *heading;
    enum tp_unit unit;
    enum tp_column_where where;
    struct tp_value (*value)(const struct tp_average *row);
    const char *help;
};

/** tp_column_get - the table's row. Context: any thread, constant. */
const struct tp_column *tp_column_get(enum tp_column_id id);

/**
 * tp_column_is_shown - does @format's full set of columns have it for these rows?
 * Everything but text-table shares; columns of single events only when rows are events; of spreads
 * (@percentiles) when they are asked for.
 */
bool tp_column_is_shown(enum tp_column_id id, bool rows_are_events, bool percentiles);

/** tp_column_is_sortable - does --sort-by take it? All but lists and the shares of text tables. */
bool tp_column_is_sortable(enum tp_column_id id, bool rows_are_events);

/**
 * tp_column_find - what --sort-by means: a name after the reference's aliases (cuda, xpu and
 * privateuse1 read as device)
 * @diag: the reference's sentence about an unknown attribute, and the keys that there are
 * Return: a column id, -TP_ENOTFOUND, or -TP_ETYPE for one that has no order (stack, input_shapes).
 */
int tp_column_find(const char *name, bool rows_are_events, struct tp_diag *diag);

/**
 * tp_column_sort - put a report's rows into descending order; equal ones keep theirs
 * Context: offline, the report's thread.
 * Return: 0 or -ENOMEM.
 */
int tp_column_sort(struct tp_report *report, enum tp_column_id id);

#endif
