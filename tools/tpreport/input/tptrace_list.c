/* SPDX-License-Identifier: MIT
 * Events of a run as one list. The streams hand out children before parents and tracks in any mix;
 * each item knows its track and its number there, and its parent's number, which is all that the
 * tree needs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_list.h"
#include "model/device_memory.h"
#include "model/function_event.h"

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
    tptrace_list_cuda_fini(list);
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
    struct tptrace_item *items = realloc(list->items, capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    list->items = items;
    list->capacity = capacity;
    return 0;
}

static int add_item(struct tptrace_list *list, const struct tptrace_source *source,
                    const struct tp_stream_name *name, const uint64_t *record,
                    struct tptrace_item *item)
{
    int error = reserve(list, list->count + 1);

    if (error)
        return error;
    tptrace_event_of(&item->event, source->names, name, record);
    item->node_id = tptrace_node_of(source->process, list->by);
    item->ordinal = source->ordinal;
    item->user = source->user;
    item->domain = name->domain;
    item->details.shapes = name->input_shapes;
    item->is_call = tp_slot_kind(record) == TP_EVENT_CUDA_BEGIN;
    if (tp_slot_kind(record) == TP_EVENT_OP_BEGIN) {
        item->framework_thread = (uint32_t)(record[5] >> 32);
        item->shapes = (uint32_t)record[6];
        item->inputs = (uint32_t)(record[6] >> 32);
    }
    if (tp_slot_kind(record) == TP_EVENT_CUDA_BEGIN && (uint32_t)record[4]) {
        item->kernel = tptrace_names_plain(source->names, (uint32_t)record[4])->name;
        item->shapes = (uint32_t)(record[4] >> 32); /* its geometry, until the names go */
    }
    list->names = source->names;
    list->items[list->count++] = *item;
    return 0;
}

