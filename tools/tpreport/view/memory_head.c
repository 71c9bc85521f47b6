/* SPDX-License-Identifier: MIT */
#include "view/memory_head.h"

#include <math.h>

#include "view/format.h"

void tp_memory_put_bytes(struct tp_buffer *out, double bytes)
{
    tp_format_memory(out, tp_number_integer((int64_t)round(bytes)));
}

static void put_label(struct tp_buffer *out, const char *label)
{
    tp_buffer_format(out, "%-12s", label);
}

/* ---- what was recorded ---- */

static void put_nothing_recorded(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
    bool is_counted = p->coverage.is_counted;

    if (p->coverage.is_wanted)
        tp_buffer_format(out, "no single allocation, though TPAGENT_ALLOC asked for them%s\n",
                         is_counted ? "; counters of ranges and threads" : "");
    else if (!is_counted)
        tp_buffer_string(out, "no allocations, neither counted nor single ones (TPAGENT_ALLOC)\n");
    else if (!p->threads.count)
        tp_buffer_string(out, "counters, but no range and no other event that would tell them; no "
                              "single allocations (TPAGENT_ALLOC=sample:BYTES or all has them)\n");
    else
        tp_buffer_string(out,
                         "counters of ranges and threads; no single allocations, so no stacks, "
                         "no peak, no leaks (TPAGENT_ALLOC=sample:BYTES or all has them)\n");
}

static void put_samples(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
    tp_buffer_count(out, p->records, "sample{|s}, one in ");
    tp_memory_put_bytes(out, (double)p->largest_period);
    tp_buffer_string(out, " on average; all numbers are estimates\n");
    put_label(out, "no row");
    tp_buffer_string(out, "whatever has none below allocated less than ");
    tp_memory_put_bytes(out, -log(0.05) * (double)p->largest_period);
    tp_buffer_string(out, ", with 95 %\n");
}

/* All is said only where it is known. */
static void put_all(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
    const struct tp_alloc_coverage *c = &p->coverage;
    const char *which = tp_alloc_coverage_is_from_start(c) ? "every one from the agent's start on"
                        : tp_alloc_coverage_is_whole(c)
                            ? "every one from the first recorded one of each thread on"
                        : c->has_windows ? "those in capture windows"
                                         : "not every one";

    tp_buffer_count(out, p->records, "allocation{|s}, ");
    tp_buffer_format(out, "%s%s\n", c->is_selected ? "selected among " : "", which);
    if (!p->untimed)
        return;
    put_label(out, "times");
    tp_buffer_count(out, p->untimed,
                    "{has|have} no time of {its|their} own and count{s|} as at {its|their} "
                    "thread's record before\n");
}

static void put_recorded(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
    put_label(out, "recorded");
    if (!p->records)
        put_nothing_recorded(out, p);
    else if (p->largest_period)
        put_samples(out, p);
    else
        put_all(out, p);
}

/* ---- what was not ---- */

static void put_part(struct tp_buffer *out, unsigned *parts, uint64_t count, const char *text)
{
    if (!count)
        return;
    tp_buffer_string(out, (*parts)++ ? "; " : "");
    tp_buffer_count(out, count, text);
}

/* Counted, and in no sum. */
static void put_left_out(struct tp_buffer *out, const struct tp_alloc_coverage *c)
{
    unsigned parts = 0;

    if (!c->before && !c->between && !c->after)
        return;
    put_label(out, "not in here");
    put_part(out, &parts, c->before,
             tp_alloc_coverage_is_from_start(c)
                 ? "allocation{|s} that {was|were} counted before the agent's start"
                 : "allocation{|s} that {was|were} counted before the first recorded one of "
                   "{its|their} thread");
    put_part(out, &parts, c->between,
             c->has_windows ? "between recorded ones: the capture window was closed, or records "
                              "were lost"
                            : "between recorded ones: records were lost");
    put_part(out, &parts, c->after, "behind the last recorded one of {its|their} thread");
    tp_buffer_char(out, '\n');
}

static void put_late(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
    const struct tp_alloc_coverage *c = &p->coverage;

    if (!c->late)
        return;
    put_label(out, "begun late");
    tp_buffer_format(out, "%u of ", c->late);
    tp_buffer_count(out, p->processes,
                    "process{|es}: from {its|their} first range or CUDA call on, "
                    "or a forked child's ");
    tp_buffer_string(out, p->largest_period ? "fourth sample" : "1,000th allocation");
    if (c->late_calls) {
        tp_buffer_string(out, "; at least ");
        tp_buffer_count(out, c->late_calls, "allocation{|s} of ");
        tp_memory_put_bytes(out, (double)c->late_bytes);
        tp_buffer_string(out, " came before");
    }
    tp_buffer_char(out, '\n');
}

static void put_unrecorded(struct tp_buffer *out, const struct tp_report *report,
                           const struct tp_alloc_coverage *c)
{
    if (c->follows_none) {
        put_label(out, "unrecorded");
        tp_buffer_string(out, "the programs that were started from here (TPAGENT_FOLLOW=0)\n");
    }
    if (!c->unrecorded)
        return;
    put_label(out, "unrecorded");
    tp_buffer_count(out, c->unrecorded, "other process{|es}");
    if (c->unrecorded_calls) {
        tp_buffer_string(out, " with at least ");
        tp_buffer_count(out, c->unrecorded_calls, "allocation{|s} of ");
        tp_memory_put_bytes(out, (double)c->unrecorded_bytes);
    }
    if (c->unrecorded_program != TP_STRING_NONE) {
        tp_buffer_string(out, ": ");
        tp_format_display(out, tp_strings_get(report->strings, c->unrecorded_program));
        tp_buffer_string(out, c->unrecorded_more ? " and others" : "");
    }
    tp_buffer_string(out, " (TPAGENT_PROGRAMS names programs to record from their start)\n");
}

