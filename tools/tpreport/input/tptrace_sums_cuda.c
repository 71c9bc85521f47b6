/* SPDX-License-Identifier: MIT
 * Rows of what CUDA did are summed by each worker as those of ranges are; what belongs together
 * over threads is joined under one lock, held while a worker feeds records of a process that uses
 * CUDA. */
#include <errno.h>

#include "input/tptrace_kernels.h"
#include "input/tptrace_sums.h"
#include "model/function_event.h"

/* ---- what the join tells ---- */

static struct tptrace_member_event member_of(struct tptrace_worker_sums *w,
                                             const struct tptrace_activity *activity)
{
    return (struct tptrace_member_event){
        .start_ns = activity->start_ns,
        .end_ns = activity->end_ns,
        .sequence = UINT64_C(1) << 62 | w->activity_count++,
        .name = activity->name,
        .kind = activity->kind,
    };
}

static int tell_call(void *context, const struct tptrace_activity *call, bool has_parent)
{
    struct tptrace_worker_sums *w = context;
    struct tptrace_member_event member = member_of(w, call);

    member.has_parent = has_parent;
    return tptrace_sums_add(w, &member);
}

static void add_memory(struct tptrace_cell *cell, int64_t ns, int64_t bytes, uint64_t count)
{
    if (!cell->count || ns < cell->first.start_ns)
        cell->first = (struct tptrace_member_event){.start_ns = ns,
                                                    .end_ns = ns,
                                                    .sequence = UINT64_C(1) << 62,
                                                    .kind = TP_EVENT_CUDA_MEMORY};
    cell->count += count;
    cell->device += bytes;
    cell->self_device += bytes;
}

void tptrace_sums_own_memory(struct tptrace_worker_sums *w, int64_t ns, int64_t bytes,
                             uint64_t count)
{
    add_memory(&w->own_memory, ns, bytes, count);
}

static int tell_memory(void *context, int64_t ns, int64_t bytes, uint64_t count)
{
    struct tptrace_worker_sums *w = context;

    add_memory(&w->memory, ns, bytes, count);
    return 0;
}

static int tell_path(void *context, const struct tp_launch_key *key,
                     const struct tp_launch_sums *own, const struct tp_launch_sums *total)
{
    return tptrace_sums_credit(context, key, own, total);
}

/* ---- records ---- */

static int take_activity(struct tptrace_worker_sums *w, const struct tptrace_source *source,
                         const uint64_t *record, uint64_t ticks)
{
    struct tptrace_launches *launches = w->all->launches;
    struct tptrace_activity activity;

    tptrace_activity_read(&activity, record, &source->process->cuda_clock, &w->cursor,
                          source->names, &w->made, &source->process->meta.cuda);
    if (activity.kind == TP_EVENT_CUDA_API)
        return tptrace_launches_call(launches, &activity, ticks, &w->sink);
    if (tptrace_is_device_work(activity.kind)) {
        int error = tptrace_launches_work(launches, &activity);
        if (error)
            return error;
    } else {
        tptrace_launches_other(launches, &activity);
    }
    if (!activity.has_time)
        return 0;
    struct tptrace_member_event member = member_of(w, &activity);
    int error = tptrace_sums_add(w, &member);
    if (!error && w->all->kernels)
        error = tptrace_kernels_take(w->all->kernels, source, &activity);
    return error;
}

static int take_memory(struct tptrace_worker_sums *w, const struct tptrace_source *source,
                       const uint64_t *record, uint64_t ticks, struct tp_stream *stream)
{
    struct tptrace_cuda_memory memory;

    tptrace_cuda_memory_read(&memory, record);
    bool is_here = memory.flags & TPTRACE_MEMORY_HERE || !memory.time;
    int64_t ns = is_here ? tp_clock_ns(&source->process->clock, &w->cursor.process, ticks)
                         : tptrace_cuda_ns(&source->process->cuda_clock, &w->cursor, memory.time);
    return tptrace_launches_memory(w->all->launches, &memory, ns, stream, &w->sink);
}

