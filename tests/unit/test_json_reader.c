/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "input/json_reader.h"

/* Counts elements of arrays; refuses true; forgives a comma before a bracket. */
struct counter {
    struct tp_json_reader reader;
    struct tp_diag diag;
    int numbers, depth;
};

static int on_number(void *context, const char *text, size_t size)
{
    struct counter *c = context;

    (void)text;
    (void)size;
    c->numbers++;
    return 1;
}

static int on_boolean(void *context, int value)
{
    struct counter *c = context;

    return value ? tp_json_reader_fail(&c->reader, -TP_EVALUE, "no %s", "truth") : 1;
}

static int on_start(void *context)
{
    ((struct counter *)context)->depth++;
    return 1;
}

static int on_end(void *context)
{
    ((struct counter *)context)->depth--;
    return 1;
}

static const char *resume(void *context, int byte)
{
    return byte == ']' && ((struct counter *)context)->depth == 1 ? "[\"\"" : NULL;
}

static int count(struct counter *c, const char *text, size_t chunk)
{
    static const yajl_callbacks callbacks = {.yajl_number = on_number,
                                             .yajl_boolean = on_boolean,
                                             .yajl_start_array = on_start,
                                             .yajl_end_array = on_end};
    size_t size = strlen(text);

    memset(c, 0, sizeof(*c));
    ck_assert_int_eq(tp_json_reader_init(&c->reader, &callbacks, c, &c->diag), 0);
    c->reader.resume = resume;
    int result = 0;
    for (size_t at = 0; !result && at < size; at += chunk)
        result = tp_json_reader_feed(&c->reader, text + at, at + chunk < size ? chunk : size - at);
    if (!result)
        result = tp_json_reader_finish(&c->reader);
    tp_json_reader_fini(&c->reader);
    return result;
}

START_TEST(places_are_told_however_the_text_is_cut)
{
    static const char text[] = "[1,\n 2,\n\n  false, [3], true, 4]";

    for (size_t chunk = 1; chunk < sizeof(text); chunk++) {
        struct counter c;
        ck_assert_int_eq(count(&c, text, chunk), -TP_EVALUE);
        ck_assert_str_eq(c.diag.text, "line 4: no truth");
        ck_assert_uint_eq(c.diag.offset, 27);
        ck_assert_int_eq(c.numbers, 3);
    }
}
END_TEST

START_TEST(a_forgiven_comma_costs_nothing_and_places_stay_right)
{
    static const char text[] = "[1,\n2,\n]\n}";

    for (size_t chunk = 1; chunk < sizeof(text); chunk++) {
        struct counter c;
        ck_assert_int_eq(count(&c, text, chunk), -TP_ESYNTAX); /* the brace */
        ck_assert_int_eq(c.numbers, 2);
        ck_assert_int_eq(c.depth, 0);
        ck_assert_int_eq(strncmp(c.diag.text, "line 4: found \"}\"", 17), 0);
        ck_assert_uint_eq(c.diag.offset, 10);
    }
    struct counter c;
    ck_assert_int_eq(count(&c, "[1,[2,]]", 100), -TP_ESYNTAX);
    ck_assert_int_eq(count(&c, "[1,]", 1), 0);
}
END_TEST

START_TEST(an_end_too_early_is_truncation)
{
    struct counter c;

    ck_assert_int_eq(count(&c, "", 1), -TP_ETRUNCATED);
    ck_assert_int_eq(count(&c, "[\n1, 2", 3), -TP_ETRUNCATED);
    ck_assert_ptr_nonnull(strstr(c.diag.text, "line 2: found the end of the text"));
    ck_assert_uint_eq(c.diag.offset, 6);
    ck_assert_int_eq(count(&c, "[tr", 3), -TP_ETRUNCATED);
    ck_assert_int_eq(count(&c, "[1] 2", 9), -TP_ESYNTAX);
}
END_TEST

START_TEST(a_token_without_end_is_stopped)
{
    static const yajl_callbacks callbacks = {.yajl_number = on_number};
    struct counter c = {0};
    static char chunk[8 << 20]; /* yajl looks at the whole token again with each */
    size_t fed = 0;
    int result = 0;

    memset(chunk, 'x', sizeof(chunk));
    ck_assert_int_eq(tp_json_reader_init(&c.reader, &callbacks, &c, &c.diag), 0);
    ck_assert_int_eq(tp_json_reader_feed(&c.reader, "[1, \"", 5), 0);
    for (; !result && fed < 1 << 30; fed += sizeof(chunk))
        result = tp_json_reader_feed(&c.reader, chunk, sizeof(chunk));
    ck_assert_int_eq(result, -TP_ELIMIT);
    ck_assert_uint_lt(fed, 4ul * TP_JSON_TOKEN_MAX);
    tp_json_reader_fini(&c.reader);
}
END_TEST

RUN_TESTS("json_reader", places_are_told_however_the_text_is_cut,
          a_forgiven_comma_costs_nothing_and_places_stay_right, an_end_too_early_is_truncation,
          a_token_without_end_is_stopped)
