/* SPDX-License-Identifier: MIT
 * An event as everybody reads it, and behind that an object "tpreport" with what input/kineto_own.c
 * would otherwise take it for: the difference between the event and `told`. */
#include "view/kineto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/python_text.h"
#include "model/work.h"
#include "view/format.h"

enum kind { OPERATOR, ANNOTATION, PYTHON, CALL, DEVICE, DEVICE_ANNOTATION };

struct category {
    const char *name;
    enum kind kind;
};

enum {
    CPU_OP,
    USER_ANNOTATION,
    PYTHON_FUNCTION,
    RUNTIME,
    KERNEL,
    MEMCPY,
    MEMSET,
    SYNC,
    DEVICE_USER_ANNOTATION,
    OTHERS, /* taken only where the input says so */
};

static const struct category categories[] = {
    [CPU_OP] = {"cpu_op", OPERATOR},
    [USER_ANNOTATION] = {"user_annotation", ANNOTATION},
    [PYTHON_FUNCTION] = {"python_function", PYTHON},
    [RUNTIME] = {"cuda_runtime", CALL},
    [KERNEL] = {"kernel", DEVICE},
    [MEMCPY] = {"gpu_memcpy", DEVICE},
    [MEMSET] = {"gpu_memset", DEVICE},
    [SYNC] = {"cuda_sync", DEVICE},
    [DEVICE_USER_ANNOTATION] = {"gpu_user_annotation", DEVICE_ANNOTATION},
    [OTHERS] = {"cuda_driver", CALL},
    {"privateuse1_runtime", CALL},
    {"privateuse1_driver", CALL},
    {"xpu_runtime", CALL},
    {"mtia_runtime", CALL},
    {"overhead", CALL},
    {"cuda_profiler_range", DEVICE},
};

enum { CATEGORY_COUNT = sizeof(categories) / sizeof(categories[0]) };

/* ---- categories ---- */

static const struct category *find_category(const char *name)
{
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        if (!strcmp(categories[i].name, name))
            return &categories[i];
    }
    return NULL;
}

static int guess_category(const struct tp_event_list *list, const struct tp_function_event *event)
{
    enum tp_work_kind kind = tp_work_kind_of_event(list, event);
    bool is_annotation = event->flags & TP_EVENT_USER_ANNOTATION;

    if (event->device_type != TP_DEVICE_CPU) {
        const char *name = tp_strings_get(list->strings, event->name)->bytes;
        if (is_annotation)
            return DEVICE_USER_ANNOTATION;
        if (kind == TP_WORK_COPY)
            return strncmp(name, "Memset", 6) != 0 ? MEMCPY : MEMSET;
        return kind == TP_WORK_WAIT ? SYNC : KERNEL;
    }
    if (event->flags & TP_EVENT_PYTHON_FUNCTION)
        return PYTHON_FUNCTION;
    if (is_annotation)
        return USER_ANNOTATION;
    return event->flags & TP_EVENT_CALL || kind == TP_WORK_CALL ? RUNTIME : CPU_OP;
}

static const struct category *category_of(const struct tp_event_list *list, uint32_t index)
{
    const struct tp_function_event *event = &list->events[index];
    const struct category *category =
        find_category(tp_strings_get(list->strings, list->details[index].activity_type)->bytes);

    if (category && (category->kind >= DEVICE) == (event->device_type != TP_DEVICE_CPU))
        return category;
    return &categories[guess_category(list, event)];
}

/* ---- where ---- */

void tp_kineto_place(struct tp_kineto_writer *w, uint32_t index)
{
    const struct tp_function_event *event = &w->list->events[index];
    uint32_t pid = w->list->details[index].pid, row = w->rows.of_event[index];
    int64_t tid = row ? w->rows.items[row - 1].tid : tp_trace_tid(event);

    if (event->device_type != TP_DEVICE_CPU)
        tp_buffer_format(&w->line, "\"pid\": %d, ", event->device_index);
    else if (pid == TP_STRING_NONE)
        tp_buffer_format(&w->line, "\"pid\": %lld, ", (long long)w->host_pid);
    else
        tp_buffer_format(&w->line, "\"pid\": %s, ", tp_strings_get(w->report->strings, pid)->bytes);
    tp_buffer_format(&w->line, "\"tid\": %lld, ", (long long)tid);
}

/* ---- arguments ---- */

/* What is told of an event by the keys that are everybody's. */
struct told {
    struct tp_function_event event;
    const char *arguments; /* as the input had them, without the braces; NULL none */
    bool is_first, has_shapes, shapes_are_known;
};

