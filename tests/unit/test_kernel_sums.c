/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "model/kernel_sums.h"

enum { MANY = 5000 };

static double sum_of(struct tp_kernel_sums *sums, const struct fixture *f, uint32_t event)
{
    struct tp_number sum;

    ck_assert_int_eq(tp_kernel_sums_get(sums, &f->list, &f->list.events[event], &sum), 0);
    return tp_number_to_double(sum);
}

START_TEST(a_range_that_many_share_is_added_up_once)
{
    struct tp_kernel_sums sums = {0};
    struct tp_function_event event;
    struct fixture f;

    ck_assert_int_eq(fixture_parse(&f, "[]"), 0);
    tp_function_event_init(&event);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(tp_event_list_append(&f.list, &event), 0);
    for (int i = 0; i < MANY; i++) {
        struct tp_kernel kernel = {.duration = tp_number_integer(i)};
        ck_assert_int_eq(tp_event_list_append_kernel(&f.list, &kernel), 0);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        f.list.events[i].first_kernel = i % 2; /* two ranges in turns */
        f.list.events[i].kernel_count = MANY - 1;
        ck_assert_double_eq(sum_of(&sums, &f, i), MANY * (MANY - 1) / 2 - (i % 2 ? 0 : MANY - 1));
    }
    ck_assert_uint_le(sums.addition_count, 2 * MANY);
    tp_kernel_sums_fini(&sums);
    fixture_fini(&f);
}
END_TEST

START_TEST(few_kernels_and_none)
{
    struct tp_kernel_sums sums = {0};
    struct fixture f;

    fixture_load(&f,
                 "[" EV(1, "a", 0, 9, "") "," EV(2, "b", 10, 19,
                                                 ",'kernels':[{'name':'k','device':0,'duration':2},"
                                                 "{'name':'k','device':0,'duration':0.5}]") "]");
    ck_assert_double_eq(sum_of(&sums, &f, 0), 0);
    ck_assert_double_eq(sum_of(&sums, &f, 1), 2.5);
    ck_assert_uint_eq(sums.ranges.count, 0);
    tp_kernel_sums_fini(&sums);
    fixture_fini(&f);
}
END_TEST

RUN_TESTS("kernel_sums", a_range_that_many_share_is_added_up_once, few_kernels_and_none)
