/* SPDX-License-Identifier: MIT
 * The reference's text table, to the byte. One walk over all rows learns which columns there are,
 * how wide they get and what shares are shares of; then the printed rows are written one by one. */
#include "view/view.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "columns.h"

enum { FIXED_WIDTH = 12, EXTRA_WIDTH = 4, DEFAULT_ROWS = 100 };

/* Learnt from all rows, printed or not. */
struct survey {
    bool device_time, device_memory, shapes, overloads, stacks, nodes;
    bool flops;                   /* some are positive; then */
    struct tp_number flops_least; /* the smallest of those */
    struct tp_number cpu_sum, device_sum;
    size_t name_length, shapes_length, frame_length;
    uint32_t last_stack; /* measured before this row */
    uint32_t any_device; /* first use_device of any row */
};

struct table_column {
    enum tp_column_id id;
    size_t width;
    bool is_left;
};

struct table {
    const struct tp_report *report;
    const struct tp_view_options *options;
    struct tp_output *output;
    struct survey survey;
    struct table_column columns[TP_COLUMNS];
    size_t column_count;
    struct tp_buffer device; /* upper case */
    const char *flops_prefix;
    double flops_scale;
    struct tp_buffer line, cell;
};

/* ---- survey ---- */

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool is_text(uint32_t id)
{
    return id != TP_STRING_NONE && id != TP_STRING_EMPTY;
}

static size_t text_length(const struct tp_report *report, uint32_t id)
{
    return tp_format_display_length(tp_strings_get(report->strings, id));
}

static void survey_stack(const struct tp_report *report, const struct tp_average *row,
                         struct survey *s)
{
    if (!row->stack_count)
        return;
    s->stacks = true;
    if (tp_report_shows_events(report) && row->stack == s->last_stack)
        return;
    s->last_stack = row->stack;
    const uint32_t *frames = tp_stacks_frames(report->stacks, row->stack);
    for (uint32_t i = 0; i < row->stack_count; i++)
        s->frame_length = greater(s->frame_length, text_length(report, frames[i]));
}

/* Rows whose device time is the device's own, not a copy credited to an operator or a range. */
static bool is_device_row(const struct tp_average *row)
{
    if (row->device_type == TP_DEVICE_CPU)
        return row->flags & TP_EVENT_LEGACY;
    return tp_device_type_is_accelerator(row->device_type) &&
           !(row->flags & TP_EVENT_USER_ANNOTATION);
}

static void survey_row(const struct tp_report *report, const struct tp_average *row,
                       struct survey *s)
{
    struct tp_number flops = row->sums[TP_MEASURE_FLOPS];
    struct tp_number self_device = row->sums[TP_MEASURE_SELF_DEVICE_TIME];

    s->device_time |= tp_number_sign(self_device) > 0;
    s->device_memory |= tp_number_sign(row->sums[TP_MEASURE_SELF_DEVICE_MEMORY]) > 0;
    s->nodes |= row->node_id != -1;
    s->overloads |= is_text(row->overload_name);
    s->shapes |= is_text(row->input_shapes) && row->input_shapes != TP_STRING_LIST;
    if (tp_number_sign(flops) > 0 && (!s->flops || tp_number_compare(flops, s->flops_least) < 0)) {
        s->flops = true;
        s->flops_least = flops;
    }
    s->cpu_sum = tp_number_add(s->cpu_sum, row->sums[TP_MEASURE_SELF_CPU_TIME]);
    if (is_device_row(row))
        s->device_sum = tp_number_add(s->device_sum, self_device);
    s->name_length = greater(s->name_length, text_length(report, row->key));
    s->shapes_length = greater(s->shapes_length, row->input_shapes == TP_STRING_NONE
                                                     ? strlen("None")
                                                     : text_length(report, row->input_shapes));
    if (!is_text(s->any_device))
        s->any_device = row->use_device;
    survey_stack(report, row, s);
}

static void survey_rows(struct table *t)
{
    struct tp_average scratch;

    t->survey = (struct survey){.last_stack = TP_STACK_NONE};
    for (size_t i = 0; i < t->report->count; i++)
        survey_row(t->report, tp_report_row(t->report, i, &scratch), &t->survey);
}

/* ---- columns ---- */

static int find_device(struct table *t, struct tp_diag *diag)
{
    uint32_t device = t->report->first_use_device;

    if (t->survey.device_time) {
        if (!is_text(device))
            device = t->report->use_device;
        if (!is_text(device))
            device = t->survey.any_device;
        if (!is_text(device))
            return tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
                                "use_device is None, but there is device performance data.");
    }
    if (is_text(device))
        tp_format_display(&t->device, tp_strings_get(t->report->strings, device));
    for (size_t i = 0; i < t->device.size; i++)
        t->device.bytes[i] = (char)toupper((unsigned char)t->device.bytes[i]);
    return 0;
}

