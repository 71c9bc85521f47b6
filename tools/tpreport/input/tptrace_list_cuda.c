/* SPDX-License-Identifier: MIT
 * CUDA's part of a list. A call's correlation id is all that its records have in common: where its
 * thread stood, the call itself, and the work on the device. So everything is sorted by process and
 * id, and each group is told where it belongs. Calls that did not say where they stood are looked
 * up by thread and time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_list_join.h"
#include "model/live_memory.h"

/* ---- taking records ---- */

int tptrace_list_reserve(void **items, size_t *capacity, size_t count, size_t size)
{
    size_t larger = *capacity ? *capacity : 64;

    if (count <= *capacity)
        return 0;
    while (larger < count)
        larger *= 2;
    void *grown = realloc(*items, larger * size);
    if (!grown)
        return -ENOMEM;
    *items = grown;
    *capacity = larger;
    return 0;
}

static int take_call(struct tptrace_list *list, const struct tptrace_source *source,
                     const uint64_t *record, uint64_t ticks, const struct tp_stream *stream)
{
    int error = tptrace_list_reserve((void **)&list->calls, &list->call_capacity,
                                     list->call_count + 1, sizeof(*list->calls));

    if (error)
        return error;
    int64_t ns = tp_clock_ns(&source->process->clock, &list->cursor.process, ticks);
    list->calls[list->call_count++] = (struct tptrace_call_place){
        .user = source->user,
        .ordinal = source->ordinal,
        .sequence = tp_stream_innermost(stream),
        .correlation = tp_slot_argument(record),
        .tid = source->track->tid,
        .is_selected = !source->is_muted && tptrace_in_windows(source->options, ns),
    };
    return 0;
}

static int take_work(struct tptrace_list *list, const struct tptrace_source *source,
                     const uint64_t *record)
{
    int error = tptrace_list_reserve((void **)&list->works, &list->work_capacity,
                                     list->work_count + 1, sizeof(*list->works));

    if (error)
        return error;
    struct tptrace_work_item *work = &list->works[list->work_count++];
    *work = (struct tptrace_work_item){.user = source->user,
                                       .node_id = tptrace_node_of(source->process, list->by),
                                       .owner = TPTRACE_NO_ITEM};
    struct tptrace_activity *activity = &work->activity;
    tptrace_activity_read(activity, record, &source->process->cuda_clock, &list->cursor,
                          source->names, &list->made, &source->process->meta.cuda);
    work->name = activity->name->name;
    activity->name = NULL;
    work->tid = activity->thread;
    work->is_selected =
        tptrace_in_windows(source->options, activity->start_ns) &&
        (!source->options->thread ||
         tptrace_thread_is(&source->process->meta, source->options->thread, work->tid));
    list->names = source->names;
    return 0;
}

static int take_memory(struct tptrace_list *list, const struct tptrace_source *source,
                       const uint64_t *record, uint64_t ticks, const struct tp_stream *stream)
{
    int error = tptrace_list_reserve((void **)&list->memories, &list->memory_capacity,
                                     list->memory_count + 1, sizeof(*list->memories));

    if (error)
        return error;
    struct tptrace_memory_item *item = &list->memories[list->memory_count++];
    *item = (struct tptrace_memory_item){
        .user = source->user, .owner = TPTRACE_NO_ITEM, .tid = source->track->tid};
    item->node_id = tptrace_node_of(source->process, list->by);
    tptrace_cuda_memory_read(&item->memory, record);
    bool is_here = item->memory.flags & TPTRACE_MEMORY_HERE;
    item->ns =
        is_here || !item->memory.time
            ? tp_clock_ns(&source->process->clock, &list->cursor.process, ticks)
            : tptrace_cuda_ns(&source->process->cuda_clock, &list->cursor, item->memory.time);
    if (is_here) {
        item->ordinal = source->ordinal;
        item->sequence = tp_stream_innermost(stream);
    }
    item->is_selected = tptrace_in_windows(source->options, item->ns) &&
                        (is_here ? !source->is_muted : !source->options->thread);
    return 0;
}

int tptrace_list_cuda_take(void *context, const struct tptrace_source *source,
                           const uint64_t *record, uint64_t ticks, struct tp_stream *stream)
{
    struct tptrace_list *list = context;
    unsigned kind = tp_slot_kind(record);

    if (kind == TP_EVENT_CUDA_CALL)
        return take_call(list, source, record, ticks, stream);
    if (tptrace_is_activity(kind))
        return take_work(list, source, record);
    if (kind == TP_EVENT_CUDA_NODE)
        return tptrace_nodes_take(&list->nodes, source, record, stream);
    if (kind == TP_EVENT_CUDA_EXTERNAL)
        return tptrace_list_take_external(list, source, record);
    return kind == TP_EVENT_CUDA_MEMORY || kind == TP_EVENT_MEMORY
               ? take_memory(list, source, record, ticks, stream)
               : 0;
}

