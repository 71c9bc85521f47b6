/* SPDX-License-Identifier: MIT */
#include "input/ascend_events.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int fail(struct tp_ascend_events *events, int code)
{
    return tp_diag_fail(events->diag, code, TP_DIAG_NO_OFFSET, "no room for the events");
}

static int events_init(struct tp_ascend_events *events, struct tp_strings *strings,
                       struct tp_stacks *stacks, struct tp_diag *diag)
{
    *events = (struct tp_ascend_events){.strings = strings, .stacks = stacks, .diag = diag};
    int result = tp_strings_put(strings, "npu", 3, &events->use_device);
    return result < 0 ? fail(events, result) : 0;
}

/* ---- texts ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits, commas, semicolons, signs and blanks only. */
static bool is_shapes(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!is_digit(text[i]) && text[i] != ',' && text[i] != ';' && text[i] != ' ' &&
            text[i] != '-')
            return false;
    }
    return true;
}

void tp_ascend_shapes(struct tp_buffer *out, const char *text, size_t size)
{
    tp_buffer_reset(out);
    if (size >= 2 && text[0] == '"' && text[size - 1] == '"') { /* quoted once more in the file */
        text++;
        size -= 2;
    }
    if (!is_shapes(text, size)) {
        tp_buffer_bytes(out, text, size);
        return;
    }
    tp_buffer_string(out, size ? "[[" : "[");
    for (size_t i = 0; i < size; i++) {
        if (text[i] == ';')
            tp_buffer_string(out, "], [");
        else if (text[i] == ',')
            tp_buffer_string(out, ", ");
        else if (text[i] != ' ')
            tp_buffer_char(out, text[i]);
    }
    tp_buffer_string(out, size ? "]]" : "]");
}

static int put_shapes(struct tp_ascend_events *events, uint32_t raw, uint32_t *ret_id)
{
    const struct tp_string *text = tp_strings_get(events->strings, raw);

    *ret_id = TP_STRING_LIST;
    if (raw == TP_STRING_NONE)
        return 0;
    tp_ascend_shapes(&events->text, text->bytes, text->size);
    if (events->text.failed)
        return -ENOMEM;
    return tp_strings_put(events->strings, events->text.bytes, events->text.size, ret_id);
}

/* Frames stand between semicolons, with line ends around them. */
static int put_stack(struct tp_ascend_events *events, uint32_t raw, uint32_t *ret_stack)
{
    const struct tp_string *text = tp_strings_get(events->strings, raw);
    const char *p = text->bytes, *end = p + text->size;
    uint32_t id;
    int result = 0;

    *ret_stack = TP_STACK_EMPTY;
    if (raw == TP_STRING_NONE)
        return 0;
    tp_buffer_reset(&events->text);
    while (!result && p < end) {
        const char *stop = memchr(p, ';', (size_t)(end - p));
        size_t size = (size_t)((stop ? stop : end) - p), blank;
        for (blank = 0; blank < size && (unsigned char)p[blank] <= ' '; blank++)
            ;
        while (size > blank && (unsigned char)p[size - 1] <= ' ')
            size--;
        if (size > blank) {
            result = tp_strings_put(events->strings, p + blank, size - blank, &id);
            tp_buffer_bytes(&events->text, &id, sizeof(id));
        }
        p = stop ? stop + 1 : end;
    }
    if (result < 0 || events->text.failed)
        return result < 0 ? result : -ENOMEM;
    if (!events->text.size)
        return 0;
    return tp_stacks_put(events->stacks, (const uint32_t *)(const void *)events->text.bytes,
                         (uint32_t)(events->text.size / sizeof(id)), ret_stack);
}

/* ---- averages ---- */

static int64_t whole_ns(const struct tp_work *work, enum tp_measure measure)
{
    struct tp_number ns = work->ns[measure];

    if (!tp_work_knows(work, measure))
        return 0;
    return tp_number_truncate(ns.is_real ? tp_number_real(round(ns.bits.real)) : ns);
}

static int sum_work(struct tp_work_sink *sink, const struct tp_work *work)
{
    struct tp_ascend_averages *sums = (struct tp_ascend_averages *)sink;
    struct tp_average_event event = {
        .name = work->name,
        .overload_name = TP_STRING_EMPTY,
        .use_device = sums->events.use_device,
        .node_id = -1,
        .flags = TP_EVENT_NO_FLOPS,
        .device_type = work->kind == TP_WORK_KERNEL ? TP_DEVICE_PRIVATEUSE1 : TP_DEVICE_CPU,
        .start_ns = tp_number_truncate(work->start_ns),
        .end_ns = tp_number_truncate(work->end_ns),
        .sequence = sums->count++,
        .cpu_total_ns = whole_ns(work, TP_MEASURE_CPU_TIME),
        .cpu_self_ns = whole_ns(work, TP_MEASURE_SELF_CPU_TIME),
        .device_total_ns = whole_ns(work, TP_MEASURE_DEVICE_TIME),
        .device_self_ns = whole_ns(work, TP_MEASURE_SELF_DEVICE_TIME),
        .count = 1,
    };

    int result = put_shapes(&sums->events, work->details->input_shapes, &event.input_shapes);
    if (!result)
        result = put_stack(&sums->events, work->details->call_stack, &event.stack);
    if (!result)
        result = tp_averages_add(sums->averages, &event);
    return result < 0 ? fail(&sums->events, result) : 0;
}

