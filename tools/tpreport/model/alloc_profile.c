/* SPDX-License-Identifier: MIT */
#include "model/alloc_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "event/names.h"
#include "model/hash.h"

#define CURVE_WIDTH_NS 1000000 /* at first */
#define LEAK_BLOCKS 16         /* fewer are no growth */

void tp_alloc_profile_init(struct tp_alloc_profile *profile)
{
    *profile = (struct tp_alloc_profile){.seed = tp_hash_seed(),
                                         .process_curve.width_ns = CURVE_WIDTH_NS,
                                         .curve.width_ns = CURVE_WIDTH_NS};
}

static void counter_table_fini(struct tp_alloc_counter_table *table)
{
    tp_id_index_fini(&table->names);
    free(table->items);
}

void tp_alloc_profile_fini(struct tp_alloc_profile *profile)
{
    free(profile->sites);
    free(profile->slots);
    free(profile->threads_known);
    tp_overlaps_fini(&profile->overlaps);
    tp_live_memory_fini(&profile->live);
    counter_table_fini(&profile->ranges);
    counter_table_fini(&profile->threads);
    tp_frames_fini(&profile->frames);
    *profile = (struct tp_alloc_profile){0};
}

/* ---- the curve ---- */

static void coarsen(struct tp_alloc_curve *curve)
{
    size_t half = (curve->count + 1) / 2;

    for (size_t i = 0; i < half; i++) {
        double a = curve->most[2 * i], b = 2 * i + 1 < curve->count ? curve->most[2 * i + 1] : a;
        curve->most[i] = a > b ? a : b;
    }
    curve->count = half;
    curve->width_ns *= 2;
}

/* Up to @ns what was live stays live. */
static size_t reach(struct tp_alloc_curve *curve, int64_t ns)
{
    int64_t at = ns > 0 ? ns : 0;

    while (at / curve->width_ns >= TP_ALLOC_CURVE)
        coarsen(curve);
    size_t index = (size_t)(at / curve->width_ns);
    while (curve->count <= index)
        curve->most[curve->count++] = curve->last;
    return index;
}

static void draw(struct tp_alloc_curve *curve, int64_t ns, double live)
{
    size_t index = reach(curve, ns);

    if (live > curve->most[index])
        curve->most[index] = live;
    curve->last = live;
}

static void add_curve(struct tp_alloc_curve *into, struct tp_alloc_curve *from)
{
    while (from->width_ns < into->width_ns)
        coarsen(from);
    while (into->width_ns < from->width_ns)
        coarsen(into);
    while (into->count < from->count)
        into->most[into->count++] = 0;
    for (size_t i = 0; i < from->count; i++)
        into->most[i] += from->most[i];
}

/* ---- places ---- */

static uint64_t hash_site(uint64_t seed, const struct tp_alloc_event *e)
{
    uint64_t parts[2] = {(uint64_t)e->range << 32 | e->thread, e->stack};

    return tp_hash_bytes(seed, parts, sizeof(parts));
}

static uint64_t hash_of(uint64_t seed, const struct tp_alloc_site *s)
{
    const struct tp_alloc_event e = {.range = s->range, .stack = s->stack, .thread = s->thread};

    return hash_site(seed, &e);
}

static int grow_slots(struct tp_alloc_profile *p)
{
    size_t count = p->slot_count ? p->slot_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    for (size_t i = p->process_first; i < p->count; i++) {
        size_t at = hash_of(p->seed, &p->sites[i]) & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(p->slots);
    p->slots = slots;
    p->slot_count = count;
    return 0;
}

static int add_site(struct tp_alloc_profile *p, const struct tp_alloc_event *e)
{
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 256;
        struct tp_alloc_site *sites =
            capacity < UINT32_MAX ? realloc(p->sites, capacity * sizeof(*sites)) : NULL;
        if (!sites)
            return -ENOMEM;
        p->sites = sites;
        p->capacity = capacity;
    }
    p->sites[p->count++] = (struct tp_alloc_site){
        .range = e->range, .stack = e->stack, .thread = e->thread, .first = p->process_records - 1};
    return 0;
}

