/* SPDX-License-Identifier: MIT */
#include "model/trace_context.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/function_event.h"

void tp_trace_context_fini(struct tp_trace_context *trace)
{
    free(trace->sources);
    free(trace->marks);
    *trace = (struct tp_trace_context){0};
}

int tp_trace_context_begin(struct tp_trace_context *trace, uint32_t first_event)
{
    struct tp_trace_source *sources =
        realloc(trace->sources, (trace->source_count + 1) * sizeof(*sources));

    if (!sources)
        return -ENOMEM;
    trace->sources = sources;
    sources[trace->source_count++] =
        (struct tp_trace_source){.first_event = first_event, .first_mark = trace->mark_count};
    return 0;
}

struct tp_trace_source *tp_trace_context_source(struct tp_trace_context *trace)
{
    return &trace->sources[trace->source_count - 1];
}

int tp_trace_context_mark(struct tp_trace_context *trace, const struct tp_trace_mark *mark)
{
    if (trace->mark_count == trace->mark_capacity) {
        uint32_t capacity = trace->mark_capacity ? trace->mark_capacity * 2 : 256;
        if (capacity > 1u << 30)
            return -TP_ELIMIT;
        struct tp_trace_mark *marks = realloc(trace->marks, capacity * sizeof(*marks));
        if (!marks)
            return -ENOMEM;
        trace->marks = marks;
        trace->mark_capacity = capacity;
    }
    trace->marks[trace->mark_count++] = *mark;
    return 0;
}

/* Device types as Kineto numbers them. */
void tp_trace_memory_args(struct tp_buffer *out, unsigned device_type, int32_t device_index,
                          int64_t bytes)
{
    int number = device_type == TP_DEVICE_CPU    ? 0
                 : device_type == TP_DEVICE_CUDA ? 1
                 : device_type == TP_DEVICE_HIP  ? 6
                 : device_type == TP_DEVICE_XPU  ? 12
                                                 : 20;

    tp_buffer_format(out, "{\"Device Type\": %d, \"Device Id\": %d, \"Addr\": 0, \"Bytes\": %lld",
                     number, device_type == TP_DEVICE_CPU ? -1 : device_index, (long long)bytes);
}
