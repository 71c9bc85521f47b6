/* SPDX-License-Identifier: MIT
 * Launches and their device work, in whatever order they are recorded: each goes to the range that
 * launched it, or is counted as work of which no launch is known. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_records.h"
#include "input/tptrace.h"
#include "input/tptrace_launch_ids.h"
#include "model/averages.h"
#include "read_recording.h"
#include "records.h"

#define START_NS 1700000000000000000

/* Names behind the letters, in this order. */
enum { LAUNCH = TP_NAME_FIRST + 8, KERNEL };

static const struct cuda_place device0 = {.stream = 7, .context = 1};

static void begin(struct recording *rec, const char *clock)
{
    char line[128];

    begin_recording(rec, "run", 11, START_NS);
    name_letters(rec);
    ck_assert_uint_eq(recording_text(rec, TP_NAME_TEXT, "cudaLaunchKernel_v7000"), LAUNCH);
    ck_assert_uint_eq(recording_text(rec, TP_NAME_SYMBOL, "_Z4gemmPfi"), KERNEL);
    snprintf(line, sizeof(line), "{\"t\":\"cuda\",\"mode\":\"cupti\",\"clock\":\"%s\"}", clock);
    recording_meta(rec, line);
}

static double sum_of(const struct reading *r, const char *name, enum tp_measure measure)
{
    double sum = 0;

    for (size_t i = 0; i < r->count; i++) {
        if (!strcmp(tp_strings_get(&r->strings, r->rows[i].key)->bytes, name))
            sum += tp_number_to_double(r->rows[i].sums[measure]);
    }
    return sum;
}

/* What is known of a recording that is made and ended: device ns of a, of b; device work of no
 * launch; what the head says. */
static void expect(double a, double b, uint64_t lost, const char *notes)
{
    struct tp_averages_options options = {0};

    for (int streams = 0; streams < 2; streams++) {
        struct reading r;
        char text[64];
        if (streams) {
            ck_assert_int_eq(read_averages(&r, "run", &options), 0);
        } else {
            read_events(&r, "run", &everything);
            ck_assert_int_eq(tp_key_averages(&r.list, &options, &r.rows, &r.count), 0);
        }
        double of_a = sum_of(&r, "a", TP_MEASURE_SELF_DEVICE_TIME) * 1000;
        double of_b = sum_of(&r, "b", TP_MEASURE_SELF_DEVICE_TIME) * 1000;
        snprintf(text, sizeof(text), "%llu piece%s of device work", (unsigned long long)lost,
                 lost == 1 ? "" : "s");
        ck_assert_msg(fabs(of_a - a) < 1e-3 && fabs(of_b - b) < 1e-3,
                      "%s: a %.3f ns, expected %.3f; b %.3f ns, expected %.3f",
                      streams ? "stream" : "list", of_a, a, of_b, b);
        const char *lines = r.input.notes.size ? r.input.notes.bytes : "";
        ck_assert_int_eq(memmem(lines, r.input.notes.size, "no launch recorded", 18) != NULL,
                         lost != 0);
        if (lost)
            expect_notes(&r, text);
        if (notes)
            expect_notes(&r, notes);
        close_reading(&r);
    }
}

/* ---- the order of records ---- */

enum { ROUND = 40 }; /* ticks of a range of a and one of b, with a call each */

static void put_round(struct recording_track *t, uint32_t i)
{
    put_records(t, (uint64_t)i * ROUND, "(a");
    put_cuda_call(t, (uint64_t)i * ROUND + 5, 2 * i + 1);
    put_records(t, (uint64_t)i * ROUND + 15, ")(b");
    put_cuda_call(t, (uint64_t)i * ROUND + 30, 2 * i + 2);
    put_records(t, (uint64_t)i * ROUND + 39, ")");
}

/* The calls of a round, and kernels of 7 ns for a's, 3 ns for b's. @behind: what their clock shows
 * less than ours. */
