/* SPDX-License-Identifier: MIT
 * Arrows and allocations, where the input did not have its own. */
#include <errno.h>
#include <stdlib.h>

#include "model/trace_flows.h"
#include "view/kineto.h"

/* ---- arrows ---- */

static void put_end(struct tp_kineto_writer *w, const char *phase, const char *category, size_t id,
                    uint32_t event)
{
    int64_t shift = tp_kineto_shift(w, tp_kineto_source_of(w, event));

    tp_kineto_begin(w, phase);
    tp_buffer_format(&w->line, "\"id\": %zu, ", id);
    tp_kineto_place(w, event);
    tp_buffer_string(&w->line, "\"ts\": ");
    tp_kineto_time(&w->line, tp_trace_event_ns(&w->list->events[event], TP_EVENT_START) + shift);
    tp_buffer_format(&w->line, ", \"cat\": \"%s\", \"name\": \"%s\"%s", category, category,
                     *phase == 'f' ? ", \"bp\": \"e\"" : "");
    tp_kineto_end(w);
}

static void put_flows(struct tp_kineto_writer *w, const struct tp_trace_flows *flows,
                      const char *category)
{
    for (size_t i = 0; i < flows->count && !tp_output_failed(w->output); i++) {
        put_end(w, "s", category, i + 1, flows->items[i].from);
        put_end(w, "f", category, i + 1, flows->items[i].to);
    }
}

int tp_kineto_flows(struct tp_kineto_writer *w)
{
    struct tp_trace_flows launches = {0}, backward = {0};
    int result = w->has_launch_marks ? 0 : tp_trace_flows_launches(&launches, w->list);

    if (!result && !w->has_backward_marks)
        result = tp_trace_flows_backward(&backward, w->list);
    if (!result) {
        put_flows(w, &launches, "ac2g");
        put_flows(w, &backward, "fwdbwd");
    }
    tp_trace_flows_fini(&launches);
    tp_trace_flows_fini(&backward);
    return result;
}

/* ---- allocations ---- */

/* What an event has kept or given back by itself, told at its end. */
struct balance {
    int64_t ns, bytes;
    uint32_t event;
    uint32_t pid; /* string id */
    bool on_device;
};

struct balances {
    struct balance *items;
    size_t count, capacity;
};

static int add_balance(struct balances *balances, const struct balance *balance)
{
    if (balances->count == balances->capacity) {
        size_t capacity = balances->capacity ? balances->capacity * 2 : 256;
        struct balance *items = realloc(balances->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        balances->items = items;
        balances->capacity = capacity;
    }
    balances->items[balances->count++] = *balance;
    return 0;
}

static int64_t self_bytes(const struct tp_event_list *list, uint32_t index, enum tp_event_number n)
{
    struct tp_number sum = tp_event_get(&list->events[index], n);

    for (uint32_t i = list->events[index].first_child; i != TP_NO_EVENT;
         i = list->events[i].next_sibling)
        sum = tp_number_subtract(sum, tp_event_get(&list->events[i], n));
    return tp_number_truncate(sum);
}

static int compare_balances(const void *a, const void *b)
{
    const struct balance *l = a, *r = b;

    if (l->on_device != r->on_device)
        return l->on_device ? 1 : -1;
    if (l->pid != r->pid)
        return l->pid < r->pid ? -1 : 1;
    if (l->ns != r->ns)
        return l->ns < r->ns ? -1 : 1;
    return l->event < r->event ? -1 : l->event > r->event;
}

static int find_balances(const struct tp_kineto_writer *w, struct balances *balances)
{
    const struct tp_event_list *list = w->list;
    int result = 0;

    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        const struct tp_function_event *event = &list->events[i];
        if (event->device_type != TP_DEVICE_CPU || event->flags & TP_EVENT_ASYNC)
            continue;
        for (int device = 0; device < 2 && !result; device++) {
            struct balance balance = {
                .ns = tp_trace_event_ns(event, TP_EVENT_END),
                .bytes = self_bytes(list, i, device ? TP_EVENT_DEVICE_MEMORY : TP_EVENT_CPU_MEMORY),
                .event = i,
                .pid = list->details[i].pid,
                .on_device = device,
            };
            if (balance.bytes)
                result = add_balance(balances, &balance);
        }
    }
    if (balances->count)
        qsort(balances->items, balances->count, sizeof(*balances->items), compare_balances);
    return result;
}

static void put_balance(struct tp_kineto_writer *w, const struct balance *balance, int64_t total)
{
    int64_t shift = tp_kineto_shift(w, tp_kineto_source_of(w, balance->event));

    tp_kineto_begin(w, "i");
    tp_buffer_string(&w->line,
                     "\"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", ");
    tp_kineto_place(w, balance->event);
    tp_buffer_string(&w->line, "\"ts\": ");
    tp_kineto_time(&w->line, balance->ns + shift);
    tp_buffer_string(&w->line, ", \"args\": ");
    tp_trace_memory_args(&w->line, balance->on_device ? TP_DEVICE_CUDA : TP_DEVICE_CPU,
                         w->list->events[balance->event].device_index, balance->bytes);
    tp_buffer_format(&w->line, ", \"Total Allocated\": %lld, \"Total Reserved\": 0}",
                     (long long)total);
    tp_kineto_end(w);
}

int tp_kineto_memory(struct tp_kineto_writer *w)
{
    struct balances balances = {0};
    int64_t total = 0;

    if (!w->report->profile_memory || w->has_memory_marks)
        return 0;
    int result = find_balances(w, &balances);
    for (size_t i = 0; !result && i < balances.count && !tp_output_failed(w->output); i++) {
        const struct balance *b = &balances.items[i];
        if (i && (b[-1].pid != b->pid || b[-1].on_device != b->on_device))
            total = 0;
        total = (int64_t)((uint64_t)total + (uint64_t)b->bytes);
        put_balance(w, b, total);
    }
    free(balances.items);
    return result;
}
