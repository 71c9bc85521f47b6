/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "records.h"
#include "unit.h"

static char buffer[4096];
static struct tp_text text;

static void setup(void)
{
    memset(buffer, 'x', sizeof(buffer));
    tp_text_init(&text, buffer, sizeof(buffer));
}

START_TEST(text_is_always_terminated_and_never_beyond_its_buffer)
{
    for (size_t size = 1; size < 40; size++) {
        memset(buffer, 'x', sizeof(buffer));
        tp_text_init(&text, buffer, size);
        ck_assert_uint_eq(strlen(buffer), 0);
        tp_text_format(&text, "%s %u %08llx", "some words", 12345u, 0xabcdefULL);
        tp_text_char(&text, '!');
        tp_text_json(&text, "\n\xff", 2);
        ck_assert_uint_eq(strlen(buffer), text.used);
        ck_assert_uint_lt(text.used, size);
        ck_assert_int_eq(text.cut, size <= 37);
        ck_assert_int_eq(buffer[size], 'x');
    }
}
END_TEST

START_TEST(cut_text_is_the_start_of_the_whole)
{
    char whole[64];

    tp_text_init(&text, whole, sizeof(whole));
    tp_text_format(&text, "%d|%s|%x", -42, "abc", 255u);
    for (size_t size = 1; size <= strlen(whole) + 1; size++) {
        tp_text_init(&text, buffer, size);
        tp_text_format(&text, "%d|%s|%x", -42, "abc", 255u);
        ck_assert_int_eq(strncmp(buffer, whole, size - 1), 0);
        ck_assert_uint_eq(strlen(buffer), size - 1);
    }
}
END_TEST

#define SAME(format, ...)                                                                          \
    do {                                                                                           \
        char expected[256];                                                                        \
        setup();                                                                                   \
        snprintf(expected, sizeof(expected), format, __VA_ARGS__);                                 \
        tp_text_format(&text, format, __VA_ARGS__);                                                \
        if (strcmp(buffer, expected))                                                              \
            ck_abort_msg("\"%s\", expected \"%s\" for %s", buffer, expected, format);              \
    } while (0)

static void same_for(uint64_t v)
{
    SAME("%d %i", (int)v, (int)v);
    SAME("%u", (unsigned)v);
    SAME("%ld", (long)v);
    SAME("%lld", (long long)v);
    SAME("%llu %lu", (unsigned long long)v, (unsigned long)v);
    SAME("%zu", (size_t)v);
    SAME("%x %X", (unsigned)v, (unsigned)v);
    SAME("%llx %lx", (unsigned long long)v, (unsigned long)v);
    SAME("%08x|%016llx", (unsigned)v, (unsigned long long)v);
    SAME("%5d|%05d|%1d", (int)v, (int)v, (int)v);
    SAME("%20lld|%020lld", (long long)v, (long long)v);
    SAME("%3u|%03u", (unsigned)v, (unsigned)v);
}

START_TEST(numbers_look_as_in_printf)
{
    struct random random = {random_seed("numbers")};
    static const uint64_t edges[] = {
        0,         1, 9, 10, INT_MAX, (uint64_t)INT_MIN, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MIN,
        UINT64_MAX};

    for (size_t i = 0; i < UNIT_COUNT(edges); i++)
        same_for(edges[i]);
    for (unsigned i = 0; i < 20000; i++)
        same_for(random_u64(&random) >> random_below(&random, 64));
}
END_TEST

START_TEST(strings_characters_and_percent_look_as_in_printf)
{
    SAME("%s|%s", "", "abc");
    SAME("%.*s|%.*s", 2, "abc", 9, "abc");
    SAME("%c%c", 'a', 'b');
    SAME("100%%%s", "");
    SAME("%s", "%d");
    tp_text_init(&text, buffer, sizeof(buffer));
    const char *volatile none = NULL;
    tp_text_format(&text, "%s", none);
    ck_assert_str_eq(buffer, "(null)");
}
END_TEST

START_TEST(precision_bounds_what_is_read_of_a_string)
{
    static const char open_end[3] = {'a', 'b', 'c'};

    tp_text_format(&text, "%.*s", 3, open_end);
    ck_assert_str_eq(buffer, "abc");
}
END_TEST

