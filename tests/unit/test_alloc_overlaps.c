/* SPDX-License-Identifier: MIT
 * Allocations and frees of many threads, most of which have no time of their own, against what
 * happened in truth. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc_order.h"
#include "model/alloc_profile.h"
#include "records.h"

#define EVENTS 4000
#define THREADS 8
#define ADDRESSES 64
#define NOT_YET UINT64_MAX

/* What happened, in the order in which it did. */
struct event {
    uint64_t time, from, to; /* the two between which the records say that it lies */
    uint32_t thread, address, site;
    bool is_free, is_timed, is_lost;
};

struct thread {
    uint64_t told;
    uint64_t asleep; /* until then */
    unsigned since;  /* records without a time */
    size_t open;     /* its first event whose `to` is not known */
};

struct truth {
    struct random random;
    struct event events[EVENTS];
    size_t count;
    struct thread threads[THREADS];
    unsigned thread_count, address_count;
    uint32_t live[ADDRESSES]; /* site of the block there, 0 none */
    uint32_t sites;
    bool is_freed[EVENTS + 1]; /* by site */
    uint64_t time;
};

static struct truth truth;
static struct tp_alloc_profile profile;

static const struct tp_alloc_site *site_of(uint32_t stack)
{
    static size_t at; /* they are asked for about as they came */

    for (size_t i = 0; i < profile.count; i++, at++) {
        at = at < profile.count ? at : 0;
        if (profile.sites[at].stack == stack)
            return &profile.sites[at];
    }
    ck_abort_msg("no site %u", stack);
    return NULL;
}

/* ---- what happens ---- */

static void close_window(struct truth *t, uint32_t thread)
{
    for (size_t i = t->threads[thread].open; i < t->count; i++)
        if (t->events[i].thread == thread && t->events[i].to == NOT_YET)
            t->events[i].to = t->time;
    t->threads[thread].open = t->count;
    t->threads[thread].told = t->time;
    t->threads[thread].since = 0;
}

static void put_event(struct truth *t, uint32_t thread, uint32_t address)
{
    struct thread *who = &t->threads[thread];
    struct event *e = &t->events[t->count];

    t->time += 1 + random_below(&t->random, 5);
    if (who->since == 15 || !who->told || !random_below(&t->random, 40))
        close_window(t, thread);
    else if (!random_below(&t->random, 30)) { /* a range began or ended */
        close_window(t, thread);
        t->time++;
    }
    *e = (struct event){.time = t->time,
                        .from = who->told,
                        .to = who->told == t->time ? t->time : NOT_YET,
                        .thread = thread,
                        .address = address,
                        .is_free = t->live[address] != 0,
                        .is_timed = who->told == t->time};
    e->site = e->is_free ? t->live[address] : ++t->sites;
    t->is_freed[e->site] = e->is_free;
    t->live[address] = e->is_free ? 0 : e->site;
    who->since += !e->is_timed;
    t->count++;
}

/* Threads take over what others have just freed, and free what others have allocated. Now and then
 * one is not heard of for long. */
static void make_truth(struct truth *t, uint64_t seed)
{
    uint32_t address = 0, thread = 0;

    memset(t, 0, sizeof(*t));
    t->random.state = seed;
    t->time = 1000;
    t->thread_count = 2 + (unsigned)random_below(&t->random, THREADS - 1);
    t->address_count = 24 + (unsigned)random_below(&t->random, ADDRESSES - 23);
    while (t->count < EVENTS) {
        if (random_below(&t->random, 3))
            thread = (uint32_t)random_below(&t->random, t->thread_count);
        if (random_below(&t->random, 3))
            address = (uint32_t)random_below(&t->random, t->address_count);
        if (!random_below(&t->random, 300))
            t->threads[thread].asleep = t->time + random_below(&t->random, 4000);
        if (t->threads[thread].asleep <= t->time)
            put_event(t, thread, address);
        else
            t->time++;
    }
}

/* ---- what is told of it ---- */

static int compare_told(const void *a, const void *b)
{
    const struct event *left = *(const struct event *const *)a;
    const struct event *right = *(const struct event *const *)b;

    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->time > right->time) - (left->time < right->time);
}

