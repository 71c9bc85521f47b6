/* SPDX-License-Identifier: MIT
 * Nesting follows from times alone: per thread and node, events sorted by start (longer first) are
 * walked with a stack of open parents. Threads of children are sibling lists of indices, so that
 * folding an event into its parent moves a whole list at once; the children learn their new parent
 * in one pass at the end (find_parent). */
#include "model/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hash.h"
#include "model/kernel_sums.h"

/* ---- nesting ---- */

static int compare_threads(const void *a, const void *b, void *context)
{
    const struct tp_function_event *events = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int64_t l = events[left].thread, r = events[right].thread;

    if (l != r)
        return l < r ? -1 : 1;
    return left < right ? -1 : 1; /* stable */
}

static int compare_times(const void *a, const void *b, void *context)
{
    const struct tp_function_event *events = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const struct tp_function_event *l = &events[left], *r = &events[right];

    int order = tp_number_compare(tp_event_get(l, TP_EVENT_START), tp_event_get(r, TP_EVENT_START));
    if (!order)
        order = tp_number_compare(tp_event_get(r, TP_EVENT_END), tp_event_get(l, TP_EVENT_END));
    return order ? order : left < right ? -1 : 1;
}

/* Most lists come sorted; a check is cheaper than a sort. */
static void sort_indices(uint32_t *indices, size_t count, struct tp_function_event *events,
                         int (*compare)(const void *, const void *, void *))
{
    for (size_t i = 1; i < count; i++) {
        if (compare(&indices[i - 1], &indices[i], events) > 0) {
            qsort_r(indices, count, sizeof(*indices), compare, events);
            return;
        }
    }
}

static bool may_hold(const struct tp_function_event *parent, const struct tp_function_event *event)
{
    struct tp_number end = tp_event_get(parent, TP_EVENT_END);

    return tp_number_compare(tp_event_get(event, TP_EVENT_START), end) < 0 &&
           tp_number_compare(tp_event_get(event, TP_EVENT_END), end) <= 0;
}

static void adopt(struct tp_event_list *list, uint32_t parent, uint32_t child)
{
    struct tp_function_event *p = &list->events[parent];

    if (p->first_child == TP_NO_EVENT)
        p->first_child = child;
    else
        list->events[p->last_child].next_sibling = child;
    p->last_child = child;
    list->events[child].parent = parent;
}

/* @order: one thread and node, by time. @open: room for as many indices. */
static void nest_run(struct tp_event_list *list, const uint32_t *order, size_t count,
                     uint32_t *open)
{
    size_t depth = 0;

    for (size_t i = 0; i < count; i++) {
        while (depth && !may_hold(&list->events[open[depth - 1]], &list->events[order[i]]))
            depth--;
        if (depth)
            adopt(list, open[depth - 1], order[i]);
        open[depth++] = order[i];
    }
}

static int nest(struct tp_event_list *list, uint32_t first)
{
    size_t room = (size_t)(list->count - first) + 1, count = 0;
    uint32_t *order = malloc(2 * room * sizeof(*order));

    if (!order)
        return -ENOMEM;
    for (uint32_t i = first; i < list->count; i++) {
        if (list->events[i].device_type == TP_DEVICE_CPU &&
            !(list->events[i].flags & TP_EVENT_ASYNC))
            order[count++] = i;
    }
    sort_indices(order, count, list->events, compare_threads);
    for (size_t begin = 0, end; begin < count; begin = end) {
        const struct tp_function_event *head = &list->events[order[begin]];
        for (end = begin + 1; end < count; end++) {
            const struct tp_function_event *event = &list->events[order[end]];
            if (event->thread != head->thread || event->node_id != head->node_id)
                break;
        }
        sort_indices(order + begin, end - begin, list->events, compare_times);
        nest_run(list, order + begin, end - begin, order + room);
    }
    free(order);
    return 0;
}

/* Parents are known: children in list order. */
static void link_children(struct tp_event_list *list, uint32_t first)
{
    for (uint32_t i = first; i < list->count; i++) {
        if (list->events[i].parent != TP_NO_EVENT)
            adopt(list, list->events[i].parent, i);
    }
}

/* ---- folding ---- */

/* The parent that is still there. Shortens the way for the next one. */
static uint32_t find_parent(struct tp_event_list *list, uint32_t index)
{
    uint32_t parent = list->events[index].parent, root = parent;

    while (root != TP_NO_EVENT && list->events[root].flags & TP_EVENT_FOLDED)
        root = list->events[root].parent;
    while (parent != root) {
        uint32_t next = list->events[parent].parent;
        list->events[index].parent = root;
        index = parent;
        parent = next;
    }
    return root;
}