static void tell_round(struct recording_track *c, uint64_t now, uint32_t i, uint64_t behind)
{
    uint64_t start = UINT64_C(1000000) + (uint64_t)i * ROUND - behind;

    put_cuda_api(c, now, LAUNCH, start + 6, start + 12, 2 * i + 1, 101, false);
    put_gpu_kernel(c, now, KERNEL, start + 13, start + 20, 2 * i + 1, 0, &device0);
    put_cuda_api(c, now, LAUNCH, start + 31, start + 37, 2 * i + 2, 101, false);
    put_gpu_kernel(c, now, KERNEL, start + 38, start + 41, 2 * i + 2, 0, &device0);
}

static void begin_tracks(struct recording *rec, struct recording_track *t,
                         struct recording_track *c)
{
    track_begin(t, rec, 1, 101);
    track_begin(c, rec, 2, 102);
}

static void end_tracks(struct recording *rec, struct recording_track *t, struct recording_track *c)
{
    track_flush(t);
    track_flush(c);
    recording_end(rec, "exit");
    track_end(t);
    track_end(c);
}

static void tie_clock(struct recording *rec)
{
    recording_meta(rec, "{\"t\":\"cuda_clock\",\"ticks\":0,\"cupti_ns\":1000000}");
    recording_meta(rec, "{\"t\":\"cuda_clock\",\"ticks\":1000000000,\"cupti_ns\":1001000000}");
}

/* More than can wait are told before the first record of the thread that called. */
START_TEST(calls_wait_for_their_thread)
{
    enum { ROUNDS = 100000 };
    struct recording rec;
    struct recording_track t, c;

    begin(&rec, "cupti");
    tie_clock(&rec);
    begin_tracks(&rec, &t, &c);
    for (uint32_t i = 0; i < ROUNDS; i++)
        tell_round(&c, (uint64_t)ROUNDS * ROUND, i, 0);
    track_flush(&c);
    for (uint32_t i = 0; i < ROUNDS; i++)
        put_round(&t, i);
    end_tracks(&rec, &t, &c);
    expect(7.0 * ROUNDS, 3.0 * ROUNDS, 0, NULL);
}
END_TEST

/* A thread's records seem to have been read beyond a call that they are still to tell of. */
START_TEST(a_clock_that_is_behind_moves_no_call)
{
    enum { ROUNDS = 2000, PIECE = 50 };
    struct recording rec;
    struct recording_track t, c;

    begin(&rec, "cupti");
    tie_clock(&rec);
    begin_tracks(&rec, &t, &c);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (i % PIECE == 0) { /* of the ranges to come */
            for (uint32_t k = i; k < i + PIECE; k++)
                tell_round(&c, (uint64_t)(i + PIECE) * ROUND, k, 10 * ROUND + 25);
            track_flush(&c);
        }
        put_round(&t, i);
        if (i % 10 == 9)
            track_flush(&t);
    }
    end_tracks(&rec, &t, &c);
    expect(7.0 * ROUNDS, 3.0 * ROUNDS, 0, NULL);
}
END_TEST

/* ---- what cannot be placed ---- */

/* A call of which its thread does not tell. */
static void tell_call(struct recording_track *c, uint64_t now, uint64_t start, uint32_t correlation)
{
    put_cuda_api(c, now, LAUNCH, start, start + 5, correlation, 101, false);
    put_gpu_kernel(c, now, KERNEL, start + 10, start + 30, correlation, 0, &device0);
}

START_TEST(a_call_without_a_place_is_found_by_its_time)
{
    struct recording rec;
    struct recording_track t, c;

    begin(&rec, "ticks");
    begin_tracks(&rec, &t, &c);
    tell_call(&c, 500, 12, 1); /* told before, in between and after */
    track_flush(&c);
    put_records(&t, 0, "(a (b");
    put_records(&t, 40, ")");
    put_records(&t, 90, ")");
    tell_call(&c, 500, 60, 2);
    tell_call(&c, 500, 100, 3); /* outside of all ranges */
    end_tracks(&rec, &t, &c);
    expect(20, 20, 0, NULL);
}
END_TEST

