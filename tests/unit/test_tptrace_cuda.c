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
#include "model/device_memory.h"
#include "model/gpu.h"
#include "model/kernels.h"
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
    recording_text(rec, TP_NAME_GEOMETRY, "[[8,2,1],[64,1,1],40,0,512,0]");
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

/* ---- the odd ones ---- */

/* A range of thread 101 from 0 to @end with calls that are placed at @places, one a tick. */
static void put_range(struct recording *rec, uint64_t end, uint32_t calls)
{
    struct recording_track t;

    track_begin(&t, rec, 1, 101);
    put_records(&t, 0, "(a ");
    for (uint32_t i = 1; i <= calls; i++)
        put_cuda_call(&t, 10 * i, i);
    put_records(&t, end, ")");
    track_flush(&t);
    track_end(&t);
}

static double sum_of(const struct reading *r, const char *name, enum tp_measure measure)
{
    double sum = NAN;

    for (size_t i = 0; i < r->count; i++) {
        if (!strcmp(tp_strings_get(&r->strings, r->rows[i].key)->bytes, name))
            sum = (isnan(sum) ? 0 : sum) + tp_number_to_double(r->rows[i].sums[measure]);
    }
    return sum;
}

START_TEST(graphs_streams_and_devices_are_told_apart)
{
    static const struct cuda_place nodes[] = {{.stream = 7, .context = 1, .graph = 5, .node = 11},
                                              {.stream = 8, .context = 1, .graph = 5, .node = 12},
                                              {.stream = 7, .context = 2, .device = 1}};
    struct recording rec;
    struct recording_track c;
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    put_range(&rec, 100, 2);
    track_begin(&c, &rec, 2, 102);
    put_cuda_api(&c, 300, GRAPH_LAUNCH, 10, 15, 1, 101, false);
    put_cuda_api(&c, 300, GRAPH_LAUNCH, 20, 25, 2, 101, false);
    for (unsigned i = 0; i < 3; i++)
        put_gpu_kernel(&c, 300, GEMM, 200 + i, 210 + 2 * i, 1, 0, &nodes[i]);
    put_gpu_graph(&c, 300, 230, 260, 2, &nodes[0]);
    track_flush(&c);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-100 4=63/63; cudaGraphLaunch 10-15 in a; cudaGraphLaunch 20-25 in a; "
                      "gemm(float*, int) 200-210 on 0/7; gemm(float*, int) 201-212 on 0/8; "
                      "gemm(float*, int) 202-214 on 1/7; CUDA graph 5 230-260 on 0/7");
    expect_notes(&r, "");
    close_reading(&r);
    track_end(&c);
}
END_TEST

/* "node: where it was captured" of the kernels of graphs, by start. */
static void expect_captured(const struct reading *r, const char *expected)
{
    char got[512] = "";

    for (uint32_t i = tp_event_list_next(&r->list, 0); i < r->list.count;
         i = tp_event_list_next(&r->list, i + 1)) {
        const char *text = tp_strings_get(&r->strings, r->list.details[i].metadata)->bytes;
        const char *node = strstr(text, "\"graph node id\": ");
        const char *in = strstr(text, "\"captured in\": ");
        size_t n = strlen(got);
        if (node)
            snprintf(got + n, sizeof(got) - n, "%s%d: %.3s", n ? "; " : "", atoi(node + 17),
                     in ? in + 15 : "-");
    }
    ck_assert_str_eq(got, expected);
}

