/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "model/kernels.h"

enum { KNOWN = (1u << TP_WORK_TIMES) - 1 };

struct profile {
    struct tp_kernels kernels;
    struct tp_strings strings;
};

static void profile_init(struct profile *p)
{
    tp_kernels_init(&p->kernels);
    ck_assert_int_eq(tp_strings_init(&p->strings), 0);
}

static void profile_fini(struct profile *p)
{
    tp_kernels_fini(&p->kernels);
    tp_strings_fini(&p->strings);
}

/* Device work: @ns of it. Host work: @ns of self time within a total of twice that. */
static void take(struct profile *p, enum tp_work_kind kind, const char *name, int64_t ns)
{
    struct tp_work work = {.kind = kind, .known = KNOWN};

    ck_assert_int_eq(tp_strings_put(&p->strings, name, strlen(name), &work.name), 0);
    if (kind == TP_WORK_CALL || kind == TP_WORK_OPERATOR) {
        work.ns[TP_MEASURE_SELF_CPU_TIME] = tp_number_integer(ns);
        work.ns[TP_MEASURE_CPU_TIME] = tp_number_integer(2 * ns);
    } else {
        work.ns[TP_MEASURE_SELF_DEVICE_TIME] = tp_number_integer(ns);
        work.ns[TP_MEASURE_DEVICE_TIME] = tp_number_integer(3 * ns);
    }
    ck_assert_int_eq(p->kernels.sink.take(&p->kernels.sink, &work), 0);
}

static const char *name_of(struct profile *p, const struct tp_kernel_row *row)
{
    return tp_strings_get(&p->strings, row->name)->bytes;
}

static int64_t integer(struct tp_number n)
{
    ck_assert(!n.is_real);
    return (int64_t)n.bits.low;
}

START_TEST(equal_names_are_one_row_largest_first)
{
    const struct tp_kernel_rows *rows;
    struct profile p;

    profile_init(&p);
    take(&p, TP_WORK_KERNEL, "a", 10);
    take(&p, TP_WORK_KERNEL, "b", 50);
    take(&p, TP_WORK_KERNEL, "a", 30);
    take(&p, TP_WORK_KERNEL, "a", 8);
    ck_assert_int_eq(tp_kernels_finish(&p.kernels, TP_CLASS_KERNELS, false, &p.strings), 0);
    rows = &p.kernels.classes[TP_CLASS_KERNELS];
    ck_assert_uint_eq(rows->count, 2);
    ck_assert_str_eq(name_of(&p, &rows->items[0]), "b");
    ck_assert_str_eq(name_of(&p, &rows->items[1]), "a");
    ck_assert_int_eq(integer(rows->items[1].total_ns), 48);
    ck_assert_int_eq(integer(rows->items[1].minimum_ns), 8);
    ck_assert_int_eq(integer(rows->items[1].maximum_ns), 30);
    ck_assert_double_eq(rows->items[1].median_ns, 10.0);
    ck_assert_int_eq(integer(rows->total_ns), 98);
    ck_assert_uint_eq(rows->calls, 4);
    profile_fini(&p);
}
END_TEST

/* Whatever their names' numbers are. */
START_TEST(rows_of_equal_time_stand_as_they_came)
{
    static const char *const names[] = {"b", "ab", "c", "a", "abc"};

    for (int from = 0; from < 5; from++) {
        struct profile p;
        uint32_t id;
        profile_init(&p);
        for (int i = 0; i < 5; i++)
            ck_assert_int_eq(tp_strings_put(&p.strings, names[i], strlen(names[i]), &id), 0);
        for (int i = 0; i < 5; i++)
            take(&p, TP_WORK_KERNEL, names[(from + i) % 5], 7);
        ck_assert_int_eq(tp_kernels_finish(&p.kernels, TP_CLASS_KERNELS, false, &p.strings), 0);
        for (int i = 0; i < 5; i++)
            ck_assert_str_eq(name_of(&p, &p.kernels.classes[TP_CLASS_KERNELS].items[i]),
                             names[(from + i) % 5]);
        profile_fini(&p);
    }
}
END_TEST

