/* SPDX-License-Identifier: MIT */
/*
 * What happened becomes an activity record, where its kind is on.
 *
 * Faults, each on every Nth piece of device work: SIMCUDA_DROP_EVERY (no record, counted as
 * dropped), SIMCUDA_ZERO_EVERY (start and end 0; with SIMCUDA_ZERO_ONLY_CALLBACK=1 only while the
 * client's clock is used, the bug of 12.6U2 to 13.0), SIMCUDA_REVERSED_EVERY (end before start).
 */
#include "cupti.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXTERNAL_KINDS = 8, EXTERNAL_DEPTH = 64, CALLS = 1024 };
enum { BY_KIND, ALWAYS, NEVER };

static bool enabled[CUPTI_KINDS];
static uint8_t one_call[3][CALLS]; /* BY_KIND, ALWAYS or NEVER, by domain and cbid */
static bool one_call_used;
static bool foreign_clock;
static int thread_id_type;
static uint32_t process;

static struct {
    uint64_t drop, zero, reversed, overhead;
    uint64_t overhead_ns;
    bool zero_only_callback;
} every;
static uint64_t work_count, call_count, grid_id;

static __thread struct {
    uint64_t ids[EXTERNAL_KINDS][EXTERNAL_DEPTH];
    int depth[EXTERNAL_KINDS];
    bool any;
} external;
static __thread uint32_t tid;
static __thread struct sim_record record;

void sim_activity_give_up(void)
{
    memset(enabled, 0, sizeof enabled);
    one_call_used = false;
}

bool sim_kind_enabled(uint32_t kind)
{
    return kind < CUPTI_KINDS && enabled[kind];
}

static uint32_t thread_id(void)
{
    if (!thread_id_type)
        return (uint32_t)(uintptr_t)pthread_self();
    if (!tid)
        tid = (uint32_t)gettid();
    return tid;
}

static bool call_wanted(enum sim_domain domain, uint32_t cbid)
{
    if (one_call_used && cbid < CALLS && one_call[domain][cbid] != BY_KIND)
        return one_call[domain][cbid] == ALWAYS;
    return enabled[domain == SIM_DRIVER ? SIM_RECORD_DRIVER : SIM_RECORD_RUNTIME];
}

/* Correlation ids exist only while API records do. */
static uint32_t correlation(uint32_t id)
{
    return enabled[SIM_RECORD_RUNTIME] || enabled[SIM_RECORD_DRIVER] || one_call_used ? id : 0;
}

#define SET(kind, field, x) (record.value[SIM_##kind##_##field] = (uint64_t)(x))

static void put_external(uint32_t id)
{
    for (int kind = 0; kind < EXTERNAL_KINDS; kind++) {
        int depth = external.depth[kind];
        if (!depth)
            continue;
        sim_record_begin(&record, SIM_RECORD_EXTERNAL);
        SET(EXTERNAL, external_kind, kind);
        SET(EXTERNAL, external_id, external.ids[kind][depth - 1]);
        SET(EXTERNAL, correlation, id);
        sim_buffer_put(&record, 0);
    }
}

/* The time that loading a function lazily takes, at the begin of a call. */
static void put_overhead(const struct sim_call *call)
{
    uint64_t count = __atomic_add_fetch(&call_count, 1, __ATOMIC_RELAXED);
    if (count % every.overhead || !enabled[SIM_RECORD_OVERHEAD])
        return;
    sim_record_begin(&record, SIM_RECORD_OVERHEAD);
    SET(OVERHEAD, overhead_kind, 5 << 16);
    SET(OVERHEAD, object_kind, 2); /* a thread */
    SET(OVERHEAD, process, process);
    SET(OVERHEAD, thread, thread_id());
    SET(OVERHEAD, start, call->start);
    SET(OVERHEAD, end, call->start + every.overhead_ns);
    SET(OVERHEAD, correlation, call->correlation);
    sim_buffer_put(&record, 0);
}