static const char *find_argument(const struct told *told, const char *key)
{
    char pattern[64];

    if (!told->arguments)
        return NULL;
    int size = snprintf(pattern, sizeof(pattern), "\"%s\": ", key);
    const char *at = strstr(told->arguments, pattern);
    return at ? at + size : NULL;
}

static void begin_argument(struct tp_kineto_writer *w, struct told *told, const char *key)
{
    tp_buffer_format(&w->line, "%s\"%s\": ", told->is_first ? "" : ", ", key);
    told->is_first = false;
}

/* Return: the value that is there. */
static int64_t put_integer(struct tp_kineto_writer *w, struct told *told, const char *key,
                           int64_t value, int64_t none)
{
    const char *text = find_argument(told, key);

    if (text)
        return strtoll(text, NULL, 10);
    if (value == none)
        return none;
    begin_argument(w, told, key);
    tp_buffer_format(&w->line, "%lld", (long long)value);
    return value;
}

static void put_json(struct tp_kineto_writer *w, struct told *told, const char *key, uint32_t id)
{
    const struct tp_string *text = tp_strings_get(w->report->strings, id);

    if (id == TP_STRING_NONE || !text->size || find_argument(told, key))
        return;
    begin_argument(w, told, key);
    tp_buffer_bytes(&w->line, text->bytes, text->size);
}

/* Lists of numbers: only these are shapes for who reads it. */
static bool is_plain_list(const char *text)
{
    if (*text != '[')
        return false;
    for (; *text; text++) {
        if (!strchr("0123456789, []-", *text))
            return false;
    }
    return true;
}

/* Sizes as the reader takes them, which makes "[]" of an element that holds a list. */
static bool is_as_it_reads(const char *dims, const char *shapes)
{
    int depth = 0;

    for (;; dims++, shapes++) {
        dims += strspn(dims, " ");
        shapes += strspn(shapes, " ");
        depth += *dims == '[';
        depth -= *dims == ']';
        if (depth > 2 || *dims != *shapes)
            return false;
        if (!*dims)
            return true;
    }
}

static void put_shapes(struct tp_kineto_writer *w, struct told *told,
                       const struct tp_function_event *event,
                       const struct tp_event_details *details)
{
    const struct tp_string *shapes = tp_strings_get(w->report->strings, event->input_shapes);
    uint32_t dims = details->structured_input_shapes;
    const char *text = tp_strings_get(w->report->strings, dims)->bytes;

    told->has_shapes = dims != TP_STRING_NONE || find_argument(told, "Input Dims") ||
                       find_argument(told, "Input dims");
    if (dims == TP_STRING_NONE && !told->has_shapes && event->input_shapes > TP_STRING_LIST) {
        told->has_shapes = true;
        text = shapes->bytes;
        begin_argument(w, told, "Input Dims");
        tp_python_to_json(&w->line, shapes->bytes, shapes->size);
    } else if (!find_argument(told, "Input dims")) {
        put_json(w, told, "Input Dims", dims);
    }
    told->shapes_are_known =
        told->has_shapes && is_plain_list(text) && is_as_it_reads(text, shapes->bytes);
    if (!told->has_shapes)
        told->shapes_are_known = event->input_shapes == TP_STRING_LIST;
}

static void put_call_stack(struct tp_kineto_writer *w, struct told *told,
                           const struct tp_function_event *event)
{
    uint32_t count = tp_stacks_count(w->report->stacks, event->stack);

    if (!count || w->has_derived_stacks || find_argument(told, "Call stack"))
        return;
    tp_buffer_reset(&w->text);
    for (uint32_t i = 0; i < count; i++) {
        const struct tp_string *frame = tp_strings_get(
            w->report->strings, tp_stacks_frames(w->report->stacks, event->stack)[i]);
        tp_buffer_string(&w->text, i ? ";" : "");
        tp_buffer_bytes(&w->text, frame->bytes, frame->size);
    }
    begin_argument(w, told, "Call stack");
    tp_json_string(&w->line, w->text.bytes ? w->text.bytes : "", w->text.size);
}