START_TEST(kernels_of_graphs_tell_where_they_were_captured)
{
    struct recording rec;
    struct recording_track t, c;
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    track_begin(&t, &rec, 1, 101);
    track_begin(&c, &rec, 2, 102);
    put_cuda_node(&t, 5, 3, 14, 0); /* outside of all ranges */
    put_records(&t, 10, "(a ");
    put_cuda_node(&t, 15, 3, 11, 0);
    put_records(&t, 20, "(b ");
    put_cuda_node(&t, 25, 3, 12, 0);
    put_records(&t, 30, ") )");
    put_cuda_node(&t, 50, 4, 21, 11); /* the graph is made ready to run */
    put_cuda_node(&t, 50, 4, 22, 12);
    put_cuda_node(&t, 51, 4, 32, 22); /* a copy of a copy */
    put_cuda_node(&t, 51, 4, 33, 33); /* of itself, which cannot be */
    put_records(&t, 60, "(c ");
    put_cuda_call(&t, 65, 1);
    put_records(&t, 70, ")");
    track_flush(&t);
    put_cuda_api(&c, 300, GRAPH_LAUNCH, 65, 69, 1, 101, false);
    for (uint64_t i = 0, nodes[] = {11, 12, 14, 21, 22, 32, 33, 99}; i < 8; i++) {
        struct cuda_place place = {.stream = 7, .context = 1, .graph = 4, .node = nodes[i]};
        put_gpu_kernel(&c, 300, GEMM, 100 + 10 * i, 105 + 10 * i, 1, 0, &place);
    }
    track_flush(&c);
    recording_end(&rec, "exit");
    open_reading(&r, "run", &everything);
    r.list.keeps_details = true;
    ck_assert_int_eq(tp_input_tptrace.read_list(&r.input, &r.list, &r.diag), 0);
    expect_captured(&r, "11: \"a\"; 12: \"b\"; 14: -; 21: \"a\"; 22: \"b\"; "
                        "32: \"b\"; 33: -; 99: -");
    close_reading(&r);
    ck_assert_int_eq(read_averages(&r, "run", &(struct tp_averages_options){0}), 0);
    ck_assert_double_eq_tol(sum_of(&r, "c", TP_MEASURE_DEVICE_TIME), 0.04, 1e-9);
    ck_assert_double_eq_tol(sum_of(&r, "a", TP_MEASURE_DEVICE_TIME), 0, 1e-9);
    close_reading(&r);
    track_end(&t);
    track_end(&c);
}
END_TEST

START_TEST(calls_of_the_driver_within_the_runtime_are_left_out)
{
    struct recording rec;
    struct recording_track c;
    struct tp_averages_options options = {0};
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    put_range(&rec, 200, 1);
    track_begin(&c, &rec, 2, 102);
    put_cuda_api(&c, 300, DRIVER_LAUNCH, 12, 18, 2, 101, true);
    put_cuda_api(&c, 300, LAUNCH, 11, 20, 1, 101, false);
    put_cuda_api(&c, 300, DRIVER_LAUNCH, 30, 38, 3, 101, true); /* a call of its own */
    put_gpu_kernel(&c, 300, GEMM, 250, 260, 2, 0, &device0);    /* bears the inner one's id */
    put_gpu_kernel(&c, 300, ADD, 260, 290, 3, 0, &device0);
    track_flush(&c);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-200 2=40/40; cudaLaunchKernel 11-20 in a; cuLaunchKernel 30-38 in a; "
                      "gemm(float*, int) 250-260 on 0/7; triton_add 260-290 on 0/7");
    ck_assert_int_eq(r.list.events[3].id, 1);
    close_reading(&r);
    ck_assert_int_eq(read_averages(&r, "run", &options), 0);
    ck_assert(fabs(sum_of(&r, "cuLaunchKernel", TP_MEASURE_COUNT) - 1) < 1e-9);
    ck_assert(fabs(sum_of(&r, "a", TP_MEASURE_SELF_DEVICE_TIME) - 0.04) < 1e-9);
    ck_assert(fabs(sum_of(&r, "a", TP_MEASURE_SELF_CPU_TIME) - (0.2 - 0.009 - 0.008)) < 1e-9);
    close_reading(&r);
    track_end(&c);
}
END_TEST

START_TEST(what_has_no_time_or_launch_is_counted)
{
    struct recording rec;
    struct recording_track c;
    struct tp_averages_options options = {0};
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    recording_meta(&rec, "{\"t\":\"cuda_lost\",\"dropped\":17}");
    put_range(&rec, 100, 1);
    track_begin(&c, &rec, 2, 102);
    put_cuda_api(&c, 300, LAUNCH, 11, 20, 1, 101, false);
    put_gpu_kernel(&c, 300, GEMM, 0, 0, 1, 0, &device0);
    put_gpu_kernel(&c, 300, GEMM, 250, 240, 1, 0, &device0);
    put_gpu_kernel(&c, 300, GEMM, 250, 257, 1, 0, &device0);
    put_gpu_kernel(&c, 300, GEMM, 260, 280, 99, 0, &device0);
    put_gpu_kernel(&c, 300, GEMM, 290, 300, 0, 0, &device0);
    track_flush(&c);
    recording_end(&rec, "exit");
    for (int streams = 0; streams < 2; streams++) {
        if (streams)
            ck_assert_int_eq(read_averages(&r, "run", &options), 0);
        else
            read_events(&r, "run", &everything);
        expect_notes(&r, "17 records dropped by CUPTI");
        expect_notes(&r, "2 records of CUDA without a time are in no sum");
        expect_notes(&r, "2 pieces of device work (0.030 us) belong to no range");
        ck_assert_uint_ne(r.input.lost_count, 0);
        if (streams) {
            ck_assert(fabs(sum_of(&r, "gemm(float*, int)", TP_MEASURE_DEVICE_TIME) - 0.037) < 1e-9);
            ck_assert(fabs(sum_of(&r, "a", TP_MEASURE_DEVICE_TIME) - 0.007) < 1e-9);
        }
        close_reading(&r);
    }
    track_end(&c);
}
END_TEST

