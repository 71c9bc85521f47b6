/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

/* What every unit test needs: a main, and allocations that fail on demand. */

#include <check.h>
#include <stddef.h>

#define UNIT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/**
 * unit_run - run tests as one suite
 * @setup, @teardown: around each test, in its process; may be NULL
 * Return: what main returns.
 */
int unit_run(const char *suite, SFun setup, SFun teardown, const TTest *const *tests, size_t count);

/**
 * unit_fail_allocation - let the @number-th allocation from now on, counted from 1, and all after
 * it fail; 0: none
 *
 * Sees malloc, calloc and realloc of the code under test (linked with --wrap), not those of shared
 * libraries.
 */
void unit_fail_allocation(unsigned number);

/* Allocations since the last unit_fail_allocation. */
unsigned unit_allocations(void);

#endif
