/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "model/tree.h"

/* Parents as ids, by list position, e.g. "-,1,2"; folded events as "x". */
static void assert_parents(const char *json, const char *expected)
{
    struct fixture f;
    struct tp_buffer text = {0};

    fixture_load(&f, json);
    for (uint32_t i = 0; i < f.list.count; i++) {
        const struct tp_function_event *event = &f.list.events[i];
        tp_buffer_string(&text, i ? "," : "");
        if (event->flags & TP_EVENT_FOLDED)
            tp_buffer_char(&text, 'x');
        else if (event->parent == TP_NO_EVENT)
            tp_buffer_char(&text, '-');
        else
            tp_buffer_format(&text, "%lld", (long long)f.list.events[event->parent].id);
    }
    tp_buffer_char(&text, '\0');
    ck_assert_str_eq(text.bytes, expected);
    tp_buffer_fini(&text);
    fixture_fini(&f);
}

START_TEST(touching_at_the_start_is_inside_and_at_the_end_outside)
{
    assert_parents("[" EV(1, "p", 0, 10, "") "," EV(2, "a", 0, 5, "") "," EV(
                       3, "b", 5, 10, "") "," EV(4, "z", 10, 10, "") "," EV(5, "c", 11, 12, "") "]",
                   "-,1,1,-,-");
}
END_TEST

START_TEST(of_equal_intervals_the_earlier_is_the_parent)
{
    assert_parents(
        "[" EV(1, "a", 0, 10, "") "," EV(2, "b", 0, 10, "") "," EV(3, "c", 0, 12, "") "]", "3,1,-");
}
END_TEST

START_TEST(a_partial_overlap_takes_over)
{
    assert_parents(
        "[" EV(1, "p", 0, 100, "") "," EV(2, "x", 50, 150, "") "," EV(3, "y", 60, 90, "") "]",
        "-,-,2");
}
END_TEST

START_TEST(what_is_popped_adopts_nothing_more)
{
    assert_parents("[" EV(1, "p", 0, 100, "") "," EV(2, "x", 50, 150, "") "," EV(
                       3, "y", 140, 160, "") "," EV(4, "z", 70, 80, "") "]",
                   "-,-,-,2");
}
END_TEST

START_TEST(async_and_device_events_stand_alone)
{
    assert_parents("[" EV(1, "p", 0, 100, "") "," EV(2, "a", 10, 20, ",'is_async':true") "," EV(
                       3, "k", 10, 20, ",'device_type':'CUDA'") "," EV(4, "c", 12, 15, "") "]",
                   "-,-,-,1");
}
END_TEST

START_TEST(threads_nest_apart)
{
    assert_parents("[" EV(1, "p", 0, 100, "") "," EV(2, "q", 0, 100, ",'thread':2") "," EV(
                       3, "c", 1, 2, ",'thread':2") "," EV(4, "d", 1, 2, "") "]",
                   "-,-,2,1");
}
END_TEST

START_TEST(alternating_nodes_of_a_thread_break_runs)
{
    assert_parents("[" EV(1, "p", 0, 100, ",'node_id':0") "," EV(
                       2, "q", 0, 100, ",'node_id':1") "," EV(3, "c", 1, 2, ",'node_id':0") "]",
                   "-,-,-");
    assert_parents("[" EV(1, "p", 0, 100, ",'node_id':0") "," EV(
                       3, "c", 1, 2, ",'node_id':0") "," EV(2, "q", 0, 100, ",'node_id':1") "]",
                   "-,1,-");
}
END_TEST

START_TEST(children_come_in_order_of_time)
{
    struct fixture f;

    fixture_load(&f, "[" EV(1, "c", 50, 60, "") "," EV(2, "b", 20, 30, "") "," EV(
                         3, "p", 0, 100, "") "," EV(4, "a", 10, 15, "") "]");
    const struct tp_function_event *e = f.list.events;
    ck_assert_uint_eq(e[2].first_child, 3);
    ck_assert_uint_eq(e[3].next_sibling, 1);
    ck_assert_uint_eq(e[1].next_sibling, 0);
    ck_assert_uint_eq(e[2].last_child, 0);
    fixture_fini(&f);
}
END_TEST

