/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/clock.h"

#define SECOND INT64_C(1000000000)

static int64_t at(const struct tp_clock *clock, uint64_t ticks)
{
    size_t cursor = 0;

    return tp_clock_ns(clock, &cursor, ticks);
}

/* Pairs of a clock of 3 GHz, one a second. */
static void make_pairs(struct tp_clock_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct tp_clock_pair){.ticks = 9000000000u + i * 3000000000u,
                                          .monotonic_ns = 77 * SECOND + (int64_t)i * SECOND,
                                          .width = 60};
}

START_TEST(line_goes_through_every_pair)
{
    struct tp_clock_pair pairs[4];
    struct tp_clock clock;

    make_pairs(pairs, 4);
    pairs[2].monotonic_ns += 400; /* the clocks drift by less than 1 ppm */
    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 4, 5, 1e9), 0);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(at(&clock, pairs[i].ticks), pairs[i].monotonic_ns + 5);
    ck_assert_int_eq(at(&clock, pairs[1].ticks + 1500000000u), 78 * SECOND + SECOND / 2 + 200 + 5);
    ck_assert_int_eq(at(&clock, pairs[0].ticks - 3000000000u), 76 * SECOND + 5);
    ck_assert_int_eq(at(&clock, pairs[3].ticks + 6000000000u), 82 * SECOND + 5 - 800);
    ck_assert(clock.measured);
    ck_assert_uint_eq(clock.segments, 1);
    ck_assert_uint_eq(clock.pair_count, 4);
    tp_clock_fini(&clock);
}
END_TEST

START_TEST(one_pair_takes_the_rate_it_is_given)
{
    struct tp_clock_pair pair = {.ticks = 1000, .monotonic_ns = 50};
    struct tp_clock clock;

    ck_assert_int_eq(tp_clock_fit(&clock, &pair, 1, 0, 2.5e9), 0);
    ck_assert(!clock.measured);
    ck_assert_int_eq(at(&clock, 1000 + 2500000000u), 50 + SECOND);
    ck_assert_int_eq(at(&clock, 0), 50 - 400);
    tp_clock_fini(&clock);
    ck_assert_double_eq(tp_clock_rate(&pair, 1), 0);
}
END_TEST

START_TEST(stretch_of_another_rate_begins_a_new_segment)
{
    struct tp_clock_pair pairs[6];
    struct tp_clock clock;

    make_pairs(pairs, 6);
    for (unsigned i = 3; i < 6; i++) /* monotonic jumps 2 s ahead between pairs 2 and 3 */
        pairs[i].monotonic_ns += 2 * SECOND;
    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 6, 0, 1e9), 0);
    ck_assert_uint_eq(clock.segments, 2);
    ck_assert_int_eq(at(&clock, pairs[2].ticks + 1500000000u), 79 * SECOND + SECOND / 2);
    ck_assert_int_eq(at(&clock, pairs[3].ticks), 82 * SECOND);
    ck_assert_int_eq(at(&clock, pairs[3].ticks + 3000000000u), 83 * SECOND);
    ck_assert_double_eq_tol(clock.ticks_per_second, 3e9, 1);
    tp_clock_fini(&clock);
}
END_TEST

START_TEST(ticks_that_jump_never_turn_time_back)
{
    struct tp_clock_pair pairs[6];
    struct tp_clock clock;
    size_t cursor = 0;
    int64_t last = INT64_MIN;

    make_pairs(pairs, 6);
    for (unsigned i = 3; i < 6; i++)
        pairs[i].ticks += 9000000000u;
    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 6, 0, 1e9), 0);
    ck_assert_uint_eq(clock.segments, 2);
    for (uint64_t ticks = 0; ticks < pairs[5].ticks + 1000000000u; ticks += 10000019u) {
        int64_t ns = tp_clock_ns(&clock, &cursor, ticks);
        ck_assert_int_ge(ns, last);
        last = ns;
    }
    ck_assert_int_eq(at(&clock, pairs[3].ticks - 1), pairs[3].monotonic_ns);
    tp_clock_fini(&clock);
}
END_TEST

