/* SPDX-License-Identifier: MIT
 * Whole recordings, made to order, through the input: what a report gets to see. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "input/tptrace.h"
#include "read_recording.h"

/* "name start-end parent" of all events, times in ns. */
static void expect_events(const struct reading *r, const char *expected)
{
    char got[4096] = "";

    for (uint32_t i = tp_event_list_next(&r->list, 0); i < r->list.count;
         i = tp_event_list_next(&r->list, i + 1)) {
        const struct tp_function_event *e = &r->list.events[i];
        size_t n = strlen(got);
        snprintf(got + n, sizeof(got) - n, "%s%s %.0f-%.0f %s%s", n ? "; " : "",
                 tp_strings_get(&r->strings, e->name)->bytes,
                 tp_number_to_double(tp_event_get(e, TP_EVENT_START)) * 1000,
                 tp_number_to_double(tp_event_get(e, TP_EVENT_END)) * 1000,
                 e->parent == TP_NO_EVENT
                     ? "-"
                     : tp_strings_get(&r->strings, r->list.events[e->parent].name)->bytes,
                 e->flags & TP_EVENT_ASYNC ? " async" : "");
    }
    ck_assert_str_eq(got, expected);
}

START_TEST(blocks_become_events)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;

    begin_recording(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    put_records(&t, 0, "(a (b | ) <c | (d > ) )");
    track_flush(&t);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-70 -; b 10-20 a; c 30-50 a; d 40-60 a");
    expect_notes(&r, "");
    ck_assert_uint_eq(r.input.lost_count, 0);
    ck_assert(r.list.profile_memory);
    ck_assert_int_eq(r.list.events[0].thread, 101);
    close_reading(&r);
    track_end(&t);
}
END_TEST

START_TEST(ring_goes_on_where_blocks_end)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;

    begin_recording(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    put_records(&t, 0, "(a (b | )");
    track_leave_in_ring(&t, 2); /* the tail had not moved behind the block */
    recording_end(&rec, NULL);
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-20 -; b 10-20 a");
    expect_notes(&r, "died without an end line");
    expect_notes(&r, "1 unfinished range: a in thread 101 for 0.020 us");
    ck_assert_uint_eq(r.input.lost_count, 0);
    close_reading(&r);
    track_end(&t);
}
END_TEST

/* Two programs with one pid that die with a range in a ring, in a process that began then. */
static void make_images(unsigned first_start, unsigned second_start)
{
    const unsigned starts[] = {first_start, second_start};
    struct recording recs[2];
    struct recording_track t;

    for (int i = 0; i < 2; i++) {
        begin_recording_since(&recs[i], "run", 11, 1700000000000000000 + i * 1000000000ll,
                              starts[i]);
        name_letters(&recs[i]);
        track_begin(&t, &recs[i], 1, 101);
        put_records(&t, 0, "(a )");
        track_leave_in_ring(&t, 2);
        recording_end(&recs[i], NULL);
        track_end(&t);
    }
}

START_TEST(an_exec_is_no_death)
{
    struct reading r;

    make_images(77 * (unsigned)_i, 77 * (unsigned)_i);
    read_events(&r, "run", &everything);
    expect_notes(&r, "went on as another program (exec), program in 11-17979cfe71c4ca00; what its "
                     "rings held was read");
    expect_notes(&r, "died without an end line; what its rings held was read");
    close_reading(&r);
}
END_TEST

START_TEST(a_pid_that_is_given_again_is_no_exec)
{
    struct reading r;

    make_images(77, 78);
    read_events(&r, "run", &everything);
    expect_notes(&r, "died without an end line; what its rings held was read");
    ck_assert_ptr_null(memmem(r.input.notes.bytes, r.input.notes.size, "went on", 7));
    close_reading(&r);
}
END_TEST