/* A kernel of a graph that was captured in a range. */
static void take_captured(struct profile *p, const char *name, const char *range, int64_t ns)
{
    struct tp_work work = {.kind = TP_WORK_KERNEL, .known = KNOWN};

    ck_assert_int_eq(tp_strings_put(&p->strings, name, strlen(name), &work.name), 0);
    if (range)
        ck_assert_int_eq(tp_strings_put(&p->strings, range, strlen(range), &work.captured_in), 0);
    work.ns[TP_MEASURE_SELF_DEVICE_TIME] = tp_number_integer(ns);
    ck_assert_int_eq(p->kernels.sink.take(&p->kernels.sink, &work), 0);
}

START_TEST(captures_are_summed_by_range_longest_first)
{
    static const char *const ranges[] = {"a", "b", "c", "d", "e", "f"};
    const struct tp_kernel_row *row;
    struct profile p;

    profile_init(&p);
    take_captured(&p, "gemm1", NULL, 1);
    ck_assert(!p.kernels.has_captures);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 6; i++)
            take_captured(&p, i < 3 ? "gemm1" : "gemm2", ranges[i], 10 * (i + 1));
    }
    take_captured(&p, "gemm2", "a", 100);
    take_captured(&p, "gemm2", "b", 0); /* without a time it is in no row */
    ck_assert(p.kernels.has_captures);
    ck_assert_int_eq(tp_kernels_finish(&p.kernels, TP_CLASS_KERNELS, true, &p.strings), 0);
    row = &p.kernels.classes[TP_CLASS_KERNELS].items[0];
    ck_assert_str_eq(name_of(&p, row), "gemm*");
    ck_assert_uint_eq(row->capture_count, 6);
    for (int i = 0; i < 6; i++) {
        static const struct {
            const char *range;
            uint64_t calls;
            int64_t ns;
        } expected[] = {{"a", 3, 120}, {"f", 2, 120}, {"e", 2, 100},
                        {"d", 2, 80},  {"c", 2, 60},  {"b", 2, 40}};
        const struct tp_kernel_capture *capture = &row->captures[i];
        ck_assert_str_eq(tp_strings_get(&p.strings, capture->name)->bytes, expected[i].range);
        ck_assert_uint_eq(capture->calls, expected[i].calls);
        ck_assert_int_eq(integer(capture->ns), expected[i].ns);
    }
    profile_fini(&p);
}
END_TEST

START_TEST(no_and_negative_durations_are_counted_and_in_no_row)
{
    struct tp_work unknown = {.kind = TP_WORK_KERNEL, .name = TP_STRING_EMPTY};
    const struct tp_kernel_rows *rows;
    struct profile p;

    profile_init(&p);
    take(&p, TP_WORK_KERNEL, "a", 10);
    take(&p, TP_WORK_KERNEL, "a", 0);
    take(&p, TP_WORK_KERNEL, "gone", -5);
    ck_assert_int_eq(p.kernels.sink.take(&p.kernels.sink, &unknown), 0);
    rows = &p.kernels.classes[TP_CLASS_KERNELS];
    ck_assert_uint_eq(rows->count, 1);
    ck_assert_uint_eq(rows->calls, 1);
    ck_assert_uint_eq(rows->without_time, 2);
    ck_assert_uint_eq(rows->negative, 1);
    ck_assert_int_eq(integer(rows->negative_ns), -5);
    ck_assert_int_eq(integer(rows->total_ns), 10);
    profile_fini(&p);
}
END_TEST

START_TEST(host_time_is_the_sum_of_self_time_whatever_its_sign)
{
    struct profile p;

    profile_init(&p);
    take(&p, TP_WORK_OPERATOR, "a", 10);
    take(&p, TP_WORK_CALL, "cudaFree", 5);
    take(&p, TP_WORK_OPERATOR, "b", -2);
    ck_assert_int_eq(integer(p.kernels.self_cpu_ns), 13);
    ck_assert_int_eq(integer(p.kernels.cpu_ns), 26);
    ck_assert_uint_eq(p.kernels.classes[TP_CLASS_HOST].count, 2);
    ck_assert_uint_eq(p.kernels.classes[TP_CLASS_HOST].negative, 1);
    ck_assert_uint_eq(p.kernels.classes[TP_CLASS_CALLS].count, 1);
    ck_assert_int_eq(integer(p.kernels.classes[TP_CLASS_CALLS].total_ns), 10);
    profile_fini(&p);
}
END_TEST

