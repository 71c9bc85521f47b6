/* SPDX-License-Identifier: MIT
 * Whole recordings, made to order, through the input: what a report gets to see. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "input/tptrace.h"
#include "make_recording.h"
#include "model/tree.h"
#include "records.h"

static char folder[256];

static void setup(void)
{
    make_temporary(folder);
}

static void teardown(void)
{
    remove_tree(folder);
}

/* ---- making ---- */

static void begin(struct recording *r, const char *run, uint32_t pid, int64_t start_ns)
{
    static char path[512];
    struct recording_options options = {.run_dir = path,
                                        .pid = pid,
                                        .rank = (int)pid % 10,
                                        .start_ns = start_ns,
                                        .counts_memory = true};

    snprintf(path, sizeof(path), "%s/%s", folder, run);
    recording_begin(r, &options);
    recording_clock(r, 0);
    recording_clock(r, 1000000000);
}

static uint32_t op_name(struct recording *r, const char *name)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "%s%c", name, 0);

    return recording_name(r, TP_NAME_OPERATOR, text, (size_t)n);
}

/* (a op a begins, ) ends, <a >, [a ], {a }: as in test_stream; | writes a block, 10 ticks a record.
 */
static uint64_t put(struct recording_track *t, uint64_t ticks, const char *text)
{
    static uint32_t no_words_needed;
    uint64_t words[4] = {UINT64_MAX, 0, 0, 0};
    uint32_t first = TP_NAME_FIRST + no_words_needed;

    for (; *text; text++) {
        static const char signs[] = "()<>[]{}";
        static const unsigned kinds[] = {TP_EVENT_OP_BEGIN,  TP_EVENT_OP_END,    TP_EVENT_NVTX_PUSH,
                                         TP_EVENT_NVTX_POP,  TP_EVENT_ITT_BEGIN, TP_EVENT_ITT_END,
                                         TP_EVENT_API_BEGIN, TP_EVENT_API_END};
        const char *sign = strchr(signs, *text);
        if (*text == ' ')
            continue;
        if (*text == '|') {
            track_flush(t);
            continue;
        }
        ck_assert_ptr_nonnull(sign);
        unsigned kind = kinds[sign - signs];
        uint32_t name =
            tp_kinds[kind].role == TP_ROLE_BEGIN ? first + (uint32_t)(*++text - 'a') : 0;
        track_put(t, kind, ticks, name, words);
        ticks += 10;
    }
    return ticks;
}

/* Names a to h for put(). */
static void name_letters(struct recording *r)
{
    for (char c = 'a'; c <= 'h'; c++)
        op_name(r, (char[]){c, '\0'});
}

/* ---- reading ---- */

struct reading {
    struct tp_input input;
    struct tp_strings strings;
    struct tp_stacks stacks;
    struct tp_event_list list;
    struct tp_average *rows;
    size_t count;
    struct tp_diag diag;
};

static const struct tp_selection everything;

static void open_reading(struct reading *r, const char *run, const struct tp_selection *selection)
{
    static char path[512];

    memset(r, 0, sizeof(*r));
    snprintf(path, sizeof(path), "%s/%s", folder, run);
    ck_assert_int_eq(tp_strings_init(&r->strings), 0);
    ck_assert_int_eq(tp_stacks_init(&r->stacks), 0);
    tp_event_list_init(&r->list, &r->strings, &r->stacks);
    int error = tp_input_open(&r->input, path, selection, &r->diag);
    ck_assert_msg(!error, "%s", r->diag.text);
}

static int read_averages(struct reading *r, const char *run,
                         const struct tp_averages_options *options)
{
    struct tp_input_averages part = {0};

    open_reading(r, run, &everything);
    int error = tp_input_tptrace.read_averages(&r->input, &r->strings, &r->stacks, options, &part,
                                               &r->diag);
    if (error)
        return error;
    ck_assert_int_eq(tp_averages_finish(part.averages, &r->rows, &r->count), 0);
    tp_averages_destroy(part.averages);
    return 0;
}

