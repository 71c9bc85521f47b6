/* SPDX-License-Identifier: MIT
 * A pprof profile: a sample for each path, with all its values at once; gzip, as that tool's own.
 * The message is small, for equal paths are one: it is built whole. */
#include <errno.h>
#include <profile.pb-c.h> /* made from profile.proto */
#include <stdlib.h>
#include <string.h>

#include "model/alloc_profile.h"
#include "model/call_paths.h"
#include "model/trace_rows.h"
#include "view/view.h"

enum { SAMPLE_TYPES = 5, LABELS = 4 };

static const struct sample_type {
    const char *type, *unit;
    enum tp_path_value value;
    enum tp_measure metric; /* whose choice makes it the one shown first */
} types[SAMPLE_TYPES] = {
    {"cpu", "nanoseconds", TP_PATH_SELF_CPU_NS, TP_MEASURE_SELF_CPU_TIME},
    {"device", "nanoseconds", TP_PATH_DEVICE_NS, TP_MEASURE_SELF_DEVICE_TIME},
    {"inuse_space", "bytes", TP_PATH_HOST_BYTES, TP_MEASURE_SELF_CPU_MEMORY},
    {"device_inuse_space", "bytes", TP_PATH_DEVICE_BYTES, TP_MEASURE_SELF_DEVICE_MEMORY},
    {"calls", "count", TP_PATH_COUNT, TP_MEASURE_COUNT},
};

/* Everything that the message points to. Blocks are freed together. */
struct pprof {
    const struct tp_report *report;
    const struct tp_call_paths *paths;
    Tp__Pprof__Profile profile;
    struct tp_strings strings; /* of the profile: its table is these without the first */
    void **blocks;
    size_t block_count, block_capacity;
    bool failed;
};

static void *take(struct pprof *p, size_t count, size_t size)
{
    if (p->block_count == p->block_capacity) {
        size_t capacity = p->block_capacity ? p->block_capacity * 2 : 256;
        void **blocks = realloc(p->blocks, capacity * sizeof(*blocks));
        if (!blocks) {
            p->failed = true;
            return NULL;
        }
        p->blocks = blocks;
        p->block_capacity = capacity;
    }
    void *block = calloc(count + 1, size);
    if (!block) {
        p->failed = true;
        return NULL;
    }
    return p->blocks[p->block_count++] = block;
}

/* Place in the string table, whose first is the empty one. */
static int64_t put_bytes(struct pprof *p, const char *bytes, size_t size)
{
    uint32_t id = TP_STRING_EMPTY;

    p->failed |= tp_strings_put(&p->strings, bytes, size, &id) < 0;
    return (int64_t)id - TP_STRING_EMPTY;
}

static int64_t put_string(struct pprof *p, const char *text)
{
    return put_bytes(p, text, strlen(text));
}

/* ---- parts ---- */

/* The next type of samples, of @count in all; the first one is shown first unless one is chosen. */
static void put_type(struct pprof *p, size_t count, const char *type, const char *unit,
                     bool is_chosen)
{
    Tp__Pprof__ValueType *item = take(p, 1, sizeof(*item));

    if (!p->profile.sample_type)
        p->profile.sample_type = take(p, count, sizeof(*p->profile.sample_type));
    if (p->failed)
        return;
    tp__pprof__value_type__init(item);
    item->type = put_string(p, type);
    item->unit = put_string(p, unit);
    if (is_chosen || !p->profile.n_sample_type)
        p->profile.default_sample_type = item->type;
    p->profile.sample_type[p->profile.n_sample_type++] = item;
}

/* Where a frame is; texts by their place in the string table. */
struct source {
    int64_t name, system_name, filename, line;
};