static void choose_flops_scale(struct table *t)
{
    static const struct {
        const char *prefix;
        double scale;
    } scales[] = {{"", 1.0}, {"K", 1e-3}, {"M", 1e-6}, {"G", 1e-9}, {"T", 1e-12}, {"P", 1e-15}};
    double log = log10(tp_number_to_double(t->survey.flops_least)) / 3;

    log = log < 0 ? 0 : log > 5 ? 5 : log;
    t->flops_prefix = scales[(int)floor(log)].prefix;
    t->flops_scale = scales[(int)floor(log)].scale;
}

static void add_column(struct table *t, enum tp_column_id id, size_t width)
{
    t->columns[t->column_count++] = (struct table_column){
        .id = id, .width = width, .is_left = tp_column_get(id)->unit == TP_UNIT_STACK};
}

static void add_columns(struct table *t, enum tp_column_id first, enum tp_column_id last)
{
    for (enum tp_column_id id = first; id <= last; id++)
        add_column(t, id, FIXED_WIDTH);
}

static size_t limited(size_t length, uint32_t limit)
{
    size_t width = length + EXTRA_WIDTH;

    return limit && width > limit ? limit : width;
}

static void choose_columns(struct table *t)
{
    const struct survey *s = &t->survey;
    size_t name_width = limited(s->name_length, t->options->max_name_width);

    add_column(t, TP_COLUMN_KEY, name_width);
    if (s->overloads)
        add_column(t, TP_COLUMN_OVERLOAD_NAME, name_width);
    add_columns(t, TP_COLUMN_SELF_CPU_PERCENT, TP_COLUMN_CPU_TIME);
    if (s->device_time)
        add_columns(t, TP_COLUMN_SELF_DEVICE_TIME, TP_COLUMN_DEVICE_TIME);
    if (t->report->profile_memory) {
        add_columns(t, TP_COLUMN_CPU_MEMORY, TP_COLUMN_SELF_CPU_MEMORY);
        if (t->device.size && s->device_memory)
            add_columns(t, TP_COLUMN_DEVICE_MEMORY, TP_COLUMN_SELF_DEVICE_MEMORY);
    }
    add_column(t, TP_COLUMN_COUNT, FIXED_WIDTH);
    if (t->report->percentiles)
        add_columns(t, TP_COLUMN_TIME_MIN, TP_COLUMN_TIME_MAX);
    if (s->nodes)
        add_column(t, TP_COLUMN_NODE_ID, FIXED_WIDTH);
    if (s->shapes)
        add_column(t, TP_COLUMN_INPUT_SHAPES,
                   limited(s->shapes_length, t->options->max_shapes_width));
    if (s->stacks)
        add_column(t, TP_COLUMN_STACK, limited(s->frame_length, t->options->max_src_width));
    if (t->report->with_flops && s->flops) {
        choose_flops_scale(t);
        add_column(t, TP_COLUMN_FLOPS, FIXED_WIDTH);
    }
}

/* ---- lines ---- */

static void put_repeated(struct tp_buffer *out, char c, size_t count)
{
    while (count--)
        tp_buffer_char(out, c);
}

/* Every cell is followed by two spaces, the last one as well. */
static void put_cell(struct table *t, const struct table_column *column, const char *bytes,
                     size_t size)
{
    size_t length = tp_utf8_length(bytes, size);
    size_t pad = length < column->width ? column->width - length : 0;

    if (!column->is_left)
        put_repeated(&t->line, ' ', pad);
    tp_buffer_bytes(&t->line, bytes, size);
    if (column->is_left)
        put_repeated(&t->line, ' ', pad);
    tp_buffer_string(&t->line, "  ");
}

static void end_line(struct table *t)
{
    tp_buffer_char(&t->line, '\n');
    tp_output_buffer(t->output, &t->line);
    tp_buffer_reset(&t->line);
}

static void put_rule(struct table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        put_repeated(&t->line, '-', t->columns[i].width);
        tp_buffer_string(&t->line, "  ");
    }
    end_line(t);
}

static void put_double_rule(struct table *t)
{
    size_t length = 0;

    for (size_t i = 0; i < t->column_count; i++)
        length += t->columns[i].width + 2;
    put_repeated(&t->line, '=', length - 2);
    end_line(t);
}

static void put_headings(struct table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        const struct table_column *column = &t->columns[i];
        tp_buffer_reset(&t->cell);
        for (const char *p = tp_column_get(column->id)->heading; *p; p++) {
            if (*p != '@')
                tp_buffer_char(&t->cell, *p);
            else if (column->id == TP_COLUMN_FLOPS)
                tp_buffer_string(&t->cell, t->flops_prefix);
            else
                tp_buffer_bytes(&t->cell, t->device.bytes, t->device.size);
        }
        put_cell(t, column, t->cell.bytes, t->cell.size);
    }
    end_line(t);
}

