/* SPDX-License-Identifier: MIT */
#include "fixture.h"

START_TEST(frames_are_outermost_first_with_separators_replaced)
{
    ASSERT_PRINTS("[" EV(1, "a", 0, 2.9, ",'stack':['in ner;x','o\\tut\\ner']") "]",
                  "o_ut_er;in_ner_x 2\n", "stacks");
}
END_TEST

START_TEST(small_and_stackless_events_are_left_out)
{
    ASSERT_PRINTS("[" EV(1, "a", 0, 0.9, ",'stack':['s']") "," EV(2, "b", 1, 9, "") "," EV(
                      3, "c", 10, 12, ",'stack':null") "]",
                  "", "stacks");
}
END_TEST

START_TEST(equal_stacks_are_not_merged_but_for_averages)
{
    const char *json =
        "[" EV(1, "a", 0, 2, ",'stack':['s']") "," EV(2, "a", 3, 6, ",'stack':['s']") "]";

    ASSERT_PRINTS(json, "s 2\ns 3\n", "stacks", "--metric=self_cpu_time_total");
    ASSERT_PRINTS(json, "s 5\n", "stacks", "--of=averages", "--group-by-stack-n=1");
}
END_TEST

START_TEST(every_device_metric_is_self_device_time)
{
    static const char *const metrics[] = {
        "--metric=self_cuda_time_total", "--metric=self_xpu_time_total",
        "--metric=self_privateuse1_time_total", "--metric=self_device_time_total"};

    for (size_t i = 0; i < 4; i++)
        ASSERT_PRINTS("[" EV(1, "a", 0, 2,
                             ",'stack':['s'],'use_device':'cuda','kernels':[{'name':'k','device':0,"
                             "'duration':7}]") "]",
                      "s 7\n", "stacks", metrics[i]);
}
END_TEST

RUN_TESTS("stacks_reference", frames_are_outermost_first_with_separators_replaced,
          small_and_stackless_events_are_left_out, equal_stacks_are_not_merged_but_for_averages,
          every_device_metric_is_self_device_time)