START_TEST(gaps_restart_from_the_open_ranges)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;

    begin_recording(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    uint64_t ticks = put_records(&t, 0, "(a (b |");
    ticks = put_records(&t, ticks, ") (c ");
    track_lose(&t);
    put_records(&t, ticks, ") ) |");
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-50 -; b 10-10 a; c 30-40 a");
    expect_notes(&r, "3 slots missing");
    expect_notes(&r, "1 range whose end is missing counts up to the gap");
    ck_assert_uint_ne(r.input.lost_count, 0);
    close_reading(&r);
    track_end(&t);
}
END_TEST

START_TEST(eviction_is_said_and_whole)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;

    begin_recording(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    uint64_t ticks = put_records(&t, 0, "(a (b");
    track_lose(&t);
    put_records(&t, ticks, ") ) |");
    recording_meta(
        &rec, "{\"t\":\"evict\",\"segment\":1,\"first_ticks\":0,\"last_ticks\":10,\"blocks\":1}");
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-30 -; b 10-20 a");
    expect_notes(&r, "4 slots evicted");
    ck_assert_uint_eq(r.input.lost_count, 0);
    close_reading(&r);
    track_end(&t);
}
END_TEST

START_TEST(lost_records_are_counted_once)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;
    uint64_t words[4] = {5, 0, 1 << TP_EVENT_OP_BEGIN, 0};

    begin_recording(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    put_records(&t, 0, "(a )");
    track_put(&t, TP_EVENT_LOST, 15, 0, words);
    track_flush(&t);
    put_records(&t, 20, "(b )");
    t.dropped = 7; /* 2 more than the record says: nothing came after them */
    track_leave_in_ring(&t, 0);
    recording_end(&rec, NULL);
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-10 -; b 20-30 -");
    expect_notes(&r, "7 records lost");
    ck_assert_uint_ne(r.input.lost_count, 0);
    close_reading(&r);
    track_end(&t);
}
END_TEST

START_TEST(async_ranges_pair_across_threads)
{
    struct recording rec;
    struct recording_track t[2];
    struct reading r;
    uint64_t words[4] = {77, TP_CLASS_NVTX, 0, 0}, open[4] = {78, TP_CLASS_NVTX, 0, 0};

    begin_recording(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t[0], &rec, 1, 101);
    track_begin(&t[1], &rec, 2, 102);
    track_put(&t[1], TP_EVENT_ASYNC_END, 500, 0, words);
    track_flush(&t[1]); /* the end is read before the begin */
    put_records(&t[0], 0, "(a");
    track_put(&t[0], TP_EVENT_ASYNC_BEGIN, 100, TP_NAME_FIRST + 1, words);
    track_put(&t[0], TP_EVENT_ASYNC_BEGIN, 200, TP_NAME_FIRST + 2, open);
    put_records(&t[0], 900, ")");
    track_flush(&t[0]);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-900 -; b 100-500 - async; c 200-900 - async");
    expect_notes(&r, "1 unfinished range: c");
    close_reading(&r);
    track_end(&t[0]);
    track_end(&t[1]);
}
END_TEST

START_TEST(a_begin_never_pairs_with_a_begin)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;
    uint64_t words[4] = {77, TP_CLASS_ITT, 0, 0};

    begin_recording(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    track_put(&t, TP_EVENT_ASYNC_BEGIN, 100, TP_NAME_FIRST + 1, words);
    track_put(&t, TP_EVENT_ASYNC_BEGIN, 200, TP_NAME_FIRST + 2, words);
    track_put(&t, TP_EVENT_ASYNC_END, 300, 0, words);
    track_flush(&t);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "b 100-300 - async; c 200-300 - async");
    expect_notes(&r, "1 unfinished range: c");
    close_reading(&r);
    track_end(&t);
}
END_TEST

static void make_process(const char *run, uint32_t pid, int64_t start_ns, const char *records)
{
    struct recording rec;
    struct recording_track t;

    begin_recording(&rec, run, pid, start_ns);
    if (pid % 2) /* ids differ from process to process */
        recording_text(&rec, TP_NAME_TEXT, "filler");
    name_letters(&rec);
    track_begin(&t, &rec, 1, 100 + pid);
    put_records(&t, 0, records);
    track_flush(&t);
    recording_end(&rec, "exit");
    track_end(&t);
}