static int tell_event(const struct event *e)
{
    const struct tp_alloc_event event = {.address = 0x1000 + 16 * e->address,
                                         .bytes = 100 + e->site,
                                         .ns = (int64_t)e->from,
                                         .ticks = e->from,
                                         .stack = e->site,
                                         .is_untimed = !e->is_timed,
                                         .is_selected = true};

    return e->is_free ? tp_alloc_profile_freed(&profile, &event, e->thread)
                      : tp_alloc_profile_allocated(&profile, &event, e->thread);
}

/* Return: 0, or what a call returned. */
static int tell(const struct truth *t)
{
    static const struct event *told[EVENTS];
    int error = 0;

    for (size_t i = 0; i < t->count; i++)
        told[i] = &t->events[i];
    qsort(told, t->count, sizeof(told[0]), compare_told);
    tp_alloc_profile_init(&profile);
    for (size_t i = 0; i < t->count && !error; i++)
        error = told[i]->is_lost ? 0 : tell_event(told[i]);
    return error ? error : tp_alloc_profile_end_process(&profile, (int64_t)t->time);
}

static void tell_all(const struct truth *t)
{
    ck_assert_int_eq(tell(t), 0);
    ck_assert_uint_eq(profile.overlaps.count, 0);
    ck_assert_uint_eq(profile.overlaps.event_count, 0);
}

/* ---- what can have been ---- */

/* The last events at an address before which all others were over. */
struct tail {
    const struct event *events[EVENTS];
    size_t count, at[THREADS];
    unsigned steps;
};

/* Return: whether a block is there before them. */
static bool find_tail(const struct truth *t, uint32_t address, struct tail *tail)
{
    size_t first = 0;
    uint64_t end = 0;

    tail->count = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->events[i].address == address)
            tail->events[tail->count++] = &t->events[i];
    qsort(tail->events, tail->count, sizeof(tail->events[0]), compare_told);
    for (size_t i = 0; i < tail->count; i++) {
        if (tail->events[i]->from >= end)
            first = i;
        end = tail->events[i]->to > end ? tail->events[i]->to : end;
    }
    bool is_live = first % 2;
    tail->count -= first;
    memmove(tail->events, tail->events + first, tail->count * sizeof(tail->events[0]));
    return is_live;
}

/* Nothing that is still to come was over before @e began. */
static bool may_be_next(const struct tail *tail, uint64_t placed, size_t i)
{
    for (size_t k = 0; k < tail->count; k++) {
        const struct event *other = tail->events[k], *e = tail->events[i];
        bool is_before = other->thread == e->thread ? other->time < e->time : other->to <= e->from;
        if (!(placed >> k & 1) && k != i && is_before)
            return false;
    }
    return true;
}

/* Can they happen in turns, and leave @site live? */
static bool can_leave(struct tail *tail, uint64_t placed, size_t depth, bool is_live,
                      uint32_t last_site, uint32_t site)
{
    if (depth == tail->count)
        return last_site == site;
    if (!tail->steps)
        return true; /* for all that we know */
    tail->steps--;
    for (size_t i = 0; i < tail->count; i++) {
        const struct event *e = tail->events[i];
        if (!(placed >> i & 1) && e->is_free == is_live && may_be_next(tail, placed, i) &&
            can_leave(tail, placed | UINT64_C(1) << i, depth + 1, !is_live,
                      e->is_free ? 0 : e->site, site))
            return true;
    }
    return false;
}

/* ---- tests ---- */

/* @site is live in the report. Return: whether it is in truth. */
static bool check_live(const struct truth *t, uint32_t site)
{
    static struct tail tail;
    const struct event *made = t->events;

    if (!t->is_freed[site])
        return true;
    while (made->site != site)
        made++;
    bool is_live = find_tail(t, made->address, &tail);
    tail.steps = 100000;
    ck_assert_msg(tail.count > 64 || profile.cut_overlaps ||
                      can_leave(&tail, 0, 0, is_live, 0, site),
                  "block %u cannot be live at the end", site);
    return false;
}

/* Return: blocks that can be live at the end, but are not in truth. */
static unsigned check_whole(const struct truth *t)
{
    unsigned live = 0, found = 0, other = 0;

    for (uint32_t address = 0; address < t->address_count; address++)
        live += t->live[address] != 0;
    for (uint32_t site = 1; site <= t->sites; site++) {
        const struct tp_alloc_sums *s = &site_of(site)->sums;
        ck_assert(s->allocations == 1 && s->frees + s->live_blocks == 1);
        found += s->live_blocks == 1;
        other += s->live_blocks == 1 && !check_live(t, site);
    }
    ck_assert_uint_eq(profile.records, t->sites);
    ck_assert_int_eq((int64_t)found - live,
                     (int64_t)profile.unknown_frees - (int64_t)profile.unseen_frees);
    ck_assert_uint_le(profile.unknown_frees, profile.cut_overlaps);
    ck_assert_uint_le(profile.unseen_frees, profile.cut_overlaps);
    return other;
}

