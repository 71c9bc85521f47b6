/* SPDX-License-Identifier: MIT */
/* What sampled allocations rest on: draws, the set of watched addresses, what a call looks like. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "host.h"
#include "source/malloc/profile.h"
#include "source/malloc/sampler.h"
#include "source/malloc/watched.h"
#include "stack.h"

static uint64_t seed;

START_TEST(logarithm_is_right_to_its_last_bits)
{
    uint64_t state = seed;

    for (int i = 0; i < 100000; i++) {
        uint64_t x = tp_sampler_random(&state) | UINT64_C(1) << 63;
        double expected = log2((double)x) - 63, found = (double)tp_sampler_log2(x) / 4294967296.0;
        ck_assert_msg(fabs(found - expected) < 1e-9, "log2 of %llx: %.12f, expected %.12f",
                      (unsigned long long)x, found, expected);
    }
    ck_assert_uint_eq(tp_sampler_log2(UINT64_C(1) << 63), 0);
}
END_TEST

/* Means of 200,000 draws each: within five deviations of the period, and spread like it. */
START_TEST(gaps_are_exponential)
{
    static const uint64_t periods[] = {1, 100, 4096, 512 << 10, TP_SAMPLER_PERIOD_MAX};
    uint64_t state = seed;

    for (size_t p = 0; p < sizeof(periods) / sizeof(periods[0]); p++) {
        double sum = 0, above = 0, n = 200000, period = (double)periods[p];
        for (int i = 0; i < 200000; i++) {
            int64_t gap = tp_sampler_draw(&state, periods[p]);
            ck_assert_int_ge(gap, 1);
            sum += (double)gap;
            above += (double)gap > period;
        }
        double mean = 1 / -expm1(-1 / period), share = exp(-floor(period) / period);
        ck_assert_msg(fabs(sum / n - mean) < 5 * mean / sqrt(n), "period %.0f: mean %.3f, not %.3f",
                      period, sum / n, mean);
        ck_assert_msg(fabs(above / n - share) < 5 * sqrt(share * (1 - share) / n),
                      "period %.0f: %.4f are longer, not %.4f", period, above / n, share);
    }
}
END_TEST

/* The estimates of 2,000 runs over the same allocations, of which many are larger than a period. */
START_TEST(estimates_have_no_bias)
{
    const uint64_t period = 64 << 10;
    uint64_t state = seed, exact = 0;
    double sum = 0, squares = 0, variance = 0;
    size_t sizes[600];
    int runs = 2000;

    for (int i = 0; i < 600; i++)
        exact += sizes[i] = (size_t)1 << tp_sampler_random(&state) % 20;
    for (int run = 0; run < runs; run++) {
        double estimate = 0;
        int64_t left = tp_sampler_draw(&state, period);
        for (int i = 0; i < 600; i++) {
            double p = -expm1(-(double)sizes[i] / (double)period);
            if ((left -= (int64_t)sizes[i]) > 0)
                continue;
            left = tp_sampler_draw(&state, period);
            estimate += (double)sizes[i] / p;
        }
        sum += estimate;
        squares += (estimate - (double)exact) * (estimate - (double)exact);
    }
    for (int i = 0; i < 600; i++) {
        double n = (double)sizes[i], p = -expm1(-n / (double)period);
        variance += n * n * (1 - p) / p;
    }
    ck_assert_msg(fabs(sum / runs - (double)exact) < 5 * sqrt(variance / runs),
                  "mean %.0f, exact %.0f, deviation %.0f", sum / runs, (double)exact,
                  sqrt(variance / runs));
    ck_assert_msg(fabs(squares / runs / variance - 1) < 0.25, "spread %.0f, expected %.0f",
                  sqrt(squares / runs), sqrt(variance));
}
END_TEST

/* As the wrappers do it: an allocation of n bytes is a sample with the probability
 * 1 - exp(-(n + 16) / period). What no allocator can give does not confuse the draws. */
