/* SPDX-License-Identifier: MIT */
#include "input/tptrace_launches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_externals.h"
#include "input/tptrace_history.h"
#include "input/tptrace_launch_ids.h"
#include "model/live_memory.h"

#define NEAR 16 /* a call of the driver and the one of the runtime around it */
#define HELD 64
#define THREAD_SLOTS 1024u
#define PATH_LEVELS_MAX 512u
#define TRUSTED_FROM 16384u /* ranges of a thread that tells of all of its calls */

/* Which of the driver's calls are made by the runtime? Their own clock tells: ours may be off by
 * more than lies between two calls. */
struct nesting {
    struct {
        uint64_t start, end;
        uint32_t correlation;
    } runtime[NEAR];
    unsigned runtime_at;
    struct {
        struct tptrace_activity call;
        uint64_t told_ticks;
    } held[HELD]; /* of the driver */
    unsigned held_count;
};

/* A thread that calls: those of its calls that wait for its own records. */
struct caller {
    uint32_t tid;
    uint64_t reached_ticks; /* its records have been read up to here */
    bool misses_calls;      /* of some it did not tell */
    struct tptrace_wait_queue queue;
    struct nesting *nesting; /* NULL: no call yet */
    struct ranges *ranges;   /* NULL: no records yet */
    struct caller *next;
};

/* Ranges of one track. A thread's number may be another's later: it has more tracks then. */
struct ranges {
    int64_t first_ns; /* of those that have ended */
    int64_t kept_ns;  /* what ended since is in the history ... */
    struct tptrace_history history;
    struct tp_stream_range passed; /* ... but for those up to this one; number 0: all are */
    struct tp_stream *stream;
    struct caller *caller;
    struct ranges *next;
};

struct tptrace_launches {
    bool by_shapes;
    struct tp_launch_tree tree;
    struct tptrace_launch_ids ids;
    struct tptrace_externals externals;
    struct caller *callers[THREAD_SLOTS], *last_caller;
    bool is_tied; /* the times of calls are those of ranges */
    struct tp_live_memory live;
    struct tptrace_cuda_totals totals;
};

/* Entries that alone refer to a node go over to the one that it is merged into. The last one takes
 * the node with it, but for the reference of who merges. */
static void move_entries(void *context, struct tp_launch_node *from, struct tp_launch_node *to)
{
    struct tptrace_launches *l = context;
    uint32_t first = from->id, end = first + from->id_count;

    for (uint32_t id = first; id != end; id++) {
        struct tptrace_launch_entry *entry = tptrace_launch_ids_look(&l->ids, id);
        if (!entry || entry->state != TPTRACE_ID_PLACED || entry->node != from)
            continue;
        entry->node = tp_launch_hold(to);
        tp_launch_release(&l->tree, from);
    }
}

struct tptrace_launches *tptrace_launches_create(bool by_shapes)
{
    struct tptrace_launches *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->by_shapes = by_shapes;
    l->tree.root.references = 1;
    l->tree.moved = move_entries;
    l->tree.context = l;
    tptrace_launch_ids_init(&l->ids, &l->tree);
    l->externals.ids = &l->ids;
    return l;
}

/* ---- what is known goes to its node ---- */

static struct tp_launch_node *node_of(struct tptrace_launches *l,
                                      struct tptrace_launch_entry *entry)
{
    return tp_launch_find(&l->tree, &entry->node);
}

static int tell_call(const struct tptrace_wait *wait, bool has_parent,
                     const struct tptrace_launch_sink *sink)
{
    struct tptrace_activity call = {.name = wait->name,
                                    .start_ns = wait->start_ns,
                                    .end_ns = wait->end_ns,
                                    .thread = wait->tid,
                                    .kind = TP_EVENT_CUDA_API,
                                    .has_time = true};

    return sink->call(sink->context, &call, has_parent);
}

static void add_call(struct tptrace_launches *l, struct tp_launch_node *node, int64_t length_ns)
{
    if (node != &l->tree.root)
        node->sums.calls_ns += length_ns;
}

static int add_memory(struct tptrace_launches *l, struct tp_launch_node *node, int64_t ns,
                      int64_t bytes, uint64_t count, const struct tptrace_launch_sink *sink)
{
    if (node == &l->tree.root)
        return sink->memory(sink->context, ns, bytes, count);
    node->sums.memory = (int64_t)((uint64_t)node->sums.memory + (uint64_t)bytes);
    return 0;
}

