/* SPDX-License-Identifier: MIT */
#include "model/function_event.h"

#include <string.h>

#include "base/error.h"
#include "model/stacks.h"
#include "model/strings.h"

_Static_assert(sizeof(struct tp_function_event) <= 200, "events are kept by the million");

static const struct {
    const char *name;
    bool is_accelerator;
} device_types[] = {
#define TP_DEVICE_TYPE(id, name, accelerator) {name, accelerator},
#include "model/device_types.def"
#undef TP_DEVICE_TYPE
};

const char *tp_device_type_name(unsigned device_type)
{
    return device_type < TP_DEVICE_TYPES ? device_types[device_type].name : "?";
}

int tp_device_type_find(const char *name)
{
    for (int i = 0; i < TP_DEVICE_TYPES; i++) {
        if (!strcmp(device_types[i].name, name))
            return i;
    }
    return -TP_ENOTFOUND;
}

bool tp_device_type_is_accelerator(unsigned device_type)
{
    return device_type < TP_DEVICE_TYPES && device_types[device_type].is_accelerator;
}

void tp_function_event_init(struct tp_function_event *event)
{
    *event = (struct tp_function_event){
        .thread = 1,
        .device_resource_id = 1,
        .sequence_nr = -1,
        .name = TP_STRING_EMPTY,
        .overload_name = TP_STRING_EMPTY,
        .input_shapes = TP_STRING_LIST,
        .stack = TP_STACK_EMPTY,
        .parent = TP_NO_EVENT,
        .first_child = TP_NO_EVENT,
        .last_child = TP_NO_EVENT,
        .next_sibling = TP_NO_EVENT,
        .node_id = -1,
    };
}

void tp_event_set(struct tp_function_event *event, enum tp_event_number n, struct tp_number v)
{
    uint16_t bit = (uint16_t)(1u << n);
    bool is_large = !v.is_real && !v.high && (int64_t)v.bits.low < 0;

    if (!v.is_real && !is_large && !tp_number_fits(v))
        v = tp_number_real(tp_number_to_double(v));
    event->numbers[n] = v.bits;
    event->real_mask = (uint16_t)(v.is_real ? event->real_mask | bit : event->real_mask & ~bit);
    event->large_mask = (uint16_t)(is_large ? event->large_mask | bit : event->large_mask & ~bit);
}

struct tp_number tp_event_elapsed(const struct tp_function_event *event)
{
    return tp_interval_elapsed_us(tp_event_time_range(event));
}

struct tp_number tp_event_cpu_time_total(const struct tp_function_event *event)
{
    return event->device_type == TP_DEVICE_CPU ? tp_event_elapsed(event) : tp_number_integer(0);
}
