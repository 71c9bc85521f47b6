/* SPDX-License-Identifier: MIT
 * CUDA in recordings: what ran on devices joined to the ranges that launched it. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_records.h"
#include "input/tptrace.h"
#include "model/averages.h"
#include "read_recording.h"
#include "records.h"

#define CUPTI_LINE "{\"t\":\"cuda\",\"mode\":\"cupti\",\"clock\":\"ticks\",\"api\":130001}"
#define START_NS 1700000000000000000

/* Names behind the letters, in this order. */
enum { LAUNCH = TP_NAME_FIRST + 8, SYNCHRONIZE, GRAPH_LAUNCH, DRIVER_LAUNCH, GEMM, ADD, GEOMETRY };

static void begin(struct recording *rec, const char *run, const char *cuda_line)
{
    begin_recording(rec, run, 11, START_NS);
    name_letters(rec);
    ck_assert_uint_eq(recording_text(rec, TP_NAME_TEXT, "cudaLaunchKernel_v7000"), LAUNCH);
    recording_text(rec, TP_NAME_TEXT, "cudaDeviceSynchronize_v3020");
    recording_text(rec, TP_NAME_TEXT, "cudaGraphLaunch_v10000");
    recording_text(rec, TP_NAME_TEXT, "cuLaunchKernel");
    ck_assert_uint_eq(recording_text(rec, TP_NAME_SYMBOL, "_Z4gemmPfi"), GEMM);
    recording_text(rec, TP_NAME_SYMBOL, "triton_add");
    recording_text(rec, TP_NAME_GEOMETRY, "[[4,1,1],[128,1,1],32,0,0,0]");
    recording_meta(rec, cuda_line);
}

static const struct cuda_place device0 = {.stream = 7, .context = 1};

/* "name start-end parent: kernels' us | self and total device us" */
static void expect_events(const struct reading *r, const char *expected)
{
    char got[8192] = "";

    for (uint32_t i = tp_event_list_next(&r->list, 0); i < r->list.count;
         i = tp_event_list_next(&r->list, i + 1)) {
        const struct tp_function_event *e = &r->list.events[i];
        size_t n = strlen(got);
        n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s %.0f-%.0f", n ? "; " : "",
                              tp_strings_get(&r->strings, e->name)->bytes,
                              tp_number_to_double(tp_event_get(e, TP_EVENT_START)) * 1000,
                              tp_number_to_double(tp_event_get(e, TP_EVENT_END)) * 1000);
        if (e->device_type == TP_DEVICE_CUDA)
            n += (size_t)snprintf(got + n, sizeof(got) - n, " on %d/%lld%s%s", e->device_index,
                                  (long long)e->device_resource_id,
                                  e->flags & TP_EVENT_NO_LAUNCH ? " lost" : "",
                                  e->flags & TP_EVENT_USER_ANNOTATION ? " wait" : "");
        if (e->parent != TP_NO_EVENT)
            n += (size_t)snprintf(
                got + n, sizeof(got) - n, " in %s",
                tp_strings_get(&r->strings, r->list.events[e->parent].name)->bytes);
        if (e->kernel_count)
            n += (size_t)snprintf(
                got + n, sizeof(got) - n, " %u=%.0f/%.0f", e->kernel_count,
                tp_number_to_double(tp_event_get(e, TP_EVENT_SELF_DEVICE_TIME)) * 1000,
                tp_number_to_double(tp_event_get(e, TP_EVENT_DEVICE_TIME)) * 1000);
    }
    ck_assert_str_eq(got, expected);
}

static void expect_notes(const struct reading *r, const char *expected)
{
    char notes[4096];

    snprintf(notes, sizeof(notes), "%.*s", (int)r->input.notes.size,
             r->input.notes.size ? r->input.notes.bytes : "");
    if (!*expected)
        ck_assert_str_eq(notes, "");
    else
        ck_assert_msg(strstr(notes, expected) != NULL, "%s is not in: %s", expected, notes);
}

START_TEST(kernels_belong_to_the_innermost_range)
{
    struct recording rec;
    struct recording_track t, c;
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    track_begin(&t, &rec, 1, 101);
    track_begin(&c, &rec, 2, 102);
    /* kernels of another thread's ring, before and after the calls they belong to */
    put_gpu_kernel(&c, 500, GEMM, 300, 340, 2, GEOMETRY, &device0);
    track_flush(&c);
    put_records(&t, 0, "(a (b ");
    put_cuda_call(&t, 20, 1);
    put_records(&t, 60, ") ");
    put_cuda_call(&t, 70, 2);
    put_records(&t, 100, ")");
    track_flush(&t);
    put_cuda_api(&c, 600, LAUNCH, 21, 25, 1, 101, false);
    put_cuda_api(&c, 600, LAUNCH, 71, 80, 2, 101, false);
    put_gpu_kernel(&c, 600, ADD, 200, 207, 1, 0, &device0);
    put_gpu_memset(&c, 600, 3, 400, 405, 2, 64, &device0);
    put_gpu_memcpy(&c, 600, 1 | 1 << 8 | 3 << 16, 410, 420, 9, 64, &device0);
    track_flush(&c);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-100 2=45/52; b 10-60 in a 1=7/7; cudaLaunchKernel 21-25 in b; "
                      "cudaLaunchKernel 71-80 in a; triton_add 200-207 on 0/7; "
                      "gemm(float*, int) 300-340 on 0/7; Memset (Device) 400-405 on 0/7; "
                      "Memcpy HtoD (Pageable -> Device) 410-420 on 0/7 lost");
    ck_assert_str_eq(tp_strings_get(&r.strings, r.list.use_device)->bytes, "cuda");
    ck_assert_int_eq(r.list.events[2].id, 1);
    ck_assert_int_eq(r.list.events[4].id, 1);
    ck_assert(r.list.events[2].flags & TP_EVENT_CALL);
    close_reading(&r);
    track_end(&t);
    track_end(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tptrace_cuda");
    TCase *tcase = tcase_create("cuda");
    tcase_add_checked_fixture(tcase, recording_setup, recording_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, kernels_belong_to_the_innermost_range);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