static void put_coverage(struct tp_buffer *out, const struct tp_report *report,
                         const struct tp_alloc_profile *p)
{
    const struct tp_alloc_coverage *c = &p->coverage;

    if (p->records) {
        put_left_out(out, c);
        put_late(out, p);
    }
    if (c->without_ring) {
        put_label(out, "no ring");
        tp_buffer_count(out, c->without_ring,
                        "record{|s} of threads that got no ring: what these "
                        "allocated was not counted\n");
    }
    if (c->is_wanted)
        put_unrecorded(out, report, c);
    if (p->largest_period && c->counted && !c->is_selected) {
        put_label(out, "counted");
        tp_buffer_count(out, c->counted, "allocation{|s} of ");
        tp_memory_put_bytes(out, (double)c->counted_bytes);
        tp_buffer_string(out, ", exactly, by the threads that have records, up to their last\n");
    }
}

void tp_memory_put_coverage(struct tp_buffer *out, const struct tp_report *report)
{
    const struct tp_alloc_coverage *c = &report->memory->profile->coverage;
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"counted", c->counted},
                  {"counted_bytes", c->counted_bytes},
                  {"before", c->before},
                  {"between", c->between},
                  {"after", c->after},
                  {"begun_late", c->late},
                  {"begun_late_allocations", c->late_calls},
                  {"begun_late_bytes", c->late_bytes},
                  {"records_without_ring", c->without_ring},
                  {"unrecorded_processes", c->unrecorded},
                  {"unrecorded_allocations", c->unrecorded_calls},
                  {"unrecorded_bytes", c->unrecorded_bytes}};

    tp_buffer_format(out, "\"coverage\": {\"is_from_start\": %s, \"has_windows\": %s",
                     tp_alloc_coverage_is_from_start(c) ? "true" : "false",
                     c->has_windows ? "true" : "false");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        tp_buffer_format(out, ", \"%s\": %llu", counts[i].key, (unsigned long long)counts[i].value);
    tp_buffer_char(out, '}');
}

/* ---- sums ---- */

static void put_total(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
    const struct tp_alloc_sums *s = &p->total;

    put_label(out, "allocated");
    tp_memory_put_bytes(out, s->allocated_bytes);
    if (p->largest_period) {
        struct tp_alloc_interval bytes = tp_alloc_bytes_interval(s);
        tp_buffer_string(out, " (");
        tp_memory_put_bytes(out, bytes.low);
        tp_buffer_string(out, " to ");
        tp_memory_put_bytes(out, bytes.high);
        tp_buffer_string(out, " with 95 %)");
    }
    tp_buffer_string(out, " in ");
    tp_buffer_count(out, (uint64_t)round(s->allocations), "allocation{|s}, ");
    tp_buffer_format(out, "%.0f of them temporary\n", round(s->temporary));
    put_label(out, "freed");
    tp_memory_put_bytes(out, s->freed_bytes);
    tp_buffer_string(out, " in ");
    tp_buffer_count(out, (uint64_t)round(s->frees), "free{|s}\n");
    put_label(out, "peak");
    tp_memory_put_bytes(out, p->peak_bytes);
    tp_buffer_format(out, " at %.3f s%s\n", (double)p->peak_ns / 1e9,
                     p->processes > 1 ? ", the highest process's; the sum of all processes' peaks"
                                      : "");
    put_label(out, "live at end");
    tp_memory_put_bytes(out, s->live_bytes);
    tp_buffer_string(out, " in ");
    tp_buffer_count(out, (uint64_t)round(s->live_blocks), "block{|s}\n");
}

static void put_doubt(struct tp_buffer *out, const char *label, uint64_t count, const char *text)
{
    put_label(out, label);
    tp_buffer_count(out, count, text);
}

static void put_doubts(struct tp_buffer *out, const struct tp_alloc_report *report)
{
    const struct tp_alloc_profile *p = report->profile;

    if (report->shortened > 0)
        put_doubt(out, "stacks", (uint64_t)round(report->shortened),
                  "allocation{ has|s have} only the innermost part of {its stack|their stacks}: "
                  "there was no room for more names; heavy stacks are the last to be shortened\n");
    if (p->unknown_frees)
        put_doubt(out, "other frees", p->unknown_frees,
                  "of {a block that was|blocks that were} allocated before the recording, or whose "
                  "record is lost; in no sum\n");
    if (p->unseen_frees)
        put_doubt(out, "lost", p->unseen_frees,
                  "free{ is|s are} not recorded, seen by {its|their} address being allocated "
                  "again\n");
    if (p->unwatched)
        put_doubt(out, "not watched", p->unwatched,
                  "sample{|s} beyond what the agent can watch: allocated, but neither freed nor "
                  "live here\n");
}

void tp_memory_put_head(struct tp_buffer *out, const struct tp_report *report)
{
    const struct tp_alloc_profile *p = report->memory->profile;

    put_recorded(out, p);
    put_coverage(out, report, p);
    if (p->records) {
        put_total(out, p);
        put_doubts(out, report->memory);
    }
    if (!p->records && !p->threads.count)
        return;
    put_label(out, "units");
    tp_buffer_string(out, "1 KB is 1,024 B, as in PyTorch's tables; blocks count with their usable "
                          "size, what malloc gave\n");
}
