/* SPDX-License-Identifier: MIT
 * Geometries of launches, and occupancies that Kineto computed for kernels of real traces
 * (tests/traces). */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/geometry.h"

START_TEST(geometry_is_read_or_refused)
{
    static const struct {
        const char *json;
        bool good;
    } cases[] = {
        {"[[564,1,1],[128,1,1],32,0,0,0,[1,1,1]]", true},
        {" [ [4, 5, 6] , [7, 8, 9] ]", true},
        {"[[1,1,1],[1,1,1],-1]", true},
        {"[[1,1],[1,1,1]]", false},
        {"[[0,1,1],[1,1,1]]", false},
        {"[[1,1,1],[1,1,1],32", false},
        {"[[1,1,1],[99999999999999999999,1,1]]", false},
        {"", false},
        {"[[", false},
    };
    struct tp_geometry g;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(tp_geometry_parse(&g, cases[i].json, strlen(cases[i].json)) == cases[i].good,
                      "%s", cases[i].json);
    const char *whole = cases[0].json;
    ck_assert(tp_geometry_parse(&g, whole, strlen(whole)));
    ck_assert_int_eq(g.grid[0], 564);
    ck_assert_int_eq(g.block[0], 128);
    ck_assert_int_eq(g.registers, 32);
    ck_assert_int_eq(g.cluster[2], 1);
    for (size_t cut = 0; cut < strlen(whole); cut++)
        ck_assert(!tp_geometry_parse(&g, whole, cut));
}
END_TEST

START_TEST(occupancy_is_what_kineto_computes)
{
    static const struct {
        unsigned major, minor, sms;
        int64_t grid, block, registers, shared;
        double blocks, warps, percent;
    } cases[] = {
        {9, 0, 132, 564, 128, 32, 0, 4.272727, 17.09091, 27},
        {8, 0, 108, 864, 256, 47, 0, 8, 64, 63},
        {8, 0, 108, 1, 128, 16, 0, 0.009259, 0.037037, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tp_geometry g = {.grid = {cases[i].grid, 1, 1},
                                .block = {cases[i].block, 1, 1},
                                .registers = cases[i].registers,
                                .static_shared = cases[i].shared};
        struct tp_device_limits limits;
        struct tp_occupancy o;
        ck_assert(tp_device_limits_find(&limits, cases[i].major, cases[i].minor, cases[i].sms));
        ck_assert(tp_occupancy_estimate(&g, &limits, &o));
        ck_assert_double_eq_tol(o.blocks_per_sm, cases[i].blocks, 1e-6);
        ck_assert_double_eq_tol(o.warps_per_sm, cases[i].warps, 1e-5);
        ck_assert_double_eq_tol(round(o.percent), cases[i].percent, 1e-9);
    }
}
END_TEST

START_TEST(nothing_is_guessed)
{
    struct tp_geometry g = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .registers = -1};
    struct tp_device_limits limits;
    struct tp_occupancy o;

    ck_assert(!tp_device_limits_find(&limits, 3, 5, 13));
    ck_assert(!tp_device_limits_find(&limits, 99, 0, 13));
    ck_assert(tp_device_limits_find(&limits, 9, 0, 0));
    ck_assert(!tp_occupancy_estimate(&g, &limits, &o));
    g.registers = 32;
    ck_assert(!tp_occupancy_estimate(&g, &limits, &o));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("geometry");
    TCase *tcase = tcase_create("geometry");
    tcase_add_test(tcase, geometry_is_read_or_refused);
    tcase_add_test(tcase, occupancy_is_what_kineto_computes);
    tcase_add_test(tcase, nothing_is_guessed);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
