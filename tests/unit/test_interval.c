/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "model/interval.h"

START_TEST(elapsed_is_end_minus_start_whatever_they_are)
{
    struct tp_interval whole = {tp_number_integer(5), tp_number_integer(12)};
    struct tp_interval mixed = {tp_number_integer(5), tp_number_real(5.25)};
    struct tp_interval skewed = {tp_number_real(9), tp_number_real(7)};

    ck_assert(!tp_interval_elapsed_us(whole).is_real);
    ck_assert_int_eq((int64_t)tp_interval_elapsed_us(whole).bits.low, 7);
    ck_assert(tp_interval_elapsed_us(mixed).bits.real == 0.25);
    ck_assert(tp_interval_elapsed_us(skewed).bits.real == -2.0);
}
END_TEST

START_TEST(an_events_time_range_is_its_interval)
{
    struct fixture f;

    fixture_load(&f, "[" EV(1, "a", 3, 10.5, "") "]");
    struct tp_interval range = tp_event_time_range(&f.list.events[0]);
    ck_assert_int_eq((int64_t)range.start.bits.low, 3);
    ck_assert(range.end.bits.real == 10.5);
    fixture_fini(&f);
}
END_TEST

RUN_TESTS("interval", elapsed_is_end_minus_start_whatever_they_are,
          an_events_time_range_is_its_interval)
