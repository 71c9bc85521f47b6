/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "input/tptrace.h"
#include "input/tptrace_windows.h"

#define THREADS_SHOWN 20
#define LABEL "%-11s "

static void put_label(struct tp_buffer *out, const char *label)
{
    tp_buffer_format(out, LABEL, label);
}

static void put_time(struct tp_buffer *out, int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm tm;
    char text[32] = "?";

    if (gmtime_r(&seconds, &tm))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    tp_buffer_format(out, "%s.%03dZ", text, (int)(ns / 1000000 % 1000));
}

static void put_size(struct tp_buffer *out, uint64_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double size = (double)bytes;
    unsigned unit = 0;

    while (size >= 1024 && unit < 4) {
        size /= 1024;
        unit++;
    }
    tp_buffer_format(out, unit ? "%.2f %s" : "%.0f %s", size, units[unit]);
}

static uint64_t count_records(const struct tptrace_totals *totals)
{
    uint64_t records = 0;

    for (unsigned k = 0; k < TP_EVENT_KIND_END; k++)
        records += totals->stream.kinds[k];
    return records;
}

static void put_run(struct tp_buffer *out, const struct tptrace_run *run)
{
    uint64_t bytes = 0, records = 0;

    for (size_t i = 0; i < run->count; i++) {
        bytes += run->members[i].process.totals.disk_bytes;
        records += count_records(&run->members[i].process.totals);
    }
    put_label(out, "recording");
    tp_buffer_format(out, "%s\n", run->place.run_name);
    put_label(out, "path");
    tp_buffer_format(out, "%s\n", run->place.run_dir);
    put_label(out, "started");
    put_time(out, run->start_ns);
    tp_buffer_char(out, '\n');
    put_label(out, "duration");
    tptrace_duration(out, run->end_ns - run->start_ns);
    tp_buffer_char(out, '\n');
    put_label(out, "processes");
    tp_buffer_format(out, "%zu", run->count);
    if (run->count < run->found)
        tp_buffer_format(out, " of %zu", run->found);
    tp_buffer_char(out, '\n');
    put_label(out, "size");
    put_size(out, bytes);
    tp_buffer_string(out, ", ");
    tp_buffer_count(out, records, "record{|s}");
    if (records)
        tp_buffer_format(out, ", %.2f bytes a record", (double)bytes / (double)records);
    tp_buffer_char(out, '\n');
    put_label(out, "whole");
    tp_buffer_string(out, tptrace_run_was_cut(run) ? "no\n" : "yes\n");
}

static void put_state(struct tp_buffer *out, const struct tptrace_run *run,
                      const struct tptrace_member *member)
{
    const struct tptrace_member *image = tptrace_next_image(run, member);
    const struct tptrace_process *p = &member->process;
    size_t cursor = 0;
    int64_t end_ns =
        p->last_ticks ? tp_clock_ns(&p->clock, &cursor, p->last_ticks) : member->start_ns;

    put_label(out, "  state");
    tp_buffer_string(out, tptrace_state_name(p->state));
    if (p->meta.end_reason)
        tp_buffer_format(out, " (%.40s)", p->meta.end_reason);
    tp_buffer_string(out, ", started ");
    put_time(out, member->start_ns);
    tp_buffer_string(out, ", last record after ");
    tptrace_duration(out, end_ns - member->start_ns);
    if (image) {
        tp_buffer_string(out, ", went on as ");
        tptrace_put_image(out, image);
    }
    tp_buffer_char(out, '\n');
}

static void put_clock(struct tp_buffer *out, const struct tptrace_member *member)
{
    const struct tp_clock *clock = &member->process.clock;

    put_label(out, "  clock");
    tp_buffer_format(out, "%.20s, %.6f GHz (%s), ",
                     member->process.meta.clock ? member->process.meta.clock : "unknown",
                     clock->ticks_per_second / 1e9, tptrace_rate_name(member->rate_from));
    tp_buffer_count(out, clock->pair_count, "reading{|s}");
    if (clock->segments > 1) {
        tp_buffer_string(out, ", ");
        tp_buffer_count(out, clock->segments - 1, "jump{|s}");
    }
    tp_buffer_char(out, '\n');
}

static void put_threads(struct tp_buffer *out, const struct tptrace_process *p)
{
    put_label(out, "  threads");
    tp_buffer_format(out, "%zu", p->tracks.count);
    for (size_t i = 0; i < p->tracks.count && i < THREADS_SHOWN; i++) {
        const struct tptrace_meta_track *said =
            tptrace_meta_find_track(&p->meta, p->tracks.items[i]->number);
        tp_buffer_format(out, "%s%u", i ? ", " : ": ", p->tracks.items[i]->tid);
        if (said && said->name && *said->name)
            tp_buffer_format(out, " %.32s", said->name);
    }
    tp_buffer_string(out, p->tracks.count > THREADS_SHOWN ? ", ...\n" : "\n");
}

static void put_sources(struct tp_buffer *out, const struct tptrace_meta *meta)
{
    if (!meta->source_count)
        return;
    put_label(out, "  sources");
    for (size_t i = 0; i < meta->source_count; i++) {
        const struct tptrace_meta_source *source = &meta->sources[i];
        tp_buffer_format(out, "%s%.40s %.20s", i ? ", " : "", source->name,
                         source->state ? source->state : "?");
        if (source->why && *source->why)
            tp_buffer_format(out, " (%.200s)", source->why);
    }
    tp_buffer_char(out, '\n');
}

