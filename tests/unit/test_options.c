/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

static const char *words[32];

static int parse(struct tp_options *options, struct tp_diag *diag, const char *const *arguments)
{
    char *argv[64] = {(char *)(uintptr_t) "tpreport"};
    int argc = 1;

    while (*arguments)
        argv[argc++] = (char *)(uintptr_t)*arguments++;
    return tp_options_parse(argc, argv, words, options, diag);
}
#define PARSE(options, ...) parse(options, &diag, (const char *const[]){__VA_ARGS__, NULL})

START_TEST(defaults_are_the_references)
{
    struct tp_options o;
    struct tp_diag diag;

    ck_assert_int_eq(parse(&o, &diag, (const char *const[]){NULL}), 0);
    ck_assert_int_eq(o.command, TP_COMMAND_AVERAGES);
    ck_assert_int_eq(o.input_count, 0);
    ck_assert_uint_eq(o.view.max_name_width, 55);
    ck_assert_uint_eq(o.view.max_shapes_width, 80);
    ck_assert_uint_eq(o.view.max_src_width, 75);
    ck_assert(!o.view.row_limit_given);
    ck_assert_ptr_null(o.sort_by);
}
END_TEST

START_TEST(every_option_reaches_its_field)
{
    struct tp_options o;
    struct tp_diag diag;

    ck_assert_int_eq(
        PARSE(&o, "events", "--sort-by", "count", "-n", "7", "--max-name-column-width=9",
              "--max-shapes-column-width=8", "--max-src-column-width=none", "--header=h",
              "--top-level-events-only", "--time-unit=ms", "--format=csv", "-o", "out", "x",
              "--group-by-input-shapes", "--group-by-stack-n=4", "--group-by-overload-name",
              "--include-python-functions", "--of=averages", "--compact", "--style=list"),
        0);
    ck_assert_int_eq(o.command, TP_COMMAND_EVENTS);
    ck_assert_str_eq(o.sort_by, "count");
    ck_assert_int_eq(o.view.row_limit, 7);
    ck_assert(o.view.row_limit_given);
    ck_assert_uint_eq(o.view.max_name_width, 9);
    ck_assert_uint_eq(o.view.max_shapes_width, 8);
    ck_assert_uint_eq(o.view.max_src_width, 0);
    ck_assert_str_eq(o.view.header, "h");
    ck_assert(o.view.top_level_events_only);
    ck_assert_int_eq(o.view.time_unit, TP_TIME_MS);
    ck_assert_str_eq(o.format, "csv");
    ck_assert_str_eq(o.output_path, "out");
    ck_assert_int_eq(o.input_count, 1);
    ck_assert(o.group.group_by_input_shapes && o.group.group_by_overload_name &&
              o.group.include_python_functions);
    ck_assert_uint_eq(o.group.group_by_stack_n, 4);
    ck_assert(o.of_averages && o.compact);
    ck_assert_str_eq(o.style, "list");
    ck_assert_int_eq(PARSE(&o, "--group-by-input-shape", "--help", "--version"), 0);
    ck_assert(o.group.group_by_input_shapes && o.help && o.version);
}
END_TEST

START_TEST(selection_is_read_to_the_nanosecond)
{
    struct tp_options o;
    struct tp_diag diag;

    ck_assert_int_eq(PARSE(&o, "--pid=12", "--rank=3", "--thread=worker", "--step=4-9",
                           "--from=1.000000001", "--to=2026-01-31T12:00:00.5+01:00"),
                     0);
    ck_assert(o.selection.has_pid && o.selection.has_rank && o.selection.has_step);
    ck_assert_int_eq(o.selection.pid, 12);
    ck_assert_int_eq(o.selection.rank, 3);
    ck_assert_str_eq(o.selection.thread, "worker");
    ck_assert_int_eq(o.selection.first_step, 4);
    ck_assert_int_eq(o.selection.last_step, 9);
    ck_assert_int_eq(o.selection.from.kind, TP_INSTANT_RELATIVE);
    ck_assert_int_eq(o.selection.from.ns, 1000000001);
    ck_assert_int_eq(o.selection.to.kind, TP_INSTANT_WALL);
    ck_assert_int_eq(o.selection.to.ns, 1769857200500000000);
    ck_assert_int_eq(PARSE(&o, "--step=5"), 0);
    ck_assert_int_eq(o.selection.last_step, 5);
}
END_TEST

