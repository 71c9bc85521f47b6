/* SPDX-License-Identifier: MIT */
#include "model/alloc_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    free(profile->last);
    tp_live_memory_fini(&profile->live);
    counter_table_fini(&profile->ranges);
    counter_table_fini(&profile->threads);
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
    uint64_t parts[3] = {(uint64_t)e->range << 32 | e->thread, e->stack, e->period};

    return tp_hash_bytes(seed, parts, sizeof(parts));
}

static uint64_t hash_of(uint64_t seed, const struct tp_alloc_site *s)
{
    const struct tp_alloc_event e = {
        .range = s->range, .stack = s->stack, .thread = s->thread, .period = s->period};

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
    p->sites[p->count++] = (struct tp_alloc_site){.range = e->range,
                                                  .stack = e->stack,
                                                  .thread = e->thread,
                                                  .period = e->period,
                                                  .first = p->process_records - 1};
    return 0;
}

static int find_site(struct tp_alloc_profile *p, const struct tp_alloc_event *e, uint32_t *ret)
{
    if (2 * (p->count - p->process_first + 1) > p->slot_count && grow_slots(p))
        return -ENOMEM;
    size_t at = hash_site(p->seed, e) & (p->slot_count - 1);
    for (; p->slots[at]; at = (at + 1) & (p->slot_count - 1)) {
        const struct tp_alloc_site *s = &p->sites[p->slots[at] - 1];
        if (s->range == e->range && s->stack == e->stack && s->thread == e->thread &&
            s->period == e->period) {
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

/* Of how many allocations a recorded one tells. */
static double weight_of(uint64_t bytes, uint64_t period)
{
    double n = bytes ? (double)bytes : 1;

    return period ? 1 / -expm1(-n / (double)period) : 1;
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

static int remember_last(struct tp_alloc_profile *p, uint32_t number, uint64_t address)
{
    if (number >= p->last_count) {
        size_t count = (size_t)number + 64;
        uint64_t *last = realloc(p->last, count * sizeof(*last));
        if (!last)
            return -ENOMEM;
        memset(last + p->last_count, 0, (count - p->last_count) * sizeof(*last));
        p->last = last;
        p->last_count = count;
    }
    p->last[number] = address;
    return 0;
}

#define NOWHERE UINT32_MAX /* a block that is not selected */

static void leave(struct tp_alloc_profile *p, const struct tp_live_block *block, int64_t ns,
                  bool is_temporary)
{
    if (block->owner == NOWHERE)
        return;
    struct tp_alloc_site *site = &p->sites[block->owner];
    double weight = weight_of(block->bytes, site->period);
    double bytes = weight * (double)block->bytes;

    change_live(p, site, -bytes);
    site->sums.frees += weight;
    site->sums.freed_bytes += bytes;
    site->sums.temporary += is_temporary ? weight : 0;
    draw(&p->process_curve, ns, p->live_bytes);
}

static void count_record(struct tp_alloc_profile *p, const struct tp_alloc_event *e,
                         struct tp_alloc_sums *sums)
{
    double weight = weight_of(e->bytes, e->period), bytes = (double)e->bytes;

    sums->allocations += weight;
    sums->allocated_bytes += weight * bytes;
    /* p = 1 / weight; (1 - p) / p^2 */
    sums->allocations_variance += weight * (weight - 1);
    sums->bytes_variance += bytes * bytes * weight * (weight - 1);
    if (!p->records++ || e->period < p->least_period)
        p->least_period = e->period;
    if (e->period > p->largest_period)
        p->largest_period = e->period;
    p->resizes += e->is_resize;
    p->unwatched += e->is_unwatched;
}

int tp_alloc_profile_allocated(struct tp_alloc_profile *p, const struct tp_alloc_event *e,
                               uint32_t thread_number)
{
    struct tp_live_block before, block = {.address = e->address,
                                          .bytes = e->bytes,
                                          .ns = p->process_records++,
                                          .owner = NOWHERE,
                                          .is_used = true};
    int error = e->is_selected ? find_site(p, e, &block.owner) : 0;

    if (!error)
        error = remember_last(p, thread_number, e->address);
    if (error)
        return error;
    if (e->is_selected)
        count_record(p, e, &p->sites[block.owner].sums);
    if (e->is_unwatched)
        return 0;
    error = tp_live_memory_put(&p->live, &block, &before);
    if (error)
        return error;
    if (before.is_used) {
        p->unseen_frees++;
        leave(p, &before, e->ns, false);
    }
    if (!e->is_selected)
        return 0;
    change_live(p, &p->sites[block.owner], weight_of(e->bytes, e->period) * (double)e->bytes);
    see_peak(p, e->ns);
    draw(&p->process_curve, e->ns, p->live_bytes);
    return 0;
}

void tp_alloc_profile_freed(struct tp_alloc_profile *p, uint64_t address, int64_t ns,
                            uint32_t thread_number)
{
    struct tp_live_block block;
    bool is_last = thread_number < p->last_count && p->last[thread_number] == address;

    if (is_last)
        p->last[thread_number] = 0;
    if (tp_live_memory_take(&p->live, 0, address, &block))
        leave(p, &block, ns, is_last);
    else
        p->unknown_frees++;
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

static void add_sums(struct tp_alloc_sums *into, const struct tp_alloc_sums *from)
{
    into->allocations += from->allocations;
    into->allocated_bytes += from->allocated_bytes;
    into->frees += from->frees;
    into->freed_bytes += from->freed_bytes;
    into->live_blocks += from->live_blocks;
    into->live_bytes += from->live_bytes;
    into->peak_bytes += from->peak_bytes;
    into->temporary += from->temporary;
    into->allocations_variance += from->allocations_variance;
    into->bytes_variance += from->bytes_variance;
    into->quarters |= from->quarters;
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
        double weight = weight_of(block->bytes, site->period);
        unsigned quarter = (unsigned)(4 * (block->ns - site->first) /
                                      (p->process_records - site->first)); /* numbers, no times */
        site->sums.live_blocks += weight;
        site->sums.live_bytes += weight * (double)block->bytes;
        site->sums.quarters |= 1u << quarter;
    }
}

void tp_alloc_profile_end_process(struct tp_alloc_profile *p, int64_t end_ns)
{
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
    if (p->last)
        memset(p->last, 0, p->last_count * sizeof(*p->last));
    p->process_first = p->count;
    p->live_bytes = p->process_peak = 0;
    p->peaks = 0;
    p->process_records = 0;
    p->process_curve = (struct tp_alloc_curve){.width_ns = CURVE_WIDTH_NS};
}

/* ---- groups ---- */

static const char *const key_names[TP_ALLOC_KEYS] = {
    [TP_ALLOC_PEAK_BYTES] = "peak_bytes",           [TP_ALLOC_ALLOCATIONS] = "allocations",
    [TP_ALLOC_ALLOCATED_BYTES] = "allocated_bytes", [TP_ALLOC_FREED_BYTES] = "freed_bytes",
    [TP_ALLOC_LIVE_BYTES] = "live_bytes",           [TP_ALLOC_TEMPORARY] = "temporary",
};

const char *tp_alloc_key_name(enum tp_alloc_key key)
{
    return key_names[key];
}

enum tp_alloc_key tp_alloc_key_find(const char *name)
{
    enum tp_alloc_key key = 0;

    while (key < TP_ALLOC_KEYS && strcmp(key_names[key], name) != 0)
        key++;
    return key;
}

double tp_alloc_key_value(const struct tp_alloc_sums *sums, enum tp_alloc_key key)
{
    const double values[TP_ALLOC_KEYS] = {
        [TP_ALLOC_PEAK_BYTES] = sums->peak_bytes,
        [TP_ALLOC_ALLOCATIONS] = sums->allocations,
        [TP_ALLOC_ALLOCATED_BYTES] = sums->allocated_bytes,
        [TP_ALLOC_FREED_BYTES] = sums->freed_bytes,
        [TP_ALLOC_LIVE_BYTES] = sums->live_bytes,
        [TP_ALLOC_TEMPORARY] = sums->temporary,
    };

    return values[key];
}

bool tp_alloc_is_suspect(const struct tp_alloc_sums *sums)
{
    return sums->quarters == 0xf && sums->live_blocks >= LEAK_BLOCKS;
}

double tp_alloc_error95(double variance)
{
    return variance > 0 ? 1.96 * sqrt(variance) : 0;
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

void tp_alloc_report_fini(struct tp_alloc_report *report)
{
    for (unsigned g = 0; g < TP_ALLOC_GROUPS; g++)
        free(report->rows[g]);
    *report = (struct tp_alloc_report){0};
}
