/* SPDX-License-Identifier: MIT */
/*
 * Streams and their virtual time. Work begins SIMCUDA_LATENCY_NS after its API call began, but not
 * before the stream is free. The legacy default stream waits for all blocking streams of its
 * context, and they for it.
 */
#include "driver.h"

#include <stdlib.h>

struct per_thread_stream {
    struct sim_context *context;
    struct sim_stream *stream;
};
static __thread struct per_thread_stream of_this_thread[4];

struct sim_stream *sim_stream_create(struct sim_context *context, uint32_t flags, int priority)
{
    struct sim_stream *stream = calloc(1, sizeof *stream);
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    pthread_mutex_lock(&sim_lock);
    stream->id = sim.next_stream++;
    stream->next = context->streams;
    context->streams = stream;
    if (!context->null_stream)
        context->null_stream = stream;
    pthread_mutex_unlock(&sim_lock);
    struct sim_resource resource = {.context = context, .stream = stream};
    OBSERVE(resource, SIM_STREAM_CREATED, &resource);
    return stream;
}

static struct sim_stream *thread_stream(struct sim_context *context)
{
    for (size_t i = 0; i < sizeof of_this_thread / sizeof of_this_thread[0]; i++) {
        struct per_thread_stream *slot = &of_this_thread[i];
        if (slot->context == context)
            return slot->stream;
        if (!slot->context) {
            slot->stream = sim_stream_create(context, 0, 0);
            slot->context = context;
            return slot->stream;
        }
    }
    return context->null_stream;
}

struct sim_stream *sim_stream_of(struct sim_context *context, void *handle, bool per_thread)
{
    uintptr_t value = (uintptr_t)handle;
    if (value > 2)
        return handle;
    if (!context)
        return NULL;
    return value == 2 || (value == 0 && per_thread) ? thread_stream(context) : context->null_stream;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void sim_stream_place(struct sim_stream *stream, struct sim_work *work, uint64_t length)
{
    static uint64_t latency = UINT64_MAX;
    if (latency == UINT64_MAX)
        latency = sim_number("LATENCY_NS", 3000);
    struct sim_context *context = stream->context;
    struct sim_call *call = sim_current_call();
    while (call && call->outer)
        call = call->outer;
    uint64_t start = (call ? call->start : sim_now()) + sim_units(latency);
    start = later(start, stream->end);
    if (stream == context->null_stream)
        start = later(start, context->blocking_end);
    else if (!(stream->flags & 1))
        start = later(start, context->null_stream->end);
    work->start = start;
    work->end = stream->end = start + sim_units(length);
    if (!(stream->flags & 1))
        context->blocking_end = later(context->blocking_end, work->end);
    context->all_end = later(context->all_end, work->end);
    work->context = context;
    work->stream = stream->id;
    work->correlation = sim_work_correlation();
}

bool sim_stream_run(struct sim_stream *stream, struct sim_work *work, uint64_t length,
                    const struct sim_action *action)
{
    if (__builtin_expect(stream->capturing != NULL, 0)) {
        sim_capture(stream, work, length, action);
        return false;
    }
    if (action)
        sim_action_do(action);
    if (!work)
        return true;
    pthread_mutex_lock(&sim_lock);
    sim_stream_place(stream, work, length);
    pthread_mutex_unlock(&sim_lock);
    OBSERVE(work, work);
    return true;
}

void sim_block(uint64_t time)
{
    sim_clock_reach(time);
    if (!sim_clock_is_foreign())
        for (struct sim_call *each = sim_current_call(); each; each = each->outer)
            each->end = later(each->end, time);
}

void sim_wait(struct sim_context *context, struct sim_stream *stream, uint64_t time,
              enum sim_sync kind, uint32_t event, uint64_t event_sync)
{
    struct sim_call *call = sim_current_call();
    sim_block(time);
    struct sim_work work = {
        .kind = SIM_SYNC,
        .context = context,
        .stream = stream ? stream->id : UINT32_MAX,
        .start = call ? call->start : sim_now(),
        .end = sim_clock_is_foreign() || !call ? sim_now() : call->end,
        .correlation = sim_work_correlation(),
        .sync = kind,
        .event = event,
        .event_sync = event_sync,
    };
    OBSERVE(work, &work);
    OBSERVE(synchronized, context);
}