/* A wait is over. */
static int settle(struct tptrace_launches *l, struct tptrace_wait *wait,
                  struct tp_launch_node *node, const struct tptrace_launch_sink *sink)
{
    int error = 0;

    node->sums.device_ns += wait->device_ns;
    if (wait->memories)
        error = add_memory(l, node, wait->memory_ns, wait->memory, wait->memories, sink);
    if (!error && wait->has_call) {
        add_call(l, node, wait->end_ns - wait->start_ns);
        error = tell_call(wait, node != &l->tree.root, sink);
    }
    return error;
}

static struct tp_launch_key key_of(const struct tptrace_launches *l,
                                   const struct tp_stream_range *range)
{
    bool op = tp_slot_kind(range->record) == TP_EVENT_OP_BEGIN;

    return (struct tp_launch_key){.name = range->name,
                                  .shapes = op && l->by_shapes ? (uint32_t)range->record[6] : 0,
                                  .kind = (uint8_t)tp_slot_kind(range->record),
                                  .scope = op ? (uint8_t)range->record[7] : 0};
}

static struct tp_launch_node *noted(struct tptrace_launches *l, const struct tp_stream_range *range,
                                    void **note)
{
    if (!*note) {
        struct tp_launch_key key = key_of(l, range);
        *note = tp_launch_open(&l->tree, &key);
    }
    return *note;
}

/* The node of a stream's innermost range, or the root. */
static struct tp_launch_node *node_here(struct tptrace_launches *l, const struct tp_stream *stream)
{
    const struct tp_stream_range *range;
    void **note;

    return tp_stream_top(stream, &range, &note) ? noted(l, range, note) : &l->tree.root;
}

/* Of two ranges that are told apart, the same one with next to no chance. */
static uint32_t number_of(const struct tp_stream *stream, uint64_t sequence)
{
    return (uint32_t)sequence ^ (uint32_t)((uintptr_t)stream >> 4) * 0x9e3779b1u;
}

static void place_entry(struct tptrace_launch_entry *entry, uint32_t correlation,
                        struct tp_launch_node *node)
{
    entry->state = TPTRACE_ID_PLACED;
    if (node->references == 1) {
        node->id = correlation;
        node->id_count = 1;
    } else if (node->id && correlation == node->id + node->id_count) {
        node->id_count++;
    }
    entry->node = tp_launch_hold(node);
}

int tptrace_launches_place(struct tptrace_launches *l, struct tp_stream *stream,
                           uint32_t correlation, const struct tptrace_launch_sink *sink)
{
    struct tp_launch_node *node = node_here(l, stream);
    struct tptrace_launch_entry *entry =
        node ? tptrace_launch_ids_find(&l->ids, correlation) : NULL;
    int error = 0;

    if (!entry)
        return -ENOMEM;
    if (entry->state == TPTRACE_ID_PLACED) {
        l->totals.late_calls += (entry->seen & TPTRACE_ID_BY_TIME) != 0;
        return tp_stream_add_call(stream);
    }
    if (entry->state == TPTRACE_ID_WAITING) {
        struct tptrace_wait *wait = entry->wait;
        error = settle(l, wait, node, sink);
        entry->seen |= wait->works ? TPTRACE_ID_SAW_WORK : 0;
        tptrace_wait_free(&l->ids, wait);
    }
    entry->range = number_of(stream, tp_stream_innermost(stream));
    place_entry(entry, correlation, node);
    return error ? error : tp_stream_add_call(stream);
}

int tptrace_launches_merge(struct tptrace_launches *l, const struct tp_stream_range *into,
                           void **into_note, void *note, bool fold)
{
    struct tp_launch_node *parent = into ? noted(l, into, into_note) : &l->tree.root;

    if (!parent)
        return -ENOMEM;
    if (fold)
        tp_launch_fold(&l->tree, parent, note);
    else
        tp_launch_adopt(&l->tree, parent, note);
    return 0;
}

/* ---- threads ---- */

static struct caller *find_caller(struct tptrace_launches *l, uint32_t tid)
{
    struct caller **slot = &l->callers[tid % THREAD_SLOTS], *caller;

    if (l->last_caller && l->last_caller->tid == tid)
        return l->last_caller;
    for (caller = *slot; caller && caller->tid != tid;)
        caller = caller->next;
    if (!caller) {
        caller = calloc(1, sizeof(*caller));
        if (!caller)
            return NULL;
        caller->tid = tid;
        caller->next = *slot;
        *slot = caller;
    }
    return l->last_caller = caller;
}

