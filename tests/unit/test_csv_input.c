/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "input/csv.h"
#include "model/buffer.h"

struct reader {
    struct tp_csv csv;
    struct tp_diag diag;
    struct tp_buffer seen; /* rows as a|b;  a cut one ends in / or, in quotes, in ~ */
    uint64_t offsets[64], lines[64];
    int values, stop_after;
};

static int take_row(void *context, const struct tp_csv_row *row)
{
    struct reader *r = context;

    for (size_t i = 0; i < row->count; i++) {
        tp_buffer_string(&r->seen, i ? "|" : "");
        tp_buffer_bytes(&r->seen, row->text + row->values[i].begin, row->values[i].size);
        if (r->values < 64) {
            r->offsets[r->values] = row->values[i].offset;
            r->lines[r->values++] = row->values[i].line;
        }
    }
    tp_buffer_char(&r->seen, row->is_whole ? ';' : row->is_open ? '~' : '/');
    return r->stop_after && !--r->stop_after ? -TP_ESTATE : 0;
}

/* In pieces of @step bytes; what came out is in reader->seen, terminated. */
static int read_text(struct reader *r, const char *text, size_t size, size_t step)
{
    int result = 0;

    memset(r, 0, sizeof(*r));
    tp_csv_init(&r->csv, take_row, r, &r->diag);
    for (size_t at = 0; !result && at < size; at += step)
        result = tp_csv_feed(&r->csv, text + at, size - at < step ? size - at : step);
    if (!result)
        result = tp_csv_end(&r->csv);
    tp_buffer_char(&r->seen, '\0');
    return result;
}

static void reader_fini(struct reader *r)
{
    tp_csv_fini(&r->csv);
    tp_buffer_fini(&r->seen);
}

START_TEST(rows_and_fields_by_rfc_4180)
{
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"", ""},
        {"a,b\nc,d\n", "a|b;c|d;"},
        {"a,b\r\nc,d\r\n", "a|b;c|d;"},
        {"a,b\nc,d", "a|b;c|d/"},
        {"a,b\r\nc,d\r", "a|b;c|d/"},
        {"a,,\n,\n", "a||;|;"},
        {"a,", "a|/"},
        {"\n\r\n\na\n\n", "a;"},
        {"\"a,b\",\"c\"\"d\",\"\"\n", "a,b|c\"d|;"},
        {"\"a\nb\"\n", "a\nb;"},
        {"\"a\r\nb\"\r\n", "a\r\nb;"},
        {"\"1.5\t\",2\n", "1.5\t|2;"},
        {"\xef\xbb\xbf\"a\",b\n", "a|b;"},
        {"\xef\xbb\xbf", ""},
        {"\xef\xbb", ""},
        {"\xef\xbbx,b\n", "\xef\xbbx|b;"},
        {"a\rb,c\n", "a\rb|c;"},
        {"\ra\n", "\ra;"},
        {"a\"b,c\n", "a\"b|c;"},
        {"a,\"b", "a|b~"},
        {"a,\"b\"", "a|b/"},
        {"\"\"\"\"\n", "\";"},
    };
    struct reader r;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t step = 1; step < 20; step++) {
            ck_assert_int_eq(read_text(&r, cases[i].text, strlen(cases[i].text), step), 0);
            ck_assert_msg(!strcmp(r.seen.bytes, cases[i].rows), "case %zu, step %zu: %s", i, step,
                          r.seen.bytes);
            reader_fini(&r);
        }
    }
}
END_TEST

START_TEST(fields_know_their_places)
{
    static const char text[] = "\xef\xbb\xbf"
                               "aa,\"b\nb\",c\r\n\n,d\n";
    static const uint64_t offsets[] = {3, 6, 12, 16, 17}, lines[] = {1, 1, 2, 4, 4};
    struct reader r;

    for (size_t step = 1; step < 20; step++) {
        ck_assert_int_eq(read_text(&r, text, sizeof(text) - 1, step), 0);
        ck_assert_int_eq(r.values, 5);
        for (int i = 0; i < 5; i++) {
            ck_assert_uint_eq(r.offsets[i], offsets[i]);
            ck_assert_uint_eq(r.lines[i], lines[i]);
        }
        reader_fini(&r);
    }
}
END_TEST

START_TEST(half_a_byte_order_mark_is_text_at_its_place)
{
    struct reader r;

    for (size_t step = 1; step < 6; step++) {
        ck_assert_int_eq(read_text(&r, "\xef\xbbx,b\n", 6, step), 0);
        ck_assert_int_eq(r.values, 2);
        ck_assert_uint_eq(r.offsets[0], 0);
        ck_assert_uint_eq(r.offsets[1], 4);
        reader_fini(&r);
    }
}
END_TEST