static int list_range(void *context, const struct tptrace_source *source,
                      const struct tp_stream_range *range)
{
    struct tptrace_list *list = context;
    struct tptrace_item item = {
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
    struct tptrace_item item = {
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
        struct tptrace_item *item = &list->items[list->detailed];
        struct tptrace_details inputs = {0};
        if (item->kernel)
            error = tptrace_names_geometry(list->names, item->shapes, &item->geometry);
        else if (item->shapes)
            error = tptrace_names_details(list->names, item->shapes, &item->details);
        if (!error && item->inputs)
            error = tptrace_names_details(list->names, item->inputs, &inputs);
        item->details.inputs = inputs.inputs;
    }
    return error ? error : tptrace_list_cuda_details(list);
}

void tptrace_list_consumer(struct tptrace_list *list, struct tptrace_consumer *consumer)
{
    *consumer = (struct tptrace_consumer){.context = list,
                                          .range = list_range,
                                          .async = list_async,
                                          .cuda = tptrace_list_cuda_take,
                                          .evicted = list->summed ? tptrace_list_evicted : NULL,
                                          .end_process = list_details};
}

void tptrace_list_want_summed(struct tptrace_list *list, struct tp_summed_sink *summed)
{
    list->summed = summed;
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
    return tptrace_list_cuda_add(into, from);
}

/* ---- order ---- */

static int compare_places(const void *a, const void *b)
{
    const struct tptrace_item *left = a, *right = b;

    if (left->ordinal != right->ordinal)
        return left->ordinal < right->ordinal ? -1 : 1;
    return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

size_t tptrace_items_find(const struct tptrace_item *items, size_t count, uint64_t ordinal,
                          uint64_t sequence)
{
    struct tptrace_item key = {.ordinal = ordinal, .sequence = sequence};
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_places(&items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < count && items[low].ordinal == ordinal && items[low].sequence == sequence;
    return found ? low : TPTRACE_NO_ITEM;
}

/* Index of the parent, which stands before its child. */
static size_t find_parent(const struct tptrace_item *items, size_t index)
{
    uint64_t wanted = items[index].parent, ordinal = items[index].ordinal;

    if (!wanted)
        return TPTRACE_NO_ITEM;
    /* mostly it is near */
    for (size_t step = 1; step <= index && step <= 8; step++) {
        if (items[index - step].ordinal == ordinal && items[index - step].sequence == wanted)
            return index - step;
    }
    return tptrace_items_find(items, index, ordinal, wanted);
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
        const struct tptrace_item *item = &list->items[i];
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
        struct tptrace_item *item = &list->items[i], *next = item + 1;
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

/* What all kinds of events have. */
static void start_event(struct tp_function_event *event, const struct tp_event_list *events,
                        int64_t start_ns, int64_t end_ns)
{
    tp_function_event_init(event);
    tp_event_set(event, TP_EVENT_START, tp_number_real((double)start_ns / 1000.0));
    tp_event_set(event, TP_EVENT_END, tp_number_real((double)end_ns / 1000.0));
    event->use_device = events->use_device;
    event->overload_name = TP_STRING_EMPTY;
    event->input_shapes = TP_STRING_LIST;
    event->stack = TP_STACK_EMPTY;
    event->parent = TP_NO_EVENT;
}

/* The place that every entry gets in the list, by its number: ranges, then works, then memory. */
struct order {
    struct entry {
        int64_t start_ns, end_ns;
        uint32_t number;
    } * entries;
    uint32_t *places;
    size_t count;
};

/* Lists and what making events of them takes. */
struct making {
    struct tptrace_list *list;
    const struct tptrace_run *run;
    struct tp_event_list *events;
    struct threads threads;
    struct order order;
    int64_t start_ns;  /* of the run */
    int64_t *id_bases; /* by process: ids of its calls count from here */
    int64_t next_id;   /* of ranges */
};

/* With the process that it is of. */
static int append_of(struct making *m, const struct tp_function_event *event, uint64_t user)
{
    struct tp_event_list *events = m->events;
    int error = tp_event_list_append(events, event);
    char pid[16];

    if (error || !events->keeps_details)
        return error;
    int size = snprintf(pid, sizeof(pid), "%u", m->run->members[user].pid);
    return tp_strings_put(events->strings, pid, (size_t)size,
                          &events->details[events->count - 1].pid);
}

static int append_range(struct making *m, size_t index)
{
    const struct tptrace_item *item = &m->list->items[index];
    struct tp_function_event event;
    size_t parent = find_parent(m->list->items, index);
    const struct thread *forward =
        item->event.fwd_thread
            ? find_thread(&m->threads, item->user, (uint32_t)item->event.fwd_thread)
            : NULL;

    start_event(&event, m->events, item->start_ns - m->start_ns, item->end_ns - m->start_ns);
    int error = set_trace_name(m->events, &item->event, &event.trace_name);
    if (error)
        return error;
    tp_event_set(&event, TP_EVENT_CPU_MEMORY, tp_number_integer(item->memory_bytes));
    tp_event_set(&event, TP_EVENT_DEVICE_MEMORY, tp_number_integer(item->device_bytes));
    event.id = m->next_id++;
    event.thread = event.device_resource_id = item->tid;
    event.fwd_thread = forward ? forward->tid : item->event.fwd_thread;
    event.sequence_nr = item->event.sequence_nr;
    event.name = item->event.name;
    event.overload_name = item->event.overload_name;
    event.input_shapes = item->event.input_shapes;
    event.domain = item->domain;
    event.parent = parent == TPTRACE_NO_ITEM ? TP_NO_EVENT : m->order.places[parent];
    event.node_id = item->node_id;
    event.flags = (uint16_t)(item->event.flags | TP_EVENT_HAS_FWD_THREAD);
    event.scope = item->event.scope;
    error = append_of(m, &event, item->user);
    if (!error && m->events->keeps_details) {
        struct tp_event_details *details = &m->events->details[m->events->count - 1];
        details->structured_input_shapes = item->details.shapes;
        details->structured_input_strides = item->details.strides;
        details->input_dtypes = item->details.dtypes;
        details->concrete_inputs = item->details.inputs;
    }
    struct tp_event_launch launch = {
        .kernel = item->kernel, .geometry = item->geometry, .occupancy = -1};
    return error || item->kernel == TP_STRING_NONE
               ? error
               : tp_event_list_append_launch(m->events, &launch);
}

/* ---- what CUDA did ---- */

/* Waits span work that has rows of its own, and overhead is nobody's: the sums of a table leave
 * both out. */
static void set_flags(struct tp_function_event *event, const struct tptrace_work_item *work)
{
    event->flags = TP_EVENT_NO_FLOPS;
    switch (work->activity.kind) {
    case TP_EVENT_CUDA_API:
        event->flags |=
            TP_EVENT_CALL | TP_EVENT_HAS_FWD_THREAD | (work->is_placed ? 0 : TP_EVENT_INCIDENTAL);
        break;
    case TP_EVENT_CUDA_OVERHEAD:
        event->flags |= TP_EVENT_ASYNC | TP_EVENT_HAS_FWD_THREAD;
        break;
    case TP_EVENT_CUDA_SYNC:
        event->flags |= TP_EVENT_USER_ANNOTATION;
        break;
    default:
        event->flags |= work->has_launch ? 0 : TP_EVENT_NO_LAUNCH;
        break;
    }
}

/* The occupancy of a launch, of the device's limits as far as they are known. */
static int append_launch(const struct making *m, const struct tptrace_work_item *work)
{
    const struct tp_string *json = tp_strings_get(m->events->strings, work->geometry);
    struct tp_occupancy occupancy;
    struct tp_geometry geometry;
    struct tp_event_launch launch = {.kernel = TP_STRING_NONE,
                                     .geometry = work->geometry,
                                     .captured_in = work->captured_in,
                                     .occupancy = -1};

    if (work->geometry == TP_STRING_NONE && work->captured_in == TP_STRING_NONE)
        return 0;
    if (tp_geometry_parse(&geometry, json->bytes, json->size) &&
        tptrace_cuda_occupancy(&m->run->members[work->user].process.meta.cuda,
                               work->activity.device, &geometry, &occupancy))
        launch.occupancy = (float)occupancy.percent;
    return tp_event_list_append_launch(m->events, &launch);
}

static int append_work(struct making *m, size_t index)
{
    const struct tptrace_work_item *work = &m->list->works[index];
    const struct tptrace_activity *activity = &work->activity;
    struct tp_function_event event;

    start_event(&event, m->events, activity->start_ns - m->start_ns,
                activity->end_ns - m->start_ns);
    set_flags(&event, work);
    event.name = event.trace_name = work->name;
    event.id = work->id ? m->id_bases[work->user] + work->id : 0;
    event.thread = event.device_resource_id = work->tid;
    event.node_id = work->node_id;
    if (activity->kind == TP_EVENT_CUDA_API) {
        if (work->owner != TPTRACE_NO_ITEM)
            event.parent = m->order.places[work->owner];
    } else if (activity->kind != TP_EVENT_CUDA_OVERHEAD) {
        event.device_type = TP_DEVICE_CUDA;
        event.device_index = activity->device;
        event.device_resource_id = activity->stream;
    }
    int error = append_of(m, &event, work->user);
    if (!error)
        error = append_launch(m, work);
    if (error || !m->events->keeps_details)
        return error;
    uint32_t owner = work->owner == TPTRACE_NO_ITEM ? TP_NO_EVENT : m->order.places[work->owner];
    return tptrace_list_work_details(m->run, work, event.id,
                                     owner < m->events->count ? m->events->events[owner].id : 0,
                                     m->events);
}

/* Memory that no range is credited with. */
static int append_memory(struct making *m, size_t index)
{
    const struct tptrace_memory_item *item = &m->list->memories[index];
    struct tp_function_event event;

    start_event(&event, m->events, item->ns - m->start_ns, item->ns - m->start_ns);
    int error = tp_strings_put(m->events->strings, "[memory]", 8, &event.name);
    if (error)
        return error;
    tp_event_set(&event, TP_EVENT_DEVICE_MEMORY, tp_number_integer(item->bytes));
    event.id = m->next_id++;
    event.trace_name = TP_STRING_NONE;
    event.thread = event.fwd_thread = event.device_resource_id = item->tid;
    event.flags = TP_EVENT_HAS_FWD_THREAD | TP_EVENT_NO_FLOPS;
    event.node_id = item->node_id;
    return append_of(m, &event, item->user);
}

static int append_entry(struct making *m, size_t number)
{
    const struct tptrace_list *list = m->list;

    if (number < list->count)
        return append_range(m, number);
    number -= list->count;
    return number < list->work_count ? append_work(m, number)
                                     : append_memory(m, number - list->work_count);
}

/* Clocks are tied to within some ns: a call that we know to lie in a range is moved into it. */
static void move_call(const struct tptrace_list *list, struct tptrace_work_item *work)
{
    struct tptrace_activity *activity = &work->activity;
    int64_t length_ns = activity->end_ns - activity->start_ns;

    if (activity->kind != TP_EVENT_CUDA_API || work->owner == TPTRACE_NO_ITEM)
        return;
    const struct tptrace_item *range = &list->items[work->owner];
    if (activity->end_ns > range->end_ns)
        activity->start_ns = range->end_ns - length_ns;
    if (activity->start_ns < range->start_ns)
        activity->start_ns = range->start_ns;
    activity->end_ns = activity->start_ns + length_ns;
}

/* ---- order ---- */

static int compare_list_order(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    return left->number < right->number ? -1 : 1; /* ranges by track and number on it */
}

static void fill_order(struct order *order, struct tptrace_list *list)
{
    size_t at = 0;

    for (size_t i = 0; i < list->count; i++)
        order->entries[at++] = (struct entry){list->items[i].start_ns, list->items[i].end_ns, 0};
    for (size_t i = 0; i < list->work_count; i++) {
        move_call(list, &list->works[i]);
        order->entries[at++] =
            (struct entry){list->works[i].activity.start_ns, list->works[i].activity.end_ns, 0};
    }
    for (size_t i = 0; i < list->memory_count; i++) {
        if (list->memories[i].owner != TPTRACE_NO_ITEM)
            continue;
        order->entries[at] = (struct entry){list->memories[i].ns, list->memories[i].ns, 0};
        list->memories[at++ - list->count - list->work_count] = list->memories[i];
    }
    order->count = at;
    for (size_t i = 0; i < at; i++)
        order->entries[i].number = (uint32_t)i;
}

static int make_order(struct making *m)
{
    struct order *order = &m->order;
    struct tptrace_list *list = m->list;
    size_t room = list->count + list->work_count + list->memory_count + 1;

    order->entries = malloc(room * sizeof(*order->entries));
    order->places = malloc(room * sizeof(*order->places));
    if (!order->entries || !order->places)
        return -ENOMEM;
    fill_order(order, list);
    qsort(order->entries, order->count, sizeof(*order->entries), compare_list_order);
    for (size_t i = 0; i < order->count; i++)
        order->places[order->entries[i].number] = m->events->count + (uint32_t)i;
    return 0;
}

/* ---- ids and kernels ---- */

/* Calls and their work go by CUPTI's id, those of later processes behind those of earlier ones;
 * ranges behind all of them. */
static int number_processes(struct making *m)
{
    const struct tptrace_list *list = m->list;
    uint64_t users = 0;

    for (size_t i = 0; i < list->work_count; i++)
        users = list->works[i].user >= users ? list->works[i].user + 1 : users;
    m->id_bases = calloc(users + 1, sizeof(*m->id_bases));
    if (!m->id_bases)
        return -ENOMEM;
    for (size_t i = 0; i < list->work_count; i++) {
        int64_t *highest = &m->id_bases[list->works[i].user + 1];
        if (list->works[i].id > *highest)
            *highest = list->works[i].id;
    }
    m->id_bases[0] = m->events->count;
    for (uint64_t i = 0; i < users; i++)
        m->id_bases[i + 1] += m->id_bases[i];
    m->next_id = m->id_bases[users] + 1;
    return 0;
}

static int compare_owners(const void *a, const void *b)
{
    const struct tptrace_work_item *left = a, *right = b;

    if (left->owner != right->owner)
        return left->owner < right->owner ? -1 : 1;
    if (left->activity.start_ns != right->activity.start_ns)
        return left->activity.start_ns < right->activity.start_ns ? -1 : 1;
    return (left->activity.end_ns > right->activity.end_ns) -
           (left->activity.end_ns < right->activity.end_ns);
}

/* Device work to the ranges that launched it. The works are in their last order then. */
static int credit_kernels(struct making *m)
{
    struct tptrace_list *list = m->list;
    int error = 0;

    if (list->work_count)
        qsort(list->works, list->work_count, sizeof(*list->works), compare_owners);
    for (size_t i = 0; i < list->work_count && !error; i++) {
        const struct tptrace_work_item *work = &list->works[i];
        int64_t length_ns = work->activity.end_ns - work->activity.start_ns;
        if (work->owner == TPTRACE_NO_ITEM || !tptrace_is_device_work(work->activity.kind))
            continue;
        struct tp_kernel kernel = {.duration = tp_number_real((double)length_ns / 1000.0),
                                   .name = work->name,
                                   .device = work->activity.device};
        error = tp_event_list_credit_kernel(m->events, m->order.places[work->owner], &kernel);
    }
    return error;
}

/* ---- the whole ---- */

static int find_device(const struct tptrace_run *run, struct tp_event_list *events)
{
    if (!tptrace_run_uses_cuda(run) || events->use_device != TP_STRING_NONE)
        return 0;
    return tp_strings_put(events->strings, "cuda", 4, &events->use_device);
}

/* The name of the range that made the call; an interposed call is a range itself. */
static uint32_t name_of_owner(const struct tptrace_list *list, size_t owner)
{
    while (owner != TPTRACE_NO_ITEM && list->items[owner].is_call) {
        const struct tptrace_item *call = &list->items[owner];
        owner = call->parent
                    ? tptrace_items_find(list->items, list->count, call->ordinal, call->parent)
                    : TPTRACE_NO_ITEM;
    }
    return owner == TPTRACE_NO_ITEM ? TP_STRING_NONE : list->items[owner].event.name;
}

/* For a report of memory. */
static int tell_memory(const struct making *m)
{
    struct tp_device_memory *memory = m->events->memory;
    int error = 0;

    for (size_t i = 0; memory && i < m->list->memory_count && !error; i++) {
        const struct tptrace_memory_item *item = &m->list->memories[i];
        struct tp_memory_step step = {
            .ns = item->ns - m->start_ns,
            .bytes = item->bytes,
            .address = item->memory.address,
            .space = item->user * 2 + ((item->memory.flags & TPTRACE_MEMORY_PHYSICAL) != 0),
            .owner = name_of_owner(m->list, item->owner),
            .device = item->memory.device,
            .is_free = item->memory.is_free,
        };
        memory->sources |= tptrace_memory_source(&m->run->members[item->user].process);
        error = tp_device_memory_add(memory, &step);
    }
    return error;
}

static int make_events(struct making *m)
{
    int error = learn_threads(m->list, &m->threads);

    if (!error)
        error = tell_memory(m);
    if (!error)
        error = number_processes(m);
    if (!error)
        error = make_order(m);
    for (size_t i = 0; i < m->order.count && !error; i++)
        error = append_entry(m, m->order.entries[i].number);
    return error ? error : credit_kernels(m);
}

int tptrace_list_finish(struct tptrace_list *list, struct tptrace_run *run,
                        struct tp_event_list *events)
{
    struct making m = {.list = list, .events = events, .run = run, .start_ns = run->start_ns};

    if (list->count + list->work_count + list->memory_count + events->count >= TP_NO_EVENT / 2)
        return -TP_ELIMIT;
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_places);
    dress_wrappers(list, events->strings);
    int error = tptrace_list_cuda_join(list, run);
    if (!error)
        error = find_device(run, events);
    if (!error)
        error = make_events(&m);
    events->is_nested = true;
    free(m.order.entries);
    free(m.order.places);
    free(m.id_bases);
    free(m.threads.items);
    return error;
}
