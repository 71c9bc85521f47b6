/* SPDX-License-Identifier: MIT
 * The allocation profile for programs: JSON, CSV, folded stacks. Bytes and counts are whole numbers
 * where every allocation was recorded, estimates where they were sampled. */
#include <math.h>

#include "model/alloc_profile.h"
#include "view/csv_line.h"
#include "view/memory_head.h"
#include "view/view.h"

static const char *const group_names[TP_ALLOC_GROUPS] = {
    [TP_ALLOC_BY_RANGE] = "range", [TP_ALLOC_BY_STACK] = "stack", [TP_ALLOC_BY_THREAD] = "thread"};

/* ---- JSON ---- */

static void put_number(struct tp_buffer *out, const char *key, double value)
{
    tp_buffer_format(out, ", \"%s\": %.0f", key, value > 0 ? round(value) : 0);
}

/* Whole numbers, outwards. */
static void put_interval(struct tp_buffer *out, const char *key, struct tp_alloc_interval interval)
{
    tp_buffer_format(out, ", \"%s_low95\": %.0f, \"%s_high95\": %.0f", key, floor(interval.low),
                     key, ceil(interval.high));
}

static void put_sums(struct tp_buffer *out, const struct tp_alloc_sums *sums, bool is_sampled)
{
    tp_buffer_format(out, "\"allocations\": %.0f", round(sums->allocations));
    put_number(out, "allocated_bytes", sums->allocated_bytes);
    put_number(out, "frees", sums->frees);
    put_number(out, "freed_bytes", sums->freed_bytes);
    put_number(out, "live_blocks", sums->live_blocks);
    put_number(out, "live_bytes", sums->live_bytes);
    put_number(out, "peak_bytes", sums->peak_bytes);
    put_number(out, "temporary", sums->temporary);
    if (is_sampled) {
        put_interval(out, "allocations", tp_alloc_count_interval(sums));
        put_interval(out, "allocated_bytes", tp_alloc_bytes_interval(sums));
    }
    tp_buffer_format(out, ", \"first_ns\": %lld, \"last_ns\": %lld, \"suspect\": %s, \"kept\": %s",
                     (long long)sums->first_ns, (long long)sums->last_ns,
                     tp_alloc_is_suspect(sums) ? "true" : "false",
                     tp_alloc_is_kept(sums) ? "true" : "false");
}

static struct tp_frame frame_of(const struct tp_report *report, uint32_t id)
{
    return tp_frames_get(&report->memory->profile->frames, id);
}

/* Where native functions are in the source; null where that is not known. */
static void put_places(struct tp_buffer *out, const struct tp_report *report, uint32_t stack)
{
    const uint32_t *frames = tp_stacks_frames(report->stacks, stack);

    tp_buffer_string(out, ", \"places\": [");
    for (uint32_t i = 0; i < tp_stacks_count(report->stacks, stack); i++) {
        const struct tp_frame frame = frame_of(report, frames[i]);
        tp_buffer_string(out, i ? ", " : "");
        if (frame.file == TP_STRING_NONE && !frame.is_inlined) {
            tp_buffer_string(out, "null");
            continue;
        }
        tp_buffer_string(out, "{\"file\": ");
        tp_format_json_string(out, report->strings, frame.file);
        tp_buffer_string(out, ", \"line\": ");
        if (frame.line)
            tp_buffer_format(out, "%u", frame.line);
        else
            tp_buffer_string(out, "null");
        tp_buffer_format(out, ", \"inlined\": %s}", frame.is_inlined ? "true" : "false");
    }
    tp_buffer_char(out, ']');
}

static void put_stack(struct tp_buffer *out, const struct tp_report *report, uint32_t stack)
{
    const uint32_t *frames = tp_stacks_frames(report->stacks, stack);
    bool has_places = false;

    tp_buffer_char(out, '[');
    for (uint32_t i = 0; i < tp_stacks_count(report->stacks, stack); i++) {
        const struct tp_frame frame = frame_of(report, frames[i]);
        tp_buffer_string(out, i ? ", " : "");
        tp_format_json_string(out, report->strings, frame.function);
        has_places |= frame.file != TP_STRING_NONE || frame.is_inlined;
    }
    tp_buffer_char(out, ']');
    if (has_places)
        put_places(out, report, stack);
}

static void put_key(struct tp_buffer *out, const struct tp_report *report,
                    enum tp_alloc_group group, uint32_t key)
{
    if (group == TP_ALLOC_BY_STACK)
        put_stack(out, report, key);
    else
        tp_format_json_string(out, report->strings, key);
}

