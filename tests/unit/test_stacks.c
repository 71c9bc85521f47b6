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

/* List @i of the test below. */
static uint32_t make_list(uint32_t i, uint32_t *frames)
{
    frames[0] = i;
    frames[1] = i + 1;
    frames[2] = i / 7;
    return 1 + i % 3;
}

START_TEST(many_lists_keep_their_frames_and_are_found_again)
{
    struct tp_stacks stacks;
    uint32_t id, first = 0, frames[3];

    ck_assert_int_eq(tp_stacks_init(&stacks), 0);
    for (uint32_t i = 0; i < 40000; i++) {
        uint32_t count = make_list(i % 20000, frames);
        ck_assert_int_eq(tp_stacks_put(&stacks, frames, count, &id), 0);
        if (!i)
            first = id;
        ck_assert_uint_eq(id, first + i % 20000);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t count = make_list(i, frames);
        ck_assert_uint_eq(tp_stacks_count(&stacks, first + i), count);
        ck_assert_mem_eq(tp_stacks_frames(&stacks, first + i), frames, count * sizeof(*frames));
    }
    tp_stacks_fini(&stacks);
}
END_TEST

RUN_TESTS("stacks", equal_lists_have_one_id, many_lists_keep_their_frames_and_are_found_again)
