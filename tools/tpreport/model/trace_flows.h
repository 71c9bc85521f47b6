/* SPDX-License-Identifier: MIT
 * Arrows of a trace: from a call to the device work that it launched, and from a forward operator
 * to the backward one of the same sequence number. */
#ifndef TP_MODEL_TRACE_FLOWS_H
#define TP_MODEL_TRACE_FLOWS_H

#include "model/event_list.h"

struct tp_trace_flow {
    uint32_t from, to; /* events of the list */
};

struct tp_trace_flows {
    struct tp_trace_flow *items;
    size_t count, capacity;
};

void tp_trace_flows_fini(struct tp_trace_flows *flows);

/**
 * tp_trace_flows_launches - from the call (else from the front-end event) that bears the id of a
 *   piece of device work, or the id that this is linked to
 * tp_trace_flows_backward - going through operators with a sequence number by their ends: a forward
 *   one is what its thread and number stand for, unless it began before the one it would replace; a
 *   backward one takes it
 * Context: offline; @list keeps details. Return: 0 or -ENOMEM.
 */
int tp_trace_flows_launches(struct tp_trace_flows *flows, const struct tp_event_list *list);
int tp_trace_flows_backward(struct tp_trace_flows *flows, const struct tp_event_list *list);

#endif
