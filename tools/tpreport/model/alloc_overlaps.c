/* SPDX-License-Identifier: MIT */
#include "model/alloc_overlaps.h"

#include <errno.h>
#include <stdlib.h>

#include "model/hash.h"

#define STEPS_PER_EVENT 32u
#define STEPS_MOST (1u << 20)
#define PAST_LEAST 8u /* events that are settled where there are too many */

void tp_overlaps_fini(struct tp_overlaps *o)
{
    free(o->events);
    free(o->items);
    free(o->buckets);
    *o = (struct tp_overlaps){0};
}

static uint32_t *bucket_of(const struct tp_overlaps *o, uint64_t address)
{
    return &o->buckets[tp_hash_bytes(o->seed, &address, sizeof(address)) & (o->bucket_count - 1)];
}

uint32_t tp_overlaps_find(const struct tp_overlaps *o, uint64_t address)
{
    if (!o->count)
        return TP_OVERLAP_NONE;
    uint32_t at = *bucket_of(o, address);
    while (at && o->items[at - 1].address != address)
        at = o->items[at - 1].next;
    return at - 1;
}

/* ---- room ---- */

static int grow_items(struct tp_overlaps *o)
{
    uint32_t room = o->item_room ? o->item_room * 2 : 64;

    struct tp_overlap *items = realloc(o->items, room * sizeof(*items));
    if (!items)
        return -ENOMEM;
    o->items = items;
    uint32_t *buckets = calloc(room, sizeof(*buckets));
    if (!buckets)
        return -ENOMEM;
    free(o->buckets);
    o->buckets = buckets;
    o->bucket_count = room;
    o->seed = tp_hash_seed();
    for (uint32_t i = 0; i < o->item_room; i++) { /* all of them are in use */
        uint32_t *bucket = bucket_of(o, items[i].address);
        items[i].next = *bucket;
        *bucket = i + 1;
    }
    for (uint32_t i = room; i-- > o->item_room;) {
        items[i].next = o->spare_item;
        o->spare_item = i + 1;
    }
    o->item_room = room;
    return 0;
}

static int grow_events(struct tp_overlaps *o)
{
    uint32_t room = o->event_room ? o->event_room * 2 : 64;

    struct tp_overlap_event *events = realloc(o->events, room * sizeof(*events));
    if (!events)
        return -ENOMEM;
    o->events = events;
    for (uint32_t i = room; i-- > o->event_room;) {
        events[i].next = o->spare_event;
        o->spare_event = i + 1;
    }
    o->event_room = room;
    return 0;
}

/* ---- events ---- */

int64_t tp_overlaps_begin(struct tp_overlaps *o, uint64_t address)
{
    if (!o->spare_item && grow_items(o))
        return -ENOMEM;
    uint32_t index = o->spare_item - 1, *bucket = bucket_of(o, address);
    struct tp_overlap *item = &o->items[index];
    o->spare_item = item->next;
    *item = (struct tp_overlap){
        .address = address, .first = TP_OVERLAP_NONE, .last = TP_OVERLAP_NONE, .next = *bucket};
    *bucket = index + 1;
    o->count++;
    return index;
}

int tp_overlaps_add(struct tp_overlaps *o, uint32_t overlap, const struct tp_overlap_event *event,
                    uint32_t *of_thread)
{
    struct tp_overlap *item = &o->items[overlap];

    if (!o->spare_event && grow_events(o))
        return -ENOMEM;
    uint32_t index = o->spare_event - 1;
    struct tp_overlap_event *e = &o->events[index];
    o->spare_event = e->next;
    *e = *event;
    e->overlap = overlap;
    e->next = TP_OVERLAP_NONE;
    if (item->last == TP_OVERLAP_NONE)
        item->first = index;
    else
        o->events[item->last].next = index;
    item->last = index;
    item->count++;
    if (e->is_open) {
        e->next_of_thread = *of_thread;
        *of_thread = index + 1;
        item->open++;
    }
    o->event_count++;
    if (o->steps < STEPS_MOST)
        o->steps += STEPS_PER_EVENT;
    return 0;
}

static void free_event(struct tp_overlaps *o, uint32_t index)
{
    o->events[index].next = o->spare_event;
    o->spare_event = index + 1;
    o->event_count--;
}

static void forget_event(struct tp_overlaps *o, struct tp_overlap *item, uint32_t index)
{
    struct tp_overlap_event *e = &o->events[index];

    e->overlap = TP_OVERLAP_NONE;
    item->count--;
    item->open -= e->is_open;
    if (!e->is_open)
        free_event(o, index);
}