START_TEST(a_number_of_a_thread_may_be_anothers_later)
{
    struct recording rec;
    struct recording_track t, again, c;

    begin(&rec, "ticks");
    begin_tracks(&rec, &t, &c);
    track_begin(&again, &rec, 3, 101);
    tell_call(&c, 2000, 5, 1);
    tell_call(&c, 2000, 1005, 2);
    tell_call(&c, 2000, 1040, 3); /* outside of all ranges */
    track_flush(&c);
    put_records(&t, 0, "(a)(a"); /* it ends inside of a range */
    track_flush(&t);
    put_records(&again, 1000, "(b");
    put_records(&again, 1030, ")");
    track_flush(&again);
    end_tracks(&rec, &t, &c);
    track_end(&again);
    expect(20, 20, 0, NULL);
}
END_TEST

START_TEST(a_clock_that_is_not_tied_places_no_call)
{
    struct recording rec;
    struct recording_track t, c;

    begin(&rec, "cupti");
    begin_tracks(&rec, &t, &c);
    put_records(&t, 0, "(a");
    put_cuda_call(&t, 20, 1);
    put_records(&t, 90, ")");
    tell_call(&c, 500, START_NS + 21, 1);
    tell_call(&c, 500, START_NS + 40, 2);
    end_tracks(&rec, &t, &c);
    expect(20, 0, 1, "1 CUDA call belongs to no range: nothing tells which");
}
END_TEST

/* A thread that tells of its calls for long, in blocks of 1000 rounds. */
static void put_long(struct recording_track *t, struct recording_track *c, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        put_round(t, i);
        put_cuda_api(c, (uint64_t)(i + 1) * ROUND, LAUNCH, (uint64_t)i * ROUND + 6,
                     (uint64_t)i * ROUND + 12, 2 * i + 1, 101, false);
        if (i % 1000 == 999) {
            track_flush(t);
            track_flush(c);
        }
    }
}

enum { LONG = 20000, LONG_END = LONG * ROUND };

/* Its ranges are not kept then; from the loss on they are again. */
START_TEST(a_loss_after_long_is_made_up_for_by_time)
{
    struct recording rec;
    struct recording_track t, c;

    begin(&rec, "ticks");
    begin_tracks(&rec, &t, &c);
    put_long(&t, &c, LONG);
    put_records(&t, LONG_END, "(c (a");
    track_flush(&t);
    put_cuda_call(&t, LONG_END + 20, 3 * LONG);
    track_lose(&t);
    put_records(&t, LONG_END + 40, ") (b");
    put_cuda_call(&t, LONG_END + 60, 3 * LONG + 2);
    put_records(&t, LONG_END + 70, ") )");
    track_flush(&t);
    tell_call(&c, LONG_END + 200, LONG_END + 21, 3 * LONG);
    tell_call(&c, LONG_END + 200, LONG_END + 61, 3 * LONG + 2);
    put_records(&t, LONG_END + 300, "(c )");
    end_tracks(&rec, &t, &c);
    expect(20, 20, 0, NULL);
}
END_TEST

/* ... as they are from the first call on that nothing tells why it is missing. */
START_TEST(a_call_that_is_missing_after_long_is_counted)
{
    struct tp_averages_options options = {0};
    struct recording rec;
    struct recording_track t, c;
    struct reading r;

    begin(&rec, "ticks");
    begin_tracks(&rec, &t, &c);
    put_long(&t, &c, LONG);
    put_records(&t, LONG_END, "(a )");
    tell_call(&c, LONG_END + 100, LONG_END + 2, 3 * LONG);
    track_flush(&t);
    track_flush(&c);
    put_records(&t, LONG_END + 200, "(c )");
    track_flush(&t);
    put_records(&t, LONG_END + 300, "(b )");
    tell_call(&c, LONG_END + 400, LONG_END + 302, 3 * LONG + 2);
    track_flush(&t);
    put_records(&t, LONG_END + 500, "(c )");
    end_tracks(&rec, &t, &c);
    ck_assert_int_eq(read_averages(&r, "run", &options), 0);
    expect_notes(&r, "1 CUDA call belongs to no range: nothing tells which");
    expect_notes(&r, "1 piece of device work (0.020 us) belongs to no range: no launch recorded");
    ck_assert(fabs(sum_of(&r, "a", TP_MEASURE_SELF_DEVICE_TIME)) < 1e-9);
    ck_assert(fabs(sum_of(&r, "b", TP_MEASURE_SELF_DEVICE_TIME) - 0.020) < 1e-9);
    close_reading(&r);
}
END_TEST

