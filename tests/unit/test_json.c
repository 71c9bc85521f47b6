/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>
#include <yajl/yajl_parse.h>

static void assert_valid_json(const struct outcome *o)
{
    yajl_handle yajl = yajl_alloc(&(yajl_callbacks){0}, NULL, NULL);
    bool good = yajl_parse(yajl, (const unsigned char *)o->text, o->size) == yajl_status_ok &&
                yajl_complete_parse(yajl) == yajl_status_ok;

    yajl_free(yajl);
    ck_assert_msg(good, "%s", o->text);
}

/* Names with everything that could break a format. */
static const char odd_names[] =
    "[" EV(1, "quote\\\" back\\\\slash", 0, 10, ",'stack':['f\\nl;\\u0007','g']") "," EV(
        2, "nul\\u0000 esc\\u001b", 1, 2,
        ",'flops':null") "," EV(3, "bad \xff\xc3 utf8", 20, 30,
                                ",'input_shapes':[[1,2],null,['a`b']],'kernels':[{'name':'k\\\"','"
                                "device':0,'duration':1}]") "," EV(4, "semi;colon,comma\\r\\n", 40,
                                                                   50,
                                                                   ",'trace_name':'t\\\"\\n','"
                                                                   "overload_name':null") "]";

START_TEST(any_name_gives_valid_json)
{
    static const char *const commands[][3] = {{"averages", "--format=json", "--group-by-stack-n=3"},
                                              {"events", "--format=json", "-n9"},
                                              {"total", "--format=json", "-n9"},
                                              {"tree", "--format=json", "-n9"},
                                              {"tree", "--format=json", "--compact"},
                                              {"trace", "--style=list", "-n9"}};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct outcome o = OUTCOME(odd_names, commands[i][0], commands[i][1], commands[i][2]);
        ck_assert_msg(!o.result, "%s", o.diag.text);
        assert_valid_json(&o);
        outcome_fini(&o);
    }
}
END_TEST

START_TEST(bad_bytes_are_replaced)
{
    struct outcome o = OUTCOME(odd_names, "events", "--format=json");

    ck_assert_ptr_nonnull(strstr(o.text, "\"bad \xef\xbf\xbd\xef\xbf\xbd utf8\""));
    ck_assert_ptr_nonnull(strstr(o.text, "\"input_shapes\":[[1,2],null,[\"a'b\"]]"));
    outcome_fini(&o);
}
END_TEST

START_TEST(the_head_says_version_and_units)
{
    struct outcome o = OUTCOME("[]", "--format=json");
    const char *start = "{\"version\": 1, ";

    ck_assert_int_eq(strncmp(o.text, start, strlen(start)), 0);
    ck_assert_ptr_nonnull(
        strstr(o.text, "\"units\": {\"time\": \"us\", \"memory\": \"bytes\"}, \"rows\": [\n]}\n"));
    outcome_fini(&o);
}
END_TEST

START_TEST(integers_and_doubles_stay_apart)
{
    struct outcome o = OUTCOME("[" EV(1, "i", 0, 5, "") "," EV(2, "d", 10.0, 15.0, "") "]",
                               "averages", "-f", "json");

    ck_assert_ptr_nonnull(
        strstr(o.text, "\"key\":\"i\",\"overload_name\":\"\",\"self_cpu_time_total\":5,"));
    ck_assert_ptr_nonnull(
        strstr(o.text, "\"key\":\"d\",\"overload_name\":\"\",\"self_cpu_time_total\":5.0,"));
    outcome_fini(&o);
}
END_TEST

START_TEST(an_empty_total_has_nulls)
{
    struct outcome o = OUTCOME("[]", "total", "-f", "json");

    ck_assert_ptr_nonnull(strstr(o.text, "\"scope\":null"));
    ck_assert_ptr_nonnull(strstr(o.text, "\"is_user_annotation\":null"));
    ck_assert_ptr_nonnull(strstr(o.text, "\"stack\":null"));
    outcome_fini(&o);
}
END_TEST

RUN_TESTS("json", any_name_gives_valid_json, bad_bytes_are_replaced,
          the_head_says_version_and_units, integers_and_doubles_stay_apart,
          an_empty_total_has_nulls)
