/* SPDX-License-Identifier: MIT
 * What Kineto writes beside an activity, for who writes a trace or an event's every detail. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "input/tptrace_list.h"
#include "model/event_metadata.h"
#include "model/python_text.h"

struct details {
    struct tp_buffer json; /* the map as an object */
    struct tp_event_metadata metadata;
};

static __attribute__((format(printf, 3, 4))) void put(struct details *d, const char *key,
                                                      const char *format, ...)
{
    char text[160];
    va_list values;

    va_start(values, format);
    int n = vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    tp_buffer_format(&d->json, "%s\"%s\": %s", d->json.size ? ", " : "{", key, text);
    tp_event_metadata_put(&d->metadata, key, strlen(key), text, (size_t)n);
}

static void put_text(struct details *d, const char *key, const struct tp_string *text)
{
    tp_buffer_format(&d->json, "%s\"%s\": ", d->json.size ? ", " : "{", key);
    tp_json_string(&d->json, text->bytes, text->size);
}

static const char *activity_name(const struct tptrace_activity *activity)
{
    switch (activity->kind) {
    case TP_EVENT_CUDA_API:
        return activity->is_driver ? "cuda_driver" : "cuda_runtime";
    case TP_EVENT_GPU_MEMCPY:
        return "gpu_memcpy";
    case TP_EVENT_GPU_MEMSET:
        return "gpu_memset";
    case TP_EVENT_CUDA_SYNC:
        return "cuda_sync";
    case TP_EVENT_CUDA_OVERHEAD:
        return "overhead";
    default:
        return "kernel";
    }
}

static void put_three(struct details *d, const char *key, const int64_t values[3])
{
    put(d, key, "[%lld, %lld, %lld]", (long long)values[0], (long long)values[1],
        (long long)values[2]);
}

static void put_launch(struct details *d, const struct tptrace_run *run,
                       const struct tptrace_work_item *work, const struct tp_string *json)
{
    struct tp_occupancy occupancy;
    struct tp_geometry g;

    if (!tp_geometry_parse(&g, json->bytes, json->size))
        return;
    if (g.registers >= 0)
        put(d, "registers per thread", "%lld", (long long)g.registers);
    if (g.static_shared >= 0 && g.dynamic_shared >= 0)
        put(d, "shared memory", "%lld", (long long)(g.static_shared + g.dynamic_shared));
    if (tptrace_cuda_occupancy(&run->members[work->user].process.meta.cuda, work->activity.device,
                               &g, &occupancy)) {
        put(d, "blocks per SM", "%.6f", occupancy.blocks_per_sm);
        put(d, "warps per SM", "%.6f", occupancy.warps_per_sm);
        put(d, "est. achieved occupancy %", "%.0f", occupancy.percent);
    }
    put_three(d, "grid", g.grid);
    put_three(d, "block", g.block);
}

static void put_device_work(struct details *d, const struct tptrace_activity *activity)
{
    put(d, "device", "%u", activity->device);
    put(d, "context", "%u", activity->context);
    put(d, "stream", "%u", activity->stream);
    if (activity->graph)
        put(d, "graph id", "%u", activity->graph);
    if (activity->graph_node)
        put(d, "graph node id", "%llu", (unsigned long long)activity->graph_node);
    if (activity->kind == TP_EVENT_GPU_MEMCPY || activity->kind == TP_EVENT_GPU_MEMSET) {
        int64_t ns = activity->end_ns - activity->start_ns;
        put(d, "bytes", "%llu", (unsigned long long)activity->bytes);
        if (ns > 0)
            put(d, "memory bandwidth (GB/s)", "%.9g", (double)activity->bytes / (double)ns);
    }
}

int tptrace_list_work_details(const struct tptrace_run *run, const struct tptrace_work_item *work,
                              int64_t id, int64_t owner_id, struct tp_event_list *events)
{
    struct tp_event_details *details = &events->details[events->count - 1];
    const char *name = activity_name(&work->activity);
    struct details d = {.json = {0}};

    int error = tp_strings_put(events->strings, name, strlen(name), &details->activity_type);
    details->external_id = details->linked_correlation_id = owner_id;
    if (owner_id)
        put(&d, "External id", "%lld", (long long)owner_id);
    put(&d, "correlation", "%lld", (long long)id);
    if (work->activity.kind > TP_EVENT_CUDA_API && work->activity.kind != TP_EVENT_CUDA_OVERHEAD)
        put_device_work(&d, &work->activity);
    if (work->captured_in != TP_STRING_NONE)
        put_text(&d, "captured in", tp_strings_get(events->strings, work->captured_in));
    if (work->activity.kind == TP_EVENT_GPU_KERNEL)
        put_launch(&d, run, work, tp_strings_get(events->strings, work->geometry));
    tp_buffer_char(&d.json, '}');
    if (!error && (d.json.failed || d.metadata.text.failed))
        error = -ENOMEM;
    if (!error)
        error = tp_strings_put(events->strings, d.json.bytes, d.json.size, &details->metadata);
    tp_buffer_reset(&d.json);
    tp_event_metadata_write(&d.metadata, &d.json);
    if (!error)
        error = d.json.failed ? -ENOMEM
                              : tp_strings_put(events->strings, d.json.bytes, d.json.size,
                                               &details->event_metadata);
    tp_buffer_fini(&d.json);
    tp_event_metadata_fini(&d.metadata);
    return error;
}
