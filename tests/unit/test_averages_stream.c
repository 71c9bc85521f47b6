/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "model/tree.h"

enum { EVENTS = 400, THREADS = 3 };

/* A list of random events in list order (by start, longer first), whole microseconds. */
static void random_list(struct fixture *f, uint64_t *state)
{
    fixture_load(f, "[]");
    uint32_t names[5], shapes[2], overloads[2], frames[3], stacks[4];
    for (int i = 0; i < 5; i++)
        names[i] = fixture_string(f, (char[]){'n', (char)('0' + i), 0});
    shapes[0] = TP_STRING_LIST;
    shapes[1] = fixture_string(f, "[[2, 3]]");
    overloads[0] = TP_STRING_EMPTY;
    overloads[1] = fixture_string(f, "out");
    for (int i = 0; i < 3; i++)
        frames[i] = fixture_string(f, (char[]){'f', (char)('0' + i), 0});
    stacks[0] = TP_STACK_EMPTY;
    tp_stacks_put(&f->stacks, frames, 1, &stacks[1]);
    tp_stacks_put(&f->stacks, frames, 3, &stacks[2]);
    tp_stacks_put(&f->stacks, frames + 1, 2, &stacks[3]);
    int64_t start = 0;
    for (int i = 0; i < EVENTS; i++) {
        struct tp_function_event event;
        tp_function_event_init(&event);
        start += (int64_t)(random_next(state) % 3) + 1; /* distinct: the order has no ties */
        event.id = i;
        event.name = names[random_next(state) % 5];
        event.thread = 1 + (int64_t)(random_next(state) % THREADS);
        event.input_shapes = shapes[random_next(state) % 2];
        event.overload_name = overloads[random_next(state) % 2];
        event.stack = stacks[random_next(state) % 4];
        event.node_id = (int32_t)(random_next(state) % 2);
        event.scope = (uint8_t)(random_next(state) % 2 * 7);
        if (random_next(state) % 8 == 0)
            event.flags |= TP_EVENT_ASYNC;
        if (random_next(state) % 8 == 0)
            event.flags |= TP_EVENT_PYTHON_FUNCTION;
        if (random_next(state) % 8 == 0)
            event.flags |= TP_EVENT_USER_ANNOTATION;
        tp_event_set(&event, TP_EVENT_START, tp_number_real((double)start));
        tp_event_set(&event, TP_EVENT_END,
                     tp_number_real((double)(start + (int64_t)(random_next(state) % 40))));
        tp_event_set(&event, TP_EVENT_CPU_MEMORY,
                     tp_number_integer((int64_t)(random_next(state) % 1000) - 500));
        tp_event_set(&event, TP_EVENT_FLOPS, tp_number_integer((int64_t)(random_next(state) >> 1)));
        ck_assert_int_eq(tp_event_list_append(&f->list, &event), 0);
    }
    ck_assert_int_eq(tp_tree_build(&f->list, &f->diag), 0);
    ck_assert_int_eq(tp_tree_times(&f->list, &f->diag), 0);
}

static int64_t ns(struct tp_number us)
{
    return (int64_t)(tp_number_to_double(us) * 1000.0);
}

static struct tp_average_event stream_event(const struct fixture *f,
                                            const struct tp_function_event *event)
{
    struct tp_average row;

    tp_average_of_event(&f->list, event, &row);
    return (struct tp_average_event){
        .name = event->name,
        .overload_name = event->overload_name,
        .input_shapes = event->input_shapes,
        .stack = event->stack,
        .use_device = event->use_device,
        .node_id = event->node_id,
        .flags = event->flags,
        .device_type = event->device_type,
        .scope = event->scope,
        .start_ns = ns(tp_event_get(event, TP_EVENT_START)),
        .end_ns = ns(tp_event_get(event, TP_EVENT_END)),
        .sequence = (uint64_t)event->id,
        .cpu_total_ns = ns(row.sums[TP_MEASURE_CPU_TIME]),
        .cpu_self_ns = ns(row.sums[TP_MEASURE_SELF_CPU_TIME]),
        .device_total_ns = ns(row.sums[TP_MEASURE_DEVICE_TIME]),
        .device_self_ns = ns(row.sums[TP_MEASURE_SELF_DEVICE_TIME]),
        .cpu_memory = tp_number_truncate(row.sums[TP_MEASURE_CPU_MEMORY]),
        .cpu_memory_self = tp_number_truncate(row.sums[TP_MEASURE_SELF_CPU_MEMORY]),
        .flops = tp_number_truncate(row.sums[TP_MEASURE_FLOPS]),
        .count = 1,
    };
}