static struct ranges *find_ranges(struct tptrace_launches *l, const struct tptrace_source *source)
{
    if (*source->note)
        return *source->note;
    struct caller *caller = find_caller(l, source->track->tid);
    struct ranges *ranges = caller ? calloc(1, sizeof(*ranges)) : NULL;
    if (!ranges)
        return NULL;
    ranges->first_ns = INT64_MAX;
    ranges->kept_ns = INT64_MIN;
    ranges->caller = caller;
    ranges->next = caller->ranges;
    caller->ranges = ranges;
    *source->note = ranges;
    return ranges;
}

/* ---- calls without a place: by thread and time ---- */

/* A history is for calls of which their thread does not tell, because its record was lost or
 * because threads tell of none. Where neither is so for long, it would cost its memory for nothing.
 */
static bool needs_history(const struct ranges *ranges, uint64_t number)
{
    const struct tp_stream_counts *counts = ranges->stream ? &ranges->stream->counts : NULL;

    return !counts || number <= TRUSTED_FROM || !counts->kinds[TP_EVENT_CUDA_CALL] ||
           counts->lost_records || counts->gaps || ranges->caller->misses_calls;
}

/* It is kept again, from the last range on that was passed over: what holds a call behind that one
 * ended after it. Return: 0 or -ENOMEM. */
static int wake_history(struct ranges *ranges)
{
    struct tp_launch_key key = {.name = ranges->passed.name};

    if (!ranges->passed.sequence)
        return 0;
    ranges->kept_ns = ranges->passed.end_ns;
    ranges->history.first = ranges->passed.sequence;
    int error = tptrace_history_add(&ranges->history, &ranges->passed, &key);
    ranges->passed.sequence = 0;
    return error;
}

static int keep_range(const struct tptrace_launches *l, struct ranges *ranges,
                      const struct tp_stream_range *range)
{
    if (needs_history(ranges, range->sequence)) {
        struct tp_launch_key key = key_of(l, range);
        int error = wake_history(ranges);
        return error ? error : tptrace_history_add(&ranges->history, range, &key);
    }
    ranges->passed.start_ns = range->start_ns;
    ranges->passed.end_ns = range->end_ns;
    ranges->passed.sequence = range->sequence;
    ranges->passed.parent = range->parent;
    ranges->passed.name = range->name;
    return 0;
}

/* The node of a range that is found: below the one of the innermost range of its path that is still
 * open, whose own place in the tree is found when it ends. Beyond PATH_LEVELS_MAX levels the
 * outermost ones go without. */
static struct tp_launch_node *node_of_path(struct tptrace_launches *l, const struct ranges *ranges,
                                           uint64_t sequence)
{
    struct tp_launch_key keys[PATH_LEVELS_MAX];
    struct tp_launch_node *node = &l->tree.root;
    const struct tp_stream_range *range;
    unsigned depth = 0;
    void **note;

    while (sequence && depth < PATH_LEVELS_MAX) {
        if (tp_stream_find(ranges->stream, sequence, &range, &note)) {
            node = noted(l, range, note);
            break;
        }
        bool folded;
        if (!tptrace_history_get(&ranges->history, sequence, &keys[depth], &sequence, &folded))
            break;
        depth += !folded;
    }
    while (depth && node)
        node = tp_launch_child(&l->tree, node, &keys[--depth]);
    return node;
}

/* In the last track of the thread that had begun by then. */
static enum tptrace_found find_by_time(struct caller *caller, const struct tptrace_wait *wait,
                                       const struct ranges **ret_ranges, uint64_t *ret_sequence)
{
    for (struct ranges *r = caller->ranges; r; r = r->next) {
        enum tptrace_found found = TPTRACE_FORGOTTEN;
        if (wake_history(r))
            return found;
        if (wait->start_ns >= r->kept_ns)
            found = tptrace_history_find(&r->history, r->stream, wait->start_ns, wait->end_ns,
                                         ret_sequence);
        if (found != TPTRACE_FOUND && r->first_ns > wait->start_ns)
            continue;
        *ret_ranges = r;
        return found;
    }
    return TPTRACE_NOWHERE;
}

