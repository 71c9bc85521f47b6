/* SPDX-License-Identifier: MIT
 * Averages of a stream. The aggregator takes any event and finds its group by all that makes one; a
 * program runs the same few operators over and over, so each worker sums equal ones in a small
 * table of its own first, found by the name's address, and hands a sum on when another name wants
 * its place. */
#include <errno.h>
#include <stdlib.h>

#include "input/tptrace_sums.h"
#include "model/function_event.h"

static inline void set_member(struct tptrace_member_event *member,
                              const struct tp_stream_range *range, uint64_t sequence)
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

/* What CUDA did, by kind of record; anything else is a range. */
static void dress(struct tp_average_event *event, unsigned kind)
{
    event->flags = TP_EVENT_NO_FLOPS | (event->flags & TP_EVENT_HAS_PARENT);
    event->scope = 0;
    event->input_shapes = TP_STRING_LIST;
    switch (kind) {
    case TP_EVENT_CUDA_API:
        event->flags |= TP_EVENT_CALL;
        break;
    case TP_EVENT_CUDA_OVERHEAD:
        event->flags |= TP_EVENT_ASYNC;
        break;
    case TP_EVENT_CUDA_MEMORY:
        break;
    case TP_EVENT_CUDA_SYNC:
        event->flags |= TP_EVENT_USER_ANNOTATION;
        event->device_type = TP_DEVICE_CUDA;
        break;
    default:
        event->device_type = TP_DEVICE_CUDA;
        break;
    }
}

struct tp_average_event tptrace_sums_average(const struct tptrace_worker_sums *w,
                                             const struct tptrace_member_event *member)
{
    struct tptrace_event event;
    uint64_t record[TP_STREAM_WORDS] = {
        [0] = (uint64_t)member->kind << 56, [6] = member->shapes, [7] = member->scope};

    tptrace_event_of(&event, w->names, member->name, record);
    struct tp_average_event average = {
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
        .has_lengths = true,
    };
    if (member->kind >= TP_EVENT_CUDA_API)
        dress(&average, member->kind);
    return average;
}

static void set_sums(struct tp_average_event *average, const struct tptrace_cell *cell)
{
    bool is_device = average->device_type != TP_DEVICE_CPU;

    average->count = cell->count;
    if (is_device) {
        average->device_total_ns = average->device_self_ns = cell->total_ns;
        return;
    }
    average->cpu_total_ns = cell->total_ns;
    average->cpu_self_ns = cell->self_ns;
    average->device_total_ns = cell->device_ns;
    average->device_self_ns = cell->self_device_ns;
    average->cpu_memory = cell->memory;
    average->cpu_memory_self = cell->self_memory;
    average->device_memory = cell->device;
    average->device_memory_self = cell->self_device;
}

static int empty_cell(struct tptrace_worker_sums *w, struct tptrace_cell *cell)
{
    if (!cell->name)
        return 0;
    struct tp_average_event average = tptrace_sums_average(w, &cell->first);
    set_sums(&average, cell);
    cell->name = NULL;
    return tp_averages_add(w->averages, &average);
}

/* All cells, and the last event, which only lends a total its fields and adds nothing. */
static int empty_all(struct tptrace_worker_sums *w)
{
    int error = 0;

    for (unsigned i = 0; i < TPTRACE_CELLS && !error; i++)
        error = empty_cell(w, &w->cells[i]);
    if (!error && w->has_last) {
        struct tp_average_event average = tptrace_sums_average(w, &w->last);
        error = tp_averages_add(w->averages, &average);
    }
    w->has_last = false;
    return error;
}

/* The cells' names belong to one process. */
int tptrace_sums_turn_to(struct tptrace_worker_sums *w, const struct tptrace_source *source)
{
    int error = w->process ? empty_all(w) : 0;

    w->process = source->process;
    w->names = source->names;
    w->cuda_totals = source->cuda_totals;
    w->node_id = tptrace_node_of(source->process, w->by);
    return error;
}

static int end_names(void *context)
{
    struct tptrace_worker_sums *w = context;
    int error = w->is_first && w->process ? tptrace_sums_cuda_finish(w) : 0;

    if (!error && w->process)
        error = empty_all(w);
    w->process = NULL;
    w->made = (struct tptrace_activity_names){0};
    w->cursor = (struct tptrace_cuda_cursor){0};
    return error;
}