static void put_front_end(struct tp_kineto_writer *w, struct told *told,
                          const struct tp_function_event *event,
                          const struct tp_event_details *details)
{
    told->event.id = put_integer(w, told, "External id", event->id, 0);
    told->event.sequence_nr = put_integer(w, told, "Sequence number", event->sequence_nr, -1);
    told->event.fwd_thread =
        put_integer(w, told, "Fwd thread id",
                    event->flags & TP_EVENT_HAS_FWD_THREAD ? event->fwd_thread : 0, 0);
    put_shapes(w, told, event, details);
    put_json(w, told, "Input type", details->input_dtypes);
    put_json(w, told, "Input Strides", details->structured_input_strides);
    put_json(w, told, "Concrete Inputs", details->concrete_inputs);
    put_json(w, told, "Keyword Inputs", details->kwinputs);
    put_integer(w, told, "Python id", details->python_id, -1);
    put_integer(w, told, "Python parent id", details->python_parent_id, -1);
    put_integer(w, told, "Python module id", details->python_module_id, -1);
    put_call_stack(w, told, event);
}

static void put_call(struct tp_kineto_writer *w, struct told *told,
                     const struct tp_function_event *event, const struct tp_event_details *details)
{
    put_integer(
        w, told, "External id",
        details->linked_correlation_id ? details->linked_correlation_id : details->external_id, 0);
    told->event.id = put_integer(w, told, "correlation", event->id, INT64_MIN);
}

/* An annotation has no stream of its own: with one it would be taken for work. */
static void put_device(struct tp_kineto_writer *w, struct told *told,
                       const struct tp_function_event *event,
                       const struct tp_event_details *details, enum kind kind)
{
    told->event.device_type = TP_DEVICE_CUDA;
    told->event.device_index = event->device_index;
    told->event.device_resource_id = told->event.thread; /* the row's */
    if (kind == DEVICE_ANNOTATION) {
        told->event.id = put_integer(w, told, "External id", event->id, 0);
        return;
    }
    put_call(w, told, event, details);
    told->event.device_index =
        (int32_t)put_integer(w, told, "device", event->device_index, INT64_MIN);
    told->event.device_resource_id =
        put_integer(w, told, "stream", event->device_resource_id, INT64_MIN);
}

static void put_arguments(struct tp_kineto_writer *w, struct told *told, uint32_t index,
                          const struct category *category)
{
    const struct tp_function_event *event = &w->list->events[index];
    const struct tp_event_details *details = &w->list->details[index];
    const struct tp_string *metadata = tp_strings_get(w->report->strings, details->metadata);

    told->is_first = true;
    tp_buffer_string(&w->line, ", \"args\": {");
    if (metadata->size > 2 && *metadata->bytes == '{') {
        told->arguments = metadata->bytes;
        told->is_first = false;
        tp_buffer_bytes(&w->line, metadata->bytes + 1, metadata->size - 2);
    }
    told->shapes_are_known = event->input_shapes == TP_STRING_LIST;
    if (category->kind < CALL)
        put_front_end(w, told, event, details);
    else if (category->kind == CALL)
        put_call(w, told, event, details);
    else
        put_device(w, told, event, details, category->kind);
    tp_buffer_char(&w->line, '}');
}

/* ---- what they do not tell ---- */

static void put_key(struct tp_kineto_writer *w, bool *first, const char *key)
{
    tp_buffer_format(&w->line, "%s\"%s\": ", *first ? "" : ", ", key);
    *first = false;
}

static void put_own_integer(struct tp_kineto_writer *w, bool *first, const char *key, int64_t value,
                            int64_t told)
{
    if (value == told)
        return;
    put_key(w, first, key);
    tp_buffer_format(&w->line, "%lld", (long long)value);
}

static void put_own_text(struct tp_kineto_writer *w, bool *first, const char *key, uint32_t id,
                         uint32_t told)
{
    if (id == told)
        return;
    put_key(w, first, key);
    tp_format_json_string(&w->line, w->report->strings, id);
}

static void put_own_number(struct tp_kineto_writer *w, bool *first, const char *key,
                           const struct tp_function_event *event, enum tp_event_number n)
{
    struct tp_number value = tp_event_get(event, n);

    if (!value.is_real && !value.high && !value.bits.low) /* an integer 0 is what it is without */
        return;
    put_key(w, first, key);
    tp_format_json_number(&w->line, value);
}

static void put_own_flags(struct tp_kineto_writer *w, bool *first, uint16_t flags, uint16_t told)
{
    static const struct {
        uint16_t flag;
        const char *key;
    } keys[] = {
        {TP_EVENT_ASYNC, "is_async"},
        {TP_EVENT_REMOTE, "is_remote"},
        {TP_EVENT_LEGACY, "is_legacy"},
        {TP_EVENT_USER_ANNOTATION, "is_user_annotation"},
        {TP_EVENT_PYTHON_FUNCTION, "is_python_function"},
        {TP_EVENT_NO_LAUNCH, "no_launch_recorded"},
        {TP_EVENT_UNFINISHED, "is_unfinished"},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!((flags ^ told) & keys[i].flag))
            continue;
        put_key(w, first, keys[i].key);
        tp_buffer_string(&w->line, flags & keys[i].flag ? "true" : "false");
    }
}

