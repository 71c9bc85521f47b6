/* SPDX-License-Identifier: MIT
 * The allocation profile for people. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "model/alloc_profile.h"
#include "view/view.h"

#define ROWS_USUALLY 20
#define CURVE_LINES 16
#define BAR 40

static void put_bytes(struct tp_buffer *out, double bytes)
{
    struct tp_number number = tp_number_integer((int64_t)round(bytes));

    tp_format_memory(out, number);
}

/* A cell of @width columns, to the right. */
static void put_right(struct tp_buffer *out, const struct tp_buffer *cell, size_t width)
{
    for (size_t i = cell->size; i < width; i++)
        tp_buffer_char(out, ' ');
    tp_buffer_bytes(out, cell->bytes, cell->size);
}

static void put_bytes_cell(struct tp_buffer *out, double bytes)
{
    struct tp_buffer cell = {0};

    put_bytes(&cell, bytes);
    put_right(out, &cell, 13);
    tp_buffer_fini(&cell);
}

static void put_count_cell(struct tp_buffer *out, double count)
{
    tp_buffer_format(out, "%13.0f", round(count));
}

static void put_sums(struct tp_buffer *out, const struct tp_alloc_sums *s)
{
    put_count_cell(out, s->allocations);
    put_bytes_cell(out, s->allocated_bytes);
    put_bytes_cell(out, s->freed_bytes);
    put_bytes_cell(out, s->peak_bytes);
    put_bytes_cell(out, s->live_bytes);
    put_count_cell(out, s->temporary);
}

static void put_heading(struct tp_buffer *out, const char *title, const char *name)
{
    tp_buffer_format(out, "\n%s\n%13s%13s%13s%13s%13s%13s  %s\n", title, "Allocations", "Allocated",
                     "Freed", "At peak", "Live at end", "Temporary", name);
}

static void put_name(struct tp_buffer *out, const struct tp_report *report, uint32_t id,
                     uint32_t width, const char *none)
{
    const struct tp_string *string = tp_strings_get(report->strings, id);
    struct tp_buffer text = {0};

    if (id == TP_STRING_NONE)
        tp_buffer_string(&text, none);
    else
        tp_format_display(&text, string);
    size_t shown = width ? tp_format_prefix(text.bytes, text.size, width) : text.size;
    tp_buffer_bytes(out, text.bytes, shown);
    tp_buffer_string(out, shown < text.size ? "..." : "");
    tp_buffer_fini(&text);
}

static bool is_python(const struct tp_string *frame)
{
    return strstr(frame->bytes, "): ") != NULL;
}

static struct tp_frame frame_of(const struct tp_report *report, uint32_t id)
{
    return tp_frames_get(&report->memory->profile->frames, id);
}

static bool is_of_python(const struct tp_report *report, uint32_t id)
{
    return is_python(tp_strings_get(report->strings, frame_of(report, id).function));
}

/* "FILE(LINE): FUNCTION", of which the end says most. */
static void put_python_frame(struct tp_buffer *out, const struct tp_report *report, uint32_t id,
                             uint32_t width)
{
    const struct tp_string *string = tp_strings_get(report->strings, id);
    size_t length = tp_utf8_length(string->bytes, string->size), skipped = 0;
    struct tp_buffer text = {0};
    uint32_t code;

    if (!width || length <= width) {
        put_name(out, report, id, 0, "?");
        return;
    }
    while (length-- > width)
        skipped += tp_utf8_decode((const unsigned char *)string->bytes + skipped,
                                  string->size - skipped, &code);
    const struct tp_string end = {.bytes = string->bytes + skipped,
                                  .size = string->size - (uint32_t)skipped};
    tp_buffer_string(out, "...");
    tp_format_display(&text, &end);
    tp_buffer_bytes(out, text.bytes, text.size);
    tp_buffer_fini(&text);
}

/* A native one as "FUNCTION (FILE:LINE)". */
static void put_frame(struct tp_buffer *out, const struct tp_report *report, uint32_t id,
                      const struct tp_view_options *options)
{
    const struct tp_frame frame = frame_of(report, id);

    if (is_of_python(report, id)) {
        put_python_frame(out, report, frame.function, options->max_src_width);
        return;
    }
    put_name(out, report, frame.function, options->max_name_width, "?");
    struct tp_buffer place = {0};
    tp_frame_put_place(&place, &frame, report->strings, true);
    const struct tp_string string = {.bytes = place.bytes,
                                     .size = (uint32_t)place.size,
                                     .has_controls =
                                         tp_strings_get(report->strings, frame.file)->has_controls};
    tp_format_display(out, &string);
    tp_buffer_fini(&place);
    tp_buffer_string(out, frame.is_inlined ? " [inlined]" : "");
}

static void put_stack(struct tp_buffer *out, const struct tp_report *report, uint32_t stack,
                      const struct tp_view_options *options)
{
    const uint32_t *frames = tp_stacks_frames(report->stacks, stack);
    uint32_t count = tp_stacks_count(report->stacks, stack);

    if (!count)
        tp_buffer_string(out, "(no stack)\n");
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            tp_buffer_format(out, "%*s", 6 * 13 + 2, "");
        put_frame(out, report, frames[i], options);
        tp_buffer_char(out, '\n');
    }
}