static int take(void *context, const struct tptrace_source *source, const uint64_t *record,
                uint64_t ticks, struct tp_stream *stream)
{
    struct tptrace_worker_sums *w = context;
    unsigned kind = tp_slot_kind(record);
    int error = 0;

    if (source->process != w->process)
        error = tptrace_sums_turn_to(w, source);
    if (error)
        return error;
    if (kind == TP_EVENT_CUDA_CALL)
        return tptrace_launches_place(w->all->launches, stream, tp_slot_argument(record), &w->sink);
    if (tptrace_is_activity(kind))
        return take_activity(w, source, record, ticks);
    if (kind == TP_EVENT_CUDA_NODE)
        return w->all->kernels ? tptrace_kernels_node(w->all->kernels, source, record, stream) : 0;
    if (kind == TP_EVENT_CUDA_EXTERNAL)
        return tptrace_launches_external(w->all->launches, tp_slot_argument(record),
                                         (uint8_t)record[5], record[4]);
    if (kind == TP_EVENT_MEMORY && !tp_stream_innermost(stream))
        add_memory(&w->own_memory, tp_clock_ns(&source->process->clock, &w->cursor.process, ticks),
                   (int64_t)record[5], 1);
    return kind == TP_EVENT_CUDA_MEMORY ? take_memory(w, source, record, ticks, stream) : 0;
}

/* ---- ranges ---- */

static void begin_piece(void *context)
{
    struct tptrace_worker_sums *w = context;

    pthread_mutex_lock(&w->all->lock);
}

static int end_piece(void *context, const struct tptrace_source *source, struct tp_stream *stream)
{
    struct tptrace_worker_sums *w = context;
    int error = 0;

    if (source->process != w->process)
        error = tptrace_sums_turn_to(w, source);
    if (!error)
        error = tptrace_launches_rest(w->all->launches, source, stream, &w->sink);
    pthread_mutex_unlock(&w->all->lock);
    return error;
}

static void ended(void *context, const struct tptrace_source *source,
                  const struct tp_stream_range *range)
{
    struct tptrace_worker_sums *w = context;

    tptrace_launches_ended(w->all->launches, source, range);
}

static void folded(void *context, const struct tptrace_source *source,
                   const struct tp_stream_range *range, const struct tp_stream_range *parent)
{
    (void)context;
    tptrace_launches_folded(source, range, parent);
}

static int merge(void *context, const struct tp_stream_range *into, void **into_note, void *note,
                 bool fold)
{
    struct tptrace_worker_sums *w = context;

    return tptrace_launches_merge(w->all->launches, into, into_note, note, fold);
}

static const struct tptrace_watcher watcher = {.begin_piece = begin_piece,
                                               .end_piece = end_piece,
                                               .ended = ended,
                                               .folded = folded,
                                               .merge = merge};

void tptrace_sums_cuda_consumer(struct tptrace_worker_sums *w, struct tptrace_consumer *consumer)
{
    w->sink = (struct tptrace_launch_sink){
        .context = w, .call = tell_call, .memory = tell_memory, .path = tell_path};
    consumer->cuda = take;
    consumer->watcher = &watcher;
}

/* ---- the end ---- */

static int put_memory(struct tptrace_worker_sums *w, const struct tptrace_cell *cell)
{
    struct tptrace_member_event member = cell->first;

    if (!cell->count)
        return 0;
    member.name = tptrace_names_text(w->names, "[memory]");
    struct tp_average_event average = tptrace_sums_average(w, &member);
    average.count = cell->count;
    average.device_memory = cell->device;
    average.device_memory_self = cell->self_device;
    return tp_averages_add(w->averages, &average);
}

int tptrace_sums_cuda_finish(struct tptrace_worker_sums *w)
{
    bool framework = w->process->totals.stream.device_memory != 0;
    struct tptrace_sums *sums = w->all;
    int error = tptrace_launches_finish(sums->launches, w->cuda_totals, &w->sink);

    if (!error && sums->kernels)
        error = tptrace_kernels_end(sums->kernels);

    for (unsigned i = 0; i < sums->count; i++) {
        struct tptrace_worker_sums *other = sums->workers[i];
        if (!error)
            error = put_memory(w, framework ? &other->own_memory : &other->memory);
        other->memory = other->own_memory = (struct tptrace_cell){0};
    }
    if (!error && !framework && sums->cuda_memory)
        error = tp_averages_merge(w->averages, sums->cuda_memory);
    tp_averages_destroy(sums->cuda_memory);
    sums->cuda_memory = NULL;
    return error;
}
