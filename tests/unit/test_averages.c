/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>

static struct tp_average *average(struct fixture *f, struct tp_averages_options options,
                                  size_t *ret_count)
{
    struct tp_average *rows = NULL;

    ck_assert_int_eq(tp_key_averages(&f->list, &options, &rows, ret_count), 0);
    return rows;
}

START_TEST(groups_come_in_order_of_appearance_with_sums)
{
    struct fixture f;
    size_t count;

    fixture_load(&f,
                 "[" EV(1, "b", 0, 10, ",'cpu_memory_usage':5") "," EV(2, "a", 20, 21, "") "," EV(
                     3, "b", 30, 34.5, ",'cpu_memory_usage':-2") "]");
    struct tp_average *rows = average(&f, (struct tp_averages_options){0}, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(tp_strings_get(&f.strings, rows[0].key)->bytes, "b");
    ck_assert_double_eq(tp_number_to_double(rows[0].sums[TP_MEASURE_CPU_TIME]), 14.5);
    ck_assert(!rows[1].sums[TP_MEASURE_CPU_TIME].is_real);
    ck_assert_int_eq(tp_number_truncate(rows[0].sums[TP_MEASURE_CPU_MEMORY]), 3);
    ck_assert_int_eq(tp_number_truncate(rows[0].sums[TP_MEASURE_COUNT]), 2);
    free(rows);
    fixture_fini(&f);
}
END_TEST

START_TEST(fields_that_are_no_sums_are_the_first_members)
{
    struct fixture f;
    size_t count;

    fixture_load(&f, "[" EV(1, "a", 0, 10, ",'is_async':true,'scope':7") "," EV(2, "a", 20, 21,
                                                                                ",'scope':3") "]");
    struct tp_average *rows = average(&f, (struct tp_averages_options){0}, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert(rows[0].flags & TP_EVENT_ASYNC);
    ck_assert_uint_eq(rows[0].scope, 7);
    free(rows);
    fixture_fini(&f);
}
END_TEST

START_TEST(python_functions_are_left_out_unless_asked_for)
{
    struct fixture f;
    size_t count;

    fixture_load(
        &f, "[" EV(1, "a", 0, 10, ",'is_python_function':true") "," EV(2, "a", 20, 21, "") "]");
    struct tp_average *rows = average(&f, (struct tp_averages_options){0}, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(tp_number_truncate(rows[0].sums[TP_MEASURE_COUNT]), 1);
    free(rows);
    rows = average(&f, (struct tp_averages_options){.include_python_functions = true}, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(tp_number_truncate(rows[0].sums[TP_MEASURE_COUNT]), 2);
    free(rows);
    fixture_fini(&f);
}
END_TEST

START_TEST(none_counts_as_empty_or_zero)
{
    struct fixture f;
    size_t count;

    fixture_load(&f,
                 "[" EV(1, "a", 0, 10, ",'flops':null,'stack':null,'overload_name':null") "," EV(
                     2, "a", 20, 21, ",'flops':4,'overload_name':null") "]");
    struct tp_average *rows = average(
        &f, (struct tp_averages_options){.group_by_stack_n = 3, .group_by_overload_name = true},
        &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(tp_number_truncate(rows[0].sums[TP_MEASURE_FLOPS]), 4);
    ck_assert_uint_eq(rows[0].flags & TP_EVENT_NO_FLOPS, 0);
    free(rows);
    fixture_fini(&f);
}
END_TEST

START_TEST(a_total_shows_its_last_event)
{
    struct fixture f;
    struct tp_average total, row;

    fixture_load(&f, "[" EV(1, "a", 0, 10, ",'node_id':3") "," EV(
                         2, "b", 20, 21, ",'node_id':5,'is_python_function':true") "]");
    tp_average_start(&total);
    for (uint32_t i = 0; i < 2; i++) {
        tp_average_of_event(&f.list, &f.list.events[i], &row);
        tp_average_total(&total, &row);
    }
    ck_assert_int_eq(total.node_id, 5);
    ck_assert_int_eq(tp_number_truncate(total.sums[TP_MEASURE_CPU_TIME]), 11);
    ck_assert_ptr_null(total.event);
    fixture_fini(&f);
}
END_TEST

START_TEST(spreads_are_of_each_rows_events)
{
    struct fixture f;
    size_t count;

    fixture_load(&f,
                 "[" EV(1, "a", 0, 10, "") "," EV(2, "b", 20, 23, "") "," EV(
                     3, "a", 30, 31, "") "," EV(4, "a", 40, 42, "") "," EV(5, "c", 50, 50, "") "]");
    struct tp_average *rows =
        average(&f, (struct tp_averages_options){.percentiles = true}, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert(rows[0].spread.is_there && rows[0].spread.is_exact);
    ck_assert_double_eq(rows[0].spread.least, 1000);
    ck_assert_double_eq(rows[0].spread.median, 2000);
    ck_assert_double_eq(rows[0].spread.p90, 10000);
    ck_assert_double_eq(rows[0].spread.most, 10000);
    ck_assert_double_eq(rows[1].spread.p99, 3000);
    ck_assert_double_eq(rows[2].spread.median, 0);
    ck_assert_double_eq(rows[2].spread.most, 0);
    free(rows);
    rows = average(&f, (struct tp_averages_options){0}, &count);
    ck_assert(!rows[0].spread.is_there);
    free(rows);
    fixture_fini(&f);
}
END_TEST

RUN_TESTS("averages", groups_come_in_order_of_appearance_with_sums,
          fields_that_are_no_sums_are_the_first_members,
          python_functions_are_left_out_unless_asked_for, none_counts_as_empty_or_zero,
          a_total_shows_its_last_event, spreads_are_of_each_rows_events)