START_TEST(pointers_are_hexadecimal)
{
    tp_text_format(&text, "%p %p", (void *)0x1234abcd, NULL);
    ck_assert_str_eq(buffer, "0x1234abcd 0x0");
}
END_TEST

START_TEST(unknown_conversion_is_shown_and_reads_no_argument)
{
    char format[8] = "%q|%", *volatile hidden = format;

    tp_text_format(&text, hidden, 1);
    ck_assert_str_eq(buffer, "%?|%?");
}
END_TEST

START_TEST(single_numbers)
{
    tp_text_u64(&text, UINT64_MAX);
    tp_text_char(&text, ' ');
    tp_text_i64(&text, INT64_MIN);
    tp_text_char(&text, ' ');
    tp_text_hex(&text, 0xbeef, 2);
    tp_text_char(&text, ' ');
    tp_text_hex(&text, 0xf, 8);
    ck_assert_str_eq(buffer, "18446744073709551615 -9223372036854775808 beef 0000000f");
}
END_TEST

START_TEST(json_strings_are_quoted_escaped_and_valid_utf8)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *json;
    } cases[] = {
        {"", 0, "\"\""},
        {"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
        {"\n\t\0\x1f\x7f", 5, "\"\\u000a\\u0009\\u0000\\u001f\\u007f\""},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff", 1, "\"\xef\xbf\xbd\""},
        {"\xc3", 1, "\"\xef\xbf\xbd\""},
        {"\xc3(", 2, "\"\xef\xbf\xbd(\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        setup();
        tp_text_json(&text, cases[i].bytes, cases[i].size);
        ck_assert_str_eq(buffer, cases[i].json);
    }
}
END_TEST

static size_t encode_utf8(uint32_t code, unsigned char bytes[4])
{
    if (code < 0x80) {
        bytes[0] = (unsigned char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        bytes[i] = (unsigned char)(0x80 | (code & 0x3f));
    bytes[0] = (unsigned char)((0xf00 >> size & 0xff) | code);
    return size;
}

START_TEST(every_code_point_decodes_to_itself)
{
    for (uint32_t code = 0; code < 0x110000; code++) {
        unsigned char bytes[4];
        size_t size = encode_utf8(code, bytes);
        uint32_t back;
        size_t step = tp_utf8_decode(bytes, size, &back);
        bool surrogate = code >= 0xd800 && code < 0xe000;
        if (surrogate ? back != 0xfffd || step != 1 : back != code || step != size)
            ck_abort_msg("U+%04X became U+%04X", code, back);
        for (size_t cut = 1; cut < size; cut++)
            if (tp_utf8_decode(bytes, cut, &back) != 1 || back != 0xfffd)
                ck_abort_msg("U+%04X cut to %zu bytes", code, cut);
    }
}
END_TEST

START_TEST(overlong_high_and_stray_bytes_are_bad)
{
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xe0\x80\xaf",
                                      "\xe0\x9f\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xfe",
                                      "\xff",
                                      "\xc3\xc3",
                                      "\xe2\x82\x28",
                                      "\xf0\x9f\x98\x28"};

    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        uint32_t code = 0;
        ck_assert_uint_eq(tp_utf8_decode((const unsigned char *)bad[i], strlen(bad[i]), &code), 1);
        ck_assert_uint_eq(code, 0xfffd);
    }
}
END_TEST

START_TEST(length_counts_code_points_and_bad_bytes)
{
    ck_assert_uint_eq(tp_utf8_length("", 0), 0);
    ck_assert_uint_eq(tp_utf8_length("abc", 3), 3);
    ck_assert_uint_eq(tp_utf8_length("\xc3\xa4\xe2\x82\xac", 5), 2);
    ck_assert_uint_eq(tp_utf8_length("\xc3\xa4\xe2\x82", 4), 3);
    ck_assert_uint_eq(tp_utf8_length("a\0b", 3), 3);
}
END_TEST

