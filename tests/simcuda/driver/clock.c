/* SPDX-License-Identifier: MIT */
/*
 * Virtual time, in ns. An API call takes as long as the script says, a kernel too; nobody waits for
 * it. The clock is max(base, latest): `latest` is the end of the last span that was handed out,
 * `base` is CLOCK_REALTIME (so that records can be placed among events of the host) or, with
 * SIMCUDA_CLOCK=virtual, nothing. Spans of API calls never overlap, whatever thread they are on.
 * With SIMCUDA_CLOCK=virtual all times are the same in each run.
 *
 * SIMCUDA_STEP_NS at SIMCUDA_STEP_AT (ns after the start) makes CLOCK_REALTIME jump, as an
 * administrator or NTP does.
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
static uint64_t started;
static int64_t step;
static uint64_t step_at;

static uint64_t realtime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CLOCK_REALTIME with the jump that the script asks for. */
static uint64_t stepped_realtime(void)
{
    uint64_t now = realtime();
    return step && now - started >= step_at ? now + (uint64_t)step : now;
}

void sim_clock_init(void)
{
    const char *kind = sim_text("CLOCK");
    real_base = kind[0] != 'v';
    real_waits = sim_number("WAIT", 0);
    units_per_us = sim_number("UNITS_PER_US", 1000);
    step = (int64_t)sim_number("STEP_NS", 0);
    step_at = sim_number("STEP_AT", 0);
    started = realtime();
    latest = real_base ? 0 : sim_number("EPOCH", 1000000000000000000u);
}

uint64_t sim_now(void)
{
    if (foreign)
        return foreign();
    uint64_t reached = __atomic_load_n(&latest, __ATOMIC_RELAXED);
    if (!real_base)
        return reached;
    uint64_t now = stepped_realtime();
    return now > reached || step ? now : reached;
}

uint64_t sim_clock_reserve(uint64_t length)
{
    uint64_t reached = __atomic_load_n(&latest, __ATOMIC_RELAXED);
    for (;;) {
        uint64_t start = sim_now();
        if (start < reached && !step)
            start = reached;
        if (__atomic_compare_exchange_n(&latest, &reached, start + length, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return start;
    }
}

void sim_clock_reach(uint64_t time)
{
    if (foreign) {
        if (real_waits)
            while (foreign() < time)
                nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        return;
    }
    uint64_t reached = __atomic_load_n(&latest, __ATOMIC_RELAXED);
    while (reached < time && !__atomic_compare_exchange_n(&latest, &reached, time, true,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (real_base && real_waits)
        while (stepped_realtime() < time)
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

void sim_set_clock(uint64_t (*clock)(void))
{
    foreign = clock;
}

bool sim_clock_is_foreign(void)
{
    return foreign;
}

uint64_t sim_units(uint64_t length_ns)
{
    return foreign && units_per_us != 1000 ? length_ns * units_per_us / 1000 : length_ns;
}