static int settle_unplaced(struct tptrace_launches *l, struct tptrace_wait *wait,
                           const struct tptrace_launch_sink *sink)
{
    if (wait->works) {
        l->totals.without_launch += wait->works;
        l->totals.without_launch_ns += wait->device_ns;
    }
    return wait->memories
               ? sink->memory(sink->context, wait->memory_ns, wait->memory, wait->memories)
               : 0;
}

/* Nobody knows which range a call was made in. Its work waits on. */
static int lose_call(struct tptrace_launches *l, struct tptrace_wait *wait, bool is_own,
                     const struct tptrace_launch_sink *sink)
{
    int error = tell_call(wait, false, sink);

    l->totals.late_calls++;
    wait->has_call = false;
    tptrace_wait_leave(&l->ids, wait);
    if (is_own)
        return error;
    error = error ? error : settle_unplaced(l, wait, sink);
    tptrace_wait_free(&l->ids, wait);
    return error;
}

static int place_by_time(struct tptrace_launches *l, struct tptrace_wait *wait,
                         struct tptrace_launch_entry *own, struct tp_launch_node *node,
                         uint32_t range, const struct tptrace_launch_sink *sink)
{
    int error = settle(l, wait, node, sink);

    if (own) {
        own->state = TPTRACE_ID_PLACED;
        own->seen |= TPTRACE_ID_BY_TIME | (wait->works ? TPTRACE_ID_SAW_WORK : 0);
        own->node = tp_launch_hold(node);
        own->range = range;
    }
    tptrace_wait_free(&l->ids, wait);
    return error;
}

/* The call's own record is not among those of its thread up to when it was told of.
 * @by_time: look for the range; else there is no more room to wait. */
static int settle_call(struct tptrace_launches *l, struct caller *caller, struct tptrace_wait *wait,
                       bool by_time, const struct tptrace_launch_sink *sink)
{
    struct tptrace_launch_entry *own =
        wait->correlation ? tptrace_launch_ids_look(&l->ids, wait->correlation) : NULL;
    enum tptrace_found found = TPTRACE_FORGOTTEN;
    struct tp_launch_node *node = &l->tree.root;
    const struct ranges *ranges;
    uint64_t sequence;
    uint32_t range = 0;

    if (own && (own->state != TPTRACE_ID_WAITING || own->wait != wait))
        own = NULL;
    caller->misses_calls = true;
    if (by_time && l->is_tied && (own || !wait->correlation))
        found = find_by_time(caller, wait, &ranges, &sequence);
    if (found == TPTRACE_FORGOTTEN)
        return lose_call(l, wait, own != NULL, sink);
    if (found == TPTRACE_FOUND) {
        node = node_of_path(l, ranges, sequence);
        range = number_of(ranges->stream, sequence);
    }
    return node ? place_by_time(l, wait, own, node, range, sink) : -ENOMEM;
}

/* A thread's record of a call comes before anybody tells of it: calls that were told before its
 * records were read up to here wait no longer. */
static int try_queue(struct tptrace_launches *l, struct caller *caller, bool final,
                     const struct tptrace_launch_sink *sink)
{
    struct tptrace_wait *wait;
    int error = 0;

    while (!error && (wait = caller->queue.first) &&
           (final || wait->told_ticks < caller->reached_ticks))
        error = settle_call(l, caller, wait, true, sink);
    return error;
}

/* ---- calls ---- */

