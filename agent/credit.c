/* SPDX-License-Identifier: MIT */
#include "credit.h"

#define OPEN UINT32_MAX /* parent of a path whose range has not ended */
/* Each open range may want a path, and so may the only child of each. */
#define ROOM_FOR_OPEN (TP_CREDIT_PATHS / 2)
#define WINDOW_FIRST (TP_CREDIT_IDS / 4)

void tp_credit_init(struct tp_credit *c)
{
    c->window = WINDOW_FIRST;
}

static struct tp_credit_path *path_at(struct tp_credit *c, uint32_t path)
{
    return &c->paths[path];
}

/* ---- paths ---- */

uint32_t tp_credit_open(struct tp_credit *c, uint32_t row, bool for_call)
{
    uint32_t path = c->path_spare;

    if (c->paths_used >= TP_CREDIT_PATHS - (for_call ? ROOM_FOR_OPEN : 0))
        return 0;
    if (path)
        c->path_spare = c->paths[path].next;
    else
        path = ++c->path_count;
    c->paths_used++;
    c->paths[path] = (struct tp_credit_path){.row = row, .parent = OPEN};
    return path;
}

static void give_path(struct tp_credit *c, uint32_t path)
{
    c->paths[path] = (struct tp_credit_path){.next = c->path_spare};
    c->path_spare = path;
    c->paths_used--;
}

static uint32_t *slot_of(struct tp_credit *c, uint32_t parent, uint32_t row)
{
    uint64_t hash = ((uint64_t)parent << 32 | row) * UINT64_C(0x9e3779b97f4a7c15);

    return &c->slots[(hash >> 32) % TP_CREDIT_PATHS];
}

static uint32_t find_child(struct tp_credit *c, uint32_t parent, uint32_t row)
{
    uint32_t path = *slot_of(c, parent, row);

    while (path && (c->paths[path].parent != parent || c->paths[path].row != row))
        path = c->paths[path].hash_next;
    return path;
}

static void link_child(struct tp_credit *c, uint32_t parent, uint32_t path)
{
    struct tp_credit_path *child = path_at(c, path), *above = path_at(c, parent);
    uint32_t *slot = slot_of(c, parent, child->row);

    child->parent = parent;
    child->previous = 0;
    child->next = above->first_child;
    if (child->next)
        c->paths[child->next].previous = path;
    above->first_child = path;
    child->hash_next = *slot;
    *slot = path;
}

static void unlink_child(struct tp_credit *c, uint32_t path)
{
    struct tp_credit_path *child = path_at(c, path);
    uint32_t *link = slot_of(c, child->parent, child->row);

    while (*link != path)
        link = &c->paths[*link].hash_next;
    *link = child->hash_next;
    if (child->previous)
        c->paths[child->previous].next = child->next;
    else
        c->paths[child->parent].first_child = child->next;
    if (child->next)
        c->paths[child->next].previous = child->previous;
}

/* A path without children goes to @into: its sums, and its calls. */
static void dissolve(struct tp_credit *c, uint32_t into, uint32_t path)
{
    struct tp_credit_path *from = path_at(c, path), *to = path_at(c, into);
    struct tp_credit_call *last = NULL;

    to->own += from->own;
    to->below += from->below;
    for (uint32_t at = from->calls; at; at = last->next) {
        last = &c->calls[at - 1];
        last->where = into;
    }
    if (last) {
        last->next = to->calls;
        if (to->calls)
            c->calls[to->calls - 1].previous = (uint32_t)(last - c->calls) + 1;
        to->calls = from->calls;
    }
    give_path(c, path);
}

/* The children of @path go to @into, and so on for those that it has already. */
void tp_credit_fold(struct tp_credit *c, uint32_t into, uint32_t path)
{
    uint32_t top = path;

    for (;;) {
        uint32_t child = c->paths[path].first_child;
        if (child) {
            uint32_t there = find_child(c, into, c->paths[child].row);
            if (there) {
                into = there;
                path = child;
                continue;
            }
            unlink_child(c, child);
            link_child(c, into, child);
            continue;
        }
        uint32_t up = c->paths[path].parent;
        uint32_t above = c->paths[into].parent;
        bool is_top = path == top;
        if (!is_top)
            unlink_child(c, path);
        dissolve(c, into, path);
        if (is_top)
            return;
        path = up;
        into = above;
    }
}

void tp_credit_adopt(struct tp_credit *c, uint32_t parent, uint32_t path)
{
    uint32_t there = find_child(c, parent, c->paths[path].row);

    if (there)
        tp_credit_fold(c, there, path);
    else
        link_child(c, parent, path);
}

