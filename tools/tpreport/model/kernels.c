/* SPDX-License-Identifier: MIT */
#include "model/kernels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- rows ---- */

static void row_fini(struct tp_kernel_row *row)
{
    tp_durations_fini(&row->durations);
    free(row->captures);
}

static void rows_fini(struct tp_kernel_rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++)
        row_fini(&rows->items[i]);
    free(rows->items);
    free(rows->by_name);
    *rows = (struct tp_kernel_rows){0};
}

static int reserve_name(struct tp_kernel_rows *rows, uint32_t name)
{
    if (name < rows->name_capacity)
        return 0;
    size_t capacity = rows->name_capacity ? rows->name_capacity : 64;
    while (capacity <= name)
        capacity *= 2;
    uint32_t *by_name = realloc(rows->by_name, capacity * sizeof(*by_name));
    if (!by_name)
        return -ENOMEM;
    memset(by_name + rows->name_capacity, 0, (capacity - rows->name_capacity) * sizeof(*by_name));
    rows->by_name = by_name;
    rows->name_capacity = (uint32_t)(capacity > UINT32_MAX ? UINT32_MAX : capacity);
    return 0;
}

static int append_row(struct tp_kernel_rows *rows, uint32_t name)
{
    if (rows->count == rows->capacity) {
        uint32_t capacity = rows->capacity ? rows->capacity * 2 : 16;
        struct tp_kernel_row *items = realloc(rows->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        rows->items = items;
        rows->capacity = capacity;
    }
    rows->items[rows->count++] = (struct tp_kernel_row){.name = name, .name_count = 1};
    return 0;
}

/* The row of a name, made if it is new. */
static int find_row(struct tp_kernel_rows *rows, uint32_t name, struct tp_kernel_row **ret_row)
{
    int result = reserve_name(rows, name);

    if (!result && !rows->by_name[name]) {
        result = append_row(rows, name);
        if (!result)
            rows->by_name[name] = rows->count;
    }
    if (!result)
        *ret_row = &rows->items[rows->by_name[name] - 1];
    return result;
}

static void widen(struct tp_kernel_row *row, struct tp_number low, struct tp_number high)
{
    if (!row->durations.count || tp_number_compare(low, row->minimum_ns) < 0)
        row->minimum_ns = low;
    if (!row->durations.count || tp_number_compare(high, row->maximum_ns) > 0)
        row->maximum_ns = high;
}

static int add_time(struct tp_kernel_rows *rows, uint32_t name, struct tp_number ns, bool is_known)
{
    struct tp_kernel_row *row = NULL;
    int sign = is_known ? tp_number_sign(ns) : 0;

    if (sign < 0) {
        rows->negative++;
        rows->negative_ns = tp_number_add(rows->negative_ns, ns);
        return 0;
    }
    if (!sign || !isfinite(tp_number_to_double(ns))) {
        rows->without_time++;
        return 0;
    }
    int result = find_row(rows, name, &row);
    if (!result) {
        widen(row, ns, ns);
        result = tp_durations_add(&row->durations, tp_number_to_double(ns));
    }
    if (result < 0)
        return result;
    row->total_ns = tp_number_add(row->total_ns, ns);
    rows->total_ns = tp_number_add(rows->total_ns, ns);
    rows->calls++;
    return 0;
}

static struct tp_kernel_row *find_known_row(const struct tp_kernel_rows *rows, uint32_t name)
{
    return rows->by_name && name < rows->name_capacity && rows->by_name[name]
               ? &rows->items[rows->by_name[name] - 1]
               : NULL;
}

/* The row to which a piece of work was added; NULL: it has no time. */
static struct tp_kernel_row *row_of(const struct tp_kernels *kernels, enum tp_work_class work_class,
                                    const struct tp_work *work)
{
    return tp_number_sign(work->ns[kernels->device_measure]) <= 0
               ? NULL
               : find_known_row(&kernels->classes[work_class], work->name);
}

/* Graphs are launched in the same order again and again. */
static struct tp_kernel_capture *find_capture(struct tp_kernel_row *row, uint32_t name)
{
    for (uint32_t i = 0; i < row->capture_count; i++) {
        uint32_t at = (row->last_capture + i) % row->capture_count;
        if (row->captures[at].name != name)
            continue;
        row->last_capture = at;
        return &row->captures[at];
    }
    if (row->capture_count == row->capture_capacity) {
        uint32_t capacity = row->capture_capacity ? row->capture_capacity * 2 : 4;
        struct tp_kernel_capture *captures = realloc(row->captures, capacity * sizeof(*captures));
        if (!captures)
            return NULL;
        row->captures = captures;
        row->capture_capacity = capacity;
    }
    row->last_capture = row->capture_count++;
    row->captures[row->last_capture] = (struct tp_kernel_capture){.name = name};
    return &row->captures[row->last_capture];
}

static int add_capture(struct tp_kernel_row *row, const struct tp_kernel_capture *from)
{
    struct tp_kernel_capture *capture = find_capture(row, from->name);

    if (!capture)
        return -ENOMEM;
    capture->calls += from->calls;
    capture->ns = tp_number_add(capture->ns, from->ns);
    return 0;
}

static int note_capture(struct tp_kernels *kernels, struct tp_kernel_row *row,
                        const struct tp_work *work)
{
    struct tp_kernel_capture capture = {
        .name = work->captured_in, .calls = 1, .ns = work->ns[kernels->device_measure]};

    if (work->captured_in == TP_STRING_NONE)
        return 0;
    kernels->has_captures = true;
    return add_capture(row, &capture);
}

int tp_kernels_add_capture(struct tp_kernels *kernels, enum tp_work_class work_class, uint32_t name,
                           const struct tp_kernel_capture *capture)
{
    struct tp_kernel_row *row = find_known_row(&kernels->classes[work_class], name);

    if (!row)
        return 0;
    kernels->has_captures = true;
    return add_capture(row, capture);
}

static void add_geometry(struct tp_kernels *kernels, struct tp_kernel_row *row,
                         const struct tp_work *work)
{
    struct tp_number ns = work->ns[kernels->device_measure];

    if (work->geometry == TP_STRING_NONE)
        return;
    kernels->has_geometry = true;
    row->geometry_varies |= row->geometry != TP_STRING_NONE && row->geometry != work->geometry;
    if (row->geometry == TP_STRING_NONE ||
        (kernels->is_unordered && tp_number_compare(work->start_ns, row->shaped_ns) < 0)) {
        row->geometry = work->geometry;
        row->shaped_ns = work->start_ns;
    }
    if (work->occupancy < 0)
        return;
    row->occupancy_ns += (double)work->occupancy * tp_number_to_double(ns);
    row->occupied_ns += tp_number_to_double(ns);
}

static int add_launch(struct tp_kernels *kernels, const struct tp_work *work)
{
    struct tp_kernel_row *row = NULL;
    int result = find_row(&kernels->launches, work->name, &row);

    if (!result)
        row->launches++;
    return result;
}

/* ---- taking work ---- */

static void widen_span(struct tp_work_span *span, const struct tp_work *work)
{
    if (!work->has_span)
        return;
    if (!span->is_known || tp_number_compare(work->start_ns, span->start_ns) < 0)
        span->start_ns = work->start_ns;
    if (!span->is_known || tp_number_compare(work->end_ns, span->end_ns) > 0)
        span->end_ns = work->end_ns;
    span->is_known = true;
}

static int add_class(struct tp_kernels *kernels, enum tp_work_class work_class,
                     const struct tp_work *work, enum tp_measure measure)
{
    return add_time(&kernels->classes[work_class], work->name, work->ns[measure],
                    tp_work_knows(work, measure));
}

static int take_host(struct tp_kernels *kernels, const struct tp_work *work)
{
    int result = 0;

    if (tp_work_knows(work, TP_MEASURE_SELF_CPU_TIME)) {
        kernels->saw_host = true;
        kernels->self_cpu_ns =
            tp_number_add(kernels->self_cpu_ns, work->ns[TP_MEASURE_SELF_CPU_TIME]);
        result = add_class(kernels, TP_CLASS_HOST, work, TP_MEASURE_SELF_CPU_TIME);
    }
    if (tp_work_knows(work, TP_MEASURE_CPU_TIME))
        kernels->cpu_ns = tp_number_add(kernels->cpu_ns, work->ns[TP_MEASURE_CPU_TIME]);
    if (!result && work->kind == TP_WORK_CALL)
        result = add_class(kernels, TP_CLASS_CALLS, work, TP_MEASURE_CPU_TIME);
    if (!result && tp_work_knows(work, kernels->device_measure))
        result = add_class(kernels, TP_CLASS_OPERATORS, work, kernels->device_measure);
    return result;
}

/* What a row tells of work of a device besides its times. */
static int describe(struct tp_kernels *kernels, enum tp_work_class work_class,
                    const struct tp_work *work)
{
    struct tp_kernel_row *row = row_of(kernels, work_class, work);

    if (!row)
        return 0;
    if (row->durations.count == 1 || tp_number_compare(work->start_ns, row->first_ns) < 0)
        row->first_ns = work->start_ns;
    if (work_class == TP_CLASS_KERNELS)
        add_geometry(kernels, row, work);
    return note_capture(kernels, row, work);
}

static int take(struct tp_work_sink *sink, const struct tp_work *work)
{
    struct tp_kernels *kernels = (struct tp_kernels *)sink;
    int result;

    widen_span(&kernels->span, work);
    switch (work->kind) {
    case TP_WORK_KERNEL:
        kernels->saw_device = true;
        result = add_class(kernels, TP_CLASS_KERNELS, work, kernels->device_measure);
        if (!result && work->launched != TP_STRING_NONE)
            result = add_launch(kernels, work);
        return result ? result : describe(kernels, TP_CLASS_KERNELS, work);
    case TP_WORK_COPY:
        kernels->saw_device = true;
        result = add_class(kernels, TP_CLASS_COPIES, work, kernels->device_measure);
        return result ? result : describe(kernels, TP_CLASS_COPIES, work);
    case TP_WORK_WAIT:
        return add_class(kernels, TP_CLASS_WAITS, work, kernels->device_measure);
    case TP_WORK_CALL:
    case TP_WORK_OPERATOR:
        break;
    }
    return take_host(kernels, work);
}

/* ---- taking sums ---- */

/* Lengths of nothing are pieces without a time, as they are one by one. */
static int add_lengths(struct tp_kernel_rows *rows, const struct tp_summed_work *work,
                       struct tp_kernel_row *row)
{
    double mean = (double)work->total_ns / (double)work->count;
    uint64_t left = work->count;
    int result = 0;

    for (uint32_t i = 0; i < work->length_count && !result; i++) {
        const struct tp_summed_lengths *length = &work->lengths[i];
        left -= length->count;
        if (length->ns > 0) {
            rows->calls += length->count;
            result = tp_durations_add_many(&row->durations, length->ns, length->count);
        } else {
            rows->without_time += length->count;
        }
    }
    if (result || !left || mean <= 0)
        return result;
    rows->calls += left;
    return tp_durations_add_many(&row->durations, mean, left);
}

static int64_t least_of(const struct tp_summed_work *work)
{
    for (uint32_t i = 0; i < work->length_count && work->least_ns <= 0; i++)
        if (work->lengths[i].ns > 0)
            return (int64_t)work->lengths[i].ns;
    return work->least_ns;
}

static int take_summed(struct tp_summed_sink *sink, const struct tp_summed_work *work)
{
    static const enum tp_work_class classes[] = {[TP_SUMMED_KERNELS] = TP_CLASS_KERNELS,
                                                 [TP_SUMMED_COPIES] = TP_CLASS_COPIES,
                                                 [TP_SUMMED_WAITS] = TP_CLASS_WAITS};
    struct tp_kernels *kernels =
        (struct tp_kernels *)((char *)sink - offsetof(struct tp_kernels, summed));
    struct tp_kernel_rows *rows = &kernels->classes[classes[work->kind]];
    struct tp_number total = tp_number_integer(work->total_ns);
    struct tp_kernel_row *row = NULL;

    kernels->saw_device |= work->kind != TP_SUMMED_WAITS;
    if (work->total_ns <= 0) {
        rows->without_time += work->count;
        return 0;
    }
    int result = find_row(rows, work->name, &row);
    if (result < 0)
        return result;
    widen(row, tp_number_integer(least_of(work)), tp_number_integer(work->most_ns));
    row->total_ns = tp_number_add(row->total_ns, total);
    rows->total_ns = tp_number_add(rows->total_ns, total);
    return add_lengths(rows, work, row);
}

void tp_kernels_init(struct tp_kernels *kernels)
{
    *kernels = (struct tp_kernels){.sink = {.take = take},
                                   .summed = {.take = take_summed},
                                   .device_measure = TP_MEASURE_SELF_DEVICE_TIME};
}

void tp_kernels_fini(struct tp_kernels *kernels)
{
    for (int i = 0; i < TP_CLASSES; i++)
        rows_fini(&kernels->classes[i]);
    rows_fini(&kernels->launches);
}

void tp_kernels_end_input(struct tp_kernels *kernels, const struct tp_work_span *own)
{
    const struct tp_work_span *span = own->is_known ? own : &kernels->span;

    if (span->is_known) {
        struct tp_number elapsed = tp_number_subtract(span->end_ns, span->start_ns);
        if (!kernels->has_elapsed || tp_number_compare(elapsed, kernels->elapsed_ns) > 0)
            kernels->elapsed_ns = elapsed;
        kernels->has_elapsed = true;
    }
    kernels->span = (struct tp_work_span){0};
}

/* ---- the choice ---- */

static const struct {
    const char *name, *help;
} profilers[] = {
#define TP_PROFILER(id, name, help) {name, help},
#include "model/profilers.def"
#undef TP_PROFILER
};

const char *tp_profiler_name(enum tp_profiler profiler)
{
    return profilers[profiler].name;
}

const char *tp_profiler_help(enum tp_profiler profiler)
{
    return profilers[profiler].help;
}

int tp_profiler_find(const char *name)
{
    for (int i = 0; i < TP_PROFILERS; i++) {
        if (!strcmp(profilers[i].name, name))
            return i;
    }
    return -TP_ENOTFOUND;
}

const char *tp_work_class_name(enum tp_work_class work_class)
{
    static const char *const names[] = {
        [TP_CLASS_KERNELS] = "kernels",
        [TP_CLASS_COPIES] = "copies and fills; there are no kernels",
        [TP_CLASS_WAITS] = "waits",
        [TP_CLASS_OPERATORS] = "operators; there are no kernel records",
        [TP_CLASS_HOST] = "operators on the host",
        [TP_CLASS_CALLS] = "calls of the device's runtime",
        [TP_CLASSES] = "none",
    };

    return names[work_class];
}

static bool has_device_time(const struct tp_kernels *kernels)
{
    return kernels->saw_device || kernels->classes[TP_CLASS_OPERATORS].count;
}

static bool can_serve(const struct tp_kernels *kernels, enum tp_profiler profiler)
{
    switch (profiler) {
    case TP_PROFILER_ASCEND:
        return kernels->is_ascend && has_device_time(kernels);
    case TP_PROFILER_DEVICE:
        return has_device_time(kernels);
    case TP_PROFILER_FRAMEWORK:
        return kernels->saw_host;
    case TP_PROFILER_WALLCLOCK:
        return kernels->has_elapsed;
    default:
        return false;
    }
}

int tp_kernels_choose(const struct tp_kernels *kernels, enum tp_profiler demanded,
                      enum tp_profiler *ret_profiler, struct tp_diag *diag)
{
    char known[64];
    struct tp_text text;

    tp_text_init(&text, known, sizeof(known));
    for (int i = 0; i < TP_PROFILERS; i++) {
        if (!can_serve(kernels, i))
            continue;
        if (demanded == TP_PROFILER_AUTO || demanded == (enum tp_profiler)i) {
            *ret_profiler = i;
            return 0;
        }
        tp_text_format(&text, "%s%s", text.used ? ", " : "", tp_profiler_name(i));
    }
    if (!text.used)
        return tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                            "nothing to measure: no device records, no events, no start and end");
    return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                        "this input can't serve --profiler %s (%s); it can serve %s",
                        tp_profiler_name(demanded), tp_profiler_help(demanded), known);
}

