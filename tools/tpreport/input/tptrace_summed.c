/* SPDX-License-Identifier: MIT
 * Device work of the running summary, for who sums it beside what is there piece by piece. */
#include <errno.h>
#include <stdlib.h>

#include "input/tptrace_list.h"
#include "input/tptrace_summed.h"

/* Times of a device may be in a clock of their own, which counts nanoseconds. */
static double ns_per_tick(const struct tptrace_process *process)
{
    const int64_t many = INT64_C(1) << 40;

    return process->cuda_clock.in_ticks
               ? (double)tptrace_summary_ns(&process->summary, &process->clock, many) / (double)many
               : 1;
}

static enum tp_summed_kind kind_of(unsigned kind)
{
    return kind == TP_EVENT_CUDA_SYNC                                   ? TP_SUMMED_WAITS
           : kind == TP_EVENT_GPU_MEMCPY || kind == TP_EVENT_GPU_MEMSET ? TP_SUMMED_COPIES
                                                                        : TP_SUMMED_KERNELS;
}

static int take_row(const struct tptrace_summed_reading *reading,
                    const struct tptrace_source *source, const struct tp_summary_row *row)
{
    const struct tptrace_process *p = source->process;
    double rate = ns_per_tick(p);
    struct tptrace_activity activity;
    struct tp_summed_lengths *lengths = calloc((size_t)row->bucket_count + 1, sizeof(*lengths));

    if (!lengths)
        return -ENOMEM;
    for (uint32_t i = 0; i < row->bucket_count; i++)
        lengths[i] =
            (struct tp_summed_lengths){.ns = (double)tp_sketch_value(row->buckets[i].bucket) * rate,
                                       .count = row->buckets[i].count};
    tptrace_activity_read(&activity, row->record, &p->cuda_clock, reading->cursor, source->names,
                          reading->made, &p->meta.cuda);
    struct tp_summed_work work = {.kind = kind_of(activity.kind),
                                  .name = activity.name->name,
                                  .count = row->sums.count,
                                  .total_ns = (int64_t)((double)row->sums.ticks * rate + 0.5),
                                  .least_ns = (int64_t)((double)row->sums.least * rate + 0.5),
                                  .most_ns = (int64_t)((double)row->sums.most * rate + 0.5),
                                  .lengths = lengths,
                                  .length_count = row->bucket_count};
    int error = reading->sink->take(reading->sink, &work);
    free(lengths);
    return error;
}

int tptrace_summed_read(const struct tptrace_summed_reading *reading,
                        const struct tptrace_source *source)
{
    const struct tp_summary *summary = &source->process->summary.file;
    int error = 0;

    for (uint32_t i = 0; i < summary->row_count && !error; i++) {
        unsigned kind = tp_slot_kind(summary->rows[i].record);
        if (tptrace_is_device_work(kind) || kind == TP_EVENT_CUDA_SYNC)
            error = take_row(reading, source, &summary->rows[i]);
    }
    return error;
}

int tptrace_list_evicted(void *context, const struct tptrace_source *source, void **notes)
{
    struct tptrace_list *list = context;
    struct tptrace_summed_reading reading = {list->summed, &list->cursor, &list->made};

    (void)notes;
    return tptrace_summed_read(&reading, source);
}
