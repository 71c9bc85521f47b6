/* SPDX-License-Identifier: MIT */
#include "input/ascend_rows.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *name;
    enum tp_ascend_field field;
} columns[] = {
#define TP_ASCEND_COLUMN(field, name) {name, TP_ASCEND_##field},
#include "input/ascend_columns.def"
#undef TP_ASCEND_COLUMN
};

enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]) };

/* ---- the header ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **text, size_t *size)
{
    while (*size && is_blank(**text)) {
        ++*text;
        --*size;
    }
    while (*size && is_blank((*text)[*size - 1]))
        --*size;
}

static void read_heading(struct tp_ascend_header *header, const struct tp_csv_row *row, size_t at)
{
    const char *text = row->text + row->values[at].begin;
    size_t size = row->values[at].size;

    trim(&text, &size);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (strlen(columns[i].name) == size && !memcmp(columns[i].name, text, size) &&
            header->columns[columns[i].field] < 0)
            header->columns[columns[i].field] = (int)at;
    }
}

void tp_ascend_header_read(struct tp_ascend_header *header, const struct tp_csv_row *row)
{
    const int *at = header->columns;

    memset(header->columns, -1, sizeof(header->columns));
    header->count = row->count;
    for (size_t i = 0; i < row->count; i++)
        read_heading(header, row, i);
    header->file = TP_ASCEND_NEITHER;
    if (at[TP_ASCEND_NAME] < 0)
        return;
    if (at[TP_ASCEND_HOST_SELF] >= 0)
        header->file = TP_ASCEND_OPERATORS;
    else if (at[TP_ASCEND_DURATION] >= 0 && (at[TP_ASCEND_TYPE] >= 0 || at[TP_ASCEND_CORE] >= 0))
        header->file = TP_ASCEND_KERNELS;
}

/* ---- cells ---- */

/* A row on its way to a piece of work. Once something failed the rest does nothing. */
struct cells {
    struct tp_ascend_rows *rows;
    const struct tp_csv_row *row;
    int result;
};

static int fail_cell(struct cells *c, enum tp_ascend_field field, const char *expected)
{
    const struct tp_csv_value *value = &c->row->values[c->rows->header.columns[field]];
    const char *name = "";
    char found[64];
    struct tp_text text;

    for (int i = 0; !*name; i++)
        name = columns[i].field == field ? columns[i].name : "";
    tp_text_init(&text, found, sizeof(found));
    tp_text_json(&text, c->row->text + value->begin, value->size < 24 ? value->size : 24);
    c->result = tp_diag_fail(c->rows->diag, -TP_EVALUE, value->offset,
                             "line %llu, column '%s': found %s, expected %s",
                             (unsigned long long)value->line, name, found, expected);
    return c->result;
}

/* The bytes of a cell without white space around them; false where there is nothing in it. */
static bool find_cell(const struct cells *c, enum tp_ascend_field field, const char **ret_text,
                      size_t *ret_size)
{
    int at = c->rows->header.columns[field];

    if (c->result < 0 || at < 0)
        return false;
    *ret_text = c->row->text + c->row->values[at].begin;
    *ret_size = c->row->values[at].size;
    trim(ret_text, ret_size);
    return *ret_size && !(*ret_size == 3 && !memcmp(*ret_text, "N/A", 3));
}

static uint32_t take_text(struct cells *c, enum tp_ascend_field field)
{
    const char *text;
    size_t size;
    uint32_t id = TP_STRING_NONE;

    if (!find_cell(c, field, &text, &size))
        return TP_STRING_NONE;
    c->result = tp_strings_put(c->rows->strings, text, size, &id);
    if (c->result < 0)
        tp_diag_fail(c->rows->diag, c->result, c->row->values[0].offset, "no room for names");
    return id;
}