START_TEST(waits_and_overhead_are_in_no_sum)
{
    struct recording rec;
    struct recording_track c;
    struct tp_averages_options options = {0};
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    put_range(&rec, 100, 1);
    track_begin(&c, &rec, 2, 102);
    put_cuda_api(&c, 300, SYNCHRONIZE, 11, 90, 1, 101, false);
    put_cuda_sync(&c, 300, 4, 12, 89, 1, 0, 1);
    put_cuda_overhead(&c, 300, 5u << 16, 20, 30, 101);
    put_gpu_kernel(&c, 300, GEMM, 40, 50, 7, 0, &device0);
    track_flush(&c);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-100; cudaDeviceSynchronize 11-90 in a; Context Sync 12-89 on 0/0 wait; "
                      "Lazy Function Loading 20-30; gemm(float*, int) 40-50 on 0/7 lost");
    ck_assert(r.list.events[3].flags & TP_EVENT_ASYNC);
    close_reading(&r);
    ck_assert_int_eq(read_averages(&r, "run", &options), 0);
    ck_assert(fabs(sum_of(&r, "Lazy Function Loading", TP_MEASURE_CPU_TIME) - 0.01) < 1e-9);
    ck_assert(fabs(sum_of(&r, "Lazy Function Loading", TP_MEASURE_SELF_CPU_TIME)) < 1e-9);
    close_reading(&r);
    track_end(&c);
}
END_TEST

START_TEST(lengths_are_those_of_cuptis_own_clock)
{
    struct recording rec;
    struct recording_track c;
    struct reading r;

    begin(&rec, "run", "{\"t\":\"cuda\",\"mode\":\"cupti\",\"clock\":\"cupti\"}");
    /* half as fast as ours between the first two readings, then as fast */
    recording_meta(&rec, "{\"t\":\"cuda_clock\",\"ticks\":0,\"cupti_ns\":5000000}");
    recording_meta(&rec, "{\"t\":\"cuda_clock\",\"ticks\":1000000,\"cupti_ns\":6000000}");
    recording_meta(&rec, "{\"t\":\"cuda_clock\",\"ticks\":2000000,\"cupti_ns\":7000100}");
    put_range(&rec, 1000000, 1);
    track_begin(&c, &rec, 2, 102);
    put_cuda_api(&c, 300, LAUNCH, 5000011, 5000020, 1, 101, false);
    put_gpu_kernel(&c, 300, GEMM, 5500000, 5500777, 1, 0, &device0);
    put_gpu_kernel(&c, 300, GEMM, 6500050, 6500081, 1, 0, &device0);
    track_flush(&c);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-1000000 2=808/808; cudaLaunchKernel 11-20 in a; "
                      "gemm(float*, int) 500000-500777 on 0/7; "
                      "gemm(float*, int) 1500000-1500031 on 0/7");
    close_reading(&r);
    track_end(&c);
}
END_TEST

/* ---- memory ---- */

enum { ALLOCATED = 1 | 3 << 8, FREED = 2 | 3 << 8, HERE = 2 << 24, NO_SIZE = 4 << 24 };

/* What of a's and b's device memory is shown. */
static void expect_memory(const char *run, const char *by, double total, double self, double lone)
{
    struct tp_averages_options options = {0};
    struct reading stream, list;

    ck_assert_int_eq(read_averages(&stream, run, &options), 0);
    expect_notes(&stream, by);
    ck_assert_double_eq_tol(sum_of(&stream, "a", TP_MEASURE_DEVICE_MEMORY), total, 1e-9);
    ck_assert_double_eq_tol(sum_of(&stream, "a", TP_MEASURE_SELF_DEVICE_MEMORY), self, 1e-9);
    read_events(&list, run, &everything);
    ck_assert_int_eq(tp_key_averages(&list.list, &options, &list.rows, &list.count), 0);
    ck_assert_double_eq_tol(sum_of(&list, "a", TP_MEASURE_DEVICE_MEMORY), total, 1e-9);
    ck_assert_double_eq_tol(sum_of(&list, "a", TP_MEASURE_SELF_DEVICE_MEMORY), self, 1e-9);
    if (!isnan(lone)) {
        ck_assert_double_eq_tol(sum_of(&stream, "[memory]", TP_MEASURE_DEVICE_MEMORY), lone, 1e-9);
        ck_assert_double_eq_tol(sum_of(&list, "[memory]", TP_MEASURE_DEVICE_MEMORY), lone, 1e-9);
    }
    close_reading(&stream);
    close_reading(&list);
}

