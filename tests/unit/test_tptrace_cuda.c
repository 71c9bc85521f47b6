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

/* ---- random programs ---- */

/* What a thread does, and what a device does for it, told in about the order of time. */
struct program {
    struct random random;
    struct recording rec;
    struct recording_track threads[3], completer;
    uint64_t ticks[3];
    uint32_t correlation;
    bool by_time; /* some calls do not say where they stand */
    struct late {
        unsigned kind;
        uint64_t start, end;
        uint32_t correlation, tid, name;
        bool driver;
    } late[64];
    unsigned late_count;
};

static void tell_late(struct program *p, unsigned left)
{
    static const struct cuda_place places[] = {{.stream = 7, .context = 1},
                                               {.stream = 13, .context = 1},
                                               {.stream = 9, .context = 2, .device = 1}};
    uint64_t now = p->ticks[0] + p->ticks[1] + p->ticks[2];

    while (p->late_count > left) {
        unsigned i = (unsigned)random_below(&p->random, p->late_count);
        struct late item = p->late[i];
        const struct cuda_place *place = &places[item.correlation % 3];
        p->late[i] = p->late[--p->late_count];
        switch (item.kind) {
        case TP_EVENT_CUDA_API:
            put_cuda_api(&p->completer, now, item.name, item.start, item.end, item.correlation,
                         item.tid, item.driver);
            break;
        case TP_EVENT_GPU_KERNEL:
            put_gpu_kernel(&p->completer, now, item.name, item.start, item.end, item.correlation,
                           GEOMETRY, place);
            break;
        case TP_EVENT_GPU_MEMCPY:
            put_gpu_memcpy(&p->completer, now, 2 | 3 << 8 | 2 << 16, item.start, item.end,
                           item.correlation, 4096, place);
            break;
        case TP_EVENT_CUDA_MEMORY:
            put_cuda_memory(&p->completer, now, item.name, item.start, item.end,
                            item.name & 0xff ? 512 : 0, item.correlation, 0);
            break;
        default:
            put_cuda_sync(&p->completer, now, 4, item.start, item.end, item.correlation, 0, 1);
            break;
        }
        if (!random_below(&p->random, 100))
            track_flush(&p->completer);
    }
}

static void add_late(struct program *p, struct late item)
{
    if (p->late_count == 64)
        tell_late(p, 40);
    p->late[p->late_count++] = item;
}

/* A call, with what comes of it: work, or memory, or nothing. */
static void put_random_call(struct program *p, unsigned thread)
{
    struct recording_track *t = &p->threads[thread];
    uint64_t *ticks = &p->ticks[thread];
    uint32_t correlation = ++p->correlation, tid = 101 + thread;
    unsigned what = (unsigned)random_below(&p->random, 10);
    bool placed = !p->by_time || random_below(&p->random, 4);

    *ticks += 2;
    if (placed)
        put_cuda_call(t, *ticks, correlation);
    uint64_t start = *ticks + 1, end = start + 1 + random_below(&p->random, 50);
    *ticks = end + 1;
    uint32_t names[] = {LAUNCH, SYNCHRONIZE, GRAPH_LAUNCH, DRIVER_LAUNCH};
    uint32_t name = names[random_below(&p->random, 4)];
    add_late(p, (struct late){.kind = TP_EVENT_CUDA_API,
                              .start = start,
                              .end = end,
                              .correlation = correlation,
                              .tid = tid,
                              .name = name,
                              .driver = name == DRIVER_LAUNCH});
    for (uint64_t works = what < 6 ? 1 : what == 6 ? 3 : 0; works > 0; works--) {
        uint64_t at = end + random_below(&p->random, 300);
        add_late(p, (struct late){.kind = random_below(&p->random, 5) ? TP_EVENT_GPU_KERNEL
                                                                      : TP_EVENT_GPU_MEMCPY,
                                  .start = at,
                                  .end = at + random_below(&p->random, 90),
                                  .correlation = correlation,
                                  .name = GEMM + (uint32_t)random_below(&p->random, 2)});
    }
    if (what == 7) /* allocated or freed: 512 bytes */
        add_late(p, (struct late){.kind = TP_EVENT_CUDA_MEMORY,
                                  .start = start,
                                  .end = 0x1000 * (1 + random_below(&p->random, 9)),
                                  .correlation = correlation,
                                  .name = (1 + (uint32_t)random_below(&p->random, 2)) | 3 << 8});
    if (what == 8)
        add_late(p, (struct late){.kind = TP_EVENT_CUDA_SYNC,
                                  .start = start,
                                  .end = end,
                                  .correlation = correlation});
}

