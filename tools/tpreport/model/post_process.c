/* SPDX-License-Identifier: MIT
 * Events come in with whole nanoseconds and linked ids beside them (raw_record.h). The order of the
 * steps is the reference's: times and memory of each event, kernels of front-end events, events for
 * memory nobody is credited with, and the order of the list. */
#include "model/post_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/id_index.h"

/* ---- times and memory ---- */

static double microseconds(int64_t ns, int64_t trace_start_ns)
{
    tp_wide since = (tp_wide)ns - trace_start_ns;

    if (since > -(1ll << 53) && since < 1ll << 53) /* the usual: one rounding */
        return (double)(int64_t)since / 1000.0;
    return tp_number_divide(tp_number_wide(since), tp_number_integer(1000));
}

static void credit_memory(struct tp_memory_records *memory, struct tp_function_event *event,
                          int64_t start_ns, int64_t end_ns)
{
    int64_t cpu, device;

    tp_memory_records_credit(memory, start_ns, end_ns, &cpu, &device);
    event->numbers[TP_EVENT_CPU_MEMORY].low = (uint64_t)cpu;
    event->numbers[TP_EVENT_DEVICE_MEMORY].low = (uint64_t)device;
}

static void set_times(struct tp_raw_records *records, int64_t trace_start_ns)
{
    struct tp_event_list *list = records->list;

    for (uint32_t i = records->first; i < list->count; i++) {
        struct tp_function_event *event = &list->events[i];
        int64_t start = (int64_t)event->numbers[TP_EVENT_START].low;
        int64_t end = (int64_t)event->numbers[TP_EVENT_END].low;
        if (records->memory.count && event->device_type == TP_DEVICE_CPU)
            credit_memory(&records->memory, event, start, end);
        event->numbers[TP_EVENT_START].real = microseconds(start, trace_start_ns);
        event->numbers[TP_EVENT_END].real = microseconds(end, trace_start_ns);
        event->real_mask |= 1u << TP_EVENT_START | 1u << TP_EVENT_END;
        event->use_device = list->use_device;
    }
}

/* ---- kernels ---- */

/* What is linked to one id, in capture order; events are counted from records->first. */
struct link {
    uint32_t head, tail;
    uint32_t owner;                      /* the last front-end event with the id */
    uint32_t first_kernel, kernel_count; /* once they are in the list */
    bool has_kernels, is_claimed;
};

enum { COPIES_PER_EVENT = 64 }; /* on average */

struct links {
    struct tp_id_index ids;
    struct link *items; /* by the id's number */
    uint32_t *next;     /* by event */
    uint32_t capacity;
    uint64_t copy_count; /* of kernels that events could not share */
};

static void links_fini(struct links *links)
{
    tp_id_index_fini(&links->ids);
    free(links->items);
    free(links->next);
}

static int grow_links(struct links *links)
{
    uint32_t capacity = links->capacity ? links->capacity * 2 : 256;
    struct link *items = realloc(links->items, capacity * sizeof(*items));

    if (!items)
        return -ENOMEM;
    links->items = items;
    links->capacity = capacity;
    return 0;
}

static int add_link(struct links *links, int64_t id, uint32_t event)
{
    uint32_t number;
    int result = tp_id_index_put(&links->ids, id, &number);

    if (result < 0)
        return result;
    if (number == links->capacity && grow_links(links) < 0)
        return -ENOMEM;
    links->next[event] = TP_NO_EVENT;
    if (result) /* the first of its id */
        links->items[number] = (struct link){.head = event, .owner = TP_NO_EVENT};
    else
        links->next[links->items[number].tail] = event;
    links->items[number].tail = event;
    return 0;
}