int tptrace_list_cuda_details(struct tptrace_list *list)
{
    int error = 0;

    for (; list->works_detailed < list->work_count && !error; list->works_detailed++) {
        struct tptrace_work_item *work = &list->works[list->works_detailed];
        if (work->activity.geometry)
            error = tptrace_names_geometry(list->names, work->activity.geometry, &work->geometry);
    }
    list->made = (struct tptrace_activity_names){0}; /* the names go away */
    list->cursor = (struct tptrace_cuda_cursor){0};
    return error;
}

static int move(void **into, size_t *into_count, size_t *capacity, void **from, size_t *from_count,
                size_t size)
{
    int error = tptrace_list_reserve(into, capacity, *into_count + *from_count, size);

    if (error)
        return error;
    if (*from_count)
        memcpy((char *)*into + *into_count * size, *from, *from_count * size);
    *into_count += *from_count;
    free(*from);
    *from = NULL;
    *from_count = 0;
    return 0;
}

int tptrace_list_cuda_add(struct tptrace_list *into, struct tptrace_list *from)
{
    int error = move((void **)&into->works, &into->work_count, &into->work_capacity,
                     (void **)&from->works, &from->work_count, sizeof(*into->works));

    if (!error)
        error = move((void **)&into->calls, &into->call_count, &into->call_capacity,
                     (void **)&from->calls, &from->call_count, sizeof(*into->calls));
    if (!error)
        error = move((void **)&into->memories, &into->memory_count, &into->memory_capacity,
                     (void **)&from->memories, &from->memory_count, sizeof(*into->memories));
    if (!error)
        error = move((void **)&into->nodes.items, &into->nodes.count, &into->nodes.capacity,
                     (void **)&from->nodes.items, &from->nodes.count, sizeof(*into->nodes.items));
    if (!error)
        error = move((void **)&into->externals, &into->external_count, &into->external_capacity,
                     (void **)&from->externals, &from->external_count, sizeof(*into->externals));
    from->nodes.capacity = from->external_capacity = 0;
    from->work_capacity = from->call_capacity = from->memory_capacity = 0;
    return error;
}

void tptrace_list_cuda_fini(struct tptrace_list *list)
{
    free(list->works);
    free(list->calls);
    free(list->memories);
    free(list->externals);
    tptrace_nodes_fini(&list->nodes);
}

/* ---- the ranges of a thread, by time ---- */

/* Ranges of one track: items [first, end). */
static int compare_spans(const void *a, const void *b)
{
    const struct tptrace_span *left = a, *right = b;

    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    if (left->tid != right->tid)
        return left->tid < right->tid ? -1 : 1;
    return (left->first < right->first) - (left->first > right->first);
}

static int find_spans(struct tptrace_list_join *join)
{
    const struct tptrace_list *list = join->list;

    for (size_t i = 0, end; i < list->count; i = end) {
        const struct tptrace_item *item = &list->items[i];
        for (end = i + 1; end < list->count && list->items[end].ordinal == item->ordinal; end++)
            ;
        int error = tptrace_list_reserve((void **)&join->spans, &join->span_capacity,
                                         join->span_count + 1, sizeof(*join->spans));
        if (error)
            return error;
        join->spans[join->span_count++] =
            (struct tptrace_span){.user = item->user, .first = i, .end = end, .tid = item->tid};
    }
    if (join->span_count)
        qsort(join->spans, join->span_count, sizeof(*join->spans), compare_spans);
    return 0;
}

static bool holds(const struct tptrace_item *item, int64_t start_ns, int64_t end_ns)
{
    return !(item->event.flags & TP_EVENT_ASYNC) && start_ns < item->end_ns &&
           end_ns <= item->end_ns;
}

/* The innermost range of one track that holds a stretch of time. A range that began before the last
 * one, is none of its ancestors and yet goes on behind it cannot be: it would be its parent. */
