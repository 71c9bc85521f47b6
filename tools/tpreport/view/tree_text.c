/* SPDX-License-Identifier: MIT
 * The tree for reading: one line per event, or per call path (compact), numbers first so that deep
 * names do not push them about. Threads and device streams are sections of their own. */
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_INDENT = 60, INDENT = 2 };

/* One line: an event, or all events of one name below one line. */
struct node {
    struct tp_number sums[TP_MEASURES];
    uint32_t name, captured_in; /* the latter of graphs' nodes, else TP_STRING_NONE */
    uint32_t first_child, last_child, next_sibling, parent;
    bool is_async;
};

struct tree_text {
    const struct tp_report *report;
    const struct tp_view_options *options;
    struct tp_output *output;
    bool merges; /* equal names below one line */
    bool shows_device, shows_memory;
    struct node *nodes;
    uint32_t node_count, node_capacity;
    uint32_t *node_of; /* by event */
    uint32_t *slots;   /* (parent node, name) to node + 1; only when merging */
    uint32_t slot_count;
    uint32_t unlaunched; /* node of the section's device work that nobody launched, or NO_NODE */
    uint32_t *roots;     /* events */
    size_t root_count;
    int64_t printed;
    struct tp_buffer line, cell;
};

#define NO_NODE UINT32_MAX
#define UNLAUNCHED UINT32_MAX /* instead of a name */

/* ---- sections ---- */

