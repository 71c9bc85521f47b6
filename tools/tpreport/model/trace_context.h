/* SPDX-License-Identifier: MIT
 * What a trace holds besides the events of a list: where its clock begins, devices, and entries
 * that make no event (names of processes and threads, instants, flows). Kept beside a list only for
 * who writes a trace or names threads. */
#ifndef TP_MODEL_TRACE_CONTEXT_H
#define TP_MODEL_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/buffer.h"

/* An entry as it stands in a trace. Strings are ids of the list's pool, TP_STRING_NONE absent;
 * @pid, @tid, @args and @id are JSON. */
struct tp_trace_mark {
    int64_t ts_ns, duration_ns; /* from the source's start; duration of phase X only */
    uint32_t name, category;
    uint32_t pid, tid, args, id;
    char phase;
    char scope;   /* of an instant: t, p, g; 0 none */
    char binding; /* of a flow's end: e; 0 none */
    bool has_ts;
};

/* One input. */
struct tp_trace_source {
    uint32_t first_event, first_mark;
    bool has_base, is_nested, has_span;
    bool has_derived_stacks;  /* worked out from nested calls, for who asks for stacks */
    int64_t base_ns;          /* time 0 of its events, since 1970; with has_base */
    int64_t start_ns, end_ns; /* of the recording as a whole; with has_span */
    uint32_t device_properties, distributed_info; /* JSON; TP_STRING_NONE unknown */
};

struct tp_trace_context {
    struct tp_trace_source *sources;
    uint32_t source_count;
    struct tp_trace_mark *marks;
    uint32_t mark_count, mark_capacity;
};

/** tp_trace_context_fini - takes a zeroed one as well, which is how one begins */
void tp_trace_context_fini(struct tp_trace_context *trace);

/** tp_trace_context_begin - what follows is of a new source, whose events begin at @first_event
 * Return: 0 or -ENOMEM. */
int tp_trace_context_begin(struct tp_trace_context *trace, uint32_t first_event);

/** tp_trace_context_source - the present source; valid until the next one begins */
struct tp_trace_source *tp_trace_context_source(struct tp_trace_context *trace);

/** tp_trace_context_mark - add a copy. Return: 0, -ENOMEM or -TP_ELIMIT. */
int tp_trace_context_mark(struct tp_trace_context *trace, const struct tp_trace_mark *mark);

/** tp_trace_memory_args - the arguments of an instant of memory, without the closing brace */
void tp_trace_memory_args(struct tp_buffer *out, unsigned device_type, int32_t device_index,
                          int64_t bytes);

#endif