START_TEST(device_memory_belongs_to_ranges)
{
    struct tp_device_memory memory = {0};
    struct recording rec;
    struct recording_track t, c;
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    track_begin(&t, &rec, 1, 101);
    track_begin(&c, &rec, 2, 102);
    put_records(&t, 0, "(a ");
    put_cuda_call(&t, 10, 1);
    put_records(&t, 20, "(b ");
    put_cuda_call(&t, 30, 2);
    put_cuda_call(&t, 35, 3);
    put_records(&t, 40, ") )");
    put_cuda_call(&t, 60, 4);
    track_flush(&t);
    put_cuda_memory(&c, 100, ALLOCATED, 10, 0x1000, 1000, 1, 0);
    put_cuda_memory(&c, 100, ALLOCATED, 30, 0x2000, 300, 2, 0);
    put_cuda_memory(&c, 100, 1 | 2 << 8, 31, 0x9000, 77777, 2, 0); /* pinned */
    put_cuda_memory(&c, 100, FREED | (int)NO_SIZE, 35, 0x1000, 0, 3, 0);
    put_cuda_memory(&c, 100, ALLOCATED, 60, 0x3000, 50, 4, 0);
    put_cuda_memory(&c, 100, ALLOCATED, 70, 0x4000, 7, 0, 1); /* nobody's call */
    track_flush(&c);
    recording_end(&rec, "exit");
    expect_memory("run", "cudaMalloc and its like", 300, 1000, 57);

    open_reading(&r, "run", &everything);
    r.list.memory = &memory;
    ck_assert_int_eq(tp_input_tptrace.read_list(&r.input, &r.list, &r.diag), 0);
    ck_assert_int_eq(tp_device_memory_finish(&memory), 0);
    ck_assert_uint_eq(memory.device_count, 2);
    ck_assert_int_eq(memory.devices[0].peak, 1300);
    ck_assert_int_eq(memory.devices[0].peak_ns, 30);
    ck_assert_int_eq(memory.devices[0].live, 350);
    ck_assert_int_eq(memory.devices[1].live, 7);
    ck_assert_uint_eq(memory.owner_count, 3);
    ck_assert_str_eq(tp_strings_get(&r.strings, memory.owners[0].owner)->bytes, "b");
    ck_assert_int_eq(memory.owners[0].bytes, 300);
    ck_assert_uint_eq(memory.owners[1].owner, TP_STRING_NONE);
    tp_device_memory_fini(&memory);
    close_reading(&r);
    track_end(&t);
    track_end(&c);
}
END_TEST

START_TEST(a_frameworks_own_memory_is_shown_instead)
{
    struct recording rec;
    struct recording_track t;

    begin(&rec, "run", "{\"t\":\"cuda\",\"mode\":\"hooks\"}");
    track_begin(&t, &rec, 1, 101);
    put_records(&t, 0, "(a ");
    put_cuda_memory(&t, 5, ALLOCATED | HERE, 0, 0x100000, 1 << 20, 0, 0);
    track_put(&t, TP_EVENT_MEMORY, 8, 1, (uint64_t[]){0x100100, 512, 0, 0});
    put_records(&t, 10, "(b ");
    track_put(&t, TP_EVENT_MEMORY, 15, 1, (uint64_t[]){0x100100, -(uint64_t)512, 0, 0});
    track_put(&t, TP_EVENT_MEMORY, 16, 1, (uint64_t[]){0x100300, 64, 0, 0});
    put_records(&t, 20, ") )");
    track_put(&t, TP_EVENT_MEMORY, 50, 1, (uint64_t[]){0x100500, 4096, 0, 0});
    track_flush(&t);
    recording_end(&rec, "exit");
    expect_memory("run", "the framework's own allocator", 64, 512, 4096);
    track_end(&t);
}
END_TEST

/* ---- interposed calls ---- */

