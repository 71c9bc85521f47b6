/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "input/event_list_json.h"
#include "model/tree.h"

/* ' to ", ` to ' */
static char *requote(const char *json)
{
    char *copy = strdup(json);

    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p == '`' ? '\'' : *p;
    return copy;
}

int fixture_parse(struct fixture *fixture, const char *json)
{
    char *text = requote(json);

    memset(fixture, 0, sizeof(*fixture));
    ck_assert_int_eq(tp_strings_init(&fixture->strings), 0);
    ck_assert_int_eq(tp_stacks_init(&fixture->stacks), 0);
    tp_event_list_init(&fixture->list, &fixture->strings, &fixture->stacks);
    int result = tp_event_list_json_parse(text, strlen(text), NULL, &fixture->list, &fixture->diag);
    free(text);
    return result;
}

void fixture_load(struct fixture *fixture, const char *json)
{
    int result = fixture_parse(fixture, json);

    if (!result)
        result = tp_tree_build(&fixture->list, &fixture->diag);
    if (!result)
        result = tp_tree_times(&fixture->list, &fixture->diag);
    ck_assert_msg(!result, "%s", fixture->diag.text);
}

void fixture_fini(struct fixture *fixture)
{
    tp_event_list_fini(&fixture->list);
    tp_stacks_fini(&fixture->stacks);
    tp_strings_fini(&fixture->strings);
}

uint32_t fixture_string(struct fixture *fixture, const char *text)
{
    uint32_t id;

    ck_assert_int_eq(tp_strings_put(&fixture->strings, text, strlen(text), &id), 0);
    return id;
}

static int memory_file(const char *text)
{
    int fd = memfd_create("fixture", 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

static void take_output(int fd, struct outcome *outcome)
{
    off_t size = lseek(fd, 0, SEEK_END);

    outcome->text = calloc(1, (size_t)size + 1);
    outcome->size = (size_t)size;
    ck_assert_int_eq(pread(fd, outcome->text, (size_t)size, 0), size);
}

static void execute(const struct tp_options *options, struct outcome *outcome)
{
    static struct tp_output output;
    struct tp_run run = {0};
    int fd = memfd_create("output", 0);

    outcome->result = tp_run_init(&run, options, &outcome->diag);
    outcome->is_usage = outcome->result < 0;
    if (!outcome->result) {
        tp_output_open(&output, NULL, &outcome->diag);
        output.fd = fd;
        outcome->result = tp_run_execute(&run, &output, &outcome->diag);
        ck_assert_int_eq(tp_output_close(&output, true, &outcome->diag), 0);
    }
    take_output(fd, outcome);
    close(fd);
    tp_run_fini(&run);
}

struct outcome outcome_of(const char *json, const char *const *words)
{
    char *text = requote(json), path[64], *argv[64] = {(char *)(uintptr_t) "tpreport"};
    const char *inputs[64];
    struct tp_options options;
    struct outcome outcome = {0};
    int fd = memory_file(text), argc = 1;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    while (*words)
        argv[argc++] = (char *)(uintptr_t)*words++;
    argv[argc++] = path;
    outcome.result = tp_options_parse(argc, argv, inputs, &options, &outcome.diag);
    outcome.is_usage = outcome.result < 0;
    if (!outcome.result)
        execute(&options, &outcome);
    close(fd);
    free(text);
    return outcome;
}

void outcome_fini(struct outcome *outcome)
{
    free(outcome->text);
}

void assert_prints(const char *json, const char *expected, const char *const *words)
{
    struct outcome outcome = outcome_of(json, words);

    ck_assert_msg(outcome.result == 0, "%s", outcome.diag.text);
    ck_assert_str_eq(outcome.text, expected);
    outcome_fini(&outcome);
}

uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1du;
}

uint64_t random_seed(void)
{
    const char *given = getenv("TP_TEST_SEED");

    return given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
}

int run_tests(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