static int accept_call(struct tptrace_launches *l, struct caller *caller,
                       const struct tptrace_activity *call, uint64_t told_ticks,
                       const struct tptrace_launch_sink *sink)
{
    struct tptrace_launch_entry *entry =
        call->correlation ? tptrace_launch_ids_find(&l->ids, call->correlation) : NULL;
    struct tptrace_wait *wait;

    if (call->correlation && !entry)
        return -ENOMEM;
    if (entry && call->is_driver && entry->seen & TPTRACE_ID_SAW_RUNTIME) {
        l->totals.inner_calls++;
        return 0;
    }
    bool is_outer = entry && !call->is_driver && !(entry->seen & TPTRACE_ID_SAW_RUNTIME);
    l->totals.activities++;
    if (entry) {
        entry->seen |= is_outer ? TPTRACE_ID_SAW_RUNTIME : 0;
        entry->seen |= TPTRACE_ID_SAW_CALL | (call->name->launches ? TPTRACE_ID_LAUNCHES : 0);
        if (entry->state == TPTRACE_ID_PLACED) {
            struct tp_launch_node *node = node_of(l, entry);
            add_call(l, node, call->end_ns - call->start_ns);
            return sink->call(sink->context, call, node != &l->tree.root);
        }
    }
    wait = entry && entry->state != TPTRACE_ID_ALIAS
               ? tptrace_launch_ids_wait(&l->ids, entry, call->correlation)
               : tptrace_wait_new(&l->ids, 0);
    if (!wait)
        return -ENOMEM;
    if (wait->has_call && is_outer) { /* the driver's, which still waits, is inside of this one */
        wait->name = call->name;
        wait->start_ns = call->start_ns;
        wait->end_ns = call->end_ns;
        l->totals.activities--;
        l->totals.inner_calls++;
        return 0;
    }
    if (wait->has_call) /* two calls of one id, the other one was told */
        wait = tptrace_wait_new(&l->ids, 0);
    if (!wait)
        return -ENOMEM;
    wait->name = call->name;
    wait->start_ns = call->start_ns;
    wait->end_ns = call->end_ns;
    wait->told_ticks = told_ticks;
    wait->tid = call->thread;
    wait->has_call = true;
    tptrace_wait_join(&l->ids, wait, &caller->queue);
    return l->ids.queued_count > l->ids.queued_max
               ? settle_call(l, caller, caller->queue.first, false, sink)
               : 0;
}

/* What bears the driver's id belongs to the runtime's call. */
static int make_alias(struct tptrace_launches *l, uint32_t correlation, uint32_t goes_by,
                      const struct tptrace_launch_sink *sink)
{
    struct tptrace_launch_entry *inner = correlation != goes_by && correlation
                                             ? tptrace_launch_ids_find(&l->ids, correlation)
                                             : NULL;

    l->totals.inner_calls++;
    if (!inner)
        return 0;
    inner->seen |= TPTRACE_ID_SAW_CALL;
    if (inner->state == TPTRACE_ID_PLACED || inner->state == TPTRACE_ID_ALIAS)
        return 0;
    struct tptrace_wait *wait = inner->state == TPTRACE_ID_WAITING ? inner->wait : NULL;
    inner->state = TPTRACE_ID_ALIAS;
    inner->alias = goes_by;
    if (!wait)
        return 0;
    struct tptrace_launch_entry *outer = tptrace_launch_ids_follow(&l->ids, goes_by);
    int error = outer ? 0 : -ENOMEM;
    if (!error && outer->state == TPTRACE_ID_PLACED) {
        outer->seen |= wait->works ? TPTRACE_ID_SAW_WORK : 0;
        error = settle(l, wait, node_of(l, outer), sink);
    } else if (!error) {
        struct tptrace_wait *into = tptrace_launch_ids_wait(&l->ids, outer, goes_by);
        if (!into)
            return -ENOMEM;
        into->device_ns += wait->device_ns;
        into->works += wait->works;
        into->memory += wait->memory;
        into->memory_ns = into->memories ? into->memory_ns : wait->memory_ns;
        into->memories += wait->memories;
    }
    tptrace_wait_free(&l->ids, wait);
    return error;
}

static int take_runtime(struct tptrace_launches *l, struct caller *caller,
                        const struct tptrace_activity *call, uint64_t told_ticks,
                        const struct tptrace_launch_sink *sink)
{
    struct nesting *nesting = caller->nesting;
    unsigned looked = 0;
    int error = 0;

    for (unsigned i = nesting->held_count; i-- > 0 && looked < NEAR && !error; looked++) {
        const struct tptrace_activity *inner = &nesting->held[i].call;
        if (inner->start < call->start || inner->end > call->end)
            continue;
        error = make_alias(l, inner->correlation, call->correlation, sink);
        memmove(&nesting->held[i], &nesting->held[i + 1],
                (--nesting->held_count - i) * sizeof(nesting->held[0]));
    }
    unsigned at = nesting->runtime_at++ % NEAR;
    nesting->runtime[at].start = call->start;
    nesting->runtime[at].end = call->end;
    nesting->runtime[at].correlation = call->correlation;
    return error ? error : accept_call(l, caller, call, told_ticks, sink);
}