START_TEST(a_chain_of_one_name_folds_in_any_list_order)
{
    assert_parents("[" EV(1, "a", 0, 10, "") "," EV(2, "a", 1, 9, "") "," EV(
                       3, "a", 2, 8, "") "," EV(4, "b", 3, 7, "") "," EV(5, "c", 7, 8, "") "]",
                   "-,x,x,1,1");
    assert_parents("[" EV(4, "b", 3, 7, "") "," EV(3, "a", 2, 8, "") "," EV(
                       2, "a", 1, 9, "") "," EV(1, "a", 0, 10, "") "]",
                   "1,x,x,-");
    assert_parents("[" EV(2, "a", 1, 9, "") "," EV(3, "a", 2, 8, "") "," EV(
                       1, "a", 0, 10, "") "," EV(4, "b", 3, 7, "") "]",
                   "x,x,-,1");
}
END_TEST

START_TEST(two_children_of_one_name_do_not_fold)
{
    assert_parents("[" EV(1, "a", 0, 10, "") "," EV(2, "a", 1, 3, "") "," EV(3, "a", 4, 8, "") "]",
                   "-,1,1");
}
END_TEST

START_TEST(folding_takes_the_inner_kernels)
{
    struct fixture f;

    fixture_load(&f, "[" EV(1, "a", 0, 10,
                            ",'use_device':'cuda','kernels':[{'name':'lost','device':0,'duration':"
                            "5}]") "," EV(2, "a", 1, 9,
                                          ",'use_device':'cuda','flops':7,'kernels':[{'name':'kept'"
                                          ",'device':0,'duration':2}]") "]");
    ck_assert_int_eq(tp_number_truncate(tp_event_get(&f.list.events[0], TP_EVENT_DEVICE_TIME)), 2);
    ck_assert_int_eq(tp_number_truncate(tp_event_get(&f.list.events[0], TP_EVENT_FLOPS)), 0);
    fixture_fini(&f);
}
END_TEST

#define FRAMES(name) ",'stack':['" name "']"

START_TEST(backward_events_take_the_forward_stack)
{
    struct fixture f;

    fixture_load(
        &f, "[" EV(1, "mm", 0, 1, ",'sequence_nr':7" FRAMES("first")) "," EV(
                2, "mm", 2, 3,
                ",'sequence_nr':7" FRAMES(
                    "second")) "," EV(3, "MmBackward0", 10, 20,
                                      ",'thread':2,'scope':1,'sequence_nr':7,'fwd_thread':1" FRAMES(
                                          "own")) "," EV(4, "mm", 11, 12,
                                                         ",'thread':2,'sequence_nr':7" FRAMES(
                                                             "own")) "," EV(5, "Other", 30, 31,
                                                                            ",'thread':2,'scope':1,"
                                                                            "'sequence_nr':8,'fwd_"
                                                                            "thread':1" FRAMES(
                                                                                "own")) "]");
    const struct tp_function_event *e = f.list.events;
    ck_assert_uint_eq(e[2].stack, e[0].stack);
    ck_assert_uint_eq(e[3].stack, e[0].stack);
    ck_assert_uint_eq(e[4].stack, TP_STACK_EMPTY);
    ck_assert_uint_ne(e[0].stack, e[1].stack);
    fixture_fini(&f);
}
END_TEST

START_TEST(a_backward_event_needs_its_forward_thread)
{
    struct fixture f;

    ck_assert_int_eq(fixture_parse(&f, "[" EV(1, "B", 0, 1, ",'scope':1") "]"), 0);
    ck_assert_int_eq(tp_tree_build(&f.list, &f.diag), -TP_EVALUE);
    ck_assert_ptr_nonnull(strstr(f.diag.text, "Expected fwd_thread to be set for backward parent"));
    fixture_fini(&f);
}
END_TEST