static void put_random_range(struct program *p, unsigned thread)
{
    static const uint64_t classes[][2] = {{TP_EVENT_OP_BEGIN, TP_EVENT_OP_END},
                                          {TP_EVENT_NVTX_PUSH, TP_EVENT_NVTX_POP},
                                          {TP_EVENT_API_BEGIN, TP_EVENT_API_END}};
    struct recording_track *t = &p->threads[thread];
    uint64_t words[4] = {UINT64_MAX, 0, 0, random_below(&p->random, 9) ? 0 : 1};
    unsigned class_ = random_below(&p->random, 6) ? 0 : (unsigned)random_below(&p->random, 3);
    bool begins = random_below(&p->random, 100) < (t->open_count < 10 ? 54 : 35);

    p->ticks[thread] += 1 + random_below(&p->random, 30);
    track_put(t, (unsigned)classes[class_][!begins], p->ticks[thread],
              begins ? TP_NAME_FIRST + (uint32_t)random_below(&p->random, 4) : 0, words);
    if (!random_below(&p->random, 150))
        track_flush(t);
}

static void run_program(struct program *p, const char *run, uint64_t steps)
{
    begin(&p->rec, run, CUPTI_LINE);
    for (unsigned i = 0; i < 3; i++)
        track_begin(&p->threads[i], &p->rec, i + 1, 101 + i);
    track_begin(&p->completer, &p->rec, 9, 109);
    for (; steps > 0; steps--) {
        unsigned thread = (unsigned)random_below(&p->random, 3);
        if (random_below(&p->random, 3))
            put_random_range(p, thread);
        else
            put_random_call(p, thread);
    }
    tell_late(p, 0);
    for (unsigned i = 0; i < 3; i++)
        track_flush(&p->threads[i]);
    track_flush(&p->completer);
    recording_end(&p->rec, "exit");
    for (unsigned i = 0; i < 3; i++)
        track_end(&p->threads[i]);
    track_end(&p->completer);
}

static const struct tp_average *find_row(const struct reading *stream, const char *name,
                                         const struct tp_average *like)
{
    for (size_t i = 0; i < stream->count; i++) {
        const struct tp_average *row = &stream->rows[i];
        uint16_t keys = TP_EVENT_USER_ANNOTATION;
        if (!strcmp(tp_strings_get(&stream->strings, row->key)->bytes, name) &&
            row->device_type == like->device_type && (row->flags & keys) == (like->flags & keys))
            return row;
    }
    return NULL;
}

START_TEST(averages_of_a_stream_are_those_of_its_list)
{
    uint64_t seed = random_seed("averages_of_a_stream_are_those_of_its_list") + (uint64_t)_i;
    struct program p = {.random = {.state = seed}, .by_time = _i & 1};
    struct tp_averages_options options = {0};
    struct reading stream, list;
    struct tp_average *rows;
    size_t count;

    run_program(&p, "run", 3000);
    ck_assert_int_eq(read_averages(&stream, "run", &options), 0);
    read_events(&list, "run", &everything);
    ck_assert_int_eq(tp_key_averages(&list.list, &options, &rows, &count), 0);
    ck_assert_msg(count == stream.count, "seed %llu: %zu rows, of the list %zu",
                  (unsigned long long)seed, stream.count, count);
    for (size_t i = 0; i < count; i++) {
        const char *name = tp_strings_get(&list.strings, rows[i].key)->bytes;
        const struct tp_average *row = find_row(&stream, name, &rows[i]);
        ck_assert_msg(row != NULL, "seed %llu: no row %s", (unsigned long long)seed, name);
        for (int m = 0; m < TP_MEASURES; m++) {
            double x = tp_number_to_double(row->sums[m]);
            double y = tp_number_to_double(rows[i].sums[m]);
            ck_assert_msg(fabs(x - y) <= 1e-3 + 1e-9 * fabs(x),
                          "seed %llu, row %s, measure %d: %.6f, of the list %.6f",
                          (unsigned long long)seed, name, m, x, y);
        }
        ck_assert_msg((row->flags & TP_EVENT_HAS_PARENT) == (rows[i].flags & TP_EVENT_HAS_PARENT),
                      "seed %llu, row %s", (unsigned long long)seed, name);
    }
    free(rows);
    close_reading(&stream);
    close_reading(&list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tptrace_cuda");
    TCase *tcase = tcase_create("cuda");
    tcase_add_checked_fixture(tcase, recording_setup, recording_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, kernels_belong_to_the_innermost_range);
    tcase_add_loop_test(tcase, averages_of_a_stream_are_those_of_its_list, 0, 12);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