struct tp_kernel_range {
    uint32_t first, count;
};

/* Is @index the only child that counts? */
static bool is_alone(const struct tp_event_list *list, const struct tp_function_event *parent,
                     uint32_t index)
{
    for (uint32_t i = parent->first_child; i != TP_NO_EVENT; i = list->events[i].next_sibling) {
        if (i != index && !(list->events[i].flags & TP_EVENT_INCIDENTAL))
            return false;
    }
    return true;
}

/* A child's children stand where it stood among its siblings. */
static void replace_by_children(struct tp_event_list *list, struct tp_function_event *parent,
                                uint32_t index)
{
    struct tp_function_event *event = &list->events[index];
    uint32_t *link = &parent->first_child, before = TP_NO_EVENT;

    while (*link != index) {
        before = *link;
        link = &list->events[before].next_sibling;
    }
    bool is_last = event->next_sibling == TP_NO_EVENT;
    if (event->first_child == TP_NO_EVENT) {
        *link = event->next_sibling;
        if (is_last)
            parent->last_child = before;
        return;
    }
    *link = event->first_child;
    list->events[event->last_child].next_sibling = event->next_sibling;
    if (is_last)
        parent->last_child = event->last_child;
}

/* What incidental calls launched stays beside what the child has. */
static int join_kernels(struct tp_event_list *list, struct tp_function_event *event,
                        const struct tp_function_event *child)
{
    struct tp_kernel_range ranges[] = {{event->first_kernel, event->kernel_count},
                                       {child->first_kernel, child->kernel_count}};
    int result = 0;

    if (!child->kernel_count)
        return 0;
    event->first_kernel = list->kernel_count;
    event->kernel_count = 0;
    for (int i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < ranges[i].count && !result; k++) {
            struct tp_kernel kernel = list->kernels[ranges[i].first + k];
            result = tp_event_list_credit_kernel(list, (uint32_t)(event - list->events), &kernel);
        }
    }
    return result;
}

/* Return: 1 folded, 0 not, negative. */
static int fold_event(struct tp_event_list *list, uint32_t index)
{
    struct tp_function_event *event = &list->events[index];
    uint32_t parent = find_parent(list, index);

    if (parent == TP_NO_EVENT)
        return 0;
    struct tp_function_event *p = &list->events[parent];
    if (p->name != event->name || !is_alone(list, p, index))
        return 0;
    if (p->first_child != p->last_child && p->kernel_count) {
        int result = join_kernels(list, p, event);
        if (result < 0)
            return result;
    } else {
        p->first_kernel = event->first_kernel;
        p->kernel_count = event->kernel_count;
    }
    replace_by_children(list, p, index);
    event->parent = parent;
    event->flags |= TP_EVENT_FOLDED;
    return 1;
}

static int fold(struct tp_event_list *list, uint32_t first)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t i = first; i < list->count; i++) {
            int result = list->events[i].flags & TP_EVENT_FOLDED ? 0 : fold_event(list, i);
            if (result < 0)
                return result;
            changed |= result;
        }
    }
    for (uint32_t i = first; i < list->count; i++) {
        list->events[i].parent = find_parent(list, i);
        if (list->events[i].parent != TP_NO_EVENT)
            list->events[i].flags |= TP_EVENT_HAS_PARENT;
    }
    return 0;
}

/* ---- backward stacks ---- */

/* First stack of a (sequence number, thread); open addressing. */
struct forward_stacks {
    struct forward_stack {
        int64_t sequence_nr, thread;
        uint32_t stack;
        bool used;
    } * slots;
    size_t mask;
    uint64_t seed; /* of hashes */
};

static struct forward_stack *find_forward(const struct forward_stacks *map, int64_t sequence_nr,
                                          int64_t thread)
{
    int64_t key[2] = {sequence_nr, thread};

    for (uint64_t hash = tp_hash_bytes(map->seed, key, sizeof(key));; hash++) {
        struct forward_stack *slot = &map->slots[hash & map->mask];
        if (!slot->used || (slot->sequence_nr == sequence_nr && slot->thread == thread))
            return slot;
    }
}

static void remember_forward(const struct forward_stacks *map,
                             const struct tp_function_event *event)
{
    struct forward_stack *slot = find_forward(map, event->sequence_nr, event->thread);

    if (slot->used)
        return;
    *slot = (struct forward_stack){.sequence_nr = event->sequence_nr,
                                   .thread = event->thread,
                                   .stack = event->stack,
                                   .used = true};
}

