/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "fixture.h"
#include "kernel_columns.h"
#include "model/alloc_profile.h"

/* What "tpreport WORD... --help" prints; for free(). */
static char *help_of(const char *word)
{
    const char *argv[] = {"tpreport", word ? word : "--help", "--help"}, *words[4];
    struct tp_options options;
    struct tp_buffer help = {0};
    struct tp_diag diag;

    ck_assert_int_eq(tp_options_parse(3, (char **)argv, words, &options, &diag), 0);
    ck_assert(options.help);
    tp_help_write(&help, &options);
    tp_buffer_char(&help, '\0');
    return help.bytes;
}

static bool has_option(const char *help, const char *name)
{
    char line[64];

    snprintf(line, sizeof(line), " --%s ", name);
    return strstr(help, line) != NULL;
}

static bool has_name(const char *help, const char *name)
{
    char line[64];

    snprintf(line, sizeof(line), "\n  %s ", name);
    return strstr(help, line) != NULL;
}

START_TEST(without_a_command_it_has_every_option_and_command)
{
    char *help = help_of(NULL);

#define TP_OPTION(field, name, letter, kind, commands, value, text)                                \
    ck_assert(has_option(help, name) == ((const char *)(text) != NULL));
#include "options.def"
#undef TP_OPTION
    for (int i = 0; i < TP_COMMANDS; i++) {
        const char *example = tp_command_example((enum tp_command_id)i);
        ck_assert(has_name(help, tp_command_name((enum tp_command_id)i)));
        ck_assert_int_eq(strncmp(example, "tpreport ", 9), 0);
        ck_assert_ptr_nonnull(strstr(help, example));
    }
    free(help);
}
END_TEST

START_TEST(of_each_command_it_has_the_options_of_that_one)
{
    struct tp_option_text option;

    for (int i = 0; i < TP_COMMANDS; i++) {
        const char *name = tp_command_name((enum tp_command_id)i);
        char *help = help_of(name), usage[64];
        snprintf(usage, sizeof(usage), "usage: tpreport %s [OPTION]... [INPUT]...\n", name);
        ck_assert_int_eq(strncmp(help, usage, strlen(usage)), 0);
        ck_assert_ptr_nonnull(strstr(help, tp_command_help((enum tp_command_id)i)));
        ck_assert_ptr_nonnull(strstr(help, tp_command_example((enum tp_command_id)i)));
        for (int n = 0; tp_option_text(n, &option); n++)
            ck_assert_msg(has_option(help, option.name) ==
                              (option.help && option.commands >> i & 1),
                          "%s: --%s", name, option.name);
        ck_assert_ptr_eq(strstr(help, "--sort-by KEY") ? NULL : help,
                         strstr(help, "\nsort keys") ? NULL : help);
        free(help);
    }
}
END_TEST

START_TEST(of_some_commands_it_has_these_options_and_not_those)
{
    static const struct {
        const char *command, *has, *has_not;
    } cases[] = {
        {"memory", "sort-by", "percentiles"},
        {"memory", "no-symbols", "repeat"},
        {"averages", "percentiles", "no-symbols"},
        {"tree", "now", "sort-by"},
        {"kernels", "repeat", "group-by-stack-n"},
        {"stacks", "metric", "max-name-column-width"},
        {"check", "help", "format"},
        {"trace", "style", "format"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *help = help_of(cases[i].command);
        ck_assert_msg(has_option(help, cases[i].has), "%s: --%s", cases[i].command, cases[i].has);
        ck_assert_msg(!has_option(help, cases[i].has_not), "%s: --%s", cases[i].command,
                      cases[i].has_not);
        free(help);
    }
}
END_TEST

START_TEST(sort_keys_columns_and_formats_are_there)
{
    char *averages = help_of("averages"), *events = help_of("events"), *memory = help_of("memory"),
         *kernels = help_of("kernels");

    for (int i = 0; i < TP_COLUMNS; i++) {
        const struct tp_column *column = tp_column_get(i);
        ck_assert_msg(has_name(events, column->name), "%s", column->name);
        ck_assert_msg(has_name(averages, column->name) == (column->where != TP_WHERE_EVENTS), "%s",
                      column->name);
    }
    for (int i = 0; i < TP_KERNEL_COLUMNS; i++)
        ck_assert(has_name(kernels, tp_kernel_column_get(i)->name));
    for (int i = 0; i < TP_ALLOC_KEYS; i++)
        ck_assert(has_name(memory, tp_alloc_key_name((enum tp_alloc_key)i)));
    ck_assert_ptr_nonnull(
        strstr(memory, "  -f, --format F                     text, json, csv, folded, pprof\n"));
    ck_assert_ptr_nonnull(strstr(kernels, "csv, nsys-kernels, nsys-api, ascend-kernel_details, "));
    free(averages);
    free(events);
    free(memory);
    free(kernels);
}
END_TEST

/* A command's help needs not say for which command an option is. */
START_TEST(a_command_does_not_name_itself)
{
    char *help = help_of("kernels");

    ck_assert_ptr_null(strstr(help, " kernels: "));
    ck_assert_ptr_nonnull(strstr(help, "--merge-numbered               names that differ"));
    free(help);
}
END_TEST

static void expect_keys(const char *command, const char *key, const char *begins)
{
    const char *argv[] = {"tpreport", command, "--sort-by", key}, *words[5];
    struct tp_run run = {0};
    struct tp_options options;
    struct tp_diag diag;

    ck_assert_int_eq(tp_options_parse(4, (char **)argv, words, &options, &diag), 0);
    ck_assert_int_lt(tp_run_init(&run, &options, &diag), 0);
    const char *names = strstr(diag.text, "nearest first: ");
    ck_assert_msg(names && !strncmp(names + strlen("nearest first: "), begins, strlen(begins)),
                  "%s: %s", key, diag.text);
    tp_run_fini(&run);
}

START_TEST(sort_keys_that_are_none_get_the_nearest_first)
{
    expect_keys("memory", "alloc", "allocations, allocated_bytes, ");
    expect_keys("memory", "live", "live_bytes, ");
    expect_keys("kernels", "mean_us", "median_us, ");
    expect_keys("averages", "self_cpu_total", "self_cpu_time_total ");
    expect_keys("averages", "calls", "");
}
END_TEST

RUN_TESTS("help", without_a_command_it_has_every_option_and_command,
          of_each_command_it_has_the_options_of_that_one,
          of_some_commands_it_has_these_options_and_not_those,
          sort_keys_columns_and_formats_are_there, a_command_does_not_name_itself,
          sort_keys_that_are_none_get_the_nearest_first)