/* ---- calls and work ---- */

static void give_up(struct tp_credit *c, uint64_t ticks, uint64_t count)
{
    c->without_launch += count;
    c->without_launch_ticks += ticks;
}

static void put_call(struct tp_credit *c, struct tp_credit_call *call, uint32_t path)
{
    struct tp_credit_path *to = path_at(c, path);
    uint32_t place = (uint32_t)(call - c->calls) + 1;

    call->where = path;
    call->previous = 0;
    call->next = to->calls;
    if (call->next)
        c->calls[call->next - 1].previous = place;
    to->calls = place;
}

static void take_call(struct tp_credit *c, const struct tp_credit_call *call)
{
    if (call->previous)
        c->calls[call->previous - 1].next = call->next;
    else
        c->paths[call->where].calls = call->next;
    if (call->next)
        c->calls[call->next - 1].previous = call->previous;
}

static void give_work(struct tp_credit *c, uint32_t work)
{
    c->works[work].count = c->work_spare;
    c->work_spare = work;
    c->works_used--;
}

static void forget(struct tp_credit *c, struct tp_credit_call *call)
{
    if (call->state == TP_CREDIT_PLACED)
        take_call(c, call);
    if (call->state == TP_CREDIT_WAITING) {
        const struct tp_credit_work *work = &c->works[call->where];
        give_up(c, work->ticks, work->count);
        give_work(c, call->where);
    }
    if (call->state != TP_CREDIT_FREE)
        c->calls_used--;
    *call = (struct tp_credit_call){.state = TP_CREDIT_FREE};
}

/* Is its other half still to come? */
static bool still_waits(const struct tp_credit_call *call)
{
    return call->state == TP_CREDIT_WAITING ||
           (call->state == TP_CREDIT_PLACED && !call->saw_work && !call->is_idle);
}

/* Of two ids that had one place, each has its own then. */
static void widen(struct tp_credit *c)
{
    for (uint32_t i = 0; i < c->window; i++) {
        struct tp_credit_call *from = &c->calls[i], *to = from + c->window;
        if (from->state == TP_CREDIT_FREE || from->id % (2 * c->window) == i)
            continue;
        if (from->state == TP_CREDIT_PLACED)
            take_call(c, from);
        *to = *from;
        *from = (struct tp_credit_call){.state = TP_CREDIT_FREE};
        if (to->state == TP_CREDIT_PLACED)
            put_call(c, to, to->where);
    }
    c->window *= 2;
}

static struct tp_credit_call *place_of(struct tp_credit *c, uint32_t id)
{
    return &c->calls[id % c->window];
}

/* The place of an id; what is there of an older one goes. NULL: a newer one has it. */
static struct tp_credit_call *find_call(struct tp_credit *c, uint32_t id)
{
    struct tp_credit_call *call = place_of(c, id);

    while (call->state != TP_CREDIT_FREE && call->id != id && still_waits(call) &&
           c->window < TP_CREDIT_IDS) {
        widen(c);
        call = place_of(c, id);
    }
    if (call->state == TP_CREDIT_FREE || call->id == id)
        return call;
    if ((int32_t)(id - call->id) < 0)
        return NULL;
    forget(c, call);
    return call;
}

void tp_credit_call(struct tp_credit *c, uint32_t id, uint32_t path)
{
    struct tp_credit_call *call = find_call(c, id);

    if ((int32_t)(id - c->newest) > 0)
        c->newest = id;
    if (!call || call->state == TP_CREDIT_PLACED)
        return;
    if (call->state == TP_CREDIT_WAITING) {
        c->paths[path].own += c->works[call->where].ticks;
        give_work(c, call->where);
    } else {
        c->calls_used++;
        call->id = id;
    }
    call->state = TP_CREDIT_PLACED;
    put_call(c, call, path);
}

void tp_credit_idle(struct tp_credit *c, uint32_t id)
{
    struct tp_credit_call *call = place_of(c, id);

    if (call->state == TP_CREDIT_PLACED && call->id == id)
        call->is_idle = true;
}

static uint32_t take_work(struct tp_credit *c)
{
    uint32_t work = c->work_spare;

    if (c->works_used == TP_CREDIT_WORKS)
        return 0;
    if (work)
        c->work_spare = c->works[work].count;
    else
        work = ++c->work_count;
    c->works_used++;
    c->works[work] = (struct tp_credit_work){0};
    return work;
}