static void read_events(struct reading *r, const char *run, const struct tp_selection *selection)
{
    open_reading(r, run, selection);
    int error = tp_input_tptrace.read_list(&r->input, &r->list, &r->diag);
    ck_assert_msg(!error, "%s", r->diag.text);
    ck_assert_int_eq(tp_tree_build(&r->list, &r->diag), 0);
    ck_assert_int_eq(tp_tree_times(&r->list, &r->diag), 0);
}

static void close_reading(struct reading *r)
{
    free(r->rows);
    tp_input_close(&r->input);
    tp_event_list_fini(&r->list);
    tp_stacks_fini(&r->stacks);
    tp_strings_fini(&r->strings);
}

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

/* ---- tests ---- */

START_TEST(blocks_become_events)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;

    begin(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    put(&t, 0, "(a (b | ) <c | (d > ) )");
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

    begin(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    put(&t, 0, "(a (b | )");
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

START_TEST(gaps_restart_from_the_open_ranges)
{
    struct recording rec;
    struct recording_track t;
    struct reading r;

    begin(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    uint64_t ticks = put(&t, 0, "(a (b |");
    ticks = put(&t, ticks, ") (c ");
    track_lose(&t);
    put(&t, ticks, ") ) |");
    recording_end(&rec, "exit");
    read_events(&r, "run", &everything);
    expect_events(&r, "a 0-50 -; b 10-10 a; c 30-40 a");
    expect_notes(&r, "3 slots missing");
    expect_notes(&r, "1 ranges whose end is missing");
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

    begin(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    uint64_t ticks = put(&t, 0, "(a (b");
    track_lose(&t);
    put(&t, ticks, ") ) |");
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

    begin(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 101);
    put(&t, 0, "(a )");
    track_put(&t, TP_EVENT_LOST, 15, 0, words);
    track_flush(&t);
    put(&t, 20, "(b )");
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

    begin(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    track_begin(&t[0], &rec, 1, 101);
    track_begin(&t[1], &rec, 2, 102);
    track_put(&t[1], TP_EVENT_ASYNC_END, 500, 0, words);
    track_flush(&t[1]); /* the end is read before the begin */
    put(&t[0], 0, "(a");
    track_put(&t[0], TP_EVENT_ASYNC_BEGIN, 100, TP_NAME_FIRST + 1, words);
    track_put(&t[0], TP_EVENT_ASYNC_BEGIN, 200, TP_NAME_FIRST + 2, open);
    put(&t[0], 900, ")");
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

static void make_process(const char *run, uint32_t pid, int64_t start_ns, const char *records)
{
    struct recording rec;
    struct recording_track t;

    begin(&rec, run, pid, start_ns);
    if (pid % 2) /* ids differ from process to process */
        recording_text(&rec, TP_NAME_TEXT, "filler");
    name_letters(&rec);
    track_begin(&t, &rec, 1, 100 + pid);
    put(&t, 0, records);
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

    begin(&rec, "run", 11, 1700000000000000000);
    name_letters(&rec);
    uint32_t step = op_name(&rec, "ProfilerStep*");
    track_begin(&t[0], &rec, 1, 101);
    track_begin(&t[1], &rec, 2, 102);
    for (uint64_t s = 1; s <= 3; s++) {
        uint64_t words[4] = {s, 0, 0, 7};
        track_put(&t[0], TP_EVENT_OP_BEGIN, s * 1000, step, words);
        put(&t[0], s * 1000 + 100, "(a )");
        track_put(&t[0], TP_EVENT_OP_END, s * 1000 + 900, 0, NULL);
        put(&t[1], s * 1000 + 500, "(b )");
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

    make_process("older", 12, 1700000000000000000, "(a )");
    make_process("newer", 12, 1700000009000000000, "(b )");
    read_events(&r, "", &everything);
    expect_events(&r, "b 0-10 -");
    close_reading(&r);
    read_events(&r, "older/host", &everything);
    expect_events(&r, "a 0-10 -");
    close_reading(&r);
    read_events(&r, "older/host/12-17979cfe362a0000", &everything);
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

    begin(&rec, "run", 11, 1700000000000000000);
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
    ck_assert_int_eq(e[0].scope, 1);
    ck_assert_int_eq(e[0].sequence_nr, 3);
    ck_assert(e[1].flags & TP_EVENT_USER_ANNOTATION);
    ck_assert_str_eq(tp_strings_get(&r.strings, e[2].input_shapes)->bytes, "[[2, 3], []]");
    ck_assert_int_eq(e[2].sequence_nr, 5);
    ck_assert(!(e[2].flags & TP_EVENT_USER_ANNOTATION));
    expect_notes(&r, "1 names missing");
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
    snprintf(path, sizeof(path), "%s/run", folder);
    struct recording_options options = {
        .run_dir = path, .pid = 13, .rank = -1, .start_ns = 1700000000000001000, .ticks_per_ns = 1};
    recording_begin(&rec, &options);
    recording_clock(&rec, 0);
    name_letters(&rec);
    track_begin(&t, &rec, 1, 113);
    put(&t, 0, "(b )");
    track_flush(&t);
    recording_end(&rec, "exit");
    read_events(&r, "run", &everyone);
    expect_events(&r, "a 0-10 -; b 1000-1010 -");
    expect_notes(&r, "its clock was read once only; the rate is from another process");
    close_reading(&r);
    track_end(&t);
}
END_TEST

/* ---- streaming equals the list ---- */

static const uint64_t classes[][2] = {{TP_EVENT_OP_BEGIN, TP_EVENT_OP_END},
                                      {TP_EVENT_NVTX_PUSH, TP_EVENT_NVTX_POP},
                                      {TP_EVENT_ITT_BEGIN, TP_EVENT_ITT_END},
                                      {TP_EVENT_API_BEGIN, TP_EVENT_API_END}};

static void put_random(struct recording_track *t, struct random *random, uint64_t *ticks,
                       uint32_t shapes)
{
    uint64_t class_ = random_below(random, 8) ? 0 : random_below(random, 4);
    uint64_t words[4] = {random_below(random, 5), 0, shapes + random_below(random, 3),
                         random_below(random, 9) ? 0 : 7};
    bool begins = random_below(random, 100) < (t->open_count < 12 ? 55 : 40);

    *ticks += random_below(random, 3) ? random_below(random, 400) : 0;
    if (!random_below(random, 4))
        t->allocated += random_below(random, 4096);
    if (!random_below(random, 4))
        t->freed += random_below(random, 4096);
    /* few names, so that many only children bear their parent's */
    uint32_t name = TP_NAME_FIRST + (uint32_t)random_below(random, random_below(random, 2) ? 3 : 9);
    track_put(t, (unsigned)classes[class_][!begins], *ticks, begins ? name : 0, words);
    if (!random_below(random, 200))
        track_flush(t);
    if (!random_below(random, 1000))
        track_lose(t);
}

static void make_random(struct random *random, const char *run, uint32_t pid, bool dies)
{
    struct recording rec;
    struct recording_track tracks[4];
    uint64_t ticks[4] = {0};
    uint32_t shapes = 0;

    begin(&rec, run, pid, 1700000000000000000 + (int64_t)random_below(random, 100000));
    name_letters(&rec);
    op_name(&rec, "aten::is_leaf");
    for (int i = 0; i < 3; i++) {
        char text[32];
        snprintf(text, sizeof(text), "[[[%d]],[\"float\"]]", i);
        uint32_t id = recording_text(&rec, TP_NAME_SHAPES, text);
        shapes = shapes ? shapes : id;
    }
    for (uint32_t i = 0; i < 4; i++)
        track_begin(&tracks[i], &rec, i + 1, pid * 10 + i);
    for (uint64_t n = 2000 + random_below(random, 4000); n > 0; n--) {
        uint64_t i = random_below(random, 4);
        put_random(&tracks[i], random, &ticks[i], shapes);
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (dies && random_below(random, 4))
            track_leave_in_ring(&tracks[i], 0);
        else
            track_flush(&tracks[i]);
    }
    recording_end(&rec, dies ? NULL : "exit");
    for (uint32_t i = 0; i < 4; i++)
        track_end(&tracks[i]);
}

static void compare_rows(const struct tp_average *a, const struct tp_average *b, uint64_t seed,
                         size_t row)
{
    for (int m = 0; m < TP_MEASURES; m++) {
        double x = tp_number_to_double(a->sums[m]), y = tp_number_to_double(b->sums[m]);
        ck_assert_msg(fabs(x - y) <= 1e-3 + 1e-9 * fabs(x),
                      "seed %llu, row %zu, measure %d: %.6f, of the list %.6f",
                      (unsigned long long)seed, row, m, x, y);
    }
    ck_assert_msg(a->flags == (b->flags & ~TP_EVENT_HAS_FWD_THREAD) && a->scope == b->scope &&
                      a->node_id == b->node_id,
                  "seed %llu, row %zu: flags %x, of the list %x", (unsigned long long)seed, row,
                  a->flags, b->flags);
}

START_TEST(averages_of_a_stream_are_those_of_its_list)
{
    uint64_t seed = random_seed("averages_of_a_stream_are_those_of_its_list") + (uint64_t)_i;
    struct random random = {.state = seed};
    struct tp_averages_options options = {.group_by_input_shapes = _i & 1,
                                          .group_by_overload_name = _i & 2};
    struct reading stream, list;
    struct tp_average *rows;
    size_t count;

    make_random(&random, "run", 12, _i & 1);
    make_random(&random, "run", 13, _i & 2);
    ck_assert_int_eq(read_averages(&stream, "run", &options), 0);
    read_events(&list, "run", &everything);
    ck_assert_int_eq(tp_key_averages(&list.list, &options, &rows, &count), 0);
    ck_assert_msg(count == stream.count, "seed %llu: %zu rows, of the list %zu",
                  (unsigned long long)seed, stream.count, count);
    ck_assert_uint_gt(count, 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(!strcmp(tp_strings_get(&stream.strings, stream.rows[i].key)->bytes,
                              tp_strings_get(&list.strings, rows[i].key)->bytes),
                      "seed %llu: row %zu is another one", (unsigned long long)seed, i);
        ck_assert_str_eq(tp_strings_get(&stream.strings, stream.rows[i].input_shapes)->bytes,
                         tp_strings_get(&list.strings, rows[i].input_shapes)->bytes);
        compare_rows(&stream.rows[i], &rows[i], seed, i);
    }
    free(rows);
    close_reading(&stream);
    close_reading(&list);
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
        gaps_restart_from_the_open_ranges,
        eviction_is_said_and_whole,
        lost_records_are_counted_once,
        async_ranges_pair_across_threads,
        processes_are_merged_or_chosen,
        windows_and_threads_select_whole_events,
        steps_are_stretches_of_time,
        newest_recording_of_a_folder_is_taken,
        names_carry_overloads_domains_and_suffixes,
        a_single_clock_pair_takes_the_rate_of_another_process,
    };
    Suite *suite = suite_create("tptrace");
    TCase *tcase = tcase_create("tptrace");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; i < UNIT_COUNT(tests); i++)
        tcase_add_test(tcase, tests[i]);
    tcase_add_loop_test(tcase, averages_of_a_stream_are_those_of_its_list, 0, 12);
    tcase_add_loop_test(tcase, missing_memory_is_an_error_at_any_place, 0, 2);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