void sim_activity_call(const struct sim_call *call, bool told)
{
    if (!told) {
        if (external.any && enabled[SIM_RECORD_EXTERNAL] && !call->outer)
            put_external(call->correlation);
    } else if (call_wanted(call->domain, call->cbid)) {
        if (every.overhead)
            put_overhead(call);
        if (external.any && enabled[SIM_RECORD_EXTERNAL])
            put_external(call->correlation);
        /* The two kinds have one layout. */
        sim_record_begin(&record, SIM_RECORD_RUNTIME);
        SET(RUNTIME, cbid, call->cbid);
        SET(RUNTIME, start, call->start);
        SET(RUNTIME, end, call->end);
        SET(RUNTIME, process, process);
        SET(RUNTIME, thread, thread_id());
        SET(RUNTIME, correlation, call->correlation);
        SET(RUNTIME, result, call->result);
        if (call->domain == SIM_DRIVER) {
            memcpy(&record.value[SIM_DRIVER_cbid], &record.value[SIM_RUNTIME_cbid],
                   (SIM_RUNTIME_result - SIM_RUNTIME_cbid + 1) * sizeof record.value[0]);
            record.kind = SIM_RECORD_DRIVER;
        }
        sim_buffer_put(&record, 0);
    }
    if (!call->outer)
        sim_buffers_call_over();
}

/* The script's faults. False: the record is lost. */
static bool suffer(uint64_t *start, uint64_t *end)
{
    if (!(every.drop | every.zero | every.reversed))
        return true;
    uint64_t count = __atomic_add_fetch(&work_count, 1, __ATOMIC_RELAXED);
    if (every.drop && count % every.drop == 0) {
        sim_buffers_drop();
        return false;
    }
    if (every.zero && count % every.zero == 0 && (foreign_clock || !every.zero_only_callback)) {
        *start = *end = 0;
    } else if (every.reversed && count % every.reversed == 0) {
        uint64_t swap = *start;
        *start = *end;
        *end = swap;
    }
    return true;
}

static void put_kernel(const struct sim_work *work, uint64_t start, uint64_t end)
{
    const struct sim_function *function = work->function;
    sim_record_begin(&record, SIM_RECORD_KERNEL);
    SET(KERNEL, registers, function->registers);
    SET(KERNEL, start, start);
    SET(KERNEL, end, end);
    SET(KERNEL, device, work->context->device->ordinal);
    SET(KERNEL, context, work->context->id);
    SET(KERNEL, stream, work->stream);
    SET(KERNEL, grid_x, work->grid[0]);
    SET(KERNEL, grid_y, work->grid[1]);
    SET(KERNEL, grid_z, work->grid[2]);
    SET(KERNEL, block_x, work->block[0]);
    SET(KERNEL, block_y, work->block[1]);
    SET(KERNEL, block_z, work->block[2]);
    SET(KERNEL, static_shared, function->static_shared);
    SET(KERNEL, dynamic_shared, work->dynamic_shared);
    SET(KERNEL, local_per_thread, function->local);
    SET(KERNEL, correlation, correlation(work->correlation));
    SET(KERNEL, grid_id, __atomic_add_fetch(&grid_id, 1, __ATOMIC_RELAXED));
    SET(KERNEL, name, (uintptr_t)function->name);
    SET(KERNEL, launch_type, work->cooperative);
    SET(KERNEL, shared_executed, function->static_shared + work->dynamic_shared);
    SET(KERNEL, node, work->node);
    SET(KERNEL, graph, work->graph);
    SET(KERNEL, channel, 8);
    SET(KERNEL, channel_type, 1);
    sim_buffer_put(&record, work->end);
}

static void put_copy(const struct sim_work *work, uint64_t start, uint64_t end)
{
    sim_record_begin(&record, SIM_RECORD_MEMCPY);
    SET(MEMCPY, copy_kind, work->copy_kind);
    SET(MEMCPY, from_kind, work->from_kind);
    SET(MEMCPY, to_kind, work->to_kind);
    SET(MEMCPY, flags, work->async);
    SET(MEMCPY, bytes, work->bytes);
    SET(MEMCPY, start, start);
    SET(MEMCPY, end, end);
    SET(MEMCPY, device, work->context->device->ordinal);
    SET(MEMCPY, context, work->context->id);
    SET(MEMCPY, stream, work->stream);
    SET(MEMCPY, correlation, correlation(work->correlation));
    SET(MEMCPY, node, work->node);
    SET(MEMCPY, graph, work->graph);
    SET(MEMCPY, channel, 9);
    SET(MEMCPY, channel_type, 2);
    SET(MEMCPY, copy_count, 1);
    sim_buffer_put(&record, work->end);
}