/* Even if all of it was skipped: a report of nothing, that says so, is better than one of something
 * else. */
static bool was_seen(const struct tp_kernel_rows *rows)
{
    return rows->count || rows->without_time || rows->negative;
}

enum tp_work_class tp_kernels_class(const struct tp_kernels *kernels, enum tp_profiler profiler)
{
    const struct tp_kernel_rows *classes = kernels->classes;

    if (profiler == TP_PROFILER_WALLCLOCK)
        return TP_CLASSES;
    if (profiler == TP_PROFILER_FRAMEWORK)
        return TP_CLASS_HOST;
    if (was_seen(&classes[TP_CLASS_KERNELS]))
        return TP_CLASS_KERNELS;
    return was_seen(&classes[TP_CLASS_COPIES]) ? TP_CLASS_COPIES : TP_CLASS_OPERATORS;
}

/* ---- the end ---- */

/* The name without the number at its end; 0 when nothing or everything would go. */
static size_t stem_size(const struct tp_string *name)
{
    size_t size = name->size;

    while (size && name->bytes[size - 1] >= '0' && name->bytes[size - 1] <= '9')
        size--;
    return size;
}

static int merge_row(struct tp_kernel_row *into, struct tp_kernel_row *from)
{
    widen(into, from->minimum_ns, from->maximum_ns);
    into->total_ns = tp_number_add(into->total_ns, from->total_ns);
    into->name_count++;
    into->geometry_varies |= from->geometry_varies || into->geometry != from->geometry;
    into->occupancy_ns += from->occupancy_ns;
    into->occupied_ns += from->occupied_ns;
    for (uint32_t i = 0; i < from->capture_count; i++) {
        int result = add_capture(into, &from->captures[i]);
        if (result < 0)
            return result;
    }
    return tp_durations_merge(&into->durations, &from->durations);
}