static int find_site(struct tp_alloc_profile *p, const struct tp_alloc_event *e, uint32_t *ret)
{
    if (2 * (p->count - p->process_first + 1) > p->slot_count && grow_slots(p))
        return -ENOMEM;
    size_t at = hash_site(p->seed, e) & (p->slot_count - 1);
    for (; p->slots[at]; at = (at + 1) & (p->slot_count - 1)) {
        const struct tp_alloc_site *s = &p->sites[p->slots[at] - 1];
        if (s->range == e->range && s->stack == e->stack && s->thread == e->thread) {
            *ret = p->slots[at] - 1;
            return 0;
        }
    }
    if (add_site(p, e))
        return -ENOMEM;
    p->slots[at] = (uint32_t)p->count;
    *ret = (uint32_t)p->count - 1;
    return 0;
}

/* ---- events ---- */

/* Of how many allocations a recorded one tells; the same number wherever it counts. */
static float weight_of(const struct tp_alloc_event *e)
{
    double n = e->drawn_bytes ? (double)e->drawn_bytes : 1;

    return e->period ? (float)(1 / -expm1(-n / (double)e->period)) : 1;
}

/* Before what is live at a place changes: it may not have changed since the peak. */
static void change_live(struct tp_alloc_profile *p, struct tp_alloc_site *site, double by)
{
    if (site->peak_seen != p->peaks) {
        site->live_at_peak = site->live_bytes;
        site->peak_seen = p->peaks;
    }
    site->live_bytes += by;
    p->live_bytes += by;
}

static void see_peak(struct tp_alloc_profile *p, int64_t ns)
{
    if (p->live_bytes <= p->process_peak)
        return;
    p->process_peak = p->live_bytes;
    p->peaks++;
    if (p->process_peak > p->highest_peak) {
        p->highest_peak = p->process_peak;
        p->peak_ns = ns;
    }
}

#define NOWHERE UINT32_MAX /* a block that is not selected */

/* A block was freed, or (@sign -1) was not, after all. */
static void leave(struct tp_alloc_profile *p, const struct tp_live_block *block, int64_t ns,
                  int sign)
{
    if (block->owner == NOWHERE)
        return;
    struct tp_alloc_site *site = &p->sites[block->owner];
    double weight = sign * (double)block->weight;
    double bytes = weight * (double)block->bytes;

    change_live(p, site, -bytes);
    site->sums.frees += weight;
    site->sums.freed_bytes += bytes;
    draw(&p->process_curve, ns, p->live_bytes);
}

static void count_temporary(struct tp_alloc_profile *p, const struct tp_live_block *block, int sign)
{
    if (block->owner != NOWHERE)
        p->sites[block->owner].sums.temporary += sign * (double)block->weight;
}

/* Its probability is 1 / @weight. */
static void count_sample(struct tp_alloc_sampled *s, double weight, double bytes, double period)
{
    s->unseen += weight - 1;
    s->unseen_bytes += bytes * (weight - 1);
    s->allocations_variance += weight * (weight - 1);
    s->bytes_variance += bytes * bytes * weight * (weight - 1);
    s->bytes_grain += bytes * bytes * (weight - 1);
    s->most = fmax(s->most, weight - 1);
    s->most_bytes = fmax(s->most_bytes, fmax(period, bytes * (weight - 1)));
}

static void count_record(struct tp_alloc_profile *p, const struct tp_alloc_event *e, double weight,
                         struct tp_alloc_sums *sums)
{
    double bytes = (double)e->bytes;

