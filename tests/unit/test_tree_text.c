/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

START_TEST(children_are_indented_and_threads_are_sections)
{
    ASSERT_PRINTS("[" EV(1, "other", 0, 1, ",'thread':9") "," EV(2, "p", 0, 10, "") "," EV(
                      3, "c", 1, 3, "") "," EV(4, "k", 1, 3, ",'is_async':true") "]",
                  "   CPU total      Self CPU    # of Calls  Name\n"
                  "thread 1:\n"
                  "    10.000us       8.000us             1  p\n"
                  "     2.000us       2.000us             1    c\n"
                  "     2.000us       0.000us             1  k (async)\n"
                  "thread 9:\n"
                  "     1.000us       1.000us             1  other\n",
                  "tree");
}
END_TEST

START_TEST(compact_merges_equal_names_below_one_line)
{
    ASSERT_PRINTS(
        "[" EV(1, "p", 0, 10, "") "," EV(2, "c", 1, 3, "") "," EV(3, "p", 20, 30, "") "," EV(
            4, "c", 21, 22, "") "," EV(5, "d", 23, 24, "") "," EV(6, "c", 40, 41, "") "]",
        "   CPU total      Self CPU    # of Calls  Name\n"
        "thread 1:\n"
        "    20.000us      16.000us             2  p\n"
        "     3.000us       3.000us             2    c\n"
        "     1.000us       1.000us             1    d\n"
        "     1.000us       1.000us             1  c\n",
        "tree", "--compact");
}
END_TEST

START_TEST(device_and_memory_columns_come_when_there_is_something)
{
    struct outcome o = OUTCOME("{'list':{'profile_memory':true},'events':[" EV(
                                   1, "k", 0, 5,
                                   ",'use_device':'cuda','device_type':'CUDA','device_index':2,"
                                   "'device_resource_id':7,'cpu_memory_usage':2048") "]}",
                               "tree");

    ck_assert_ptr_nonnull(strstr(o.text, "Device total"));
    ck_assert_ptr_nonnull(strstr(o.text, "Self CPU Mem"));
    ck_assert_ptr_nonnull(strstr(o.text, "\nCUDA 2, stream 7:\n"));
    outcome_fini(&o);
}
END_TEST

START_TEST(deep_trees_stop_indenting_and_limits_are_kept)
{
    struct tp_buffer json = {0};

    for (int i = 0; i < 3000; i++)
        tp_buffer_format(&json, "%s{'id':1,'name':'n%d','start_us':%d,'end_us':%d}", i ? "," : "[",
                         i % 2, i, 9000 - i);
    tp_buffer_bytes(&json, "]", 2);
    struct outcome o = OUTCOME(json.bytes, "tree");
    ck_assert_ptr_nonnull(strstr(o.text, " [2999] n1\n"));
    ck_assert_uint_lt(o.size, 3000 * 200);
    outcome_fini(&o);
    o = OUTCOME(json.bytes, "tree", "-n", "2");
    ck_assert_ptr_nonnull(strstr(o.text, "    n1\n"));
    ck_assert_ptr_null(strstr(o.text, "      n0\n"));
    outcome_fini(&o);
    tp_buffer_fini(&json);
}
END_TEST

RUN_TESTS("tree_text", children_are_indented_and_threads_are_sections,
          compact_merges_equal_names_below_one_line,
          device_and_memory_columns_come_when_there_is_something,
          deep_trees_stop_indenting_and_limits_are_kept)