static void put_counters(struct tp_buffer *out, const struct tp_report *report, const char *key,
                         const struct tp_alloc_counter_table *table)
{
    tp_buffer_format(out, ",\n\"%s\": [", key);
    for (size_t i = 0; i < table->count; i++) {
        const struct tp_alloc_counters *c = &table->items[i];
        tp_buffer_string(out, i ? ",\n{\"name\": " : "\n{\"name\": ");
        tp_format_json_string(out, report->strings, c->name);
        tp_buffer_format(out,
                         ", \"calls\": %llu, \"allocations\": %llu, \"allocated_bytes\": %llu, "
                         "\"net_bytes\": %lld, \"self_net_bytes\": %lld}",
                         (unsigned long long)c->calls, (unsigned long long)c->allocations,
                         (unsigned long long)c->allocated_bytes, (long long)c->net_bytes,
                         (long long)c->self_net_bytes);
    }
    tp_buffer_string(out, "\n]");
}

static void put_curve(struct tp_buffer *out, const struct tp_alloc_curve *curve)
{
    tp_buffer_format(out, ",\n\"curve\": {\"width_ns\": %lld, \"most_live_bytes\": [",
                     (long long)curve->width_ns);
    for (size_t i = 0; i < curve->count; i++)
        tp_buffer_format(out, "%s%.0f", i ? ", " : "", curve->most[i] > 0 ? curve->most[i] : 0);
    tp_buffer_string(out, "]}");
}

static void put_head(struct tp_buffer *out, const struct tp_report *report,
                     const struct tp_alloc_profile *p)
{
    tp_view_put_head(out, report);
    tp_buffer_format(out,
                     "\"recorded\": \"%s\", "
                     "\"records\": %llu, \"untimed\": %llu, \"period_bytes\": %llu, "
                     "\"processes\": %u,\n",
                     !p->records         ? p->coverage.is_counted ? "counters" : "nothing"
                     : p->largest_period ? "samples"
                                         : "all",
                     (unsigned long long)p->records, (unsigned long long)p->untimed,
                     (unsigned long long)p->largest_period, p->processes);
    tp_memory_put_coverage(out, report);
    tp_buffer_format(out,
                     ",\n\"unknown_frees\": %llu, \"unseen_frees\": %llu, \"unwatched\": %llu, "
                     "\"resizes\": %llu, \"shortened\": %.0f,\n\"peak_bytes\": %.0f, \"peak_ns\": "
                     "%lld,\n\"total\": {",
                     (unsigned long long)p->unknown_frees, (unsigned long long)p->unseen_frees,
                     (unsigned long long)p->unwatched, (unsigned long long)p->resizes,
                     round(report->memory->shortened), round(p->peak_bytes), (long long)p->peak_ns);
    put_sums(out, &p->total, p->largest_period != 0);
    tp_buffer_char(out, '}');
}

int tp_memory_write_json(const struct tp_report *report, const struct tp_view_options *options,
                         struct tp_output *output, struct tp_diag *diag)
{
    static const char *const lists[TP_ALLOC_GROUPS] = {"ranges", "stacks", "threads"};
    const struct tp_alloc_report *memory = report->memory;
    const struct tp_alloc_profile *p = memory->profile;
    int64_t limit = tp_view_row_limit(options, -1);
    struct tp_buffer out = {0};

    (void)diag;
    put_head(&out, report, p);
    for (unsigned g = 0; g < TP_ALLOC_GROUPS; g++) {
        tp_buffer_format(&out, ",\n\"%s\": [", lists[g]);
        for (size_t i = 0; i < memory->row_count[g] && (int64_t)i != limit; i++) {
            tp_buffer_format(&out, "%s\n{\"%s\": ", i ? "," : "", group_names[g]);
            put_key(&out, report, g, memory->rows[g][i].key);
            tp_buffer_string(&out, ", ");
            put_sums(&out, &memory->rows[g][i].sums, p->largest_period != 0);
            tp_buffer_char(&out, '}');
        }
        tp_buffer_string(&out, "\n]");
    }
    put_counters(&out, report, "range_counters", &p->ranges);
    put_counters(&out, report, "thread_counters", &p->threads);
    put_curve(&out, &p->curve);
    tp_buffer_string(&out, "}\n");
    tp_output_buffer(output, &out);
    tp_buffer_fini(&out);
    return 0;
}

/* ---- CSV ---- */

static void put_stack_text(struct tp_buffer *out, const struct tp_report *report, uint32_t stack)
{
    const uint32_t *frames = tp_stacks_frames(report->stacks, stack);

    for (uint32_t i = 0; i < tp_stacks_count(report->stacks, stack); i++) {
        const struct tp_frame frame = frame_of(report, frames[i]);
        const struct tp_string *function = tp_strings_get(report->strings, frame.function);
        tp_buffer_string(out, i ? "\n" : "");
        tp_buffer_bytes(out, function->bytes, function->size);
        tp_frame_put_place(out, &frame, report->strings, false);
        tp_buffer_string(out, frame.is_inlined ? " [inlined]" : "");
    }
}

