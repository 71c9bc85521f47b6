/* SPDX-License-Identifier: MIT
 * One line of comma-separated values at a time; fields with special characters in quotes. */
#ifndef TP_VIEW_CSV_LINE_H
#define TP_VIEW_CSV_LINE_H

#include "model/buffer.h"
#include "model/number.h"
#include "view/output.h"

/* Start from an output and a line end. */
struct tp_csv_line {
    struct tp_output *output;
    const char *end; /* "\r\n" by RFC 4180; some tools write "\n" */
    struct tp_buffer text;
    bool is_begun;
};

void tp_csv_line_fini(struct tp_csv_line *line);

/** tp_csv_line_field, _text, _number - the next field of the line */
void tp_csv_line_field(struct tp_csv_line *line, const char *bytes, size_t size);
void tp_csv_line_text(struct tp_csv_line *line, const char *text);
void tp_csv_line_number(struct tp_csv_line *line, struct tp_number number);

/** tp_csv_line_format - a field by printf; at most 4 kB */
void tp_csv_line_format(struct tp_csv_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** tp_csv_line_end - the line is whole: into the output */
void tp_csv_line_end(struct tp_csv_line *line);

#endif
