/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <inttypes.h>
#include <string.h>

#include "model/decimal.h"

START_TEST(microseconds_become_nanoseconds_to_the_digit)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"1", 1000},
        {"-1", -1000},
        {"1695835542514261", 1695835542514261000},
        {"4203669604595.407", 4203669604595407},
        {"4203669604595.40", 4203669604595400},
        {"0.001", 1},
        {".5", 500},
        {"5.", 5000},
        {"+2.5", 2500},
        {"1.5e3", 1500000},
        {"15E-1", 1500},
        {"1e-400", 0},
        {"0e999999999", 0},
        {"1695835542514261.5", 1695835542514261500},
        {"9223372036854775", INT64_MAX - 807},
        {"9223372036854775.807", INT64_MAX},
        {"-9223372036854775.807", -INT64_MAX},
        {"000000000000000000000000000000000000000001.25", 1250},
        {"1752830085123456.789000000000000000000000000000001", 1752830085123456789},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns;
        ck_assert_msg(tp_decimal_to_ns(cases[i].text, strlen(cases[i].text), &ns) == 0, "%s",
                      cases[i].text);
        ck_assert_msg(ns == cases[i].ns, "%s: %" PRId64, cases[i].text, ns);
    }
}
END_TEST

START_TEST(what_is_finer_is_rounded_half_to_even)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0.0005", 0},
        {"0.0015", 2},
        {"0.0025", 2},
        {"-0.0015", -2},
        {"0.00250000000000000000000000000000000000000000001", 3},
        {"0.0024999999999999999999999999999999999999999999999", 2},
        {"4203669604595.4075", 4203669604595408},
        {"4203669604595.4065", 4203669604595406},
        {"4203669604595.40650001", 4203669604595407},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns;
        ck_assert_int_eq(tp_decimal_to_ns(cases[i].text, strlen(cases[i].text), &ns), 0);
        ck_assert_msg(ns == cases[i].ns, "%s: %" PRId64, cases[i].text, ns);
    }
}
END_TEST

START_TEST(other_text_and_other_centuries_are_refused)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"", -TP_ESYNTAX},
        {"-", -TP_ESYNTAX},
        {".", -TP_ESYNTAX},
        {"1 ", -TP_ESYNTAX},
        {"1e", -TP_ESYNTAX},
        {"1.2.3", -TP_ESYNTAX},
        {"0x10", -TP_ESYNTAX},
        {"nan", -TP_ESYNTAX},
        {"9223372036854775.808", -TP_EVALUE},
        {"1e16", -TP_EVALUE},
        {"1e999999", -TP_EVALUE},
        {"123456789012345678901234567890", -TP_EVALUE},
        {"1234567890123456789", -TP_EVALUE},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns = 7;
        ck_assert_msg(tp_decimal_to_ns(cases[i].text, strlen(cases[i].text), &ns) == cases[i].code,
                      "%s", cases[i].text);
        ck_assert_int_eq(ns, 7);
    }
}
END_TEST

START_TEST(the_quick_way_gives_what_the_long_one_does)
{
    uint64_t state = random_seed(), seed = state;

    for (int i = 0; i < 20000; i++) {
        char quick[48], slow[64];
        int64_t a, b;
        uint64_t whole = random_next(&state) >> (11 + random_next(&state) % 50);
        snprintf(quick, sizeof(quick), "%" PRIu64 ".%0*u", whole,
                 (int)(random_next(&state) % 3 + 1), (unsigned)(random_next(&state) % 10));
        snprintf(slow, sizeof(slow), "%se0", quick);
        ck_assert_int_eq(tp_decimal_to_ns(quick, strlen(quick), &a), 0);
        ck_assert_int_eq(tp_decimal_to_ns(slow, strlen(slow), &b), 0);
        ck_assert_msg(a == b, "%s, seed %" PRIu64, quick, seed);
    }
}
END_TEST

START_TEST(integers_keep_all_64_bits_and_lose_fractions)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"7", 7},
        {"-7", -7},
        {"18446744073709551615", -1},
        {"9223372036854775808", INT64_MIN},
        {"3.9", 3},
        {"-3.9", -3},
        {"1e3", 1000},
    };
    int64_t value;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(tp_decimal_to_integer(cases[i].text, strlen(cases[i].text), &value), 0);
        ck_assert_msg(value == cases[i].value, "%s: %" PRId64, cases[i].text, value);
    }
    ck_assert_int_eq(tp_decimal_to_integer("18446744073709551616", 20, &value), -TP_EVALUE);
    ck_assert_int_eq(tp_decimal_to_integer("stream 7", 8, &value), -TP_ESYNTAX);
}
END_TEST

RUN_TESTS("decimal", microseconds_become_nanoseconds_to_the_digit,
          what_is_finer_is_rounded_half_to_even, other_text_and_other_centuries_are_refused,
          the_quick_way_gives_what_the_long_one_does, integers_keep_all_64_bits_and_lose_fractions)