    sums->first_ns = sums->allocations > 0 ? sums->first_ns : e->ns;
    sums->last_ns = e->ns;
    sums->allocations += weight;
    sums->allocated_bytes += weight * bytes;
    if (e->period)
        count_sample(&sums->sampled, weight, bytes, (double)e->period);
    if (!p->records++ || e->period < p->least_period)
        p->least_period = e->period;
    if (e->period > p->largest_period)
        p->largest_period = e->period;
    p->untimed += e->is_untimed;
    p->resizes += e->is_resize;
    p->unwatched += e->is_unwatched;
}

/* ---- overlaps ---- */

/* From here on its blocks are not in the table of live ones, and whose a free was is open. */
static void dispute(struct tp_alloc_profile *p, struct tp_overlap *overlap)
{
    struct tp_live_block block;

    overlap->is_disputed = true;
    tp_live_memory_take(&p->live, 0, overlap->address, &block);
    for (uint32_t i = overlap->first; i != TP_OVERLAP_NONE; i = p->overlaps.events[i].next) {
        const struct tp_overlap_event *e = &p->overlaps.events[i];
        if (e->is_free && e->is_last && e->block.is_used)
            count_temporary(p, &e->block, -1);
    }
}

/* Until it is known which one was freed: the one that was told first, now or when one is told. */
static void free_any(struct tp_alloc_profile *p, struct tp_overlap *overlap, int64_t ns)
{
    if (overlap->base.is_used && !overlap->base_is_dead) {
        overlap->base_is_dead = true;
        leave(p, &overlap->base, ns, 1);
        return;
    }
    for (uint32_t i = overlap->first; i != TP_OVERLAP_NONE; i = p->overlaps.events[i].next) {
        struct tp_overlap_event *e = &p->overlaps.events[i];
        if (e->is_free || e->is_dead)
            continue;
        e->is_dead = true;
        leave(p, &e->block, ns, 1);
        return;
    }
    overlap->owed++;
}

static const struct tp_live_block *block_of(const struct tp_overlap_verdict *v, unsigned who)
{
    return who == TP_OVERLAP_BASE ? &v->overlap->base : &v->events[who]->block;
}

/* Events that are past are as they are; of those behind them it may turn out otherwise.
 * Return: frees among the latter for which there was no block. */
static uint32_t follow_order(struct tp_alloc_profile *p, struct tp_overlap_verdict *v)
{
    uint32_t owed = 0;

    for (unsigned i = 0; i < v->count; i++) {
        struct tp_overlap_event *e = v->events[v->order[i]];
        unsigned before = v->before[i];
        e->is_over = i < v->past;
        if (before != TP_OVERLAP_NOBODY)
            v->dies[before] = e->is_free || e->is_over;
        if (!e->is_over) {
            owed += e->is_free && before == TP_OVERLAP_NOBODY;
            continue;
        }
        p->unknown_frees += e->is_free && before == TP_OVERLAP_NOBODY;
        p->unseen_frees += !e->is_free && before != TP_OVERLAP_NOBODY;
        if (e->is_last && before != TP_OVERLAP_NOBODY &&
            (before == TP_OVERLAP_BASE || v->events[before]->thread == e->thread))
            count_temporary(p, block_of(v, before), 1);
    }
    return owed;
}

static void correct(struct tp_alloc_profile *p, const struct tp_overlap_verdict *v, unsigned who,
                    bool *is_dead, int64_t ns)
{
    if (v->dies[who] != *is_dead)
        leave(p, block_of(v, who), ns, *is_dead ? -1 : 1);
    *is_dead = v->dies[who];
}

/* An overlap's events are put in order, and the sums with them, as far as they are past at @now;
 * UINT64_MAX: all of them. */
