/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_FUNCTION_EVENT_H
#define TP_MODEL_FUNCTION_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/interval.h"
#include "model/number.h"

enum tp_device_type {
#define TP_DEVICE_TYPE(id, name, accelerator) TP_DEVICE_##id,
#include "model/device_types.def"
#undef TP_DEVICE_TYPE
    TP_DEVICE_TYPES
};

/** tp_device_type_name - "CPU", "CUDA", ... Return: a constant string. */
const char *tp_device_type_name(unsigned device_type);

/** tp_device_type_find - by exact name. Return: the type, or -TP_ENOTFOUND. */
int tp_device_type_find(const char *name);

/** tp_device_type_is_accelerator - may events of this type carry device time? */
bool tp_device_type_is_accelerator(unsigned device_type);

/* What an event and a group of events have in common. */
enum tp_event_flag {
    TP_EVENT_ASYNC = 1u << 0,
    TP_EVENT_REMOTE = 1u << 1,
    TP_EVENT_LEGACY = 1u << 2, /* device time measured by device events, kept as one kernel */
    TP_EVENT_USER_ANNOTATION = 1u << 3,
    TP_EVENT_PYTHON_FUNCTION = 1u << 4,
    TP_EVENT_HAS_PARENT = 1u << 5,     /* set by the tree step */
    TP_EVENT_HAS_FWD_THREAD = 1u << 6, /* fwd_thread is not None */
    TP_EVENT_FOLDED = 1u << 7,     /* merged into its parent of the same name; no longer listed */
    TP_EVENT_NO_FLOPS = 1u << 8,   /* flops is None */
    TP_EVENT_UNSET = 1u << 9,      /* an average without members: scope and annotation are None */
    TP_EVENT_NO_LAUNCH = 1u << 10, /* device work of which no launch is recorded */
    TP_EVENT_CALL = 1u << 11,      /* a call of a runtime or driver */
    TP_EVENT_UNFINISHED =
        1u << 12, /* its end was not recorded: it counts up to where records end */
    TP_EVENT_INCIDENTAL = 1u << 13, /* a call that does not keep its parent from being folded */
};

/* Scopes of events, by the reference's numbers; there are others. */
enum tp_event_scope {
    TP_SCOPE_FUNCTION = 0,
    TP_SCOPE_BACKWARD = 1,
    TP_SCOPE_USER = 7, /* a range of the user's */
};

/* The numbers that an event stores. Times are microseconds, memory bytes. */
enum tp_event_number {
    TP_EVENT_START,
    TP_EVENT_END,
    TP_EVENT_SELF_CPU_TIME, /* this and the next two: by tp_tree_times */
    TP_EVENT_DEVICE_TIME,
    TP_EVENT_SELF_DEVICE_TIME,
    TP_EVENT_CPU_MEMORY,
    TP_EVENT_DEVICE_MEMORY,
    TP_EVENT_SELF_CPU_MEMORY, /* this and the next: by tp_tree_times */
    TP_EVENT_SELF_DEVICE_MEMORY,
    TP_EVENT_FLOPS, /* 0 when None */
    TP_EVENT_NUMBERS
};

#define TP_NO_EVENT UINT32_MAX

/* One event of a list. Strings and stacks are ids into the list's pools; events are indices. */
struct tp_function_event {
    union tp_number_bits numbers[TP_EVENT_NUMBERS]; /* see tp_event_get, tp_event_set */
    int64_t id;
    int64_t thread;
    int64_t fwd_thread; /* with TP_EVENT_HAS_FWD_THREAD */
    int64_t device_resource_id;
    int64_t sequence_nr;
    uint32_t name;
    uint32_t trace_name; /* TP_STRING_NONE: not exported */
    uint32_t overload_name;
    uint32_t input_shapes; /* text form of the list: "[[8, 16], []]" */
    uint32_t domain;       /* whose range it is; TP_STRING_NONE */
    uint32_t stack;
    uint32_t use_device;
    uint32_t first_kernel, kernel_count; /* in the list's kernels */
    uint32_t parent;                     /* the four: by the tree step; TP_NO_EVENT = none */
    uint32_t first_child, last_child, next_sibling;
    int32_t node_id;
    int32_t device_index;
    uint16_t flags;      /* enum tp_event_flag */
    uint16_t real_mask;  /* bit n: numbers[n] is a double; */
    uint16_t large_mask; /* ... an integer of unsigned 64 bits; neither: of signed 64 bits */
    uint8_t device_type; /* enum tp_device_type */
    uint8_t scope;
};

/** tp_function_event_init - every field at its default; id 0, name "", start and end integer 0 */
void tp_function_event_init(struct tp_function_event *event);

/**
 * tp_event_get, tp_event_set - a number of the event
 * Integers from -2^63 to 2^64 - 1 are kept as they are, those beyond as doubles.
 */
static inline struct tp_number tp_event_get(const struct tp_function_event *event,
                                            enum tp_event_number n)
{
    bool is_real = event->real_mask >> n & 1, is_large = event->large_mask >> n & 1;
    bool is_negative = !is_real && !is_large && (int64_t)event->numbers[n].low < 0;

    return (struct tp_number){.bits = event->numbers[n], .high = -is_negative, .is_real = is_real};
}

void tp_event_set(struct tp_function_event *event, enum tp_event_number n, struct tp_number v);

/** tp_event_time_range - from its start to its end */
static inline struct tp_interval tp_event_time_range(const struct tp_function_event *event)
{
    return (struct tp_interval){tp_event_get(event, TP_EVENT_START),
                                tp_event_get(event, TP_EVENT_END)};
}

/** tp_event_elapsed - end - start; negative with a skewed clock */
struct tp_number tp_event_elapsed(const struct tp_function_event *event);

/** tp_event_cpu_time_total - elapsed on the CPU, integer 0 elsewhere */
struct tp_number tp_event_cpu_time_total(const struct tp_function_event *event);

/* Device work credited to a CPU event: the reference's Kernel(name, device, duration). */
struct tp_kernel {
    struct tp_number duration; /* us */
    uint32_t name;
    int32_t device;
};

#endif
