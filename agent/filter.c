/* SPDX-License-Identifier: MIT */
/*
 * Programs that forbid themselves system calls. A seccomp filter that kills would kill the host for
 * a call of ours, so the recording ends before one is installed, and no more calls are made. Filters
 * get in through libc's prctl or syscall; code that makes system calls of its own is not seen.
 *
 * Both wrappers end in a jump with the registers as they came, where the compiler optimises: a
 * system call that returns on another stack (clone) then returns to the caller.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "agent.h"
#include "real.h"

#define EXPORT __attribute__((visibility("default")))

/* Declared by libc with "...": the arguments are in the same registers. */
EXPORT int tp_filter_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                           unsigned long d) __asm__("prctl");
EXPORT long tp_filter_syscall(long number, long a, long b, long c, long d, long e,
                              long f) __asm__("syscall");

/* Not the probes for what the kernel can do, which have no filter to install. */
static bool prctl_installs(unsigned long option, unsigned long mode, unsigned long filter)
{
    return option == PR_SET_SECCOMP &&
           (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter));
}

static bool seccomp_installs(unsigned long operation, unsigned long filter)
{
    return operation == SECCOMP_SET_MODE_STRICT ||
           (operation == SECCOMP_SET_MODE_FILTER && filter);
}

int tp_filter_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    if (tp_unlikely(!tp_real.prctl))
        tp_real_find();
    if (tp_unlikely(prctl_installs((unsigned)option, a, b)))
        tp_agent_before_filter();
    if (tp_likely(tp_real.prctl != NULL))
        return tp_real.prctl(option, a, b, c, d);
    errno = ENOSYS;
    return -1;
}

long tp_filter_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (tp_unlikely(!tp_real.syscall))
        tp_real_find();
    if (tp_unlikely(number == SYS_seccomp && seccomp_installs((unsigned long)a, (unsigned long)c)))
        tp_agent_before_filter();
    if (tp_unlikely(number == SYS_prctl &&
                    prctl_installs((unsigned long)a, (unsigned long)b, (unsigned long)c)))
        tp_agent_before_filter();
    if (tp_likely(tp_real.syscall != NULL))
        return tp_real.syscall(number, a, b, c, d, e, f);
    errno = ENOSYS;
    return -1;
}