START_TEST(processes_are_merged_or_chosen)
{
    struct tp_averages_options options = {0};
    struct tp_selection by_pid = {.has_pid = true, .pid = 12},
                        by_rank = {.has_rank = true, .rank = 4};
    struct tp_selection nobody = {.has_pid = true, .pid = 99}, by_process = {.by = TP_BY_PROCESS};
    struct reading r;

    make_process("run", 12, 1700000000000000000, "(a )");
    make_process("run", 14, 1700000000000001000, "(a (b ) )");
    ck_assert_int_eq(read_averages(&r, "run", &options), 0);
    ck_assert_uint_eq(r.count, 2);
    ck_assert_double_eq(tp_number_to_double(r.rows[0].sums[TP_MEASURE_COUNT]), 2);
    ck_assert_int_eq(r.rows[0].node_id, -1);
    close_reading(&r);
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-10 -; a 1000-1030 -; b 1010-1020 a");
    close_reading(&r);
    read_events(&r, "run", &by_pid);
    expect_events(&r, "a 0-10 -");
    close_reading(&r);
    read_events(&r, "run", &by_rank);
    expect_events(&r, "a 1000-1030 -; b 1010-1020 a");
    close_reading(&r);
    read_events(&r, "run", &by_process);
    ck_assert_int_eq(r.list.events[0].node_id, 12);
    ck_assert_int_eq(r.list.events[1].node_id, 14);
    close_reading(&r);
    open_reading(&r, "run", &nobody);
    ck_assert_int_eq(tp_input_tptrace.read_list(&r.input, &r.list, &r.diag), -TP_ENOTFOUND);
    close_reading(&r);
}
END_TEST

START_TEST(windows_and_threads_select_whole_events)
{
    struct tp_selection window = {.from = {TP_INSTANT_RELATIVE, 10},
                                  .to = {TP_INSTANT_RELATIVE, 30}};
    struct tp_selection thread = {.thread = "thread-112"}, tid = {.thread = "112"},
                        other = {.thread = "113"};
    struct reading r;

    make_process("run", 12, 1700000000000000000, "(a (b (c ) ) (d ) )");
    read_events(&r, "run", &window);
    expect_events(&r, "b 10-40 -; c 20-30 b");
    close_reading(&r);
    read_events(&r, "run", &thread);
    ck_assert_uint_eq(r.list.count, 4);
    close_reading(&r);
    read_events(&r, "run", &tid);
    ck_assert_uint_eq(r.list.count, 4);
    close_reading(&r);
    read_events(&r, "run", &other);
    ck_assert_uint_eq(r.list.count, 0);
    close_reading(&r);
}
END_TEST

