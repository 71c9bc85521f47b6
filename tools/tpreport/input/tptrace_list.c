/* SPDX-License-Identifier: MIT
 * Events of a run as one list. The streams hand out children before parents and tracks in any mix;
 * each item knows its track and its number there, and its parent's number, which is all that the
 * tree needs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace.h"
#include "model/function_event.h"

struct item {
    int64_t start_ns, end_ns;
    int64_t memory_bytes, device_bytes;
    uint64_t ordinal;          /* of the track */
    uint64_t sequence, parent; /* on the track; parent 0: none */
    uint64_t user;             /* the process */
    struct tptrace_event event;
    uint32_t shapes, inputs; /* name ids, while the process is read */
    struct tptrace_details details;
    uint32_t domain;
    uint32_t tid, framework_thread;
    uint32_t pid;
    int32_t node_id;
};

struct tptrace_list {
    struct item *items;
    size_t count, capacity;
    size_t detailed;             /* items that have their details */
    struct tptrace_names *names; /* of the items behind those */
    enum tp_by by;
};

struct tptrace_list *tptrace_list_create(enum tp_by by)
{
    struct tptrace_list *list = calloc(1, sizeof(*list));

    if (list)
        list->by = by;
    return list;
}

void tptrace_list_destroy(struct tptrace_list *list)
{
    if (!list)
        return;
    free(list->items);
    free(list);
}