static void put_csv_row(struct tp_csv_line *line, const struct tp_report *report,
                        enum tp_alloc_group group, const struct tp_alloc_row *row)
{
    const struct tp_alloc_sums *s = &row->sums;
    struct tp_alloc_interval count = tp_alloc_count_interval(s), bytes = tp_alloc_bytes_interval(s);
    struct tp_buffer name = {0};
    const double values[] = {
        s->allocations,   s->allocated_bytes, s->frees,         s->freed_bytes,
        s->live_blocks,   s->live_bytes,      s->peak_bytes,    s->temporary,
        floor(count.low), ceil(count.high),   floor(bytes.low), ceil(bytes.high),
    };

    if (group == TP_ALLOC_BY_STACK) {
        put_stack_text(&name, report, row->key);
    } else {
        const struct tp_string *string = tp_strings_get(report->strings, row->key);
        tp_buffer_bytes(&name, string->bytes, string->size);
    }
    tp_csv_line_text(line, group_names[group]);
    tp_csv_line_field(line, name.size ? name.bytes : "", name.size);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        tp_csv_line_format(line, "%.0f", values[i] > 0 ? round(values[i]) : 0);
    tp_csv_line_text(line, tp_alloc_is_suspect(s) ? "1" : "0");
    tp_csv_line_text(line, tp_alloc_is_kept(s) ? "1" : "0");
    tp_csv_line_end(line);
    tp_buffer_fini(&name);
}

int tp_memory_write_csv(const struct tp_report *report, const struct tp_view_options *options,
                        struct tp_output *output, struct tp_diag *diag)
{
    static const char *const columns[] = {
        "group",
        "name",
        "allocations",
        "allocated_bytes",
        "frees",
        "freed_bytes",
        "live_blocks",
        "live_bytes",
        "peak_bytes",
        "temporary",
        "allocations_low95",
        "allocations_high95",
        "allocated_bytes_low95",
        "allocated_bytes_high95",
        "suspect",
        "kept",
    };
    int64_t limit = tp_view_row_limit(options, -1);
    struct tp_csv_line line = {.output = output, .end = "\r\n"};

    (void)diag;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        tp_csv_line_text(&line, columns[i]);
    tp_csv_line_end(&line);
    for (unsigned g = 0; g < TP_ALLOC_GROUPS; g++) {
        for (size_t i = 0; i < report->memory->row_count[g] && (int64_t)i != limit; i++) {
            put_csv_row(&line, report, g, &report->memory->rows[g][i]);
        }
    }
    tp_csv_line_fini(&line);
    return 0;
}

/* ---- folded ---- */

/* What was inlined is marked as FlameGraph does it. */
static void put_frame(struct tp_buffer *out, const struct tp_report *report, uint32_t id)
{
    const struct tp_frame frame = frame_of(report, id);
    const struct tp_string *function = tp_strings_get(report->strings, frame.function);
    struct tp_buffer text = {0};

    tp_buffer_bytes(&text, function->bytes, function->size);
    tp_frame_put_place(&text, &frame, report->strings, true);
    tp_buffer_string(&text, frame.is_inlined ? "_[i]" : "");
    for (size_t i = 0; i < text.size; i++) {
        char c = text.bytes[i];
        tp_buffer_char(out, c == ';' || c == '\n' || c == '\r' ? '_' : c);
    }
    out->failed |= text.failed;
    tp_buffer_fini(&text);
}

int tp_memory_write_folded(const struct tp_report *report, const struct tp_view_options *options,
                           struct tp_output *output, struct tp_diag *diag)
{
    const struct tp_alloc_report *memory = report->memory;
    struct tp_buffer line = {0};

    (void)options;
    (void)diag;
    for (size_t i = 0; i < memory->row_count[TP_ALLOC_BY_STACK]; i++) {
        const struct tp_alloc_row *row = &memory->rows[TP_ALLOC_BY_STACK][i];
        double weight = tp_alloc_key_value(&row->sums, memory->key);
        const uint32_t *frames = tp_stacks_frames(report->stacks, row->key);
        if (weight < 0.5)
            continue;
        tp_buffer_reset(&line);
        for (uint32_t f = tp_stacks_count(report->stacks, row->key); f-- > 0;) {
            put_frame(&line, report, frames[f]);
            tp_buffer_string(&line, f ? ";" : "");
        }
        tp_buffer_format(&line, "%s %.0f\n", line.size ? "" : "(no stack)", round(weight));
        tp_output_buffer(output, &line);
    }
    tp_buffer_fini(&line);
    return 0;
}