/* A name is what it is, even N/A. */
static uint32_t take_name(struct cells *c)
{
    const struct tp_csv_value *value = &c->row->values[c->rows->header.columns[TP_ASCEND_NAME]];
    uint32_t id = TP_STRING_NONE;

    c->result = tp_strings_put(c->rows->strings, c->row->text + value->begin, value->size, &id);
    if (c->result < 0)
        tp_diag_fail(c->rows->diag, c->result, value->offset, "no room for names");
    return id;
}

/* Decimal forms only: neither hexadecimal ones nor names of numbers. */
static int parse_number(const char *text, size_t size, struct tp_number *ret)
{
    for (size_t i = 0; i < size; i++) {
        if (!strchr("0123456789.eE+-", text[i]) || !text[i])
            return -TP_ESYNTAX;
    }
    return tp_number_parse(text, size, ret);
}

static bool take_integer(struct cells *c, enum tp_ascend_field field, int64_t *ret)
{
    struct tp_number number;
    const char *text;
    size_t size;

    if (!find_cell(c, field, &text, &size))
        return false;
    if (parse_number(text, size, &number) < 0)
        return fail_cell(c, field, "a number or N/A") > 0;
    *ret = tp_number_truncate(number);
    return true;
}

/* Digits, and what they are worth; stops at the first byte that is none. */
static const char *take_digits(const char *p, const char *end, int limit, int64_t *value)
{
    for (; p < end && limit && *p >= '0' && *p <= '9'; p++, limit--)
        *value = *value * 10 + (*p - '0');
    return p;
}

/* [-]digits[.digits] below 285 years; false for other forms, which are read as doubles. */
static bool read_plain(const char *text, size_t size, struct tp_number *ret_ns)
{
    const char *p = text, *end = text + size;
    bool negative = size && *p == '-', rounds_up = false;
    int64_t us = 0, ns = 0;

    p += negative;
    const char *first = p;
    p = take_digits(p, end, 16, &us);
    if (p == first || us > 9000000000000000)
        return false;
    if (p < end && *p == '.') {
        const char *point = p++;
        p = take_digits(p, end, 3, &ns);
        if (p == point + 1)
            return false;
        for (size_t digits = (size_t)(p - point - 1); digits < 3; digits++)
            ns *= 10;
        const char *beyond = p;
        while (p < end && *p == '0')
            p++;
        if (p < end && us < 1000000) /* a fraction of a nanosecond that a double can hold */
            return false;
        rounds_up = p < end && *beyond >= '5';
        while (p < end && *p >= '0' && *p <= '9')
            p++;
    }
    ns += us * 1000 + rounds_up;
    *ret_ns = tp_number_integer(negative ? -ns : ns);
    return p == end;
}

int tp_ascend_ns(const char *text, size_t size, struct tp_number *ret_ns)
{
    struct tp_number us;

    if (read_plain(text, size, ret_ns))
        return 0;
    if (parse_number(text, size, &us) < 0)
        return -TP_ESYNTAX;
    *ret_ns = tp_work_ns(us);
    return isfinite(tp_number_to_double(*ret_ns)) ? 0 : -TP_ESYNTAX;
}

static bool take_us(struct cells *c, enum tp_ascend_field field, struct tp_number *ret_ns)
{
    const char *text;
    size_t size;

    if (!find_cell(c, field, &text, &size))
        return false;
    if (tp_ascend_ns(text, size, ret_ns) < 0)
        return fail_cell(c, field, "microseconds or N/A") > 0;
    return true;
}

static void take_time(struct cells *c, enum tp_ascend_field field, enum tp_measure measure,
                      struct tp_work *work)
{
    if (take_us(c, field, &work->ns[measure]))
        work->known |= (uint8_t)(1u << measure);
}

/* ---- rows ---- */