static int reserve(struct tptrace_list *list, size_t count)
{
    size_t capacity = list->capacity ? list->capacity : 256;

    if (count <= list->capacity)
        return 0;
    while (capacity < count)
        capacity *= 2;
    struct item *items = realloc(list->items, capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    list->items = items;
    list->capacity = capacity;
    return 0;
}

static int add_item(struct tptrace_list *list, const struct tptrace_source *source,
                    const struct tp_stream_name *name, const uint64_t *record, struct item *item)
{
    int error = reserve(list, list->count + 1);

    if (error)
        return error;
    tptrace_event_of(&item->event, source->names, name, record);
    item->node_id = tptrace_node_of(source->process, list->by);
    item->pid = source->process->meta.pid;
    item->ordinal = source->ordinal;
    item->user = source->user;
    item->domain = name->domain;
    item->details.shapes = name->input_shapes;
    if (tp_slot_kind(record) == TP_EVENT_OP_BEGIN) {
        item->framework_thread = (uint32_t)(record[5] >> 32);
        item->shapes = (uint32_t)record[6];
        item->inputs = (uint32_t)(record[6] >> 32);
    }
    list->names = source->names;
    list->items[list->count++] = *item;
    return 0;
}

static int list_range(void *context, const struct tptrace_source *source,
                      const struct tp_stream_range *range)
{
    struct tptrace_list *list = context;
    struct item item = {
        .start_ns = range->start_ns,
        .end_ns = range->end_ns,
        .memory_bytes = range->memory_bytes,
        .device_bytes = range->device_bytes,
        .sequence = range->sequence,
        .parent = range->parent,
        .tid = source->track->tid,
    };

    int error = add_item(list, source, range->name, range->record, &item);
    if (!error && range->how != TP_STREAM_ENDED)
        list->items[list->count - 1].event.flags |= TP_EVENT_UNFINISHED;
    return error;
}

static int list_async(void *context, const struct tptrace_source *source,
                      const struct tptrace_async *async)
{
    struct tptrace_list *list = context;
    struct item item = {
        .start_ns = async->start_ns,
        .end_ns = async->end_ns,
        .sequence = async->sequence,
        .tid = async->tid,
    };

    int error = add_item(list, source, async->name, async->record, &item);
    if (error)
        return error;
    list->items[list->count - 1].event.flags |=
        TP_EVENT_ASYNC | (async->how == TP_STREAM_ENDED ? 0 : TP_EVENT_UNFINISHED);
    return 0;
}

/* Shapes and the like, while the process's names are there and nobody else uses the strings. */
static int list_details(void *context)
{
    struct tptrace_list *list = context;
    int error = 0;

    for (; list->detailed < list->count && !error; list->detailed++) {
        struct item *item = &list->items[list->detailed];
        struct tptrace_details inputs = {0};
        if (item->shapes)
            error = tptrace_names_details(list->names, item->shapes, &item->details);
        if (!error && item->inputs)
            error = tptrace_names_details(list->names, item->inputs, &inputs);
        item->details.inputs = inputs.inputs;
    }
    return error;
}

void tptrace_list_consumer(struct tptrace_list *list, struct tptrace_consumer *consumer)
{
    *consumer = (struct tptrace_consumer){
        .context = list, .range = list_range, .async = list_async, .end_process = list_details};
}

int tptrace_list_add(struct tptrace_list *into, struct tptrace_list *from)
{
    int error = reserve(into, into->count + from->count);

    if (error)
        return error;
    if (from->count)
        memcpy(into->items + into->count, from->items, from->count * sizeof(*from->items));
    into->count += from->count;
    free(from->items);
    from->items = NULL;
    from->count = from->capacity = 0;
    return 0;
}

/* ---- order ---- */

static int compare_places(const void *a, const void *b)
{
    const struct item *left = a, *right = b;

    if (left->ordinal != right->ordinal)
        return left->ordinal < right->ordinal ? -1 : 1;
    return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

static int compare_list_order(const void *a, const void *b, void *context)
{
    const struct item *items = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct item *left = &items[i], *right = &items[j];

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    return i < j ? -1 : 1; /* by track and number on it */
}

/* Index of the parent, which stands before its child; TP_NO_EVENT for none. */
static uint32_t find_parent(const struct item *items, size_t index)
{
    uint64_t wanted = items[index].parent, ordinal = items[index].ordinal;
    size_t low = 0, high = index;

    if (!wanted)
        return TP_NO_EVENT;
    /* mostly it is near */
    for (size_t step = 1; step <= index && step <= 8; step++) {
        if (items[index - step].ordinal == ordinal && items[index - step].sequence == wanted)
            return (uint32_t)(index - step);
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct item key = {.ordinal = ordinal, .sequence = wanted};
        if (compare_places(&items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < index && items[low].ordinal == ordinal && items[low].sequence == wanted;
    return found ? (uint32_t)low : TP_NO_EVENT;
}

/* ---- threads ---- */

/* The framework's thread numbers of a process and the threads that bear them. */
struct threads {
    struct thread {
        uint64_t user;
        uint32_t number, tid;
    } * items;
    size_t count, capacity;
};

static const struct thread *find_thread(const struct threads *threads, uint64_t user,
                                        uint32_t number)
{
    for (size_t i = threads->count; i-- > 0;) {
        const struct thread *t = &threads->items[i];
        if (t->user == user && t->number == number)
            return t;
    }
    return NULL;
}

static int learn_threads(const struct tptrace_list *list, struct threads *threads)
{
    uint64_t last_ordinal = UINT64_MAX;
    uint32_t last_number = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct item *item = &list->items[i];
        if (!item->framework_thread ||
            (item->ordinal == last_ordinal && item->framework_thread == last_number))
            continue;
        last_ordinal = item->ordinal;
        last_number = item->framework_thread;
        if (find_thread(threads, item->user, last_number) || threads->count >= 4096)
            continue;
        if (threads->count == threads->capacity) {
            size_t capacity = threads->capacity ? threads->capacity * 2 : 16;
            struct thread *items = realloc(threads->items, capacity * sizeof(*items));
            if (!items)
                return -ENOMEM;
            threads->items = items;
            threads->capacity = capacity;
        }
        threads->items[threads->count++] = (struct thread){item->user, last_number, item->tid};
    }
    return 0;
}

/* ---- events ---- */

/* The engine's wrapper takes number and forward thread of the backward function just below it. */
static void dress_wrappers(struct tptrace_list *list, const struct tp_strings *strings)
{
    static const char prefix[] = "autograd::engine::evaluate_function: ";

    for (size_t i = 0; i + 1 < list->count; i++) {
        struct item *item = &list->items[i], *next = item + 1;
        if (next->event.scope != 1 || next->ordinal != item->ordinal || item->event.scope)
            continue;
        const struct tp_string *name = tp_strings_get(strings, item->event.name);
        if (name->size < sizeof(prefix) - 1 || memcmp(name->bytes, prefix, sizeof(prefix) - 1))
            continue;
        item->event.sequence_nr = next->event.sequence_nr;
        item->event.fwd_thread = next->event.fwd_thread;
    }
}

static int set_trace_name(struct tp_event_list *events, const struct tptrace_event *event,
                          uint32_t *ret_name)
{
    char text[48];

    *ret_name = event->trace_name;
    if (event->step < 0)
        return 0;
    int n = snprintf(text, sizeof(text), "ProfilerStep#%lld", (long long)event->step);
    return tp_strings_put(events->strings, text, (size_t)n, ret_name);
}

static int append_event(struct tp_event_list *events, const struct item *item,
                        const struct threads *threads, int64_t start_ns, uint32_t parent)
{
    struct tp_function_event event;
    const struct thread *forward =
        item->event.fwd_thread ? find_thread(threads, item->user, (uint32_t)item->event.fwd_thread)
                               : NULL;

    tp_function_event_init(&event);
    int error = set_trace_name(events, &item->event, &event.trace_name);
    if (error)
        return error;
    tp_event_set(&event, TP_EVENT_START,
                 tp_number_real((double)(item->start_ns - start_ns) / 1000.0));
    tp_event_set(&event, TP_EVENT_END, tp_number_real((double)(item->end_ns - start_ns) / 1000.0));
    tp_event_set(&event, TP_EVENT_CPU_MEMORY, tp_number_integer(item->memory_bytes));
    tp_event_set(&event, TP_EVENT_DEVICE_MEMORY, tp_number_integer(item->device_bytes));
    event.id = (int64_t)events->count + 1;
    event.thread = event.device_resource_id = item->tid;
    event.fwd_thread = forward ? forward->tid : item->event.fwd_thread;
    event.sequence_nr = item->event.sequence_nr;
    event.name = item->event.name;
    event.overload_name = item->event.overload_name;
    event.input_shapes = item->event.input_shapes;
    event.structured_input_shapes = item->details.shapes;
    event.structured_input_strides = item->details.strides;
    event.input_dtypes = item->details.dtypes;
    event.concrete_inputs = item->details.inputs;
    event.domain = item->domain;
    event.stack = TP_STACK_EMPTY;
    event.parent = parent;
    event.node_id = item->node_id;
    event.flags = (uint16_t)(item->event.flags | TP_EVENT_HAS_FWD_THREAD);
    event.scope = item->event.scope;
    error = tp_event_list_append(events, &event);
    if (error || !events->keeps_details)
        return error;
    char pid[16];
    int size = snprintf(pid, sizeof(pid), "%u", item->pid);
    return tp_strings_put(events->strings, pid, (size_t)size,
                          &events->details[events->count - 1].pid);
}

static int append_all(struct tptrace_list *list, int64_t start_ns, const struct threads *threads,
                      uint32_t *order, uint32_t *places, struct tp_event_list *events)
{
    uint32_t first = events->count;
    int error = 0;

    for (size_t i = 0; i < list->count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, list->count, sizeof(*order), compare_list_order, list->items);
    for (size_t i = 0; i < list->count; i++)
        places[order[i]] = first + (uint32_t)i;
    for (size_t i = 0; i < list->count && !error; i++) {
        uint32_t parent = find_parent(list->items, order[i]);
        error = append_event(events, &list->items[order[i]], threads, start_ns,
                             parent == TP_NO_EVENT ? TP_NO_EVENT : places[parent]);
    }
    return error;
}

int tptrace_list_finish(struct tptrace_list *list, int64_t start_ns, struct tp_event_list *events)
{
    struct threads threads = {0};

    if (list->count + events->count >= TP_NO_EVENT / 2)
        return -TP_ELIMIT;
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_places);
    dress_wrappers(list, events->strings);
    uint32_t *order = malloc((list->count + 1) * sizeof(*order));
    uint32_t *places = malloc((list->count + 1) * sizeof(*places));
    int error = order && places ? learn_threads(list, &threads) : -ENOMEM;
    if (!error)
        error = append_all(list, start_ns, &threads, order, places, events);
    events->is_nested = true;
    free(order);
    free(places);
    free(threads.items);
    return error;
}
