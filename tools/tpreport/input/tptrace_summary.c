/* SPDX-License-Identifier: MIT */
#include "input/tptrace_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_file.h"

#define FILE_MAX (TP_BLOCK_PAYLOAD_MAX + (64u << 10))

int tptrace_summary_open(struct tptrace_summary *ret_summary, const char *dir,
                         const uint8_t *expect_uuid, struct tp_diag *diag)
{
    char path[TPTRACE_PATH_MAX];
    void *bytes;

    *ret_summary = (struct tptrace_summary){0};
    if (tptrace_path(path, dir, TP_SUMMARY_FILE))
        return tp_diag_fail(diag, -ENAMETOOLONG, TP_DIAG_NO_OFFSET, "path too long");
    int error = tptrace_read_file(path, FILE_MAX, &bytes, &ret_summary->bytes, diag);
    if (error)
        return error == -ENOENT ? 0 : error;
    error = tp_summary_read(&ret_summary->file, bytes, ret_summary->bytes, expect_uuid, diag);
    free(bytes);
    if (error)
        tp_diag_at(diag, path);
    ret_summary->is_there = !error;
    ret_summary->row_count = ret_summary->file.row_count;
    ret_summary->open_count = ret_summary->file.frame_count;
    return error;
}

void tptrace_summary_close(struct tptrace_summary *summary)
{
    tp_summary_free(&summary->file);
}

void tptrace_summary_release(struct tptrace_summary *summary)
{
    struct tp_summary_totals totals = summary->file.totals;
    bool has_credits = summary->file.has_credits;

    tp_summary_free(&summary->file);
    summary->file.totals = totals;
    summary->file.has_credits = has_credits;
}

/* Over a long time a clock's rate is what it was in that time; over a short one what it is in a
 * second, since times are whole nanoseconds. */
int64_t tptrace_summary_ns(const struct tptrace_summary *summary, const struct tp_clock *clock,
                           int64_t ticks)
{
    uint64_t first = summary->file.totals.first_ticks;
    uint64_t span = summary->file.totals.last_ticks - first;
    size_t cursor = 0;

    if ((double)span < clock->ticks_per_second)
        span = (uint64_t)clock->ticks_per_second;
    int64_t from_ns = tp_clock_ns(clock, &cursor, first);
    int64_t to_ns = tp_clock_ns(clock, &cursor, first + span);
    long double ns = (long double)ticks * (long double)(to_ns - from_ns) / (long double)span;
    ns += ns < 0 ? -0.5L : 0.5L;
    return ns < 0x1p62L && ns > -0x1p62L ? (int64_t)ns : ns < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
}

static struct tp_stream_kids kids_of(const struct tptrace_summary *summary,
                                     const struct tp_clock *clock,
                                     const struct tp_summary_kids *kids)
{
    return (struct tp_stream_kids){.ns = tptrace_summary_ns(summary, clock, (int64_t)kids->ticks),
                                   .memory = kids->memory,
                                   .device = kids->device,
                                   .count = kids->count};
}

int tptrace_summary_adopt(const struct tptrace_summary *summary,
                          const struct tp_summary_track *track, const struct tp_clock *clock,
                          void *const *notes, struct tp_stream *stream)
{
    int error = 0;

    for (uint32_t i = 0; i < track->frame_count && !error; i++) {
        size_t number = (size_t)track->first_frame + i;
        const struct tp_summary_frame *frame = &summary->file.frames[number];
        struct tp_stream_adopted range = {
            .ticks = frame->start,
            .device_start = frame->device_start,
            .kids = kids_of(summary, clock, &frame->kids),
            .note = notes ? notes[2 * number] : NULL,
            .has_held = frame->has_held,
        };
        memcpy(range.record, frame->record, sizeof(range.record));
        if (frame->has_held) {
            memcpy(range.held.record, frame->held.record, sizeof(range.held.record));
            range.held.ticks = frame->held.start;
            range.held.end_ticks = frame->held.end;
            range.held.memory = frame->held.memory;
            range.held.device = frame->held.device;
            range.held.note = notes ? notes[2 * number + 1] : NULL;
            range.held.kids = kids_of(summary, clock, &frame->held.kids);
        }
        error = tp_stream_adopt(stream, &range);
    }
    stream->ticks = track->ticks;
    stream->device_bytes = track->device_bytes;
    memcpy(stream->counters, track->counters, sizeof(stream->counters));
    memcpy(stream->skipped, track->skipped, sizeof(stream->skipped));
    return error;
}

bool tptrace_summary_has_work(const struct tptrace_summary *summary)
{
    for (unsigned kind = TP_EVENT_GPU_KERNEL; kind <= TP_EVENT_GPU_GRAPH; kind++)
        if (summary->file.totals.kinds[kind])
            return true;
    return false;
}