void tp_overlaps_sweep(struct tp_overlaps *o, uint32_t overlap)
{
    struct tp_overlap *item = &o->items[overlap];
    uint32_t *link = &item->first;

    item->last = TP_OVERLAP_NONE;
    while (*link != TP_OVERLAP_NONE) {
        uint32_t index = *link;
        if (o->events[index].is_over) {
            *link = o->events[index].next;
            forget_event(o, item, index);
        } else {
            item->last = index;
            link = &o->events[index].next;
        }
    }
}

void tp_overlaps_end(struct tp_overlaps *o, uint32_t overlap)
{
    struct tp_overlap *item = &o->items[overlap];
    uint32_t *link = bucket_of(o, item->address), next;

    for (uint32_t i = item->first; i != TP_OVERLAP_NONE; i = next) {
        next = o->events[i].next;
        forget_event(o, item, i);
    }
    while (*link != overlap + 1)
        link = &o->items[*link - 1].next;
    *link = item->next;
    item->next = o->spare_item;
    o->spare_item = overlap + 1;
    o->count--;
}

uint32_t tp_overlaps_close(struct tp_overlaps *o, uint32_t *of_thread, uint64_t to)
{
    uint32_t index = *of_thread - 1;
    struct tp_overlap_event *e = &o->events[index];
    uint32_t overlap = e->overlap;

    *of_thread = e->next_of_thread;
    e->is_open = false;
    e->to = to;
    if (overlap == TP_OVERLAP_NONE)
        free_event(o, index);
    else if (!--o->items[overlap].open)
        return overlap;
    return TP_OVERLAP_NONE;
}

/* ---- their order ---- */

static void collect_events(const struct tp_overlaps *o, struct tp_overlap_verdict *v)
{
    for (uint32_t i = v->overlap->first; i != TP_OVERLAP_NONE; i = v->events[v->count++]->next)
        v->events[v->count] = &o->events[i];
}

/* Nothing that is told from @now on was before this time, nor was what is open, but for what has
 * been open so long that there would be too little before it. */
static uint64_t find_past(const struct tp_overlap_verdict *v, uint64_t now)
{
    uint64_t from = 0;
    unsigned past = 0;

    while (from < now && past < PAST_LEAST) {
        uint64_t next = now;
        for (unsigned i = 0; i < v->count; i++) {
            const struct tp_overlap_event *e = v->events[i];
            if (e->is_open && e->from > from && e->from < next)
                next = e->from;
        }
        from = next;
        past = 0;
        for (unsigned i = 0; i < v->count; i++)
            past += v->events[i]->to <= from;
    }
    return from;
}

/* Return: how many events, with all of the past among them, are in order. */
static unsigned find_order(struct tp_overlap_verdict *v, uint64_t past, uint32_t *steps)
{
    struct tp_alloc_turn turns[TP_OVERLAP_MAX];

    for (unsigned i = 0; i < v->count; i++) {
        const struct tp_overlap_event *e = v->events[i];
        turns[i] = (struct tp_alloc_turn){.from = e->from,
                                          .to = e->to,
                                          .thread = e->thread,
                                          .is_free = e->is_free,
                                          .is_wanted = e->to <= past};
    }
    unsigned count = tp_alloc_order(turns, v->count, v->overlap->base.is_used, steps, v->order);
    v->before[0] = v->overlap->base.is_used ? TP_OVERLAP_BASE : TP_OVERLAP_NOBODY;
    for (unsigned i = 0; i < v->count; i++)
        v->before[i + 1] = v->events[v->order[i]]->is_free ? TP_OVERLAP_NOBODY : v->order[i];
    return count;
}

/* Events that stay where they are in the order: of the past the first ones, those before which
 * nothing else can come if there are some. */
static unsigned count_past(const struct tp_overlap_verdict *v, uint64_t past, unsigned ordered)
{
    unsigned count = 0, most = ordered < PAST_LEAST ? ordered : PAST_LEAST;

    while (count < most && v->events[v->order[count]]->to <= past)
        count++;
    return count ? count : most ? most : v->count / 2;
}

void tp_overlaps_judge(struct tp_overlaps *o, struct tp_overlap *overlap, uint64_t now,
                       struct tp_overlap_verdict *v)
{
    *v = (struct tp_overlap_verdict){.overlap = overlap};
    collect_events(o, v);
    uint64_t past = now == UINT64_MAX ? now : find_past(v, now);
    unsigned ordered = find_order(v, past, &o->steps);
    v->past = past == UINT64_MAX ? v->count : count_past(v, past, ordered);
}