static size_t shown_rows(const struct tp_view_options *options, size_t count)
{
    int64_t limit = tp_view_row_limit(options, ROWS_USUALLY);

    return limit < 0 || (uint64_t)limit > count ? count : (size_t)limit;
}

static void put_rows(struct tp_buffer *out, const struct tp_report *report,
                     const struct tp_view_options *options, enum tp_alloc_group group)
{
    static const char *const titles[TP_ALLOC_GROUPS] = {"By range (the innermost one)", "By stack",
                                                        "By thread"};
    static const char *const names[TP_ALLOC_GROUPS] = {"Range", "Stack, innermost first", "Thread"};
    const struct tp_alloc_report *memory = report->memory;
    size_t count = memory->row_count[group], shown = shown_rows(options, count);

    put_heading(out, titles[group], names[group]);
    for (size_t i = 0; i < shown; i++) {
        const struct tp_alloc_row *row = &memory->rows[group][i];
        put_sums(out, &row->sums);
        tp_buffer_string(out, "  ");
        if (group == TP_ALLOC_BY_STACK) {
            put_stack(out, report, row->key, options);
            continue;
        }
        put_name(out, report, row->key, options->max_name_width, "(no range)");
        tp_buffer_char(out, '\n');
    }
    if (shown < count)
        tp_buffer_format(out, "%zu more\n", count - shown);
}

/* ---- suspects ---- */

static void put_frames(struct tp_buffer *out, const struct tp_report *report, uint32_t stack,
                       uint32_t first, uint32_t end, const struct tp_view_options *options)
{
    for (uint32_t i = first; i < end; i++) {
        tp_buffer_string(out, i > first ? " < " : "");
        put_frame(out, report, tp_stacks_frames(report->stacks, stack)[i], options);
    }
}

#define LINE_FRAMES 4u

/* A stack in a line: its innermost frames, those of Python, too, where they lie further out. */
static void put_stack_line(struct tp_buffer *out, const struct tp_report *report, uint32_t stack,
                           const struct tp_view_options *options)
{
    const uint32_t *frames = tp_stacks_frames(report->stacks, stack);
    uint32_t count = tp_stacks_count(report->stacks, stack), python = 0;
    uint32_t end = count < LINE_FRAMES ? count : LINE_FRAMES;

    while (python < count && !is_of_python(report, frames[python]))
        python++;
    if (python < LINE_FRAMES || python == count) {
        put_frames(out, report, stack, 0, end, options);
    } else {
        put_frames(out, report, stack, 0, LINE_FRAMES / 2, options);
        tp_buffer_string(out, " < ... < ");
        end = python + LINE_FRAMES / 2 < count ? python + LINE_FRAMES / 2 : count;
        put_frames(out, report, stack, python, end, options);
    }
    tp_buffer_string(out, !count ? "(no stack)\n" : end < count ? " < ...\n" : "\n");
}

static void put_suspects(struct tp_buffer *out, const struct tp_report *report,
                         const struct tp_view_options *options)
{
    const struct tp_alloc_report *memory = report->memory;
    size_t count = memory->row_count[TP_ALLOC_BY_STACK], found = 0;
    size_t shown = shown_rows(options, count);

    for (size_t i = 0; i < count; i++) {
        const struct tp_alloc_row *row = &memory->rows[TP_ALLOC_BY_STACK][i];
        if (!tp_alloc_is_suspect(&row->sums) || found++ >= shown)
            continue;
        if (found == 1)
            tp_buffer_string(
                out, "\nSuspected leaks: live at the end, allocated all along since the first\n"
                     "  Live blocks  Live at end  Stack, innermost first\n");
        put_count_cell(out, row->sums.live_blocks);
        put_bytes_cell(out, row->sums.live_bytes);
        tp_buffer_string(out, "  ");
        put_stack_line(out, report, row->key, options);
    }
}

/* ---- the curve ---- */

static void put_curve(struct tp_buffer *out, const struct tp_alloc_curve *curve)
{
    size_t step = (curve->count + CURVE_LINES - 1) / CURVE_LINES;
    double most = 0;

    for (size_t i = 0; i < curve->count; i++)
        most = curve->most[i] > most ? curve->most[i] : most;
    if (most <= 0)
        return;
    tp_buffer_string(out, "\nLive over time, the most in each stretch\n");
    for (size_t i = 0; i < curve->count; i += step) {
        double value = 0;
        for (size_t k = i; k < i + step && k < curve->count; k++)
            value = curve->most[k] > value ? curve->most[k] : value;
        tp_buffer_format(out, "%11.3f s", (double)curve->width_ns * (double)i / 1e9);
        put_bytes_cell(out, value);
        tp_buffer_string(out, value > 0 ? "  " : "");
        for (int bar = (int)(value / most * BAR + 0.5); bar > 0; bar--)
            tp_buffer_char(out, '#');
        tp_buffer_char(out, '\n');
    }
}

/* ---- exact counters ---- */