START_TEST(device_types_without_time_are_refused_when_it_is_needed)
{
    struct fixture f;

    ck_assert_int_eq(
        fixture_parse(&f, "[" EV(1, "B", 0, 1, ",'device_type':'HIP','use_device':'cuda'") "]"), 0);
    ck_assert_int_eq(tp_tree_build(&f.list, &f.diag), 0);
    ck_assert_int_eq(tp_tree_times(&f.list, &f.diag), -TP_EVALUE);
    ck_assert_ptr_nonnull(strstr(f.diag.text, "but got DeviceType.HIP"));
    fixture_fini(&f);
    fixture_load(&f, "[" EV(1, "B", 0, 1, ",'device_type':'HIP'") "]");
    fixture_fini(&f);
}
END_TEST

START_TEST(a_second_recording_gets_a_tree_of_its_own)
{
    struct fixture f;
    struct tp_function_event event;

    fixture_load(&f, "[" EV(1, "p", 0, 100, "") "]");
    tp_function_event_init(&event);
    tp_event_set(&event, TP_EVENT_START, tp_number_integer(10));
    tp_event_set(&event, TP_EVENT_END, tp_number_integer(20));
    ck_assert_int_eq(tp_event_list_append(&f.list, &event), 0);
    ck_assert_int_eq(tp_event_list_append(&f.list, &event), 0);
    f.list.events[2].name = fixture_string(&f, "inner");
    ck_assert_int_eq(tp_tree_build(&f.list, &f.diag), 0);
    ck_assert_uint_eq(f.list.events[1].parent, TP_NO_EVENT);
    ck_assert_uint_eq(f.list.events[2].parent, 1);
    fixture_fini(&f);
}
END_TEST

/* Half a million levels: names alternate so that nothing folds, or are equal so that all does. */
static void build_deep(struct fixture *f, uint32_t depth, bool alternate)
{
    struct tp_function_event event;

    fixture_load(f, "[]");
    uint32_t names[] = {fixture_string(f, "a"), fixture_string(f, alternate ? "b" : "a")};
    uint32_t cuda = fixture_string(f, "cuda");
    for (uint32_t i = 0; i < depth; i++) {
        tp_function_event_init(&event);
        event.name = names[i & 1];
        event.use_device = cuda;
        event.scope = i == 5;
        event.flags |= i == 5 ? TP_EVENT_HAS_FWD_THREAD : 0;
        tp_event_set(&event, TP_EVENT_START, tp_number_integer(i));
        tp_event_set(&event, TP_EVENT_END, tp_number_integer(3 * (int64_t)depth - i));
        ck_assert_int_eq(tp_event_list_append(&f->list, &event), 0);
    }
    struct tp_kernel kernel = {.duration = tp_number_integer(9)};
    ck_assert_int_eq(tp_event_list_append_kernel(&f->list, &kernel), 0);
    ck_assert_int_eq(tp_tree_build(&f->list, &f->diag), 0);
    ck_assert_int_eq(tp_tree_times(&f->list, &f->diag), 0);
}

START_TEST(any_depth_is_walked)
{
    enum { DEPTH = 500000 };
    struct fixture f;

    build_deep(&f, DEPTH, true);
    ck_assert_uint_eq(f.list.events[DEPTH - 1].parent, DEPTH - 2);
    ck_assert_int_eq(tp_number_truncate(tp_event_get(&f.list.events[0], TP_EVENT_DEVICE_TIME)), 9);
    ck_assert_int_eq(tp_number_truncate(tp_event_get(&f.list.events[0], TP_EVENT_SELF_CPU_TIME)),
                     2);
    fixture_fini(&f);
    build_deep(&f, DEPTH, false);
    ck_assert_uint_eq(tp_event_list_next(&f.list, 1), DEPTH);
    ck_assert_uint_eq(f.list.events[0].kernel_count, 1);
    fixture_fini(&f);
}
END_TEST

/* The rule said plainly, in quadratic time: the last event before E, in walk order, that is open.
 */
static void check_against_rule(const struct tp_event_list *list, uint64_t seed)
{
    uint32_t open[64], depth = 0;

    for (uint32_t i = 0; i < list->count; i++) { /* the list is sorted, one thread, names differ */
        int64_t start = tp_number_truncate(tp_event_get(&list->events[i], TP_EVENT_START));
        int64_t end = tp_number_truncate(tp_event_get(&list->events[i], TP_EVENT_END));
        while (depth) {
            int64_t limit =
                tp_number_truncate(tp_event_get(&list->events[open[depth - 1]], TP_EVENT_END));
            if (start < limit && end <= limit)
                break;
            depth--;
        }
        uint32_t parent = depth ? open[depth - 1] : TP_NO_EVENT;
        ck_assert_msg(list->events[i].parent == parent, "seed %#lx: event %u", seed, i);
        open[depth++] = i;
    }
}

