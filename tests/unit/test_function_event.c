/* SPDX-License-Identifier: MIT */
#include "fixture.h"

START_TEST(a_new_event_has_the_defaults)
{
    struct tp_function_event event;

    tp_function_event_init(&event);
    ck_assert_int_eq(event.thread, 1);
    ck_assert_int_eq(event.node_id, -1);
    ck_assert_int_eq(event.sequence_nr, -1);
    ck_assert_uint_eq(event.input_shapes, TP_STRING_LIST);
    ck_assert_uint_eq(event.stack, TP_STACK_EMPTY);
    ck_assert_uint_eq(event.use_device, TP_STRING_NONE);
    ck_assert_uint_eq(event.parent, TP_NO_EVENT);
    ck_assert_uint_eq(event.flags, 0);
}
END_TEST

START_TEST(numbers_come_back_as_they_were_set)
{
    struct tp_function_event event;
    struct tp_number large = tp_number_add(tp_number_integer(INT64_MAX), tp_number_integer(1));
    struct tp_number larger = tp_number_add(large, large);

    tp_function_event_init(&event);
    tp_event_set(&event, TP_EVENT_START, tp_number_integer(-3));
    tp_event_set(&event, TP_EVENT_END, tp_number_real(2.5));
    tp_event_set(&event, TP_EVENT_FLOPS, large);
    ck_assert_int_eq(tp_number_compare(tp_event_get(&event, TP_EVENT_START), tp_number_integer(-3)),
                     0);
    ck_assert(!tp_event_get(&event, TP_EVENT_START).is_real);
    ck_assert(tp_event_get(&event, TP_EVENT_END).is_real);
    ck_assert_int_eq(tp_number_compare(tp_event_get(&event, TP_EVENT_FLOPS), large), 0);
    ck_assert(!tp_event_get(&event, TP_EVENT_FLOPS).is_real);
    tp_event_set(&event, TP_EVENT_FLOPS, larger);
    ck_assert(tp_event_get(&event, TP_EVENT_FLOPS).is_real);
    tp_event_set(&event, TP_EVENT_FLOPS, tp_number_integer(-1));
    ck_assert_int_eq(tp_number_sign(tp_event_get(&event, TP_EVENT_FLOPS)), -1);
}
END_TEST

START_TEST(only_the_cpu_has_cpu_time)
{
    struct tp_function_event event;

    tp_function_event_init(&event);
    tp_event_set(&event, TP_EVENT_END, tp_number_integer(5));
    ck_assert_int_eq(tp_number_truncate(tp_event_cpu_time_total(&event)), 5);
    event.device_type = TP_DEVICE_CUDA;
    ck_assert_int_eq(tp_number_truncate(tp_event_cpu_time_total(&event)), 0);
}
END_TEST

START_TEST(device_types_are_found_by_name)
{
    for (unsigned i = 0; i < TP_DEVICE_TYPES; i++)
        ck_assert_int_eq(tp_device_type_find(tp_device_type_name(i)), (int)i);
    ck_assert_int_eq(tp_device_type_find("cuda"), -TP_ENOTFOUND);
    ck_assert_str_eq(tp_device_type_name(200), "?");
}
END_TEST

START_TEST(five_types_are_accelerators)
{
    unsigned count = 0;

    for (unsigned i = 0; i < TP_DEVICE_TYPES; i++)
        count += tp_device_type_is_accelerator(i);
    ck_assert_uint_eq(count, 5);
    ck_assert(tp_device_type_is_accelerator(TP_DEVICE_MTIA));
    ck_assert(!tp_device_type_is_accelerator(TP_DEVICE_HIP));
}
END_TEST

RUN_TESTS("function_event", a_new_event_has_the_defaults, numbers_come_back_as_they_were_set,
          only_the_cpu_has_cpu_time, device_types_are_found_by_name, five_types_are_accelerators)
