/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/name_text.h"
#include "input/tptrace_text.h"

struct nvtx_case {
    const char *text, *name; /* name NULL: a name as it stands */
    int64_t sequence_nr;
    const char *sizes;
};

static const struct nvtx_case nvtx_cases[] = {
    {"aten::mm", NULL, -1, NULL},
    {"aten::mm, seq = 5", "aten::mm", 5, NULL},
    {"aten::mm, seq = 5, op_id = 7", "aten::mm", 5, NULL},
    {"aten::mm, op_id = 7", "aten::mm", -1, NULL},
    {"aten::mm, sizes = [[2, 3], [3, 4]]", "aten::mm", -1, "[[2, 3], [3, 4]]"},
    {"aten::mm, seq = 5, op_id = 7, sizes = [[2, 3], [], [4]]", "aten::mm", 5, "[[2, 3], [], [4]]"},
    {"aten::mm, seq = 5, op_id = 7, sizes = [[2, 3]], input_op_ids = [(3,0), (12,1)]", "aten::mm",
     5, "[[2, 3]]"},
    {"aten::mm, op_id = 7, input_op_ids = [(3,0)]", "aten::mm", -1, NULL},
    {"x, seq = y", NULL, -1, NULL},
    {"x, seq = ", NULL, -1, NULL},
    {"x, seq =5", NULL, -1, NULL},
    {"x, seq = 5 ", NULL, -1, NULL},
    {", seq = 5", NULL, -1, NULL},
    {"x, sizes = [[2, 3]", NULL, -1, NULL},
    {"x, sizes = [[2,3]]", NULL, -1, NULL},
    {"x, sizes = [2, 3]", NULL, -1, NULL},
    {"x, sizes = [[2, 3], ]", NULL, -1, NULL},
    {"x, sizes = [[2, 3]]]", NULL, -1, NULL},
    {"x, input_op_ids = [(1,2]", NULL, -1, NULL},
    {"x, input_op_ids = [1]", NULL, -1, NULL},
    {"a, seq = 1, seq = 2", "a, seq = 1", 2, NULL},
    {"a, op_id = 1, seq = 2", "a, op_id = 1", 2, NULL},
    {"x, seq = 99999999999999999999", NULL, -1, NULL},
    {"", NULL, -1, NULL},
};

START_TEST(suffixes_are_taken_off_only_when_they_match)
{
    const struct nvtx_case *c = &nvtx_cases[_i];
    struct tp_nvtx_text split;

    bool any = tp_nvtx_split(c->text, strlen(c->text), &split);
    ck_assert_msg(any == (c->name != NULL), "%s", c->text);
    if (!any)
        return;
    ck_assert_msg(split.name_size == strlen(c->name) && !memcmp(c->text, c->name, split.name_size),
                  "%s: %zu", c->text, split.name_size);
    ck_assert_int_eq(split.sequence_nr, c->sequence_nr);
    ck_assert_int_eq(split.sizes != NULL, c->sizes != NULL);
    if (c->sizes)
        ck_assert(split.sizes_size == strlen(c->sizes) &&
                  !memcmp(split.sizes, c->sizes, split.sizes_size));
}
END_TEST

struct shapes_case {
    const char *json, *flat, *structured; /* NULL: refused */
};

static const struct shapes_case shapes_cases[] = {
    {"[[[8,16],[16,32],[]],[\"float\",\"float\",\"Scalar\"]]", "[[8, 16], [16, 32], []]",
     "[[8, 16], [16, 32], []]"},
    {"[[[[2,3],[4,5]],[]],[\"TensorList\",\"\"]]", "[[], []]", "[[[2, 3], [4, 5]], []]"},
    {"[[],[]]", "[]", "[]"},
    {"[[[]],[\"\"]]", "[[]]", "[[]]"},
    {"[[null,[1]],[\"\",\"\"]]", "[[], [1]]", "[[], [1]]"},
    {" [ [ [ 8 , -16 ] ] , [] ]", "[[8, -16]]", "[[8, -16]]"},
    {"[[[8,16],[16,32]],[\"a\",\"b\"],[[16,1],[32,1]]]", "[[8, 16], [16, 32]]",
     "[[8, 16], [16, 32]]"},
    {"", NULL, NULL},
    {"[]", NULL, NULL},
    {"[[[8,],[]]]", NULL, NULL},
    {"[[[8 16]]]", NULL, NULL},
    {"[[[8,16]", NULL, NULL},
    {"[[\"x\"],[]]", NULL, NULL},
    {"[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", NULL, NULL},
};

START_TEST(shapes_are_printed_as_lists)
{
    const struct shapes_case *c = &shapes_cases[_i];

    for (int structured = 0; structured < 2; structured++) {
        const char *expected = structured ? c->structured : c->flat;
        struct tp_buffer out = {0};
        bool good = tptrace_shapes_text(&out, c->json, strlen(c->json), structured);
        ck_assert_msg(good == (expected != NULL), "%s", c->json);
        if (good)
            ck_assert_msg(out.size == strlen(expected) && !memcmp(out.bytes, expected, out.size),
                          "%s: %.*s", c->json, (int)out.size, out.bytes);
        tp_buffer_fini(&out);
    }
}
END_TEST

START_TEST(json_lists_are_split_as_they_are)
{
    struct tptrace_json_part parts[3];
    const char *json = " [[[8,16],[]], [\"a,]\\\"\",\"b\"] ,[[16,1]],7]";
    static const char *const expected[] = {"[[8,16],[]]", " [\"a,]\\\"\",\"b\"] ", "[[16,1]]"};
    static const char *const refused[] = {"", "[", "[1,]", "{\"a\":1}", "7", "[1] x", "[\"a]"};

    ck_assert(tptrace_json_split(json, strlen(json), parts, 3));
    for (int i = 0; i < 3; i++)
        ck_assert(parts[i].size == strlen(expected[i]) &&
                  !memcmp(parts[i].bytes, expected[i], parts[i].size));
    ck_assert(tptrace_json_split("[]", 2, parts, 3));
    ck_assert_uint_eq(parts[0].size, 0);
    for (size_t i = 0; i < UNIT_COUNT(refused); i++)
        ck_assert_msg(!tptrace_json_split(refused[i], strlen(refused[i]), parts, 3), "%s",
                      refused[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tptrace_text");
    TCase *tcase = tcase_create("text");
    tcase_add_loop_test(tcase, suffixes_are_taken_off_only_when_they_match, 0,
                        UNIT_COUNT(nvtx_cases));
    tcase_add_loop_test(tcase, shapes_are_printed_as_lists, 0, UNIT_COUNT(shapes_cases));
    tcase_add_test(tcase, json_lists_are_split_as_they_are);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