START_TEST(a_rate_that_changes_for_good_is_followed)
{
    struct tp_clock_pair pairs[7];
    struct tp_clock clock;

    make_pairs(pairs, 7);
    for (unsigned i = 4; i < 7;
         i++) /* a machine with another frequency from the middle of stretch 3 on */
        pairs[i].ticks = pairs[3].ticks + 2750000000u + (uint64_t)(i - 4) * 2500000000u;
    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 7, 0, 1e9), 0);
    ck_assert_uint_eq(clock.segments, 2);
    ck_assert_int_eq(at(&clock, pairs[5].ticks + 1250000000u), 82 * SECOND + SECOND / 2);
    tp_clock_fini(&clock);
}
END_TEST

START_TEST(a_wide_reading_is_no_jump)
{
    struct tp_clock_pair pairs[3] = {
        {.ticks = 0, .monotonic_ns = 0, .width = 60},
        {.ticks = 30000000, .monotonic_ns = 10200000, .width = 700000}, /* interrupted for 0.2 ms */
        {.ticks = 300000000, .monotonic_ns = 100000000, .width = 60},
    };
    struct tp_clock clock;

    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 3, 0, 1e9), 0);
    ck_assert_uint_eq(clock.segments, 1);
    tp_clock_fini(&clock);
}
END_TEST

START_TEST(pairs_that_go_back_are_counted_and_left_out)
{
    struct tp_clock_pair pairs[5];
    struct tp_clock clock;

    make_pairs(pairs, 5);
    pairs[2].ticks = 5;
    pairs[3].monotonic_ns = 5;
    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 5, 0, 1e9), 0);
    ck_assert_uint_eq(clock.rejected_pairs, 2);
    ck_assert_uint_eq(clock.pair_count, 3);
    ck_assert_double_eq_tol(clock.ticks_per_second, 3e9, 1);
    tp_clock_fini(&clock);
}
END_TEST

START_TEST(hostile_pairs_and_ticks_stay_in_bounds)
{
    struct tp_clock_pair pairs[2] = {{.ticks = 0, .monotonic_ns = 0},
                                     {.ticks = UINT64_MAX, .monotonic_ns = INT64_C(1) << 60}};
    struct tp_clock clock;

    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 0, 0, 1e9), -TP_EVALUE);
    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 2, 0, 0), -TP_EVALUE);
    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 2, INT64_C(1) << 62, 1e6), 0);
    for (unsigned shift = 0; shift < 64; shift++)
        at(&clock, UINT64_MAX >> shift);
    tp_clock_fini(&clock);
    pairs[1].ticks = 1; /* a rate that no clock has: as if there were one pair */
    ck_assert_int_eq(tp_clock_fit(&clock, pairs, 2, 0, 1e6), 0);
    ck_assert(!clock.measured);
    ck_assert_int_ge(at(&clock, UINT64_MAX), at(&clock, 0));
    tp_clock_fini(&clock);
    ck_assert_double_eq(tp_clock_rate(pairs, 2), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tcase = tcase_create("clock");

    tcase_add_test(tcase, line_goes_through_every_pair);
    tcase_add_test(tcase, one_pair_takes_the_rate_it_is_given);
    tcase_add_test(tcase, stretch_of_another_rate_begins_a_new_segment);
    tcase_add_test(tcase, ticks_that_jump_never_turn_time_back);
    tcase_add_test(tcase, a_rate_that_changes_for_good_is_followed);
    tcase_add_test(tcase, a_wide_reading_is_no_jump);
    tcase_add_test(tcase, pairs_that_go_back_are_counted_and_left_out);
    tcase_add_test(tcase, hostile_pairs_and_ticks_stay_in_bounds);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
