/* SPDX-License-Identifier: MIT
 * Stacks of a trace. Those that were recorded stand in "Call stack"; where there are none, calls of
 * Python functions still enclose what they call, so that their names make the same lists. An
 * operator of the backward pass takes the stack of its forward operator (model/tree.c), for which
 * both must name the forward thread alike: "Fwd thread id" is the profiler's own number of it, and
 * the arrows from forward to backward operators tell which thread that is. */
#include "input/kineto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 1024 };

/* ---- a stack of frames ---- */

static int put_frame(struct tp_kineto *kineto, uint32_t count, uint32_t frame)
{
    if (count == kineto->frame_capacity) {
        uint32_t capacity = count ? count * 2 : 64;
        uint32_t *frames = realloc(kineto->frames, capacity * sizeof(*frames));
        if (!frames)
            return -ENOMEM;
        kineto->frames = frames;
        kineto->frame_capacity = capacity;
    }
    kineto->frames[count] = frame;
    return 0;
}

int tp_kineto_take_stack(struct tp_kineto *kineto, const char *text, size_t size)
{
    struct tp_event_list *list = kineto->records.list;
    const char *end = text + size;
    uint32_t count = 0, frame;
    int result = 0;

    if (list->stacks_wanted == TP_STACKS_DROPPED)
        return 0;
    for (const char *next; !result && text < end; text = next + 1) {
        next = memchr(text, ';', (size_t)(end - text));
        if (!next)
            next = end;
        if (next == text) /* modern ones have a semicolon behind each frame */
            continue;
        result = tp_strings_put(list->strings, text, (size_t)(next - text), &frame);
        if (!result)
            result = put_frame(kineto, count++, frame);
    }
    kineto->has_stacks |= count != 0;
    return result ? result
                  : tp_stacks_put(list->stacks, kineto->frames, count, &kineto->entry.stack);
}

/* ---- from nested calls ---- */

/* A call that is still open. @stack: itself and what encloses it; NONE until somebody asks. */
struct call {
    uint32_t event, stack;
};

struct calls {
    struct tp_kineto *kineto;
    struct call *open;
    uint32_t depth, capacity;
    uint64_t cut;
};

static int64_t start_of(const struct tp_function_event *event)
{
    return (int64_t)event->numbers[TP_EVENT_START].low;
}

static int64_t end_of(const struct tp_function_event *event)
{
    return (int64_t)event->numbers[TP_EVENT_END].low;
}

static int compare_in_threads(const void *a, const void *b, void *context)
{
    const struct tp_function_event *events = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const struct tp_function_event *l = &events[left], *r = &events[right];

    if (l->thread != r->thread)
        return l->thread < r->thread ? -1 : 1;
    if (start_of(l) != start_of(r))
        return start_of(l) < start_of(r) ? -1 : 1;
    if (end_of(l) != end_of(r))
        return end_of(l) > end_of(r) ? -1 : 1;
    return left < right ? -1 : 1;
}

/* The stack of what the innermost open call encloses. */
static int find_stack(struct calls *calls, uint32_t *ret_stack)
{
    struct tp_event_list *list = calls->kineto->records.list;
    uint32_t known = calls->depth;
    int result = 0;

    while (known && calls->open[known - 1].stack == TP_STACK_NONE)
        known--;
    *ret_stack = known ? calls->open[known - 1].stack : TP_STACK_EMPTY;
    for (; !result && known < calls->depth; known++) {
        uint32_t outer = tp_stacks_count(list->stacks, *ret_stack);
        if (outer == MAX_FRAMES) {
            outer--;
            calls->cut++;
        }
        result = put_frame(calls->kineto, 0, list->events[calls->open[known].event].name);
        for (uint32_t i = 0; !result && i < outer; i++)
            result = put_frame(calls->kineto, i + 1, tp_stacks_frames(list->stacks, *ret_stack)[i]);
        if (!result)
            result = tp_stacks_put(list->stacks, calls->kineto->frames, outer + 1, ret_stack);
        calls->open[known].stack = *ret_stack;
    }
    return result;
}