static void judge(struct tp_alloc_profile *p, struct tp_overlap *overlap, uint64_t now, int64_t ns)
{
    struct tp_overlap_verdict v;

    tp_overlaps_judge(&p->overlaps, overlap, now, &v);
    unsigned live = v.before[v.past];
    overlap->owed = follow_order(p, &v);
    correct(p, &v, TP_OVERLAP_BASE, &overlap->base_is_dead, ns);
    for (unsigned i = 0; i < v.count; i++)
        if (!v.events[i]->is_free)
            correct(p, &v, i, &v.events[i]->is_dead, ns);
    if (live == TP_OVERLAP_NOBODY) {
        overlap->base.is_used = overlap->base_is_dead = false;
    } else if (live != TP_OVERLAP_BASE) {
        overlap->base = v.events[live]->block;
        overlap->base_is_dead = v.events[live]->is_dead;
    }
}

/* None of an overlap's events is open any more. */
static int settle(struct tp_alloc_profile *p, uint32_t number, int64_t ns)
{
    struct tp_overlap *overlap = &p->overlaps.items[number];
    struct tp_live_block before;
    int error = 0;

    if (overlap->is_disputed) {
        judge(p, overlap, UINT64_MAX, ns);
        if (overlap->base.is_used)
            error = tp_live_memory_put(&p->live, &overlap->base, &before);
    }
    tp_overlaps_end(&p->overlaps, number);
    return error;
}

/* There are too many of them. */
static int settle_past(struct tp_alloc_profile *p, uint32_t number, const struct tp_alloc_event *e)
{
    struct tp_overlap *overlap = &p->overlaps.items[number];

    p->cut_overlaps++;
    if (!overlap->is_disputed)
        dispute(p, overlap);
    judge(p, overlap, e->ticks, e->ns);
    tp_overlaps_sweep(&p->overlaps, number);
    return overlap->open ? 0 : settle(p, number, e->ns);
}

static int settle_thread(struct tp_alloc_profile *p, struct tp_alloc_thread *thread, uint64_t ticks,
                         int64_t ns)
{
    int error = 0;

    while (thread->open && !error) {
        uint32_t overlap = tp_overlaps_close(&p->overlaps, &thread->open, ticks);
        if (overlap != TP_OVERLAP_NONE)
            error = settle(p, overlap, ns);
    }
    return error;
}

static int settle_all(struct tp_alloc_profile *p, int64_t ns)
{
    int error = 0;

    for (size_t i = 0; i < p->threads_known_count && !error; i++)
        error = settle_thread(p, &p->threads_known[i], UINT64_MAX, ns);
    return error;
}

/* Return: 1 when the event is one of an overlap, 0 when all before it is certain, or -ENOMEM. */
static int find_overlap(struct tp_alloc_profile *p, const struct tp_alloc_event *e, uint32_t *ret)
{
    *ret = tp_overlaps_find(&p->overlaps, e->address);
    if (*ret != TP_OVERLAP_NONE)
        return 1;
    if (!e->is_untimed)
        return 0;
    int64_t made = tp_overlaps_begin(&p->overlaps, e->address);
    if (made < 0)
        return -ENOMEM;
    *ret = (uint32_t)made;
    return 1;
}

static int add_event(struct tp_alloc_profile *p, uint32_t number, const struct tp_alloc_event *e,
                     struct tp_overlap_event *event)
{
    struct tp_overlaps *overlaps = &p->overlaps;

    event->from = e->ticks;
    event->to = e->is_untimed ? UINT64_MAX : e->ticks;
    event->is_open = e->is_untimed;
    int error = tp_overlaps_add(overlaps, number, event, &p->threads_known[event->thread].open);
    if (!error && overlaps->items[number].count == TP_OVERLAP_MAX)
        error = settle_past(p, number, e);
    if (!error && overlaps->event_count >= TP_OVERLAP_EVENTS_MAX)
        error = settle_all(p, e->ns);
    return error;
}

/* ---- events ---- */

