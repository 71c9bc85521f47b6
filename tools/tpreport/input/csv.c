/* SPDX-License-Identifier: MIT */
#include "input/csv.h"

#include <errno.h>
#include <string.h>

static const char mark[3] = "\xef\xbb\xbf";

void tp_csv_init(struct tp_csv *csv, int (*row)(void *context, const struct tp_csv_row *row),
                 void *context, struct tp_diag *diag)
{
    memset(csv, 0, offsetof(struct tp_csv, values));
    csv->row = row;
    csv->context = context;
    csv->diag = diag;
    csv->line = csv->row_line = 1;
}

void tp_csv_fini(struct tp_csv *csv)
{
    tp_buffer_fini(&csv->text);
}

static int fail(struct tp_csv *csv, int code, uint64_t offset, const char *text)
{
    return tp_diag_fail(csv->diag, code, offset, "line %llu: %s", (unsigned long long)csv->line,
                        text);
}

/* ---- rows ---- */

static int begin_value(struct tp_csv *csv)
{
    if (csv->count == TP_CSV_MAX_FIELDS)
        return fail(csv, -TP_ELIMIT, csv->offset, "more than 1024 columns, expected fewer");
    if (!csv->count)
        csv->row_line = csv->line;
    csv->values[csv->count++] =
        (struct tp_csv_value){.begin = csv->text.size, .offset = csv->offset, .line = csv->line};
    return 0;
}

static void end_value(struct tp_csv *csv)
{
    struct tp_csv_value *value = &csv->values[csv->count - 1];

    value->size = csv->text.size - value->begin;
}

static int put_bytes(struct tp_csv *csv, const char *bytes, size_t size)
{
    if (size > TP_CSV_MAX_ROW - csv->text.size)
        return fail(csv, -TP_ELIMIT, csv->values[csv->count - 1].offset,
                    "a row of more than 8 MB, expected a line's end, or the quote that closes this "
                    "field");
    tp_buffer_bytes(&csv->text, bytes, size);
    return csv->text.failed ? fail(csv, -ENOMEM, csv->offset, "no memory for this row") : 0;
}

static int end_row(struct tp_csv *csv, bool is_whole)
{
    struct tp_csv_row row = {.text = csv->text.bytes ? csv->text.bytes : "",
                             .values = csv->values,
                             .count = csv->count,
                             .line = csv->row_line,
                             .is_whole = is_whole,
                             .is_open = csv->state == TP_CSV_IN_QUOTES};
    int result = csv->row(csv->context, &row);

    tp_buffer_reset(&csv->text);
    csv->count = 0;
    return result;
}

/* ---- bytes, by state; each takes at least one and says how many ---- */

/* A separator or a line's end, behind a whole field. */
static int end_field(struct tp_csv *csv, char c)
{
    end_value(csv);
    csv->state = TP_CSV_AT_FIELD;
    if (c == ',')
        return 0;
    int result = end_row(csv, true);
    csv->line++;
    return result;
}

static int at_field(struct tp_csv *csv, char c)
{
    if (!csv->count && c == '\n') { /* an empty line */
        csv->line++;
        return 0;
    }
    if (!csv->count && c == '\r') {
        csv->state = TP_CSV_AT_CR;
        csv->before_cr = TP_CSV_AT_FIELD;
        return 0;
    }
    int result = begin_value(csv);
    if (result < 0)
        return result;
    if (c == '"') {
        csv->state = TP_CSV_IN_QUOTES;
        return 0;
    }
    csv->state = TP_CSV_IN_FIELD;
    return 1; /* the byte is the field's, or ends it */
}

static int at_quote(struct tp_csv *csv, char c)
{
    if (c == '"') {
        csv->state = TP_CSV_IN_QUOTES;
        return put_bytes(csv, &c, 1);
    }
    if (c == '\r') {
        csv->state = TP_CSV_AT_CR;
        csv->before_cr = TP_CSV_AT_QUOTE;
        return 0;
    }
    if (c == ',' || c == '\n')
        return end_field(csv, c);
    return tp_diag_fail(csv->diag, -TP_ESYNTAX, csv->offset,
                        "line %llu: found '%c' behind a closing quote, expected a comma or the "
                        "line's end",
                        (unsigned long long)csv->line, c >= ' ' && c < 127 ? c : '?');
}