START_TEST(distance_is_the_number_of_edits)
{
    static const struct {
        const char *a, *b;
        unsigned distance;
    } cases[] = {
        {"", "", 0},         {"abc", "abc", 0},          {"", "abc", 3},  {"kitten", "sitting", 3},
        {"flaw", "lawn", 2}, {"--sort", "--sort-by", 3}, {"ab", "ba", 2}, {"abcdef", "azced", 3},
    };
    char lengthy[100];

    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ck_assert_uint_eq(tp_text_distance(cases[i].a, cases[i].b), cases[i].distance);
        ck_assert_uint_eq(tp_text_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
    memset(lengthy, 'a', sizeof(lengthy));
    lengthy[64] = '\0';
    ck_assert_uint_eq(tp_text_distance(lengthy, "a"), 64);
    lengthy[63] = '\0';
    ck_assert_uint_eq(tp_text_distance(lengthy, ""), 63);
    ck_assert_uint_eq(tp_text_distance(lengthy, lengthy), 0);
}
END_TEST

START_TEST(patterns_match_as_in_the_shell)
{
    static const struct {
        const char *pattern, *text;
        bool match;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "anything/at.all", true},
        {"?", "", false},
        {"?", "a", true},
        {"a*b*c", "aXXbYYc", true},
        {"a*b*c", "aXXbYY", false},
        {"*.tpt", "000001.tpt", true},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[^a-c]x", "bx", false},
        {"[]a]", "]", true},
        {"[]a]", "a", true},
        {"[a-]", "-", true},
        {"[a", "[a", true},
        {"a[", "a[", true},
        {"**a**", "bab", true},
        {"aten::*", "aten::add", true},
        {"a", "", false},
        {"[!]a]", "b", true},
        {"[!]a]", "]", false},
        {"[", "[", true},
    };

    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        ck_assert_msg(tp_glob_match(cases[i].pattern, cases[i].text) == cases[i].match,
                      "%s against %s", cases[i].pattern, cases[i].text);
}
END_TEST

/* The C library as second opinion, on patterns whose meaning does not hang on its locale or on
 * backslashes. */
START_TEST(random_patterns_match_as_in_the_c_library)
{
    struct random random = {random_seed("patterns")};
    static const char pattern_set[] = "ab*?*a[b]c", text_set[] = "abc";

    for (unsigned round = 0; round < 200000; round++) {
        char pattern[12], subject[12];
        size_t length = random_below(&random, sizeof(pattern)), i;
        for (i = 0; i < length; i++)
            pattern[i] = pattern_set[random_below(&random, sizeof(pattern_set) - 1)];
        pattern[length] = '\0';
        length = random_below(&random, sizeof(subject));
        for (i = 0; i < length; i++)
            subject[i] = text_set[random_below(&random, sizeof(text_set) - 1)];
        subject[length] = '\0';
        if (tp_glob_match(pattern, subject) != !fnmatch(pattern, subject, FNM_NOESCAPE))
            ck_abort_msg("%s against %s: %d", pattern, subject, tp_glob_match(pattern, subject));
    }
}
END_TEST

START_TEST(patterns_of_many_stars_take_no_time)
{
    char pattern[2001], subject[20001];
    clock_t start = clock();

    for (unsigned i = 0; i < 2000; i++)
        pattern[i] = i % 2 ? '*' : 'a';
    pattern[1999] = 'b';
    pattern[2000] = '\0';
    memset(subject, 'a', 20000);
    subject[20000] = '\0';
    ck_assert(!tp_glob_match(pattern, subject));
    ck_assert_int_lt((clock() - start) / CLOCKS_PER_SEC, 5);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        text_is_always_terminated_and_never_beyond_its_buffer,
        cut_text_is_the_start_of_the_whole,
        numbers_look_as_in_printf,
        strings_characters_and_percent_look_as_in_printf,
        precision_bounds_what_is_read_of_a_string,
        pointers_are_hexadecimal,
        unknown_conversion_is_shown_and_reads_no_argument,
        single_numbers,
        json_strings_are_quoted_escaped_and_valid_utf8,
        every_code_point_decodes_to_itself,
        overlong_high_and_stray_bytes_are_bad,
        length_counts_code_points_and_bad_bytes,
        distance_is_the_number_of_edits,
        patterns_match_as_in_the_shell,
        random_patterns_match_as_in_the_c_library,
        patterns_of_many_stars_take_no_time,
    };

    return unit_run("text", setup, NULL, tests, UNIT_COUNT(tests));
}