static int take_driver(struct tptrace_launches *l, struct caller *caller,
                       const struct tptrace_activity *call, uint64_t told_ticks,
                       const struct tptrace_launch_sink *sink)
{
    struct nesting *nesting = caller->nesting;
    int error = 0;

    for (unsigned i = 0; i < NEAR; i++) {
        if (nesting->runtime[i].start <= call->start && nesting->runtime[i].end >= call->end)
            return make_alias(l, call->correlation, nesting->runtime[i].correlation, sink);
    }
    if (nesting->held_count == HELD) {
        error = accept_call(l, caller, &nesting->held[0].call, nesting->held[0].told_ticks, sink);
        memmove(&nesting->held[0], &nesting->held[1], (HELD - 1) * sizeof(nesting->held[0]));
        nesting->held_count--;
    }
    nesting->held[nesting->held_count].call = *call;
    nesting->held[nesting->held_count++].told_ticks = told_ticks;
    return error;
}

static bool make_nesting(struct caller *caller)
{
    caller->nesting = calloc(1, sizeof(*caller->nesting));
    return caller->nesting;
}

int tptrace_launches_call(struct tptrace_launches *l, const struct tptrace_activity *call,
                          uint64_t told_ticks, const struct tptrace_launch_sink *sink)
{
    struct caller *caller;

    if (!call->has_time) {
        tptrace_launches_other(l, call);
        return 0;
    }
    caller = find_caller(l, call->thread);
    if (!caller || (!caller->nesting && !make_nesting(caller)))
        return -ENOMEM;
    return call->is_driver ? take_driver(l, caller, call, told_ticks, sink)
                           : take_runtime(l, caller, call, told_ticks, sink);
}

/* ---- work and memory ---- */

void tptrace_launches_other(struct tptrace_launches *l, const struct tptrace_activity *activity)
{
    l->totals.activities++;
    l->totals.without_time += !activity->has_time;
}

int tptrace_launches_work(struct tptrace_launches *l, const struct tptrace_activity *work)
{
    uint32_t correlation = work->correlation;
    struct tptrace_launch_entry *entry =
        correlation ? tptrace_launch_ids_follow(&l->ids, correlation) : NULL;
    int64_t length_ns = work->end_ns - work->start_ns;

    tptrace_launches_other(l, work);
    if (!work->has_time) {
        if (entry && entry->state == TPTRACE_ID_PLACED)
            entry->seen |= TPTRACE_ID_SAW_WORK;
        return correlation && !entry ? -ENOMEM : 0;
    }
    l->totals.has_device_work = true;
    if (!correlation) {
        l->totals.without_launch++;
        l->totals.without_launch_ns += length_ns;
        return 0;
    }
    if (!entry)
        return -ENOMEM;
    if (entry->state == TPTRACE_ID_PLACED) {
        entry->seen |= TPTRACE_ID_SAW_WORK;
        node_of(l, entry)->sums.device_ns += length_ns;
        return 0;
    }
    struct tptrace_wait *wait = tptrace_launch_ids_wait(&l->ids, entry, correlation);
    if (!wait)
        return -ENOMEM;
    wait->device_ns += length_ns;
    wait->works++;
    return 0;
}

/* Bytes with their sign. */
static int measure(struct tptrace_launches *l, const struct tptrace_cuda_memory *memory, int64_t ns,
                   int64_t *ret_bytes)
{
    struct tp_live_block block = {.address = memory->address,
                                  .space = (memory->flags & TPTRACE_MEMORY_PHYSICAL) != 0,
                                  .bytes = memory->bytes,
                                  .ns = ns},
                         before;

    if (!memory->is_free) {
        *ret_bytes = (int64_t)memory->bytes;
        return tp_live_memory_put(&l->live, &block, &before);
    }
    bool found = tp_live_memory_take(&l->live, block.space, block.address, &before);
    uint64_t bytes = memory->bytes ? memory->bytes : found ? before.bytes : 0;
    *ret_bytes = -(int64_t)bytes;
    l->totals.unknown_sizes += !bytes && memory->flags & TPTRACE_MEMORY_NO_SIZE;
    return 0;
}

