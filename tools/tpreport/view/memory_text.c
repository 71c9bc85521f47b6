/* SPDX-License-Identifier: MIT
 * The allocation profile for people. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/alloc_profile.h"
#include "view/memory_head.h"
#include "view/view.h"

#define ROWS_USUALLY 20
#define CURVE_LINES 16
#define BAR 40

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

    tp_memory_put_bytes(&cell, bytes);
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

/* ---- what was never freed ---- */

/* Rows at most: less than so much of what is live at the end is not shown. */
#define KEPT_MOST 100

/* While Python or the loader loads code what stays is what was loaded. */
static bool is_of_import(const struct tp_report *report, uint32_t stack)
{
    const uint32_t *frames = tp_stacks_frames(report->stacks, stack);

    for (uint32_t i = 0; i < tp_stacks_count(report->stacks, stack); i++) {
        const char *frame =
            tp_strings_get(report->strings, frame_of(report, frames[i]).function)->bytes;
        if (!strncmp(frame, "<frozen importlib", 17) || !strcmp(frame, "dlopen"))
            return true;
    }
    return false;
}

static int compare_live(const void *a, const void *b)
{
    const struct tp_alloc_row *left = *(const struct tp_alloc_row *const *)a;
    const struct tp_alloc_row *right = *(const struct tp_alloc_row *const *)b;
    double l = left->sums.live_bytes, r = right->sums.live_bytes;

    return l != r ? (l < r) - (l > r) : (left->key > right->key) - (left->key < right->key);
}

/* Descending by live bytes. Return: how many, each a hundredth of all or more. */
static size_t find_kept(const struct tp_report *report, const struct tp_alloc_row **found,
                        size_t room)
{
    const struct tp_alloc_report *memory = report->memory;
    double least = memory->profile->total.live_bytes / KEPT_MOST;
    size_t count = 0;

    for (size_t i = 0; i < memory->row_count[TP_ALLOC_BY_STACK] && count < room; i++) {
        const struct tp_alloc_row *row = &memory->rows[TP_ALLOC_BY_STACK][i];
        if (tp_alloc_is_kept(&row->sums) && row->sums.live_bytes >= least &&
            !is_of_import(report, row->key))
            found[count++] = row;
    }
    qsort(found, count, sizeof(struct tp_alloc_row *), compare_live);
    return count;
}

static void put_kept(struct tp_buffer *out, const struct tp_report *report,
                     const struct tp_view_options *options)
{
    const struct tp_alloc_row *found[KEPT_MOST];
    size_t count = find_kept(report, found, KEPT_MOST);
    size_t shown = shown_rows(options, count);

    if (!count)
        return;
    tp_buffer_string(
        out,
        "\nNever freed: a leak of one burst, or what the program keeps; from 1 % of what is live "
        "at the end on, without imports\n"
        "  Live blocks  Live at end    Allocated when  Stack, innermost first\n");
    for (size_t i = 0; i < shown; i++) {
        const struct tp_alloc_sums *sums = &found[i]->sums;
        put_count_cell(out, sums->live_blocks);
        put_bytes_cell(out, sums->live_bytes);
        tp_buffer_format(out, "%8.3f-%.3f s  ", (double)sums->first_ns / 1e9,
                         (double)sums->last_ns / 1e9);
        put_stack_line(out, report, found[i]->key, options);
    }
    if (shown < count)
        tp_buffer_format(out, "%zu more\n", count - shown);
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

int tp_memory_write_text(const struct tp_report *report, const struct tp_view_options *options,
                         struct tp_output *output, struct tp_diag *diag)
{
    const struct tp_alloc_profile *p = report->memory->profile;
    struct tp_buffer out = {0};

    (void)diag;
    tp_memory_put_head(&out, report);
    if (p->records) {
        put_rows(&out, report, options, TP_ALLOC_BY_RANGE);
        put_rows(&out, report, options, TP_ALLOC_BY_STACK);
        put_rows(&out, report, options, TP_ALLOC_BY_THREAD);
        put_suspects(&out, report, options);
        put_kept(&out, report, options);
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
