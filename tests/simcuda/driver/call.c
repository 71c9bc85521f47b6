/* SPDX-License-Identifier: MIT */
/*
 * API calls: correlation ids, times, nesting. What SIMCUDA_NESTED says of a driver call inside a
 * runtime call: same (both have one id), runtime or driver (two ids; device work carries that
 * one's), none (it is not seen).
 */
#include "driver.h"

#include <string.h>

static __thread struct sim_call *current;
static enum { NESTED_SAME, NESTED_RUNTIME, NESTED_DRIVER, NESTED_NONE } nested;

void sim_call_init(void)
{
    const char *how = sim_text("NESTED");
    nested = !strcmp(how, "runtime")  ? NESTED_RUNTIME
             : !strcmp(how, "driver") ? NESTED_DRIVER
             : !strcmp(how, "none")   ? NESTED_NONE
                                      : NESTED_SAME;
}

static uint32_t next_correlation(void)
{
    return __atomic_add_fetch(&sim.next_correlation, 1, __ATOMIC_RELAXED);
}

static void take_identity(struct sim_call *call)
{
    struct sim_call *outer = call->outer;
    if (!outer) {
        call->correlation = call->work_correlation = next_correlation();
        return;
    }
    call->correlation =
        nested == NESTED_SAME || nested == NESTED_NONE ? outer->correlation : next_correlation();
    call->work_correlation = nested == NESTED_DRIVER ? call->correlation : outer->work_correlation;
}

/* An outermost call takes its whole length at once; a nested one a quarter of its own, inside. */
static void take_time(struct sim_call *call)
{
    if (sim_clock_is_foreign()) {
        call->start = call->end = sim_now();
        return;
    }
    uint64_t length = sim_api_length(call->domain, call->cbid, call->name);
    struct sim_call *outer = call->outer;
    if (!outer) {
        call->start = sim_clock_reserve(length);
        call->end = call->start + length;
    } else {
        call->start = outer->inner_end < outer->end ? outer->inner_end : outer->end;
        call->end = call->start + length / 4;
        if (call->end > outer->end)
            call->end = outer->end;
        outer->inner_end = call->end;
    }
    call->inner_end = call->start + length / 4;
}

void sim_call_begin(struct sim_call *call)
{
    call->outer = current;
    call->context = sim_current_context();
    take_identity(call);
    take_time(call);
    current = call;
    if (call->outer && nested == NESTED_NONE)
        return;
    OBSERVE(enter, call);
}

int sim_call_end(struct sim_call *call, int result)
{
    call->result = result;
    call->context = sim_current_context();
    if (sim_clock_is_foreign())
        call->end = sim_now();
    if (!(call->outer && nested == NESTED_NONE))
        OBSERVE(leave, call);
    current = call->outer;
    return result;
}

struct sim_call *sim_current_call(void)
{
    return current;
}

uint32_t sim_work_correlation(void)
{
    return current ? current->work_correlation : 0;
}