int tptrace_launches_memory(struct tptrace_launches *l, const struct tptrace_cuda_memory *memory,
                            int64_t ns, struct tp_stream *stream,
                            const struct tptrace_launch_sink *sink)
{
    int64_t bytes;

    if (!memory->is_device)
        return 0;
    int error = measure(l, memory, ns, &bytes);
    l->totals.has_memory = true;
    if (error)
        return error;
    if (memory->flags & TPTRACE_MEMORY_HERE) {
        struct tp_launch_node *node = node_here(l, stream);
        return node ? add_memory(l, node, ns, bytes, 1, sink) : -ENOMEM;
    }
    if (!memory->correlation)
        return sink->memory(sink->context, ns, bytes, 1);
    struct tptrace_launch_entry *entry = tptrace_launch_ids_follow(&l->ids, memory->correlation);
    if (!entry)
        return -ENOMEM;
    if (entry->state == TPTRACE_ID_PLACED)
        return add_memory(l, node_of(l, entry), ns, bytes, 1, sink);
    struct tptrace_wait *wait = tptrace_launch_ids_wait(&l->ids, entry, memory->correlation);
    if (!wait)
        return -ENOMEM;
    if (!wait->memories || ns < wait->memory_ns)
        wait->memory_ns = ns;
    wait->memory += bytes;
    wait->memories++;
    return 0;
}

int tptrace_launches_external(struct tptrace_launches *l, uint32_t correlation, uint8_t type,
                              uint64_t id)
{
    return correlation ? tptrace_externals_add(&l->externals, correlation, type, id) : 0;
}

/* ---- what others have joined ---- */

struct tp_launch_node *tptrace_launches_open_path(struct tptrace_launches *l,
                                                  const struct tp_launch_key *key, void **note,
                                                  int64_t own_ns, int64_t below_ns)
{
    struct tp_launch_node *node = *note ? *note : tp_launch_open(&l->tree, key);

    if (!node)
        return NULL;
    *note = node;
    node->sums.device_ns += own_ns;
    node->below.device_ns += below_ns;
    return node;
}

struct tp_launch_node *tptrace_launches_ended_path(struct tptrace_launches *l,
                                                   struct tp_launch_node *parent,
                                                   const struct tp_launch_key *key)
{
    return tp_launch_child(&l->tree, parent ? parent : &l->tree.root, key);
}

int tptrace_launches_placed(struct tptrace_launches *l, uint32_t correlation,
                            struct tp_launch_node *node, bool saw_work)
{
    struct tptrace_launch_entry *entry = tptrace_launch_ids_find(&l->ids, correlation);

    if (!entry)
        return -ENOMEM;
    if (entry->state != TPTRACE_ID_FREE)
        return 0; /* an id that is there twice: not of our making */
    entry->range = correlation;
    entry->seen |= saw_work ? TPTRACE_ID_SAW_WORK : 0;
    place_entry(entry, correlation, node ? node : &l->tree.root);
    return 0;
}

int tptrace_launches_waiting(struct tptrace_launches *l, uint32_t correlation, uint64_t works,
                             int64_t device_ns)
{
    struct tptrace_launch_entry *entry = tptrace_launch_ids_find(&l->ids, correlation);
    struct tptrace_wait *wait = NULL;

    if (entry && (entry->state == TPTRACE_ID_FREE || entry->state == TPTRACE_ID_WAITING))
        wait = tptrace_launch_ids_wait(&l->ids, entry, correlation);
    if (!wait)
        return entry ? 0 : -ENOMEM;
    wait->works += works;
    wait->device_ns += device_ns;
    return 0;
}

/* ---- watching ---- */

void tptrace_launches_ended(struct tptrace_launches *l, const struct tptrace_source *source,
                            const struct tp_stream_range *range)
{
    struct ranges *ranges = find_ranges(l, source);

    if (!ranges) {
        l->tree.failed = true;
        return;
    }
    if (range->start_ns < ranges->first_ns)
        ranges->first_ns = range->start_ns;
    l->tree.failed |= keep_range(l, ranges, range) != 0;
}

void tptrace_launches_folded(const struct tptrace_source *source,
                             const struct tp_stream_range *range,
                             const struct tp_stream_range *parent)
{
    struct ranges *ranges = *source->note;

    if (ranges)
        tptrace_history_fold(&ranges->history, range->sequence, parent->sequence);
}

static int tell_path(void *context, const struct tp_launch_key *key,
                     const struct tp_launch_sums *own, const struct tp_launch_sums *total)
{
    const struct tptrace_launch_sink *sink = context;

    return sink->path(sink->context, key, own, total);
}

int tptrace_launches_rest(struct tptrace_launches *l, const struct tptrace_source *source,
                          struct tp_stream *stream, const struct tptrace_launch_sink *sink)
{
    struct ranges *ranges = find_ranges(l, source);

