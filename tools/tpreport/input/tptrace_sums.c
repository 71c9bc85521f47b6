/* SPDX-License-Identifier: MIT
 * Averages of a stream. The aggregator takes any event and finds its group by all that makes one; a
 * program runs the same few operators over and over, so each worker sums equal ones in a small
 * table of its own first, found by the name's address, and hands a sum on when another name wants
 * its place. */
#include <errno.h>
#include <stdlib.h>

#include "input/tptrace.h"
#include "model/function_event.h"

#define CELL_BITS 9
#define CELLS (1u << CELL_BITS)

/* An event of a group whose fields stand for the group. */
struct member {
    int64_t start_ns, end_ns;
    uint64_t sequence;
    const struct tp_stream_name *name;
    uint32_t shapes; /* name id, of an operator */
    uint8_t kind, scope;
    bool has_parent;
};

struct cell {
    const struct tp_stream_name *name; /* NULL: free */
    uint32_t shapes;                   /* name id, when shapes make a group; else 0 */
    uint8_t scope;                     /* of an operator; else 0 */
    bool op;
    uint64_t count;
    int64_t total_ns, self_ns;
    int64_t memory, self_memory, device, self_device;
    struct member first; /* in list order */
};

struct worker_sums {
    struct tp_averages *averages;
    const struct tptrace_process *process; /* of what the cells hold; NULL: they are empty */
    const struct tptrace_names *names;
    int32_t node_id;
    bool by_shapes;
    enum tp_by by;
    struct member last; /* of all, in list order */
    bool has_last;
    struct cell cells[CELLS];
};

struct tptrace_sums {
    unsigned count;
    struct worker_sums **workers;
    struct tptrace_consumer *consumers;
};

/* In list order: by start, longer first, then as numbered. */
static inline bool comes_before(int64_t start_ns, int64_t end_ns, uint64_t sequence,
                                const struct member *b)
{
    if (start_ns != b->start_ns)
        return start_ns < b->start_ns;
    if (end_ns != b->end_ns)
        return end_ns > b->end_ns;
    return sequence < b->sequence;
}

static inline void set_member(struct member *member, const struct tp_stream_range *range,
                              uint64_t sequence)
{
    member->start_ns = range->start_ns;
    member->end_ns = range->end_ns;
    member->sequence = sequence;
    member->name = range->name;
    member->shapes = (uint32_t)range->record[6];
    member->kind = (uint8_t)tp_slot_kind(range->record);
    member->scope = (uint8_t)range->record[7];
    member->has_parent = range->parent != 0;
}

static struct tp_average_event average_of(const struct worker_sums *w, const struct member *member)
{
    struct tptrace_event event;
    uint64_t record[TP_STREAM_WORDS] = {
        [0] = (uint64_t)member->kind << 56, [6] = member->shapes, [7] = member->scope};

    tptrace_event_of(&event, w->names, member->name, record);
    return (struct tp_average_event){
        .name = event.name,
        .overload_name = event.overload_name,
        .input_shapes = event.input_shapes,
        .stack = TP_STACK_EMPTY,
        .use_device = TP_STRING_NONE,
        .node_id = w->node_id,
        .flags = (uint16_t)(event.flags | (member->has_parent ? TP_EVENT_HAS_PARENT : 0)),
        .device_type = TP_DEVICE_CPU,
        .scope = event.scope,
        .start_ns = member->start_ns,
        .end_ns = member->end_ns,
        .sequence = member->sequence,
    };
}

static int empty_cell(struct worker_sums *w, struct cell *cell)
{
    if (!cell->name)
        return 0;
    struct tp_average_event average = average_of(w, &cell->first);
    average.cpu_total_ns = cell->total_ns;
    average.cpu_self_ns = cell->self_ns;
    average.cpu_memory = cell->memory;
    average.cpu_memory_self = cell->self_memory;
    average.device_memory = cell->device;
    average.device_memory_self = cell->self_device;
    average.count = cell->count;
    cell->name = NULL;
    return tp_averages_add(w->averages, &average);
}

/* All cells, and the last event, which only lends a total its fields and adds nothing. */
static int empty_all(struct worker_sums *w)
{
    int error = 0;

    for (unsigned i = 0; i < CELLS && !error; i++)
        error = empty_cell(w, &w->cells[i]);
    if (!error && w->has_last) {
        struct tp_average_event average = average_of(w, &w->last);
        error = tp_averages_add(w->averages, &average);
    }
    w->has_last = false;
    return error;
}

/* The cells' names belong to one process. */
static int turn_to(struct worker_sums *w, const struct tptrace_source *source)
{
    int error = w->process ? empty_all(w) : 0;

    w->process = source->process;
    w->names = source->names;
    w->node_id = tptrace_node_of(source->process, w->by);
    return error;
}

static int end_names(void *context)
{
    struct worker_sums *w = context;
    int error = w->process ? empty_all(w) : 0;

    w->process = NULL;
    return error;
}