static int find_links(const struct tp_raw_records *records, struct links *links)
{
    uint32_t count = records->list->count - records->first;
    int result = 0;

    links->next = malloc(((size_t)count + 1) * sizeof(*links->next));
    if (!links->next)
        return -ENOMEM;
    for (uint32_t i = 0; i < count && result >= 0; i++) {
        if (records->linked_ids[i])
            result = add_link(links, records->linked_ids[i], i);
    }
    return result < 0 ? result : 0;
}

/* Which measured time counts: the profiled device's own. */
static struct tp_number measured_us(const struct tp_event_list *list,
                                    const struct tp_measured_time *measured)
{
    static const char *const others[] = {"", "cpu", "xpu", "mtia", "hpu"};
    const char *device = tp_strings_get(list->strings, list->use_device)->bytes;

    if (!strcmp(device, "cuda"))
        return measured->cuda_us;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (!strcmp(device, others[i]))
            return tp_number_integer(0);
    }
    return measured->privateuse1_us; /* the name of such a backend is free */
}

static int add_measured_kernel(struct tp_event_list *list, const struct tp_measured_time *measured)
{
    struct tp_function_event *event = &list->events[measured->event];
    struct tp_kernel kernel = {
        .name = event->name,
        .device = event->device_index,
        .duration = measured_us(list, measured),
    };

    if (event->device_type != TP_DEVICE_CPU || event->flags & TP_EVENT_ASYNC ||
        tp_number_sign(kernel.duration) <= 0)
        return 0;
    event->flags |= TP_EVENT_LEGACY;
    return tp_event_list_credit_kernel(list, measured->event, &kernel);
}

static bool is_creditable(const struct tp_function_event *event)
{
    return event->device_type == TP_DEVICE_CUDA || event->device_type == TP_DEVICE_PRIVATEUSE1 ||
           event->device_type == TP_DEVICE_XPU;
}

/* Its launch is recorded: a front-end event has the id. */
static void claim(struct tp_raw_records *records, const struct links *links, struct link *link)
{
    struct tp_function_event *events = &records->list->events[records->first];

    if (link->is_claimed)
        return;
    link->is_claimed = true;
    for (uint32_t i = link->head; i != TP_NO_EVENT; i = links->next[i])
        events[i].flags &= (uint16_t)~TP_EVENT_NO_LAUNCH;
}

/* Device work that is linked to a front-end event becomes its kernels. All events with the id get
 * the same ones, so that they share them; only those of events that have others too are copies. */
static int take_kernels(struct tp_raw_records *records, struct links *links, struct link *link,
                        uint32_t index)
{
    struct tp_event_list *list = records->list;
    struct tp_function_event *event = &list->events[index];
    bool is_shared = !event->kernel_count;
    int result = 0;

    if (is_shared && link->has_kernels) {
        event->first_kernel = link->first_kernel;
        event->kernel_count = link->kernel_count;
        return 0;
    }
    for (uint32_t i = link->head; !result && i != TP_NO_EVENT; i = links->next[i]) {
        struct tp_function_event *linked = &list->events[records->first + i];
        if (!is_creditable(linked))
            continue;
        if (!is_shared && ++links->copy_count > COPIES_PER_EVENT * (uint64_t)list->count)
            return -TP_ELIMIT;
        result =
            tp_event_list_credit_kernel(list, index,
                                        &(struct tp_kernel){.name = linked->name,
                                                            .device = linked->device_index,
                                                            .duration = tp_event_elapsed(linked)});
    }
    if (is_shared) {
        link->first_kernel = event->first_kernel;
        link->kernel_count = event->kernel_count;
        link->has_kernels = true;
    }
    return result;
}

/* Calls go to the thread of their operator, below which they nest then. */
static void move_calls(struct tp_raw_records *records, const struct links *links)
{
    struct tp_function_event *events = &records->list->events[records->first];

    for (uint32_t number = 0; number < links->ids.count; number++) {
        const struct link *link = &links->items[number];
        if (link->owner == TP_NO_EVENT)
            continue;
        for (uint32_t i = link->head; i != TP_NO_EVENT; i = links->next[i]) {
            if (events[i].device_type == TP_DEVICE_CPU)
                events[i].thread = events[link->owner].thread;
        }
    }
}

