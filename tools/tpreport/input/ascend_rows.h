/* SPDX-License-Identifier: MIT
 * Rows of Ascend's kernel_details.csv and operator_details.csv as pieces of work. */
#ifndef TP_INPUT_ASCEND_ROWS_H
#define TP_INPUT_ASCEND_ROWS_H

#include "input/csv.h"
#include "input/input.h"
#include "model/work.h"

enum tp_ascend_field {
    TP_ASCEND_NAME,
    TP_ASCEND_STEP,
    TP_ASCEND_DEVICE,
    TP_ASCEND_STREAM,
    TP_ASCEND_TYPE,
    TP_ASCEND_CORE,
    TP_ASCEND_START,
    TP_ASCEND_DURATION,
    TP_ASCEND_WAIT,
    TP_ASCEND_BLOCKS,
    TP_ASCEND_INPUT_SHAPES,
    TP_ASCEND_INPUT_DTYPES,
    TP_ASCEND_INPUT_FORMATS,
    TP_ASCEND_OUTPUT_SHAPES,
    TP_ASCEND_OUTPUT_DTYPES,
    TP_ASCEND_OUTPUT_FORMATS,
    TP_ASCEND_CALL_STACK,
    TP_ASCEND_HOST_SELF,
    TP_ASCEND_HOST_TOTAL,
    TP_ASCEND_DEVICE_SELF,
    TP_ASCEND_DEVICE_TOTAL,
    TP_ASCEND_AICORE_SELF,
    TP_ASCEND_AICORE_TOTAL,
    TP_ASCEND_FIELDS
};

enum tp_ascend_file { TP_ASCEND_NEITHER, TP_ASCEND_KERNELS, TP_ASCEND_OPERATORS };

/* Which column is which field; -1: the file has none. */
struct tp_ascend_header {
    enum tp_ascend_file file;
    size_t count;
    int columns[TP_ASCEND_FIELDS];
};

/** tp_ascend_header_read - what a header line says; file is TP_ASCEND_NEITHER when it isn't one of
 * ours */
void tp_ascend_header_read(struct tp_ascend_header *header, const struct tp_csv_row *row);

/* Reading one file. Start from tp_ascend_rows_init. */
struct tp_ascend_rows {
    struct tp_csv csv;
    struct tp_ascend_header header;
    struct tp_strings *strings;
    struct tp_work_sink *sink;
    const struct tp_selection *selection; /* NULL: everything */
    int64_t base_ns;                      /* what relative times of the selection count from */
    struct tp_diag *diag;
    bool saw_header;
    uint64_t lost_count; /* rows cut short: at most the last one */
    char lost_text[160];
};

/**
 * tp_ascend_rows_init - then feed and end rows->csv
 * @base_ns: the run's first start, for a selection that counts from it
 * tp_ascend_rows_fini - takes one in any state
 */
void tp_ascend_rows_init(struct tp_ascend_rows *rows, struct tp_strings *strings,
                         const struct tp_selection *selection, int64_t base_ns,
                         struct tp_work_sink *sink, struct tp_diag *diag);
void tp_ascend_rows_fini(struct tp_ascend_rows *rows);

/** tp_ascend_ns - decimal microseconds as nanoseconds; exact to three decimals. Return: 0 or
 * -TP_ESYNTAX. */
int tp_ascend_ns(const char *text, size_t size, struct tp_number *ret_ns);

#endif
