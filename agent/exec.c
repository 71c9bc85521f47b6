/* SPDX-License-Identifier: MIT */
/*
 * A process that becomes another program. The call does not come back where it works, and nothing
 * can be done behind it; where it fails the process goes on as it was. So a recording with events
 * is left as it is, and a count in the header of names.tpn says that somebody has set out; one
 * without events ends before, and is taken up again.
 *
 * In a vfork child, which has its parent's memory, nothing of this is done. libc's own calls
 * (posix_spawn, system) do not come by here, and are made in such children.
 */
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "agent.h"
#include "drain.h"
#include "exec.h"
#include "losses.h"
#include "real.h"
#include "record.h"
#include "recording.h"

#define EXPORT __attribute__((visibility("default")))

struct tp_exec tp_exec_set_out(void)
{
    struct tp_live *live = tp_agent.live;
    struct tp_exec call = {.how = TP_EXEC_UNNOTICED};
    uint32_t asleep = TP_ASLEEP;
    int kept = errno;

    /* without a system call where the recording has ended: it may be forbidden by now */
    if (tp_tls.ours || !tp_recording() || !tp_agent_here())
        return call;
    if (atomic_compare_exchange_strong(&live->state, &asleep, TP_ARMING)) {
        call.meta_bytes = tp_recording_meta_bytes(live);
        if (call.meta_bytes && tp_drain_end_idle(live, "exec"))
            call.how = TP_EXEC_ENDED;
        else
            atomic_store(&live->state, TP_ASLEEP);
    } else if (asleep == TP_ARMED || asleep == TP_LIVE) {
        call.how = TP_EXEC_COUNTED;
        atomic_fetch_add(tp_exec_count_at(live), 1);
    }
    errno = kept;
    return call;
}

void tp_exec_failed(struct tp_exec call)
{
    struct tp_live *live = tp_agent.live;
    int kept = errno;

    if (call.how == TP_EXEC_COUNTED) {
        atomic_fetch_sub(tp_exec_count_at(live), 1);
    } else if (call.how == TP_EXEC_ENDED) {
        tp_recording_resume(live, call.meta_bytes);
        atomic_store(&live->state, TP_ASLEEP);
    }
    errno = kept;
}

/* The next definition of the function, which the wrapped one is called instead of. */
#define CALL_NEXT(name, ...)                                                                       \
    __extension__({                                                                                \
        if (!tp_real.name)                                                                         \
            tp_real_find();                                                                        \
        struct tp_exec call_ = tp_exec_set_out();                                                  \
        int result_ = tp_real.name ? tp_real.name(__VA_ARGS__) : (errno = ENOSYS, -1);             \
        tp_exec_failed(call_);                                                                     \
        result_;                                                                                   \
    })

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    return CALL_NEXT(execve, path, arguments, environment);
}

EXPORT int execv(const char *path, char *const arguments[])
{
    return CALL_NEXT(execv, path, arguments);
}

EXPORT int execvp(const char *file, char *const arguments[])
{
    return CALL_NEXT(execvp, file, arguments);
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    return CALL_NEXT(execvpe, file, arguments, environment);
}

EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    return CALL_NEXT(fexecve, fd, arguments, environment);
}

EXPORT int execveat(int dir, const char *path, char *const arguments[], char *const environment[],
                    int flags)
{
    return CALL_NEXT(execveat, dir, path, arguments, environment, flags);
}

/* --- those whose arguments stand in a row: handed on as a vector
 * ---------------------------------------------------------------------------------------------- */

/* libc's declarations say that the first one is never the end. */
EXPORT int tp_exec_l(const char *path, const char *first, ...) __asm__("execl");
EXPORT int tp_exec_lp(const char *file, const char *first, ...) __asm__("execlp");
EXPORT int tp_exec_le(const char *path, const char *first, ...) __asm__("execle");

static size_t count_row(va_list *row)
{
    size_t count = 1;

    while (va_arg(*row, char *))
        count++;
    return count;
}

/* @vector has room for them and for what stood before the row. */
static void take_row(char **vector, const char *first, va_list *row)
{
    *vector = (char *)(ptrdiff_t)first;
    while (*vector)
        *++vector = va_arg(*row, char *);
}

/* The arguments from @first on, which may itself be the end, as a vector on the caller's stack;
 * @row is behind them then. */
#define VECTOR(first, row)                                                                         \
    __extension__({                                                                                \
        va_list again_;                                                                            \
        va_copy(again_, row);                                                                      \
        size_t count_ = (first) ? 1 + count_row(&again_) : 1;                                      \
        va_end(again_);                                                                            \
        char **vector_ = alloca(count_ * sizeof(*vector_));                                        \
        take_row(vector_, first, &(row));                                                          \
        vector_;                                                                                   \
    })

int tp_exec_l(const char *path, const char *first, ...)
{
    va_list row;

    va_start(row, first);
    char **vector = VECTOR(first, row);
    va_end(row);
    return CALL_NEXT(execv, path, vector);
}

int tp_exec_lp(const char *file, const char *first, ...)
{
    va_list row;

    va_start(row, first);
    char **vector = VECTOR(first, row);
    va_end(row);
    return CALL_NEXT(execvp, file, vector);
}

int tp_exec_le(const char *path, const char *first, ...)
{
    va_list row;

    va_start(row, first);
    char **vector = VECTOR(first, row);
    char *const *environment = va_arg(row, char *const *);
    va_end(row);
    return CALL_NEXT(execve, path, vector, environment);
}