/* The CR was a field's own byte unless a line ends here. */
static int at_cr(struct tp_csv *csv, char c)
{
    int result = 0;

    csv->state = csv->before_cr;
    if (csv->state == TP_CSV_AT_QUOTE && c != '\n') {
        csv->offset--;
        return at_quote(csv, '\x01');
    }
    if (csv->state == TP_CSV_AT_FIELD && c != '\n') {
        csv->offset--;
        result = begin_value(csv);
        csv->offset++;
        csv->state = TP_CSV_IN_FIELD;
    }
    if (!result && c != '\n')
        result = put_bytes(csv, "\r", 1);
    return result < 0 ? result : 1;
}

static size_t plain_size(const char *bytes, size_t size, bool is_quoted)
{
    size_t n = 0;

    if (is_quoted) {
        while (n < size && bytes[n] != '"' && bytes[n] != '\n')
            n++;
    } else {
        while (n < size && bytes[n] != ',' && bytes[n] != '\n' && bytes[n] != '\r')
            n++;
    }
    return n;
}

static int in_field(struct tp_csv *csv, char c)
{
    if (c == '\r') {
        csv->state = TP_CSV_AT_CR;
        csv->before_cr = TP_CSV_IN_FIELD;
        return 0;
    }
    return end_field(csv, c);
}

static int in_quotes(struct tp_csv *csv, char c)
{
    if (c == '"') {
        end_value(csv);
        csv->state = TP_CSV_AT_QUOTE;
        return 0;
    }
    csv->line++;
    return put_bytes(csv, &c, 1);
}

/* One byte in the present state. Return: 0 when it is taken, 1 to look at it again, or negative. */
static int take_byte(struct tp_csv *csv, char c)
{
    switch (csv->state) {
    case TP_CSV_AT_FIELD:
        return at_field(csv, c);
    case TP_CSV_IN_FIELD:
        return in_field(csv, c);
    case TP_CSV_IN_QUOTES:
        return in_quotes(csv, c);
    case TP_CSV_AT_QUOTE:
        return at_quote(csv, c);
    case TP_CSV_AT_CR:
        break;
    }
    return at_cr(csv, c);
}

/* Bytes of a byte order mark at the file's start; those of half a one are data after all. */
static int skip_mark(struct tp_csv *csv, const char **bytes, size_t *size)
{
    while (*size && csv->mark < sizeof(mark) && **bytes == mark[csv->mark]) {
        csv->mark++;
        csv->offset++;
        ++*bytes;
        --*size;
    }
    if (!*size || csv->mark == sizeof(mark))
        return 0;
    unsigned half = csv->mark;
    csv->mark = sizeof(mark);
    csv->offset -= half;
    int result = half ? begin_value(csv) : 0;
    if (!result && half) {
        csv->state = TP_CSV_IN_FIELD;
        csv->offset += half;
        result = put_bytes(csv, mark, half);
    }
    return result;
}

int tp_csv_feed(struct tp_csv *csv, const void *data, size_t size)
{
    const char *bytes = data;
    int result = csv->mark < sizeof(mark) ? skip_mark(csv, &bytes, &size) : 0;

    while (!result && size) {
        if (csv->state == TP_CSV_IN_FIELD || csv->state == TP_CSV_IN_QUOTES) {
            size_t plain = plain_size(bytes, size, csv->state == TP_CSV_IN_QUOTES);
            result = put_bytes(csv, bytes, plain);
            csv->offset += plain;
            bytes += plain;
            size -= plain;
            if (result || !size)
                continue;
        }
        result = take_byte(csv, *bytes);
        if (!result) {
            csv->offset++;
            bytes++;
            size--;
        } else if (result > 0) {
            result = 0;
        }
    }
    return result;
}

int tp_csv_end(struct tp_csv *csv)
{
    if (csv->mark && csv->mark < sizeof(mark) && !csv->count) /* half a mark is all there is */
        return 0;
    if (csv->state == TP_CSV_AT_CR)
        csv->state = csv->before_cr;
    if (!csv->count)
        return 0;
    if (csv->state == TP_CSV_AT_FIELD) { /* behind a comma */
        int result = begin_value(csv);
        if (result < 0)
            return result;
    }
    end_value(csv);
    return end_row(csv, false);
}