START_TEST(what_has_no_time_is_matched_all_the_same)
{
    uint64_t seed = random_seed("alloc_overlaps");
    unsigned other = 0, live = 0, cut = 0;

    for (unsigned round = 0; round < 100; round++) {
        make_truth(&truth, seed + ((uint64_t)round << 32));
        tell_all(&truth);
        other += check_whole(&truth);
        live += (unsigned)profile.total.live_blocks;
        cut += profile.cut_overlaps != 0;
        tp_alloc_profile_fini(&profile);
    }
    printf("# %u of %u blocks at the end are others than in truth, as they can be; %u rounds cut\n",
           other, live, cut);
    ck_assert_uint_lt(other * 5, live);
    ck_assert_uint_lt(cut, 90);
}
END_TEST

/* Whatever was told: each block of one is freed or live, once. */
static void check_sites(void)
{
    for (size_t i = 0; i < profile.count; i++) {
        const struct tp_alloc_sums *s = &profile.sites[i].sums;
        ck_assert(s->allocations == 1 && s->frees + s->live_blocks == 1 && s->frees >= 0);
        ck_assert(s->temporary == 0 || (s->temporary == 1 && s->frees == 1));
        ck_assert(s->freed_bytes == s->frees * s->allocated_bytes);
    }
}

/* What is lost makes no sum wrong in itself, and is told. */
START_TEST(what_is_lost_is_counted)
{
    uint64_t seed = random_seed("alloc_overlaps, with losses");

    for (unsigned round = 0; round < 100; round++) {
        unsigned allocations = 0, frees = 0, lost = 0;
        make_truth(&truth, seed + ((uint64_t)round << 32));
        for (size_t i = 0; i < truth.count; i++) {
            struct event *e = &truth.events[i];
            e->is_lost = !random_below(&truth.random, 20);
            lost += e->is_lost;
            allocations += !e->is_lost && !e->is_free;
            frees += !e->is_lost && e->is_free;
        }
        tell_all(&truth);
        check_sites();
        const struct tp_alloc_sums *total = &profile.total;
        ck_assert_uint_eq((unsigned)total->allocations, allocations);
        ck_assert_int_eq((int64_t)total->frees - (int64_t)profile.unseen_frees +
                             (int64_t)profile.unknown_frees,
                         frees);
        ck_assert_uint_le(profile.unknown_frees + profile.unseen_frees,
                          lost + profile.cut_overlaps);
        ck_assert_uint_gt(profile.unknown_frees + profile.unseen_frees, 0);
        ck_assert(profile.live_bytes == 0);
        tp_alloc_profile_fini(&profile);
    }
}
END_TEST

static void give(uint64_t address, uint64_t ticks, uint32_t thread, bool is_untimed)
{
    const struct tp_alloc_event event = {
        .address = address, .ns = (int64_t)ticks, .ticks = ticks, .is_untimed = is_untimed};

    ck_assert_int_eq(tp_alloc_profile_freed(&profile, &event, thread), 0);
}

static void take(uint64_t address, uint64_t ticks, uint32_t thread, uint32_t stack, bool is_untimed)
{
    const struct tp_alloc_event event = {.address = address,
                                         .bytes = 10,
                                         .ns = (int64_t)ticks,
                                         .ticks = ticks,
                                         .stack = stack,
                                         .is_untimed = is_untimed,
                                         .is_selected = true};

    ck_assert_int_eq(tp_alloc_profile_allocated(&profile, &event, thread), 0);
}

START_TEST(a_thread_that_says_nothing_more_holds_nothing_up)
{
    tp_alloc_profile_init(&profile);
    take(0x100, 5, 1, 1, true); /* and that is all of thread 1 */
    for (uint64_t i = 0; i < 100000; i++) {
        give(0x100, 10 + 20 * i, 2, false);
        take(0x100, 20 + 20 * i, 2, 2, false);
    }
    ck_assert_uint_le(profile.overlaps.event_room, 128);
    ck_assert_int_eq(tp_alloc_profile_end_process(&profile, 1), 0);
    ck_assert_uint_eq(profile.unknown_frees + profile.unseen_frees, 0);
    ck_assert(profile.total.live_blocks == 1 && site_of(1)->sums.live_blocks == 0);
    tp_alloc_profile_fini(&profile);
}
END_TEST