START_TEST(rows_are_kernels_only_when_there_are_any)
{
    struct tp_work credited = {.kind = TP_WORK_OPERATOR, .known = KNOWN, .name = TP_STRING_EMPTY};
    struct profile p;

    profile_init(&p);
    credited.ns[TP_MEASURE_SELF_DEVICE_TIME] = tp_number_integer(7);
    ck_assert_int_eq(p.kernels.sink.take(&p.kernels.sink, &credited), 0);
    ck_assert_int_eq(tp_kernels_class(&p.kernels, TP_PROFILER_DEVICE), TP_CLASS_OPERATORS);
    take(&p, TP_WORK_COPY, "Memcpy", 3);
    ck_assert_int_eq(tp_kernels_class(&p.kernels, TP_PROFILER_DEVICE), TP_CLASS_COPIES);
    take(&p, TP_WORK_KERNEL, "k", 3);
    ck_assert_int_eq(tp_kernels_class(&p.kernels, TP_PROFILER_DEVICE), TP_CLASS_KERNELS);
    ck_assert_int_eq(tp_kernels_class(&p.kernels, TP_PROFILER_FRAMEWORK), TP_CLASS_HOST);
    ck_assert_int_eq(tp_kernels_class(&p.kernels, TP_PROFILER_WALLCLOCK), TP_CLASSES);
    profile_fini(&p);
}
END_TEST

START_TEST(device_time_is_what_was_asked_for)
{
    struct profile p;

    profile_init(&p);
    p.kernels.device_measure = TP_MEASURE_DEVICE_TIME;
    take(&p, TP_WORK_KERNEL, "k", 4);
    ck_assert_int_eq(integer(p.kernels.classes[TP_CLASS_KERNELS].total_ns), 12);
    profile_fini(&p);
}
END_TEST

static void give_span(struct tp_kernels *kernels, int64_t start, int64_t end)
{
    struct tp_work_span span = {true, tp_number_integer(start), tp_number_integer(end)};

    tp_kernels_end_input(kernels, &span);
}

START_TEST(the_best_profiler_is_chosen_from_device_to_wall_time)
{
    enum tp_profiler chosen;
    struct tp_diag diag;
    struct profile p;

    profile_init(&p);
    ck_assert_int_eq(tp_kernels_choose(&p.kernels, TP_PROFILER_AUTO, &chosen, &diag),
                     -TP_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(diag.text, "nothing to measure"));
    give_span(&p.kernels, 5, 25);
    ck_assert_int_eq(tp_kernels_choose(&p.kernels, TP_PROFILER_AUTO, &chosen, &diag), 0);
    ck_assert_int_eq(chosen, TP_PROFILER_WALLCLOCK);
    take(&p, TP_WORK_OPERATOR, "a", 1);
    ck_assert_int_eq(tp_kernels_choose(&p.kernels, TP_PROFILER_AUTO, &chosen, &diag), 0);
    ck_assert_int_eq(chosen, TP_PROFILER_FRAMEWORK);
    take(&p, TP_WORK_KERNEL, "k", 1);
    ck_assert_int_eq(tp_kernels_choose(&p.kernels, TP_PROFILER_AUTO, &chosen, &diag), 0);
    ck_assert_int_eq(chosen, TP_PROFILER_DEVICE);
    p.kernels.is_ascend = true;
    ck_assert_int_eq(tp_kernels_choose(&p.kernels, TP_PROFILER_AUTO, &chosen, &diag), 0);
    ck_assert_int_eq(chosen, TP_PROFILER_ASCEND);
    ck_assert_int_eq(tp_kernels_choose(&p.kernels, TP_PROFILER_FRAMEWORK, &chosen, &diag), 0);
    ck_assert_int_eq(chosen, TP_PROFILER_FRAMEWORK);
    profile_fini(&p);
}
END_TEST

