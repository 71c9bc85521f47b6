/* SPDX-License-Identifier: MIT */
/* Functions of libc that name threads: a thread that is gone when the drain looks has no name that
 * the kernel could tell. (prctl is wrapped in filter.c.) */
#include <errno.h>
#include <pthread.h>

#include "agent.h"
#include "base/os.h"
#include "real.h"
#include "record.h"
#include "thread.h"

#define EXPORT __attribute__((visibility("default")))

void tp_thread_was_named(void)
{
    struct tp_thread *t = tp_tls.thread;

    /* without a system call where the recording has ended: it may be forbidden by now */
    if (t && !tp_tls.ours && tp_recording() &&
        atomic_load_explicit(&t->state, memory_order_relaxed) == TP_THREAD_USED && tp_agent_here())
        tp_thread_read_name(t);
}

/* One that has no block yet reads its name when it gets one. A block may be a dead thread's, whose
 * stack, and with it the handle, another one has now. */
static void another_was_named(uintptr_t handle, const char *name)
{
    struct tp_live *live = tp_agent.live;

    if (tp_tls.ours || !tp_recording() || !tp_agent_here())
        return;
    for (uint32_t i = 0; i < TP_THREADS_MAX; i++) {
        struct tp_thread *t = &live->threads[i];
        if (atomic_load(&t->state) == TP_THREAD_USED && atomic_load(&t->handle) == handle &&
            tp_os_thread_exists(live->pid, t->tid))
            tp_thread_set_name(t, name);
    }
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    if (!tp_real.pthread_setname_np)
        tp_real_find();
    if (!tp_real.pthread_setname_np)
        return ENOSYS;
    int error = tp_real.pthread_setname_np(thread, name);
    if (error)
        return error;
    if (pthread_equal(thread, pthread_self()))
        tp_thread_was_named();
    else
        another_was_named((uintptr_t)thread, name);
    return 0;
}