START_TEST(memory_is_bounded)
{
    tp_alloc_profile_init(&profile);
    for (uint64_t i = 0; i < 1000000; i++) { /* as no thread of ours does */
        give(0x100000 + i * 16, 10, 1, true);
        take(0x90000000 + i % 7 * 16, 10, 2, 1, true);
    }
    ck_assert_uint_le(profile.overlaps.event_room, TP_OVERLAP_EVENTS_MAX);
    ck_assert_uint_le(profile.overlaps.item_room, TP_OVERLAP_EVENTS_MAX);
    ck_assert_int_eq(tp_alloc_profile_end_process(&profile, 1), 0);
    ck_assert_uint_eq(profile.unknown_frees, 1000000);
    ck_assert_uint_eq(profile.unseen_frees, 1000000 - 7);
    tp_alloc_profile_fini(&profile);
}
END_TEST

START_TEST(of_one_thread_the_order_is_known)
{
    tp_alloc_profile_init(&profile);
    take(0x100, 10, 1, 1, false);
    take(0x200, 20, 2, 2, false);
    give(0x100, 20, 2, true); /* before thread 2 got the same address */
    take(0x100, 20, 2, 3, true);
    give(0x300, 20, 2, true); /* from before the recording, and there again */
    take(0x300, 20, 2, 4, true);
    take(0x400, 20, 2, 5, true);
    give(0x400, 20, 2, true); /* temporary */
    ck_assert_int_eq(tp_alloc_profile_end_process(&profile, 100), 0);
    ck_assert_uint_eq(profile.unknown_frees, 1);
    ck_assert_uint_eq(profile.unseen_frees, 0);
    ck_assert(site_of(1)->sums.frees == 1 && site_of(3)->sums.live_blocks == 1);
    ck_assert(site_of(4)->sums.live_blocks == 1 && profile.total.temporary == 1);
    tp_alloc_profile_fini(&profile);
}
END_TEST

/* Times that go back, more than a thread can have done, and what was never allocated. */
START_TEST(what_makes_no_sense_does_no_harm)
{
    struct random random = {random_seed("alloc_overlaps, without sense")};

    for (unsigned round = 0; round < 50; round++) {
        uint64_t most = 1 + random_below(&random, 5), ticks = 0;
        tp_alloc_profile_init(&profile);
        for (uint32_t i = 1; i < 2000; i++) {
            uint64_t address = 16 * (1 + random_below(&random, most));
            uint32_t thread = (uint32_t)random_below(&random, 6);
            bool is_untimed = random_below(&random, 8);
            if (!random_below(&random, 6))
                ticks = random_below(&random, 3) ? ticks + 1 : random_u64(&random) >> 2;
            if (random_below(&random, 2))
                take(address, ticks, thread, i, is_untimed);
            else
                give(address, ticks, thread, is_untimed);
        }
        ck_assert_int_eq(tp_alloc_profile_end_process(&profile, 1), 0);
        ck_assert_uint_eq(profile.overlaps.event_count, 0);
        check_sites();
        tp_alloc_profile_fini(&profile);
    }
}
END_TEST

START_TEST(missing_memory_is_an_error_at_any_place)
{
    unsigned number = 0;
    int error;

    make_truth(&truth, 1);
    truth.count = 500;
    do {
        unit_fail_allocation(++number);
        error = tell(&truth);
        unit_fail_allocation(0);
        tp_alloc_profile_fini(&profile);
        ck_assert(!error || error == -ENOMEM);
    } while (error);
    ck_assert_uint_gt(number, 10);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {what_has_no_time_is_matched_all_the_same,
                                  what_is_lost_is_counted,
                                  a_thread_that_says_nothing_more_holds_nothing_up,
                                  memory_is_bounded,
                                  of_one_thread_the_order_is_known,
                                  what_makes_no_sense_does_no_harm,
                                  missing_memory_is_an_error_at_any_place};

    return unit_run("alloc_overlaps", NULL, NULL, tests, UNIT_COUNT(tests));
}