int tp_ascend_averages_init(struct tp_ascend_averages *sums, struct tp_strings *strings,
                            struct tp_stacks *stacks, const struct tp_averages_options *options,
                            struct tp_diag *diag)
{
    *sums = (struct tp_ascend_averages){.sink = {.take = sum_work}};
    int result = events_init(&sums->events, strings, stacks, diag);
    if (!result && (result = tp_averages_create(stacks, options, &sums->averages)) < 0)
        fail(&sums->events, result);
    sums->use_device = sums->events.use_device;
    return result;
}

void tp_ascend_averages_fini(struct tp_ascend_averages *sums)
{
    tp_buffer_fini(&sums->events.text);
}

/* ---- a list ---- */

/* Until the list is finished, START holds nanoseconds since 1970 and END the duration's. */
static void fill_event(const struct tp_ascend_list *events, const struct tp_work *work,
                       struct tp_function_event *event)
{
    tp_function_event_init(event);
    event->id = events->list->count - events->first;
    event->name = event->trace_name = work->name;
    event->thread = event->device_resource_id = work->stream;
    event->device_index = (int32_t)work->device;
    event->device_type = TP_DEVICE_PRIVATEUSE1;
    event->use_device = events->events.use_device;
    event->flags |= TP_EVENT_NO_FLOPS;
    tp_event_set(event, TP_EVENT_START, tp_number_integer(tp_number_truncate(work->start_ns)));
    tp_event_set(event, TP_EVENT_END,
                 tp_work_knows(work, TP_MEASURE_DEVICE_TIME) ? work->ns[TP_MEASURE_DEVICE_TIME]
                                                             : tp_number_integer(0));
}

static int list_work(struct tp_work_sink *sink, const struct tp_work *work)
{
    struct tp_ascend_list *events = (struct tp_ascend_list *)sink;
    struct tp_function_event event;

    if (work->kind == TP_WORK_KERNEL && !work->has_span) {
        events->without_start++;
        return 0;
    }
    if (work->kind != TP_WORK_KERNEL)
        return tp_diag_fail(events->events.diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                            "operators have no start time here, so there is no list of events; "
                            "averages, total and kernels can be made of them");
    fill_event(events, work, &event);
    int64_t start = tp_number_truncate(work->start_ns);
    if (events->list->count == events->first || start < events->base_ns)
        events->base_ns = start;
    int result = put_shapes(&events->events, work->details->input_shapes, &event.input_shapes);
    if (!result)
        result = tp_event_list_append(events->list, &event);
    return result < 0 ? fail(&events->events, result) : 0;
}

int tp_ascend_list_init(struct tp_ascend_list *events, struct tp_event_list *list,
                        struct tp_diag *diag)
{
    *events =
        (struct tp_ascend_list){.sink = {.take = list_work}, .list = list, .first = list->count};
    int result = events_init(&events->events, list->strings, list->stacks, diag);
    if (list->use_device == TP_STRING_NONE)
        list->use_device = events->events.use_device;
    return result;
}

static struct tp_number us_of(struct tp_number ns)
{
    return tp_number_real(tp_number_to_double(ns) / 1000.0);
}

void tp_ascend_list_finish(struct tp_ascend_list *events)
{
    for (uint32_t i = events->first; i < events->list->count; i++) {
        struct tp_function_event *event = &events->list->events[i];
        struct tp_number duration = tp_event_get(event, TP_EVENT_END);
        struct tp_number start = tp_number_subtract(tp_event_get(event, TP_EVENT_START),
                                                    tp_number_integer(events->base_ns));
        tp_event_set(event, TP_EVENT_START, us_of(start));
        tp_event_set(event, TP_EVENT_END, us_of(tp_number_add(start, duration)));
    }
    if (events->list->trace && events->list->count > events->first) {
        struct tp_trace_source *source = tp_trace_context_source(events->list->trace);
        source->has_base = true;
        source->base_ns = events->base_ns;
    }
    tp_buffer_fini(&events->events.text);
}