static inline struct tptrace_cell *find_cell(struct tptrace_worker_sums *w,
                                             const struct tp_stream_name *name, uint32_t shapes,
                                             uint8_t scope, uint8_t kind)
{
    uint64_t hash = (uintptr_t)name / sizeof(*name) + shapes * UINT64_C(37) +
                    scope * UINT64_C(101) + kind * UINT64_C(211);

    return &w->cells[hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TPTRACE_CELL_BITS)];
}

static int begin_cell(struct tptrace_worker_sums *w, struct tptrace_cell *cell,
                      const struct tp_stream_name *name, uint8_t kind)
{
    int error = empty_cell(w, cell);

    *cell = (struct tptrace_cell){.name = name, .kind = kind};
    return error;
}

/* Ranges of one name that differ in kind only where it makes their events differ. */
static inline uint8_t kind_of_cell(unsigned kind)
{
    return kind == TP_EVENT_OP_BEGIN || kind == TP_EVENT_CUDA_BEGIN ? (uint8_t)kind : 0;
}

/* Sums are of many events; what each took is told beside them. */
static int tell_length(struct tptrace_worker_sums *w, const struct tptrace_member_event *member)
{
    struct tp_average_event average = tptrace_sums_average(w, member);

    return tp_averages_length(w->averages, &average, member->end_ns - member->start_ns);
}

int tptrace_sums_add(struct tptrace_worker_sums *w, const struct tptrace_member_event *member)
{
    struct tptrace_cell *cell = find_cell(w, member->name, 0, 0, member->kind);
    int64_t length_ns = member->end_ns - member->start_ns;
    int error = 0;

    if (cell->name != member->name || cell->kind != member->kind || cell->shapes || cell->scope) {
        error = begin_cell(w, cell, member->name, member->kind);
        cell->first = *member;
    } else if (tptrace_comes_before(member->start_ns, member->end_ns, member->sequence,
                                    &cell->first)) {
        cell->first = *member;
    }
    cell->count++;
    cell->total_ns += length_ns;
    cell->self_ns += member->kind == TP_EVENT_CUDA_OVERHEAD ? 0 : length_ns; /* async */
    if (!w->has_last ||
        !tptrace_comes_before(member->start_ns, member->end_ns, member->sequence, &w->last)) {
        w->last = *member;
        w->has_last = true;
    }
    return error || !w->percentiles ? error : tell_length(w, member);
}

/* Device memory waits for the process's end: a framework's own is shown instead. */
static int credit_memory(struct tptrace_sums *sums, const struct tp_average_event *average,
                         int64_t own, int64_t total)
{
    struct tp_average_event memory = *average;
    int error = 0;

    if (!sums->cuda_memory)
        error = tp_averages_create(sums->stacks, &sums->options, &sums->cuda_memory);
    memory.device_memory_self = own;
    memory.device_memory = total;
    return error ? error : tp_averages_credit(sums->cuda_memory, &memory);
}

int tptrace_sums_credit(struct tptrace_worker_sums *w, const struct tp_launch_key *key,
                        const struct tp_launch_sums *own, const struct tp_launch_sums *total)
{
    uint8_t kind = kind_of_cell(key->kind);
    struct tptrace_cell *cell = find_cell(w, key->name, key->shapes, key->scope, kind);
    bool is_here = cell->name == key->name && cell->shapes == key->shapes &&
                   cell->scope == key->scope && cell->kind == kind;
    int error = 0;

    if (is_here) {
        cell->self_ns -= own->calls_ns;
        cell->self_device_ns += own->device_ns;
        cell->device_ns += total->device_ns;
    }
    if (is_here && !own->memory && !total->memory)
        return 0;
    struct tptrace_member_event member = {
        .name = key->name, .shapes = key->shapes, .kind = key->kind, .scope = key->scope};
    struct tp_average_event average = tptrace_sums_average(w, &member);
    if (own->memory || total->memory)
        error = credit_memory(w->all, &average, own->memory, total->memory);
    if (error || is_here)
        return error;
    average.cpu_self_ns = -own->calls_ns;
    average.device_self_ns = own->device_ns;
    average.device_total_ns = total->device_ns;
    return tp_averages_credit(w->averages, &average);
}