/* Rows of one stem into the first of them. @stems: by row. */
static int merge_stems(struct tp_kernel_rows *rows, const uint32_t *stems)
{
    struct tp_kernel_rows merged = {0};
    int result = 0;

    for (uint32_t i = 0; !result && i < rows->count; i++) {
        result = reserve_name(&merged, stems[i]);
        if (result < 0)
            break;
        if (merged.by_name[stems[i]]) {
            result = merge_row(&rows->items[merged.by_name[stems[i]] - 1], &rows->items[i]);
            rows->items[i].name = TP_STRING_NONE;
        } else {
            merged.by_name[stems[i]] = i + 1;
        }
    }
    free(merged.by_name);
    return result;
}

static int name_after_stem(struct tp_kernel_row *row, struct tp_strings *strings, uint32_t stem)
{
    const struct tp_string *text = tp_strings_get(strings, stem);
    char *name = malloc(text->size + 1);

    if (!name)
        return -ENOMEM;
    memcpy(name, text->bytes, text->size);
    name[text->size] = '*';
    int result = tp_strings_put(strings, name, text->size + 1, &row->name);
    free(name);
    return result;
}

static int drop_merged(struct tp_kernel_rows *rows, struct tp_strings *strings,
                       const uint32_t *stems)
{
    uint32_t kept = 0;
    int result = 0;

    for (uint32_t i = 0; i < rows->count; i++) {
        struct tp_kernel_row *row = &rows->items[i];
        if (row->name == TP_STRING_NONE) {
            row_fini(row);
            continue;
        }
        if (!result && row->name_count > 1)
            result = name_after_stem(row, strings, stems[i]);
        rows->items[kept++] = *row;
    }
    rows->count = kept;
    return result;
}

