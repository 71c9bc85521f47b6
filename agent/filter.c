/* SPDX-License-Identifier: MIT */
/*
 * Programs that forbid themselves system calls. A seccomp filter that kills would kill the host for
 * a call of ours, so the recording ends before one is installed, and no more calls are made.
 * Filters get in through libc's prctl or syscall; code that makes system calls of its own is not
 * seen.
 *
 * And programs that ask for what the kernel allows to a process of one thread only: the agent's
 * thread goes before it would be in the way.
 *
 * The wrappers of prctl and syscall end in a jump with the registers as they came, where the
 * compiler optimises: a system call that returns on another stack (clone) then returns to the
 * caller.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "agent.h"
#include "exec.h"
#include "real.h"

#define EXPORT __attribute__((visibility("default")))

/* Declared by libc with "...": the arguments are in the same registers. */
EXPORT int tp_filter_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                           unsigned long d) __asm__("prctl");
EXPORT long tp_filter_syscall(long number, long a, long b, long c, long d, long e,
                              long f) __asm__("syscall");

/*
 * Before the real functions are known they are not looked for: an allocator that starts up
 * (jemalloc) calls syscall with its lock held, and a failed dlsym calls malloc.
 */
#if defined(__x86_64__)
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;

    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}
#elif defined(__aarch64__)
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#else
#error "a system call without libc, for this architecture"
#endif

static long as_libc(long result)
{
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

/* Not the probes for what the kernel can do, which have no filter to install. */
static bool prctl_installs(unsigned long option, unsigned long mode, unsigned long filter)
{
    return option == PR_SET_SECCOMP &&
           (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter));
}

static bool seccomp_installs(unsigned long operation, unsigned long filter)
{
    return operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && filter);
}

static int set_name(unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    int error =
        tp_real.prctl
            ? tp_real.prctl(PR_SET_NAME, a, b, c, d)
            : (int)as_libc(call(SYS_prctl, PR_SET_NAME, (long)a, (long)b, (long)c, (long)d, 0));

    if (!error)
        tp_thread_was_named();
    return error;
}

int tp_filter_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    if (tp_unlikely(prctl_installs((unsigned)option, a, b)))
        tp_agent_before_filter();
    if (tp_unlikely(option == PR_SET_NAME))
        return set_name(a, b, c, d);
    if (tp_likely(tp_real.prctl != NULL))
        return tp_real.prctl(option, a, b, c, d);
    return (int)as_libc(call(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0));
}

static int call_unshare(int flags)
{
    return tp_real.unshare ? tp_real.unshare(flags)
                           : (int)as_libc(call(SYS_unshare, flags, 0, 0, 0, 0, 0));
}

static int call_setns(int fd, int what)
{
    return tp_real.setns ? tp_real.setns(fd, what)
                         : (int)as_libc(call(SYS_setns, fd, what, 0, 0, 0, 0));
}

EXPORT int unshare(int flags)
{
    bool is_for_one = flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM);
    bool is_alone = is_for_one && tp_agent_leave_alone();
    int result = call_unshare(flags);

    if (is_alone)
        tp_agent_come_back();
    return result;
}

EXPORT int setns(int fd, int what)
{
    bool is_alone = tp_agent_leave_alone();
    int result = call_setns(fd, what);

    if (is_alone)
        tp_agent_come_back();
    return result;
}

static long call_exec(long number, long a, long b, long c, long d, long e)
{
    struct tp_exec exec = tp_exec_set_out();
    long result = tp_real.syscall ? tp_real.syscall(number, a, b, c, d, e, 0)
                                  : as_libc(call(number, a, b, c, d, e, 0));

    tp_exec_failed(exec);
    return result;
}

long tp_filter_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (tp_unlikely(number == SYS_seccomp && seccomp_installs((unsigned long)a, (unsigned long)c)))
        tp_agent_before_filter();
    if (tp_unlikely(number == SYS_prctl &&
                    prctl_installs((unsigned long)a, (unsigned long)b, (unsigned long)c)))
        tp_agent_before_filter();
    if (tp_unlikely(number == SYS_prctl && (int)a == PR_SET_NAME))
        return set_name((unsigned long)b, (unsigned long)c, (unsigned long)d, (unsigned long)e);
    if (tp_unlikely(number == SYS_execve || number == SYS_execveat))
        return call_exec(number, a, b, c, d, e);
    if (tp_unlikely(number == SYS_unshare))
        return unshare((int)a);
    if (tp_unlikely(number == SYS_setns))
        return setns((int)a, (int)b);
    if (tp_likely(tp_real.syscall != NULL))
        return tp_real.syscall(number, a, b, c, d, e, f);
    return as_libc(call(number, a, b, c, d, e, f));
}
