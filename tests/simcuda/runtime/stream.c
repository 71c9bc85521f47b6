/* SPDX-License-Identifier: MIT */
/* Streams and events. */
#include "runtime.h"

ENTRY(cudaStreamCreate, struct sim_stream **stream)
{
    BEGIN(API(cudaStreamCreate), WORD(stream));
    END(driver.cuStreamCreate(stream, 0));
}

ENTRY(cudaStreamCreateWithFlags, struct sim_stream **stream, unsigned flags)
{
    BEGIN(API(cudaStreamCreateWithFlags), WORD(stream), flags);
    END(driver.cuStreamCreate(stream, flags));
}

ENTRY(cudaStreamCreateWithPriority, struct sim_stream **stream, unsigned flags, int priority)
{
    struct {
        struct sim_stream **stream;
        unsigned flags;
        int priority;
    } params = {stream, flags, priority};
    BEGIN_WITH(API(cudaStreamCreateWithPriority), &params);
    END(driver.cuStreamCreateWithPriority(stream, flags, priority));
}

ENTRY(cudaStreamDestroy, struct sim_stream *stream)
{
    BEGIN(API(cudaStreamDestroy), WORD(stream));
    END(driver.cuStreamDestroy_v2(stream));
}

static int do_cudaStreamSynchronize(struct sim_api api, bool per_thread, void *stream)
{
    BEGIN(api, WORD(stream));
    END(DRIVER(cuStreamSynchronize, _ptsz, per_thread)(stream));
}
PAIR(cudaStreamSynchronize, _ptsz, (void *stream), stream)

static int do_cudaStreamQuery(struct sim_api api, bool per_thread, void *stream)
{
    BEGIN(api, WORD(stream));
    END(DRIVER(cuStreamQuery, _ptsz, per_thread)(stream));
}
PAIR(cudaStreamQuery, _ptsz, (void *stream), stream)

static int do_cudaStreamWaitEvent(struct sim_api api, bool per_thread, void *stream, void *event,
                                  unsigned flags)
{
    BEGIN(api, WORD(stream), WORD(event), flags);
    END(DRIVER(cuStreamWaitEvent, _ptsz, per_thread)(stream, event, flags));
}
PAIR(cudaStreamWaitEvent, _ptsz, (void *stream, void *event, unsigned flags), stream, event, flags)

ENTRY(cudaEventCreate, void **event)
{
    BEGIN(API(cudaEventCreate), WORD(event));
    END(driver.cuEventCreate(event, 0));
}

ENTRY(cudaEventCreateWithFlags, void **event, unsigned flags)
{
    BEGIN(API(cudaEventCreateWithFlags), WORD(event), flags);
    END(driver.cuEventCreate(event, flags));
}

ENTRY(cudaEventDestroy, void *event)
{
    BEGIN(API(cudaEventDestroy), WORD(event));
    END(driver.cuEventDestroy_v2(event));
}

static int do_cudaEventRecord(struct sim_api api, bool per_thread, void *event, void *stream)
{
    BEGIN(api, WORD(event), WORD(stream));
    END(DRIVER(cuEventRecord, _ptsz, per_thread)(event, stream));
}
PAIR(cudaEventRecord, _ptsz, (void *event, void *stream), event, stream)

static int do_cudaEventRecordWithFlags(struct sim_api api, bool per_thread, void *event,
                                       void *stream, unsigned flags)
{
    BEGIN(api, WORD(event), WORD(stream), flags);
    END(DRIVER(cuEventRecordWithFlags, _ptsz, per_thread)(event, stream, flags));
}
PAIR(cudaEventRecordWithFlags, _ptsz, (void *event, void *stream, unsigned flags), event, stream,
     flags)

ENTRY(cudaEventSynchronize, void *event)
{
    BEGIN(API(cudaEventSynchronize), WORD(event));
    END(driver.cuEventSynchronize(event));
}

ENTRY(cudaEventQuery, void *event)
{
    BEGIN(API(cudaEventQuery), WORD(event));
    END(driver.cuEventQuery(event));
}

ENTRY(cudaEventElapsedTime, float *ms, void *from, void *to)
{
    BEGIN(API(cudaEventElapsedTime), WORD(ms), WORD(from), WORD(to));
    END(driver.cuEventElapsedTime_v2(ms, from, to));
}
