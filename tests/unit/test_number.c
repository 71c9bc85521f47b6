/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/number.h"

static struct tp_number parse(const char *text)
{
    struct tp_number n;

    ck_assert_int_eq(tp_number_parse(text, strlen(text), &n), 0);
    return n;
}

static void assert_number(struct tp_number n, const char *expected)
{
    char text[TP_NUMBER_TEXT_MAX];

    ck_assert_uint_eq(tp_number_print(n, text), strlen(expected));
    ck_assert_str_eq(text, expected);
}

START_TEST(doubles_print_in_the_fewest_digits)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {286.0, "286.0"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e16, "1e+16"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e15, "1000000000000000.0"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {1e-4, "0.0001"},
        {1e-5, "1e-05"},
        {0.00012345, "0.00012345"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p-24, "5.960464477539063e-08"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {-1.5e-7, "-1.5e-07"},
        {4.35, "4.35"},
        {100.0, "100.0"},
        {1e100, "1e+100"},
        {2.5e-310, "2.5e-310"},
        {9007199254740993.0, "9007199254740992.0"},
        {INFINITY, "inf"},
        {NAN, "nan"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_number(tp_number_real(cases[i].value), cases[i].text);
}
END_TEST

START_TEST(random_doubles_read_back_equal)
{
    uint64_t seed = random_seed(), state = seed | 1;
    char text[TP_NUMBER_TEXT_MAX];

    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random_next(&state);
        double value;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value))
            continue;
        tp_number_print(tp_number_real(value), text);
        ck_assert_msg(strtod(text, NULL) == value, "seed %#lx: %a printed as %s", seed, value,
                      text);
    }
}
END_TEST

/* At powers of two the neighbours are unevenly far; no shorter text may read back equal. */
START_TEST(powers_of_two_have_no_shorter_text)
{
    char text[TP_NUMBER_TEXT_MAX], shorter[40];

    for (int exponent = -1074; exponent < 1024; exponent++) {
        double value = ldexp(1.0, exponent);
        tp_number_print(tp_number_real(value), text);
        ck_assert(strtod(text, NULL) == value);
        int digits = 0;
        for (const char *p = text; *p && *p != 'e'; p++)
            digits += *p >= '0' && *p <= '9';
        for (int less = 1; less < digits && digits > 15; less++) {
            snprintf(shorter, sizeof(shorter), "%.*e", less - 1, value);
            ck_assert_msg(strtod(shorter, NULL) != value || less >= digits - 1, "%s against %s",
                          shorter, text);
        }
    }
}
END_TEST

START_TEST(integers_stay_integers)
{
    assert_number(tp_number_add(tp_number_integer(2), tp_number_integer(3)), "5");
    assert_number(tp_number_subtract(tp_number_integer(2), tp_number_integer(3)), "-1");
    assert_number(tp_number_add(tp_number_integer(2), tp_number_real(3)), "5.0");
    assert_number(tp_number_subtract(tp_number_real(2), tp_number_integer(3)), "-1.0");
}
END_TEST

START_TEST(sums_beyond_64_bits_are_exact)
{
    struct tp_number max = tp_number_integer(INT64_MAX), min = tp_number_integer(INT64_MIN);

    assert_number(tp_number_add(max, tp_number_integer(1)), "9223372036854775808");
    assert_number(tp_number_add(max, max), "18446744073709551614");
    assert_number(tp_number_add(tp_number_add(max, max), max), "27670116110564327421");
    assert_number(tp_number_subtract(min, max), "-18446744073709551615");
    assert_number(parse("18446744073709551615"), "18446744073709551615");
    assert_number(parse("-9223372036854775809"), "-9223372036854775809");
}
END_TEST

START_TEST(integers_beyond_96_bits_become_doubles)
{
    assert_number(parse("39614081257132168796771975167"), "39614081257132168796771975167");
    assert_number(parse("39614081257132168796771975168"), "3.961408125713217e+28");
}
END_TEST

START_TEST(comparing_is_exact_between_kinds)
{
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {
        {"1", "1.0", 0},
        {"1", "1.5", -1},
        {"2", "1.5", 1},
        {"-1", "-1.5", 1},
        {"-2", "-1.5", -1},
        {"9007199254740993", "9007199254740992.0", 1},
        {"9007199254740992", "9007199254740992.0", 0},
        {"9223372036854775807", "9223372036854775808.0", -1},
        {"9223372036854775808", "9223372036854775808.0", 0},
        {"0", "-0.0", 0},
        {"1", "1e300", -1},
        {"1", "-1e300", 1},
        {"3", "2", 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(tp_number_compare(parse(cases[i].a), parse(cases[i].b)), cases[i].order);
        ck_assert_int_eq(tp_number_compare(parse(cases[i].b), parse(cases[i].a)), -cases[i].order);
    }
    ck_assert_int_eq(tp_number_compare(tp_number_real(NAN), tp_number_integer(-5)), -1);
    ck_assert_int_eq(tp_number_compare(tp_number_real(NAN), tp_number_real(NAN)), 0);
}
END_TEST

START_TEST(division_gives_doubles_and_zero_for_none)
{
    ck_assert_double_eq(tp_number_divide(tp_number_integer(7), tp_number_integer(2)), 3.5);
    ck_assert_double_eq(tp_number_divide(tp_number_integer(7), tp_number_integer(0)), 0.0);
    ck_assert_double_eq(tp_number_divide(tp_number_real(1), tp_number_integer(4)), 0.25);
}
END_TEST

START_TEST(truncation_goes_towards_zero_and_saturates)
{
    ck_assert_int_eq(tp_number_truncate(tp_number_real(1.9)), 1);
    ck_assert_int_eq(tp_number_truncate(tp_number_real(-1.9)), -1);
    ck_assert_int_eq(tp_number_truncate(tp_number_real(1e300)), INT64_MAX);
    ck_assert_int_eq(tp_number_truncate(tp_number_real(-1e300)), INT64_MIN);
    ck_assert_int_eq(tp_number_truncate(parse("18446744073709551615")), INT64_MAX);
    ck_assert_int_eq(tp_number_truncate(tp_number_real(NAN)), 0);
}
END_TEST

START_TEST(parsing_tells_integers_from_doubles_and_refuses_the_rest)
{
    struct tp_number n;

    ck_assert(!parse("12").is_real);
    ck_assert(parse("12.0").is_real);
    ck_assert(parse("1e2").is_real);
    ck_assert_int_eq(tp_number_parse("1e999", 5, &n), -TP_EVALUE);
    ck_assert_int_eq(tp_number_parse("", 0, &n), -TP_ESYNTAX);
    ck_assert_int_eq(tp_number_parse("12x", 3, &n), -TP_ESYNTAX);
    ck_assert_int_eq(tp_number_parse("-", 1, &n), -TP_ESYNTAX);
}
END_TEST

RUN_TESTS("number", doubles_print_in_the_fewest_digits, random_doubles_read_back_equal,
          powers_of_two_have_no_shorter_text, integers_stay_integers, sums_beyond_64_bits_are_exact,
          integers_beyond_96_bits_become_doubles, comparing_is_exact_between_kinds,
          division_gives_doubles_and_zero_for_none, truncation_goes_towards_zero_and_saturates,
          parsing_tells_integers_from_doubles_and_refuses_the_rest)
