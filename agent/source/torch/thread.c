/* SPDX-License-Identifier: MIT */
#include "source/torch/internal.h"

#include <errno.h>
#include <string.h>

#include "base/os.h"

/*
 * The caches of all threads are one mapping made at start, so that a thread's first operator finds
 * memory without asking for any; only what is touched becomes real. A thread that finds all taken
 * does without.
 */

enum {
    THREADS = 256,
};

_Thread_local struct tp_torch_thread *tp_torch_self;

static struct tp_torch_thread *threads;
static _Thread_local bool refused;

int tp_torch_thread_init(void)
{
    if (threads == NULL)
        threads = tp_os_map(THREADS * sizeof *threads);
    return threads != NULL ? 0 : -ENOMEM;
}

static bool take(struct tp_torch_thread *thread, uint32_t from, uint32_t tid)
{
    return atomic_compare_exchange_strong(&thread->owner, &from, tid);
}

static struct tp_torch_thread *take_any(uint32_t tid)
{
    static _Atomic uint32_t next;
    uint32_t at = atomic_load_explicit(&next, memory_order_relaxed);

    for (uint32_t i = 0; i < THREADS; i++) {
        struct tp_torch_thread *thread = &threads[(at + i) % THREADS];
        if (atomic_load_explicit(&thread->owner, memory_order_relaxed) == 0 &&
            take(thread, 0, tid)) {
            atomic_store_explicit(&next, (at + i + 1) % THREADS, memory_order_relaxed);
            return thread;
        }
    }
    return NULL;
}

/* Threads that ended without telling us. */
static struct tp_torch_thread *take_from_the_dead(uint32_t tid)
{
    uint32_t pid = tp_os_pid();

    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t owner = atomic_load_explicit(&threads[i].owner, memory_order_relaxed);
        if (owner != 0 && !tp_os_thread_exists(pid, owner) && take(&threads[i], owner, tid))
            return &threads[i];
    }
    return NULL;
}

struct tp_torch_thread *tp_torch_thread_claim(void)
{
    struct tp_torch_thread *thread;
    uint32_t tid;

    if (threads == NULL || refused)
        return NULL;
    tid = tp_os_tid();
    thread = take_any(tid);
    if (thread == NULL)
        thread = take_from_the_dead(tid);
    if (thread == NULL) {
        refused = true;
        return NULL;
    }
    thread->used = true;
    thread->depth = 0;
    thread->number = (uint32_t)tp_torch.functions.thread();
    thread->until_ask = thread->ask_interval = 1;
    thread->quiet = thread->early = false;
    thread->inside = 0;
    tp_torch_self = thread;
    return thread;
}

void tp_torch_thread_exit(void)
{
    struct tp_torch_thread *thread = tp_torch_self;

    tp_torch_self = NULL;
    if (thread != NULL)
        atomic_store_explicit(&thread->owner, 0, memory_order_release);
}

void tp_torch_thread_forget(void)
{
    for (uint32_t i = 0; threads != NULL && i < THREADS; i++) {
        struct tp_torch_thread *thread = &threads[i];
        if (!thread->used) /* never used: leave its pages alone */
            continue;
        memset(thread->names, 0, sizeof thread->names);
        memset(thread->inputs, 0, sizeof thread->inputs);
        atomic_store(&thread->owner, thread == tp_torch_self ? tp_os_tid() : 0);
    }
}