static int merge_numbered_names(struct tp_kernel_rows *rows, struct tp_strings *strings)
{
    uint32_t *stems = malloc(((size_t)rows->count + 1) * sizeof(*stems));
    int result = stems ? 0 : -ENOMEM;

    for (uint32_t i = 0; !result && i < rows->count; i++) {
        const struct tp_string *name = tp_strings_get(strings, rows->items[i].name);
        size_t size = stem_size(name);
        stems[i] = rows->items[i].name;
        if (size && size < name->size)
            result = tp_strings_put(strings, name->bytes, size, &stems[i]);
    }
    if (!result)
        result = merge_stems(rows, stems);
    if (!result)
        result = drop_merged(rows, strings, stems);
    free(stems);
    return result;
}

/* As they came would depend on how fast they were read. */
static int compare_beginnings(const void *a, const void *b, void *strings)
{
    const struct tp_kernel_row *left = a, *right = b;
    int order = tp_number_compare(left->first_ns, right->first_ns);

    return order ? order : tp_strings_compare(strings, left->name, right->name);
}

/* Those of equal time as they came. */
static int compare_rows(const void *a, const void *b)
{
    const struct tp_kernel_row *left = a, *right = b;
    int order = tp_number_compare(right->total_ns, left->total_ns);

    return order ? order : left->position < right->position ? -1 : 1;
}

