/* SPDX-License-Identifier: MIT
 * Records of CUDA as activities: which times, names and numbers they stand for. */
#ifndef TP_INPUT_TPTRACE_CUDA_H
#define TP_INPUT_TPTRACE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "input/tptrace_meta_cuda.h"
#include "input/tptrace_names.h"
#include "model/clock.h"
#include "model/geometry.h"

/* The clock of a process's CUDA records. It never changes: any number of threads may read it. */
struct tptrace_cuda_clock {
    const struct tp_clock *process;
    bool in_ticks;         /* times are ticks of the recording's clock; else ns of CUPTI's */
    bool is_tied;          /* false: nothing says how CUPTI's clock relates to ours */
    struct tp_clock cupti; /* its ns to ours */
    int64_t step_ns;       /* the largest by which CUPTI's was set between two readings; 0 none */
};

/**
 * tptrace_cuda_clock_fit - from the `cuda` and `cuda_clock` lines
 * @process: fitted; outlives the clock
 * Return: 0 and a clock for tptrace_cuda_clock_fini (which takes zeros), or -ENOMEM.
 */
int tptrace_cuda_clock_fit(struct tptrace_cuda_clock *clock, const struct tptrace_meta_cuda *meta,
                           const struct tp_clock *process);
void tptrace_cuda_clock_fini(struct tptrace_cuda_clock *clock);

/* A reader's place in the clocks. Start from zeros. */
struct tptrace_cuda_cursor {
    size_t process, cupti;
};

/** tptrace_cuda_ns - a time on that clock */
int64_t tptrace_cuda_ns(const struct tptrace_cuda_clock *clock, struct tptrace_cuda_cursor *cursor,
                        uint64_t time);

/* A record of kinds CUDA_API, GPU_*, CUDA_SYNC or CUDA_OVERHEAD. */
struct tptrace_activity {
    const struct tp_stream_name *name;
    int64_t start_ns, end_ns; /* as far apart as its own clock says; equal when it has no time */
    uint64_t start, end;      /* on that clock */
    uint64_t bytes, graph_node;
    uint32_t correlation;
    uint32_t thread; /* tid of a call, 0 unknown */
    uint32_t stream, context, graph;
    uint32_t geometry; /* name id */
    uint32_t result;   /* of a call */
    uint16_t device;
    uint8_t kind; /* enum tp_event_kind */
    bool has_time;
    bool is_driver; /* a call of the driver, not the runtime */
    bool has_stream;
};

/* Names that are put together, so that few are put together twice. Start from zeros. */
struct tptrace_activity_names {
    struct {
        uint64_t key; /* 0: free */
        const struct tp_stream_name *name;
    } items[64];
};

/** tptrace_activity_kinds - bit k is set for the kinds that are activities */
#define TPTRACE_ACTIVITY_KINDS                                                                     \
    (UINT64_C(1) << TP_EVENT_CUDA_API | UINT64_C(1) << TP_EVENT_GPU_KERNEL |                       \
     UINT64_C(1) << TP_EVENT_GPU_MEMCPY | UINT64_C(1) << TP_EVENT_GPU_MEMSET |                     \
     UINT64_C(1) << TP_EVENT_GPU_GRAPH | UINT64_C(1) << TP_EVENT_CUDA_SYNC |                       \
     UINT64_C(1) << TP_EVENT_CUDA_OVERHEAD)

static inline bool tptrace_is_activity(unsigned kind)
{
    return TPTRACE_ACTIVITY_KINDS >> kind & 1;
}

/** tptrace_is_device_work - of an activity: did a device run it? */
static inline bool tptrace_is_device_work(unsigned kind)
{
    return kind >= TP_EVENT_GPU_KERNEL && kind <= TP_EVENT_GPU_GRAPH;
}

/** tptrace_activity_read - @record: whole, of such a kind; names stay with @names */
void tptrace_activity_read(struct tptrace_activity *activity, const uint64_t *record,
                           const struct tptrace_cuda_clock *clock,
                           struct tptrace_cuda_cursor *cursor, struct tptrace_names *names,
                           struct tptrace_activity_names *made,
                           const struct tptrace_meta_cuda *meta);

/** tptrace_cuda_occupancy - of a launch on a device. Return: false when too little is known. */
bool tptrace_cuda_occupancy(const struct tptrace_meta_cuda *meta, uint32_t device,
                            const struct tp_geometry *geometry, struct tp_occupancy *ret);

/* A record of kind CUDA_MEMORY, or MEMORY of a device. */
struct tptrace_cuda_memory {
    uint64_t address, bytes; /* bytes 0 with flag 4: not known */
    uint64_t time;           /* on the clock of the records */
    uint32_t correlation, context;
    uint16_t device;
    uint8_t memory_kind, flags;
    bool is_free;
    bool is_framework; /* told by a framework about its own allocator */
    bool is_device;    /* memory of a device, not pinned memory of the host */
};

enum {
    TPTRACE_MEMORY_ASYNC = 1,
    TPTRACE_MEMORY_HERE = 2, /* of the thread that wrote it, at this moment */
    TPTRACE_MEMORY_NO_SIZE = 4,
    TPTRACE_MEMORY_PHYSICAL = 8,
    TPTRACE_MEMORY_IMPORTED = 16,
};

void tptrace_cuda_memory_read(struct tptrace_cuda_memory *memory, const uint64_t *record);

#endif