/* A time that whole nanoseconds give again, to the bit, needs no more words. */
static void put_own_time(struct tp_kineto_writer *w, bool *first, const char *key,
                         struct tp_number us, int64_t told_ns, int64_t shift_ns)
{
    double told = (double)told_ns / 1000.0;

    if (us.is_real && us.bits.real == told)
        return;
    put_key(w, first, key);
    tp_format_json_number(
        &w->line,
        shift_ns ? tp_number_real(tp_number_to_double(us) + (double)shift_ns / 1000.0) : us);
}

static void put_own_lists(struct tp_kineto_writer *w, bool *first,
                          const struct tp_function_event *event, const struct told *told)
{
    const struct tp_string *shapes = tp_strings_get(w->report->strings, event->input_shapes);
    uint32_t frames = tp_stacks_count(w->report->stacks, event->stack);

    if (!told->shapes_are_known) {
        put_key(w, first, "input_shapes");
        if (event->input_shapes == TP_STRING_NONE)
            tp_buffer_string(&w->line, "null");
        else
            tp_python_to_json(&w->line, shapes->bytes, shapes->size);
    }
    if (event->stack != told->event.stack) {
        put_key(w, first, "stack");
        tp_buffer_string(&w->line, event->stack == TP_STACK_NONE ? "null" : "[");
        for (uint32_t i = 0; i < frames; i++) {
            tp_buffer_string(&w->line, i ? ", " : "");
            tp_kineto_string(w, tp_stacks_frames(w->report->stacks, event->stack)[i]);
        }
        tp_buffer_string(&w->line, event->stack == TP_STACK_NONE ? "" : "]");
    }
    for (uint32_t i = 0; i < event->kernel_count; i++) {
        const struct tp_kernel *kernel = &w->list->kernels[event->first_kernel + i];
        if (!i)
            put_key(w, first, "kernels");
        tp_buffer_string(&w->line, i ? ", {\"name\": " : "[{\"name\": ");
        tp_kineto_string(w, kernel->name);
        tp_buffer_format(&w->line, ", \"device\": %d, \"duration\": ", kernel->device);
        tp_format_json_number(&w->line, kernel->duration);
        tp_buffer_string(&w->line, i + 1 < event->kernel_count ? "}" : "}]");
    }
}

static void put_own(struct tp_kineto_writer *w, uint32_t index, const struct told *told)
{
    const struct tp_function_event *event = &w->list->events[index], *t = &told->event;
    bool first = true;

    tp_buffer_string(&w->line, ", \"tpreport\": {");
    put_own_integer(w, &first, "id", event->id, t->id);
    put_own_text(w, &first, "name", event->name, t->name);
    put_own_text(w, &first, "trace_name", event->trace_name, t->trace_name);
    put_own_text(w, &first, "overload_name", event->overload_name, t->overload_name);
    put_own_integer(w, &first, "node_id", event->node_id, t->node_id);
    put_own_integer(w, &first, "thread", event->thread, t->thread);
    if (!(event->flags & TP_EVENT_HAS_FWD_THREAD)) {
        put_key(w, &first, "fwd_thread");
        tp_buffer_string(&w->line, "null");
    } else {
        put_own_integer(w, &first, "fwd_thread", event->fwd_thread, t->fwd_thread);
    }
    put_own_text(w, &first, "use_device", event->use_device, t->use_device);
    put_own_number(w, &first, "cpu_memory_usage", event, TP_EVENT_CPU_MEMORY);
    put_own_number(w, &first, "device_memory_usage", event, TP_EVENT_DEVICE_MEMORY);
    if (event->device_type != t->device_type) {
        put_key(w, &first, "device_type");
        tp_buffer_format(&w->line, "\"%s\"", tp_device_type_name(event->device_type));
    }
    put_own_integer(w, &first, "device_index", event->device_index, t->device_index);
    put_own_integer(w, &first, "device_resource_id", event->device_resource_id,
                    event->device_type != TP_DEVICE_CPU ? t->device_resource_id
                    : w->resource_is_thread             ? event->thread
                                                        : 0);
    put_own_flags(w, &first, event->flags, t->flags);
    put_own_integer(w, &first, "sequence_nr", event->sequence_nr, t->sequence_nr);
    put_own_integer(w, &first, "scope", event->scope, t->scope);
    if ((event->flags ^ t->flags) & TP_EVENT_NO_FLOPS) {
        put_key(w, &first, "flops");
        if (event->flags & TP_EVENT_NO_FLOPS)
            tp_buffer_string(&w->line, "null");
        else
            tp_format_json_number(&w->line, tp_event_get(event, TP_EVENT_FLOPS));
    } else {
        put_own_number(w, &first, "flops", event, TP_EVENT_FLOPS);
    }
    put_own_text(w, &first, "domain", event->domain, t->domain);
    if (w->is_nested && event->parent != TP_NO_EVENT)
        put_own_integer(w, &first, "parent", w->positions[event->parent], -1);
    put_own_lists(w, &first, event, told);
    int64_t shift = tp_kineto_shift(w, tp_kineto_source_of(w, index));
    int64_t start_ns = tp_trace_event_ns(event, TP_EVENT_START);
    int64_t end_ns = tp_trace_event_ns(event, TP_EVENT_END);
    put_own_time(w, &first, "start_us", tp_event_get(event, TP_EVENT_START), start_ns, shift);
    put_own_time(w, &first, "end_us", tp_event_get(event, TP_EVENT_END),
                 end_ns < start_ns ? start_ns : end_ns, shift);
    tp_buffer_char(&w->line, '}');
}