START_TEST(allocations_are_sampled_by_what_is_asked_for)
{
    static const size_t sizes[] = {0, 1, 24, 1000, 5000};
    const uint64_t period = 1000;
    struct tp_config config = {.alloc = {.choice = TP_ALLOC_SAMPLE, .bytes = period}};
    const char *why = NULL;
    const double n = 200000;

    ck_assert_int_eq(tp_profile_start(&config, &why), TP_MALLOC_SAMPLE);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        double found = 0, p = -expm1(-(double)(sizes[s] + 16) / (double)period);
        tp_profile_fork_child();
        for (int i = 0; i < 200000; i++) {
            uint64_t spent = tp_profile_spent();
            bool is_due = tp_profile_spend(sizes[s]), is_drawn;
            is_drawn = is_due && tp_profile_is_drawn(sizes[s]);
            found += is_drawn;
            ck_assert_uint_eq(tp_profile_spent() - spent, sizes[s] + 16);
            if (i % 100 == 0 && tp_profile_spend(SIZE_MAX / 2 + 1 + sizes[s]))
                tp_profile_is_drawn(SIZE_MAX / 2 + 1 + sizes[s]);
            if (i % 100 == 50 && tp_profile_spend(SIZE_MAX - sizes[s]))
                tp_profile_is_drawn(SIZE_MAX - sizes[s]);
        }
        ck_assert_msg(fabs(found / n - p) < 5 * sqrt(p * (1 - p) / n), "%zu bytes: %.5f, not %.5f",
                      sizes[s], found / n, p);
    }
}
END_TEST

/* What is not counted otherwise is not counted then either. */
START_TEST(without_memory_for_watching_none_are_taken)
{
    static const struct {
        enum tp_config_alloc choice;
        enum tp_malloc_mode mode;
        const char *why;
    } cases[] = {
        {TP_ALLOC_SAMPLE, TP_MALLOC_OFF, "no memory to watch sampled blocks: there are none"},
        {TP_ALLOC_COUNT_SAMPLE, TP_MALLOC_COUNT,
         "no memory to watch sampled blocks: allocations are only counted"},
    };
    struct tp_config config = {.alloc = {.choice = cases[_i].choice, .bytes = 1}};
    struct rlimit before, none;
    const char *why = "";

    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    none = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
    enum tp_malloc_mode mode = tp_profile_start(&config, &why);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    ck_assert_int_eq(mode, cases[_i].mode);
    ck_assert_str_eq(why, cases[_i].why);
}
END_TEST

START_TEST(seeds_give_states)
{
    ck_assert_uint_ne(tp_sampler_seed(0, 0), 0);
    ck_assert_uint_ne(tp_sampler_seed(1, 2), tp_sampler_seed(2, 1));
}
END_TEST

/* ---- watched addresses ---- */

static struct tp_watched watched;

static const void *address(uintptr_t i)
{
    return (const void *)(i * 48 + 0x10000);
}

START_TEST(what_is_put_can_be_taken_once)
{
    ck_assert_int_eq(tp_watched_init(&watched, 1024, 1), 0);
    for (uintptr_t i = 0; i < 500; i++)
        ck_assert(tp_watched_put(&watched, address(i)));
    for (uintptr_t i = 0; i < 500; i++) {
        ck_assert(tp_watched_maybe(address(i)));
        ck_assert(tp_watched_take(&watched, address(i)));
        ck_assert(!tp_watched_take(&watched, address(i)));
    }
    for (uintptr_t i = 0; i < 1000; i++)
        ck_assert(!tp_watched_maybe(address(i)));
}
END_TEST

START_TEST(full_set_refuses_and_forgets_nothing)
{
    static bool is_in[4096];
    unsigned count = 0;

    ck_assert_int_eq(tp_watched_init(&watched, 1024, 1), 0);
    for (uintptr_t i = 0; i < 4096; i++)
        count += is_in[i] = tp_watched_put(&watched, address(i));
    ck_assert_uint_le(count, 1024);
    ck_assert_uint_gt(count, 900); /* two buckets of eight each */
    for (uintptr_t i = 0; i < 4096; i++)
        ck_assert(tp_watched_take(&watched, address(i)) == is_in[i]);
}
END_TEST

START_TEST(neighbours_spill_out_of_their_bucket)
{
    const uintptr_t count = 200;

    ck_assert_int_eq(tp_watched_init(&watched, 1024, UINT64_C(1) << 40), 0);
    for (int round = 0; round < 3; round++) {
        for (uintptr_t i = 0; i < count; i++)
            ck_assert(tp_watched_put(&watched, address(i)));
        for (uintptr_t i = 0; i < count; i++)
            ck_assert(tp_watched_maybe(address(i)));
        for (uintptr_t i = 0; i < count; i++) {
            uintptr_t at = (i * 37 + (uintptr_t)round) % count;
            ck_assert(tp_watched_take(&watched, address(at)));
            ck_assert(!tp_watched_take(&watched, address(at)));
        }
    }
    for (uintptr_t i = 0; i < count; i++)
        ck_assert(!tp_watched_maybe(address(i)));
    for (unsigned i = 0; i < 1024 / TP_WATCHED_BUCKET; i++)
        ck_assert_uint_eq(watched.spilled[i], 0);
}
END_TEST

