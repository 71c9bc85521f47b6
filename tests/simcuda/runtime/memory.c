/* SPDX-License-Identifier: MIT */
/* Allocations, copies and memsets. */
#include "runtime.h"

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

ENTRY(cudaMalloc, void **address, size_t bytes)
{
    BEGIN(API(cudaMalloc), WORD(address), bytes);
    if (!address)
        END(SIM_EINVAL);
    *address = NULL;
    END(bytes ? driver.cuMemAlloc_v2((uint64_t *)address, bytes) : SIM_OK);
}

ENTRY(cudaMallocPitch, void **address, size_t *pitch, size_t width, size_t height)
{
    BEGIN(API(cudaMallocPitch), WORD(address), WORD(pitch), width, height);
    END(driver.cuMemAllocPitch_v2((uint64_t *)address, pitch, width, height, 4));
}

ENTRY(cudaMallocManaged, void **address, size_t bytes, unsigned flags)
{
    BEGIN(API(cudaMallocManaged), WORD(address), bytes, flags);
    END(driver.cuMemAllocManaged((uint64_t *)address, bytes, flags));
}

ENTRY(cudaMallocHost, void **address, size_t bytes)
{
    BEGIN(API(cudaMallocHost), WORD(address), bytes);
    END(driver.cuMemAllocHost_v2((uint64_t *)address, bytes));
}

ENTRY(cudaHostAlloc, void **address, size_t bytes, unsigned flags)
{
    BEGIN(API(cudaHostAlloc), WORD(address), bytes, flags);
    END(driver.cuMemHostAlloc((uint64_t *)address, bytes, flags));
}

ENTRY(cudaFree, void *address)
{
    BEGIN(API(cudaFree), WORD(address));
    END(address ? driver.cuMemFree_v2(WORD(address)) : SIM_OK);
}

ENTRY(cudaFreeHost, void *address)
{
    BEGIN(API(cudaFreeHost), WORD(address));
    END(address ? driver.cuMemFreeHost(WORD(address)) : SIM_OK);
}

ENTRY(cudaMemGetInfo, size_t *free_bytes, size_t *total_bytes)
{
    BEGIN(API(cudaMemGetInfo), WORD(free_bytes), WORD(total_bytes));
    END(driver.cuMemGetInfo_v2(free_bytes, total_bytes));
}

static int do_cudaMemcpy(struct sim_api api, bool per_thread, void *to, const void *from,
                         size_t bytes, int kind)
{
    BEGIN(api, WORD(to), WORD(from), bytes, WORD(kind));
    switch (kind) {
    case HOST_TO_DEVICE:
        END(DRIVER(cuMemcpyHtoD_v2, _ptds, per_thread)(WORD(to), WORD(from), bytes));
    case DEVICE_TO_HOST:
        END(DRIVER(cuMemcpyDtoH_v2, _ptds, per_thread)(WORD(to), WORD(from), bytes));
    case DEVICE_TO_DEVICE:
        END(DRIVER(cuMemcpyDtoD_v2, _ptds, per_thread)(WORD(to), WORD(from), bytes));
    case HOST_TO_HOST:
    case BY_ADDRESS:
        END(DRIVER(cuMemcpy, _ptds, per_thread)(WORD(to), WORD(from), bytes));
    default:
        END(SIM_EINVAL);
    }
}
PAIR(cudaMemcpy, _ptds, (void *to, const void *from, size_t bytes, int kind), to, from, bytes, kind)

static int do_cudaMemcpyAsync(struct sim_api api, bool per_thread, void *to, const void *from,
                              size_t bytes, int kind, void *stream)
{
    BEGIN(api, WORD(to), WORD(from), bytes, WORD(kind), WORD(stream));
    switch (kind) {
    case HOST_TO_DEVICE:
        END(DRIVER(cuMemcpyHtoDAsync_v2, _ptsz, per_thread)(WORD(to), WORD(from), bytes, stream));
    case DEVICE_TO_HOST:
        END(DRIVER(cuMemcpyDtoHAsync_v2, _ptsz, per_thread)(WORD(to), WORD(from), bytes, stream));
    case DEVICE_TO_DEVICE:
        END(DRIVER(cuMemcpyDtoDAsync_v2, _ptsz, per_thread)(WORD(to), WORD(from), bytes, stream));
    case HOST_TO_HOST:
    case BY_ADDRESS:
        END(DRIVER(cuMemcpyAsync, _ptsz, per_thread)(WORD(to), WORD(from), bytes, stream));
    default:
        END(SIM_EINVAL);
    }
}
PAIR(cudaMemcpyAsync, _ptsz, (void *to, const void *from, size_t bytes, int kind, void *stream), to,
     from, bytes, kind, stream)

ENTRY(cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    BEGIN(API(cudaMemcpyPeer), WORD(to), WORD(to_device), WORD(from), WORD(from_device), bytes);
    END(driver.cuMemcpyPeer(WORD(to), core->primary_context(to_device), WORD(from),
                            core->primary_context(from_device), bytes));
}

ENTRY(cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device, size_t bytes,
      void *stream)
{
    BEGIN(API(cudaMemcpyPeerAsync), WORD(to), WORD(to_device), WORD(from), WORD(from_device), bytes,
          WORD(stream));
    END(driver.cuMemcpyPeerAsync(WORD(to), core->primary_context(to_device), WORD(from),
                                 core->primary_context(from_device), bytes, stream));
}

static int do_cudaMemset(struct sim_api api, bool per_thread, void *to, int value, size_t bytes)
{
    BEGIN(api, WORD(to), WORD(value), bytes);
    END(DRIVER(cuMemsetD8_v2, _ptds, per_thread)(WORD(to), (uint8_t)value, bytes));
}
PAIR(cudaMemset, _ptds, (void *to, int value, size_t bytes), to, value, bytes)

static int do_cudaMemsetAsync(struct sim_api api, bool per_thread, void *to, int value,
                              size_t bytes, void *stream)
{
    BEGIN(api, WORD(to), WORD(value), bytes, WORD(stream));
    END(DRIVER(cuMemsetD8Async, _ptsz, per_thread)(WORD(to), (uint8_t)value, bytes, stream));
}
PAIR(cudaMemsetAsync, _ptsz, (void *to, int value, size_t bytes, void *stream), to, value, bytes,
     stream)
