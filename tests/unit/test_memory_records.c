/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "model/memory_records.h"

static void add(struct tp_memory_records *records, int64_t start_ns, int64_t bytes, uint8_t type)
{
    struct tp_memory_record record = {.start_ns = start_ns, .bytes = bytes, .device_type = type};

    ck_assert_int_eq(tp_memory_records_add(records, &record), 0);
}

START_TEST(an_interval_includes_both_its_ends)
{
    struct tp_memory_records records = {0};
    uint32_t begin, end;

    add(&records, 30, 1, TP_DEVICE_CPU);
    add(&records, 10, 2, TP_DEVICE_CPU);
    add(&records, 20, 4, TP_DEVICE_CPU);
    add(&records, 20, 8, TP_DEVICE_CPU);
    ck_assert_int_eq(tp_memory_records_sort(&records), 0);
    tp_memory_records_in_interval(&records, 10, 20, &begin, &end);
    ck_assert_uint_eq(begin, 0);
    ck_assert_uint_eq(end, 3);
    ck_assert_uint_eq(records.order[1], 2); /* equal times in the order they were added */
    ck_assert_uint_eq(records.order[2], 3);
    tp_memory_records_in_interval(&records, 11, 19, &begin, &end);
    ck_assert_uint_eq(begin, end);
    tp_memory_records_in_interval(&records, 25, 5, &begin, &end);
    ck_assert_uint_eq(begin, end);
    tp_memory_records_in_interval(&records, INT64_MIN, INT64_MAX, &begin, &end);
    ck_assert_uint_eq(end - begin, 4);
    tp_memory_records_fini(&records);
}
END_TEST

START_TEST(host_and_device_are_summed_apart_and_some_are_neither)
{
    static const struct {
        uint8_t type;
        int64_t cpu, device;
    } cases[] = {
        {TP_DEVICE_CPU, 5, 0},         {TP_DEVICE_MKLDNN, 5, 0}, {TP_DEVICE_IDEEP, 5, 0},
        {TP_DEVICE_CUDA, 0, 5},        {TP_DEVICE_HIP, 0, 5},    {TP_DEVICE_XPU, 0, 5},
        {TP_DEVICE_PRIVATEUSE1, 0, 5}, {TP_DEVICE_META, 0, 0},   {TP_DEVICE_MTIA, 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tp_memory_records records = {0};
        int64_t cpu, device;
        add(&records, 1, 5, cases[i].type);
        ck_assert_int_eq(tp_memory_records_sort(&records), 0);
        tp_memory_records_credit(&records, 0, 2, &cpu, &device);
        ck_assert_int_eq(cpu, cases[i].cpu);
        ck_assert_int_eq(device, cases[i].device);
        tp_memory_records_fini(&records);
    }
}
END_TEST

START_TEST(what_no_event_covers_is_unused)
{
    struct tp_memory_records records = {0};
    int64_t cpu, device;
    bool *unused;

    for (int i = 0; i < 6; i++)
        add(&records, 60 - i * 10, 1, TP_DEVICE_CPU);
    ck_assert_int_eq(tp_memory_records_sort(&records), 0);
    tp_memory_records_credit(&records, 20, 40, &cpu, &device);
    ck_assert_int_eq(cpu, 3);
    tp_memory_records_credit(&records, 40, 40, &cpu, &device);
    tp_memory_records_credit(&records, 41, 49, &cpu, &device);
    ck_assert_int_eq(cpu, 0);
    ck_assert_int_eq(tp_memory_records_find_unused(&records, &unused), 0);
    static const bool expected[] = {true, true, false, false, false, true}; /* 60 50 40 30 20 10 */
    for (int i = 0; i < 6; i++)
        ck_assert_msg(unused[i] == expected[i], "%d", i);
    free(unused);
    tp_memory_records_fini(&records);
}
END_TEST

START_TEST(sums_are_those_of_a_plain_walk)
{
    uint64_t state = random_seed(), seed = state;
    struct tp_memory_records records = {0};

    for (int i = 0; i < 500; i++)
        add(&records, (int64_t)(random_next(&state) % 300),
            (int64_t)(random_next(&state) % 1000) - 500,
            random_next(&state) % 2 ? TP_DEVICE_CPU : TP_DEVICE_CUDA);
    ck_assert_int_eq(tp_memory_records_sort(&records), 0);
    for (int i = 0; i < 2000; i++) {
        int64_t from = (int64_t)(random_next(&state) % 320) - 10;
        int64_t to = from + (int64_t)(random_next(&state) % 100) - 5;
        int64_t cpu, device, plain[2] = {0, 0};
        for (uint32_t n = 0; n < records.count; n++) {
            const struct tp_memory_record *item = &records.items[n];
            if (item->start_ns >= from && item->start_ns <= to)
                plain[item->device_type == TP_DEVICE_CUDA] += item->bytes;
        }
        tp_memory_records_credit(&records, from, to, &cpu, &device);
        ck_assert_msg(cpu == plain[0] && device == plain[1],
                      "[%" PRId64 ", %" PRId64 "], seed %" PRIu64, from, to, seed);
    }
    tp_memory_records_fini(&records);
}
END_TEST

/* A walk over all would take minutes. */
START_TEST(an_interval_takes_logarithmic_time)
{
    struct tp_memory_records records = {0};
    uint64_t state = random_seed();
    int64_t cpu, device, total = 0;

    for (int i = 0; i < 1 << 20; i++)
        add(&records, i, 1, TP_DEVICE_CPU);
    ck_assert_int_eq(tp_memory_records_sort(&records), 0);
    for (int i = 0; i < 1 << 20; i++) {
        tp_memory_records_credit(&records, (int64_t)(random_next(&state) % (1 << 19)), 1 << 20,
                                 &cpu, &device);
        total += cpu;
    }
    ck_assert_int_gt(total, 1ll << 38);
    tp_memory_records_fini(&records);
}
END_TEST

RUN_TESTS("memory_records", an_interval_includes_both_its_ends,
          host_and_device_are_summed_apart_and_some_are_neither, what_no_event_covers_is_unused,
          sums_are_those_of_a_plain_walk, an_interval_takes_logarithmic_time)