/* More in a page than a counter can count: it stays, and nothing is lost. */
START_TEST(full_counter_forgets_nothing)
{
    ck_assert_int_eq(tp_watched_init(&watched, 1024, 1), 0);
    for (uintptr_t i = 0; i < 400; i++)
        ck_assert(tp_watched_put(&watched, (const void *)(0x10000 + i * 8)));
    for (uintptr_t i = 0; i < 400; i++) {
        ck_assert(tp_watched_maybe((const void *)(0x10000 + i * 8)));
        ck_assert(tp_watched_take(&watched, (const void *)(0x10000 + i * 8)));
    }
}
END_TEST

static void *put_and_take(void *argument)
{
    uintptr_t from = (uintptr_t)argument * 100000;

    for (int round = 0; round < 200; round++) {
        for (uintptr_t i = 0; i < 100; i++)
            if (!tp_watched_put(&watched, address(from + i)))
                return argument;
        for (uintptr_t i = 0; i < 100; i++)
            if (!tp_watched_maybe(address(from + i)) ||
                !tp_watched_take(&watched, address(from + i)))
                return argument;
    }
    return NULL;
}

/* Far from each other, and all in one bucket first. */
START_TEST(threads_do_not_lose_each_others)
{
    static const uint64_t periods[] = {1, UINT64_C(1) << 40};
    pthread_t threads[4];
    void *failed;

    ck_assert_int_eq(tp_watched_init(&watched, 4096, periods[_i]), 0);
    for (uintptr_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, put_and_take, (void *)(i + 1)), 0);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
}
END_TEST

/* ---- calls ---- */

#if defined(__x86_64__)
START_TEST(calls_are_known_by_their_bytes)
{
    static const struct {
        uint8_t bytes[8];
        int is_call;
    } cases[] = {
        {{0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4}, 1},             /* call rel32 */
        {{0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4}, 1},             /* call *d32(%rip) */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, 1}, /* call *%rax */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x08}, 1}, /* call *8(%rax) */
        {{0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08}, 1}, /* call *8(%rsp) */
        {{0x90, 0xff, 0x94, 0x24, 0, 1, 0, 0}, 1},             /* call *256(%rsp) */
        {{0x90, 0x90, 0x90, 0xe9, 1, 2, 3, 4}, 0},             /* jmp */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, 0}, /* jmp *%rax */
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, 0},
        {{0, 0, 0, 0, 0, 0, 0, 0}, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t word;
        memcpy(&word, cases[i].bytes, sizeof(word));
        ck_assert_msg(!tp_stack_is_after_call(word) == !cases[i].is_call, "case %zu", i);
    }
}
END_TEST
#endif

int main(void)
{
    TCase *tests = tcase_create("sampling");
    const char *given = getenv("SEED");

    seed = tp_sampler_seed(given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL), 0);
    printf("# SEED=%llu\n", given ? strtoull(given, NULL, 10) : (unsigned long long)time(NULL));
    fflush(stdout);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, logarithm_is_right_to_its_last_bits);
    tcase_add_test(tests, gaps_are_exponential);
    tcase_add_test(tests, estimates_have_no_bias);
    tcase_add_test(tests, allocations_are_sampled_by_what_is_asked_for);
    tcase_add_loop_test(tests, without_memory_for_watching_none_are_taken, 0, 2);
    tcase_add_test(tests, seeds_give_states);
    tcase_add_test(tests, what_is_put_can_be_taken_once);
    tcase_add_test(tests, full_set_refuses_and_forgets_nothing);
    tcase_add_test(tests, neighbours_spill_out_of_their_bucket);
    tcase_add_test(tests, full_counter_forgets_nothing);
    tcase_add_loop_test(tests, threads_do_not_lose_each_others, 0, 2);
#if defined(__x86_64__)
    tcase_add_test(tests, calls_are_known_by_their_bytes);
#endif
    return host_run(tests, "sampling");
}
