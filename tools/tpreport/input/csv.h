/* SPDX-License-Identifier: MIT
 * Comma-separated values as a stream of rows, by RFC 4180: fields in quotes may hold commas, line
 * ends and doubled quotes; lines end in LF or CR LF; a UTF-8 byte order mark is passed over; empty
 * lines are. Every field knows its place in the file.
 *
 * Our own and not libcsv: that one tells no places for messages, takes white space off unquoted
 * fields, and is not on the machines this is built on. */
#ifndef TP_INPUT_CSV_H
#define TP_INPUT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/buffer.h"

enum {
    TP_CSV_MAX_FIELDS = 1024,
    TP_CSV_MAX_ROW = 8 << 20, /* bytes of all fields */
};

struct tp_csv_value {
    size_t begin, size; /* in the row's text */
    uint64_t offset;    /* of its first byte in the file, a quote included */
    uint64_t line;      /* from 1 */
};

struct tp_csv_row {
    const char *text;
    const struct tp_csv_value *values;
    size_t count;
    uint64_t line; /* where it begins */
    bool is_whole; /* false: the file ends before the row's line does */
    bool is_open;  /* ... in quotes */
};

enum tp_csv_state {
    TP_CSV_AT_FIELD, /* before a field's first byte */
    TP_CSV_IN_FIELD,
    TP_CSV_IN_QUOTES,
    TP_CSV_AT_QUOTE, /* behind a quote within quotes: the end, or half of a doubled one */
    TP_CSV_AT_CR,    /* behind a CR that may belong to a line's end */
};

/* Start from tp_csv_init. */
struct tp_csv {
    int (*row)(void *context, const struct tp_csv_row *row); /* 0, or negative to stop */
    void *context;
    struct tp_diag *diag;
    enum tp_csv_state state, before_cr;
    uint64_t offset, line, row_line;
    unsigned mark; /* bytes of the byte order mark seen; 3: none any more */
    struct tp_buffer text;
    size_t count;
    struct tp_csv_value values[TP_CSV_MAX_FIELDS];
};

/** tp_csv_init, _fini - @row gets each row; what it points to lives until it returns */
void tp_csv_init(struct tp_csv *csv, int (*row)(void *context, const struct tp_csv_row *row),
                 void *context, struct tp_diag *diag);
void tp_csv_fini(struct tp_csv *csv);

/**
 * tp_csv_feed - the next bytes
 * tp_csv_end  - there are no more: a last line without an end is a row
 * Return: 0, negative with an explained diag, or what @row stopped with.
 */
int tp_csv_feed(struct tp_csv *csv, const void *bytes, size_t size);
int tp_csv_end(struct tp_csv *csv);

#endif
