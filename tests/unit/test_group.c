/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "model/group.h"

static uint32_t find(struct tp_grouping *grouping, struct tp_group_fields fields)
{
    uint32_t number;

    ck_assert_int_ge(tp_grouping_find(grouping, &fields, &number), 0);
    return number;
}

START_TEST(only_what_is_asked_for_tells_groups_apart)
{
    struct tp_group_fields base = {
        .name = 10, .overload_name = 11, .input_shapes = 12, .node_id = -1};
    struct tp_group_fields other;
    struct tp_grouping plain, full;

    tp_grouping_init(&plain, NULL, &(struct tp_averages_options){0});
    tp_grouping_init(&full, NULL,
                     &(struct tp_averages_options){.group_by_input_shapes = true,
                                                   .group_by_overload_name = true});
#define CHECK(change, same_plain, same_full)                                                       \
    other = base;                                                                                  \
    other.change;                                                                                  \
    ck_assert_int_eq(find(&plain, other) == find(&plain, base), same_plain);                       \
    ck_assert_int_eq(find(&full, other) == find(&full, base), same_full)
    CHECK(name = 20, 0, 0);
    CHECK(overload_name = 20, 1, 0);
    CHECK(input_shapes = 20, 1, 0);
    CHECK(stack = 20, 1, 1);
    CHECK(node_id = 0, 0, 0);
    CHECK(device_type = 1, 0, 0);
    CHECK(flags = TP_EVENT_LEGACY, 0, 0);
    CHECK(flags = TP_EVENT_USER_ANNOTATION, 0, 0);
    CHECK(flags = TP_EVENT_ASYNC | TP_EVENT_REMOTE | TP_EVENT_HAS_PARENT, 1, 1);
    tp_grouping_fini(&plain);
    tp_grouping_fini(&full);
}
END_TEST

START_TEST(stacks_count_by_their_first_frames)
{
    struct tp_stacks stacks;
    struct tp_grouping grouping;
    uint32_t abc, abd, ab, a, shown, count;

    ck_assert_int_eq(tp_stacks_init(&stacks), 0);
    tp_stacks_put(&stacks, (uint32_t[]){5, 6, 7}, 3, &abc);
    tp_stacks_put(&stacks, (uint32_t[]){5, 6, 8}, 3, &abd);
    tp_stacks_put(&stacks, (uint32_t[]){5, 6}, 2, &ab);
    tp_stacks_put(&stacks, (uint32_t[]){5}, 1, &a);
    tp_grouping_init(&grouping, &stacks, &(struct tp_averages_options){.group_by_stack_n = 2});
    uint32_t number = find(&grouping, (struct tp_group_fields){.stack = abc});
    ck_assert_uint_eq(find(&grouping, (struct tp_group_fields){.stack = abd}), number);
    ck_assert_uint_eq(find(&grouping, (struct tp_group_fields){.stack = ab}), number);
    ck_assert_uint_ne(find(&grouping, (struct tp_group_fields){.stack = a}), number);
    ck_assert_uint_eq(find(&grouping, (struct tp_group_fields){.stack = TP_STACK_NONE}),
                      find(&grouping, (struct tp_group_fields){.stack = TP_STACK_EMPTY}));
    ck_assert_int_eq(tp_grouping_stack(&grouping, abd, &shown, &count), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(tp_stacks_frames(&stacks, shown)[1], 6);
    tp_grouping_fini(&grouping);
    tp_stacks_fini(&stacks);
}
END_TEST

START_TEST(groups_are_numbered_by_first_sight)
{
    struct tp_grouping grouping;

    tp_grouping_init(&grouping, NULL, &(struct tp_averages_options){0});
    for (uint32_t i = 0; i < 5000; i++)
        ck_assert_uint_eq(find(&grouping, (struct tp_group_fields){.name = i * 7}), i);
    for (uint32_t i = 0; i < 5000; i++)
        ck_assert_uint_eq(find(&grouping, (struct tp_group_fields){.name = i * 7}), i);
    tp_grouping_fini(&grouping);
}
END_TEST

RUN_TESTS("group", only_what_is_asked_for_tells_groups_apart, stacks_count_by_their_first_frames,
          groups_are_numbered_by_first_sight)