static void put_counters(struct tp_buffer *out, const struct tp_report *report,
                         const struct tp_view_options *options, const char *title,
                         const struct tp_alloc_counter_table *table, bool has_self)
{
    size_t shown = shown_rows(options, table->count);

    tp_buffer_format(out, "\n%s\n%13s%13s%13s%13s%13s  %s\n", title, "Calls", "Allocations",
                     "Allocated", "Net", has_self ? "Self net" : "", "Name");
    for (size_t i = 0; i < shown; i++) {
        const struct tp_alloc_counters *c = &table->items[i];
        put_count_cell(out, (double)c->calls);
        put_count_cell(out, (double)c->allocations);
        put_bytes_cell(out, (double)c->allocated_bytes);
        put_bytes_cell(out, (double)c->net_bytes);
        if (has_self)
            put_bytes_cell(out, (double)c->self_net_bytes);
        else
            tp_buffer_format(out, "%13s", "");
        tp_buffer_string(out, "  ");
        put_name(out, report, c->name, options->max_name_width, "?");
        tp_buffer_char(out, '\n');
    }
    if (shown < table->count)
        tp_buffer_format(out, "%zu more\n", table->count - shown);
}

/* ---- the head ---- */

static void put_line(struct tp_buffer *out, const char *name)
{
    tp_buffer_format(out, "%-12s", name);
}

static void put_recorded(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
    put_line(out, "recorded");
    if (!p->records && !p->threads.count) {
        tp_buffer_string(out, "no allocations, neither counted nor single ones (TPAGENT_ALLOC)\n");
        return;
    }
    if (!p->records) {
        tp_buffer_string(out,
                         "counters of ranges and threads; no single allocations, so no stacks, "
                         "no peak, no leaks (TPAGENT_ALLOC=sample:BYTES or all has them)\n");
        return;
    }
    if (!p->largest_period) {
        tp_buffer_format(out, "every allocation, %llu of them", (unsigned long long)p->records);
        tp_buffer_string(out, p->untimed ? "; " : "");
        if (p->untimed)
            tp_buffer_count(out, p->untimed,
                            "{has|have} no time of {its|their} own and count{s|} as at {its|their} "
                            "thread's record before");
        tp_buffer_char(out, '\n');
        return;
    }
    tp_buffer_count(out, p->records, "sample{|s}, one in ");
    put_bytes(out, (double)p->largest_period);
    tp_buffer_string(out, " on average; all numbers are estimates\n");
}

static void put_total(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
    const struct tp_alloc_sums *s = &p->total;

    put_line(out, "allocated");
    put_bytes(out, s->allocated_bytes);
    if (s->bytes_variance > 0) {
        tp_buffer_string(out, " +- ");
        put_bytes(out, tp_alloc_error95(s->bytes_variance));
        tp_buffer_string(out, " (95 %)");
    }
    tp_buffer_string(out, " in ");
    tp_buffer_count(out, (uint64_t)round(s->allocations), "allocation{|s}, ");
    tp_buffer_format(out, "%.0f of them temporary\n", round(s->temporary));
    put_line(out, "freed");
    put_bytes(out, s->freed_bytes);
    tp_buffer_string(out, " in ");
    tp_buffer_count(out, (uint64_t)round(s->frees), "free{|s}\n");
    put_line(out, "peak");
    put_bytes(out, p->peak_bytes);
    tp_buffer_format(out, " at %.3f s%s\n", (double)p->peak_ns / 1e9,
                     p->processes > 1 ? ", the highest process's; the sum of all processes' peaks"
                                      : "");
    put_line(out, "live at end");
    put_bytes(out, s->live_bytes);
    tp_buffer_string(out, " in ");
    tp_buffer_count(out, (uint64_t)round(s->live_blocks), "block{|s}\n");
}

static void put_doubt(struct tp_buffer *out, const char *label, uint64_t count, const char *text)
{
    tp_buffer_format(out, "%-12s", label);
    tp_buffer_count(out, count, text);
}

static void put_doubts(struct tp_buffer *out, const struct tp_alloc_profile *p)
{
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

int tp_memory_write_text(const struct tp_report *report, const struct tp_view_options *options,
                         struct tp_output *output, struct tp_diag *diag)
{
    const struct tp_alloc_profile *p = report->memory->profile;
    struct tp_buffer out = {0};

    (void)diag;
    put_recorded(&out, p);
    if (p->records) {
        put_total(&out, p);
        put_doubts(&out, p);
        put_rows(&out, report, options, TP_ALLOC_BY_RANGE);
        put_rows(&out, report, options, TP_ALLOC_BY_STACK);
        put_rows(&out, report, options, TP_ALLOC_BY_THREAD);
        put_suspects(&out, report, options);
        put_curve(&out, &p->curve);
    }
    if (p->ranges.count)
        put_counters(&out, report, options, "Exact counters of ranges, inner ones included",
                     &p->ranges, true);
    if (p->threads.count)
        put_counters(&out, report, options, "Exact counters of threads, up to their last records",
                     &p->threads, false);
    tp_output_buffer(output, &out);
    tp_buffer_fini(&out);
    return 0;
}