static void put_peer_copy(const struct sim_work *work, uint64_t start, uint64_t end)
{
    sim_record_begin(&record, SIM_RECORD_PEER_COPY);
    SET(PEER_COPY, copy_kind, work->copy_kind);
    SET(PEER_COPY, from_kind, work->from_kind);
    SET(PEER_COPY, to_kind, work->to_kind);
    SET(PEER_COPY, flags, work->async);
    SET(PEER_COPY, bytes, work->bytes);
    SET(PEER_COPY, start, start);
    SET(PEER_COPY, end, end);
    SET(PEER_COPY, device, work->context->device->ordinal);
    SET(PEER_COPY, context, work->context->id);
    SET(PEER_COPY, stream, work->stream);
    SET(PEER_COPY, from_device, work->from->device->ordinal);
    SET(PEER_COPY, from_context, work->from->id);
    SET(PEER_COPY, to_device, work->to->device->ordinal);
    SET(PEER_COPY, to_context, work->to->id);
    SET(PEER_COPY, correlation, correlation(work->correlation));
    SET(PEER_COPY, node, work->node);
    SET(PEER_COPY, graph, work->graph);
    SET(PEER_COPY, channel, 9);
    SET(PEER_COPY, channel_type, 2);
    sim_buffer_put(&record, work->end);
}

static void put_set(const struct sim_work *work, uint64_t start, uint64_t end)
{
    sim_record_begin(&record, SIM_RECORD_MEMSET);
    SET(MEMSET, value, work->value);
    SET(MEMSET, bytes, work->bytes);
    SET(MEMSET, start, start);
    SET(MEMSET, end, end);
    SET(MEMSET, device, work->context->device->ordinal);
    SET(MEMSET, context, work->context->id);
    SET(MEMSET, stream, work->stream);
    SET(MEMSET, correlation, correlation(work->correlation));
    SET(MEMSET, memory_kind, work->to_kind);
    SET(MEMSET, node, work->node);
    SET(MEMSET, graph, work->graph);
    SET(MEMSET, channel, 8);
    SET(MEMSET, channel_type, 1);
    sim_buffer_put(&record, work->end);
}

static void put_graph(const struct sim_work *work, uint64_t start, uint64_t end)
{
    sim_record_begin(&record, SIM_RECORD_GRAPH);
    SET(GRAPH, correlation, correlation(work->correlation));
    SET(GRAPH, start, start);
    SET(GRAPH, end, end);
    SET(GRAPH, device, work->context->device->ordinal);
    SET(GRAPH, graph, work->graph);
    SET(GRAPH, context, work->context->id);
    SET(GRAPH, stream, work->stream);
    SET(GRAPH, end_device, work->context->device->ordinal);
    SET(GRAPH, end_context, work->context->id);
    sim_buffer_put(&record, work->end);
}

static void put_sync(const struct sim_work *work)
{
    sim_record_begin(&record, SIM_RECORD_SYNC);
    SET(SYNC, sync_type, work->sync);
    SET(SYNC, start, work->start);
    SET(SYNC, end, work->end);
    SET(SYNC, correlation, correlation(work->correlation));
    SET(SYNC, context, work->context->id);
    SET(SYNC, stream, work->stream);
    SET(SYNC, event, work->event);
    SET(SYNC, event_sync, work->event_sync);
    sim_buffer_put(&record, 0);
}

static void put_event(const struct sim_work *work)
{
    sim_record_begin(&record, SIM_RECORD_CUDA_EVENT);
    SET(CUDA_EVENT, correlation, correlation(work->correlation));
    SET(CUDA_EVENT, context, work->context->id);
    SET(CUDA_EVENT, stream, work->stream);
    SET(CUDA_EVENT, event, work->event);
    SET(CUDA_EVENT, device, work->context->device->ordinal);
    SET(CUDA_EVENT, event_sync, work->event_sync);
    sim_buffer_put(&record, work->end);
}

