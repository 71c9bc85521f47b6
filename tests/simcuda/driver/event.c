/* SPDX-License-Identifier: MIT */
/* Events: a place in a stream's time. */
#include "driver.h"

#include <stdlib.h>

struct sim_event {
    uint32_t id;
    uint64_t time, sync;
    struct sim_context *context;
    struct sim_graph *captured; /* recorded in a stream that captures into it */
};

ENTRY(cuEventCreate, struct sim_event **event, unsigned flags)
{
    BEGIN(API(cuEventCreate), WORD(event), WORD(flags));
    *event = calloc(1, sizeof **event);
    (*event)->id = __atomic_add_fetch(&sim.next_event, 1, __ATOMIC_RELAXED);
    END(SIM_OK);
}

ENTRY(cuEventDestroy_v2, struct sim_event *event)
{
    BEGIN(API(cuEventDestroy_v2), WORD(event));
    free(event);
    END(SIM_OK);
}

static int record(struct sim_api api, bool per_thread, struct sim_event *event, void *handle)
{
    BEGIN(api, WORD(event), WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream || !event)
        END(SIM_EHANDLE);
    event->captured = stream->capturing;
    if (stream->capturing)
        END(SIM_OK);
    struct sim_work work = {.kind = SIM_EVENT, .event = event->id};
    event->sync = work.event_sync = __atomic_add_fetch(&sim.next_event_sync, 1, __ATOMIC_RELAXED);
    event->context = stream->context;
    sim_stream_run(stream, &work, 0, NULL);
    event->time = work.end;
    END(SIM_OK);
}

static int do_cuEventRecord(struct sim_api api, bool per_thread, struct sim_event *event,
                            void *stream)
{
    return record(api, per_thread, event, stream);
}
PAIR(cuEventRecord, _ptsz, (struct sim_event * event, void *stream), event, stream)

static int do_cuEventRecordWithFlags(struct sim_api api, bool per_thread, struct sim_event *event,
                                     void *stream, unsigned flags)
{
    (void)flags;
    return record(api, per_thread, event, stream);
}
PAIR(cuEventRecordWithFlags, _ptsz, (struct sim_event * event, void *stream, unsigned flags), event,
     stream, flags)

ENTRY(cuEventSynchronize, struct sim_event *event)
{
    BEGIN(API(cuEventSynchronize), WORD(event));
    if (!event)
        END(SIM_EHANDLE);
    if (event->context)
        sim_wait(event->context, NULL, event->time, SIM_SYNC_EVENT, event->id, event->sync);
    END(SIM_OK);
}

ENTRY(cuEventQuery, struct sim_event *event)
{
    BEGIN(API(cuEventQuery), WORD(event));
    END(!event ? SIM_EHANDLE : event->time <= sim_now() ? SIM_OK : SIM_ENOTREADY);
}

static int elapsed(struct sim_api api, float *ms, const struct sim_event *from,
                   const struct sim_event *to)
{
    BEGIN(api, WORD(ms), WORD(from), WORD(to));
    if (!from || !to || !from->time || !to->time)
        END(SIM_EHANDLE);
    *ms = (float)((double)(int64_t)(to->time - from->time) / 1e6);
    END(SIM_OK);
}

ENTRY(cuEventElapsedTime, float *ms, const struct sim_event *from, const struct sim_event *to)
{
    return elapsed(API(cuEventElapsedTime), ms, from, to);
}

ENTRY(cuEventElapsedTime_v2, float *ms, const struct sim_event *from, const struct sim_event *to)
{
    return elapsed(API(cuEventElapsedTime_v2), ms, from, to);
}

static int do_cuStreamWaitEvent(struct sim_api api, bool per_thread, void *handle,
                                struct sim_event *event, unsigned flags)
{
    BEGIN(api, WORD(handle), WORD(event), WORD(flags));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream || !event)
        END(SIM_EHANDLE);
    if (event->captured) /* the stream joins that capture */
        stream->capturing = event->captured;
    if (stream->capturing)
        END(SIM_OK);
    pthread_mutex_lock(&sim_lock);
    if (stream->end < event->time)
        stream->end = event->time;
    pthread_mutex_unlock(&sim_lock);
    struct sim_work work = {
        .kind = SIM_SYNC,
        .context = stream->context,
        .stream = stream->id,
        .start = call.start,
        .end = sim_clock_is_foreign() ? sim_now() : call.end,
        .correlation = sim_work_correlation(),
        .sync = SIM_SYNC_WAIT_EVENT,
        .event = event->id,
        .event_sync = event->sync,
    };
    OBSERVE(work, &work);
    END(SIM_OK);
}
PAIR(cuStreamWaitEvent, _ptsz, (void *handle, struct sim_event *event, unsigned flags), handle,
     event, flags)