/* Threads of the CPU first, by node and number; then devices by kind, number and stream. */
static int compare_places(const struct tp_function_event *a, const struct tp_function_event *b)
{
    int64_t left[] = {a->device_type != TP_DEVICE_CPU, a->node_id, a->device_type, 0, a->thread};
    int64_t right[] = {b->device_type != TP_DEVICE_CPU, b->node_id, b->device_type, 0, b->thread};

    if (left[0] && right[0]) {
        left[3] = a->device_index;
        left[4] = a->device_resource_id;
        right[3] = b->device_index;
        right[4] = b->device_resource_id;
    }
    for (int i = 0; i < 5; i++) {
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}

static int compare_roots(const void *a, const void *b, void *context)
{
    const struct tp_function_event *events = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = compare_places(&events[left], &events[right]);

    return order ? order : left < right ? -1 : left > right;
}

static int find_roots(struct tree_text *t)
{
    const struct tp_event_list *list = t->report->list;

    t->roots = malloc((t->report->count + 1) * sizeof(*t->roots));
    if (!t->roots)
        return -ENOMEM;
    for (size_t i = 0; i < t->report->count; i++) {
        const struct tp_function_event *event = &list->events[t->report->order[i]];
        t->shows_device |= tp_number_sign(tp_event_get(event, TP_EVENT_DEVICE_TIME)) != 0;
        if (event->parent == TP_NO_EVENT)
            t->roots[t->root_count++] = t->report->order[i];
    }
    t->shows_memory = t->report->profile_memory;
    qsort_r(t->roots, t->root_count, sizeof(*t->roots), compare_roots, list->events);
    return 0;
}

/* ---- nodes ---- */

static bool is_same(const struct node *a, const struct node *b)
{
    return a->parent == b->parent && a->name == b->name && a->captured_in == b->captured_in;
}

static uint32_t *find_slot(const struct tree_text *t, const struct node *wanted)
{
    uint64_t hash = ((uint64_t)wanted->parent << 32 | wanted->name) * 0x9e3779b97f4a7c15u;

    for (hash ^= hash >> 32 ^ wanted->captured_in;; hash++) {
        uint32_t *slot = &t->slots[hash & (t->slot_count - 1)];
        if (!*slot || is_same(&t->nodes[*slot - 1], wanted))
            return slot;
    }
}

static int grow_slots(struct tree_text *t)
{
    uint32_t count = t->slot_count ? t->slot_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (uint32_t i = 0; i < t->node_count; i++)
        *find_slot(t, &t->nodes[i]) = i + 1;
    return 0;
}

static int append_node(struct tree_text *t, const struct node *node, uint32_t *ret_node)
{
    uint32_t parent = node->parent;

    if (t->node_count == t->node_capacity) {
        uint32_t capacity = t->node_capacity ? t->node_capacity * 2 : 256;
        struct node *nodes = realloc(t->nodes, capacity * sizeof(*nodes));
        if (!nodes)
            return -ENOMEM;
        t->nodes = nodes;
        t->node_capacity = capacity;
    }
    t->nodes[t->node_count] = *node;
    if (parent != NO_NODE) {
        struct node *p = &t->nodes[parent];
        if (p->first_child == NO_NODE)
            p->first_child = t->node_count;
        else
            t->nodes[p->last_child].next_sibling = t->node_count;
        p->last_child = t->node_count;
    }
    *ret_node = t->node_count++;
    return 0;
}

static int find_node(struct tree_text *t, uint32_t parent, uint32_t name, uint32_t captured_in,
                     uint32_t *ret_node)
{
    struct node node = {.name = name,
                        .captured_in = captured_in,
                        .parent = parent,
                        .first_child = NO_NODE,
                        .last_child = NO_NODE,
                        .next_sibling = NO_NODE};
    int result = 0;

    if (!t->merges)
        return append_node(t, &node, ret_node);
    if (t->node_count * 2 >= t->slot_count)
        result = grow_slots(t);
    if (result < 0)
        return result;
    uint32_t *slot = find_slot(t, &node);
    if (*slot) {
        *ret_node = *slot - 1;
        return 0;
    }
    result = append_node(t, &node, ret_node);
    if (!result)
        *slot = *ret_node + 1;
    return result;
}

static void add_sums(struct node *node, const struct tp_average *row)
{
    for (int i = 0; i < TP_MEASURES; i++)
        node->sums[i] = tp_number_add(node->sums[i], row->sums[i]);
}

/* The node below which an event stands. */
static int find_parent(struct tree_text *t, const struct tp_function_event *event,
                       const struct tp_average *row, uint32_t *ret_parent)
{
    int result = 0;

    *ret_parent = event->parent == TP_NO_EVENT ? NO_NODE : t->node_of[event->parent];
    if (!(event->flags & TP_EVENT_NO_LAUNCH))
        return 0;
    if (t->unlaunched == NO_NODE)
        result = find_node(t, NO_NODE, UNLAUNCHED, TP_STRING_NONE, &t->unlaunched);
    if (!result)
        add_sums(&t->nodes[t->unlaunched], row);
    *ret_parent = t->unlaunched;
    return result;
}

static int add_event(struct tree_text *t, uint32_t index)
{
    const struct tp_function_event *event = &t->report->list->events[index];
    uint32_t node, parent;
    struct tp_average row;

    tp_average_of_event(t->report->list, event, &row);
    int result = find_parent(t, event, &row, &parent);
    if (!result)
        result = find_node(t, parent, event->name,
                           tp_event_list_captured_in(t->report->list, index), &node);
    if (result < 0)
        return result;
    t->node_of[index] = node;
    add_sums(&t->nodes[node], &row);
    t->nodes[node].is_async |= (event->flags & TP_EVENT_ASYNC) != 0;
    return 0;
}

/* An event and all below it, parents first. */
static int add_events_below(struct tree_text *t, uint32_t root)
{
    const struct tp_function_event *events = t->report->list->events;
    uint32_t at = root;

    for (;;) {
        int result = add_event(t, at);
        if (result < 0)
            return result;
        if (events[at].first_child != TP_NO_EVENT) {
            at = events[at].first_child;
            continue;
        }
        while (at != root && events[at].next_sibling == TP_NO_EVENT)
            at = events[at].parent;
        if (at == root)
            return 0;
        at = events[at].next_sibling;
    }
}

/* ---- lines ---- */

static void end_line(struct tree_text *t)
{
    tp_buffer_char(&t->line, '\n');
    tp_output_buffer(t->output, &t->line);
    tp_buffer_reset(&t->line);
}

static void put_cell(struct tree_text *t)
{
    for (size_t i = t->cell.size; i < 12; i++)
        tp_buffer_char(&t->line, ' ');
    tp_buffer_bytes(&t->line, t->cell.bytes, t->cell.size);
    tp_buffer_string(&t->line, "  ");
    tp_buffer_reset(&t->cell);
}

static void put_heading(struct tree_text *t, const char *heading)
{
    tp_buffer_string(&t->cell, heading);
    put_cell(t);
}

static void put_time(struct tree_text *t, struct tp_number time)
{
    tp_format_time(&t->cell, time, t->options->time_unit);
    put_cell(t);
}

static void put_memory(struct tree_text *t, struct tp_number bytes)
{
    tp_format_memory(&t->cell, bytes);
    put_cell(t);
}

static void put_headings(struct tree_text *t)
{
    put_heading(t, "CPU total");
    put_heading(t, "Self CPU");
    if (t->shows_device) {
        put_heading(t, "Device total");
        put_heading(t, "Self device");
    }
    if (t->shows_memory) {
        put_heading(t, "Self CPU Mem");
        put_heading(t, "Self Dev Mem");
    }
    put_heading(t, "# of Calls");
    tp_buffer_string(&t->line, "Name");
    end_line(t);
}

static void put_section(struct tree_text *t, const struct tp_function_event *event)
{
    if (event->node_id != -1)
        tp_buffer_format(&t->line, "node %d, ", event->node_id);
    if (event->device_type == TP_DEVICE_CPU)
        tp_buffer_format(&t->line, "thread %lld:", (long long)event->thread);
    else
        tp_buffer_format(&t->line, "%s %d, stream %lld:", tp_device_type_name(event->device_type),
                         event->device_index, (long long)event->device_resource_id);
    end_line(t);
}

static void put_node(struct tree_text *t, const struct node *node, unsigned depth)
{
    put_time(t, node->sums[TP_MEASURE_CPU_TIME]);
    put_time(t, node->sums[TP_MEASURE_SELF_CPU_TIME]);
    if (t->shows_device) {
        put_time(t, node->sums[TP_MEASURE_DEVICE_TIME]);
        put_time(t, node->sums[TP_MEASURE_SELF_DEVICE_TIME]);
    }
    if (t->shows_memory) {
        put_memory(t, node->sums[TP_MEASURE_SELF_CPU_MEMORY]);
        put_memory(t, node->sums[TP_MEASURE_SELF_DEVICE_MEMORY]);
    }
    tp_format_number(&t->cell, node->sums[TP_MEASURE_COUNT]);
    put_cell(t);
    for (unsigned i = 0; i < (depth < MAX_INDENT ? depth : MAX_INDENT) * INDENT; i++)
        tp_buffer_char(&t->line, ' ');
    if (depth > MAX_INDENT)
        tp_buffer_format(&t->line, "[%u] ", depth);
    if (node->name == UNLAUNCHED)
        tp_buffer_string(&t->line, "(no launch recorded)");
    else
        tp_format_display(&t->line, tp_strings_get(t->report->strings, node->name));
    if (node->captured_in != TP_STRING_NONE) {
        tp_buffer_string(&t->line, " (captured in ");
        tp_format_display(&t->line, tp_strings_get(t->report->strings, node->captured_in));
        tp_buffer_char(&t->line, ')');
    }
    if (node->is_async)
        tp_buffer_string(&t->line, " (async)");
    end_line(t);
    t->printed++;
}

static bool is_full(const struct tree_text *t)
{
    return tp_output_failed(t->output) ||
           (t->options->row_limit_given && t->printed == t->options->row_limit);
}

static void put_nodes_below(struct tree_text *t, uint32_t root)
{
    uint32_t at = root;
    unsigned depth = 0;

    while (!is_full(t)) {
        put_node(t, &t->nodes[at], depth);
        if (t->nodes[at].first_child != NO_NODE && !t->options->top_level_events_only) {
            at = t->nodes[at].first_child;
            depth++;
            continue;
        }
        while (at != root && t->nodes[at].next_sibling == NO_NODE) {
            at = t->nodes[at].parent;
            depth--;
        }
        if (at == root)
            return;
        at = t->nodes[at].next_sibling;
    }
}

/* Roots [begin, end) are one section. Nodes are made and forgotten by section. */
static int put_one_section(struct tree_text *t, size_t begin, size_t end)
{
    t->node_count = 0;
    t->unlaunched = NO_NODE;
    for (uint32_t i = 0; i < t->slot_count; i++)
        t->slots[i] = 0;
    for (size_t i = begin; i < end; i++) {
        int result = add_events_below(t, t->roots[i]);
        if (result < 0)
            return result;
    }
    put_section(t, &t->report->list->events[t->roots[begin]]);
    for (uint32_t i = 0; i < t->node_count; i++) {
        if (t->nodes[i].parent == NO_NODE && !is_full(t))
            put_nodes_below(t, i);
    }
    return 0;
}

static int put_sections(struct tree_text *t)
{
    const struct tp_function_event *events = t->report->list->events;
    int result = 0;

    put_headings(t);
    for (size_t begin = 0, end; !result && begin < t->root_count && !is_full(t); begin = end) {
        for (end = begin + 1; end < t->root_count; end++) {
            if (compare_places(&events[t->roots[begin]], &events[t->roots[end]]) != 0)
                break;
        }
        result = put_one_section(t, begin, end);
    }
    return result;
}

static int write_tree(struct tree_text *t, struct tp_diag *diag)
{
    if (!t->report->count)
        return 0;
    t->node_of = malloc(t->report->list->count * sizeof(*t->node_of));
    int result = t->node_of ? find_roots(t) : -ENOMEM;
    if (!result)
        result = put_sections(t);
    if (result < 0)
        tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for a tree of %zu events",
                     t->report->count);
    free(t->nodes);
    free(t->node_of);
    free(t->slots);
    free(t->roots);
    tp_buffer_fini(&t->line);
    tp_buffer_fini(&t->cell);
    return result;
}

int tp_tree_text_write(const struct tp_report *report, const struct tp_view_options *options,
                       struct tp_output *output, struct tp_diag *diag)
{
    struct tree_text t = {.report = report, .options = options, .output = output};

    return write_tree(&t, diag);
}

int tp_tree_text_write_compact(const struct tp_report *report,
                               const struct tp_view_options *options, struct tp_output *output,
                               struct tp_diag *diag)
{
    struct tree_text t = {.report = report, .options = options, .output = output, .merges = true};

    return write_tree(&t, diag);
}
