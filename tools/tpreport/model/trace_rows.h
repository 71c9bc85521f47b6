/* SPDX-License-Identifier: MIT
 * The rows of a trace viewer. On one row slices must nest: an event that crosses another one of its
 * thread or stream goes to a second row, or a third. */
#ifndef TP_MODEL_TRACE_ROWS_H
#define TP_MODEL_TRACE_ROWS_H

#include "model/event_list.h"

/* A row that a thread or stream has besides its own. */
struct tp_trace_row {
    uint32_t event;  /* the first one on it, of whose thread it is */
    uint32_t number; /* 2, 3, ... */
    int64_t tid;     /* one that nothing else has */
};

struct tp_trace_rows {
    uint32_t *of_event; /* 0: its own row; else 1 + an index into items */
    struct tp_trace_row *items;
    uint32_t count, capacity;
};

/**
 * tp_trace_rows_find - rows of all events of a list that are not folded
 * Times are compared as whole nanoseconds, as a trace shows them.
 * Context: offline. Return: 0 and rows for tp_trace_rows_fini (which takes zeroed ones), or
 * -ENOMEM.
 */
int tp_trace_rows_find(struct tp_trace_rows *rows, const struct tp_event_list *list);
void tp_trace_rows_fini(struct tp_trace_rows *rows);

/** tp_trace_tid - the number of the row that an event would have to itself: its thread or stream */
int64_t tp_trace_tid(const struct tp_function_event *event);

/** tp_trace_ns - microseconds as whole nanoseconds; 0 beyond 285 years */
int64_t tp_trace_ns(struct tp_number us);

/** tp_trace_event_ns - likewise, one of an event's times */
static inline int64_t tp_trace_event_ns(const struct tp_function_event *event,
                                        enum tp_event_number number)
{
    return tp_trace_ns(tp_event_get(event, number));
}

#endif