static void put_head(struct table *t)
{
    if (t->options->header) {
        put_double_rule(t);
        tp_buffer_string(&t->line, t->options->header);
        end_line(t);
    }
    if (t->options->top_level_events_only) {
        put_double_rule(t);
        tp_buffer_string(&t->line, "This report only display top-level ops statistics");
        end_line(t);
    }
    put_rule(t);
    put_headings(t);
    put_rule(t);
}

static void put_time_line(struct table *t, const char *before, const struct tp_buffer *device,
                          const char *after, struct tp_number time)
{
    tp_buffer_string(&t->line, before);
    if (device)
        tp_buffer_bytes(&t->line, device->bytes, device->size);
    tp_buffer_string(&t->line, after);
    tp_format_time(&t->line, time, t->options->time_unit);
    end_line(t);
}

static void put_foot(struct table *t)
{
    put_rule(t);
    put_time_line(t, "Self CPU", NULL, " time total: ", t->survey.cpu_sum);
    if (t->survey.device_time)
        put_time_line(t, "Self ", &t->device, " time total: ", t->survey.device_sum);
}

/* ---- cells; each leaves its text in t->cell ---- */

/* From max - 3 code points on a name is cut and gets dots, even where it would have fitted. */
static void format_name(struct table *t, uint32_t id)
{
    long length, keep, max = t->options->max_name_width;

    tp_format_display(&t->cell, tp_strings_get(t->report->strings, id));
    length = (long)tp_utf8_length(t->cell.bytes, t->cell.size);
    if (!max || length < max - 3)
        return;
    keep = max >= 3 ? max - 3 : length - (3 - max);
    t->cell.size = tp_format_prefix(t->cell.bytes, t->cell.size, keep > 0 ? (size_t)keep : 0);
    tp_buffer_string(&t->cell, "...");
}

static void format_shapes(struct table *t, const struct table_column *column, uint32_t id)
{
    if (id == TP_STRING_NONE)
        tp_buffer_string(&t->cell, "None");
    else
        tp_format_display(&t->cell, tp_strings_get(t->report->strings, id));
    t->cell.size = tp_format_prefix(t->cell.bytes, t->cell.size, column->width);
}

/* The end of a frame that is wider than its column, with dots in front. */
static void format_frame(struct table *t, const struct table_column *column, uint32_t id)
{
    tp_format_display(&t->cell, tp_strings_get(t->report->strings, id));
    size_t length = tp_utf8_length(t->cell.bytes, t->cell.size);
    if (length <= column->width)
        return;
    size_t kept = column->width > 3 ? column->width - 3 : column->width;
    size_t skip = tp_format_prefix(t->cell.bytes, t->cell.size, length - kept);
    size_t dots = column->width > 3 ? 3 : 0;
    memmove(t->cell.bytes + dots, t->cell.bytes + skip, t->cell.size - skip);
    memcpy(t->cell.bytes, "...", dots);
    t->cell.size = t->cell.size - skip + dots;
}

static void format_flops(struct table *t, struct tp_number flops)
{
    if (tp_number_sign(flops) <= 0)
        tp_buffer_string(&t->cell, "--");
    else
        tp_buffer_format(&t->cell, "%8.3f", tp_number_to_double(flops) * t->flops_scale);
}

static bool is_rounded(enum tp_column_id id, const struct tp_average *row)
{
    return (id == TP_COLUMN_TIME_MEDIAN || id == TP_COLUMN_TIME_P90 || id == TP_COLUMN_TIME_P99) &&
           !row->spread.is_exact;
}

static void format_cell(struct table *t, const struct table_column *column,
                        const struct tp_average *row)
{
    const struct tp_column *info = tp_column_get(column->id);
    struct tp_value value = info->value(row);

    tp_buffer_reset(&t->cell);
    switch (info->unit) {
    case TP_UNIT_TEXT:
        format_name(t, value.id);
        break;
    case TP_UNIT_US:
        if (value.kind == TP_VALUE_NONE) {
            tp_buffer_string(&t->cell, "--");
            break;
        }
        if (is_rounded(column->id, row))
            tp_buffer_char(&t->cell, '~');
        tp_format_time(&t->cell, value.number, t->options->time_unit);
        break;
    case TP_UNIT_BYTES:
        tp_format_memory(&t->cell, value.number);
        break;
    case TP_UNIT_SHARE_CPU:
        if (column->id == TP_COLUMN_CPU_PERCENT && row->flags & TP_EVENT_ASYNC)
            tp_buffer_char(&t->cell, '0');
        else
            tp_format_share(&t->cell, value.number, t->survey.cpu_sum);
        break;
    case TP_UNIT_SHARE_DEVICE:
        tp_format_share(&t->cell, value.number, t->survey.device_sum);
        break;
    case TP_UNIT_SHAPES:
        format_shapes(t, column, value.id);
        break;
    case TP_UNIT_STACK:
        if (row->stack_count)
            format_frame(t, column, tp_stacks_frames(t->report->stacks, row->stack)[0]);
        break;
    case TP_UNIT_FLOP:
        format_flops(t, value.kind == TP_VALUE_NONE ? tp_number_integer(0) : value.number);
        break;
    default:
        tp_format_number(&t->cell, value.number);
        break;
    }
}

