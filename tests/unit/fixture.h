/* SPDX-License-Identifier: MIT
 * What the unit tests of the report reader share: event lists from JSON text, whole runs in memory.
 */
#ifndef TP_TEST_FIXTURE_H
#define TP_TEST_FIXTURE_H

#include <check.h>
#include <stdio.h>

#include "command.h"

/* An event as JSON; @rest is "" or begins with a comma. */
#define EV(id, name, start, end, rest)                                                             \
    "{'id':" #id ",'name':'" name "','start_us':" #start ",'end_us':" #end rest "}"

/* An event list with its pools; from JSON in the golden form, quotes written as '. */
struct fixture {
    struct tp_strings strings;
    struct tp_stacks stacks;
    struct tp_event_list list;
    struct tp_diag diag;
};

/* fixture_parse: events alone. fixture_load: with tree and times; a failure fails the test. */
int fixture_parse(struct fixture *fixture, const char *json);
void fixture_load(struct fixture *fixture, const char *json);
void fixture_fini(struct fixture *fixture);
uint32_t fixture_string(struct fixture *fixture, const char *text);

/* One run of the program, but for main: its output as text, to be freed by outcome_fini. */
struct outcome {
    int result;    /* 0 or negative */
    bool is_usage; /* failed before reading */
    char *text;
    size_t size;
    struct tp_diag diag;
};

/* @json: as above, '`' stands for a single quote. Words end with NULL. The input is added. */
struct outcome outcome_of(const char *json, const char *const *words);
void outcome_fini(struct outcome *outcome);
#define OUTCOME(json, ...) outcome_of(json, (const char *const[]){__VA_ARGS__, NULL})

/* Assert that the run works and prints exactly this. */
void assert_prints(const char *json, const char *expected, const char *const *words);
#define ASSERT_PRINTS(json, expected, ...)                                                         \
    assert_prints(json, expected, (const char *const[]){__VA_ARGS__, NULL})

/* 64 random bits from a seed that failing tests print. */
uint64_t random_next(uint64_t *state);
uint64_t random_seed(void);

/* Run all tests of a suite, reporting as TAP. Return: exit status. */
int run_tests(const char *name, const TTest *const *tests, size_t count);
#define RUN_TESTS(name, ...)                                                                       \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return run_tests(name, tests, sizeof(tests) / sizeof(tests[0]));                           \
    }

#endif