START_TEST(interposed_calls_are_ranges_without_device_time)
{
    struct recording rec;
    struct recording_track t;
    struct tp_averages_options options = {0};
    struct reading r;

    begin(&rec, "run", "{\"t\":\"cuda\",\"mode\":\"hooks\",\"why\":\"CUPTI is held by X\"}");
    track_begin(&t, &rec, 1, 101);
    put_records(&t, 0, "(a ");
    track_put(&t, TP_EVENT_CUDA_BEGIN, 10, DRIVER_LAUNCH,
              (uint64_t[]){(uint64_t)GEOMETRY << 32 | GEMM, 0, 0, 0});
    track_put(&t, TP_EVENT_CUDA_END, 16, 0, NULL);
    put_cuda_memory(&t, 18, ALLOCATED | HERE, 0, 0x1000, 4096, 0, 0);
    put_records(&t, 30, ")");
    track_flush(&t);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-30; cuLaunchKernel 10-16 in a");
    ck_assert(r.list.events[1].flags & TP_EVENT_CALL);
    ck_assert(!(r.list.events[1].flags & TP_EVENT_USER_ANNOTATION));
    expect_notes(&r, "interposed: launches are counted");
    expect_notes(&r, "CUPTI is held by X");
    struct tp_kernels kernels;
    tp_kernels_init(&kernels);
    ck_assert_int_eq(tp_work_of_list(&r.list, 0, r.list.count, &kernels.sink), 0);
    ck_assert_uint_eq(kernels.launches.count, 1);
    ck_assert_uint_eq(kernels.launches.items[0].launches, 1);
    ck_assert_str_eq(tp_strings_get(&r.strings, kernels.launches.items[0].name)->bytes,
                     "gemm(float*, int)");
    ck_assert_uint_eq(kernels.classes[TP_CLASS_KERNELS].count, 0);
    tp_kernels_fini(&kernels);
    close_reading(&r);
    ck_assert_int_eq(read_averages(&r, "run", &options), 0);
    ck_assert_double_eq_tol(sum_of(&r, "a", TP_MEASURE_SELF_CPU_TIME), 0.024, 1e-9);
    ck_assert_double_eq_tol(sum_of(&r, "a", TP_MEASURE_DEVICE_MEMORY), 4096, 1e-9);
    close_reading(&r);
    track_end(&t);
}
END_TEST

/* ---- selection ---- */

START_TEST(device_work_goes_with_its_launch)
{
    static const struct tp_selection late = {.from = {.kind = TP_INSTANT_RELATIVE, .ns = 50},
                                             .to = {.kind = TP_INSTANT_UNSET}};
    static const struct tp_selection other = {.thread = "201"};
    struct recording rec;
    struct recording_track t, u, c;
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    track_begin(&t, &rec, 1, 101);
    track_begin(&u, &rec, 3, 201);
    track_begin(&c, &rec, 2, 102);
    put_records(&t, 0, "(a ");
    put_cuda_call(&t, 20, 1);
    put_records(&t, 40, ")");
    put_records(&u, 60, "(b ");
    put_cuda_call(&u, 70, 2);
    put_records(&u, 80, ")");
    track_flush(&t);
    track_flush(&u);
    put_cuda_api(&c, 200, LAUNCH, 21, 25, 1, 101, false);
    put_cuda_api(&c, 200, LAUNCH, 71, 75, 2, 201, false);
    put_gpu_kernel(&c, 200, GEMM, 100, 110, 1, 0, &device0);
    put_gpu_kernel(&c, 200, ADD, 110, 130, 2, 0, &device0);
    track_flush(&c);
    recording_end(&rec, "exit");
    const struct tp_selection *selections[] = {&late, &other};
    for (int i = 0; i < 2; i++) {
        read_events(&r, "run", selections[i]);
        expect_events(&r,
                      "b 60-80 1=20/20; cudaLaunchKernel 71-75 in b; triton_add 110-130 on 0/7");
        ck_assert(!tp_input_tptrace.can_average(&r.input));
        close_reading(&r);
    }
    track_end(&t);
    track_end(&u);
    track_end(&c);
}
END_TEST

/* ---- devices over time ---- */

#define STRETCH 4000

