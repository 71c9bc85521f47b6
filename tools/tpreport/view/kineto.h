/* SPDX-License-Identifier: MIT
 * The parts of the writer of Kineto traces: kineto.c the document, names and what the input said
 * besides events; kineto_event.c one event; kineto_extras.c arrows and allocations that the input
 * did not say itself. One entry a line; nothing of the document is held. */
#ifndef TP_VIEW_KINETO_H
#define TP_VIEW_KINETO_H

#include "model/trace_rows.h"
#include "view/view.h"

struct tp_kineto_writer {
    const struct tp_report *report;
    const struct tp_event_list *list;
    const struct tp_trace_context *trace;
    struct tp_output *output;
    struct tp_buffer line, text; /* text: scratch */
    struct tp_trace_rows rows;
    uint32_t *positions; /* of each event among those written */
    uint32_t source;     /* of the present event: index in trace->sources */
    int64_t host_pid;    /* of events whose process is not known */
    int64_t base_ns;     /* time 0 of the document */
    bool is_nested;      /* events come with their parents */
    bool has_derived_stacks;
    bool has_flops;          /* of any event they are not None */
    bool resource_is_thread; /* the resource of host events: their thread, else 0 */
    bool has_memory_marks, has_launch_marks, has_backward_marks;
    uint64_t entries;
};

/* Context of all: offline, the view's thread. */

/** tp_kineto_begin, _end - around an entry: what stands in front of it, and off with the line */
void tp_kineto_begin(struct tp_kineto_writer *w, const char *phase);
void tp_kineto_end(struct tp_kineto_writer *w);

/** tp_kineto_string - a string of the pool with its quotes */
void tp_kineto_string(struct tp_kineto_writer *w, uint32_t id);

/** tp_kineto_time - nanoseconds as microseconds with three decimals */
void tp_kineto_time(struct tp_buffer *out, int64_t ns);

/** tp_kineto_source_of - the source that an event is of; events come in their order mostly */
const struct tp_trace_source *tp_kineto_source_of(struct tp_kineto_writer *w, uint32_t event);

/** tp_kineto_shift - what is added to a source's times */
int64_t tp_kineto_shift(const struct tp_kineto_writer *w, const struct tp_trace_source *source);

/** tp_kineto_place - "pid" and "tid" of an event, with a comma behind */
void tp_kineto_place(struct tp_kineto_writer *w, uint32_t event);

/** tp_kineto_event - the line of an event */
void tp_kineto_event(struct tp_kineto_writer *w, uint32_t event);

/** tp_kineto_flows, _memory - Return: 0 or -ENOMEM */
int tp_kineto_flows(struct tp_kineto_writer *w);
int tp_kineto_memory(struct tp_kineto_writer *w);

#endif