static void take_kernel(struct cells *c, struct tp_work *work, struct tp_work_details *details)
{
    const int *at = c->rows->header.columns;

    work->kind = TP_WORK_KERNEL;
    take_time(c, TP_ASCEND_DURATION, TP_MEASURE_SELF_DEVICE_TIME, work);
    take_time(c, TP_ASCEND_DURATION, TP_MEASURE_DEVICE_TIME, work);
    work->has_span = take_us(c, TP_ASCEND_START, &work->start_ns);
    work->end_ns = tp_number_add(work->start_ns, work->ns[TP_MEASURE_DEVICE_TIME]);
    take_integer(c, TP_ASCEND_DEVICE, &work->device);
    take_integer(c, TP_ASCEND_STREAM, &work->stream);
    details->has_step = at[TP_ASCEND_STEP] >= 0;
    details->step = -1;
    take_integer(c, TP_ASCEND_STEP, &details->step);
    details->type = take_text(c, TP_ASCEND_TYPE);
    details->core = take_text(c, TP_ASCEND_CORE);
    details->has_wait = take_us(c, TP_ASCEND_WAIT, &details->wait_ns);
    details->has_blocks = take_integer(c, TP_ASCEND_BLOCKS, &details->blocks);
    details->has_shapes = at[TP_ASCEND_INPUT_SHAPES] >= 0;
    details->input_shapes = take_text(c, TP_ASCEND_INPUT_SHAPES);
    details->input_dtypes = take_text(c, TP_ASCEND_INPUT_DTYPES);
    details->input_formats = take_text(c, TP_ASCEND_INPUT_FORMATS);
    details->output_shapes = take_text(c, TP_ASCEND_OUTPUT_SHAPES);
    details->output_dtypes = take_text(c, TP_ASCEND_OUTPUT_DTYPES);
    details->output_formats = take_text(c, TP_ASCEND_OUTPUT_FORMATS);
}

static void take_operator(struct cells *c, struct tp_work *work, struct tp_work_details *details)
{
    work->kind = TP_WORK_OPERATOR;
    take_time(c, TP_ASCEND_HOST_SELF, TP_MEASURE_SELF_CPU_TIME, work);
    take_time(c, TP_ASCEND_HOST_TOTAL, TP_MEASURE_CPU_TIME, work);
    take_time(c, TP_ASCEND_DEVICE_SELF, TP_MEASURE_SELF_DEVICE_TIME, work);
    take_time(c, TP_ASCEND_DEVICE_TOTAL, TP_MEASURE_DEVICE_TIME, work);
    details->has_aicore = take_us(c, TP_ASCEND_AICORE_SELF, &details->aicore_self_ns) &&
                          take_us(c, TP_ASCEND_AICORE_TOTAL, &details->aicore_total_ns);
    details->input_shapes = take_text(c, TP_ASCEND_INPUT_SHAPES);
    details->call_stack = take_text(c, TP_ASCEND_CALL_STACK);
}

static bool in_window(const struct tp_ascend_rows *rows, const struct tp_work *work)
{
    const struct tp_instant *from = &rows->selection->from, *to = &rows->selection->to;
    double start = tp_number_to_double(work->start_ns);
    double since =
        tp_number_to_double(tp_number_subtract(work->start_ns, tp_number_integer(rows->base_ns)));

    if (from->kind != TP_INSTANT_UNSET &&
        (!work->has_span || (from->kind == TP_INSTANT_WALL ? start : since) < (double)from->ns))
        return false;
    return to->kind == TP_INSTANT_UNSET ||
           (work->has_span && (to->kind == TP_INSTANT_WALL ? start : since) < (double)to->ns);
}

static bool is_selected(const struct tp_ascend_rows *rows, const struct tp_work *work)
{
    const struct tp_selection *s = rows->selection;
    char stream[24];
    struct tp_text text;

    if (!s)
        return true;
    if (s->has_step && (work->details->step < s->first_step || work->details->step > s->last_step))
        return false;
    tp_text_init(&text, stream, sizeof(stream));
    tp_text_i64(&text, work->stream);
    return in_window(rows, work) && (!s->thread || !strcmp(s->thread, stream));
}

