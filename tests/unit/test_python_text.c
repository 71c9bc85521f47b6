/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "model/python_text.h"

typedef void converter(struct tp_buffer *out, const char *bytes, size_t size);

static void assert_text(converter *convert, const char *bytes, size_t size, const char *expected)
{
    struct tp_buffer out = {0};

    convert(&out, bytes, size);
    tp_buffer_char(&out, '\0');
    ck_assert_str_eq(out.bytes, expected);
    tp_buffer_fini(&out);
}

START_TEST(python_strings_choose_their_quotes)
{
    assert_text(tp_python_string, "a", 1, "'a'");
    assert_text(tp_python_string, "it's", 4, "\"it's\"");
    assert_text(tp_python_string, "'\"", 2, "'\\'\"'");
    assert_text(tp_python_string, "\n\t\\\x01\x7f", 5, "'\\n\\t\\\\\\x01\\x7f'");
    assert_text(tp_python_string, "\xc3\xa9\xc2\x85", 4, "'\xc3\xa9\\x85'");
}
END_TEST

START_TEST(json_strings_escape_what_they_must)
{
    assert_text(tp_json_string, "a\"\\/\n\r\t\b\f\x01\x7f", 11,
                "\"a\\\"\\\\/\\n\\r\\t\\b\\f\\u0001\\u007f\"");
    assert_text(tp_json_string, "\xc3\xa9", 2, "\"\xc3\xa9\"");
    assert_text(tp_json_string, "a\0b", 3, "\"a\\u0000b\"");
    assert_text(tp_json_string, "a\xff", 2, "\"a\xef\xbf\xbd\"");
}
END_TEST

START_TEST(ascii_json_has_surrogate_pairs)
{
    assert_text(tp_json_ascii, "\xc3\xa9", 2, "\"\\u00e9\"");
    assert_text(tp_json_ascii, "\xf0\x9f\x98\x80", 4, "\"\\ud83d\\ude00\"");
    assert_text(tp_json_ascii, "~\x7f", 2, "\"~\\u007f\"");
}
END_TEST

START_TEST(list_text_becomes_json)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"[]", "[]"},
        {"[[8, 16], []]", "[[8,16],[]]"},
        {"[None, True, False, -1, 2.5e-07]", "[null,true,false,-1,2.5e-07]"},
        {"['a', \"it's\", 'x\\n\\x01\\\\']", "[\"a\",\"it's\",\"x\\n\\u0001\\\\\"]"},
        {"", "\"\""},
        {"[1", "\"[1\""},
        {"[1]]", "\"[1]]\""},
        {"[1] [2]", "\"[1] [2]\""},
        {"[foo]", "\"[foo]\""},
        {"['open]", "\"['open]\""},
        {"hello", "\"hello\""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_text(tp_python_to_json, cases[i].text, strlen(cases[i].text), cases[i].json);
}
END_TEST

RUN_TESTS("python_text", python_strings_choose_their_quotes, json_strings_escape_what_they_must,
          ascii_json_has_surrogate_pairs, list_text_becomes_json)
