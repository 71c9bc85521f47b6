/* SPDX-License-Identifier: MIT */
/*
 * The one signal handler of ours, asked for by TPAGENT_CAPTURE=signal:. It stands where the program
 * has the default action, and the program does not see it: what asks for the action is told the
 * default one, and what sets the default one gets ours again. A handler of the program's own, or
 * SIG_IGN, takes its place for as long as the program wants it.
 */
#include "capture_signal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "agent.h"
#include "base/os.h"
#include "capture.h"
#include "real.h"

#define EXPORT __attribute__((visibility("default")))

static int armed; /* the signal; 0 none. Constant after the start */

static void on_signal(int signal)
{
    int kept = errno;

    (void)signal;
    tp_capture_toggle();
    errno = kept;
}

static struct sigaction our_action(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    return action;
}

bool tp_capture_signal_start(int signal, const char **ret_why)
{
    struct sigaction ours = our_action(), found;

    if (!tp_real.sigaction || tp_real.sigaction(signal, NULL, &found) < 0) {
        *ret_why = "it cannot be handled";
        return false;
    }
    if (found.sa_handler != SIG_DFL) {
        *ret_why =
            found.sa_handler == SIG_IGN ? "it is ignored from the start" : "it is handled already";
        return false;
    }
    if (tp_real.sigaction(signal, &ours, NULL) < 0) {
        *ret_why = "it cannot be handled";
        return false;
    }
    armed = signal;
    return true;
}

static bool is_ours(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == on_signal;
}

/* Not for a vfork child: its action is its own, the note would be its parent's. */
static void note_taken(void)
{
    const struct tp_live *live = tp_agent.live;

    if (live && (!live->pid || live->pid == tp_os_pid()))
        tp_capture_signal_taken();
}

static int armed_action(int signal, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction ours = our_action(), found;
    bool is_default = action && !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;

    int result = tp_real.sigaction(signal, is_default ? &ours : action, &found);
    if (result < 0)
        return result;
    if (action && !is_default && !is_ours(action))
        note_taken();
    if (is_ours(&found)) {
        memset(&found, 0, sizeof(found));
        found.sa_handler = SIG_DFL;
    }
    if (old)
        *old = found;
    return result;
}

EXPORT int sigaction(int signal, const struct sigaction *restrict action,
                     struct sigaction *restrict old)
{
    if (!tp_real.sigaction)
        tp_real_find();
    if (!tp_real.sigaction) {
        errno = ENOSYS;
        return -1;
    }
    return tp_unlikely(armed && signal == armed) ? armed_action(signal, action, old)
                                                 : tp_real.sigaction(signal, action, old);
}

/* What signal() and its kin answer. */
static tp_signal_handler *armed_handler(int signal, tp_signal_handler *handler,
                                        tp_signal_handler *(*next)(int, tp_signal_handler *))
{
    struct sigaction standard = {.sa_handler = SIG_DFL}, found;

    if (handler == SIG_DFL)
        return armed_action(signal, &standard, &found) < 0 ? SIG_ERR : found.sa_handler;
    tp_signal_handler *old = next(signal, handler);
    if (old != SIG_ERR)
        note_taken();
    return old == on_signal ? SIG_DFL : old;
}

#define SIGNAL_LIKE(name)                                                                          \
    tp_signal_handler *name(int, tp_signal_handler *);                                             \
    EXPORT tp_signal_handler *name(int signal, tp_signal_handler *handler)                         \
    {                                                                                              \
        if (!tp_real.name)                                                                         \
            tp_real_find();                                                                        \
        if (!tp_real.name) {                                                                       \
            errno = ENOSYS;                                                                        \
            return SIG_ERR;                                                                        \
        }                                                                                          \
        return tp_unlikely(armed && signal == armed)                                               \
                   ? armed_handler(signal, handler, tp_real.name)                                  \
                   : tp_real.name(signal, handler);                                                \
    }

SIGNAL_LIKE(signal)
SIGNAL_LIKE(bsd_signal)
SIGNAL_LIKE(ssignal)
SIGNAL_LIKE(sysv_signal)
SIGNAL_LIKE(__sysv_signal)
