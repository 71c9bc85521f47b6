/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>

static _Atomic unsigned allocations, fail_from;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool allowed(void)
{
    unsigned number = ++allocations;

    return !fail_from || number < fail_from;
}

void *__wrap_malloc(size_t size)
{
    return allowed() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allowed() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    return allowed() ? __real_realloc(old, size) : NULL;
}

void unit_fail_allocation(unsigned number)
{
    allocations = 0;
    fail_from = number;
}

unsigned unit_allocations(void)
{
    return allocations;
}

int unit_run(const char *name, SFun setup, SFun teardown, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *cases = tcase_create(name);

    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 240);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