    if (!ranges)
        return -ENOMEM;
    ranges->stream = stream;
    if (stream->ticks > ranges->caller->reached_ticks)
        ranges->caller->reached_ticks = stream->ticks;
    l->is_tied = source->process->cuda_clock.is_tied;
    int error = try_queue(l, ranges->caller, false, sink);
    if (!error && tp_launch_tree_is_full(&l->tree))
        error = tp_launch_tree_tell(&l->tree, tell_path, (void *)(uintptr_t)sink);
    return error;
}

/* ---- the end ---- */

/* What is settled at the end, and who is told. */
struct settling {
    struct tptrace_launches *launches;
    const struct tptrace_launch_sink *sink;
};

static int settle_entry(void *context, struct tptrace_launch_entry *entry)
{
    struct settling *settling = context;
    struct tptrace_launches *l = settling->launches;
    int error = 0;

    if (entry->state == TPTRACE_ID_WAITING) {
        struct tptrace_wait *wait = entry->wait;
        tptrace_wait_take_offer(&l->ids, wait);
        error = settle_unplaced(l, wait, settling->sink);
        tptrace_wait_free(&l->ids, entry->wait);
        entry->state = TPTRACE_ID_FREE;
    }
    tptrace_launch_ids_forget(&l->ids, entry);
    return error;
}

static int settle_calls(struct tptrace_launches *l, const struct tptrace_launch_sink *sink)
{
    int error = 0;

    for (size_t i = 0; i < THREAD_SLOTS && !error; i++) {
        for (struct caller *c = l->callers[i]; c && !error; c = c->next) {
            struct nesting *nesting = c->nesting;
            for (unsigned k = 0; nesting && k < nesting->held_count && !error; k++)
                error =
                    accept_call(l, c, &nesting->held[k].call, nesting->held[k].told_ticks, sink);
            error = error ? error : try_queue(l, c, true, sink);
        }
    }
    return error;
}

static void free_caller(struct tptrace_launches *l, struct caller *caller)
{
    while (caller->queue.first)
        tptrace_wait_free(&l->ids, caller->queue.first);
    for (struct ranges *ranges = caller->ranges, *next; ranges; ranges = next) {
        next = ranges->next;
        tptrace_history_fini(&ranges->history);
        free(ranges);
    }
    free(caller->nesting);
    free(caller);
}

static void start_anew(struct tptrace_launches *l)
{
    tptrace_externals_fini(&l->externals);
    tptrace_launch_ids_reset(&l->ids);
    for (size_t i = 0; i < THREAD_SLOTS; i++) {
        for (struct caller *c = l->callers[i], *next; c; c = next) {
            next = c->next;
            free_caller(l, c);
        }
        l->callers[i] = NULL;
    }
    l->last_caller = NULL;
    l->is_tied = false;
    tp_live_memory_fini(&l->live);
    tp_launch_tree_fini(&l->tree);
    l->tree.root.references = 1;
    l->totals = (struct tptrace_cuda_totals){0};
}

static void add_totals(struct tptrace_cuda_totals *into, const struct tptrace_cuda_totals *from)
{
    into->activities += from->activities;
    into->without_time += from->without_time;
    into->without_launch += from->without_launch;
    into->without_launch_ns += from->without_launch_ns;
    into->inner_calls += from->inner_calls;
    into->late_calls += from->late_calls;
    into->by_external += from->by_external;
    into->unknown_sizes += from->unknown_sizes;
    into->has_device_work |= from->has_device_work;
    into->has_memory |= from->has_memory;
}

int tptrace_launches_finish(struct tptrace_launches *l, struct tptrace_cuda_totals *totals,
                            const struct tptrace_launch_sink *sink)
{
    struct settling settling = {.launches = l, .sink = sink};
    int error = settle_calls(l, sink);

    tptrace_externals_settle(&l->externals);
    if (!error)
        error = tptrace_launch_ids_each(&l->ids, settle_entry, &settling);
    l->totals.by_external += l->ids.by_external;
    if (!error)
        error = settle_unplaced(l, &l->ids.given_up, sink);
    if (!error && l->tree.failed)
        error = -ENOMEM;
    if (!error)
        error = tp_launch_tree_tell(&l->tree, tell_path, (void *)(uintptr_t)sink);
    add_totals(totals, &l->totals);
    start_anew(l);
    return error;
}

void tptrace_launches_destroy(struct tptrace_launches *l)
{
    if (!l)
        return;
    start_anew(l);
    tptrace_launch_ids_fini(&l->ids);
    free(l);
}
