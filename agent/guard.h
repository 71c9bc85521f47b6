/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_GUARD_H
#define TP_AGENT_GUARD_H

/* What a thread carries: one initial-exec variable, so that no hook ever calls __tls_get_addr
 * (which may call malloc). */

#include <stdint.h>

struct tp_thread;

#define TP_SAMPLE_GAPS 8u

struct tp_tls {
    struct tp_thread *thread; /* control block; NULL before the thread's first event */
    uint64_t alloc_calls, allocated_bytes;
    uint64_t freed_calls, freed_bytes;
    uint64_t sample_left;  /* bytes that may be asked for before the next sample */
    uint64_t sample_drawn; /* the sum of what was drawn */
    uintptr_t stack_low,
        stack_high;     /* memory of this thread's stack that is known to be readable */
    uintptr_t no_stack; /* page of a stack pointer for which that was not to be known */
    /* interposed CUDA calls that this thread is inside of; read soon after it was written, so no
     * other flag in its word: both would be tested by one load, which waits for that store */
    uint64_t cuda_depth;
    const void *resizing;   /* block of a reallocarray, until an inner realloc takes it over */
    uint64_t sample_random; /* state of the draws; 0: none yet */
    uint64_t sample_gaps[TP_SAMPLE_GAPS]; /* drawn ahead: several at once take less */
    uint32_t cuda_correlation;            /* of this thread's last CUDA_CALL */
    uint8_t cuda_domain;                  /* that call's: the driver's or the runtime's */
    uint16_t cuda_device;     /* that this thread has chosen, + 1; 0 none yet: the first */
    uint8_t converts;         /* a thread of CUPTI's, or ours: it may wait for room in its ring */
    uint8_t sample_gaps_left; /* of those drawn ahead */
    uint8_t any_window; /* what it records now was captured in the window, whatever that is now */
    uint8_t resolving;  /* inside the search for the next malloc */
    uint8_t in_hook;    /* telling of an operator new or delete */
    uint8_t ours;       /* a thread of the agent: nothing of it is recorded */
    uint8_t attaching;  /* on the way to a control block: a signal handler must not go there too;
                           counts those that wanted to */
};

/* aligned: an allocation finds its counters in one cache line */
extern __thread struct tp_tls tp_tls
    __attribute__((tls_model("initial-exec"), visibility("hidden"), aligned(64)));

#define tp_likely(x) __builtin_expect(!!(x), 1)
#define tp_unlikely(x) __builtin_expect(!!(x), 0)

#endif