static int credit_kernels(struct tp_raw_records *records, struct links *links)
{
    struct tp_event_list *list = records->list;
    uint32_t measured = 0;
    int result = 0;

    for (uint32_t i = records->first; !result && i < list->count; i++) {
        struct tp_function_event *event = &list->events[i];
        event->first_kernel = list->kernel_count;
        if (measured < records->measured_count && records->measured[measured].event == i)
            result = add_measured_kernel(list, &records->measured[measured++]);
        if (result || records->linked_ids[i - records->first] ||
            event->device_type != TP_DEVICE_CPU)
            continue;
        uint32_t number = tp_id_index_find(&links->ids, event->id);
        if (number == TP_NO_NUMBER)
            continue;
        claim(records, links, &links->items[number]);
        if (event->flags & TP_EVENT_ASYNC) /* is credited with nothing */
            continue;
        links->items[number].owner = i - records->first;
        result = take_kernels(records, links, &links->items[number], i);
    }
    return result;
}

/* Work that belongs to no front-end event may still have been launched by a call that is there. */
static int find_calls(struct tp_raw_records *records)
{
    struct tp_function_event *events = &records->list->events[records->first];
    uint32_t count = records->list->count - records->first, unknown = 0, number;
    struct tp_id_index calls = {0};
    int result = 0;

    for (uint32_t i = 0; i < count; i++)
        unknown += (events[i].flags & TP_EVENT_NO_LAUNCH) != 0;
    for (uint32_t i = 0; unknown && result >= 0 && i < count; i++) {
        if (events[i].flags & TP_EVENT_CALL)
            result = tp_id_index_put(&calls, events[i].id, &number);
    }
    for (uint32_t i = 0; unknown && result >= 0 && i < count; i++) {
        if (events[i].flags & TP_EVENT_NO_LAUNCH &&
            tp_id_index_find(&calls, events[i].id) != TP_NO_NUMBER)
            events[i].flags &= (uint16_t)~TP_EVENT_NO_LAUNCH;
    }
    tp_id_index_fini(&calls);
    return result < 0 ? result : 0;
}

static int join_kernels(struct tp_raw_records *records)
{
    struct links links = {0};

    if (records->first == records->list->count)
        return 0;
    int result = find_links(records, &links);
    if (!result)
        result = credit_kernels(records, &links);
    if (!result)
        move_calls(records, &links);
    links_fini(&links);
    return result ? result : find_calls(records);
}

/* ---- memory that no event is credited with ---- */

static int append_memory_event(struct tp_raw_records *records, const char *name, int64_t id,
                               const struct tp_memory_record *memory, int64_t trace_start_ns)
{
    struct tp_event_list *list = records->list;
    struct tp_number when = tp_number_real(microseconds(memory->start_ns, trace_start_ns));
    struct tp_number bytes = tp_number_integer(memory->bytes);
    struct tp_function_event event;

    tp_function_event_init(&event);
    int result = tp_strings_put(list->strings, name, strlen(name), &event.name);
    if (result < 0)
        return result;
    event.id = id;
    event.trace_name = TP_STRING_NONE;
    event.thread = event.fwd_thread = event.device_resource_id = memory->thread;
    event.flags = TP_EVENT_HAS_FWD_THREAD | TP_EVENT_NO_FLOPS;
    event.use_device = list->use_device;
    tp_event_set(&event, TP_EVENT_START, when);
    tp_event_set(&event, TP_EVENT_END, when);
    if (tp_memory_is_host(memory->device_type))
        tp_event_set(&event, TP_EVENT_CPU_MEMORY, bytes);
    if (tp_memory_is_device(memory->device_type))
        tp_event_set(&event, TP_EVENT_DEVICE_MEMORY, bytes);
    return tp_event_list_append(list, &event);
}

