/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

START_TEST(special_fields_are_quoted_and_lines_end_in_crlf)
{
    struct outcome o = OUTCOME("[" EV(1, "a,b\\\"c\\nd;e", 0, 1, ",'stack':['x','y\\\"']") "]",
                               "averages", "-f", "csv", "--group-by-stack-n=5");
    const char *row = strstr(o.text, "\r\n") + 2;

    ck_assert_int_eq(strncmp(row, "\"a,b\"\"c\nd;e\",,1,1,1.0,", 22), 0);
    ck_assert_ptr_nonnull(strstr(row, ",\"[\"\"x\"\", \"\"y\\\"\"\"\"]\","));
    ck_assert_str_eq(row + strlen(row) - 2, "\r\n");
    outcome_fini(&o);
}
END_TEST

START_TEST(every_line_has_the_headers_fields)
{
    struct outcome o =
        OUTCOME("[" EV(1, "a", 0, 1, ",'flops':null,'fwd_thread':3") "," EV(2, "b", 2, 3, "") "]",
                "events", "-f", "csv");
    int commas[3] = {0}, line = 0;

    for (const char *p = o.text; *p; p++) {
        commas[line] += *p == ',';
        line += *p == '\n' && line < 2;
    }
    ck_assert_int_eq(commas[0], commas[1]);
    ck_assert_int_gt(commas[0], 20);
    outcome_fini(&o);
}
END_TEST

START_TEST(averages_have_the_references_names)
{
    struct outcome o = OUTCOME("[]", "averages", "-f", "csv");

    ck_assert_str_eq(
        o.text,
        "key,overload_name,self_cpu_time_total,cpu_time_total,cpu_time,self_device_time_total,"
        "device_time_total,device_time,cpu_memory_usage,self_cpu_memory_usage,"
        "device_memory_usage,self_device_memory_usage,count,node_id,input_shapes,stack,flops,"
        "scope,device_type,use_device,is_async,is_remote,is_legacy,is_user_annotation\r\n");
    outcome_fini(&o);
}
END_TEST

START_TEST(trees_say_their_parents)
{
    ASSERT_PRINTS("[" EV(7, "a", 0, 5, "") "," EV(8, "b", 1, 2, "") "]",
                  "ix,id,name,parent,cpu_time_total,self_cpu_time_total,device_time_total,self_"
                  "device_time_total,"
                  "self_cpu_memory_usage,self_device_memory_usage\r\n0,7,a,,5,4,0,0,0,0\r\n1,8,b,0,"
                  "1,1,0,0,0,0\r\n",
                  "tree", "-f", "csv");
}
END_TEST

RUN_TESTS("csv", special_fields_are_quoted_and_lines_end_in_crlf, every_line_has_the_headers_fields,
          averages_have_the_references_names, trees_say_their_parents)