#define NOT_YET (TP_NO_EVENT - 1)

/* The nearest backward event at or above @index. @known[i] holds answers of events @first + i. */
static uint32_t find_backward(const struct tp_event_list *list, uint32_t first, uint32_t *known,
                              uint32_t index)
{
    uint32_t at = index, answer = TP_NO_EVENT;

    while (at != TP_NO_EVENT && known[at - first] == NOT_YET &&
           list->events[at].scope != TP_SCOPE_BACKWARD)
        at = list->events[at].parent;
    if (at != TP_NO_EVENT)
        answer = known[at - first] == NOT_YET ? at : known[at - first];
    while (index != at) {
        known[index - first] = answer;
        index = list->events[index].parent;
    }
    if (at != TP_NO_EVENT)
        known[at - first] = answer;
    return answer;
}

static int take_forward_stack(struct tp_event_list *list, const struct forward_stacks *map,
                              uint32_t index, uint32_t backward, struct tp_diag *diag)
{
    const struct tp_function_event *p = &list->events[backward];

    if (!(p->flags & TP_EVENT_HAS_FWD_THREAD))
        return tp_diag_fail(
            diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
            "Expected fwd_thread to be set for backward parent (event %u, id %lld, %.*s)", backward,
            (long long)p->id, 100, tp_strings_get(list->strings, p->name)->bytes);
    const struct forward_stack *slot = find_forward(map, p->sequence_nr, p->fwd_thread);
    list->events[index].stack = slot->used ? slot->stack : TP_STACK_EMPTY;
    return 0;
}

static int join_stacks(struct tp_event_list *list, uint32_t first, uint32_t *backward,
                       const struct forward_stacks *map, struct tp_diag *diag)
{
    size_t count = list->count - first;

    for (size_t i = 0; i < count; i++)
        backward[i] = NOT_YET;
    for (uint32_t i = first; i < list->count; i++) {
        const struct tp_function_event *event = &list->events[i];
        if (!(event->flags & TP_EVENT_FOLDED) && event->stack != TP_STACK_NONE &&
            find_backward(list, first, backward, i) == TP_NO_EVENT)
            remember_forward(map, event);
    }
    for (uint32_t i = first; i < list->count; i++) {
        if (list->events[i].flags & TP_EVENT_FOLDED)
            continue;
        uint32_t parent = find_backward(list, first, backward, i);
        int result = parent == TP_NO_EVENT ? 0 : take_forward_stack(list, map, i, parent, diag);
        if (result < 0)
            return result;
    }
    return 0;
}

static bool has_backward(const struct tp_event_list *list, uint32_t first)
{
    for (uint32_t i = first; i < list->count; i++) {
        if (list->events[i].scope == TP_SCOPE_BACKWARD &&
            !(list->events[i].flags & TP_EVENT_FOLDED))
            return true;
    }
    return false;
}

static int join_backward_stacks(struct tp_event_list *list, uint32_t first, struct tp_diag *diag)
{
    size_t count = list->count - first, room = 16;
    struct forward_stacks map;
    int result = -ENOMEM;

    if (!has_backward(list, first))
        return 0;
    while (room < count * 2)
        room *= 2;
    map.mask = room - 1;
    map.seed = tp_hash_seed();
    map.slots = calloc(room, sizeof(*map.slots));
    uint32_t *backward = malloc(count * sizeof(*backward));
    if (map.slots && backward)
        result = join_stacks(list, first, backward, &map, diag);
    free(backward);
    free(map.slots);
    return result;
}

int tp_tree_build(struct tp_event_list *list, struct tp_diag *diag)
{
    uint32_t first = list->tree_count;

    int result = 0;
    if (list->is_nested)
        link_children(list, first);
    else
        result = nest(list, first);
    list->is_nested = false;
    if (result < 0)
        return tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory to nest %u events",
                            list->count);
    result = fold(list, first);
    if (result < 0)
        return tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for kernels");
    result = join_backward_stacks(list, first, diag);
    if (!result)
        list->tree_count = list->count;
    else if (result == -ENOMEM)
        tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for the stacks of %u events",
                     list->count);
    return result;
}

/* ---- times ---- */

struct child_sums {
    struct tp_number cpu_time, device_time, cpu_memory, device_memory;
};