/* Busy, kernels, copies and both, ns by ns. */
START_TEST(busy_and_overlap_are_unions)
{
    uint64_t seed = random_seed("busy_and_overlap_are_unions") + (uint64_t)_i;
    struct random random = {.state = seed};
    static uint8_t bits[2][STRETCH + 1];
    int64_t busy[2] = {0}, kernels[2] = {0}, copies[2] = {0}, both[2] = {0}, work[2] = {0};
    int64_t first[2] = {STRETCH, STRETCH}, last[2] = {0};
    struct tp_gpu_report gpu;
    struct recording rec;
    struct recording_track c;
    struct reading r;

    memset(bits, 0, sizeof(bits));
    begin(&rec, "run", CUPTI_LINE);
    track_begin(&c, &rec, 2, 102);
    for (uint32_t i = 1; i <= 60; i++) {
        uint64_t start = 1 + random_below(&random, STRETCH - 200);
        uint64_t end = start + random_below(&random, 150);
        struct cuda_place place = {.stream = 7 + i % 3,
                                   .device = (uint16_t)random_below(&random, 2)};
        bool copy = !random_below(&random, 3);
        if (copy)
            put_gpu_memcpy(&c, 9000, 1 | 1 << 8 | 3 << 16, start, end, i, 64, &place);
        else
            put_gpu_kernel(&c, 9000, GEMM, start, end, i, 0, &place);
        for (uint64_t at = start; at < end; at++)
            bits[place.device][at] |= copy ? 2 : 1;
        work[place.device] += (int64_t)(end - start);
        if ((int64_t)start < first[place.device])
            first[place.device] = (int64_t)start;
        if ((int64_t)end > last[place.device])
            last[place.device] = (int64_t)end;
    }
    for (int d = 0; d < 2; d++) {
        for (int at = 0; at <= STRETCH; at++) {
            busy[d] += bits[d][at] != 0;
            kernels[d] += bits[d][at] & 1;
            copies[d] += bits[d][at] >> 1;
            both[d] += bits[d][at] == 3;
        }
    }
    track_flush(&c);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    ck_assert_int_eq(tp_gpu_of_list(&gpu, &r.list, 1000), 0);
    ck_assert_uint_eq(gpu.count, 2);
    for (int d = 0; d < 2; d++) {
        const struct tp_gpu_device *device = &gpu.devices[d];
        int64_t gaps = 0;
        for (size_t i = 0; i < device->gap_count; i++)
            gaps += device->gaps[i].length_ns;
        ck_assert_msg(device->busy_ns == busy[d] && device->compute_ns == kernels[d] &&
                          device->copy_ns == copies[d] && device->overlap_ns == both[d],
                      "seed %llu, device %d", (unsigned long long)seed, d);
        ck_assert_int_eq(device->work_ns, work[d]);
        ck_assert_int_eq(device->first_ns, first[d]);
        ck_assert_int_eq(device->idle_ns, last[d] - first[d] - busy[d]);
        ck_assert_int_eq(gaps, device->idle_ns);
    }
    tp_gpu_fini(&gpu);
    close_reading(&r);
    track_end(&c);
}
END_TEST