START_TEST(steps_are_stretches_of_time)
{
    struct recording rec;
    struct recording_track t[2];
    struct reading r;
    struct tp_selection second = {.has_step = true, .first_step = 2, .last_step = 2};

    begin_recording(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    uint32_t step = operator_name(&rec, "ProfilerStep*");
    track_begin(&t[0], &rec, 1, 101);
    track_begin(&t[1], &rec, 2, 102);
    for (uint64_t s = 1; s <= 3; s++) {
        uint64_t words[4] = {s, 0, 0, 7};
        track_put(&t[0], TP_EVENT_OP_BEGIN, s * 1000, step, words);
        put_records(&t[0], s * 1000 + 100, "(a )");
        track_put(&t[0], TP_EVENT_OP_END, s * 1000 + 900, 0, NULL);
        put_records(&t[1], s * 1000 + 500, "(b )");
    }
    track_flush(&t[1]);
    track_flush(&t[0]);
    recording_end(&rec, "exit");
    read_events(&r, "run", &second);
    expect_events(&r, "ProfilerStep* 2000-2900 -; a 2100-2110 ProfilerStep*; b 2500-2510 -");
    ck_assert_str_eq(tp_strings_get(&r.strings, r.list.events[0].trace_name)->bytes,
                     "ProfilerStep#2");
    ck_assert(r.list.events[0].flags & TP_EVENT_USER_ANNOTATION);
    ck_assert_int_eq(r.list.events[0].sequence_nr, -1);
    close_reading(&r);
    track_end(&t[0]);
    track_end(&t[1]);
}
END_TEST

START_TEST(newest_recording_of_a_folder_is_taken)
{
    struct reading r;

    make_process("a_older", 12, 1700000000000000000, "(a )");
    make_process("b_newer", 12, 1700000009000000000, "(b )");
    read_events(&r, "", &everything);
    expect_events(&r, "b 0-10 -");
    close_reading(&r);
    read_events(&r, "a_older/host", &everything);
    expect_events(&r, "a 0-10 -");
    close_reading(&r);
    read_events(&r, "a_older/host/12-17979cfe362a0000", &everything);
    expect_events(&r, "a 0-10 -");
    close_reading(&r);
}
END_TEST

START_TEST(names_carry_overloads_domains_and_suffixes)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;
    static const char add[] = "aten::add\0Tensor", range[] = "nccl\0AllReduce",
                      emitted[] = "\0aten::mm, seq = 5, op_id = 7, sizes = [[2, 3], []]";
    static const char shapes[] = "[[[8,16],[[1],[2]]],[\"float\",\"TensorList\"]]";
    uint64_t words[4] = {3, 0, 0, 1};

    begin_recording(&rec, "run", 11, 1700000000000000000);
    uint32_t ids[] = {recording_name(&rec, TP_NAME_OPERATOR, add, sizeof(add) - 1),
                      recording_name(&rec, TP_NAME_SCOPED, range, sizeof(range) - 1),
                      recording_name(&rec, TP_NAME_SCOPED, emitted, sizeof(emitted) - 1)};
    words[2] = recording_name(&rec, TP_NAME_SHAPES, shapes, sizeof(shapes) - 1);
    track_begin(&t, &rec, 1, 101);
    track_put(&t, TP_EVENT_OP_BEGIN, 0, ids[0], words);
    track_put(&t, TP_EVENT_NVTX_PUSH, 10, ids[1], NULL);
    track_put(&t, TP_EVENT_NVTX_PUSH, 20, ids[2], NULL);
    track_put(&t, TP_EVENT_ITT_BEGIN, 30, ids[2], NULL);
    track_put(&t, TP_EVENT_API_BEGIN, 40, 999, NULL);
    track_flush(&t);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "aten::add 0-40 -; AllReduce 10-40 aten::add; aten::mm 20-40 AllReduce; "
                      "aten::mm, seq = 5, op_id = 7, sizes = [[2, 3], []] 30-40 aten::mm; <name "
                      "999> 40-40 aten::mm, seq = 5, op_id = 7, sizes = [[2, 3], []]");
    const struct tp_function_event *e = r.list.events;
    ck_assert_str_eq(tp_strings_get(&r.strings, e[0].overload_name)->bytes, "Tensor");
    ck_assert_str_eq(tp_strings_get(&r.strings, e[0].input_shapes)->bytes, "[[8, 16], []]");
    ck_assert_str_eq(tp_strings_get(&r.strings, r.list.details[0].structured_input_shapes)->bytes,
                     "[[8,16],[[1],[2]]]");
    ck_assert_str_eq(tp_strings_get(&r.strings, r.list.details[0].input_dtypes)->bytes,
                     "[\"float\",\"TensorList\"]");
    ck_assert_uint_eq(r.list.details[0].structured_input_strides, TP_STRING_NONE);
    ck_assert_str_eq(tp_strings_get(&r.strings, e[1].domain)->bytes, "nccl");
    ck_assert(e[0].flags & TP_EVENT_UNFINISHED);
    ck_assert_int_eq(e[0].scope, 1);
    ck_assert_int_eq(e[0].sequence_nr, 3);
    ck_assert(e[1].flags & TP_EVENT_USER_ANNOTATION);
    ck_assert_str_eq(tp_strings_get(&r.strings, e[2].input_shapes)->bytes, "[[2, 3], []]");
    ck_assert_int_eq(e[2].sequence_nr, 5);
    ck_assert(!(e[2].flags & TP_EVENT_USER_ANNOTATION));
    expect_notes(&r, "1 name missing; it prints as <name N>");
    close_reading(&r);
    track_end(&t);
}
END_TEST