/* What the thread did since its last time happened before this one. */
static int meet_thread(struct tp_alloc_profile *p, const struct tp_alloc_event *e, uint32_t number)
{
    if (number >= p->threads_known_count) {
        size_t count = (size_t)number + 64;
        struct tp_alloc_thread *threads = realloc(p->threads_known, count * sizeof(*threads));
        if (!threads)
            return -ENOMEM;
        memset(threads + p->threads_known_count, 0,
               (count - p->threads_known_count) * sizeof(*threads));
        p->threads_known = threads;
        p->threads_known_count = count;
    }
    struct tp_alloc_thread *thread = &p->threads_known[number];
    if (e->is_untimed && e->ticks == thread->told)
        return 0;
    thread->told = e->ticks;
    return thread->open ? settle_thread(p, thread, e->ticks, e->ns) : 0;
}

static void enter(struct tp_alloc_profile *p, const struct tp_alloc_event *e,
                  const struct tp_live_block *block)
{
    if (block->owner == NOWHERE)
        return;
    change_live(p, &p->sites[block->owner], (double)block->weight * (double)e->bytes);
    see_peak(p, e->ns);
    draw(&p->process_curve, e->ns, p->live_bytes);
}

static int put_certain(struct tp_alloc_profile *p, const struct tp_alloc_event *e,
                       const struct tp_live_block *block)
{
    struct tp_live_block before;
    int error = tp_live_memory_put(&p->live, block, &before);

    if (error)
        return error;
    if (before.is_used) {
        p->unseen_frees++;
        leave(p, &before, e->ns, 1);
    }
    enter(p, e, block);
    return 0;
}

static int put_uncertain(struct tp_alloc_profile *p, const struct tp_alloc_event *e,
                         const struct tp_live_block *block, uint32_t thread, uint32_t number)
{
    struct tp_overlap *overlap = &p->overlaps.items[number];
    struct tp_overlap_event event = {.block = *block, .thread = thread};
    struct tp_live_block before;

    if (!overlap->is_disputed) {
        int error = tp_live_memory_put(&p->live, block, &before);
        if (error)
            return error;
        if (!overlap->count)
            overlap->base = before;
        if (before.is_used)
            dispute(p, overlap);
    }
    enter(p, e, block);
    if (overlap->owed) {
        overlap->owed--;
        event.is_dead = true;
        leave(p, block, e->ns, 1);
    }
    return add_event(p, number, e, &event);
}

int tp_alloc_profile_allocated(struct tp_alloc_profile *p, const struct tp_alloc_event *e,
                               uint32_t thread_number)
{
    struct tp_live_block block = {.address = e->address,
                                  .bytes = e->bytes,
                                  .ns = p->process_records++,
                                  .owner = NOWHERE,
                                  .weight = weight_of(e),
                                  .is_used = true};
    uint32_t overlap;
    int error = meet_thread(p, e, thread_number);

    if (!error && e->is_selected)
        error = find_site(p, e, &block.owner);
    if (error)
        return error;
    p->threads_known[thread_number].last = e->address;
    p->threads_known[thread_number].last_calls = e->calls;
    if (e->is_selected)
        count_record(p, e, (double)block.weight, &p->sites[block.owner].sums);
    if (e->is_unwatched)
        return 0;
    int is_uncertain = find_overlap(p, e, &overlap);
    return is_uncertain < 0 ? is_uncertain
           : is_uncertain   ? put_uncertain(p, e, &block, thread_number, overlap)
                            : put_certain(p, e, &block);
}

/* Return: was there a block? */
static bool take(struct tp_alloc_profile *p, const struct tp_alloc_event *e, bool is_last,
                 struct tp_live_block *block)
{
    if (!tp_live_memory_take(&p->live, 0, e->address, block))
        return false;
    leave(p, block, e->ns, 1);
    if (is_last)
        count_temporary(p, block, 1);
    return true;
}

