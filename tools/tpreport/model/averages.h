/* SPDX-License-Identifier: MIT
 * Groups of events with their sums. Two ways in: a whole event list with the reference's own
 * arithmetic (tp_key_averages, tp_total_average), or a stream of finished events, in any order and
 * from several threads, in exact integer nanoseconds (struct tp_averages), for inputs that are too
 * large to be held. Both ways form the same groups and give the same rows. */
#ifndef TP_MODEL_AVERAGES_H
#define TP_MODEL_AVERAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/function_event.h"
#include "model/spread.h"
#include "model/stacks.h"

struct tp_event_list;

struct tp_averages_options {
    uint32_t group_by_stack_n; /* 0: stacks are not part of the key */
    bool group_by_input_shapes;
    bool group_by_overload_name;
    bool include_python_functions;
    bool percentiles; /* rows have a spread */
};

/* What a row sums. Times in us, memory in bytes. */
enum tp_measure {
    TP_MEASURE_CPU_TIME,
    TP_MEASURE_SELF_CPU_TIME,
    TP_MEASURE_DEVICE_TIME,
    TP_MEASURE_SELF_DEVICE_TIME,
    TP_MEASURE_CPU_MEMORY,
    TP_MEASURE_SELF_CPU_MEMORY,
    TP_MEASURE_DEVICE_MEMORY,
    TP_MEASURE_SELF_DEVICE_MEMORY,
    TP_MEASURE_FLOPS,
    TP_MEASURE_COUNT,
    TP_MEASURES
};

/* One row: a group of events, or a single one (then @event is set). */
struct tp_average {
    struct tp_number sums[TP_MEASURES];
    const struct tp_function_event *event;  /* the single event, borrowed; NULL for a group */
    const struct tp_event_details *details; /* the event's, borrowed; NULL: not kept */
    uint32_t key;                           /* string ids from here */
    uint32_t overload_name;
    uint32_t input_shapes; /* text form; "" when not grouped by shapes */
    uint32_t use_device;
    uint32_t stack; /* stack id, and how many of its entries belong to the row */
    uint32_t stack_count;
    int32_t node_id;
    uint16_t flags; /* enum tp_event_flag */
    uint8_t device_type;
    uint8_t scope;
    struct tp_spread_values spread; /* of the events' CPU times, or device times; of a group */
};

/* ---- a stream of finished events ---- */

/* One finished event as plain fields. Ids belong to pools that nobody changes while threads add. */
struct tp_average_event {
    uint32_t name;
    uint32_t overload_name; /* TP_STRING_EMPTY when unknown */
    uint32_t input_shapes;  /* string id of the text form; TP_STRING_LIST when there are none */
    uint32_t stack;         /* full stack, innermost first; TP_STACK_EMPTY when there is none */
    uint32_t use_device;    /* string id, TP_STRING_NONE without a device */
    int32_t node_id;        /* -1 = none */
    uint16_t flags; /* ASYNC REMOTE LEGACY USER_ANNOTATION PYTHON_FUNCTION HAS_PARENT NO_FLOPS */
    uint8_t device_type;
    uint8_t scope;
    int64_t start_ns, end_ns; /* with @sequence: the event's place in list order */
    uint64_t sequence; /* tie-breaker for equal times, any stable number (thread << 40 | n) */
    int64_t cpu_total_ns, cpu_self_ns;
    int64_t device_total_ns, device_self_ns;
    int64_t cpu_memory, cpu_memory_self;
    int64_t device_memory, device_memory_self;
    int64_t flops;
    uint64_t count;   /* 1; more when the caller has summed equal events itself */
    bool has_lengths; /* these are told by themselves: tp_averages_length, _lengths */
};

struct tp_averages;

/**
 * tp_averages_create - an empty aggregator
 * @stacks:  read when grouping by stacks; may be NULL otherwise; outlives the aggregator
 * @options: copied
 *
 * Context: offline; each aggregator belongs to one thread at a time.
 * Return: 0 and an aggregator for tp_averages_destroy (which takes NULL), or -ENOMEM.
 */
int tp_averages_create(const struct tp_stacks *stacks, const struct tp_averages_options *options,
                       struct tp_averages **ret_averages);
void tp_averages_destroy(struct tp_averages *averages);

/**
 * tp_averages_add - count one event, in any order
 * @event: not kept
 *
 * A group takes its non-additive fields from its earliest member by (start_ns, longer first,
 * sequence), as if the events had come in list order.
 *
 * Context: offline, the aggregator's thread; a few nanoseconds when the group exists.
 * Return: 0 or -ENOMEM.
 */
int tp_averages_add(struct tp_averages *averages, const struct tp_average_event *event);

/**
 * tp_averages_credit - add an event's sums to its group, of which it is no member
 * Return: 0 or -ENOMEM.
 */
int tp_averages_credit(struct tp_averages *averages, const struct tp_average_event *event);

/**
 * tp_averages_length - how long one event took, for the spread of its group
 * tp_averages_lengths - likewise of many events, of which less is known
 * @event: of what makes a group; its sums are not read
 * Return: 0 or -ENOMEM.
 */
int tp_averages_length(struct tp_averages *averages, const struct tp_average_event *event,
                       int64_t ns);
int tp_averages_lengths(struct tp_averages *averages, const struct tp_average_event *event,
                        const struct tp_summed_work *work);

/** tp_averages_set_device - the device of all members so far: string id */
void tp_averages_set_device(struct tp_averages *averages, uint32_t use_device);

/**
 * tp_averages_merge - add the groups of @from to @into
 * Context: offline, while no other thread uses either. Both were created with equal options; @from
 * is unchanged. Return: 0 or -ENOMEM.
 */
int tp_averages_merge(struct tp_averages *into, const struct tp_averages *from);

/**
 * tp_averages_finish - the rows, ordered by each group's earliest member
 * @ret_rows: for free(); times in us as doubles, memory and counts as integers
 *
 * Python functions are left out unless the options include them. More events may follow.
 *
 * Return: 0 or -ENOMEM.
 */
int tp_averages_finish(struct tp_averages *averages, struct tp_average **ret_rows,
                       size_t *ret_count);

/**
 * tp_averages_total - one row over everything, python functions included
 * @key: string id of its name ("Total")
 * Its non-additive fields are those of the last event in list order.
 */
void tp_averages_total(const struct tp_averages *averages, uint32_t key,
                       struct tp_average *ret_row);

/** tp_averages_host_times - what all events of the host took, exact. Return: are there any? */
bool tp_averages_host_times(const struct tp_averages *averages, int64_t *ret_cpu_ns,
                            int64_t *ret_self_ns);

/** tp_averages_event_count - events added so far, python functions included */
uint64_t tp_averages_event_count(const struct tp_averages *averages);

/* ---- a whole list ---- */

/**
 * tp_average_of_event - a single event as a row; its times must be there (tp_tree_times)
 */
void tp_average_of_event(const struct tp_event_list *list, const struct tp_function_event *event,
                         struct tp_average *ret_row);

/**
 * tp_key_averages - groups of a list in order of first appearance
 * @ret_rows: for free()
 * Context: offline; the list has its tree and times.
 * Return: 0 or -ENOMEM.
 */
int tp_key_averages(const struct tp_event_list *list, const struct tp_averages_options *options,
                    struct tp_average **ret_rows, size_t *ret_count);

/**
 * tp_average_start - a row without members: zeros, no key
 * tp_average_total - add one row to a running total; the total takes the row's other fields
 */
void tp_average_start(struct tp_average *total);
void tp_average_total(struct tp_average *total, const struct tp_average *row);

#endif
