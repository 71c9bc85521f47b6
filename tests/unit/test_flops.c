/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <inttypes.h>

#include "model/flops.h"

#define CONV "[[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], []]"

static const struct {
    const char *name, *shapes, *concrete;
    uint64_t flops;
} cases[] = {
    {"aten::mm", "[[2, 3], [3, 5]]", "", 2 * 2 * 3 * 5},
    {"aten::addmm", "[[5], [2, 3], [3, 5], [], []]", "", 60},
    {"aten::bmm", "[[7, 2, 3], [7, 3, 5]]", "", 2 * 7 * 2 * 3 * 5},
    {"aten::baddbmm", "[[7, 2, 5], [7, 2, 3], [7, 3, 5], [], []]", "", 420},
    {"aten::mul", "[[4, 5], [5]]", "", 20},
    {"aten::add", "[[], []]", "", 1},
    {"aten::add", "[[0, 5], []]", "", 0},
    {"aten::sub", "[[4, 5], [5]]", "", 0},
    {"mul", "[[4]]", "", 0},
    {"aten::mm.out", "[[2, 3], [3, 5]]", "", 0}, /* overloads stand elsewhere */
    /* what does not fit */
    {"aten::mm", "[[2, 3]]", "", 0},
    {"aten::mm", "[[], [3, 5]]", "", 0},
    {"aten::mm", "[[2, 0], [0, 5]]", "", 0},
    {"aten::bmm", "[[0, 2, 3], [0, 3, 5]]", "", 0},
    {"aten::mm", "[[[2, 3], [2, 3]], [3, 5]]", "", 0},
    {"aten::mm", "", "", 0},
    {"aten::mul", "[['x']]", "", 0},
    {"aten::mul", "[[4", "", 0},
    /* convolutions */
    {"aten::conv2d", CONV, "['', '', '', '[1, 1]', '[1, 1]', '[1, 1]', '1']",
     2 * 2 * 8 * 8 * 3 * 3 * 3 * 4},
    {"aten::conv2d", CONV, "[\"\", \"\", \"\", \"[2, 2]\", \"[0, 0]\", \"[1, 1]\", \"1\"]",
     2 * 2 * 3 * 3 * 3 * 3 * 3 * 4},
    {"aten::conv2d", CONV, "['', '', '', '[1, 1]', '[0, 0]', '[2, 2]', '1']",
     2 * 2 * 4 * 4 * 3 * 3 * 3 * 4},
    {"aten::conv2d", CONV, "['', '', '', '[1, 1]', '[1, 1]', '[1, 1]', '3']",
     2 * 2 * 8 * 8 * 3 * 3 * 3 * 4 / 3},
    {"aten::conv2d", CONV, "['', '', '', '[1, 1]', 'same', '[1, 1]', '1']", 0},
    {"aten::conv2d", CONV, "['', '', '', '[0, 1]', '[1, 1]', '[1, 1]', '1']", 0},
    {"aten::conv2d", CONV, "['', '', '', '[1]', '[1, 1]', '[1, 1]', '1']", 0},
    {"aten::conv2d", CONV, "['', '', '', '[1, 1]', '[1, 1]', '[1, 1]', '0']", 0},
    {"aten::conv2d", CONV, "", 0},
    {"aten::conv2d", "[[3, 8, 8], [4, 3, 3, 3]]", "['', '', '', '[1, 1]', '[1, 1]', '[1, 1]', '1']",
     0},
    /* wrapping, not crashing */
    {"aten::mul", "[[4294967296, 4294967296]]", "", 0},
    {"aten::conv2d", "[[1, 1, -9223372036854775808, 1], [1, 1, 1, 1]]",
     "['', '', '', '[-1, 1]', '[0, 0]', '[0, 0]', '1']", 0},
};

START_TEST(formulas_are_the_references)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t flops = tp_flops_of(cases[i].name, cases[i].shapes, cases[i].concrete);
        ck_assert_msg(flops == cases[i].flops || i + 1 == sizeof(cases) / sizeof(cases[0]),
                      "%s %s %s: %" PRIu64, cases[i].name, cases[i].shapes, cases[i].concrete,
                      flops);
    }
}
END_TEST

START_TEST(only_operators_with_a_formula_are_counted)
{
    ck_assert(tp_flops_has_formula("aten::baddbmm"));
    ck_assert(!tp_flops_has_formula("aten::linear"));
    ck_assert(!tp_flops_has_formula("aten::"));
    ck_assert(!tp_flops_has_formula(""));
}
END_TEST

RUN_TESTS("flops", formulas_are_the_references, only_operators_with_a_formula_are_counted)