static int take_uncertain(struct tp_alloc_profile *p, const struct tp_alloc_event *e,
                          uint32_t thread, bool is_last, uint32_t number)
{
    struct tp_overlap *overlap = &p->overlaps.items[number];
    struct tp_overlap_event event = {.thread = thread, .is_free = true, .is_last = is_last};

    if (!overlap->is_disputed && take(p, e, is_last, &event.block)) {
        if (!overlap->count)
            overlap->base = event.block;
        if (overlap->last == TP_OVERLAP_NONE)
            overlap->base_is_dead = true;
        else
            p->overlaps.events[overlap->last].is_dead = true;
        return add_event(p, number, e, &event);
    }
    if (!overlap->is_disputed)
        dispute(p, overlap);
    free_any(p, overlap, e->ns);
    return add_event(p, number, e, &event);
}

int tp_alloc_profile_freed(struct tp_alloc_profile *p, const struct tp_alloc_event *e,
                           uint32_t thread_number)
{
    struct tp_live_block block;
    uint32_t overlap;
    int error = meet_thread(p, e, thread_number);

    if (error)
        return error;
    uint64_t *last = &p->threads_known[thread_number].last;
    /* of samples: whatever was allocated in between was counted */
    bool is_last = *last == e->address && p->threads_known[thread_number].last_calls == e->calls;
    if (is_last)
        *last = 0;
    int is_uncertain = find_overlap(p, e, &overlap);
    if (is_uncertain)
        return is_uncertain < 0 ? is_uncertain
                                : take_uncertain(p, e, thread_number, is_last, overlap);
    p->unknown_frees += !take(p, e, is_last, &block);
    return 0;
}

/* ---- exact counters ---- */