static inline struct cell *find_cell(struct worker_sums *w, const struct tp_stream_name *name,
                                     uint32_t shapes, uint8_t scope)
{
    uint64_t hash = (uintptr_t)name / sizeof(*name) + shapes * UINT64_C(37) + scope * UINT64_C(101);

    return &w->cells[hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CELL_BITS)];
}

static int begin_cell(struct worker_sums *w, struct cell *cell, const struct tp_stream_range *range,
                      uint64_t sequence)
{
    int error = empty_cell(w, cell);

    *cell = (struct cell){.name = range->name};
    set_member(&cell->first, range, sequence);
    return error;
}

static int sum_range(void *context, const struct tptrace_source *source,
                     const struct tp_stream_range *range)
{
    struct worker_sums *w = context;
    bool op = tp_slot_kind(range->record) == TP_EVENT_OP_BEGIN;
    uint8_t scope = op ? (uint8_t)range->record[7] : 0;
    uint32_t shapes = op && w->by_shapes ? (uint32_t)range->record[6] : 0;
    uint64_t sequence = source->ordinal << 40 | range->sequence;
    int error = 0;

    if (__builtin_expect(source->process != w->process, 0))
        error = turn_to(w, source);
    struct cell *cell = find_cell(w, range->name, shapes, scope);
    if (__builtin_expect(cell->name != range->name || cell->shapes != shapes ||
                             cell->scope != scope || cell->op != op,
                         0)) {
        error = error ? error : begin_cell(w, cell, range, sequence);
        cell->shapes = shapes;
        cell->scope = scope;
        cell->op = op;
    } else if (comes_before(range->start_ns, range->end_ns, sequence, &cell->first)) {
        set_member(&cell->first, range, sequence);
    }
    cell->count++;
    cell->total_ns += range->end_ns - range->start_ns;
    cell->self_ns += range->self_ns;
    cell->memory += range->memory_bytes;
    cell->self_memory += range->self_memory_bytes;
    cell->device += range->device_bytes;
    cell->self_device += range->self_device_bytes;
    if (!comes_before(range->start_ns, range->end_ns, sequence, &w->last) || !w->has_last) {
        set_member(&w->last, range, sequence);
        w->has_last = true;
    }
    return error;
}

static int sum_async(void *context, const struct tptrace_source *source,
                     const struct tptrace_async *async)
{
    struct worker_sums *w = context;
    struct member member = {.start_ns = async->start_ns,
                            .end_ns = async->end_ns,
                            .sequence = source->ordinal << 40 | async->sequence,
                            .name = async->name,
                            .kind = TP_EVENT_ASYNC_BEGIN};
    int error = 0;

    if (source->process != w->process)
        error = turn_to(w, source);
    struct tp_average_event average = average_of(w, &member);
    average.flags |= TP_EVENT_ASYNC;
    average.cpu_total_ns = async->end_ns - async->start_ns;
    average.count = 1;
    return error ? error : tp_averages_add(w->averages, &average);
}

int tptrace_sums_create(struct tptrace_sums **ret_sums, unsigned count,
                        const struct tp_stacks *stacks, const struct tp_averages_options *options,
                        enum tp_by by)
{
    struct tptrace_sums *sums = calloc(1, sizeof(*sums));

    if (!sums)
        return -ENOMEM;
    sums->count = count;
    sums->workers = calloc(count, sizeof(struct worker_sums *));
    sums->consumers = calloc(count, sizeof(*sums->consumers));
    int error = sums->workers && sums->consumers ? 0 : -ENOMEM;
    for (unsigned i = 0; i < count && !error; i++) {
        struct worker_sums *w = sums->workers[i] = calloc(1, sizeof(*w));
        if (!w) {
            error = -ENOMEM;
            break;
        }
        w->by = by;
        w->by_shapes = options->group_by_input_shapes;
        sums->consumers[i] = (struct tptrace_consumer){
            .context = w, .range = sum_range, .async = sum_async, .end_process = end_names};
        error = tp_averages_create(stacks, options, &w->averages);
    }
    if (error)
        tptrace_sums_destroy(sums);
    else
        *ret_sums = sums;
    return error;
}

void tptrace_sums_destroy(struct tptrace_sums *sums)
{
    if (!sums)
        return;
    for (unsigned i = 0; sums->workers && i < sums->count; i++) {
        if (sums->workers[i])
            tp_averages_destroy(sums->workers[i]->averages);
        free(sums->workers[i]);
    }
    free(sums->workers);
    free(sums->consumers);
    free(sums);
}

const struct tptrace_consumer *tptrace_sums_consumers(const struct tptrace_sums *sums)
{
    return sums->consumers;
}

int tptrace_sums_finish(struct tptrace_sums *sums, struct tp_averages **ret_averages)
{
    struct tp_averages *all = sums->workers[0]->averages;
    int error = 0;

    for (unsigned i = 1; i < sums->count && !error; i++)
        error = tp_averages_merge(all, sums->workers[i]->averages);
    if (error)
        return error;
    sums->workers[0]->averages = NULL;
    *ret_averages = all;
    return 0;
}