static int open_call(struct calls *calls, uint32_t event)
{
    if (calls->depth == calls->capacity) {
        uint32_t capacity = calls->capacity ? calls->capacity * 2 : 64;
        struct call *open = realloc(calls->open, capacity * sizeof(*open));
        if (!open)
            return -ENOMEM;
        calls->open = open;
        calls->capacity = capacity;
    }
    calls->open[calls->depth++] = (struct call){.event = event, .stack = TP_STACK_NONE};
    return 0;
}

/* @order: events of the host by thread and time */
static int walk_calls(struct calls *calls, const uint32_t *order, uint32_t count)
{
    struct tp_raw_records *records = &calls->kineto->records;
    const struct tp_function_event *events = records->list->events;
    uint32_t stack;
    int result = 0;

    for (uint32_t i = 0; !result && i < count; i++) {
        const struct tp_function_event *event = &events[order[i]];
        if (i && event->thread != events[order[i - 1]].thread)
            calls->depth = 0;
        while (calls->depth) { /* the rule by which events nest */
            const struct tp_function_event *outer = &events[calls->open[calls->depth - 1].event];
            if (start_of(event) < end_of(outer) && end_of(event) <= end_of(outer))
                break;
            calls->depth--;
        }
        result = find_stack(calls, &stack);
        if (!result)
            result = tp_raw_records_set_stack(records, order[i], stack);
        if (!result && event->flags & TP_EVENT_PYTHON_FUNCTION)
            result = open_call(calls, order[i]);
    }
    return result;
}

static int derive_stacks(struct tp_kineto *kineto)
{
    struct tp_event_list *list = kineto->records.list;
    struct calls calls = {.kineto = kineto};
    uint32_t *order = malloc(((size_t)list->count + 1) * sizeof(*order)), count = 0;
    bool has_calls = false;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = kineto->records.first; i < list->count; i++) {
        if (list->events[i].device_type != TP_DEVICE_CPU)
            continue;
        has_calls |= (list->events[i].flags & TP_EVENT_PYTHON_FUNCTION) != 0;
        order[count++] = i;
    }
    int result = 0;
    if (has_calls) {
        qsort_r(order, count, sizeof(*order), compare_in_threads, list->events);
        result = walk_calls(&calls, order, count);
        kineto->has_stacks = true;
    }
    if (calls.cut)
        tp_input_lost(kineto->input, calls.cut, "stacks were cut at %d frames", MAX_FRAMES);
    free(calls.open);
    free(order);
    return result;
}

/* ---- forward threads ---- */

int tp_kineto_take_flow(struct tp_kineto *kineto)
{
    const struct tp_kineto_entry *entry = &kineto->entry;

    if (kineto->flow_count == kineto->flow_capacity) {
        uint32_t capacity = kineto->flow_capacity ? kineto->flow_capacity * 2 : 64;
        struct tp_kineto_flow *flows = realloc(kineto->flows, capacity * sizeof(*flows));
        if (!flows)
            return -ENOMEM;
        kineto->flows = flows;
        kineto->flow_capacity = capacity;
    }
    kineto->flows[kineto->flow_count++] = (struct tp_kineto_flow){.id = entry->flow_id,
                                                                  .tid = entry->tid.number,
                                                                  .ts_ns = entry->ts_ns,
                                                                  .is_start = entry->phase == 's'};
    return 0;
}

/* Ends before starts, by place: both halves can be searched. */
static int compare_flows(const void *a, const void *b)
{
    const struct tp_kineto_flow *left = a, *right = b;

    if (left->is_start != right->is_start)
        return left->is_start ? 1 : -1;
    if (left->is_start)
        return left->id < right->id ? -1 : left->id > right->id;
    if (left->tid != right->tid)
        return left->tid < right->tid ? -1 : 1;
    return left->ts_ns < right->ts_ns ? -1 : left->ts_ns > right->ts_ns;
}

static const struct tp_kineto_flow *find_flow(const struct tp_kineto *kineto,
                                              const struct tp_kineto_flow *wanted)
{
    return kineto->flow_count ? bsearch(wanted, kineto->flows, kineto->flow_count,
                                        sizeof(*kineto->flows), compare_flows)
                              : NULL;
}

