/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "model/stacks.h"

START_TEST(equal_lists_have_one_id)
{
    struct tp_stacks stacks;
    uint32_t a, b, c, empty;

    ck_assert_int_eq(tp_stacks_init(&stacks), 0);
    ck_assert_int_eq(tp_stacks_put(&stacks, (uint32_t[]){5, 6}, 2, &a), 0);
    ck_assert_int_eq(tp_stacks_put(&stacks, (uint32_t[]){6, 5}, 2, &b), 0);
    ck_assert_int_eq(tp_stacks_put(&stacks, (uint32_t[]){5, 6}, 2, &c), 0);
    ck_assert_int_eq(tp_stacks_put(&stacks, NULL, 0, &empty), 0);
    ck_assert_uint_eq(a, c);
    ck_assert_uint_ne(a, b);
    ck_assert_uint_eq(empty, TP_STACK_EMPTY);
    ck_assert_uint_eq(tp_stacks_count(&stacks, TP_STACK_NONE), 0);
    tp_stacks_fini(&stacks);
}
END_TEST

START_TEST(many_lists_keep_their_frames)
{
    struct tp_stacks stacks;
    uint32_t id, first = 0;

    ck_assert_int_eq(tp_stacks_init(&stacks), 0);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t frames[3] = {i, i + 1, i / 7};
        ck_assert_int_eq(tp_stacks_put(&stacks, frames, 1 + i % 3, &id), 0);
        if (!i)
            first = id;
        ck_assert_uint_eq(id, first + i);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        ck_assert_uint_eq(tp_stacks_count(&stacks, first + i), 1 + i % 3);
        ck_assert_uint_eq(tp_stacks_frames(&stacks, first + i)[0], i);
    }
    tp_stacks_fini(&stacks);
}
END_TEST

RUN_TESTS("stacks", equal_lists_have_one_id, many_lists_keep_their_frames)