void sim_activity_work(const struct sim_work *work)
{
    static const uint32_t kinds[] = {
        [SIM_KERNEL] = SIM_RECORD_KERNEL,       [SIM_COPY] = SIM_RECORD_MEMCPY,
        [SIM_PEER_COPY] = SIM_RECORD_PEER_COPY, [SIM_SET] = SIM_RECORD_MEMSET,
        [SIM_SYNC] = SIM_RECORD_SYNC,           [SIM_GRAPH] = SIM_RECORD_GRAPH,
        [SIM_EVENT] = SIM_RECORD_CUDA_EVENT,
    };
    if (!enabled[kinds[work->kind]])
        return;
    if (work->kind == SIM_SYNC) {
        put_sync(work);
        return;
    }
    if (work->kind == SIM_EVENT) {
        put_event(work);
        return;
    }
    uint64_t start = work->start, end = work->end;
    if (!suffer(&start, &end))
        return;
    switch (work->kind) {
    case SIM_KERNEL:
        put_kernel(work, start, end);
        break;
    case SIM_COPY:
        put_copy(work, start, end);
        break;
    case SIM_PEER_COPY:
        put_peer_copy(work, start, end);
        break;
    case SIM_SET:
        put_set(work, start, end);
        break;
    default:
        put_graph(work, start, end);
    }
}

void sim_activity_memory(const struct sim_memory *memory)
{
    if (!enabled[SIM_RECORD_MEMORY2])
        return;
    sim_record_begin(&record, SIM_RECORD_MEMORY2);
    SET(MEMORY2, operation, memory->release ? 2 : 1);
    SET(MEMORY2, memory_kind, memory->kind);
    SET(MEMORY2, correlation, correlation(memory->correlation));
    SET(MEMORY2, address, memory->address);
    SET(MEMORY2, bytes, memory->bytes);
    SET(MEMORY2, time, memory->time);
    SET(MEMORY2, process, process);
    SET(MEMORY2, device, memory->context->device->ordinal);
    SET(MEMORY2, context, memory->context->id);
    SET(MEMORY2, stream, memory->async ? memory->stream : UINT32_MAX);
    SET(MEMORY2, async, memory->async);
    if (memory->pool) {
        SET(MEMORY2, pool_type, memory->pool->imported ? 2 : 1);
        SET(MEMORY2, pool_address, memory->pool->address);
        SET(MEMORY2, pool_threshold, memory->pool->release_threshold);
        SET(MEMORY2, pool_size,
            memory->pool->imported ? memory->pool->process : memory->pool->size_bytes);
        SET(MEMORY2, pool_used, memory->pool->used_bytes);
    }
    sim_buffer_put(&record, 0);
}

void sim_activity_pool(enum sim_pool_operation operation, const struct sim_pool *pool, uint32_t id,
                       uint64_t min_bytes)
{
    if (!enabled[SIM_RECORD_POOL])
        return;
    sim_record_begin(&record, SIM_RECORD_POOL);
    SET(POOL, operation, operation);
    SET(POOL, pool_type, pool->imported ? 2 : 1);
    SET(POOL, correlation, correlation(id));
    SET(POOL, process, process);
    SET(POOL, device, pool->device->ordinal);
    SET(POOL, min_bytes, min_bytes);
    SET(POOL, address, pool->address);
    SET(POOL, size, pool->size_bytes);
    SET(POOL, threshold, pool->release_threshold);
    SET(POOL, time, sim_cupti_core_if_there()->now());
    SET(POOL, used, pool->used_bytes);
    sim_buffer_put(&record, 0);
}

static void put_device(const struct sim_device *device)
{
    sim_record_begin(&record, SIM_RECORD_DEVICE);
    SET(DEVICE, bandwidth, 1555000000);
    SET(DEVICE, memory_bytes, device->memory_bytes);
    SET(DEVICE, multiprocessors, device->multiprocessors);
    SET(DEVICE, major, device->major);
    SET(DEVICE, minor, device->minor);
    SET(DEVICE, id, device->ordinal);
    memcpy(&record.value[SIM_DEVICE_uuid_low], device->uuid, 8);
    memcpy(&record.value[SIM_DEVICE_uuid_high], device->uuid + 8, 8);
    SET(DEVICE, name, (uintptr_t)strdup(device->name)); /* the client's to free */
    sim_buffer_put(&record, 0);
}