START_TEST(what_cant_be_served_is_refused_with_the_choices)
{
    enum tp_profiler chosen;
    struct tp_diag diag;
    struct profile p;

    profile_init(&p);
    take(&p, TP_WORK_OPERATOR, "a", 1);
    give_span(&p.kernels, 0, 1);
    ck_assert_int_eq(tp_kernels_choose(&p.kernels, TP_PROFILER_DEVICE, &chosen, &diag),
                     -TP_EUNSUPPORTED);
    ck_assert_str_eq(diag.text,
                     "this input can't serve --profiler device (device time of kernels, else of "
                     "operators); it can serve framework, wallclock");
    ck_assert_int_eq(tp_kernels_choose(&p.kernels, TP_PROFILER_ASCEND, &chosen, &diag),
                     -TP_EUNSUPPORTED);
    profile_fini(&p);
}
END_TEST

START_TEST(elapsed_is_the_longest_inputs_own_or_that_of_its_work)
{
    struct tp_work work = {.kind = TP_WORK_KERNEL, .name = TP_STRING_EMPTY, .has_span = true};
    struct tp_work_span none = {0};
    struct profile p;

    profile_init(&p);
    tp_kernels_end_input(&p.kernels, &none);
    ck_assert(!p.kernels.has_elapsed);
    for (int i = 0; i < 3; i++) {
        work.start_ns = tp_number_integer(100 - i * 10);
        work.end_ns = tp_number_integer(200 - i * 50);
        p.kernels.sink.take(&p.kernels.sink, &work);
    }
    tp_kernels_end_input(&p.kernels, &none);
    ck_assert_int_eq(integer(p.kernels.elapsed_ns), 120);
    give_span(&p.kernels, 1000, 1100);
    ck_assert_int_eq(integer(p.kernels.elapsed_ns), 120);
    p.kernels.sink.take(&p.kernels.sink, &work);
    give_span(&p.kernels, 1000, 1130);
    ck_assert_int_eq(integer(p.kernels.elapsed_ns), 130);
    profile_fini(&p);
}
END_TEST

START_TEST(numbered_names_merge_when_there_are_several)
{
    static const char *const names[] = {"ZerosLike46", "conv2", "ZerosLike", "ZerosLike7",
                                        "12",          "34",    "Add-op3",   "Add-op21"};
    static const struct {
        const char *name;
        int64_t total;
        uint32_t names;
    } expected[] = {
        {"Add-op*", 15, 2}, {"ZerosLike*", 8, 3}, {"34", 6, 1}, {"12", 5, 1}, {"conv2", 2, 1}};
    const struct tp_kernel_rows *rows;
    struct profile p;

    profile_init(&p);
    for (int i = 0; i < 8; i++)
        take(&p, TP_WORK_KERNEL, names[i], i + 1);
    ck_assert_int_eq(tp_kernels_finish(&p.kernels, TP_CLASS_KERNELS, true, &p.strings), 0);
    rows = &p.kernels.classes[TP_CLASS_KERNELS];
    ck_assert_uint_eq(rows->count, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(name_of(&p, &rows->items[i]), expected[i].name);
        ck_assert_int_eq(integer(rows->items[i].total_ns), expected[i].total);
        ck_assert_uint_eq(rows->items[i].name_count, expected[i].names);
    }
    ck_assert_int_eq(integer(rows->items[1].minimum_ns), 1);
    ck_assert_int_eq(integer(rows->items[1].maximum_ns), 4);
    ck_assert_double_eq(rows->items[1].median_ns, 3.0);
    profile_fini(&p);
}
END_TEST

RUN_TESTS("kernels", equal_names_are_one_row_largest_first, rows_of_equal_time_stand_as_they_came,
          captures_are_summed_by_range_longest_first,
          no_and_negative_durations_are_counted_and_in_no_row,
          host_time_is_the_sum_of_self_time_whatever_its_sign,
          rows_are_kernels_only_when_there_are_any, device_time_is_what_was_asked_for,
          the_best_profiler_is_chosen_from_device_to_wall_time,
          what_cant_be_served_is_refused_with_the_choices,
          elapsed_is_the_longest_inputs_own_or_that_of_its_work,
          numbered_names_merge_when_there_are_several)