START_TEST(a_single_clock_pair_takes_the_rate_of_another_process)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;
    struct tp_selection everyone = {0};

    make_process("run", 12, 1700000000000000000, "(a )");
    static char path[512];
    snprintf(path, sizeof(path), "%s/run", recording_folder);
    struct recording_options options = {
        .run_dir = path, .pid = 13, .rank = -1, .start_ns = 1700000000000001000, .ticks_per_ns = 1};
    recording_begin(&rec, &options);
    recording_clock(&rec, 0);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 113);
    put_records(&t, 0, "(b )");
    track_flush(&t);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everyone);
    expect_events(&r, "a 0-10 -; b 1000-1010 -");
    expect_notes(&r, "its clock was read once only; the rate is from another process");
    close_reading(&r);
    track_end(&t);
}
END_TEST

static void read_whole(bool list)
{
    struct tp_averages_options options = {.group_by_input_shapes = true};
    struct reading r;
    int error;

    if (list) {
        open_reading(&r, "run", &everything);
        error = tp_input_tptrace.read_list(&r.input, &r.list, &r.diag);
    } else {
        error = read_averages(&r, "run", &options);
    }
    ck_assert_int_eq(error, 0);
    close_reading(&r);
}

/* Every allocation of reading fails in turn: an error or a report, never a crash or a leak. */
static void starve(bool list)
{
    struct tp_averages_options options = {.group_by_input_shapes = true};
    struct tp_input_averages part;
    struct reading r;

    unit_fail_allocation(0);
    read_whole(list);
    unsigned all = unit_allocations();
    for (unsigned i = 1; i <= all; i += 1 + i / 60) {
        open_reading(&r, "run", &everything);
        part = (struct tp_input_averages){0};
        unit_fail_allocation(i);
        int error = list ? tp_input_tptrace.read_list(&r.input, &r.list, &r.diag)
                         : tp_input_tptrace.read_averages(&r.input, &r.strings, &r.stacks, &options,
                                                          &part, &r.diag);
        unit_fail_allocation(0);
        tp_averages_destroy(part.averages);
        ck_assert_msg(!error || error == -ENOMEM || error == -TP_ENOTFOUND, "allocation %u: %s", i,
                      r.diag.text);
        close_reading(&r);
    }
}

START_TEST(missing_memory_is_an_error_at_any_place)
{
    make_process("run", 12, 1700000000000000000, "(a (b | ) <c | (d > ) )");
    starve(_i);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        blocks_become_events,
        ring_goes_on_where_blocks_end,
        a_pid_that_is_given_again_is_no_exec,
        gaps_restart_from_the_open_ranges,
        eviction_is_said_and_whole,
        lost_records_are_counted_once,
        async_ranges_pair_across_threads,
        a_begin_never_pairs_with_a_begin,
        processes_are_merged_or_chosen,
        windows_and_threads_select_whole_events,
        steps_are_stretches_of_time,
        newest_recording_of_a_folder_is_taken,
        names_carry_overloads_domains_and_suffixes,
        a_single_clock_pair_takes_the_rate_of_another_process,
    };
    Suite *suite = suite_create("tptrace");
    TCase *tcase = tcase_create("tptrace");
    tcase_add_checked_fixture(tcase, recording_setup, recording_teardown);
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; i < UNIT_COUNT(tests); i++)
        tcase_add_test(tcase, tests[i]);
    tcase_add_loop_test(tcase, an_exec_is_no_death, 0, 2);
    tcase_add_loop_test(tcase, missing_memory_is_an_error_at_any_place, 0, 2);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