/* The selection must be about something that the file has. */
static int check_selection(struct tp_ascend_rows *rows)
{
    const struct tp_selection *s = rows->selection;
    const int *at = rows->header.columns;
    const char *lacks = NULL;

    if (!s)
        return 0;
    if (s->has_pid || s->has_rank)
        lacks = "process or rank";
    else if (s->has_step && at[TP_ASCEND_STEP] < 0)
        lacks = "step";
    else if (s->thread && at[TP_ASCEND_STREAM] < 0)
        lacks = "stream";
    else if ((s->from.kind != TP_INSTANT_UNSET || s->to.kind != TP_INSTANT_UNSET) &&
             at[TP_ASCEND_START] < 0)
        lacks = "time";
    if (!lacks)
        return 0;
    return tp_diag_fail(rows->diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                        "this file can't be selected from by %s: it has no such column", lacks);
}

static int take_header(struct tp_ascend_rows *rows, const struct tp_csv_row *row)
{
    rows->saw_header = true;
    tp_ascend_header_read(&rows->header, row);
    if (rows->header.file == TP_ASCEND_NEITHER)
        return tp_diag_fail(rows->diag, -TP_EFOREIGN, 0,
                            "line %llu: found other column names, expected those of "
                            "kernel_details.csv (Name, Type, Duration(us)) or operator_details.csv "
                            "(Name, Host Self Duration(us))",
                            (unsigned long long)row->line);
    return check_selection(rows);
}

/* A last line that ends too early is what a killed writer leaves; anything else is an error. */
static int take_short(struct tp_ascend_rows *rows, const struct tp_csv_row *row)
{
    uint64_t at = row->values[0].offset;
    struct tp_text text;

    if (row->is_whole || row->count > rows->header.count)
        return tp_diag_fail(rows->diag, -TP_ESYNTAX, at,
                            "line %llu: found %zu columns, expected %zu as in the header",
                            (unsigned long long)row->line, row->count, rows->header.count);
    rows->lost_count++;
    tp_text_init(&text, rows->lost_text, sizeof(rows->lost_text));
    tp_text_format(&text, "at byte %llu: line %llu is cut short %s, found %zu of %zu columns",
                   (unsigned long long)at, (unsigned long long)row->line,
                   row->is_open ? "within quotes" : "by the file's end", row->count,
                   rows->header.count);
    return 0;
}

static int take_row(void *context, const struct tp_csv_row *row)
{
    struct tp_ascend_rows *rows = context;
    struct cells cells = {.rows = rows, .row = row};
    struct tp_work_details details = {0};
    struct tp_work work = {.details = &details};

    if (!rows->saw_header)
        return take_header(rows, row);
    if (row->count != rows->header.count || row->is_open)
        return take_short(rows, row);
    work.name = take_name(&cells);
    if (rows->header.file == TP_ASCEND_KERNELS)
        take_kernel(&cells, &work, &details);
    else
        take_operator(&cells, &work, &details);
    if (cells.result < 0 || !is_selected(rows, &work))
        return cells.result;
    return rows->sink->take(rows->sink, &work);
}

void tp_ascend_rows_init(struct tp_ascend_rows *rows, struct tp_strings *strings,
                         const struct tp_selection *selection, int64_t base_ns,
                         struct tp_work_sink *sink, struct tp_diag *diag)
{
    tp_csv_init(&rows->csv, take_row, rows, diag);
    rows->strings = strings;
    rows->sink = sink;
    rows->selection = selection;
    rows->base_ns = base_ns;
    rows->diag = diag;
    rows->saw_header = false;
    rows->lost_count = 0;
    rows->lost_text[0] = '\0';
}

void tp_ascend_rows_fini(struct tp_ascend_rows *rows)
{
    tp_csv_fini(&rows->csv);
}
