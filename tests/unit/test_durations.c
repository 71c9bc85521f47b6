/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>

#include "model/durations.h"

static void add_all(struct tp_durations *durations, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(tp_durations_add(durations, values[i]), 0);
}

static double median_of(struct tp_durations *durations)
{
    double median;

    ck_assert_int_eq(tp_durations_median(durations, &median), 0);
    return median;
}

START_TEST(the_median_is_the_middle_or_the_mean_of_two)
{
    static const struct {
        double values[6];
        size_t count;
        double median;
    } cases[] = {
        {{0}, 0, 0.0},
        {{7}, 1, 7.0},
        {{9, 1}, 2, 5.0},
        {{5, 1, 3}, 3, 3.0},
        {{4, 4, 4, 1}, 4, 4.0},
        {{10, 2, 2, 8}, 4, 5.0},
        {{1, 1, 1, 1000, 1000, 1000}, 6, 500.5},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tp_durations d = {0};
        add_all(&d, cases[i].values, cases[i].count);
        ck_assert_double_eq(median_of(&d), cases[i].median);
        ck_assert(!d.is_rounded);
        tp_durations_fini(&d);
    }
}
END_TEST

START_TEST(percentiles_are_the_shortest_that_so_many_do_not_exceed)
{
    static const unsigned wanted[] = {99, 1, 50, 90};
    struct tp_durations durations = {0};
    double found[4] = {1, 1, 1, 1};

    ck_assert_int_eq(tp_durations_percentiles(&durations, wanted, 4, found), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq(found[i], 0);
    for (int count = 1; count <= 250; count++) { /* values 1 to count, and one more in each turn */
        ck_assert_int_eq(tp_durations_add(&durations, count), 0);
        ck_assert_int_eq(tp_durations_percentiles(&durations, wanted, 4, found), 0);
        for (int i = 0; i < 4; i++) {
            int expected = 1; /* p % of all are not above it */
            while (expected * 100 < count * (int)wanted[i])
                expected++;
            if (wanted[i] == 50)
                ck_assert_double_eq(found[i], (count + 1) / 2.0);
            else
                ck_assert_double_eq(found[i], expected);
        }
    }
    tp_durations_fini(&durations);
}
END_TEST

START_TEST(many_equal_values_need_no_room)
{
    struct tp_durations d = {0};

    for (int i = 0; i < 1000000; i++)
        tp_durations_add(&d, 1 + i % 3);
    ck_assert_uint_eq(d.count, 1000000);
    ck_assert_uint_le(d.slot_count, 8);
    ck_assert_double_eq(median_of(&d), 2.0);
    tp_durations_fini(&d);
}
END_TEST

START_TEST(medians_are_exact_up_to_64_ki_values_and_then_known_not_to_be)
{
    struct tp_durations d = {0};

    for (int i = 1; i <= TP_DURATIONS_EXACT; i++)
        tp_durations_add(&d, 1000000 + i);
    ck_assert(!d.is_rounded);
    ck_assert_double_eq(median_of(&d), 1000000 + TP_DURATIONS_EXACT / 2 + 0.5);
    tp_durations_add(&d, 1000000 + TP_DURATIONS_EXACT); /* not a new one */
    ck_assert(!d.is_rounded);
    tp_durations_add(&d, 3000000);
    ck_assert(d.is_rounded);
    for (int i = 0; i < 3 * TP_DURATIONS_EXACT; i++)
        tp_durations_add(&d, 1000 + i * 17);
    /* Half of all: those around a million and the series up to there. */
    ck_assert_double_eq_tol(median_of(&d) / (1000 + (TP_DURATIONS_EXACT + 1) * 17.0), 1.0, 0.001);
    ck_assert_uint_lt(d.used, TP_DURATIONS_EXACT);
    tp_durations_fini(&d);
}
END_TEST

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static double exact_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Small whole values, large ones, fractions; alone and in two parts. */
START_TEST(medians_of_all_kinds_of_values_are_exact)
{
    enum { MOST = 20000 };
    double *values = malloc(MOST * sizeof(*values));
    uint64_t seed = random_seed(), state = seed;

    for (int round = 0; round < 40; round++) {
        size_t count = 1 + random_next(&state) % (round < 20 ? 2000 : MOST);
        uint64_t limit = random_next(&state) % 2 ? 70000 : 50;
        struct tp_durations all = {0}, parts[2] = {{0}};
        for (size_t i = 0; i < count; i++) {
            values[i] = 1 + (double)(random_next(&state) % limit);
            values[i] += random_next(&state) % 20 ? 0 : 0.25;
        }
        add_all(&all, values, count);
        add_all(&parts[0], values, count / 3);
        add_all(&parts[1], values + count / 3, count - count / 3);
        ck_assert_int_eq(tp_durations_merge(&parts[0], &parts[1]), 0);
        double expected = exact_median(values, count);
        ck_assert_msg(median_of(&all) == expected && median_of(&parts[0]) == expected,
                      "seed %llu: %f, in parts %f, expected %f", (unsigned long long)seed,
                      median_of(&all), median_of(&parts[0]), expected);
        ck_assert(!all.is_rounded && all.count == count && parts[0].count == count);
        tp_durations_fini(&all);
        tp_durations_fini(&parts[0]);
        tp_durations_fini(&parts[1]);
    }
    free(values);
}
END_TEST

START_TEST(small_values_are_rounded_with_all_others)
{
    struct tp_durations d = {0};

    for (int i = 0; i < 1000; i++)
        tp_durations_add(&d, 1 + i % 600);
    for (int i = 1; i < TP_DURATIONS_EXACT - 600; i++)
        tp_durations_add(&d, 1000000 + i);
    ck_assert(!d.is_rounded);
    for (int i = 0; i < 3; i++)
        tp_durations_add(&d, 3000000 + i);
    ck_assert(d.is_rounded);
    for (int i = 0; i < 2 * TP_DURATIONS_EXACT; i++)
        tp_durations_add(&d, 7);
    ck_assert_double_eq(median_of(&d), 7.0);
    tp_durations_fini(&d);
}
END_TEST

START_TEST(rounded_medians_are_within_a_thousandth)
{
    enum { COUNT = 300001 };
    double *values = malloc(COUNT * sizeof(*values));
    uint64_t seed = random_seed(), state = seed;
    struct tp_durations d = {0};

    for (int i = 0; i < COUNT; i++)
        values[i] = exp((double)(random_next(&state) >> 40) / (1 << 24) * 20);
    add_all(&d, values, COUNT);
    qsort(values, COUNT, sizeof(*values), compare_doubles);
    ck_assert(d.is_rounded);
    ck_assert_msg(fabs(median_of(&d) / values[COUNT / 2] - 1.0) < 0.001, "seed %llu",
                  (unsigned long long)seed);
    tp_durations_fini(&d);
    free(values);
}
END_TEST

START_TEST(the_deviation_is_that_of_a_sample)
{
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct tp_durations d = {0};

    ck_assert_double_eq(tp_durations_deviation(&d), 0.0);
    add_all(&d, values, 1);
    ck_assert_double_eq(tp_durations_deviation(&d), 0.0);
    add_all(&d, values + 1, 7);
    ck_assert_double_eq_tol(tp_durations_deviation(&d), sqrt(32.0 / 7), 1e-12);
    tp_durations_fini(&d);
}
END_TEST

/* What Nsight Systems printed for two calls of sem_wait, of which it prints the extremes. */
START_TEST(the_deviation_is_that_of_nsight_systems)
{
    static const double values[] = {2971823, 333015608};
    struct tp_durations d = {0};

    add_all(&d, values, 2);
    ck_assert_double_eq_tol(tp_durations_deviation(&d), 233376198.5, 0.05);
    tp_durations_fini(&d);
}
END_TEST

START_TEST(merging_is_adding_all)
{
    uint64_t seed = random_seed(), state = seed;

    for (int round = 0; round < 50; round++) {
        struct tp_durations parts[2] = {{0}}, all = {0};
        size_t count = random_next(&state) % 500;
        for (size_t i = 0; i < count; i++) {
            double value = 1 + (double)(random_next(&state) % 40);
            tp_durations_add(&parts[random_next(&state) % 2], value);
            tp_durations_add(&all, value);
        }
        ck_assert_int_eq(tp_durations_merge(&parts[0], &parts[1]), 0);
        ck_assert_msg(parts[0].count == all.count && median_of(&parts[0]) == median_of(&all),
                      "seed %llu", (unsigned long long)seed);
        ck_assert_double_eq_tol(tp_durations_deviation(&parts[0]), tp_durations_deviation(&all),
                                1e-9);
        tp_durations_fini(&parts[0]);
        tp_durations_fini(&parts[1]);
        tp_durations_fini(&all);
    }
}
END_TEST

START_TEST(merging_with_a_rounded_one_rounds)
{
    struct tp_durations exact = {0}, rounded = {0};

    for (int i = 0; i <= TP_DURATIONS_EXACT; i++)
        tp_durations_add(&rounded, 1e6 + i);
    tp_durations_add(&exact, 5);
    ck_assert_int_eq(tp_durations_merge(&exact, &rounded), 0);
    ck_assert(exact.is_rounded);
    ck_assert_uint_eq(exact.count, TP_DURATIONS_EXACT + 2);
    ck_assert_double_eq_tol(median_of(&exact), 1e6 + TP_DURATIONS_EXACT / 2, 1e3);
    tp_durations_fini(&exact);
    tp_durations_fini(&rounded);
}
END_TEST

RUN_TESTS("durations", the_median_is_the_middle_or_the_mean_of_two,
          percentiles_are_the_shortest_that_so_many_do_not_exceed, many_equal_values_need_no_room,
          medians_are_exact_up_to_64_ki_values_and_then_known_not_to_be,
          rounded_medians_are_within_a_thousandth, medians_of_all_kinds_of_values_are_exact,
          small_values_are_rounded_with_all_others, the_deviation_is_that_of_a_sample,
          the_deviation_is_that_of_nsight_systems, merging_is_adding_all,
          merging_with_a_rounded_one_rounds)
