/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "input/json_capture.h"
#include "input/word_table.h"

START_TEST(values_become_text_with_blanks_where_python_has_them)
{
    struct tp_buffer out = {0};

    tp_json_capture_open(&out, '{');
    tp_json_capture_key(&out, "a", 1);
    tp_json_capture_open(&out, '[');
    tp_json_capture_word(&out, "1", 1);
    tp_json_capture_word(&out, "null", 4);
    tp_json_capture_open(&out, '[');
    tp_json_capture_close(&out, ']');
    tp_json_capture_string(&out, "x [\"", 4);
    tp_json_capture_string(&out, "", 0);
    tp_json_capture_close(&out, ']');
    tp_json_capture_key(&out, "b", 1);
    tp_json_capture_word(&out, "-2.50", 5);
    tp_json_capture_close(&out, '}');
    tp_buffer_char(&out, '\0');
    ck_assert_str_eq(out.bytes, "{\"a\": [1, null, [], \"x [\\\"\", \"\"], \"b\": -2.50}");
    tp_buffer_fini(&out);
}
END_TEST

START_TEST(lists_in_shapes_are_empty_shapes)
{
    static const struct {
        const char *dims, *shapes;
    } cases[] = {
        {"[]", "[]"},
        {"[[8, 16], [16, 32]]", "[[8, 16], [16, 32]]"},
        {"[[], [2]]", "[[], [2]]"},
        {"[[[2, 3], [4, 5]], [7]]", "[[], [7]]"},
        {"[[7], [[2, 3]]]", "[[7], []]"},
        {"[[[]]]", "[[]]"},
        {"[[[[1]]], [[2]], [3]]", "[[], [], [3]]"},
        {"[3, [4]]", "[3, [4]]"},
        {"7", "[]"},
        {"", "[]"},
        {"[[\"a]\", 1], [2]]", "[[\"a]\", 1], [2]]"},
    };
    struct tp_buffer out = {0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tp_buffer_reset(&out);
        tp_json_shapes(&out, cases[i].dims, strlen(cases[i].dims));
        tp_buffer_char(&out, '\0');
        ck_assert_str_eq(out.bytes, cases[i].shapes);
    }
    tp_buffer_fini(&out);
}
END_TEST

START_TEST(a_value_over_the_limit_is_told)
{
    struct tp_buffer out = {0};
    char text[1000];

    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < TP_JSON_CAPTURE_MAX / 1000 - 100; i++)
        ck_assert(tp_json_capture_string(&out, text, 990));
    bool good = true;
    for (int i = 0; i < 400; i++)
        good &= tp_json_capture_string(&out, text, 990);
    ck_assert(!good);
    tp_buffer_fini(&out);
}
END_TEST

START_TEST(words_are_found_and_others_not)
{
    static const struct tp_word words[] = {{"ts", 1},  {"st", 2},          {"tst", 3},
                                           {"dur", 4}, {"External id", 5}, {"External ie", 6}};
    struct tp_word_table table;

    tp_word_table_init(&table, words, 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(tp_word_table_find(&table, words[i].text, strlen(words[i].text)),
                         words[i].number);
    ck_assert_int_eq(tp_word_table_find(&table, "", 0), -1);
    ck_assert_int_eq(tp_word_table_find(&table, "t", 1), -1);
    ck_assert_int_eq(tp_word_table_find(&table, "External if", 11), -1);
    ck_assert_int_eq(tp_word_table_find(&table, "ts\0", 3), -1);
}
END_TEST

RUN_TESTS("json_capture", values_become_text_with_blanks_where_python_has_them,
          lists_in_shapes_are_empty_shapes, a_value_over_the_limit_is_told,
          words_are_found_and_others_not)
