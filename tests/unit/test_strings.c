/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/strings.h"

static uint32_t put(struct tp_strings *strings, const char *text, size_t size)
{
    uint32_t id;

    ck_assert_int_eq(tp_strings_put(strings, text, size, &id), 0);
    return id;
}

START_TEST(equal_texts_have_one_id)
{
    struct tp_strings strings;

    ck_assert_int_eq(tp_strings_init(&strings), 0);
    ck_assert_uint_eq(put(&strings, "", 0), TP_STRING_EMPTY);
    ck_assert_uint_eq(put(&strings, "[]", 2), TP_STRING_LIST);
    uint32_t a = put(&strings, "aten::mm", 8);
    ck_assert_uint_eq(put(&strings, "aten::mm", 8), a);
    ck_assert_uint_ne(put(&strings, "aten::mn", 8), a);
    ck_assert_uint_eq(tp_strings_find(&strings, "aten::mm", 8), a);
    ck_assert_uint_eq(tp_strings_find(&strings, "other", 5), TP_STRING_NONE);
    tp_strings_fini(&strings);
}
END_TEST

START_TEST(a_hundred_thousand_strings_stay_found_and_in_place)
{
    enum { COUNT = 100000 };
    struct tp_strings strings;
    char text[32];

    ck_assert_int_eq(tp_strings_init(&strings), 0);
    uint32_t first = put(&strings, "number 0", 8);
    const char *bytes = tp_strings_get(&strings, first)->bytes;
    for (int i = 1; i < COUNT; i++)
        ck_assert_uint_eq(put(&strings, text, (size_t)sprintf(text, "number %d", i)),
                          first + (uint32_t)i);
    for (int i = 0; i < COUNT; i++)
        ck_assert_uint_eq(put(&strings, text, (size_t)sprintf(text, "number %d", i)),
                          first + (uint32_t)i);
    ck_assert_ptr_eq(tp_strings_get(&strings, first)->bytes, bytes);
    tp_strings_fini(&strings);
}
END_TEST

START_TEST(bad_utf8_becomes_replacement_characters)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *stored;
    } cases[] = {
        {"a\xff"
         "b",
         3,
         "a\xef\xbf\xbd"
         "b"},
        {"\xc3", 1, "\xef\xbf\xbd"},
        {"\xe2\x82", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xef\xbf\xbd", 3, "\xef\xbf\xbd"},
        {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
    };
    struct tp_strings strings;

    ck_assert_int_eq(tp_strings_init(&strings), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t id = put(&strings, cases[i].bytes, cases[i].size);
        ck_assert_str_eq(tp_strings_get(&strings, id)->bytes, cases[i].stored);
    }
    tp_strings_fini(&strings);
}
END_TEST

START_TEST(lengths_count_code_points_and_nuls)
{
    struct tp_strings strings;

    ck_assert_int_eq(tp_strings_init(&strings), 0);
    ck_assert_uint_eq(tp_strings_get(&strings, put(&strings, "\xc3\xa9t\xc3\xa9", 5))->length, 3);
    const struct tp_string *nul = tp_strings_get(&strings, put(&strings, "a\0b", 3));
    ck_assert_uint_eq(nul->length, 3);
    ck_assert_uint_eq(nul->size, 3);
    tp_strings_fini(&strings);
}
END_TEST

START_TEST(controls_are_noticed_but_not_tabs)
{
    struct tp_strings strings;

    ck_assert_int_eq(tp_strings_init(&strings), 0);
    ck_assert(!tp_strings_get(&strings, put(&strings, "a\tb", 3))->has_controls);
    ck_assert(tp_strings_get(&strings, put(&strings, "a\nb", 3))->has_controls);
    ck_assert(tp_strings_get(&strings, put(&strings, "\x7f", 1))->has_controls);
    ck_assert(tp_strings_get(&strings, put(&strings, "\xc2\x9b", 2))->has_controls);
    ck_assert(!tp_strings_get(&strings, put(&strings, "\xc2\xa0", 2))->has_controls);
    tp_strings_fini(&strings);
}
END_TEST

START_TEST(long_strings_do_not_disturb_short_ones)
{
    struct tp_strings strings;
    char *large = malloc(1 << 20);

    memset(large, 'x', 1 << 20);
    ck_assert_int_eq(tp_strings_init(&strings), 0);
    uint32_t before = put(&strings, "before", 6);
    uint32_t id = put(&strings, large, 1 << 20);
    uint32_t after = put(&strings, "after", 5);
    ck_assert_uint_eq(tp_strings_get(&strings, id)->size, 1 << 20);
    ck_assert_str_eq(tp_strings_get(&strings, before)->bytes, "before");
    ck_assert_str_eq(tp_strings_get(&strings, after)->bytes, "after");
    tp_strings_fini(&strings);
    free(large);
}
END_TEST

START_TEST(order_is_by_code_points_with_none_first)
{
    struct tp_strings strings;

    ck_assert_int_eq(tp_strings_init(&strings), 0);
    uint32_t a = put(&strings, "a", 1), ab = put(&strings, "ab", 2), b = put(&strings, "b", 1);
    uint32_t emoji = put(&strings, "\xf0\x9f\x98\x80", 4), bmp = put(&strings, "\xef\xbf\xbd", 3);
    ck_assert_int_eq(tp_strings_compare(&strings, a, ab), -1);
    ck_assert_int_eq(tp_strings_compare(&strings, b, ab), 1);
    ck_assert_int_eq(tp_strings_compare(&strings, a, a), 0);
    ck_assert_int_eq(tp_strings_compare(&strings, TP_STRING_NONE, TP_STRING_EMPTY), -1);
    ck_assert_int_eq(tp_strings_compare(&strings, emoji, bmp), 1);
    tp_strings_fini(&strings);
}
END_TEST

RUN_TESTS("strings", equal_texts_have_one_id, a_hundred_thousand_strings_stay_found_and_in_place,
          bad_utf8_becomes_replacement_characters, lengths_count_code_points_and_nuls,
          controls_are_noticed_but_not_tabs, long_strings_do_not_disturb_short_ones,
          order_is_by_code_points_with_none_first)
