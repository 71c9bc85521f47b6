/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_EVENT_LIST_H
#define TP_MODEL_EVENT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event_details.h"
#include "model/function_event.h"
#include "model/stacks.h"
#include "model/strings.h"
#include "model/trace_context.h"
#include "model/summed_work.h"

struct tp_device_memory;

/* What readers do about stacks. */
enum tp_stacks_wanted {
    TP_STACKS_AS_RECORDED,
    TP_STACKS_DERIVED, /* where none are recorded, from calls of Python functions */
    TP_STACKS_DROPPED,
};

/* How a kernel was launched: of the kernel, or of a call that alone tells of it. */
struct tp_event_launch {
    uint32_t event;
    uint32_t kernel;      /* string id, of a call; TP_STRING_NONE: the event is the kernel */
    uint32_t geometry;    /* string id of JSON (model/geometry.h) */
    uint32_t captured_in; /* string id: the range in which a graph's node was captured */
    float occupancy;      /* estimated, percent; below 0: unknown */
};

/* Events in list order with the settings they were recorded under. */
struct tp_event_list {
    struct tp_strings *strings; /* borrowed; outlive the list */
    struct tp_stacks *stacks;
    struct tp_function_event *events;
    struct tp_kernel *kernels;
    uint32_t count, capacity; /* events, folded ones included */
    uint32_t kernel_count, kernel_capacity;
    struct tp_event_launch *launches; /* of events that have one, ascending */
    uint32_t launch_count, launch_capacity;
    uint32_t use_device; /* string id; TP_STRING_NONE = None */
    uint32_t tree_count; /* events before this one have their tree (tp_tree_build) */
    bool is_nested; /* events without a tree have their parents: nothing is learnt from times */
    bool profile_memory;
    bool with_flops;
    enum tp_stacks_wanted stacks_wanted; /* set before reading */
    struct tp_device_memory *memory;     /* borrowed; set before reading; NULL: not wanted */
    bool keeps_details;                  /* set before the first event, or never */
    struct tp_event_details *details;    /* as many as events; NULL without keeps_details */
    struct tp_summed_sink *summed;       /* borrowed; set before reading; NULL: not wanted */
    struct tp_trace_context *trace; /* borrowed; set before the first event; NULL: not wanted */
};

/**
 * tp_event_list_init - an empty list over these pools
 * tp_event_list_fini - frees the events and kernels, not the pools; takes a zeroed list as well
 * Context: offline; a list belongs to one thread at a time.
 */
void tp_event_list_init(struct tp_event_list *list, struct tp_strings *strings,
                        struct tp_stacks *stacks);
void tp_event_list_fini(struct tp_event_list *list);

/**
 * tp_event_list_append - add a copy of an event at the end, without details
 * tp_event_list_append_kernel - credit device work to the event appended last
 * tp_event_list_credit_kernel - ... to any event; all kernels of one event come one after the other
 * Return: 0, -ENOMEM, or -TP_ELIMIT (2^31 of them).
 */
int tp_event_list_append(struct tp_event_list *list, const struct tp_function_event *event);
int tp_event_list_append_kernel(struct tp_event_list *list, const struct tp_kernel *kernel);
int tp_event_list_credit_kernel(struct tp_event_list *list, uint32_t event,
                                const struct tp_kernel *kernel);

/** tp_event_list_append_launch - how the event appended last was launched; its number is set.
 * Return: 0, -ENOMEM or -TP_ELIMIT. */
int tp_event_list_append_launch(struct tp_event_list *list, const struct tp_event_launch *launch);

/** tp_event_list_launch - how an event was launched; NULL: unknown */
const struct tp_event_launch *tp_event_list_launch(const struct tp_event_list *list,
                                                   uint32_t event);

/** tp_event_list_captured_in - string id of the range in which the node of a graph was captured
 * that an event of a device is; TP_STRING_NONE */
uint32_t tp_event_list_captured_in(const struct tp_event_list *list, uint32_t event);

/** tp_event_list_next - index of the first event at or behind @index that is not folded, or
 * list->count */
uint32_t tp_event_list_next(const struct tp_event_list *list, uint32_t index);

/** tp_event_list_self_cpu_time - the sum of self CPU times in list order; needs tp_tree_times */
struct tp_number tp_event_list_self_cpu_time(const struct tp_event_list *list);

#endif
