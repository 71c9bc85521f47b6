/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/prctl.h>
#endif

enum tp_clock_kind tp_clock_kind = TP_CLOCK_MONOTONIC;

static bool kernel_trusts(const char *name)
{
    char current[32];
    int64_t n = tp_os_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                                current, sizeof(current));

    /* Where /sys is not mounted the processor's word has to do. */
    return n <= 0 || !strncmp(current, name, strlen(name));
}

void tp_clock_choose(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    int mode = PR_TSC_ENABLE;

    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) && !prctl(PR_GET_TSC, &mode) &&
        mode == PR_TSC_ENABLE && kernel_trusts("tsc"))
        tp_clock_kind = TP_CLOCK_TSC;
#elif defined(__aarch64__)
    if (kernel_trusts("arch_sys_counter"))
        tp_clock_kind = TP_CLOCK_CNTVCT;
#endif
}

const char *tp_clock_name(void)
{
    static const char *const names[] = {"monotonic", "tsc", "cntvct"};

    return names[tp_clock_kind];
}

void tp_clock_read(struct tp_clock_pair *ret_pair, unsigned tries)
{
    ret_pair->width = UINT64_MAX;
    for (unsigned i = 0; i < tries; i++) {
        uint64_t before = tp_ticks();
        uint64_t monotonic_ns = tp_os_monotonic_ns();
        uint64_t after = tp_ticks();
        if (after - before >= ret_pair->width)
            continue;
        uint64_t raw_ns = tp_os_raw_ns(), realtime_ns = tp_os_realtime_ns();
        uint64_t later_ns = tp_os_monotonic_ns();
        /* the other two clocks, carried back to the moment of the bracket */
        *ret_pair = (struct tp_clock_pair){
            .ticks = before + (after - before) / 2,
            .monotonic_ns = monotonic_ns,
            .raw_ns = raw_ns - (later_ns - monotonic_ns) / 2,
            .realtime_ns = realtime_ns - (later_ns - monotonic_ns) / 2,
            .width = after - before,
        };
    }
}

bool tp_clock_steps_back(void)
{
    uint64_t end_ns = tp_os_monotonic_ns() + 1000000, last = tp_ticks();

    for (;;) {
        for (int i = 0; i < 64; i++) {
            uint64_t now = tp_ticks();
            if (now < last)
                return true;
            last = now;
        }
        if (tp_os_monotonic_ns() >= end_ns)
            return false;
    }
}
