/* SPDX-License-Identifier: MIT */
#include "fixture.h"

START_TEST(kernels_belong_to_the_event_appended_last)
{
    struct fixture f;

    fixture_load(
        &f, "[" EV(1, "a", 0, 1, "") "," EV(
                2, "b", 2, 3,
                ",'kernels':[{'name':'k','device':0,'duration':1},"
                "{'name':'l','device':1,'duration':2.5}]") "," EV(3, "c", 4, 5,
                                                                  ",'kernels':[{'name':'m','device'"
                                                                  ":0,'duration':9}]") "]");
    ck_assert_uint_eq(f.list.events[0].kernel_count, 0);
    ck_assert_uint_eq(f.list.events[1].kernel_count, 2);
    ck_assert_uint_eq(f.list.events[2].first_kernel, 2);
    ck_assert_int_eq(f.list.kernels[1].device, 1);
    fixture_fini(&f);
}
END_TEST

START_TEST(next_steps_over_folded_events)
{
    struct fixture f;

    fixture_load(&f,
                 "[" EV(1, "a", 0, 9, "") "," EV(2, "a", 1, 8, "") "," EV(3, "b", 10, 11, "") "]");
    ck_assert_uint_eq(tp_event_list_next(&f.list, 0), 0);
    ck_assert_uint_eq(tp_event_list_next(&f.list, 1), 2);
    ck_assert_uint_eq(tp_event_list_next(&f.list, 3), 3);
    fixture_fini(&f);
}
END_TEST

START_TEST(self_time_is_an_integer_for_integer_times)
{
    struct fixture f;

    fixture_load(&f, "[" EV(1, "a", 0, 9, "") "," EV(2, "b", 1, 8, "") "]");
    struct tp_number sum = tp_event_list_self_cpu_time(&f.list);
    ck_assert(!sum.is_real);
    ck_assert_int_eq(tp_number_truncate(sum), 9);
    fixture_fini(&f);
    fixture_load(&f, "[]");
    ck_assert(!tp_event_list_self_cpu_time(&f.list).is_real);
    fixture_fini(&f);
}
END_TEST

RUN_TESTS("event_list", kernels_belong_to_the_event_appended_last, next_steps_over_folded_events,
          self_time_is_an_integer_for_integer_times)
