/* SPDX-License-Identifier: MIT
 * Averages of what was evicted: each row of the running summary is added as one event of many. */
#include <errno.h>
#include <stdlib.h>

#include "input/tptrace_kernels.h"
#include "input/tptrace_summed.h"
#include "input/tptrace_sums.h"
#include "model/function_event.h"

struct adding {
    struct tptrace_worker_sums *w;
    const struct tptrace_process *process;
    const struct tp_summary_row *row;
    const uint64_t *record;             /* of one of them */
    uint64_t start, end;                /* its, in ticks */
    struct tptrace_member_event member; /* the same */
};

static int64_t ns_of(const struct adding *a, int64_t ticks)
{
    return tptrace_summary_ns(&a->process->summary, &a->process->clock, ticks);
}

/* Times of a device may be in a clock of their own, which counts nanoseconds. */
static int64_t device_ns_of(const struct adding *a, uint64_t ticks)
{
    return a->process->cuda_clock.in_ticks ? ns_of(a, (int64_t)ticks) : (int64_t)ticks;
}

static const struct tp_stream_name *name_of(struct tptrace_names *names, const uint64_t *record)
{
    unsigned kind = tp_slot_kind(record);
    bool nvtx = tp_kinds[kind].class_ == TP_CLASS_NVTX ||
                (kind == TP_EVENT_ASYNC_BEGIN && (record[5] & 0xff) == TP_CLASS_NVTX);

    return nvtx ? tptrace_names_nvtx(names, tp_slot_argument(record))
                : tptrace_names_plain(names, tp_slot_argument(record));
}

static void set_range(struct adding *a, struct tptrace_names *names)
{
    const uint64_t *record = a->record;
    bool op = tp_slot_kind(record) == TP_EVENT_OP_BEGIN;
    struct tptrace_cuda_cursor *cursor = &a->w->cursor;

    a->member.name = name_of(names, record);
    a->member.shapes = op ? (uint32_t)record[6] : 0;
    a->member.scope = op ? (uint8_t)record[7] : 0;
    a->member.start_ns = tp_clock_ns(&a->process->clock, &cursor->process, a->start);
    a->member.end_ns = tp_clock_ns(&a->process->clock, &cursor->process, a->end);
}

static void set_activity(struct adding *a, struct tptrace_names *names)
{
    struct tptrace_activity activity;

    tptrace_activity_read(&activity, a->record, &a->process->cuda_clock, &a->w->cursor, names,
                          &a->w->made, &a->process->meta.cuda);
    a->member.name = activity.name;
    a->member.start_ns = activity.start_ns;
    a->member.end_ns = activity.end_ns;
}

static void set_sums(const struct adding *a, struct tp_average_event *average)
{
    const struct tp_summary_sums *sums = &a->row->sums;

    average->count = sums->count;
    if (average->device_type != TP_DEVICE_CPU) {
        average->device_total_ns = average->device_self_ns = device_ns_of(a, sums->ticks);
        return;
    }
    if (a->member.kind == TP_EVENT_CUDA_OVERHEAD) {
        average->cpu_total_ns = device_ns_of(a, sums->ticks);
        return;
    }
    average->cpu_total_ns = ns_of(a, (int64_t)sums->ticks);
    average->cpu_self_ns = ns_of(a, sums->self_ticks);
    average->cpu_memory = sums->memory;
    average->cpu_memory_self = sums->self_memory;
    average->device_memory = sums->device;
    average->device_memory_self = sums->self_device;
    average->device_total_ns = device_ns_of(a, sums->work_ticks);
    average->device_self_ns = device_ns_of(a, sums->own_work_ticks);
}

/* What one of them is as an event, without sums. */
static struct tp_average_event event_of(struct adding *a, struct tptrace_names *names,
                                        bool has_parent)
{
    unsigned kind = tp_slot_kind(a->record);

    a->member = (struct tptrace_member_event){.kind = (uint8_t)kind, .has_parent = has_parent};
    if (tptrace_is_activity(kind))
        set_activity(a, names);
    else
        set_range(a, names);
    struct tp_average_event event = tptrace_sums_average(a->w, &a->member);
    if (kind == TP_EVENT_ASYNC_BEGIN)
        event.flags |= TP_EVENT_ASYNC;
    return event;
}

/* How long they took, by the sketch. */
static int add_lengths(const struct adding *a, const struct tp_average_event *event)
{
    const struct tp_summary_row *row = a->row;
    bool work = tptrace_is_activity(a->member.kind);
    struct tp_summed_lengths *lengths = calloc((size_t)row->bucket_count + 1, sizeof(*lengths));

    if (!lengths)
        return -ENOMEM;
    for (uint32_t i = 0; i < row->bucket_count; i++) {
        uint64_t ticks = tp_sketch_value(row->buckets[i].bucket);
        lengths[i].ns = (double)(work ? device_ns_of(a, ticks) : ns_of(a, (int64_t)ticks));
        lengths[i].count = row->buckets[i].count;
    }
    struct tp_summed_work all = {.count = row->sums.count, .lengths = lengths};
    all.length_count = row->bucket_count;
    all.total_ns = work ? device_ns_of(a, row->sums.ticks) : ns_of(a, (int64_t)row->sums.ticks);
    all.least_ns = work ? device_ns_of(a, row->sums.least) : ns_of(a, (int64_t)row->sums.least);
    all.most_ns = work ? device_ns_of(a, row->sums.most) : ns_of(a, (int64_t)row->sums.most);
    int error = tp_averages_lengths(a->w->averages, event, &all);
    free(lengths);
    return error;
}