int tp_alloc_count(struct tp_alloc_counter_table *t, const struct tp_alloc_counters *more)
{
    uint32_t number;
    int result = tp_id_index_put(&t->names, more->name, &number);

    if (result < 0)
        return result;
    if (number >= t->capacity) {
        size_t capacity = t->capacity ? t->capacity * 2 : 32;
        struct tp_alloc_counters *items = realloc(t->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        t->items = items;
        t->capacity = capacity;
    }
    if (number == t->count)
        t->items[t->count++] = (struct tp_alloc_counters){.name = more->name};
    struct tp_alloc_counters *c = &t->items[number];
    c->calls += more->calls;
    c->allocations += more->allocations;
    c->allocated_bytes += more->allocated_bytes;
    c->net_bytes += more->net_bytes;
    c->self_net_bytes += more->self_net_bytes;
    return 0;
}

/* ---- the end ---- */

static void add_sampled(struct tp_alloc_sampled *into, const struct tp_alloc_sampled *from)
{
    into->unseen += from->unseen;
    into->unseen_bytes += from->unseen_bytes;
    into->allocations_variance += from->allocations_variance;
    into->bytes_variance += from->bytes_variance;
    into->bytes_grain += from->bytes_grain;
    into->most = fmax(into->most, from->most);
    into->most_bytes = fmax(into->most_bytes, from->most_bytes);
}

static void add_sums(struct tp_alloc_sums *into, const struct tp_alloc_sums *from)
{
    if (into->allocations <= 0) {
        into->first_ns = from->first_ns;
        into->last_ns = from->last_ns;
    }
    into->allocations += from->allocations;
    into->allocated_bytes += from->allocated_bytes;
    into->frees += from->frees;
    into->freed_bytes += from->freed_bytes;
    into->live_blocks += from->live_blocks;
    into->live_bytes += from->live_bytes;
    into->peak_bytes += from->peak_bytes;
    into->temporary += from->temporary;
    add_sampled(&into->sampled, &from->sampled);
    into->quarters |= from->quarters;
    into->first_ns = from->first_ns < into->first_ns ? from->first_ns : into->first_ns;
    into->last_ns = from->last_ns > into->last_ns ? from->last_ns : into->last_ns;
}

/* Blocks that are left, one by one: their sums are exact, where differences of estimates are not.
 */
static void count_live(struct tp_alloc_profile *p)
{
    for (size_t i = 0; i < p->live.slot_count; i++) {
        const struct tp_live_block *block = &p->live.slots[i];
        if (!block->is_used || block->owner == NOWHERE)
            continue;
        struct tp_alloc_site *site = &p->sites[block->owner];
        double weight = (double)block->weight;
        unsigned quarter = (unsigned)(4 * (block->ns - site->first) /
                                      (p->process_records - site->first)); /* numbers, no times */
        site->sums.live_blocks += weight;
        site->sums.live_bytes += weight * (double)block->bytes;
        site->sums.quarters |= 1u << quarter;
    }
}

int tp_alloc_profile_end_process(struct tp_alloc_profile *p, int64_t end_ns)
{
    int error = settle_all(p, end_ns);

    if (error)
        return error;
    count_live(p);
    for (size_t i = p->process_first; i < p->count; i++) {
        struct tp_alloc_site *site = &p->sites[i];
        site->sums.peak_bytes = site->peak_seen == p->peaks ? site->live_at_peak : site->live_bytes;
        add_sums(&p->total, &site->sums);
    }
    if (p->process_curve.count) {
        reach(&p->process_curve, end_ns);
        add_curve(&p->curve, &p->process_curve);
    }
    p->peak_bytes += p->process_peak;
    p->processes++;
    tp_live_memory_fini(&p->live);
    p->live = (struct tp_live_memory){0};
    if (p->slots)
        memset(p->slots, 0, p->slot_count * sizeof(*p->slots));
    if (p->threads_known)
        memset(p->threads_known, 0, p->threads_known_count * sizeof(*p->threads_known));
    p->process_first = p->count;
    p->live_bytes = p->process_peak = 0;
    p->peaks = 0;
    p->process_records = 0;
    p->process_curve = (struct tp_alloc_curve){.width_ns = CURVE_WIDTH_NS};
    return 0;
}

/* ---- groups ---- */

static const struct {
    const char *name, *help;
    size_t offset; /* of its value */
} keys[TP_ALLOC_KEYS] = {
#define TP_ALLOC_KEY(id, name, value, help) {name, help, offsetof(struct tp_alloc_sums, value)},
#include "model/alloc_keys.def"
#undef TP_ALLOC_KEY
};

const char *tp_alloc_key_name(enum tp_alloc_key key)
{
    return keys[key].name;
}

const char *tp_alloc_key_help(enum tp_alloc_key key)
{
    return keys[key].help;
}

enum tp_alloc_key tp_alloc_key_find(const char *name)
{
    enum tp_alloc_key key = 0;

    while (key < TP_ALLOC_KEYS && strcmp(keys[key].name, name) != 0)
        key++;
    return key;
}

double tp_alloc_key_value(const struct tp_alloc_sums *sums, enum tp_alloc_key key)
{
    return *(const double *)((const char *)sums + keys[key].offset);
}

bool tp_alloc_is_suspect(const struct tp_alloc_sums *sums)
{
    return sums->quarters == 0xf && sums->live_blocks >= LEAK_BLOCKS;
}

struct tp_alloc_interval tp_alloc_count_interval(const struct tp_alloc_sums *sums)
{
    const struct tp_alloc_sampled *s = &sums->sampled;
    const struct tp_alloc_estimate estimate = {.seen = sums->allocations - s->unseen,
                                               .value = sums->allocations,
                                               .variance = s->allocations_variance,
                                               .grain = s->unseen,
                                               .most = s->most,
                                               .most_variance = s->most * (s->most + 1)};

    return tp_alloc_interval95(&estimate);
}

struct tp_alloc_interval tp_alloc_bytes_interval(const struct tp_alloc_sums *sums)
{
    const struct tp_alloc_sampled *s = &sums->sampled;
    const struct tp_alloc_estimate estimate = {.seen = sums->allocated_bytes - s->unseen_bytes,
                                               .value = sums->allocated_bytes,
                                               .variance = s->bytes_variance,
                                               .grain = s->bytes_grain,
                                               .most = s->most_bytes,
                                               .most_variance = s->most_bytes * s->most_bytes};

    return tp_alloc_interval95(&estimate);
}

bool tp_alloc_is_kept(const struct tp_alloc_sums *sums)
{
    return sums->live_blocks > 0 && sums->frees <= 0 && !tp_alloc_is_suspect(sums);
}

static uint32_t key_of(const struct tp_alloc_site *site, enum tp_alloc_group group)
{
    return group == TP_ALLOC_BY_RANGE   ? site->range
           : group == TP_ALLOC_BY_STACK ? site->stack
                                        : site->thread;
}

static int compare_keys(const void *a, const void *b)
{
    const struct tp_alloc_row *left = a, *right = b;

    return (left->key > right->key) - (left->key < right->key);
}

/* Descending by the key that is asked for; equal ones by their own, so that the order is always the
 * same. */
static int compare_rows(const void *a, const void *b, void *context)
{
    enum tp_alloc_key key = *(const enum tp_alloc_key *)context;
    double left = tp_alloc_key_value(&((const struct tp_alloc_row *)a)->sums, key);
    double right = tp_alloc_key_value(&((const struct tp_alloc_row *)b)->sums, key);

    return left != right ? (left < right) - (left > right) : compare_keys(a, b);
}

int tp_alloc_report_init(struct tp_alloc_report *report, const struct tp_alloc_profile *profile,
                         enum tp_alloc_key key)
{
    *report = (struct tp_alloc_report){.profile = profile, .key = key};
    for (unsigned g = 0; g < TP_ALLOC_GROUPS; g++) {
        struct tp_alloc_row *rows = calloc(profile->count + 1, sizeof(*rows));
        size_t used = 0;
        report->rows[g] = rows;
        if (!rows)
            return -ENOMEM;
        for (size_t i = 0; i < profile->count; i++)
            rows[i] = (struct tp_alloc_row){.key = key_of(&profile->sites[i], g),
                                            .sums = profile->sites[i].sums};
        qsort(rows, profile->count, sizeof(*rows), compare_keys);
        for (size_t i = 0; i < profile->count; i++) {
            if (used && rows[used - 1].key == rows[i].key)
                add_sums(&rows[used - 1].sums, &rows[i].sums);
            else
                rows[used++] = rows[i];
        }
        qsort_r(rows, used, sizeof(*rows), compare_rows, &key);
        report->row_count[g] = used;
    }
    return 0;
}

#define CUT_TEXTS 3

static bool is_one_of(uint32_t id, const uint32_t ids[CUT_TEXTS])
{
    return id == ids[0] || id == ids[1] || id == ids[2];
}

void tp_alloc_report_count_shortened(struct tp_alloc_report *report,
                                     const struct tp_strings *strings,
                                     const struct tp_stacks *stacks)
{
    static const char *const texts[CUT_TEXTS] = {TP_STACK_CUT, TP_NAME_TOO_MANY_TEXT,
                                                 TP_NAME_NO_ROOM_TEXT};
    uint32_t ids[CUT_TEXTS];

    for (unsigned t = 0; t < CUT_TEXTS; t++)
        ids[t] = tp_strings_find(strings, texts[t], strlen(texts[t]));
    for (size_t i = 0; i < report->row_count[TP_ALLOC_BY_STACK]; i++) {
        const struct tp_alloc_row *row = &report->rows[TP_ALLOC_BY_STACK][i];
        const uint32_t *frames = tp_stacks_frames(stacks, row->key);
        uint32_t count = tp_stacks_count(stacks, row->key), f = 0;
        while (f < count &&
               !is_one_of(tp_frames_get(&report->profile->frames, frames[f]).function, ids))
            f++;
        report->shortened += f < count ? row->sums.allocations : 0;
    }
}

void tp_alloc_report_fini(struct tp_alloc_report *report)
{
    for (unsigned g = 0; g < TP_ALLOC_GROUPS; g++)
        free(report->rows[g]);
    *report = (struct tp_alloc_report){0};
}
