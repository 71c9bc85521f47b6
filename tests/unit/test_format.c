/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <math.h>
#include <string.h>

#include "view/format.h"

#define ASSERT_FORMAT(call, expected)                                                              \
    do {                                                                                           \
        struct tp_buffer out = {0};                                                                \
        call;                                                                                      \
        tp_buffer_char(&out, '\0');                                                                \
        ck_assert_str_eq(out.bytes, expected);                                                     \
        tp_buffer_fini(&out);                                                                      \
    } while (0)

START_TEST(times_choose_their_unit_before_rounding)
{
    static const struct {
        double us;
        const char *text;
    } cases[] = {
        {0, "0.000us"},        {999.9995, "1000.000us"},
        {1000, "1.000ms"},     {999999.9996, "1000.000ms"},
        {1e6, "1.000s"},       {-5e6, "-5000000.000us"},
        {-0.0, "-0.000us"},    {0.0005, "0.001us"},
        {1234567.5, "1.235s"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ASSERT_FORMAT(tp_format_time(&out, tp_number_real(cases[i].us), TP_TIME_AUTO),
                      cases[i].text);
}
END_TEST

START_TEST(a_given_unit_is_kept)
{
    ASSERT_FORMAT(tp_format_time(&out, tp_number_integer(1500), TP_TIME_S), "0.002s");
    ASSERT_FORMAT(tp_format_time(&out, tp_number_integer(1500), TP_TIME_MS), "1.500ms");
    ASSERT_FORMAT(tp_format_time(&out, tp_number_integer(1500), TP_TIME_US), "1500.000us");
}
END_TEST

START_TEST(shares_of_nothing_are_nan)
{
    ASSERT_FORMAT(tp_format_share(&out, tp_number_integer(1), tp_number_integer(3)), "33.33%");
    ASSERT_FORMAT(tp_format_share(&out, tp_number_integer(0), tp_number_integer(0)), "NaN");
    ASSERT_FORMAT(tp_format_share(&out, tp_number_real(5), tp_number_real(-0.0)), "NaN");
    ASSERT_FORMAT(tp_format_share(&out, tp_number_real(-0.0), tp_number_real(5)), "-0.00%");
}
END_TEST

START_TEST(memory_units_go_by_size)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {-5, "-5 B"},
        {1023, "1023 B"},
        {1024, "1.00 KB"},
        {1048575, "1024.00 KB"},
        {1048576, "1.00 MB"},
        {-1536, "-1.50 KB"},
        {1 << 30, "1.00 GB"},
        {(int64_t)5 << 40, "5120.00 GB"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ASSERT_FORMAT(tp_format_memory(&out, tp_number_integer(cases[i].bytes)), cases[i].text);
}
END_TEST

START_TEST(json_has_no_nan)
{
    ASSERT_FORMAT(tp_format_json_number(&out, tp_number_real(NAN)), "null");
    ASSERT_FORMAT(tp_format_json_number(&out, tp_number_real(-INFINITY)), "null");
    ASSERT_FORMAT(tp_format_json_number(&out, tp_number_real(2)), "2.0");
}
END_TEST

START_TEST(controls_are_shown_and_counted)
{
    struct fixture f;

    fixture_load(&f, "[]");
    const struct tp_string *string =
        tp_strings_get(&f.strings, fixture_string(&f, "a\nb\rc\td\x1b\x7f\xc2\x9b\xc3\xa9"));
    ASSERT_FORMAT(tp_format_display(&out, string), "a\\nb\\rc\td\\x1b\\x7f\\x9b\xc3\xa9");
    ck_assert_uint_eq(tp_format_display_length(string), strlen("a.nb.rc.d.x1b.x7f.x9b.") - 0);
    fixture_fini(&f);
}
END_TEST

START_TEST(prefixes_cut_between_code_points)
{
    ck_assert_uint_eq(tp_format_prefix("\xc3\xa9\xc3\xa9z", 5, 1), 2);
    ck_assert_uint_eq(tp_format_prefix("\xc3\xa9\xc3\xa9z", 5, 3), 5);
    ck_assert_uint_eq(tp_format_prefix("\xc3\xa9\xc3\xa9z", 5, 9), 5);
    ck_assert_uint_eq(tp_format_prefix("abc", 3, 0), 0);
}
END_TEST

RUN_TESTS("format", times_choose_their_unit_before_rounding, a_given_unit_is_kept,
          shares_of_nothing_are_nan, memory_units_go_by_size, json_has_no_nan,
          controls_are_shown_and_counted, prefixes_cut_between_code_points)