START_TEST(the_first_word_is_a_command_if_it_is_one)
{
    struct tp_options o;
    struct tp_diag diag;

    ck_assert_int_eq(PARSE(&o, "-n3", "tree", "tree"), 0);
    ck_assert_int_eq(o.command, TP_COMMAND_TREE);
    ck_assert_int_eq(o.input_count, 1);
    ck_assert_str_eq(o.inputs[0], "tree");
    ck_assert_int_eq(PARSE(&o, "./tree"), 0);
    ck_assert_int_eq(o.command, TP_COMMAND_AVERAGES);
    ck_assert_int_eq(PARSE(&o, "--", "tree", "-n3"), 0);
    ck_assert_int_eq(o.command, TP_COMMAND_AVERAGES);
    ck_assert_int_eq(o.input_count, 2);
    ck_assert_int_eq(PARSE(&o, "file", "tree"), 0);
    ck_assert_int_eq(o.command, TP_COMMAND_AVERAGES);
    ck_assert_int_eq(o.input_count, 2);
    ck_assert_int_eq(PARSE(&o, "stacks", "-"), 0);
    ck_assert_str_eq(o.inputs[0], "-");
}
END_TEST

START_TEST(wrong_usage_is_told_in_one_line)
{
    static const struct {
        const char *word, *message;
    } cases[] = {
        {"--sort-bye=x", "unknown option 'sort-bye'; nearest: --sort-by"},
        {"-x", "unknown option 'x'; nearest: --of"},
        {"--compact=yes", "option --compact takes no value"},
        {"--row-limit", "option '--row-limit' needs a value"},
        {"--row-limit=ten", "--row-limit: found 'ten', expected a number or none"},
        {"--max-name-column-width=0",
         "--max-name-column-width: found '0', expected a width of at least 1, or none"},
        {"--max-src-column-width=-3",
         "--max-src-column-width: found '-3', expected a width of at least 1, or none"},
        {"--max-shapes-column-width=1e3",
         "--max-shapes-column-width: found '1e3', expected a width of at least 1, or none"},
        {"--group-by-stack-n=-1",
         "--group-by-stack-n: found '-1', expected a number of at least 0"},
        {"--of=nothing", "--of: found 'nothing', expected events or averages"},
        {"--pid=x", "--pid: found 'x', expected a process number"},
        {"--rank=", "--rank: found '', expected a rank number"},
        {"--step=9-3", "--step: found '9-3', expected a step's number or a range such as 3-5"},
        {"--step=3-", "--step: found '3-', expected a step's number or a range such as 3-5"},
        {"--from=soon", "--from: found 'soon', expected seconds such as 12.5, or a time such as "
                        "2026-01-31T12:00:00Z"},
        {"--to=2026-13-01T00:00:00", "--to: found '2026-13-01T00:00:00', expected seconds such as "
                                     "12.5, or a time such as 2026-01-31T12:00:00Z"},
        {"--metric=cpu_time", "metric should be one of: ['self_cpu_time_total', "
                              "'self_cuda_time_total', 'self_xpu_time_total', "
                              "'self_privateuse1_time_total'] (or self_device_time_total; with "
                              "--format folded or pprof: cpu_time_total, self_cpu_memory_usage, "
                              "self_device_memory_usage, count, cpu, device, bytes)"},
    };
    struct tp_options o;
    struct tp_diag diag;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_lt(PARSE(&o, cases[i].word), 0);
        ck_assert_str_eq(diag.text, cases[i].message);
    }
}
END_TEST

START_TEST(none_lifts_limits_and_negative_rows_are_all)
{
    struct tp_options o;
    struct tp_diag diag;

    ck_assert_int_eq(PARSE(&o, "--row-limit=none", "--max-name-column-width=none", "--sort-by=none",
                           "--header=none", "--time-unit=none"),
                     0);
    ck_assert_int_eq(o.view.row_limit, -1);
    ck_assert_uint_eq(o.view.max_name_width, 0);
    ck_assert_ptr_null(o.sort_by);
    ck_assert_ptr_null(o.view.header);
    ck_assert_str_eq(o.note, "");
    ck_assert_int_eq(PARSE(&o, "--row-limit=-5"), 0);
    ck_assert_int_eq(o.view.row_limit, -1);
}
END_TEST

START_TEST(an_unknown_time_unit_is_noted_not_refused)
{
    struct tp_options o;
    struct tp_diag diag;

    ck_assert_int_eq(PARSE(&o, "--time-unit=minutes"), 0);
    ck_assert_int_eq(o.view.time_unit, TP_TIME_AUTO);
    ck_assert_ptr_nonnull(strstr(o.note, "'minutes'"));
}
END_TEST

RUN_TESTS("options", defaults_are_the_references, every_option_reaches_its_field,
          selection_is_read_to_the_nanosecond, the_first_word_is_a_command_if_it_is_one,
          wrong_usage_is_told_in_one_line, none_lifts_limits_and_negative_rows_are_all,
          an_unknown_time_unit_is_noted_not_refused)