static int sum_range(void *context, const struct tptrace_source *source,
                     const struct tp_stream_range *range)
{
    struct tptrace_worker_sums *w = context;
    uint8_t kind = kind_of_cell(tp_slot_kind(range->record));
    bool op = kind == TP_EVENT_OP_BEGIN;
    uint8_t scope = op ? (uint8_t)range->record[7] : 0;
    uint32_t shapes = op && w->by_shapes ? (uint32_t)range->record[6] : 0;
    uint64_t sequence = source->ordinal << 40 | range->sequence;
    int error = 0;

    if (__builtin_expect(source->process != w->process, 0))
        error = tptrace_sums_turn_to(w, source);
    struct tptrace_cell *cell = find_cell(w, range->name, shapes, scope, kind);
    if (__builtin_expect(cell->name != range->name || cell->shapes != shapes ||
                             cell->scope != scope || cell->kind != kind,
                         0)) {
        error = error ? error : begin_cell(w, cell, range->name, kind);
        set_member(&cell->first, range, sequence);
        cell->shapes = shapes;
        cell->scope = scope;
    } else if (tptrace_comes_before(range->start_ns, range->end_ns, sequence, &cell->first)) {
        set_member(&cell->first, range, sequence);
    }
    cell->count++;
    cell->total_ns += range->end_ns - range->start_ns;
    cell->self_ns += range->self_ns;
    cell->memory += range->memory_bytes;
    cell->self_memory += range->self_memory_bytes;
    cell->device += range->device_bytes;
    cell->self_device += range->self_device_bytes;
    if (!tptrace_comes_before(range->start_ns, range->end_ns, sequence, &w->last) || !w->has_last) {
        set_member(&w->last, range, sequence);
        w->has_last = true;
    }
    if (!error && w->percentiles) {
        struct tptrace_member_event member;
        set_member(&member, range, sequence);
        error = tell_length(w, &member);
    }
    return error;
}

static int sum_async(void *context, const struct tptrace_source *source,
                     const struct tptrace_async *async)
{
    struct tptrace_worker_sums *w = context;
    struct tptrace_member_event member = {.start_ns = async->start_ns,
                                          .end_ns = async->end_ns,
                                          .sequence = source->ordinal << 40 | async->sequence,
                                          .name = async->name,
                                          .kind = TP_EVENT_ASYNC_BEGIN};
    int error = 0;

    if (source->process != w->process)
        error = tptrace_sums_turn_to(w, source);
    struct tp_average_event average = tptrace_sums_average(w, &member);
    average.flags |= TP_EVENT_ASYNC;
    average.cpu_total_ns = async->end_ns - async->start_ns;
    average.count = 1;
    average.has_lengths = false;
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
    pthread_mutex_init(&sums->lock, NULL);
    sums->options = *options;
    sums->stacks = stacks;
    sums->launches = tptrace_launches_create(options->group_by_input_shapes);
    sums->workers = calloc(count, sizeof(struct tptrace_worker_sums *));
    sums->consumers = calloc(count, sizeof(*sums->consumers));
    int error = sums->workers && sums->consumers && sums->launches ? 0 : -ENOMEM;
    for (unsigned i = 0; i < count && !error; i++) {
        struct tptrace_worker_sums *w = sums->workers[i] = calloc(1, sizeof(*w));
        if (!w) {
            error = -ENOMEM;
            break;
        }
        w->by = by;
        w->all = sums;
        w->is_first = !i;
        w->by_shapes = options->group_by_input_shapes;
        w->percentiles = options->percentiles;
        sums->consumers[i] = (struct tptrace_consumer){.context = w,
                                                       .range = sum_range,
                                                       .async = sum_async,
                                                       .evicted = tptrace_sums_evicted,
                                                       .end_process = end_names};
        tptrace_sums_cuda_consumer(w, &sums->consumers[i]);
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
    tp_averages_destroy(sums->cuda_memory);
    tptrace_launches_destroy(sums->launches);
    pthread_mutex_destroy(&sums->lock);
    free(sums);
}

void tptrace_sums_set_kernels(struct tptrace_sums *sums, struct tptrace_kernels *kernels)
{
    sums->kernels = kernels;
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
