/* SPDX-License-Identifier: MIT
 * Raw records as a profiler hands them over, on their way to becoming events. Each is made into an
 * event of the list the moment it comes, so that nothing is held twice; what an event has no place
 * for stands in arrays beside the list until tp_post_process (post_process.h) has used it. */
#ifndef TP_MODEL_RAW_RECORD_H
#define TP_MODEL_RAW_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/event_list.h"
#include "model/memory_records.h"
#include "model/string_table.h"

/* One record. Strings and stacks are ids of the list's pools. */
struct tp_raw_record {
    int64_t start_ns, end_ns;
    int64_t start_thread, end_thread;
    int64_t correlation_id;
    int64_t linked_correlation_id; /* 0: a front-end event; else the id of the one it works for */
    int64_t fwd_thread, sequence_nr;
    int64_t device_resource_id;
    int64_t bytes;                           /* memory records */
    uint64_t flops;                          /* 0: none known */
    struct tp_number cuda_elapsed_us;        /* measured by device events; <= 0: not */
    struct tp_number privateuse1_elapsed_us; /* likewise */
    uint32_t name, overload_name;
    uint32_t input_shapes; /* text form, as in an event */
    uint32_t stack;
    int32_t device_index;
    bool is_async, is_user_annotation, is_python_function, is_hidden;
    bool is_call; /* of a runtime or driver: its correlation_id is that of the work it launched */
    uint8_t device_type, scope;
    const struct tp_event_details *details; /* borrowed; NULL: none known */
};

/** tp_raw_record_init - every field at its default: thread 1, no links, empty name */
void tp_raw_record_init(struct tp_raw_record *record);

/* Device time of an event that was measured with device events. */
struct tp_measured_time {
    uint32_t event;
    struct tp_number cuda_us, privateuse1_us;
};

/* Records of one recording. */
struct tp_raw_records {
    struct tp_event_list *list; /* borrowed */
    uint32_t first;             /* their events are list->events[first] and up */
    int64_t *linked_ids;        /* of event @first + n; what linked_correlation_id was */
    uint32_t linked_capacity;
    struct tp_string_table names;
    struct tp_memory_records memory, out_of_memory;
    struct tp_measured_time *measured; /* ascending by event */
    uint32_t measured_count, measured_capacity;
    uint32_t *kept_stacks; /* by stack id: the one without filtered frames + 1; 0 not asked yet */
    uint32_t kept_stack_count;
    int64_t first_start_ns; /* earliest start of any record, filtered and hidden ones included */
    bool has_start;
};

/**
 * tp_raw_records_init - nothing yet; events go behind those that @list has
 * tp_raw_records_fini - takes a zeroed one as well; the list keeps its events
 */
void tp_raw_records_init(struct tp_raw_records *records, struct tp_event_list *list);
void tp_raw_records_fini(struct tp_raw_records *records);

/**
 * tp_raw_records_add - one record in capture order
 *
 * Names are demangled and rewritten, filtered and hidden records left out, memory records put
 * aside. Until tp_post_process the event holds whole nanoseconds as its start and end.
 *
 * Context: offline, the list's thread.
 * Return: 0 or negative: no memory, over a limit, or -TP_EVALUE with the reference's sentence for
 * a negative linked id.
 */
int tp_raw_records_add(struct tp_raw_records *records, const struct tp_raw_record *record,
                       struct tp_diag *diag);

/**
 * tp_raw_records_append - an event as it is, for a list that is not post-processed
 * @details: NULL: none known
 * Return: 0 or negative.
 */
int tp_raw_records_append(struct tp_raw_records *records, const struct tp_function_event *event,
                          int64_t linked_id, const struct tp_event_details *details);

/**
 * tp_raw_records_set_stack - give an event a stack, less the profiler's own frames
 * @event: its index in the list
 * Return: 0 or negative.
 */
int tp_raw_records_set_stack(struct tp_raw_records *records, uint32_t event, uint32_t stack);

/**
 * tp_raw_records_retain - keep only the events for which @keep says so, and the memory records
 * @keep: gets the event and its linked id; or NULL and a memory record
 */
void tp_raw_records_retain(struct tp_raw_records *records,
                           bool (*keep)(void *context, const struct tp_function_event *event,
                                        int64_t linked_id, const struct tp_memory_record *memory),
                           void *context);

#endif