START_TEST(text_behind_a_closing_quote_is_an_error)
{
    struct reader r;

    ck_assert_int_eq(read_text(&r, "a\n\"b\"c\n", 7, 7), -TP_ESYNTAX);
    ck_assert_uint_eq(r.diag.offset, 5);
    ck_assert_str_eq(r.diag.text, "line 2: found 'c' behind a closing quote, expected a comma or "
                                  "the line's end");
    reader_fini(&r);
    ck_assert_int_eq(read_text(&r, "\"b\"\rc\n", 6, 1), -TP_ESYNTAX);
    ck_assert_uint_eq(r.diag.offset, 3);
    reader_fini(&r);
}
END_TEST

START_TEST(thousands_of_columns_are_refused)
{
    char text[TP_CSV_MAX_FIELDS + 2];
    struct reader r;

    memset(text, ',', sizeof(text));
    text[TP_CSV_MAX_FIELDS - 1] = '\n';
    ck_assert_int_eq(read_text(&r, text, TP_CSV_MAX_FIELDS, 100), 0);
    reader_fini(&r);
    text[TP_CSV_MAX_FIELDS - 1] = ',';
    ck_assert_int_eq(read_text(&r, text, sizeof(text), 100), -TP_ELIMIT);
    ck_assert_uint_eq(r.diag.offset, TP_CSV_MAX_FIELDS);
    ck_assert_str_eq(r.diag.text, "line 1: more than 1024 columns, expected fewer");
    reader_fini(&r);
}
END_TEST

START_TEST(a_quote_that_never_closes_ends_at_8_mb)
{
    size_t size = TP_CSV_MAX_ROW + 100;
    char *text = malloc(size);
    struct reader r;

    memset(text, 'x', size);
    memcpy(text, "a,\"", 3);
    ck_assert_int_eq(read_text(&r, text, size, 64 << 10), -TP_ELIMIT);
    ck_assert_uint_eq(r.diag.offset, 2);
    ck_assert_ptr_nonnull(strstr(r.diag.text, "the quote that closes this field"));
    reader_fini(&r);
    free(text);
}
END_TEST

START_TEST(a_row_can_stop_the_reading)
{
    struct reader r = {0};

    tp_csv_init(&r.csv, take_row, &r, &r.diag);
    r.stop_after = 2;
    ck_assert_int_eq(tp_csv_feed(&r.csv, "a\nb\nc\n", 6), -TP_ESTATE);
    tp_buffer_char(&r.seen, '\0');
    ck_assert_str_eq(r.seen.bytes, "a;b;");
    reader_fini(&r);
}
END_TEST

/* Fields made of the bytes that matter, written with quotes and read back. */
START_TEST(what_was_quoted_comes_back)
{
    static const char letters[] = "\",\r\n\tx";
    uint64_t seed = random_seed(), state = seed;
    struct reader r;

    for (int round = 0; round < 2000; round++) {
        struct tp_buffer text = {0}, expected = {0};
        size_t fields = 1 + random_next(&state) % 5;
        for (size_t i = 0; i < fields; i++) {
            tp_buffer_string(&text, i ? ",\"" : "\"");
            tp_buffer_string(&expected, i ? "|" : "");
            for (size_t n = random_next(&state) % 6; n; n--) {
                char c = letters[random_next(&state) % 6];
                tp_buffer_string(&text, c == '"' ? "\"" : "");
                tp_buffer_char(&text, c);
                tp_buffer_char(&expected, c);
            }
            tp_buffer_char(&text, '"');
        }
        tp_buffer_string(&text, "\r\n");
        tp_buffer_bytes(&expected, ";", 2);
        ck_assert_int_eq(read_text(&r, text.bytes, text.size, 1 + random_next(&state) % 9), 0);
        ck_assert_msg(!strcmp(r.seen.bytes, expected.bytes), "seed %llu", (unsigned long long)seed);
        reader_fini(&r);
        tp_buffer_fini(&text);
        tp_buffer_fini(&expected);
    }
}
END_TEST

RUN_TESTS("csv_input", rows_and_fields_by_rfc_4180, fields_know_their_places,
          half_a_byte_order_mark_is_text_at_its_place, text_behind_a_closing_quote_is_an_error,
          thousands_of_columns_are_refused, a_quote_that_never_closes_ends_at_8_mb,
          a_row_can_stop_the_reading, what_was_quoted_comes_back)