static bool rows_equal(const struct fixture *f, const struct tp_average *a,
                       const struct tp_average *b)
{
    for (int i = 0; i < TP_MEASURES; i++) {
        if (tp_number_compare(a->sums[i], b->sums[i]) != 0)
            return false;
    }
    return a->key == b->key && a->overload_name == b->overload_name &&
           a->input_shapes == b->input_shapes && a->use_device == b->use_device &&
           a->stack_count == b->stack_count && a->node_id == b->node_id && a->flags == b->flags &&
           a->device_type == b->device_type && a->scope == b->scope &&
           !memcmp(tp_stacks_frames(&f->stacks, a->stack), tp_stacks_frames(&f->stacks, b->stack),
                   a->stack_count * sizeof(uint32_t));
}

static const struct tp_averages_options all_options[] = {
    {0},
    {.group_by_input_shapes = true},
    {.group_by_stack_n = 1},
    {.group_by_stack_n = 2, .group_by_overload_name = true},
    {.include_python_functions = true},
    {.group_by_input_shapes = true,
     .group_by_stack_n = 5,
     .group_by_overload_name = true,
     .include_python_functions = true},
};

/* Events in a random order, each into the aggregator of its thread; then merged. */
static struct tp_averages *stream(const struct fixture *f,
                                  const struct tp_averages_options *options, uint64_t *state)
{
    struct tp_averages *parts[THREADS], *all;
    uint32_t order[EVENTS];

    ck_assert_int_eq(tp_averages_create(&f->stacks, options, &all), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(tp_averages_create(&f->stacks, options, &parts[i]), 0);
    uint32_t count = 0;
    for (uint32_t i = tp_event_list_next(&f->list, 0); i < f->list.count;
         i = tp_event_list_next(&f->list, i + 1)) {
        uint32_t at = (uint32_t)(random_next(state) % (count + 1));
        order[count] = order[at];
        order[at] = i;
        count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct tp_function_event *event = &f->list.events[order[i]];
        struct tp_average_event plain = stream_event(f, event);
        ck_assert_int_eq(tp_averages_add(parts[event->thread - 1], &plain), 0);
    }
    for (int i = THREADS - 1; i >= 0; i--) {
        ck_assert_int_eq(tp_averages_merge(all, parts[i]), 0);
        tp_averages_destroy(parts[i]);
    }
    return all;
}

START_TEST(a_stream_in_any_order_gives_the_rows_of_the_list)
{
    uint64_t seed = random_seed(), state = seed | 1;

    for (int round = 0; round < 60; round++) {
        const struct tp_averages_options *options = &all_options[round % 6];
        struct tp_average *expected, *rows;
        size_t expected_count, count;
        struct fixture f;
        random_list(&f, &state);
        ck_assert_int_eq(tp_key_averages(&f.list, options, &expected, &expected_count), 0);
        struct tp_averages *averages = stream(&f, options, &state);
        ck_assert_int_eq(tp_averages_finish(averages, &rows, &count), 0);
        ck_assert_msg(count == expected_count, "seed %#lx: %zu rows, not %zu", seed, count,
                      expected_count);
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(rows_equal(&f, &rows[i], &expected[i]), "seed %#lx: row %zu", seed, i);
        tp_averages_destroy(averages);
        free(rows);
        free(expected);
        fixture_fini(&f);
    }
}
END_TEST

START_TEST(the_total_has_everything_and_the_last_events_fields)
{
    uint64_t seed = random_seed(), state = seed | 1;
    struct tp_average total, row, streamed;
    struct fixture f;

    random_list(&f, &state);
    uint64_t added = 0;
    tp_average_start(&total);
    for (uint32_t i = tp_event_list_next(&f.list, 0); i < f.list.count;
         i = tp_event_list_next(&f.list, i + 1)) {
        tp_average_of_event(&f.list, &f.list.events[i], &row);
        tp_average_total(&total, &row);
        added++;
    }
    struct tp_averages *averages = stream(&f, &all_options[0], &state);
    tp_averages_total(averages, TP_STRING_NONE, &streamed);
    ck_assert_msg(rows_equal(&f, &streamed, &total), "seed %#lx", seed);
    ck_assert_uint_eq(tp_averages_event_count(averages), added);
    tp_averages_destroy(averages);
    fixture_fini(&f);
}
END_TEST

START_TEST(sums_beyond_all_time_stop_there)
{
    struct tp_averages_options options = {0};
    struct tp_averages *averages;
    struct tp_average *rows;
    size_t count;

    ck_assert_int_eq(tp_averages_create(NULL, &options, &averages), 0);
    for (int i = 0; i < 2; i++) {
        struct tp_average_event event = {.name = TP_STRING_EMPTY,
                                         .count = 1,
                                         .cpu_total_ns = INT64_MAX - 1,
                                         .cpu_memory = INT64_MIN + 1};
        ck_assert_int_eq(tp_averages_add(averages, &event), 0);
    }
    ck_assert_int_eq(tp_averages_finish(averages, &rows, &count), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_double_eq(tp_number_to_double(rows[0].sums[TP_MEASURE_CPU_TIME]),
                        (double)INT64_MAX / 1000.0);
    ck_assert_double_eq(tp_number_to_double(rows[0].sums[TP_MEASURE_CPU_MEMORY]),
                        (double)INT64_MIN);
    free(rows);
    tp_averages_destroy(averages);
}
END_TEST

START_TEST(an_empty_stream_has_no_rows_and_an_unset_total)
{
    struct tp_averages *averages;
    struct tp_average *rows, total;
    size_t count;

    ck_assert_int_eq(tp_averages_create(NULL, &all_options[0], &averages), 0);
    ck_assert_int_eq(tp_averages_finish(averages, &rows, &count), 0);
    ck_assert_uint_eq(count, 0);
    tp_averages_total(averages, TP_STRING_EMPTY, &total);
    ck_assert(total.flags & TP_EVENT_UNSET);
    ck_assert(!total.sums[TP_MEASURE_CPU_TIME].is_real);
    free(rows);
    tp_averages_destroy(averages);
    tp_averages_destroy(NULL);
}
END_TEST

START_TEST(ties_are_broken_by_length_then_sequence)
{
    struct tp_averages *averages;
    struct tp_average *rows;
    size_t count;
    struct tp_average_event event = {
        .name = 5, .start_ns = 10, .end_ns = 20, .sequence = 2, .count = 1, .scope = 2};

    ck_assert_int_eq(tp_averages_create(NULL, &all_options[0], &averages), 0);
    ck_assert_int_eq(tp_averages_add(averages, &event), 0);
    event.sequence = 1;
    event.scope = 1;
    ck_assert_int_eq(tp_averages_add(averages, &event), 0);
    ck_assert_int_eq(tp_averages_finish(averages, &rows, &count), 0);
    ck_assert_uint_eq(rows[0].scope, 1);
    free(rows);
    event.sequence = 9;
    event.end_ns = 30;
    event.scope = 3;
    ck_assert_int_eq(tp_averages_add(averages, &event), 0);
    ck_assert_int_eq(tp_averages_finish(averages, &rows, &count), 0);
    ck_assert_uint_eq(rows[0].scope, 3);
    free(rows);
    tp_averages_destroy(averages);
}
END_TEST

RUN_TESTS("averages_stream", a_stream_in_any_order_gives_the_rows_of_the_list,
          the_total_has_everything_and_the_last_events_fields,
          an_empty_stream_has_no_rows_and_an_unset_total, sums_beyond_all_time_stop_there,
          ties_are_broken_by_length_then_sequence)