/* Threads that forward operators ran on: none, one, or more. */
struct forward_threads {
    int64_t thread;
    bool has_one, has_more;
    struct tp_id_index numbers; /* the profiler's ... */
    int64_t *threads;           /* ... and what threads they are, by the index's number */
};

static bool is_operator(const struct tp_raw_records *records, uint32_t i)
{
    return records->list->events[i].device_type == TP_DEVICE_CPU &&
           !records->linked_ids[i - records->first];
}

static int learn_threads(const struct tp_kineto *kineto, struct forward_threads *forward)
{
    const struct tp_raw_records *records = &kineto->records;
    uint32_t number, capacity = 0;
    int result = 0;

    for (uint32_t i = records->first; result >= 0 && i < records->list->count; i++) {
        const struct tp_function_event *event = &records->list->events[i];
        if (!is_operator(records, i) || event->sequence_nr < 0)
            continue;
        if (event->fwd_thread <= 0) {
            forward->has_more |= forward->has_one && forward->thread != event->thread;
            forward->has_one = true;
            forward->thread = event->thread;
            continue;
        }
        if (tp_id_index_find(&forward->numbers, event->fwd_thread) != TP_NO_NUMBER)
            continue;
        const struct tp_kineto_flow *flow = find_flow(
            kineto, &(struct tp_kineto_flow){.tid = event->thread, .ts_ns = start_of(event)});
        if (flow)
            flow = find_flow(kineto, &(struct tp_kineto_flow){.id = flow->id, .is_start = true});
        if (!flow)
            continue;
        result = tp_id_index_put(&forward->numbers, event->fwd_thread, &number);
        if (result >= 0 && number == capacity) {
            capacity = capacity ? capacity * 2 : 16;
            int64_t *threads = realloc(forward->threads, capacity * sizeof(*threads));
            if (!threads)
                return -ENOMEM;
            forward->threads = threads;
        }
        if (result >= 0)
            forward->threads[number] = flow->tid;
    }
    return result < 0 ? result : 0;
}

/* What accumulates gradients belongs to the backward pass as well, though to no forward operator:
 * it has no stack, and no thread that exists. */
static bool accumulates(const struct tp_event_list *list, const struct tp_function_event *event)
{
    return event->scope == TP_SCOPE_FUNCTION && event->fwd_thread <= 0 &&
           !strcmp(tp_strings_get(list->strings, event->name)->bytes,
                   "torch::autograd::AccumulateGrad");
}

static void name_threads(struct tp_kineto *kineto, const struct forward_threads *forward)
{
    struct tp_raw_records *records = &kineto->records;

    for (uint32_t i = records->first; i < records->list->count; i++) {
        struct tp_function_event *event = &records->list->events[i];
        if (!is_operator(records, i))
            continue;
        if (accumulates(records->list, event)) {
            event->scope = TP_SCOPE_BACKWARD;
            event->fwd_thread = -1;
        }
        if (event->fwd_thread <= 0)
            continue;
        uint32_t number = tp_id_index_find(&forward->numbers, event->fwd_thread);
        if (number != TP_NO_NUMBER)
            event->fwd_thread = forward->threads[number];
        else if (forward->has_one && !forward->has_more)
            event->fwd_thread = forward->thread;
    }
}

int tp_kineto_join_stacks(struct tp_kineto *kineto)
{
    struct forward_threads forward = {0};
    int result = 0;

    if (!kineto->has_stacks && kineto->records.list->stacks_wanted == TP_STACKS_DERIVED) {
        kineto->has_derived_stacks = true;
        result = derive_stacks(kineto);
    }
    if (!kineto->has_stacks || result < 0)
        return result;
    if (kineto->flow_count)
        qsort(kineto->flows, kineto->flow_count, sizeof(*kineto->flows), compare_flows);
    result = learn_threads(kineto, &forward);
    if (!result)
        name_threads(kineto, &forward);
    tp_id_index_fini(&forward.numbers);
    free(forward.threads);
    return result;
}