/* A frame of Python, "FILE(LINE): FUNCTION", in its parts; another one is a name alone. */
static struct source split_frame(struct pprof *p, int64_t name)
{
    const char *text = tp_strings_get(&p->strings, (uint32_t)name + TP_STRING_EMPTY)->bytes;
    const char *end = strstr(text, "): "), *open = end;
    struct source source = {.name = name, .system_name = name};
    int64_t number = 0, scale = 1;

    while (open && open > text && open[-1] >= '0' && open[-1] <= '9' && end - open < 10) {
        number += (*--open - '0') * scale;
        scale *= 10;
    }
    if (!open || open == end || open - text < 2 || open[-1] != '(')
        return source;
    /* the texts move when one is put */
    char *parts = strdup(text);
    if (!parts) {
        p->failed = true;
        return source;
    }
    source.line = number;
    source.name = put_string(p, parts + (end - text) + 3);
    source.filename = put_bytes(p, parts, (size_t)(open - text) - 1);
    free(parts);
    return source;
}

/* Room for @count functions and locations; each is numbered from 1. */
static void begin_functions(struct pprof *p, size_t count)
{
    p->profile.function = take(p, count, sizeof(*p->profile.function));
}

static void begin_locations(struct pprof *p, size_t count)
{
    p->profile.location = take(p, count, sizeof(*p->profile.location));
}

static uint64_t put_function(struct pprof *p, const struct source *source)
{
    Tp__Pprof__Function *function = take(p, 1, sizeof(*function));

    if (p->failed)
        return 0;
    tp__pprof__function__init(function);
    function->name = source->name;
    function->system_name = source->system_name;
    function->filename = source->filename;
    p->profile.function[p->profile.n_function++] = function;
    return function->id = p->profile.n_function;
}

static Tp__Pprof__Location *put_location(struct pprof *p, size_t line_count)
{
    Tp__Pprof__Location *location = take(p, 1, sizeof(*location));
    Tp__Pprof__Line **lines = take(p, line_count, sizeof(*lines));

    if (p->failed)
        return NULL;
    tp__pprof__location__init(location);
    location->line = lines;
    p->profile.location[p->profile.n_location++] = location;
    location->id = p->profile.n_location;
    return location;
}

static void put_line(struct pprof *p, Tp__Pprof__Location *location, uint64_t function,
                     int64_t number)
{
    Tp__Pprof__Line *line = take(p, 1, sizeof(*line));

    if (p->failed)
        return;
    tp__pprof__line__init(line);
    line->function_id = function;
    line->line = number;
    location->line[location->n_line++] = line;
}

/* A function and a location for each name, with its place from 1 as their id. */
static void put_functions(struct pprof *p, const int64_t *names, uint32_t count)
{
    begin_functions(p, count);
    begin_locations(p, count);
    for (uint32_t i = 0; i < count && !p->failed; i++) {
        struct source source = split_frame(p, names[i]);
        uint64_t function = put_function(p, &source);
        Tp__Pprof__Location *location = put_location(p, 1);
        if (location)
            put_line(p, location, function, source.line);
    }
}

/* By path: its frame's place among the functions, from 1. */
static uint64_t *find_functions(struct pprof *p)
{
    const struct tp_call_paths *paths = p->paths;
    uint64_t *of_path = take(p, paths->count, sizeof(*of_path));
    int64_t *names = take(p, paths->count, sizeof(*names));
    uint32_t *of_name, count = 0;

    for (uint32_t i = 0; i < paths->count && !p->failed; i++) {
        const struct tp_string *frame = tp_call_paths_frame(paths, paths->items[i].frame);
        of_path[i] = (uint64_t)put_bytes(p, frame->bytes, frame->size);
    }
    of_name = take(p, p->strings.count, sizeof(*of_name));
    for (uint32_t i = 0; i < paths->count && !p->failed; i++) {
        uint64_t name = of_path[i];
        if (!of_name[name]) {
            names[count++] = (int64_t)name;
            of_name[name] = count;
        }
        of_path[i] = of_name[name];
    }
    if (!p->failed)
        put_functions(p, names, count);
    return of_path;
}