static int compare_captures(const void *a, const void *b, void *strings)
{
    const struct tp_kernel_capture *left = a, *right = b;
    int order = tp_number_compare(right->ns, left->ns);

    return order ? order : tp_strings_compare(strings, left->name, right->name);
}

int tp_kernels_finish(struct tp_kernels *kernels, enum tp_work_class work_class,
                      bool merge_numbered, struct tp_strings *strings)
{
    int result = 0;

    if (work_class >= TP_CLASSES)
        return 0;
    struct tp_kernel_rows *rows = &kernels->classes[work_class];
    if (kernels->is_unordered && rows->count)
        qsort_r(rows->items, rows->count, sizeof(*rows->items), compare_beginnings, strings);
    if (merge_numbered)
        result = merge_numbered_names(rows, strings);
    free(rows->by_name); /* rows move now */
    rows->by_name = NULL;
    rows->name_capacity = 0;
    for (uint32_t i = 0; !result && i < rows->count; i++) {
        struct tp_kernel_row *row = &rows->items[i];
        row->position = i;
        result = tp_durations_median(&row->durations, &row->median_ns);
        if (row->capture_count)
            qsort_r(row->captures, row->capture_count, sizeof(*row->captures), compare_captures,
                    strings);
    }
    if (!result && rows->count)
        qsort(rows->items, rows->count, sizeof(*rows->items), compare_rows);
    return result;
}