/* ---- one ---- */

static bool is_step(const struct tp_string *name)
{
    return !strncmp(name->bytes, "ProfilerStep#", 13);
}

/* What the reader begins with. */
static void begin_told(const struct tp_kineto_writer *w, struct told *told, uint32_t index,
                       const struct category *category, uint32_t name)
{
    const struct tp_function_event *event = &w->list->events[index];
    uint32_t row = w->rows.of_event[index];
    struct tp_function_event *t = &told->event;

    tp_function_event_init(t);
    t->name = t->trace_name = name;
    if (is_step(tp_strings_get(w->report->strings, name)))
        t->name = tp_strings_find(w->report->strings, "ProfilerStep*", 13);
    t->thread = row ? w->rows.items[row - 1].tid : tp_trace_tid(event);
    t->use_device = w->report->use_device;
    t->flags |= TP_EVENT_HAS_FWD_THREAD;
    if (!w->has_flops)
        t->flags |= TP_EVENT_NO_FLOPS;
    if (category->kind == ANNOTATION || category->kind == DEVICE_ANNOTATION)
        t->flags |= TP_EVENT_USER_ANNOTATION;
    if (category->kind == ANNOTATION)
        t->scope = TP_SCOPE_USER;
    if (category->kind == PYTHON)
        t->flags |= TP_EVENT_PYTHON_FUNCTION;
}

/* One that the reference's traces don't show: an allocation that no event is credited with. It is
 * seen as an instant that kineto_extras.c or the input makes of it, and is no slice. */
static bool is_shown(const struct tp_kineto_writer *w, const struct tp_function_event *event)
{
    return event->trace_name != TP_STRING_NONE ||
           *tp_strings_get(w->report->strings, event->name)->bytes != '[';
}

void tp_kineto_event(struct tp_kineto_writer *w, uint32_t index)
{
    const struct tp_function_event *event = &w->list->events[index];
    const struct category *category = category_of(w->list, index);
    uint32_t name = event->trace_name != TP_STRING_NONE ? event->trace_name : event->name;
    bool shown = is_shown(w, event);
    struct told told = {.is_first = true};
    int64_t start_ns = tp_trace_event_ns(event, TP_EVENT_START);
    int64_t end_ns = tp_trace_event_ns(event, TP_EVENT_END);
    int64_t shift = tp_kineto_shift(w, tp_kineto_source_of(w, index));

    if (!shown)
        category = &categories[CPU_OP];
    begin_told(w, &told, index, category, name);
    tp_kineto_begin(w, shown ? "X" : "M");
    tp_buffer_format(&w->line,
                     "\"cat\": \"%s\", \"name\": ", shown ? category->name : "cpu_instant_event");
    tp_kineto_string(w, name);
    tp_buffer_string(&w->line, ", ");
    tp_kineto_place(w, index);
    tp_buffer_string(&w->line, "\"ts\": ");
    tp_kineto_time(&w->line, start_ns + shift);
    if (shown) {
        tp_buffer_string(&w->line, ", \"dur\": ");
        tp_kineto_time(&w->line, end_ns > start_ns ? end_ns - start_ns : 0);
        put_arguments(w, &told, index, category);
    } else {
        told.shapes_are_known = event->input_shapes == TP_STRING_LIST;
    }
    put_own(w, index, &told);
    tp_kineto_end(w);
}