/* ---- samples ---- */

static int64_t rank_of(const struct pprof *p, uint32_t source)
{
    static const char key[] = "\"rank\": ";
    const struct tp_trace_context *trace = p->report->list->trace;

    if (!trace || source >= trace->source_count)
        return -1;
    const char *info =
        tp_strings_get(p->report->strings, trace->sources[source].distributed_info)->bytes;
    const char *at = strstr(info, key);
    return at ? strtoll(at + sizeof(key) - 1, NULL, 10) : -1;
}

static void put_label(struct pprof *p, Tp__Pprof__Sample *sample, const char *key, int64_t number,
                      const struct tp_string *text)
{
    Tp__Pprof__Label *label = take(p, 1, sizeof(*label));

    if (p->failed)
        return;
    tp__pprof__label__init(label);
    label->key = put_string(p, key);
    label->num = number;
    if (text)
        label->str = put_bytes(p, text->bytes, text->size);
    sample->label[sample->n_label++] = label;
}

static void put_labels(struct pprof *p, Tp__Pprof__Sample *sample, uint32_t number)
{
    const struct tp_call_path *path = &p->paths->items[number];
    int64_t rank = rank_of(p, path->source);

    sample->label = take(p, LABELS, sizeof(*sample->label));
    if (path->thread != TP_NO_PATH)
        put_label(p, sample, "thread", 0,
                  tp_call_paths_frame(p->paths, p->paths->items[path->thread].frame));
    if (rank >= 0)
        put_label(p, sample, "rank", rank, NULL);
    if (path->step >= 0)
        put_label(p, sample, "step", path->step, NULL);
    if (path->device >= 0)
        put_label(p, sample, "device", path->device, NULL);
}

static void put_sample(struct pprof *p, uint32_t number, const uint64_t *functions)
{
    const struct tp_call_path *items = p->paths->items;
    Tp__Pprof__Sample *sample = take(p, 1, sizeof(*sample));
    size_t depth = 0;

    for (uint32_t at = number; at != TP_NO_PATH; at = items[at].parent)
        depth++;
    uint64_t *locations = take(p, depth, sizeof(*locations));
    int64_t *values = take(p, SAMPLE_TYPES, sizeof(*values));
    if (p->failed)
        return;
    tp__pprof__sample__init(sample);
    for (uint32_t at = number; at != TP_NO_PATH; at = items[at].parent)
        locations[sample->n_location_id++] = functions[at];
    for (int i = 0; i < SAMPLE_TYPES; i++)
        values[i] = items[number].values[types[i].value];
    sample->location_id = locations;
    sample->value = values;
    sample->n_value = SAMPLE_TYPES;
    put_labels(p, sample, number);
    p->profile.sample[p->profile.n_sample++] = sample;
}

static bool has_values(const struct tp_call_path *path)
{
    for (int i = 0; i < SAMPLE_TYPES; i++) {
        if (path->values[types[i].value])
            return true;
    }
    return false;
}

/* ---- the whole ---- */

static void put_times(struct pprof *p)
{
    const struct tp_event_list *list = p->report->list;
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (uint32_t i = tp_event_list_next(list, 0); i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        int64_t start = tp_trace_event_ns(&list->events[i], TP_EVENT_START);
        int64_t end = tp_trace_event_ns(&list->events[i], TP_EVENT_END);
        first = start < first ? start : first;
        last = end > last ? end : last;
    }
    p->profile.duration_nanos = last > first ? last - first : 0;
    if (list->trace && list->trace->source_count && list->trace->sources[0].has_base)
        p->profile.time_nanos = list->trace->sources[0].base_ns;
}

static void put_table(struct pprof *p)
{
    uint32_t count = p->strings.count - TP_STRING_EMPTY;
    char **table = take(p, count, sizeof(*table));

    for (uint32_t i = 0; i < count && !p->failed; i++)
        table[i] = (char *)tp_strings_get(&p->strings, i + TP_STRING_EMPTY)->bytes;
    p->profile.string_table = table;
    p->profile.n_string_table = count;
}

