/* SPDX-License-Identifier: MIT */
/*
 * Other clients of CUPTI beside us. Subscriptions are guarded by CUPTI; buffer callbacks and kinds
 * are not: who registers callbacks gets our buffers, and who switches a kind off does it for all.
 * Neither is told to us, so the calls of libraries that need libcupti are interposed: they do what
 * they always do, and what we lose by it is said, with who did it. A client that found the
 * functions with dlsym is seen by what no longer comes (buffers.c).
 */
#include <dlfcn.h>

#include "agent.h"
#include "source/cuda/cuda.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
#define FLUSH_WAIT_NS 500000000u

static const char *who_is(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) && info.dli_fname && info.dli_fname[0] ? info.dli_fname
                                                                        : "another client";
}

/* Whether a call is another client's, and takes something away from us. */
static bool is_against_us(void)
{
    return tp_cuda_mode() == TP_CUDA_MODE_CUPTI && tp_cuda_here() && tp_cuda.is_started &&
           !tp_tls.ours;
}

#define REAL(SYMBOL, ...)                                                                          \
    static struct tp_cuda_real real = {.name = #SYMBOL, .library = TP_CUDA_PROFILING};             \
    int (*next)(__VA_ARGS__) = tp_cuda_real_find(&real, CALLER);                                   \
    if (!next)                                                                                     \
        return TP_CUPTI_NOT_INITIALIZED;

int cuptiActivityRegisterCallbacks(tp_cupti_request *request, tp_cupti_complete *complete);
EXPORT int cuptiActivityRegisterCallbacks(tp_cupti_request *request, tp_cupti_complete *complete)
{
    REAL(cuptiActivityRegisterCallbacks, tp_cupti_request *, tp_cupti_complete *)
    if (!is_against_us())
        return next(request, complete);
    tp_cuda_flush(FLUSH_WAIT_NS); /* what is ours comes to us */
    int result = next(request, complete);
    if (!result)
        tp_cuda_lose(TP_CUDA_TAKEN, who_is(CALLER));
    return result;
}

int cuptiActivityDisable(uint32_t kind);
EXPORT int cuptiActivityDisable(uint32_t kind)
{
    REAL(cuptiActivityDisable, uint32_t)
    int result = next(kind);

    if (!result && is_against_us() && tp_cuda_wants_kind(kind))
        tp_cuda_lose("switched CUPTI's records off: device records are missing from here on",
                     who_is(CALLER));
    return result;
}
