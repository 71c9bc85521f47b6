/* SPDX-License-Identifier: MIT */
/*
 * Virtual time, in ns. An API call takes as long as the script says, a kernel too; nobody waits for
 * it. The clock is max(base, latest): `latest` is the end of the last span that was handed out,
 * `base` is CLOCK_REALTIME (so that records can be placed among events of the host) or, with
 * SIMCUDA_CLOCK=virtual, nothing. Spans of API calls never overlap, whatever thread they are on.
 * With SIMCUDA_CLOCK=virtual all times are the same in each run.
 *
 * SIMCUDA_STEP_NS makes it jump, as an administrator or NTP does, after SIMCUDA_STEP_AFTER
 * outermost API calls.
 *
 * A client's clock (cuptiActivityRegisterTimestampCallback) replaces this one. Its units may be
 * anything; lengths of device work are turned into them by SIMCUDA_UNITS_PER_US (1000: it counts
 * ns). With SIMCUDA_WAIT=1 waits are real: the thread sleeps until the work is over.
 */
#include "driver.h"

#include <time.h>

static uint64_t latest;
static bool real_base, real_waits;
static uint64_t (*foreign)(void);
static uint64_t units_per_us;
static int64_t step, offset;
static uint64_t calls_to_step;

static uint64_t realtime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t base(void)
{
    return real_base ? realtime() + (uint64_t)offset : 0;
}

void sim_clock_init(void)
{
    real_base = sim_text("CLOCK")[0] != 'v';
    real_waits = sim_number("WAIT", 0);
    units_per_us = sim_number("UNITS_PER_US", 1000);
    step = (int64_t)sim_number("STEP_NS", 0);
    calls_to_step = sim_number("STEP_AFTER", 0);
    latest = real_base ? 0 : sim_number("EPOCH", 1000000000000000000u);
}

uint64_t sim_now(void)
{
    if (foreign)
        return foreign();
    uint64_t now = base(), reached = __atomic_load_n(&latest, __ATOMIC_RELAXED);
    return now > reached ? now : reached;
}

/* The end of what is queued, on every stream: times @keep (0 or 1) plus @shift. Under sim_lock. */
static void each_end(uint64_t keep, int64_t shift)
{
    for (struct sim_context *context = sim.contexts; context; context = context->next) {
        context->all_end = context->all_end * keep + (uint64_t)shift;
        context->blocking_end = context->blocking_end * keep + (uint64_t)shift;
        for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
            stream->end = stream->end * keep + (uint64_t)shift;
    }
}

static void count_to_step(void)
{
    if (__atomic_fetch_sub(&calls_to_step, 1, __ATOMIC_RELAXED) != 1)
        return;
    pthread_mutex_lock(&sim_lock);
    __atomic_store_n(&offset, step, __ATOMIC_RELAXED);
    __atomic_fetch_add(&latest, (uint64_t)step, __ATOMIC_RELAXED);
    each_end(1, step);
    pthread_mutex_unlock(&sim_lock);
}

uint64_t sim_clock_reserve(uint64_t length)
{
    if (__builtin_expect(step, 0))
        count_to_step();
    uint64_t reached = __atomic_load_n(&latest, __ATOMIC_RELAXED);
    for (;;) {
        uint64_t now = base(), start = now > reached ? now : reached;
        if (__atomic_compare_exchange_n(&latest, &reached, start + length, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return start;
    }
}

static void sleep_until(uint64_t (*clock)(void), uint64_t time)
{
    while (real_waits && clock() < time)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

void sim_clock_reach(uint64_t time)
{
    if (foreign) {
        sleep_until(foreign, time);
        return;
    }
    uint64_t reached = __atomic_load_n(&latest, __ATOMIC_RELAXED);
    while (reached < time && !__atomic_compare_exchange_n(&latest, &reached, time, true,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (real_base)
        sleep_until(base, time);
}

/* Work that was queued on the clock before counts as over. */
void sim_set_clock(uint64_t (*clock)(void))
{
    pthread_mutex_lock(&sim_lock);
    foreign = clock;
    each_end(0, 0);
    pthread_mutex_unlock(&sim_lock);
}

bool sim_clock_is_foreign(void)
{
    return foreign;
}

uint64_t sim_units(uint64_t length_ns)
{
    return foreign && units_per_us != 1000 ? length_ns * units_per_us / 1000 : length_ns;
}