static void build(struct pprof *p, enum tp_measure metric)
{
    tp__pprof__profile__init(&p->profile);
    for (int i = 0; i < SAMPLE_TYPES; i++)
        put_type(p, SAMPLE_TYPES, types[i].type, types[i].unit, types[i].metric == metric);
    const uint64_t *functions = find_functions(p);
    p->profile.sample = take(p, p->paths->count, sizeof(*p->profile.sample));
    for (uint32_t i = 0; i < p->paths->count && !p->failed; i++) {
        if (has_values(&p->paths->items[i]))
            put_sample(p, i, functions);
    }
    put_times(p);
    put_table(p); /* last: it is whole now */
}

static void write_packed(struct pprof *p, struct tp_output *output)
{
    size_t size = tp__pprof__profile__get_packed_size(&p->profile);
    uint8_t *bytes = take(p, size, 1);

    if (p->failed)
        return;
    tp__pprof__profile__pack(&p->profile, bytes);
    tp_output_compress(output);
    tp_output_bytes(output, bytes, size);
}

/* Frees all. Return: 0, or @result or -ENOMEM explained in @diag. */
static int finish(struct pprof *p, int result, struct tp_diag *diag)
{
    for (size_t i = 0; i < p->block_count; i++)
        free(p->blocks[i]);
    free(p->blocks);
    tp_strings_fini(&p->strings);
    if (!result && p->failed)
        result = -ENOMEM;
    return result < 0 ? tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for the profile")
                      : 0;
}

int tp_pprof_write(const struct tp_report *report, const struct tp_view_options *options,
                   struct tp_output *output, struct tp_diag *diag)
{
    struct tp_call_paths paths;
    struct pprof p = {.report = report, .paths = &paths};
    int result = tp_call_paths_init(&paths, report->list, true);

    if (!result)
        result = tp_strings_init(&p.strings);
    if (!result)
        build(&p, options->metric);
    if (!result && !p.failed)
        write_packed(&p, output);
    tp_call_paths_fini(&paths);
    return finish(&p, result, diag);
}

/* ---- allocations, as heap profiles have them ---- */

static const struct heap_type {
    const char *type, *unit;
    enum tp_alloc_key key;
} heap_types[] = {
    {"alloc_objects", "count", TP_ALLOC_ALLOCATIONS},
    {"alloc_space", "bytes", TP_ALLOC_ALLOCATED_BYTES},
    {"inuse_space", "bytes", TP_ALLOC_LIVE_BYTES},
    {"peak_space", "bytes", TP_ALLOC_PEAK_BYTES},
    {"temporary_objects", "count", TP_ALLOC_TEMPORARY},
};

enum { HEAP_TYPES = sizeof(heap_types) / sizeof(heap_types[0]) };

/* What frames become. A location is a function that is there, behind those inlined into it. */
struct heap {
    struct tp_stacks locations; /* of ids of frames */
    struct tp_stacks functions; /* of name, system name and file */
};

/* The frames of the location that begins with the first of @frames. */
static uint32_t location_length(const struct pprof *p, const uint32_t *frames, uint32_t count)
{
    const struct tp_frames *known = &p->report->memory->profile->frames;
    uint32_t length = 1;

    while (length < count && tp_frames_get(known, frames[length - 1]).is_inlined)
        length++;
    return length;
}