/* As many as can wait do; the others are counted. */
START_TEST(calls_that_cannot_wait_are_counted)
{
    enum { LATE = 100, CALLS = TPTRACE_QUEUED_MAX + LATE };
    struct tp_averages_options options = {0};
    struct recording rec;
    struct recording_track t, c;
    struct reading r;

    begin(&rec, "ticks");
    begin_tracks(&rec, &t, &c);
    for (uint32_t i = 1; i <= CALLS; i++)
        put_cuda_api(&c, CALLS, LAUNCH, i, i + 1, i, 101, false);
    for (uint32_t i = 1; i <= CALLS; i += CALLS - 1)
        put_gpu_kernel(&c, CALLS, KERNEL, CALLS + i, CALLS + i + 20, i, 0, &device0);
    track_flush(&c);
    put_records(&t, 0, "(a");
    put_records(&t, 2 * CALLS, ")");
    end_tracks(&rec, &t, &c);
    ck_assert_int_eq(read_averages(&r, "run", &options), 0);
    expect_notes(&r, "100 CUDA calls belong to no range: nothing tells which");
    expect_notes(&r, "1 piece of device work (0.020 us) belongs to no range: no launch recorded");
    ck_assert(fabs(sum_of(&r, "a", TP_MEASURE_SELF_DEVICE_TIME) - 0.020) < 1e-9);
    ck_assert(fabs(sum_of(&r, "cudaLaunchKernel", TP_MEASURE_COUNT) - CALLS) < 1e-9);
    close_reading(&r);
}
END_TEST

/* ---- external ids ---- */

enum { OPERATORS = 3, ANNOTATIONS };

/* Kernels of calls 1 to 3 of a, 4 and 5 of b; nothing else tells of 2. */
static void begin_external(struct recording *rec, struct recording_track *t,
                           struct recording_track *c)
{
    begin(rec, "ticks");
    begin_tracks(rec, t, c);
    put_records(t, 0, "(a");
    put_cuda_call(t, 20, 1);
    put_cuda_call(t, 30, 3);
    put_records(t, 50, ")(b");
    put_cuda_call(t, 70, 4);
    put_cuda_call(t, 80, 5);
    put_records(t, 90, ")");
    for (uint32_t i = 1; i <= 5; i++) {
        if (i != 2)
            put_cuda_api(c, 500, LAUNCH, 11 + 10 * i, 12 + 10 * i, i, 101, false);
        put_gpu_kernel(c, 500, KERNEL, 100 + 10 * i, 101 + 10 * i, i, 0, &device0);
    }
}

START_TEST(an_external_id_places_what_nothing_else_does)
{
    for (int places_first = 0; places_first < 2; places_first++) {
        struct recording rec;
        struct recording_track t, c;
        begin_external(&rec, &t, &c);
        if (places_first)
            track_flush(&t);
        for (uint32_t i = 1; i <= 3; i++)
            put_cuda_external(&c, 500, i, OPERATORS, 77);
        put_cuda_external(&c, 500, 4, OPERATORS, 78);
        put_cuda_external(&c, 500, 4, ANNOTATIONS, 77); /* the number is another type's, too */
        track_flush(&c);
        end_tracks(&rec, &t, &c);
        expect(3, 2, 0, "1 piece of device work was placed by external ids");
        recording_teardown();
        recording_setup();
    }
}
END_TEST

START_TEST(an_external_id_of_two_ranges_places_nothing)
{
    struct recording rec;
    struct recording_track t, c;

    begin_external(&rec, &t, &c);
    for (uint32_t i = 1; i <= 5; i++)
        put_cuda_external(&c, 500, i, OPERATORS, 77);
    end_tracks(&rec, &t, &c);
    expect(2, 2, 1, NULL);
}
END_TEST