void sim_activity_context(const struct sim_context *context)
{
    if (!enabled[SIM_RECORD_CONTEXT])
        return;
    sim_record_begin(&record, SIM_RECORD_CONTEXT);
    SET(CONTEXT, context, context->id);
    SET(CONTEXT, device, context->device->ordinal);
    SET(CONTEXT, compute_api, 1);
    SET(CONTEXT, null_stream, context->null_stream ? context->null_stream->id : 7);
    SET(CONTEXT, multiprocessors, context->device->multiprocessors);
    sim_buffer_put(&record, 0);
}

void sim_activity_stream(const struct sim_stream *stream)
{
    if (!enabled[SIM_RECORD_STREAM])
        return;
    const struct sim_call *call = sim_cupti_core_if_there()->current_call();
    sim_record_begin(&record, SIM_RECORD_STREAM);
    SET(STREAM, context, stream->context->id);
    SET(STREAM, stream, stream->id);
    SET(STREAM, priority, stream->priority);
    SET(STREAM, flag, stream == stream->context->null_stream ? 3 : stream->flags & 1 ? 2 : 1);
    SET(STREAM, correlation, call ? correlation(call->correlation) : 0);
    sim_buffer_put(&record, 0);
}

/* Devices, contexts and streams that are there already. */
static void put_existing(const struct sim_core *core, uint32_t kind)
{
    if (kind == SIM_RECORD_DEVICE)
        for (int i = 0; i < core->device_count(); i++)
            put_device(core->device(i));
    for (const struct sim_context *context = core->contexts(); context; context = context->next) {
        if (kind == SIM_RECORD_CONTEXT)
            sim_activity_context(context);
        if (kind == SIM_RECORD_STREAM)
            for (const struct sim_stream *stream = context->streams; stream; stream = stream->next)
                sim_activity_stream(stream);
    }
}

static void read_switches(const struct sim_core *core)
{
    process = (uint32_t)getpid();
    every.drop = core->number("DROP_EVERY", 0);
    every.zero = core->number("ZERO_EVERY", 0);
    every.reversed = core->number("REVERSED_EVERY", 0);
    every.overhead = core->number("OVERHEAD_EVERY", 0);
    every.overhead_ns = core->number("OVERHEAD_NS", 500);
    every.zero_only_callback = core->number("ZERO_ONLY_CALLBACK", 0);
}

/* Kinds that CUPTI has and of which nothing is recorded here: names, markers, JIT, counters. */
static bool is_accepted(uint32_t kind)
{
    static const uint8_t kinds[] = {3, 11, 12, 13, 20, 25, 26, 27, 28, 40, 46, 47, 48, 52};
    for (size_t i = 0; i < sizeof kinds; i++)
        if (kinds[i] == kind)
            return true;
    return false;
}

ENTRY(cuptiActivityEnable, uint32_t kind)
{
    NEED_DRIVER(cuptiActivityEnable);
    if (kind == 3)
        core->misuse("cuptiActivityEnable of KIND_KERNEL, which serialises the program");
    if (is_accepted(kind))
        return CUPTI_OK;
    if (!sim_record_size(kind))
        return CUPTI_EKIND;
    read_switches(core);
    sim_observe(core);
    bool was = enabled[kind];
    enabled[kind] = true;
    if (!was)
        put_existing(core, kind);
    return CUPTI_OK;
}

ENTRY(cuptiActivityDisable, uint32_t kind)
{
    NEED_DRIVER(cuptiActivityDisable);
    if (is_accepted(kind))
        return CUPTI_OK;
    if (!sim_record_size(kind))
        return CUPTI_EKIND;
    enabled[kind] = false;
    return CUPTI_OK;
}

