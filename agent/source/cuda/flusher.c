/* SPDX-License-Identifier: MIT */
/*
 * The thread that talks to CUPTI while nobody waits for it: once a second a pair of clock readings,
 * a flush where CUPTI has no period of its own, and at the end the flush that may hang with the
 * device. The drain must not: CUPTI takes locks, and the drain takes none.
 */
#include <sys/prctl.h>

#include "agent.h"
#include "base/os.h"
#include "own_thread.h"
#include "real.h"
#include "source/cuda/cuda.h"

#define SECOND_NS 1000000000u
#define PERIOD_MS 1000u
#define LATER_WAIT_NS 1000000000u /* for room, per buffer that waits */

static struct {
    _Atomic uint32_t bell;
    _Atomic uint32_t want_flush; /* how many flushes were asked for */
    _Atomic uint32_t flushed;    /* futex: how many were done */
    uint64_t second_ns;
    bool runs;
    bool own_period; /* CUPTI flushes by itself */
} flusher;

static void each_second(void)
{
    uint64_t now_ns = tp_os_monotonic_ns();

    if (now_ns - flusher.second_ns < SECOND_NS)
        return;
    flusher.second_ns = now_ns;
    tp_cuda_pair();
    tp_cuda_buffers_watch();
    if (!flusher.own_period)
        tp_cuda.cupti.ActivityFlushAll(0);
}

static void *flusher_main(void *argument)
{
    (void)argument;
    prctl(PR_SET_NAME, "tpagent-cuda", 0, 0, 0);
    tp_tls.converts = 1;
    for (;;) {
        uint32_t wanted = atomic_load(&flusher.want_flush);
        if (wanted != atomic_load(&flusher.flushed)) {
            tp_cuda.cupti.ActivityFlushAll(TP_CUPTI_FLUSH_FORCED);
            tp_cuda_buffers_again(LATER_WAIT_NS);
            tp_cuda_pair();
            atomic_store(&flusher.flushed, wanted);
            tp_os_wake(&flusher.flushed);
        }
        atomic_store(&flusher.bell, 1);
        bool all = tp_cuda_buffers_again(LATER_WAIT_NS);
        each_second();
        if (atomic_load(&flusher.want_flush) == atomic_load(&flusher.flushed))
            tp_os_wait(&flusher.bell, 1, all ? SECOND_NS : 20000000);
    }
    return NULL;
}

int tp_cuda_flusher_start(void)
{
    flusher.own_period = tp_cuda.cupti.ActivityFlushPeriod &&
                         tp_cuda.cupti.ActivityFlushPeriod(PERIOD_MS) == TP_CUPTI_SUCCESS;
    flusher.second_ns = tp_os_monotonic_ns();
    int error = tp_own_thread_make(tp_real.pthread_create, 0, flusher_main, NULL);
    flusher.runs = !error;
    return error;
}

void tp_cuda_flusher_wake(void)
{
    if (atomic_exchange(&flusher.bell, 0))
        tp_os_wake(&flusher.bell);
}

bool tp_cuda_flush(uint64_t wait_ns)
{
    uint64_t deadline_ns = tp_os_monotonic_ns() + wait_ns;
    uint32_t wanted = 1 + atomic_fetch_add(&flusher.want_flush, 1), done;

    if (!flusher.runs)
        return false;
    tp_cuda_flusher_wake();
    while ((int32_t)((done = atomic_load(&flusher.flushed)) - wanted) < 0) {
        uint64_t now_ns = tp_os_monotonic_ns();
        if (now_ns >= deadline_ns)
            return false;
        tp_os_wait(&flusher.flushed, done, deadline_ns - now_ns);
    }
    return true;
}

void tp_cuda_flusher_forget(void)
{
    atomic_store(&flusher.bell, 0);
    atomic_store(&flusher.want_flush, 0);
    atomic_store(&flusher.flushed, 0);
    flusher.runs = false;
}