static int by_time(const void *a, const void *b)
{
    const int64_t *l = a, *r = b;

    return l[0] != r[0] ? (l[0] > r[0]) - (l[0] < r[0]) : (l[1] < r[1]) - (l[1] > r[1]);
}

START_TEST(random_lists_nest_by_the_rule)
{
    uint64_t seed = random_seed(), state = seed | 1;

    for (int round = 0; round < 300; round++) {
        struct fixture f;
        int64_t times[40][2];
        for (int i = 0; i < 40; i++) {
            times[i][0] = (int64_t)(random_next(&state) % 30);
            times[i][1] = times[i][0] + (int64_t)(random_next(&state) % 20);
        }
        qsort(times, 40, sizeof(times[0]), by_time);
        fixture_load(&f, "[]");
        for (int i = 0; i < 40; i++) {
            struct tp_function_event event;
            char name[8] = {(char)('a' + i / 20), (char)('a' + i % 20)};
            tp_function_event_init(&event);
            event.name = fixture_string(&f, name);
            tp_event_set(&event, TP_EVENT_START, tp_number_integer(times[i][0]));
            tp_event_set(&event, TP_EVENT_END, tp_number_integer(times[i][1]));
            ck_assert_int_eq(tp_event_list_append(&f.list, &event), 0);
        }
        ck_assert_int_eq(tp_tree_build(&f.list, &f.diag), 0);
        check_against_rule(&f.list, seed);
        fixture_fini(&f);
    }
}
END_TEST

START_TEST(legacy_events_count_their_own_kernels_only)
{
    struct fixture f;

    fixture_load(&f, "[" EV(1, "o", 0, 9,
                            ",'use_device':'cuda','is_legacy':true,'kernels':[{'name':'o','device':"
                            "0,'duration':10}]") "," EV(2, "i", 1, 8,
                                                        ",'use_device':'cuda','kernels':[{'name':'"
                                                        "i','device':0,'duration':4}]") "]");
    ck_assert_int_eq(tp_number_truncate(tp_event_get(&f.list.events[0], TP_EVENT_DEVICE_TIME)), 10);
    ck_assert_int_eq(tp_number_truncate(tp_event_get(&f.list.events[0], TP_EVENT_SELF_DEVICE_TIME)),
                     6);
    fixture_fini(&f);
}
END_TEST

START_TEST(every_event_gets_its_self_time)
{
    static const int64_t self[] = {60, 15, 5, 20};
    struct fixture f;

    fixture_load(&f, "[" EV(1, "p", 0, 100, "") "," EV(2, "a", 0, 20, "") "," EV(
                         3, "b", 1, 6, "") "," EV(4, "c", 50, 70, "") "]");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(
            tp_number_truncate(tp_event_get(&f.list.events[i], TP_EVENT_SELF_CPU_TIME)), self[i]);
    fixture_fini(&f);
}
END_TEST

RUN_TESTS("tree", every_event_gets_its_self_time,
          touching_at_the_start_is_inside_and_at_the_end_outside,
          of_equal_intervals_the_earlier_is_the_parent, a_partial_overlap_takes_over,
          what_is_popped_adopts_nothing_more, async_and_device_events_stand_alone,
          threads_nest_apart, alternating_nodes_of_a_thread_break_runs,
          children_come_in_order_of_time, a_chain_of_one_name_folds_in_any_list_order,
          two_children_of_one_name_do_not_fold, folding_takes_the_inner_kernels,
          backward_events_take_the_forward_stack, a_backward_event_needs_its_forward_thread,
          device_types_without_time_are_refused_when_it_is_needed,
          a_second_recording_gets_a_tree_of_its_own, any_depth_is_walked,
          random_lists_nest_by_the_rule, legacy_events_count_their_own_kernels_only)