START_TEST(longest_gaps_name_who_ended_them)
{
    struct tp_gpu_report gpu;
    struct recording rec;
    struct recording_track c;
    struct reading r;

    begin(&rec, "run", CUPTI_LINE);
    put_range(&rec, 100, 2);
    track_begin(&c, &rec, 2, 102);
    put_cuda_api(&c, 300, LAUNCH, 10, 15, 1, 101, false);
    put_cuda_api(&c, 300, LAUNCH, 20, 25, 2, 101, false);
    put_gpu_kernel(&c, 300, GEMM, 50, 60, 1, 0, &device0);
    put_gpu_kernel(&c, 300, ADD, 5060, 5070, 2, 0, &device0);
    put_gpu_kernel(&c, 300, GEMM, 5080, 5090, 77, 0, &device0);
    track_flush(&c);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    ck_assert_int_eq(tp_gpu_of_list(&gpu, &r.list, 1), 0);
    const struct tp_gpu_device *device = &gpu.devices[0];
    ck_assert_uint_eq(device->gap_count, 1);
    ck_assert_int_eq(device->gaps[0].length_ns, 5000);
    ck_assert_str_eq(tp_strings_get(&r.strings, r.list.events[device->gaps[0].event].name)->bytes,
                     "triton_add");
    ck_assert_str_eq(tp_strings_get(&r.strings, device->gaps[0].launcher)->bytes, "a");
    ck_assert_uint_eq(device->gap_counts[0], 1);
    ck_assert_uint_eq(device->gap_counts[1], 1);
    tp_gpu_fini(&gpu);
    close_reading(&r);
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
    bool loses;   /* some are not recorded at all; external ids tell of them */
    uint64_t external, externals[3], nodes;
    struct late {
        unsigned kind;
        uint64_t start, end, node;
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
        struct cuda_place place = places[item.correlation % 3];
        place.node = item.node;
        p->late[i] = p->late[--p->late_count];
        switch (item.kind) {
        case TP_EVENT_CUDA_API:
            put_cuda_api(&p->completer, now, item.name, item.start, item.end, item.correlation,
                         item.tid, item.driver);
            break;
        case TP_EVENT_GPU_KERNEL:
            put_gpu_kernel(&p->completer, now, item.name, item.start, item.end, item.correlation,
                           GEOMETRY + item.correlation % 2, &place);
            break;
        case TP_EVENT_GPU_MEMCPY:
            put_gpu_memcpy(&p->completer, now, 2 | 3 << 8 | 2 << 16, item.start, item.end,
                           item.correlation, 4096, &place);
            break;
        case TP_EVENT_CUDA_MEMORY:
            put_cuda_memory(&p->completer, now, item.name, item.start, item.end,
                            item.name & 0xff ? 512 : 0, item.correlation, 0);
            break;
        case TP_EVENT_CUDA_EXTERNAL:
            put_cuda_external(&p->completer, now, item.correlation, (uint8_t)item.name, item.start);
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
    bool lost = p->loses && !random_below(&p->random, 4);
    bool placed = !lost && (!p->by_time || random_below(&p->random, 4));

    *ticks += 2;
    if (placed)
        put_cuda_call(t, *ticks, correlation);
    for (uint32_t type = 3; p->loses && type < 5; type++) {
        if (random_below(&p->random, 5))
            add_late(p, (struct late){.kind = TP_EVENT_CUDA_EXTERNAL,
                                      .start = p->externals[thread] / (type == 4 ? 10 : 1),
                                      .correlation = correlation,
                                      .name = type});
    }
    uint64_t start = *ticks + 1, end = start + 1 + random_below(&p->random, 50);
    *ticks = end + 1;
    uint32_t names[] = {LAUNCH, SYNCHRONIZE, GRAPH_LAUNCH, DRIVER_LAUNCH};
    uint32_t name = names[random_below(&p->random, 4)];
    if (!lost)
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
                                  .node = random_below(&p->random, p->nodes + 2),
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
    p->externals[thread] = ++p->external;
    track_put(t, (unsigned)classes[class_][!begins], p->ticks[thread],
              begins ? TP_NAME_FIRST + (uint32_t)random_below(&p->random, 4) : 0, words);
    if (!random_below(&p->random, 50) && p->nodes < 40) { /* a node, or a copy of one */
        p->nodes++;
        put_cuda_node(t, p->ticks[thread], 3, p->nodes,
                      random_below(&p->random, 2) ? random_below(&p->random, p->nodes) : 0);
    }
    if (!random_below(&p->random, 150))
        track_flush(t);
}

static void run_program(struct program *p, const char *run, uint64_t steps)
{
    begin(&p->rec, run, CUPTI_LINE);
    recording_meta(&p->rec, "{\"t\":\"cuda_device\",\"device\":0,\"name\":\"A\",\"sms\":108,"
                            "\"capability\":[8,0]}");
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

/* Behind those on ranges that were open at the end, of which a list shows more. */
static void notes_on_work(const struct reading *r, char text[4096])
{
    char notes[4096];

    snprintf(notes, sizeof(notes), "%.*s", (int)r->input.notes.size,
             r->input.notes.size ? r->input.notes.bytes : "");
    const char *found = strstr(notes, "pieces of device work");
    snprintf(text, 4096, "%s", found ? found : "");
}

/* ---- kernels ---- */

static const char *text_of(const struct reading *r, uint32_t id)
{
    return tp_strings_get(&r->strings, id)->bytes;
}

static double value_of(struct tp_number number)
{
    return tp_number_to_double(number);
}

static void compare_kernel_rows(const struct reading *a, const struct tp_kernel_row *x,
                                const struct reading *b, const struct tp_kernel_row *y)
{
    ck_assert_str_eq(text_of(a, x->name), text_of(b, y->name));
    ck_assert_uint_eq(x->durations.count, y->durations.count);
    ck_assert_double_eq(value_of(x->total_ns), value_of(y->total_ns));
    ck_assert_double_eq(value_of(x->minimum_ns), value_of(y->minimum_ns));
    ck_assert_double_eq(value_of(x->maximum_ns), value_of(y->maximum_ns));
    ck_assert_double_eq(x->median_ns, y->median_ns);
    ck_assert_double_eq(tp_durations_deviation(&x->durations),
                        tp_durations_deviation(&y->durations));
    ck_assert_str_eq(text_of(a, x->geometry), text_of(b, y->geometry));
    ck_assert_int_eq(x->geometry_varies, y->geometry_varies);
    ck_assert_double_eq_tol(x->occupancy_ns, y->occupancy_ns, 1e-6 * y->occupancy_ns + 1e-9);
    ck_assert_uint_eq(x->capture_count, y->capture_count);
    for (uint32_t i = 0; i < x->capture_count; i++) {
        ck_assert_str_eq(text_of(a, x->captures[i].name), text_of(b, y->captures[i].name));
        ck_assert_uint_eq(x->captures[i].calls, y->captures[i].calls);
        ck_assert_double_eq(value_of(x->captures[i].ns), value_of(y->captures[i].ns));
    }
}

static void compare_kernels(struct reading *a, struct tp_kernels *x, struct reading *b,
                            struct tp_kernels *y)
{
    ck_assert_double_eq(value_of(x->cpu_ns), value_of(y->cpu_ns));
    ck_assert_double_eq(value_of(x->self_cpu_ns), value_of(y->self_cpu_ns));
    ck_assert(x->saw_host == y->saw_host && x->saw_device == y->saw_device &&
              x->has_geometry == y->has_geometry && x->has_captures == y->has_captures);
    for (int c = TP_CLASS_KERNELS; c <= TP_CLASS_WAITS; c++) {
        const struct tp_kernel_rows *rows = &x->classes[c], *expected = &y->classes[c];
        ck_assert_int_eq(tp_kernels_finish(x, c, false, &a->strings), 0);
        ck_assert_int_eq(tp_kernels_finish(y, c, false, &b->strings), 0);
        ck_assert_uint_eq(rows->count, expected->count);
        ck_assert_uint_eq(rows->without_time, expected->without_time);
        for (uint32_t i = 0; i < rows->count; i++)
            compare_kernel_rows(a, &rows->items[i], b, &expected->items[i]);
    }
}

START_TEST(kernels_of_a_stream_are_those_of_its_list)
{
    uint64_t seed = random_seed("kernels_of_a_stream_are_those_of_its_list") + (uint64_t)_i;
    struct program p = {.random = {.state = seed}, .by_time = _i & 1, .loses = _i & 2};
    struct tp_kernels from_stream, from_list;
    struct reading stream, list;

    run_program(&p, "run", 5000);
    tp_kernels_init(&from_list);
    read_events(&list, "run", &everything);
    ck_assert_int_eq(tp_work_of_list(&list.list, 0, list.list.count, &from_list.sink), 0);
    tp_kernels_init(&from_stream);
    open_reading(&stream, "run", &everything);
    ck_assert_int_eq(tp_input_tptrace.read_kernels(&stream.input, &stream.strings, &stream.stacks,
                                                   &from_stream, &stream.diag),
                     1);
    ck_assert(from_stream.has_captures && from_stream.has_geometry);
    compare_kernels(&stream, &from_stream, &list, &from_list);
    tp_kernels_fini(&from_list);
    tp_kernels_fini(&from_stream);
    close_reading(&stream);
    close_reading(&list);
}
END_TEST

START_TEST(averages_of_a_stream_are_those_of_its_list)
{
    uint64_t seed = random_seed("averages_of_a_stream_are_those_of_its_list") + (uint64_t)_i;
    struct program p = {.random = {.state = seed}, .by_time = _i & 1, .loses = _i & 2};
    struct tp_averages_options options = {0};
    struct reading stream, list;
    char of_stream[4096], of_list[4096];
    struct tp_average *rows;
    size_t count;

    run_program(&p, "run", _i < 10 ? 3000 : 40000); /* the long ones fill the tree of paths */
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
    notes_on_work(&stream, of_stream);
    notes_on_work(&list, of_list);
    ck_assert_str_eq(of_stream, of_list);
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
    tcase_add_test(tcase, graphs_streams_and_devices_are_told_apart);
    tcase_add_test(tcase, kernels_of_graphs_tell_where_they_were_captured);
    tcase_add_test(tcase, calls_of_the_driver_within_the_runtime_are_left_out);
    tcase_add_test(tcase, what_has_no_time_or_launch_is_counted);
    tcase_add_test(tcase, waits_and_overhead_are_in_no_sum);
    tcase_add_test(tcase, lengths_are_those_of_cuptis_own_clock);
    tcase_add_test(tcase, device_memory_belongs_to_ranges);
    tcase_add_test(tcase, a_frameworks_own_memory_is_shown_instead);
    tcase_add_test(tcase, interposed_calls_are_ranges_without_device_time);
    tcase_add_test(tcase, device_work_goes_with_its_launch);
    tcase_add_loop_test(tcase, busy_and_overlap_are_unions, 0, 5);
    tcase_add_test(tcase, longest_gaps_name_who_ended_them);
    tcase_add_loop_test(tcase, kernels_of_a_stream_are_those_of_its_list, 0, 8);
    tcase_add_loop_test(tcase, averages_of_a_stream_are_those_of_its_list, 0, 12);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