static struct child_sums sum_children(const struct tp_event_list *list,
                                      const struct tp_function_event *event)
{
    struct tp_number zero = tp_number_integer(0);
    struct child_sums sums = {zero, zero, zero, zero};

    for (uint32_t i = event->first_child; i != TP_NO_EVENT; i = list->events[i].next_sibling) {
        const struct tp_function_event *child = &list->events[i];
        sums.cpu_time = tp_number_add(sums.cpu_time, tp_event_cpu_time_total(child));
        sums.device_time =
            tp_number_add(sums.device_time, tp_event_get(child, TP_EVENT_DEVICE_TIME));
        sums.cpu_memory = tp_number_add(sums.cpu_memory, tp_event_get(child, TP_EVENT_CPU_MEMORY));
        sums.device_memory =
            tp_number_add(sums.device_memory, tp_event_get(child, TP_EVENT_DEVICE_MEMORY));
    }
    return sums;
}

static int set_device_times(const struct tp_event_list *list, struct tp_function_event *event,
                            const struct child_sums *sums, struct tp_kernel_sums *kernels,
                            struct tp_diag *diag)
{
    struct tp_number total = tp_number_integer(0), self = total;

    if (event->flags & TP_EVENT_ASYNC || event->use_device == TP_STRING_NONE ||
        event->use_device == TP_STRING_EMPTY) {
        /* nothing to credit */
    } else if (event->device_type == TP_DEVICE_CPU) {
        if (tp_kernel_sums_get(kernels, list, event, &total) < 0)
            return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for sums of kernels");
        if (!(event->flags & TP_EVENT_LEGACY))
            total = tp_number_add(total, sums->device_time);
        self = tp_number_subtract(total, sums->device_time);
    } else if (tp_device_type_is_accelerator(event->device_type)) {
        total = self = tp_event_elapsed(event);
    } else {
        return tp_diag_fail(
            diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
            "Expected device_type to be CUDA, PrivateUse1, MTIA, HPU or XPU, but got "
            "DeviceType.%s (event id %lld)",
            tp_device_type_name(event->device_type), (long long)event->id);
    }
    tp_event_set(event, TP_EVENT_DEVICE_TIME, total);
    tp_event_set(event, TP_EVENT_SELF_DEVICE_TIME, self);
    return 0;
}

static int set_times(const struct tp_event_list *list, struct tp_function_event *event,
                     struct tp_kernel_sums *kernels, struct tp_diag *diag)
{
    struct tp_number zero = tp_number_integer(0), cpu = zero, memory = zero, device_memory = zero;
    struct child_sums sums = sum_children(list, event);

    if (event->device_type == TP_DEVICE_CPU && !(event->flags & TP_EVENT_ASYNC)) {
        cpu = tp_number_subtract(tp_event_elapsed(event), sums.cpu_time);
        memory = tp_number_subtract(tp_event_get(event, TP_EVENT_CPU_MEMORY), sums.cpu_memory);
        device_memory =
            tp_number_subtract(tp_event_get(event, TP_EVENT_DEVICE_MEMORY), sums.device_memory);
    }
    tp_event_set(event, TP_EVENT_SELF_CPU_TIME, cpu);
    tp_event_set(event, TP_EVENT_SELF_CPU_MEMORY, memory);
    tp_event_set(event, TP_EVENT_SELF_DEVICE_MEMORY, device_memory);
    return set_device_times(list, event, &sums, kernels, diag);
}

static uint32_t leftmost_leaf(const struct tp_event_list *list, uint32_t index)
{
    while (list->events[index].first_child != TP_NO_EVENT)
        index = list->events[index].first_child;
    return index;
}

/* Children before their parent, along the links alone. */
static int set_times_below(const struct tp_event_list *list, uint32_t root,
                           struct tp_kernel_sums *kernels, struct tp_diag *diag)
{
    uint32_t at = leftmost_leaf(list, root);

    for (;;) {
        int result = set_times(list, &list->events[at], kernels, diag);
        if (result < 0 || at == root)
            return result;
        uint32_t next = list->events[at].next_sibling;
        at = next != TP_NO_EVENT ? leftmost_leaf(list, next) : list->events[at].parent;
    }
}

int tp_tree_times(struct tp_event_list *list, struct tp_diag *diag)
{
    struct tp_kernel_sums kernels = {0};
    int result = 0;

    for (uint32_t i = tp_event_list_next(list, 0); !result && i < list->count;
         i = tp_event_list_next(list, i + 1)) {
        if (list->events[i].parent == TP_NO_EVENT)
            result = set_times_below(list, i, &kernels, diag);
    }
    tp_kernel_sums_fini(&kernels);
    return result;
}