static void put_heap_sample(struct pprof *p, struct heap *heap, const struct tp_alloc_row *row)
{
    const uint32_t *frames = tp_stacks_frames(p->report->stacks, row->key);
    uint32_t depth = tp_stacks_count(p->report->stacks, row->key), id = 0, length;
    Tp__Pprof__Sample *sample = take(p, 1, sizeof(*sample));
    uint64_t *locations = take(p, depth, sizeof(*locations));
    int64_t *values = take(p, HEAP_TYPES, sizeof(*values));

    if (p->failed)
        return;
    tp__pprof__sample__init(sample);
    for (uint32_t f = 0; f < depth; f += length) {
        length = location_length(p, frames + f, depth - f);
        p->failed |= tp_stacks_put(&heap->locations, frames + f, length, &id) < 0;
        locations[sample->n_location_id++] = (uint64_t)id + 1;
    }
    for (int i = 0; i < HEAP_TYPES; i++)
        values[i] = (int64_t)(tp_alloc_key_value(&row->sums, heap_types[i].key) + 0.5);
    sample->location_id = locations;
    sample->n_value = HEAP_TYPES;
    sample->value = values;
    p->profile.sample[p->profile.n_sample++] = sample;
}

static int64_t put_report_string(struct pprof *p, uint32_t id)
{
    const struct tp_string *string = tp_strings_get(p->report->strings, id);

    return put_bytes(p, string->bytes, string->size);
}

static struct source source_of(struct pprof *p, uint32_t id)
{
    const struct tp_frame frame = tp_frames_get(&p->report->memory->profile->frames, id);
    int64_t name = put_report_string(p, frame.function);

    if (frame.file == TP_STRING_NONE)
        return split_frame(p, name);
    return (struct source){.name = name,
                           .system_name = name,
                           .filename = put_report_string(p, frame.file),
                           .line = frame.line};
}

/* Functions are numbered as they are met. */
static void put_heap_line(struct pprof *p, struct heap *heap, Tp__Pprof__Location *location,
                          uint32_t frame)
{
    const struct source source = source_of(p, frame);
    const uint32_t key[] = {(uint32_t)source.name, (uint32_t)source.system_name,
                            (uint32_t)source.filename};
    uint32_t known = heap->functions.count, id = 0;

    p->failed |= tp_stacks_put(&heap->functions, key, 3, &id) < 0;
    if (id == known)
        put_function(p, &source);
    put_line(p, location, (uint64_t)id + 1, source.line);
}

static void put_heap_locations(struct pprof *p, struct heap *heap)
{
    begin_locations(p, heap->locations.count);
    begin_functions(p, p->report->memory->profile->frames.pool.count);
    for (uint32_t i = 0; i < heap->locations.count && !p->failed; i++) {
        uint32_t count = tp_stacks_count(&heap->locations, i);
        Tp__Pprof__Location *location = put_location(p, count);
        for (uint32_t k = 0; k < count && !p->failed; k++)
            put_heap_line(p, heap, location, tp_stacks_frames(&heap->locations, i)[k]);
    }
}

int tp_memory_write_pprof(const struct tp_report *report, const struct tp_view_options *options,
                          struct tp_output *output, struct tp_diag *diag)
{
    const struct tp_alloc_report *memory = report->memory;
    size_t count = memory->row_count[TP_ALLOC_BY_STACK];
    struct pprof p = {.report = report};
    struct heap heap = {0};
    int result = tp_strings_init(&p.strings);

    (void)options;
    if (!result) {
        tp__pprof__profile__init(&p.profile);
        for (int i = 0; i < HEAP_TYPES; i++)
            put_type(&p, HEAP_TYPES, heap_types[i].type, heap_types[i].unit,
                     heap_types[i].key == memory->key);
        p.profile.sample = take(&p, count, sizeof(*p.profile.sample));
        for (size_t i = 0; i < count && !p.failed; i++)
            put_heap_sample(&p, &heap, &memory->rows[TP_ALLOC_BY_STACK][i]);
        put_heap_locations(&p, &heap);
        put_table(&p);
        write_packed(&p, output);
    }
    tp_stacks_fini(&heap.locations);
    tp_stacks_fini(&heap.functions);
    return finish(&p, result, diag);
}
