/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's caching allocator. It takes segments from CUDA and gives blocks of them to tensors, and
 * tells each block to c10::reportMemoryUsageToProfiler, which is in another library (libc10) and so
 * can be interposed: before PyTorch's own profiler is asked whether it is on. What is written here
 * is what torch.profiler would count; the segments are recorded as of any program, and the reader
 * takes the blocks where there are any.
 *
 * c10::Device is two bytes, trivially copied: passed like the struct below. PyTorch calls this for
 * its CPU memory, too, so the way through is short.
 */
#include <dlfcn.h>
#include <stdatomic.h>

#include "agent.h"
#include "mapped.h"
#include "points.h"
#include "source/cuda/cuda.h"

#define EXPORT __attribute__((visibility("default")))
#define TORCH_CUDA 1 /* c10::DeviceType */

struct tp_torch_device {
    int8_t type, index;
};

typedef void told(void *address, long bytes, size_t allocated, size_t reserved,
                  struct tp_torch_device device);

/* Stands where there is none, so that it is not looked for at each block. */
static void tell_nobody(void *address, long bytes, size_t allocated, size_t reserved,
                        struct tp_torch_device device)
{
    (void)address, (void)bytes, (void)allocated, (void)reserved, (void)device;
}

/* The function that PyTorch means: libc10 came in with RTLD_LOCAL. Its library stays mapped. */
static told *find(const char *name)
{
    char path[TP_PATH_MAX];
    void *handle = tp_mapped_path("libc10.so", path, sizeof(path))
                       ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY)
                       : NULL;
    void *found = handle ? dlsym(handle, name) : NULL;
    told *function;

    if (!found)
        found = dlsym(RTLD_NEXT, name);
    *(void **)&function = found;
    return function ? function : tell_nobody;
}

static void take(const void *address, long bytes, struct tp_torch_device device)
{
    enum tp_cuda_mode mode = tp_cuda_mode();

    if (mode != TP_CUDA_MODE_OFF && tp_may_record())
        tp_record_point(TP_EVENT_MEMORY, TORCH_CUDA | (uint32_t)(uint8_t)device.index << 16,
                        (uintptr_t)address, (uint64_t)bytes, 0);
}

/* The totals are size_t from PyTorch 2.1 on and int64_t before. */
#define TOLD_HOOK(SYMBOL)                                                                          \
    told SYMBOL;                                                                                   \
    EXPORT void SYMBOL(void *address, long bytes, size_t allocated, size_t reserved,               \
                       struct tp_torch_device device)                                              \
    {                                                                                              \
        static told *_Atomic real;                                                                 \
        told *next = atomic_load_explicit(&real, memory_order_relaxed);                            \
        if (tp_unlikely(!next)) {                                                                  \
            next = find(#SYMBOL);                                                                  \
            atomic_store_explicit(&real, next, memory_order_relaxed);                              \
        }                                                                                          \
        if (tp_unlikely(device.type == TORCH_CUDA))                                                \
            take(address, bytes, device);                                                          \
        next(address, bytes, allocated, reserved, device);                                         \
    }
TOLD_HOOK(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)
TOLD_HOOK(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)