/* The reference writes FLOPs and source in the other order than their headings. */
static const struct table_column *value_column(const struct table *t, size_t place)
{
    size_t last = t->column_count - 1;
    bool swapped = t->survey.stacks && t->columns[last].id == TP_COLUMN_FLOPS;

    if (swapped && place >= last - 1)
        return &t->columns[place == last ? last - 1 : last];
    return &t->columns[place];
}

static const struct table_column *stack_column(const struct table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        if (t->columns[i].id == TP_COLUMN_STACK)
            return &t->columns[i];
    }
    return NULL;
}

/* A line whose only text, if any, stands in the last column. */
static void put_continuation(struct table *t, const struct tp_average *row, uint32_t frame)
{
    tp_buffer_reset(&t->cell);
    if (frame < row->stack_count)
        format_frame(t, stack_column(t), tp_stacks_frames(t->report->stacks, row->stack)[frame]);
    for (size_t i = 0; i + 1 < t->column_count; i++)
        put_cell(t, &t->columns[i], "", 0);
    put_cell(t, &t->columns[t->column_count - 1], t->cell.bytes, t->cell.size);
    end_line(t);
}

static void put_row(struct table *t, const struct tp_average *row)
{
    for (size_t i = 0; i < t->column_count; i++) {
        format_cell(t, value_column(t, i), row);
        put_cell(t, &t->columns[i], t->cell.bytes, t->cell.size);
    }
    end_line(t);
    if (!t->survey.stacks)
        return;
    for (uint32_t frame = 1; frame < row->stack_count; frame++)
        put_continuation(t, row, frame);
    put_continuation(t, row, row->stack_count);
}

static void put_rows(struct table *t)
{
    int64_t printed = 0, limit = tp_view_row_limit(t->options, DEFAULT_ROWS);
    const struct tp_average *row;
    struct tp_average scratch;

    for (size_t i = 0; !tp_output_failed(t->output); i++) {
        row = tp_view_next_row(t->report, t->options, limit, &i, &printed, &scratch);
        if (!row)
            break;
        put_row(t, row);
    }
}

int tp_table_write(const struct tp_report *report, const struct tp_view_options *options,
                   struct tp_output *output, struct tp_diag *diag)
{
    struct table t = {.report = report, .options = options, .output = output};

    if (!report->count)
        return 0;
    survey_rows(&t);
    int result = find_device(&t, diag);
    if (!result) {
        choose_columns(&t);
        put_head(&t);
        put_rows(&t);
        put_foot(&t);
    }
    tp_buffer_fini(&t.device);
    tp_buffer_fini(&t.line);
    tp_buffer_fini(&t.cell);
    return result;
}

/* ---- total: one value per line ---- */

static void put_total_line(struct table *t, const struct tp_column *column, struct tp_number number)
{
    tp_buffer_format(&t->line, "%-26s", column->name);
    tp_format_number(&t->line, number);
    if (column->unit == TP_UNIT_US) {
        tp_buffer_string(&t->line, " us  ");
        tp_format_time(&t->line, number, t->options->time_unit);
    } else if (column->unit == TP_UNIT_BYTES) {
        tp_buffer_string(&t->line, " B  ");
        tp_format_memory(&t->line, number);
    }
    end_line(t);
}

int tp_total_write(const struct tp_report *report, const struct tp_view_options *options,
                   struct tp_output *output, struct tp_diag *diag)
{
    struct table t = {.report = report, .options = options, .output = output};
    struct tp_average scratch;
    const struct tp_average *row = tp_report_row(report, 0, &scratch);

    (void)diag;
    for (int id = 0; id < TP_COLUMNS; id++) {
        const struct tp_column *column = tp_column_get(id);
        bool is_sum = column->where == TP_WHERE_ROWS &&
                      (column->unit == TP_UNIT_US || column->unit == TP_UNIT_BYTES ||
                       id == TP_COLUMN_COUNT || id == TP_COLUMN_FLOPS);
        if (is_sum)
            put_total_line(&t, column, column->value(row).number);
    }
    tp_buffer_fini(&t.line);
    return 0;
}