static int enable_call(const struct sim_core *core, enum sim_domain domain, uint32_t cbid,
                       uint8_t enable)
{
    if (cbid >= CALLS)
        return CUPTI_EPARAMETER;
    read_switches(core);
    sim_observe(core);
    one_call[domain][cbid] = enable ? ALWAYS : NEVER;
    one_call_used = true;
    return CUPTI_OK;
}

ENTRY(cuptiActivityEnableDriverApi, uint32_t cbid, uint8_t enable)
{
    NEED_DRIVER(cuptiActivityEnableDriverApi);
    return enable_call(core, SIM_DRIVER, cbid, enable);
}

ENTRY(cuptiActivityEnableRuntimeApi, uint32_t cbid, uint8_t enable)
{
    NEED_DRIVER(cuptiActivityEnableRuntimeApi);
    return enable_call(core, SIM_RUNTIME, cbid, enable);
}

ENTRY(cuptiActivityRegisterCallbacks, void (*request)(uint8_t **, size_t *, size_t *),
      void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    if (!request || !complete)
        return CUPTI_EPARAMETER;
    sim_buffer_calls.complete =
        complete; /* a second registration replaces the first, without a word */
    sim_buffer_calls.request = request;
    return CUPTI_OK;
}

ENTRY(cuptiActivityFlushAll, uint32_t flag)
{
    NEED_DRIVER(cuptiActivityFlushAll);
    if (sim_in_buffer_callback())
        core->misuse("cuptiActivityFlushAll called inside a buffer callback");
    if (!sim_buffer_calls.request)
        return CUPTI_EOPERATION;
    usleep((useconds_t)core->number("FLUSH_DELAY_MS", 0) * 1000);
    return sim_buffers_flush(flag & 1);
}

ENTRY(cuptiActivityFlushPeriod, uint32_t ms)
{
    NEED_DRIVER(cuptiActivityFlushPeriod);
    return sim_buffers_flush_period(ms);
}

ENTRY(cuptiActivityGetNumDroppedRecords, struct sim_context *context, uint32_t stream,
      size_t *dropped)
{
    (void)context, (void)stream;
    NEED_DRIVER(cuptiActivityGetNumDroppedRecords);
    if (!dropped)
        return CUPTI_EPARAMETER;
    *dropped = sim_buffers_take_dropped();
    return CUPTI_OK;
}

ENTRY(cuptiActivityRegisterTimestampCallback, uint64_t (*clock)(void))
{
    NEED_DRIVER(cuptiActivityRegisterTimestampCallback);
    if (!clock)
        return CUPTI_EPARAMETER;
    core->set_clock(clock);
    foreign_clock = true;
    return CUPTI_OK;
}

ENTRY(cuptiSetThreadIdType, int type)
{
    NEED_DRIVER(cuptiSetThreadIdType);
    if (type != 0 && type != 1)
        return CUPTI_EPARAMETER;
    thread_id_type = type;
    return CUPTI_OK;
}

ENTRY(cuptiGetThreadIdType, int *type)
{
    NEED_DRIVER(cuptiGetThreadIdType);
    if (!type)
        return CUPTI_EPARAMETER;
    *type = thread_id_type;
    return CUPTI_OK;
}

ENTRY(cuptiActivityPushExternalCorrelationId, uint32_t kind, uint64_t id)
{
    NEED_DRIVER(cuptiActivityPushExternalCorrelationId);
    if (!kind || kind >= EXTERNAL_KINDS || external.depth[kind] == EXTERNAL_DEPTH)
        return CUPTI_EPARAMETER;
    external.ids[kind][external.depth[kind]++] = id;
    external.any = true;
    return CUPTI_OK;
}

ENTRY(cuptiActivityPopExternalCorrelationId, uint32_t kind, uint64_t *last)
{
    NEED_DRIVER(cuptiActivityPopExternalCorrelationId);
    if (!kind || kind >= EXTERNAL_KINDS)
        return CUPTI_EPARAMETER;
    if (!external.depth[kind])
        return CUPTI_EQUEUEEMPTY;
    external.depth[kind]--;
    if (last)
        *last = external.ids[kind][external.depth[kind]];
    return CUPTI_OK;
}
