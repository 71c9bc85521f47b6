/* SPDX-License-Identifier: MIT
 * Random recordings: averages of the stream are those of the list of its events. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read_recording.h"
#include "records.h"

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

    begin_recording(&rec, run, pid, 1700000000000000000 + (int64_t)random_below(random, 100000));
    name_letters(&rec);
    operator_name(&rec, "aten::is_leaf");
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
    ck_assert_msg(a->flags == (b->flags & ~(TP_EVENT_HAS_FWD_THREAD | TP_EVENT_UNFINISHED)) &&
                      a->scope == b->scope && a->node_id == b->node_id,
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

int main(void)
{
    Suite *suite = suite_create("tptrace_averages");
    TCase *tcase = tcase_create("averages");
    tcase_add_checked_fixture(tcase, recording_setup, recording_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, averages_of_a_stream_are_those_of_its_list, 0, 12);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
