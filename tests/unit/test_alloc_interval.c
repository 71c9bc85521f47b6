/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>

#include "model/alloc_interval.h"

START_TEST(quantiles_are_those_of_tables)
{
    static const struct {
        double shape, p, expected;
    } cases[] = {{1, 0.025, 0.0253178},  {1, 0.975, 3.6888795},  {2, 0.025, 0.2422093},
                 {5, 0.975, 10.241589},  {10, 0.025, 4.7953887}, {10.5, 0.5, 10.1684},
                 {0.5, 0.975, 2.511943}, {100, 0.975, 120.529}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double found = tp_gamma_quantile(cases[i].shape, cases[i].p);
        ck_assert_msg(fabs(found / cases[i].expected - 1) < 1e-4, "%g at %g: %.7g, expected %.7g",
                      cases[i].shape, cases[i].p, found, cases[i].expected);
    }
}
END_TEST

/* Samples of equal blocks that are small against the period. */
static struct tp_alloc_interval of_equal(double samples)
{
    const double weight = 1e6;

    return tp_alloc_interval95(
        &(struct tp_alloc_estimate){.seen = samples,
                                    .value = samples * weight,
                                    .variance = samples * weight * (weight - 1),
                                    .grain = samples * (weight - 1),
                                    .most = weight - 1,
                                    .most_variance = weight * (weight - 1)});
}

START_TEST(of_equal_small_ones_it_is_the_exact_one)
{
    /* Poisson counts and their limits */
    static const double limits[][3] = {
        {0, 0, 3.689},      {1, 0.0253, 5.572},   {2, 0.242, 7.225},     {5, 1.623, 11.668},
        {10, 4.795, 18.39}, {20, 12.217, 30.888}, {5000, 4862.4, 5140.6}};

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct tp_alloc_interval found = of_equal(limits[i][0]);
        ck_assert_msg(fabs(found.low / 1e6 - limits[i][1]) < 1e-3 * (1 + limits[i][1]) &&
                          fabs(found.high / 1e6 - limits[i][2]) < 1e-3 * limits[i][2],
                      "%g samples: %g to %g", limits[i][0], found.low / 1e6, found.high / 1e6);
    }
}
END_TEST

START_TEST(what_is_seen_is_a_lower_limit)
{
    const struct tp_alloc_estimate all = {.seen = 1000, .value = 1000};
    const struct tp_alloc_estimate most = {
        .seen = 1000, .value = 1010, .variance = 50, .grain = 10, .most = 10, .most_variance = 100};
    struct tp_alloc_interval found = tp_alloc_interval95(&all);

    ck_assert(found.low == 1000 && found.high == 1000);
    found = tp_alloc_interval95(&most);
    ck_assert(found.low > 1000 && found.low < 1010 && found.high > 1010 && found.high < 1200);
}
END_TEST

/* ---- how often it holds ---- */

#define TRIALS 4000

/* Sizes of blocks in periods: all the same, or from small to large ones. */
enum sizes { SMALL, AS_A_PERIOD, MIXED, SIZES };

static double size_of(enum sizes sizes, unsigned number)
{
    return sizes == SMALL ? 0.02 : sizes == AS_A_PERIOD ? 1.0 : 0.01 * (1u << number % 9);
}

static double take_sample(struct tp_alloc_estimate *bytes, double size)
{
    double p = 1 - exp(-size);

    if (drand48() >= p)
        return 0;
    bytes->seen += size;
    bytes->value += size / p;
    bytes->variance += size * size * (1 - p) / (p * p);
    bytes->grain += size * size * (1 - p) / p;
    return 1;
}

/* Whether the interval of a row with @periods of bytes holds it. */
static bool holds(enum sizes sizes, double periods)
{
    struct tp_alloc_estimate bytes = {.most = 1, .most_variance = 1};
    double exact = 0;

    for (unsigned i = (unsigned)(drand48() * 9); exact < periods; i++) {
        exact += size_of(sizes, i);
        take_sample(&bytes, size_of(sizes, i));
    }
    struct tp_alloc_interval found = tp_alloc_interval95(&bytes);
    return found.low <= exact && exact <= found.high;
}

/* Rows with few samples, those without one, too. */
START_TEST(of_rows_with_few_samples_95_in_100_are_inside)
{
    static const double periods[] = {0.5, 1, 2, 5, 10, 30};
    uint64_t seed = random_seed();

    srand48((long)seed);
    for (int s = 0; s < SIZES; s++)
        for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
            int inside = 0;
            for (int trial = 0; trial < TRIALS; trial++)
                inside += holds((enum sizes)s, periods[i]);
            /* 94 %: three deviations below 95 % */
            ck_assert_msg(inside > 0.94 * TRIALS,
                          "sizes %d, %g periods: %d of %d inside; seed %llu", s, periods[i], inside,
                          TRIALS, (unsigned long long)seed);
        }
}
END_TEST

RUN_TESTS("alloc_interval", quantiles_are_those_of_tables, of_equal_small_ones_it_is_the_exact_one,
          what_is_seen_is_a_lower_limit, of_rows_with_few_samples_95_in_100_are_inside)
