/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_CLOCK_H
#define TP_AGENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/os.h"

enum tp_clock_kind { TP_CLOCK_MONOTONIC, TP_CLOCK_TSC, TP_CLOCK_CNTVCT };

extern enum tp_clock_kind tp_clock_kind;

/** tp_clock_choose - TSC where it is invariant and the kernel trusts it, else CLOCK_MONOTONIC.
 * Context: start. */
void tp_clock_choose(void);
const char *tp_clock_name(void);

/** tp_ticks - now, in the clock of the recording. Context: hook. */
static inline uint64_t tp_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(tp_clock_kind == TP_CLOCK_TSC, 1))
        return __rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(tp_clock_kind == TP_CLOCK_CNTVCT, 1)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return tp_os_monotonic_ns();
}

/* One reading of all clocks at (nearly) one moment. */
struct tp_clock_pair {
    uint64_t ticks, monotonic_ns, raw_ns, realtime_ns;
    uint64_t width; /* ticks between the two readings around */
};

/** tp_clock_read - the narrowest of @tries readings. Context: any. */
void tp_clock_read(struct tp_clock_pair *ret_pair, unsigned tries);

/** tp_clock_steps_back - watch the clock for about 1 ms; true when it once went backwards. Context:
 * drain. */
bool tp_clock_steps_back(void);

#endif
