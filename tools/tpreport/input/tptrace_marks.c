/* SPDX-License-Identifier: MIT
 * What a trace says of a recording besides its events: names of processes and threads, its clock,
 * its rank. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "input/tptrace.h"
#include "model/geometry.h"
#include "model/python_text.h"

struct marks {
    struct tp_event_list *events;
    struct tp_buffer text;
    uint32_t pid; /* string id */
};

static int put(struct marks *marks, uint32_t *ret_id)
{
    if (marks->text.failed)
        return -ENOMEM;
    return tp_strings_put(marks->events->strings, marks->text.bytes, marks->text.size, ret_id);
}

static int put_number(struct marks *marks, uint64_t number, uint32_t *ret_id)
{
    tp_buffer_reset(&marks->text);
    tp_buffer_format(&marks->text, "%llu", (unsigned long long)number);
    return put(marks, ret_id);
}

/* {"name": "worker"} */
static int add_mark(struct marks *marks, const char *kind, uint64_t tid, const char *key,
                    const char *value)
{
    struct tp_trace_mark mark = {.phase = 'M', .pid = marks->pid};
    int error = tp_strings_put(marks->events->strings, kind, strlen(kind), &mark.name);

    if (!error)
        error = put_number(marks, tid, &mark.tid);
    tp_buffer_reset(&marks->text);
    tp_buffer_format(&marks->text, "{\"%s\": ", key);
    tp_json_string(&marks->text, value, strlen(value));
    tp_buffer_char(&marks->text, '}');
    if (!error)
        error = put(marks, &mark.args);
    return error ? error : tp_trace_context_mark(marks->events->trace, &mark);
}

static int mark_process(struct marks *marks, const struct tptrace_member *member)
{
    const struct tptrace_meta *meta = &member->process.meta;
    struct tp_buffer label = {0};
    int error = put_number(marks, meta->pid, &marks->pid);

    if (!error && meta->program)
        error = add_mark(marks, "process_name", 0, "name", meta->program);
    if (meta->rank >= 0)
        tp_buffer_format(&label, "rank %lld", (long long)meta->rank);
    else
        tp_buffer_string(&label, "CPU");
    tp_buffer_char(&label, '\0');
    if (!error)
        error =
            label.failed ? -ENOMEM : add_mark(marks, "process_labels", 0, "labels", label.bytes);
    for (size_t i = 0; i < meta->track_count && !error; i++) {
        if (meta->tracks[i].name && *meta->tracks[i].name)
            error =
                add_mark(marks, "thread_name", meta->tracks[i].tid, "name", meta->tracks[i].name);
    }
    tp_buffer_fini(&label);
    return error;
}

/* One rank is a trace's; several have none. The blank behind "rank": is looked for by others. */
static int set_rank(struct marks *marks, const struct tptrace_run *run, uint32_t *ret_info)
{
    int64_t rank = -1, world = -1;

    for (size_t i = 0; i < run->count; i++) {
        if (run->members[i].failed || run->members[i].rank < 0)
            continue;
        if (rank >= 0 && rank != run->members[i].rank)
            return 0;
        rank = run->members[i].rank;
        world = run->members[i].process.meta.world_size;
    }
    if (rank < 0)
        return 0;
    tp_buffer_reset(&marks->text);
    tp_buffer_format(&marks->text, "{\"backend\": \"\", \"rank\": %lld, \"world_size\": %lld, ",
                     (long long)rank, (long long)world);
    tp_buffer_string(&marks->text, "\"pg_count\": 0, \"pg_config\": [], \"nccl_version\": \"\"}");
    return put(marks, ret_info);
}

static void put_device(struct tp_buffer *out, const struct tptrace_cuda_device *device)
{
    struct tp_device_limits limits;

    tp_buffer_format(out, "{\"id\": %u, \"name\": ", device->device);
    tp_json_string(out, device->name ? device->name : "", device->name ? strlen(device->name) : 0);
    tp_buffer_format(out,
                     ", \"totalGlobalMem\": %llu, \"computeMajor\": %u, \"computeMinor\": %u, "
                     "\"warpSize\": 32, \"numSms\": %u",
                     (unsigned long long)device->memory, device->major, device->minor, device->sms);
    if (tp_device_limits_find(&limits, device->major, device->minor, device->sms))
        tp_buffer_format(out,
                         ", \"maxThreadsPerMultiprocessor\": %u, \"regsPerMultiprocessor\": %u, "
                         "\"sharedMemPerMultiprocessor\": %u",
                         limits.warps * 32, limits.registers, limits.shared_bytes);
    tp_buffer_char(out, '}');
}

/* Devices stand in a trace as processes that bear their number, streams as their threads. */
static int mark_streams(struct marks *marks, const struct tptrace_meta_cuda *cuda)
{
    char text[48];
    int error = 0;

    for (size_t i = 0; i < cuda->stream_count && !error; i++) {
        const struct tptrace_cuda_stream *stream = &cuda->streams[i];
        snprintf(text, sizeof(text), "stream %u", stream->stream);
        error = put_number(marks, tptrace_cuda_device_of(cuda, stream->context), &marks->pid);
        if (!error)
            error = add_mark(marks, "thread_name", stream->stream, "name", text);
    }
    return error;
}

/* Those of the first process that has any. */
static int set_devices(struct marks *marks, const struct tptrace_run *run, uint32_t *ret_devices)
{
    const struct tptrace_meta_cuda *cuda = NULL;

    for (size_t i = 0; i < run->count && !cuda; i++) {
        if (run->members[i].was_read && run->members[i].process.meta.cuda.device_count)
            cuda = &run->members[i].process.meta.cuda;
    }
    if (!cuda)
        return 0;
    tp_buffer_reset(&marks->text);
    for (size_t i = 0; i < cuda->device_count; i++) {
        tp_buffer_string(&marks->text, i ? ", " : "[");
        put_device(&marks->text, &cuda->devices[i]);
    }
    tp_buffer_char(&marks->text, ']');
    int error = put(marks, ret_devices);
    return error ? error : mark_streams(marks, cuda);
}

int tptrace_marks(const struct tptrace_run *run, struct tp_event_list *events)
{
    struct marks marks = {.events = events};
    int error = 0;

    if (!events->trace)
        return 0;
    struct tp_trace_source *source = tp_trace_context_source(events->trace);
    source->has_base = source->has_span = true;
    source->base_ns = source->start_ns = run->start_ns;
    source->end_ns = run->end_ns;
    for (size_t i = 0; i < run->count && !error; i++) {
        if (!run->members[i].failed)
            error = mark_process(&marks, &run->members[i]);
    }
    if (!error)
        error = set_rank(&marks, run, &source->distributed_info);
    if (!error)
        error = set_devices(&marks, run, &source->device_properties);
    tp_buffer_fini(&marks.text);
    return error;
}