static int add_row(struct adding *a, const struct tp_summary_row *row, struct tptrace_names *names)
{
    a->row = row;
    a->record = row->record;
    a->start = row->sums.first_start;
    a->end = row->sums.first_end;
    if (tp_slot_kind(row->record) == TP_EVENT_MEMORY) {
        set_range(a, names);
        tptrace_sums_own_memory(a->w, a->member.start_ns, row->sums.device, row->sums.count);
        return 0;
    }
    struct tp_average_event event = event_of(a, names, row->sums.has_parent);
    set_sums(a, &event);
    int error = tp_averages_add(a->w->averages, &event);
    return error || !a->w->percentiles ? error : add_lengths(a, &event);
}

/* It lends a total its fields and adds nothing. */
static int add_last(struct adding *a, const struct tp_summary *summary, struct tptrace_names *names)
{
    const struct tp_summary_last *last = &summary->totals.last;

    a->record = last->row ? summary->rows[last->row - 1].record : NULL;
    if (!a->record || tp_slot_kind(a->record) == TP_EVENT_MEMORY)
        return 0;
    a->start = last->start;
    a->end = last->end;
    struct tp_average_event event = event_of(a, names, last->has_parent);
    return tp_averages_add(a->w->averages, &event);
}

/* ---- launches ---- */

static struct tp_launch_key key_of(const struct adding *a, struct tptrace_names *names,
                                   const uint64_t *record)
{
    bool op = tp_slot_kind(record) == TP_EVENT_OP_BEGIN;

    return (struct tp_launch_key){.name = name_of(names, record),
                                  .shapes = op && a->w->by_shapes ? (uint32_t)record[6] : 0,
                                  .kind = (uint8_t)tp_slot_kind(record),
                                  .scope = op ? (uint8_t)record[7] : 0};
}

/* Return: NULL without memory. */
static struct tp_launch_node *join_path(const struct adding *a, const struct tp_summary *summary,
                                        struct tptrace_names *names,
                                        const struct tp_summary_path *path,
                                        struct tp_launch_node **paths, void **notes)
{
    struct tptrace_launches *launches = a->w->all->launches;

    if (path->of == TP_SUMMARY_ENDED) {
        struct tp_launch_key key = key_of(a, names, summary->rows[path->row - 1].record);
        return tptrace_launches_ended_path(launches, paths[path->parent], &key);
    }
    size_t frame = summary->tracks[path->track].first_frame + (size_t)path->frame;
    bool is_held = path->of == TP_SUMMARY_HELD;
    const uint64_t *record =
        is_held ? summary->frames[frame].held.record : summary->frames[frame].record;
    struct tp_launch_key key = key_of(a, names, record);
    return tptrace_launches_open_path(launches, &key, &notes[2 * frame + is_held],
                                      device_ns_of(a, path->own_ticks),
                                      device_ns_of(a, path->below_ticks));
}

static int join_ids(const struct adding *a, const struct tp_summary *summary,
                    struct tp_launch_node **paths)
{
    struct tptrace_launches *launches = a->w->all->launches;
    int error = 0;

    for (uint32_t i = 0; i < summary->call_count && !error; i++) {
        const struct tp_summary_call *call = &summary->calls[i];
        error = tptrace_launches_placed(launches, call->id, paths[call->path], call->saw_work);
    }
    for (uint32_t i = 0; i < summary->work_count && !error; i++) {
        const struct tp_summary_waiting *work = &summary->works[i];
        error =
            tptrace_launches_waiting(launches, work->id, work->count, device_ns_of(a, work->ticks));
    }
    return error;
}

/* What the summary says of calls, their ranges and their work goes on in what is left. */
static int join_launches(const struct adding *a, const struct tptrace_source *source, void **notes)
{
    const struct tp_summary *summary = &source->process->summary.file;
    struct tp_launch_node **paths = calloc((size_t)summary->path_count + 1, sizeof(void *));
    int error = paths ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < summary->path_count && !error; i++) {
        paths[i + 1] = join_path(a, summary, source->names, &summary->paths[i], paths, notes);
        error = paths[i + 1] ? 0 : -ENOMEM;
    }
    if (!error)
        error = join_ids(a, summary, paths);
    free(paths);
    source->cuda_totals->without_launch += summary->without_launch;
    source->cuda_totals->without_launch_ns += device_ns_of(a, summary->without_launch_ticks);
    return error;
}
int tptrace_sums_evicted(void *context, const struct tptrace_source *source, void **notes)
{
    const struct tp_summary *summary = &source->process->summary.file;
    struct adding a = {.w = context, .process = source->process};
    int error = tptrace_sums_turn_to(a.w, source);

    for (uint32_t i = 0; i < summary->row_count && !error; i++)
        error = add_row(&a, &summary->rows[i], source->names);
    if (!error)
        error = add_last(&a, summary, source->names);
    if (!error && source->process->meta.cuda.is_known)
        error = join_launches(&a, source, notes);
    if (error || !a.w->all->kernels)
        return error;
    struct tptrace_summed_reading reading = {tptrace_kernels_summed(a.w->all->kernels),
                                             &a.w->cursor, &a.w->made};
    return tptrace_summed_read(&reading, source);
}