void tp_credit_work(struct tp_credit *c, uint32_t id, uint64_t ticks, bool is_graph)
{
    struct tp_credit_call *call = id ? find_call(c, id) : NULL;
    uint32_t work = 0;

    if (call && call->state == TP_CREDIT_PLACED) {
        c->paths[call->where].own += ticks;
    } else if (call && call->state == TP_CREDIT_WAITING) {
        work = call->where;
    } else if (call && (work = take_work(c))) {
        *call = (struct tp_credit_call){.id = id, .where = work, .state = TP_CREDIT_WAITING};
        c->calls_used++;
    } else {
        give_up(c, ticks, 1);
        return;
    }
    if (work) {
        c->works[work].ticks += ticks;
        c->works[work].count++;
    }
    call->saw_work = true;
    call->is_graph |= is_graph;
}

/* ---- telling ---- */

/* Work for them has come, or none will: a second piece comes soon behind the first. */
static void forget_done(struct tp_credit *c)
{
    for (uint32_t i = 0; c->calls_used && i < c->window; i++) {
        struct tp_credit_call *call = &c->calls[i];
        if (call->state == TP_CREDIT_PLACED && !call->is_graph &&
            (call->saw_work || call->is_idle) && c->newest - call->id > TP_CREDIT_DONE_IDS)
            forget(c, call);
    }
}

static uint32_t deepest_first(const struct tp_credit *c, uint32_t path)
{
    while (c->paths[path].first_child)
        path = c->paths[path].first_child;
    return path;
}

static void tell_below(struct tp_credit *c, uint32_t top,
                       void (*tell)(void *context, uint32_t row, uint64_t own, uint64_t total),
                       void *context)
{
    uint32_t at = deepest_first(c, top);

    while (at != top) {
        struct tp_credit_path *path = path_at(c, at);
        uint32_t next = path->next, parent = path->parent;
        uint64_t total = path->own + path->below;
        if (total)
            tell(context, path->row, path->own, total);
        c->paths[parent].below += total;
        path->own = path->below = 0;
        if (!path->first_child && !path->calls) {
            unlink_child(c, at);
            give_path(c, at);
        }
        at = next ? deepest_first(c, next) : parent;
    }
}

void tp_credit_tell(struct tp_credit *c,
                    void (*tell)(void *context, uint32_t row, uint64_t own, uint64_t total),
                    void *context)
{
    forget_done(c);
    tell_below(c, TP_CREDIT_NOWHERE, tell, context);
    for (uint32_t path = 1; path <= c->path_count; path++)
        if (c->paths[path].parent == OPEN)
            tell_below(c, path, tell, context);
    c->paths[TP_CREDIT_NOWHERE].own = c->paths[TP_CREDIT_NOWHERE].below = 0;
}

/* ---- out ---- */

void tp_credit_number(struct tp_credit *c, uint32_t top, uint32_t *number,
                      void (*put)(void *context, const struct tp_credit_path *path,
                                  uint32_t parent_number),
                      void *context)
{
    uint32_t at = top;

    if (top)
        c->paths[top].number = ++*number;
    for (;;) {
        uint32_t next = c->paths[at].first_child;
        while (!next && at != top) {
            next = c->paths[at].next;
            at = c->paths[at].parent;
        }
        if (!next)
            return;
        at = next;
        c->paths[at].number = ++*number;
        put(context, path_at(c, at), c->paths[c->paths[at].parent].number);
    }
}

static uint32_t count_calls(const struct tp_credit *c, enum tp_credit_state state)
{
    return state == TP_CREDIT_WAITING ? c->works_used : c->calls_used - c->works_used;
}

/* From the oldest place on, so that most ids ascend. */
static void put_state(const struct tp_credit *c, enum tp_credit_state state,
                      struct tp_wire_out *out)
{
    uint32_t before = 0;

    tp_wire_put_varint(out, count_calls(c, state));
    for (uint32_t i = 1; count_calls(c, state) && i <= c->window; i++) {
        const struct tp_credit_call *call = &c->calls[(c->newest + i) % c->window];
        if (call->state != state)
            continue;
        if (state == TP_CREDIT_PLACED)
            tp_summary_put_call(out, call->id - before, c->paths[call->where].number,
                                call->saw_work);
        else
            tp_summary_put_waiting(out, call->id - before, c->works[call->where].count,
                                   c->works[call->where].ticks);
        before = call->id;
    }
}

void tp_credit_put(const struct tp_credit *c, struct tp_wire_out *out)
{
    put_state(c, TP_CREDIT_PLACED, out);
    put_state(c, TP_CREDIT_WAITING, out);
    tp_wire_put_varint(out, c->without_launch);
    tp_wire_put_varint(out, c->without_launch_ticks);
}