static int add_memory_events(struct tp_raw_records *records, int64_t trace_start_ns)
{
    const struct tp_memory_records *memory = &records->memory, *lacked = &records->out_of_memory;
    int64_t id = 0;
    bool *unused;

    for (uint32_t i = records->first; i < records->list->count; i++) {
        if (records->list->events[i].id > id)
            id = records->list->events[i].id;
    }
    int result = tp_memory_records_find_unused(memory, &unused);
    if (result < 0)
        return result;
    for (uint32_t i = 0; !result && i < memory->count; i++) {
        if (unused[i])
            result = append_memory_event(records, "[memory]", (int64_t)((uint64_t)id++ + 1),
                                         &memory->items[i], trace_start_ns);
    }
    for (uint32_t i = 0; !result && i < lacked->count; i++)
        result = append_memory_event(records, "[OutOfMemory]", (int64_t)((uint64_t)id++ + 1),
                                     &lacked->items[i], trace_start_ns);
    free(unused);
    return result;
}

/* ---- order ---- */

struct place {
    double start;
    uint32_t event; /* relative to the first */
};

static double end_of(const struct tp_function_event *event)
{
    return event->numbers[TP_EVENT_END].real;
}

static int compare_places(const void *a, const void *b, void *context)
{
    const struct tp_function_event *events = context;
    const struct place *left = a, *right = b;

    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    double left_end = end_of(&events[left->event]), right_end = end_of(&events[right->event]);
    if (left_end != right_end)
        return left_end > right_end ? -1 : 1;
    return left->event < right->event ? -1 : left->event > right->event;
}

/* Move every event to its place along the cycles of the order. */
static void apply_order(struct tp_event_list *list, uint32_t first, struct place *order,
                        uint32_t count)
{
    struct tp_function_event *events = list->events + first;
    struct tp_event_details *details = list->keeps_details ? list->details + first : NULL;

    for (uint32_t i = 0; i < count; i++) {
        struct tp_function_event event = events[i];
        struct tp_event_details detail;
        uint32_t at = i;
        if (details)
            detail = details[i];
        while (order[at].event != i) {
            uint32_t from = order[at].event;
            events[at] = events[from];
            if (details)
                details[at] = details[from];
            order[at].event = at;
            at = from;
        }
        if (at == i)
            continue;
        events[at] = event;
        if (details)
            details[at] = detail;
        order[at].event = at;
    }
}

static int sort_events(struct tp_event_list *list, uint32_t first)
{
    uint32_t count = list->count - first;
    struct tp_function_event *events = list->events + first;
    struct place *order = malloc(((size_t)count + 1) * sizeof(*order));
    bool is_sorted = true;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = (struct place){.start = events[i].numbers[TP_EVENT_START].real, .event = i};
        if (i && compare_places(&order[i - 1], &order[i], events) > 0)
            is_sorted = false;
    }
    if (!is_sorted) {
        qsort_r(order, count, sizeof(*order), compare_places, events);
        apply_order(list, first, order, count);
    }
    free(order);
    return 0;
}

int tp_post_process(struct tp_raw_records *records, int64_t trace_start_ns, struct tp_diag *diag)
{
    int result = tp_memory_records_sort(&records->memory);

    if (!result) {
        set_times(records, trace_start_ns);
        result = join_kernels(records);
    }
    free(records->linked_ids); /* room for what follows */
    records->linked_ids = NULL;
    records->linked_capacity = 0;
    if (!result)
        result = add_memory_events(records, trace_start_ns);
    if (!result && records->list->count > records->first)
        result = sort_events(records->list, records->first);
    if (result == -TP_ELIMIT)
        return tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET,
                            "found kernels linked to too many events with a measured time, "
                            "expected %d for each of the %u events on average at most",
                            COPIES_PER_EVENT, records->list->count);
    return result < 0 ? tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for %u events",
                                     records->list->count)
                      : 0;
}