static void put_cuda(struct tp_buffer *out, const struct tptrace_meta_cuda *cuda)
{
    if (cuda->is_known) {
        put_label(out, "  cuda");
        tp_buffer_format(out, "%.20s", cuda->mode ? cuda->mode : "?");
        if (cuda->library)
            tp_buffer_format(out, " %.300s", cuda->library);
        if (cuda->api)
            tp_buffer_format(out, " (API %llu)", (unsigned long long)cuda->api);
        if (cuda->clock)
            tp_buffer_format(out, ", clock %.20s", cuda->clock);
        if (cuda->pair_count) {
            tp_buffer_string(out, ", ");
            tp_buffer_count(out, cuda->pair_count, "reading{|s}");
        }
        if (cuda->graphs)
            tp_buffer_format(out, ", graphs by %.20s", cuda->graphs);
        if (cuda->why && *cuda->why)
            tp_buffer_format(out, " (%.200s)", cuda->why);
        tp_buffer_char(out, '\n');
    }
    for (size_t i = 0; i < cuda->device_count; i++) {
        const struct tptrace_cuda_device *device = &cuda->devices[i];
        put_label(out, "  device");
        tp_buffer_format(out, "%u %.64s, ", device->device, device->name ? device->name : "?");
        tp_buffer_count(out, device->sms, "multiprocessor{|s}");
        tp_buffer_format(out, ", capability %u.%u, ", device->major, device->minor);
        put_size(out, device->memory);
        tp_buffer_char(out, '\n');
    }
}

static void put_records(struct tp_buffer *out, const struct tptrace_totals *t)
{
    bool first = true;

    put_label(out, "  records");
    tp_buffer_format(out, "%llu", (unsigned long long)count_records(t));
    for (unsigned k = 0; k < TP_EVENT_KIND_END; k++) {
        if (!t->stream.kinds[k])
            continue;
        tp_buffer_format(out, "%s%s %llu", first ? ": " : ", ", tp_kinds[k].name,
                         (unsigned long long)t->stream.kinds[k]);
        first = false;
    }
    tp_buffer_char(out, '\n');
}

static void put_files(struct tp_buffer *out, const struct tptrace_member *member)
{
    const struct tptrace_process *p = &member->process;

    put_label(out, "  files");
    put_size(out, p->totals.disk_bytes);
    tp_buffer_string(out, ": ");
    tp_buffer_count(out, p->segment_count, "segment{|s}, ");
    tp_buffer_count(out, p->totals.blocks, "block{|s}, ");
    if (p->totals.rings) {
        tp_buffer_count(out, p->totals.rings, "ring{|s} with ");
        tp_buffer_count(out, p->totals.ring_slots, "slot{|s}, ");
    }
    tp_buffer_count(out, member->name_count, "name{|s}\n");
}

static void put_evicted(struct tp_buffer *out, const struct tptrace_summary *summary)
{
    const struct tp_summary_totals *t = &summary->file.totals;

    if (!summary->is_there)
        return;
    put_label(out, "  evicted");
    tp_buffer_format(out,
                     "%llu segments, %llu blocks, %llu slots; their %llu ranges as %u rows in a "
                     "running summary of ",
                     (unsigned long long)t->segments, (unsigned long long)t->blocks,
                     (unsigned long long)t->slots, (unsigned long long)t->ranges,
                     summary->row_count);
    put_size(out, summary->bytes);
    tp_buffer_char(out, '\n');
}

static void put_member(struct tp_buffer *out, const struct tptrace_run *run,
                       const struct tptrace_member *member)
{
    const struct tptrace_meta *meta = &member->process.meta;

    tp_buffer_format(out, "\nprocess %u", member->pid);
    if (meta->program)
        tp_buffer_format(out, "  %.64s", meta->program);
    if (member->rank >= 0)
        tp_buffer_format(out, "  rank %lld", (long long)member->rank);
    tp_buffer_format(out, "  parent %u  host %.64s\n", meta->parent_pid,
                     meta->host ? meta->host : "unknown");
    put_state(out, run, member);
    put_clock(out, member);
    put_threads(out, &member->process);
    put_sources(out, meta);
    if (meta->capture_plan) {
        put_label(out, "  capture");
        tptrace_windows_text(out, member);
        tp_buffer_char(out, '\n');
    }
    put_cuda(out, &meta->cuda);
    put_records(out, &member->process.totals);
    put_files(out, member);
    put_evicted(out, &member->process.summary);
}

static void put_text(struct tp_buffer *out, const struct tptrace_run *run,
                     const struct tp_strings *strings)
{
    struct tp_buffer lines = {0};

    put_run(out, run);
    for (size_t i = 0; i < run->count; i++) {
        if (run->members[i].was_read && !run->members[i].failed)
            put_member(out, run, &run->members[i]);
    }
    tptrace_head_lines(run, strings, "  ", SIZE_MAX, &lines);
    if (lines.size) {
        tp_buffer_string(out, "\nnotes\n");
        tp_buffer_bytes(out, lines.bytes, lines.size);
    }
    out->failed |= lines.failed;
    tp_buffer_fini(&lines);
}

int tptrace_info(const char *path, const struct tp_selection *selection, bool json,
                 struct tp_buffer *out, bool *ret_cut, struct tp_diag *diag)
{
    static const struct tptrace_consumer nobody[64];
    struct tptrace_run_options how = {.selection = selection, .fold = true, .trouble_limit = 64};
    struct tptrace_run run;
    struct tp_strings strings;

    if (tp_strings_init(&strings))
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    int error = tptrace_run_open(&run, path, selection, diag);
    if (!error)
        error = tptrace_run_read(&run, &how, &strings, nobody, diag);
    if (!error && json) {
        tptrace_head_json(&run, &strings, true, out);
        tp_buffer_char(out, '\n');
    } else if (!error) {
        put_text(out, &run, &strings);
    }
    if (!error && out->failed)
        error = tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    *ret_cut = !error && tptrace_run_was_cut(&run);
    tptrace_run_close(&run);
    tp_strings_fini(&strings);
    return error;
}
