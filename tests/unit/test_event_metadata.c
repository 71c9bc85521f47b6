/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "model/event_metadata.h"

static void put(struct tp_event_metadata *metadata, const char *key, const char *text)
{
    tp_event_metadata_put(metadata, key, strlen(key), text, strlen(text));
}

static void assert_field(struct tp_event_metadata *metadata, const char *expected)
{
    struct tp_buffer out = {0};

    tp_event_metadata_write(metadata, &out);
    tp_buffer_char(&out, '\0');
    ck_assert_msg(strstr(out.bytes, expected) != NULL, "%s lacks %s", out.bytes, expected);
    tp_buffer_fini(&out);
}

START_TEST(without_a_known_key_it_is_none)
{
    struct tp_event_metadata metadata = {0};
    struct tp_buffer out = {0};

    put(&metadata, "External id", "7");
    tp_event_metadata_write(&metadata, &out);
    ck_assert_uint_eq(out.size, 4);
    ck_assert_int_eq(memcmp(out.bytes, "null", 4), 0);
    tp_buffer_fini(&out);
    tp_event_metadata_fini(&metadata);
}
END_TEST

START_TEST(values_get_their_fields_types)
{
    static const struct {
        const char *key, *text, *expected;
    } cases[] = {
        {"registers per thread", "32", "\"registers_per_thread\": 32"},
        {"stream", "\"7\"", "\"stream\": 7"},
        {"stream", "7.0", "\"stream\": 7"},
        {"stream", "none", "\"stream\": null"},
        {"blocks per SM", "1", "\"blocks_per_sm\": 1.0"},
        {"memory bandwidth (GB/s)", "0.25", "\"bandwidth_gb_s\": 0.25"},
        {"grid", "[1, 2, 3]", "\"grid\": [1, 2, 3]"},
        {"Collective name", "\"all_reduce\"", "\"collective_name\": \"all_reduce\""},
        {"dtype", "Float", "\"dtype\": \"Float\""},
        {"Is asynchronized op", "1", "\"is_async\": true"},
        {"Is asynchronized op", "\"true\"", "\"is_async\": true"},
        {"Is asynchronized op", "0", "\"is_async\": false"},
        {"Seq", "5", "\"seq\": 5"},
        {"Seq", "5", "\"registers_per_thread\": null"},
    };
    struct tp_event_metadata metadata = {0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tp_event_metadata_reset(&metadata);
        put(&metadata, cases[i].key, cases[i].text);
        assert_field(&metadata, cases[i].expected);
    }
    tp_event_metadata_fini(&metadata);
}
END_TEST

RUN_TESTS("event_metadata", without_a_known_key_it_is_none, values_get_their_fields_types)
