/* SPDX-License-Identifier: MIT
 * What was evicted: how the stack machines stood behind it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_file.h"
#include "input/tptrace_stream_run.h"

/* Lists show no range that is gone, nor what began there. */
static bool is_of_ranges(const struct tptrace_stream_options *options)
{
    return options->fold || options->verify;
}

/* Sums tell nothing of a selection within a process, and they are of ranges that were folded. */
bool tptrace_stream_wants_summary(const struct tptrace_stream_run *run)
{
    const struct tptrace_stream_options *options = run->options;

    return run->process->summary.is_there && run->consumers[0].evicted &&
           (is_of_ranges(options) || tptrace_summary_has_work(&run->process->summary)) &&
           !options->window_count && !options->thread && !options->kept_only;
}

static int fail_track(struct tptrace_stream_run *run, uint32_t number)
{
    struct tp_diag diag;

    tp_diag_fail(&diag, -TP_ECORRUPT, TP_DIAG_NO_OFFSET, "track %u is there twice, or is none",
                 number);
    run->process->totals.unreadable_files++;
    tptrace_trouble(run->process, &diag, TP_SUMMARY_FILE);
    return 0;
}

/* Ranges that were open in what was evicted go on in what is left. */
static int begin_track(struct tptrace_stream_run *run, const struct tp_summary_track *told,
                       void **notes)
{
    struct tptrace_process *p = run->process;
    struct tptrace_track *track;

    int error = tptrace_process_find_track(p, told->track, &track);
    if (error == -TP_ELIMIT || (!error && track->reading))
        return fail_track(run, told->track);
    if (error)
        return error;
    track->join.next = track->join.first_gap = told->next_slot;
    if (tptrace_process_uncounted(p))
        track->join.begins_at = told->next_slot;
    struct tptrace_piece piece = {.track = track, .first_ticks = told->ticks};
    struct tptrace_reading *r = tptrace_stream_reading(run, &piece);
    if (!r)
        return -ENOMEM;
    return tptrace_summary_adopt(&p->summary, told, &p->clock, r->is_watched ? notes : NULL,
                                 &r->stream);
}

static int begin_half(struct tptrace_stream_run *run, const struct tp_summary_half *told)
{
    struct tptrace_process *p = run->process;
    struct tptrace_async_half half, other;
    struct tptrace_track *track;
    size_t cursor = 0;

    int error = tptrace_process_find_track(p, told->track, &track);
    if (error)
        return error == -TP_ELIMIT ? fail_track(run, told->track) : error;
    half = (struct tptrace_async_half){
        .id = told->record[4],
        .is_end = tp_slot_kind(told->record) == TP_EVENT_ASYNC_END,
        .ns = tp_clock_ns(&p->clock, &cursor, told->ticks),
        .tid = track->tid,
        .ordinal = track->ordinal,
    };
    memcpy(half.record, told->record, sizeof(half.record));
    error = tptrace_async_match(&run->async, &half, &other);
    return error < 0 && error != -TP_ELIMIT ? error : 0;
}

int tptrace_stream_begin_evicted(struct tptrace_stream_run *run)
{
    struct tptrace_process *p = run->process;
    const struct tp_summary *summary = &p->summary.file;
    struct tptrace_source source = {.process = p,
                                    .names = run->names,
                                    .ordinal = run->options->first_ordinal,
                                    .user = run->options->user,
                                    .options = run->options,
                                    .cuda_totals = &p->totals.cuda};
    void **notes = calloc(2 * ((size_t)summary->frame_count + 1), sizeof(*notes));

    if (!notes)
        return -ENOMEM;
    run->blocks.first_segment = summary->totals.first_segment;
    if (summary->totals.last_ticks > p->last_ticks)
        p->last_ticks = summary->totals.last_ticks;
    p->totals.stream.device_memory += summary->totals.device_memory;
    p->totals.cuda.has_device_work |= tptrace_summary_has_work(&p->summary);
    p->summary.work_only = !is_of_ranges(run->options);
    int error = run->consumers[0].evicted(run->consumers[0].context, &source, notes);
    for (uint32_t i = 0; i < summary->track_count && !p->summary.work_only && !error; i++)
        error = begin_track(run, &summary->tracks[i], notes);
    for (uint32_t i = 0; i < summary->half_count && !p->summary.work_only && !error; i++)
        error = begin_half(run, &summary->halves[i]);
    free(notes);
    return error;
}