static size_t find_in_span(const struct tptrace_list *list, const struct tptrace_span *span,
                           int64_t start_ns, int64_t end_ns)
{
    size_t low = span->first, high = span->end;

    while (low < high) { /* behind the last one that began before */
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].start_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > span->first && list->items[low - 1].event.flags & TP_EVENT_ASYNC)
        low--;
    for (size_t at = low == span->first ? TPTRACE_NO_ITEM : low - 1; at != TPTRACE_NO_ITEM;) {
        const struct tptrace_item *item = &list->items[at];
        if (holds(item, start_ns, end_ns))
            return at;
        at = item->parent
                 ? tptrace_items_find(list->items, list->count, item->ordinal, item->parent)
                 : TPTRACE_NO_ITEM;
    }
    return TPTRACE_NO_ITEM;
}

/* In the last track of the thread that had begun by then. */
static size_t find_by_time(const struct tptrace_list_join *join,
                           const struct tptrace_work_item *call)
{
    const struct tptrace_list *list = join->list;
    struct tptrace_span key = {.user = call->user, .tid = call->tid, .first = SIZE_MAX};
    size_t low = 0, high = join->span_count;

    while (low < high) { /* the first one of the thread */
        size_t middle = low + (high - low) / 2;
        if (compare_spans(&join->spans[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < join->span_count; low++) {
        const struct tptrace_span *span = &join->spans[low];
        if (span->user != call->user || span->tid != call->tid)
            break;
        if (list->items[span->first].start_ns <= call->activity.start_ns)
            return find_in_span(list, span, call->activity.start_ns, call->activity.end_ns);
    }
    return TPTRACE_NO_ITEM;
}

/* ---- calls within calls ---- */

static bool is_call(const struct tptrace_work_item *work)
{
    return work->activity.kind == TP_EVENT_CUDA_API;
}

static int compare_threads(const void *a, const void *b)
{
    const struct tptrace_work_item *left = a, *right = b;

    if (is_call(left) != is_call(right))
        return is_call(left) ? -1 : 1;
    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    if (left->tid != right->tid)
        return left->tid < right->tid ? -1 : 1;
    if (left->activity.start_ns != right->activity.start_ns)
        return left->activity.start_ns < right->activity.start_ns ? -1 : 1;
    if (left->activity.end_ns != right->activity.end_ns)
        return left->activity.end_ns > right->activity.end_ns ? -1 : 1;
    return left->activity.is_driver - right->activity.is_driver;
}

/* The runtime calls the driver; work bears the id of either. One call counts, under one id. */
static void find_inner_calls(struct tptrace_list *list)
{
    const struct tptrace_work_item *outer = NULL;

    qsort(list->works, list->work_count, sizeof(*list->works), compare_threads);
    for (size_t i = 0; i < list->work_count && is_call(&list->works[i]); i++) {
        struct tptrace_work_item *call = &list->works[i];
        if (!call->activity.has_time)
            continue;
        if (!call->activity.is_driver) {
            outer = call;
        } else if (outer && outer->user == call->user && outer->tid == call->tid &&
                   call->activity.end_ns <= outer->activity.end_ns) {
            call->is_inner = true;
            call->id = outer->activity.correlation;
        }
    }
}

/* ---- groups of one id ---- */

static int compare_ids(const void *a, const void *b)
{
    const struct tptrace_work_item *left = a, *right = b;

    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    if (left->activity.correlation != right->activity.correlation)
        return left->activity.correlation < right->activity.correlation ? -1 : 1;
    if (is_call(left) != is_call(right))
        return is_call(left) ? -1 : 1;
    if (left->activity.is_driver != right->activity.is_driver)
        return left->activity.is_driver ? 1 : -1;
    if (left->activity.start_ns != right->activity.start_ns)
        return left->activity.start_ns < right->activity.start_ns ? -1 : 1;
    return (left->activity.graph_node > right->activity.graph_node) -
           (left->activity.graph_node < right->activity.graph_node);
}

static int compare_places(const void *a, const void *b)
{
    const struct tptrace_call_place *left = a, *right = b;

    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    return (left->correlation > right->correlation) - (left->correlation < right->correlation);
}

const struct tptrace_call_place *tptrace_list_find_place(const struct tptrace_list *list,
                                                         uint64_t user, uint32_t correlation)
{
    struct tptrace_call_place key = {.user = user, .correlation = correlation};

    if (!correlation || !list->call_count)
        return NULL;
    return bsearch(&key, list->calls, list->call_count, sizeof(key), compare_places);
}

static struct tptrace_cuda_totals *totals_of(const struct tptrace_list_join *join, uint64_t user)
{
    return &join->run->members[user].process.totals.cuda;
}

size_t tptrace_list_owner(const struct tptrace_list *list, const struct tptrace_call_place *place)
{
    return place->sequence
               ? tptrace_items_find(list->items, list->count, place->ordinal, place->sequence)
               : TPTRACE_NO_ITEM;
}

static bool is_tied(const struct tptrace_list_join *join, uint64_t user)
{
    return join->run->members[user].process.cuda_clock.is_tied;
}

/* Works [first, end) have one id: a call, or its work, or all of it. */
static void join_group(const struct tptrace_list_join *join, size_t first, size_t end)
{
    struct tptrace_work_item *works = join->list->works, *call = &works[first];
    uint64_t user = call->user;
    uint32_t id = call->activity.correlation, goes_by = id;
    size_t owner = TPTRACE_NO_ITEM;

    if (!is_call(call))
        call = NULL;
    if (call && call->is_inner)
        goes_by = call->id;
    const struct tptrace_call_place *place = tptrace_list_find_place(join->list, user, id);
    if (!place && goes_by != id)
        place = tptrace_list_find_place(join->list, user, goes_by);
    if (place)
        owner = tptrace_list_owner(join->list, place);
    else if (call && is_tied(join, user))
        owner = find_by_time(join, call);
    for (size_t i = first; i < end; i++) {
        struct tptrace_work_item *work = &works[i];
        if (work->activity.kind == TP_EVENT_CUDA_OVERHEAD)
            continue;
        work->is_inner |= is_call(work) && work != call && work->activity.is_driver;
        work->id = goes_by;
        work->has_launch = place || (call && is_tied(join, user));
        work->is_placed = place != NULL;
        if (place)
            work->is_selected = place->is_selected;
        else if (call)
            work->is_selected = call->is_selected;
        if (place || call)
            work->tid = place ? place->tid : call->tid;
        if (work->activity.kind != TP_EVENT_CUDA_SYNC)
            work->owner = owner;
    }
}

static void join_works(const struct tptrace_list_join *join)
{
    const struct tptrace_list *list = join->list;

    qsort(list->works, list->work_count, sizeof(*list->works), compare_ids);
    for (size_t i = 0, end; i < list->work_count; i = end) {
        const struct tptrace_work_item *work = &list->works[i];
        end = i + 1;
        while (work->activity.correlation && end < list->work_count &&
               list->works[end].user == work->user &&
               list->works[end].activity.correlation == work->activity.correlation)
            end++;
        join_group(join, i, end);
    }
}

/* ---- graphs ---- */

static void join_nodes(struct tptrace_list *list)
{
    tptrace_nodes_sort(&list->nodes);
    for (size_t i = 0; i < list->work_count && list->nodes.count; i++) {
        struct tptrace_work_item *work = &list->works[i];
        work->captured_in =
            tptrace_nodes_origin(&list->nodes, work->user, work->activity.graph_node);
    }
}

/* ---- what is left out ---- */

static void count_work(const struct tptrace_list_join *join, const struct tptrace_work_item *work)
{
    struct tptrace_cuda_totals *totals = totals_of(join, work->user);
    bool is_device = tptrace_is_device_work(work->activity.kind);

    totals->inner_calls += work->is_inner;
    if (work->is_inner)
        return;
    totals->activities++;
    totals->without_time += !work->activity.has_time;
    totals->has_device_work |= is_device && work->activity.has_time;
    totals->late_calls += is_call(work) && !work->has_launch && work->activity.has_time;
    totals->by_external += work->is_by_external && work->activity.has_time;
    if (is_device && !work->has_launch && work->activity.has_time) {
        totals->without_launch++;
        totals->without_launch_ns += work->activity.end_ns - work->activity.start_ns;
    }
}

static void choose_works(const struct tptrace_list_join *join)
{
    struct tptrace_list *list = join->list;
    size_t kept = 0;

    for (size_t i = 0; i < list->work_count; i++) {
        const struct tptrace_work_item *work = &list->works[i];
        if (!work->is_selected)
            continue;
        count_work(join, work);
        if (!work->is_inner && work->activity.has_time)
            list->works[kept++] = *work;
    }
    list->work_count = kept;
}

/* ---- memory ---- */

static int compare_times(const void *a, const void *b)
{
    const struct tptrace_memory_item *left = a, *right = b;

    if (left->user != right->user)
        return left->user < right->user ? -1 : 1;
    if (left->ns != right->ns)
        return left->ns < right->ns ? -1 : 1;
    if (left->memory.is_free != right->memory.is_free) /* an address is free before it is new */
        return left->memory.is_free ? -1 : 1;
    return (left->memory.address > right->memory.address) -
           (left->memory.address < right->memory.address);
}

/* The call that has the id. */
const struct tptrace_work_item *tptrace_list_find_call(const struct tptrace_list *list,
                                                       uint64_t user, uint32_t correlation)
{
    size_t low = 0, high = list->work_count;
    struct tptrace_work_item key = {
        .user = user,
        .activity = {.kind = TP_EVENT_CUDA_API, .correlation = correlation, .start_ns = INT64_MIN}};

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_ids(&list->works[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = correlation && low < list->work_count && list->works[low].user == user &&
                 list->works[low].activity.correlation == correlation && is_call(&list->works[low]);
    return found ? &list->works[low] : NULL;
}

static void place_memory(const struct tptrace_list_join *join, struct tptrace_memory_item *item)
{
    const struct tptrace_call_place *place =
        tptrace_list_find_place(join->list, item->user, item->memory.correlation);
    const struct tptrace_work_item *call;

    if (item->memory.flags & TPTRACE_MEMORY_HERE) {
        if (item->sequence)
            item->owner = tptrace_items_find(join->list->items, join->list->count, item->ordinal,
                                             item->sequence);
    } else if (place) {
        item->owner = tptrace_list_owner(join->list, place);
        item->is_selected = place->is_selected;
        item->tid = place->tid;
    } else if ((call = tptrace_list_find_call(join->list, item->user, item->memory.correlation))) {
        item->owner = call->owner;
        item->is_selected = call->is_selected;
        item->tid = call->tid;
    }
}

/* Bytes with their sign; the size of what is freed where only its address is known. */
static int measure(const struct tptrace_list_join *join, struct tp_live_memory *live,
                   struct tptrace_memory_item *item)
{
    const struct tptrace_cuda_memory *memory = &item->memory;
    uint64_t space = item->user * 2 + ((memory->flags & TPTRACE_MEMORY_PHYSICAL) != 0);
    struct tp_live_block block = {.address = memory->address, .space = space}, before;
    int error = 0;

    if (!memory->is_free) {
        block.bytes = memory->bytes;
        error = tp_live_memory_put(live, &block, &before);
        item->bytes = (int64_t)memory->bytes;
        return error;
    }
    bool found = tp_live_memory_take(live, space, memory->address, &block);
    uint64_t bytes = memory->bytes ? memory->bytes : found ? block.bytes : 0;
    item->bytes = -(int64_t)bytes;
    if (!bytes && memory->flags & TPTRACE_MEMORY_NO_SIZE)
        totals_of(join, item->user)->unknown_sizes++;
    return 0;
}

static void credit(const struct tptrace_list_join *join, const struct tptrace_memory_item *item)
{
    struct tptrace_item *items = join->list->items;

    for (size_t at = item->owner; at != TPTRACE_NO_ITEM;) {
        items[at].device_bytes =
            (int64_t)((uint64_t)items[at].device_bytes + (uint64_t)item->bytes);
        at = items[at].parent
                 ? tptrace_items_find(items, join->list->count, items[at].ordinal, items[at].parent)
                 : TPTRACE_NO_ITEM;
    }
}

/* Where a framework tells of its own memory, CUDA's is where it got it from and counts for nothing.
 * The ranges have the framework's already. */
static int join_memories(const struct tptrace_list_join *join)
{
    struct tptrace_list *list = join->list;
    struct tp_live_memory live = {0};
    size_t kept = 0;
    int error = 0;

    if (list->memory_count)
        qsort(list->memories, list->memory_count, sizeof(*list->memories), compare_times);
    for (size_t i = 0; i < list->memory_count && !error; i++) {
        struct tptrace_memory_item *item = &list->memories[i];
        bool framework = join->run->members[item->user].process.totals.stream.device_memory != 0;
        if (!item->memory.is_device)
            continue;
        place_memory(join, item);
        totals_of(join, item->user)->has_memory |= item->is_selected;
        if (item->memory.is_framework != framework)
            continue;
        error = measure(join, &live, item);
        if (!item->is_selected)
            continue;
        if (!framework)
            credit(join, item);
        list->memories[kept++] = *item;
    }
    list->memory_count = kept;
    tp_live_memory_fini(&live);
    return error;
}

int tptrace_list_cuda_join(struct tptrace_list *list, struct tptrace_run *run)
{
    struct tptrace_list_join join = {.list = list, .run = run};

    if (!list->work_count && !list->memory_count)
        return 0;
    int error = find_spans(&join);
    if (!error && list->call_count)
        qsort(list->calls, list->call_count, sizeof(*list->calls), compare_places);
    if (!error && list->work_count) {
        find_inner_calls(list);
        join_works(&join);
        tptrace_list_join_externals(&join);
        join_nodes(list);
    }
    if (!error)
        error = join_memories(&join);
    if (!error)
        choose_works(&join);
    free(join.spans);
    return error;
}