START_TEST(operators_ids_come_before_annotations)
{
    struct recording rec;
    struct recording_track t, c;

    begin_external(&rec, &t, &c);
    put_cuda_external(&c, 500, 4, ANNOTATIONS, 9);
    put_cuda_external(&c, 500, 2, ANNOTATIONS, 9);
    put_cuda_external(&c, 500, 2, OPERATORS, 8);
    put_cuda_external(&c, 500, 1, OPERATORS, 8);
    end_tracks(&rec, &t, &c);
    expect(3, 2, 0, "1 piece of device work was placed by external ids");
}
END_TEST

START_TEST(calls_themselves_need_no_external_id)
{
    struct recording rec;
    struct recording_track t, c;

    begin_external(&rec, &t, &c);
    put_cuda_external(&c, 500, 2, OPERATORS, 7); /* alone */
    put_cuda_external(&c, 500, 1, OPERATORS, 8); /* what is known stays what it is */
    put_cuda_external(&c, 500, 4, OPERATORS, 8);
    end_tracks(&rec, &t, &c);
    expect(2, 2, 1, NULL);
}
END_TEST

/* Calls of the driver that are inside of calls whose ids go by others, and by each other. */
static void put_aliases(struct recording_track *c, uint32_t first, bool circle)
{
    uint32_t id = first;

    put_gpu_kernel(c, 500, KERNEL, 200, 220, id + 1, 0, &device0);
    put_cuda_api(c, 500, LAUNCH, 10, 100, id, 101, false);
    put_cuda_api(c, 500, LAUNCH, 20, 30, id + 1, 101, true);
    put_gpu_kernel(c, 500, KERNEL, 200, 220, id + 2, 0, &device0);
    put_cuda_api(c, 500, LAUNCH, 110, 140, id + 1, 101, false);
    put_cuda_api(c, 500, LAUNCH, 120, 130, circle ? id : id + 2, 101, true);
    put_gpu_kernel(c, 500, KERNEL, 200, 220, id, 0, &device0);
    put_gpu_kernel(c, 500, KERNEL, 200, 220, id + 1, 0, &device0);
}

START_TEST(ids_that_go_by_each_other_do_no_harm)
{
    struct recording rec;
    struct recording_track t, c;
    struct tp_averages_options options = {0};
    struct reading r;

    begin(&rec, "ticks");
    begin_tracks(&rec, &t, &c);
    put_records(&t, 0, "(a");
    put_records(&t, 90, ")");
    track_flush(&t);
    put_aliases(&c, 1, false);
    put_aliases(&c, 11, true);
    end_tracks(&rec, &t, &c);
    ck_assert_int_eq(read_averages(&r, "run", &options), 0);
    double own_ns = sum_of(&r, "a", TP_MEASURE_SELF_DEVICE_TIME) * 1000;
    ck_assert_msg(own_ns >= 0 && own_ns <= 8 * 20 + 1e-3, "%.3f ns", own_ns);
    close_reading(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tptrace_launches");
    TCase *tcase = tcase_create("launches");
    tcase_add_checked_fixture(tcase, recording_setup, recording_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, calls_wait_for_their_thread);
    tcase_add_test(tcase, a_clock_that_is_behind_moves_no_call);
    tcase_add_test(tcase, a_call_without_a_place_is_found_by_its_time);
    tcase_add_test(tcase, a_number_of_a_thread_may_be_anothers_later);
    tcase_add_test(tcase, a_clock_that_is_not_tied_places_no_call);
    tcase_add_test(tcase, a_loss_after_long_is_made_up_for_by_time);
    tcase_add_test(tcase, a_call_that_is_missing_after_long_is_counted);
    tcase_add_test(tcase, calls_that_cannot_wait_are_counted);
    tcase_add_test(tcase, an_external_id_places_what_nothing_else_does);
    tcase_add_test(tcase, an_external_id_of_two_ranges_places_nothing);
    tcase_add_test(tcase, operators_ids_come_before_annotations);
    tcase_add_test(tcase, calls_themselves_need_no_external_id);
    tcase_add_test(tcase, ids_that_go_by_each_other_do_no_harm);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
