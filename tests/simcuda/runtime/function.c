/* SPDX-License-Identifier: MIT */
/* What programs ask about kernels, symbols, streams and peers before they launch. */
#include "runtime.h"

#include <string.h>

/* The first members of cudaFuncAttributes; the rest is 0. */
struct attributes {
    size_t static_shared, constant, local;
    int threads_per_block, registers;
};

ENTRY(cudaFuncGetAttributes, struct attributes *attributes, const void *host)
{
    BEGIN(API(cudaFuncGetAttributes), WORD(attributes), WORD(host));
    const struct sim_function *function = sim_runtime_function(host);
    if (!function || !attributes)
        END(function ? SIM_EINVAL : SIM_EFUNCTION);
    *attributes = (struct attributes){function->static_shared, 0, function->local, 1024,
                                      (int)function->registers};
    END(SIM_OK);
}

ENTRY(cudaFuncSetAttribute, const void *host, int attribute, int value)
{
    BEGIN(API(cudaFuncSetAttribute), WORD(host), WORD(attribute), WORD(value));
    END(sim_runtime_function(host) ? SIM_OK : SIM_EFUNCTION);
}

/* Of the limits of a multiprocessor: 2048 threads, 32 blocks, 65536 registers. */
static int occupancy(int *blocks, const struct sim_function *function, int threads)
{
    if (!function || !blocks || threads <= 0)
        return function ? SIM_EINVAL : SIM_EFUNCTION;
    int by_threads = 2048 / threads, by_registers = by_threads;
    if (function->registers)
        by_registers = 65536 / ((int)function->registers * threads);
    *blocks = by_threads < by_registers ? by_threads : by_registers;
    if (*blocks > 32)
        *blocks = 32;
    return SIM_OK;
}

ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *host, int threads,
      size_t shared)
{
    BEGIN(API(cudaOccupancyMaxActiveBlocksPerMultiprocessor), WORD(blocks), WORD(host),
          WORD(threads), shared);
    END(occupancy(blocks, sim_runtime_function(host), threads));
}

ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *host,
      int threads, size_t shared, unsigned flags)
{
    BEGIN(API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags), WORD(blocks), WORD(host),
          WORD(threads), shared, flags);
    END(occupancy(blocks, sim_runtime_function(host), threads));
}

ENTRY(cudaGetSymbolAddress, uint64_t *address, const void *symbol)
{
    BEGIN(API(cudaGetSymbolAddress), WORD(address), WORD(symbol));
    if (!address)
        END(SIM_EINVAL);
    *address = sim_runtime_variable(symbol);
    END(*address ? SIM_OK : 13);
}

ENTRY(cudaDeviceGetStreamPriorityRange, int *least, int *greatest)
{
    BEGIN(API(cudaDeviceGetStreamPriorityRange), WORD(least), WORD(greatest));
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    END(SIM_OK);
}

static int do_cudaStreamGetPriority(struct sim_api api, bool per_thread, void *stream,
                                    int *priority)
{
    BEGIN(api, WORD(stream), WORD(priority));
    const struct sim_stream *found = core->stream_of(core->current_context(), stream, per_thread);
    if (!priority)
        END(SIM_EINVAL);
    *priority = found->priority;
    END(SIM_OK);
}
PAIR(cudaStreamGetPriority, _ptsz, (void *stream, int *priority), stream, priority)

static int do_cudaStreamGetFlags(struct sim_api api, bool per_thread, void *stream, unsigned *flags)
{
    BEGIN(api, WORD(stream), WORD(flags));
    const struct sim_stream *found = core->stream_of(core->current_context(), stream, per_thread);
    if (!flags)
        END(SIM_EINVAL);
    *flags = found->flags;
    END(SIM_OK);
}
PAIR(cudaStreamGetFlags, _ptsz, (void *stream, unsigned *flags), stream, flags)

ENTRY(cudaDeviceCanAccessPeer, int *can, int device, int peer)
{
    BEGIN(API(cudaDeviceCanAccessPeer), WORD(can), WORD(device), WORD(peer));
    if (!can || !core->device(device) || !core->device(peer))
        END(SIM_EDEVICE);
    *can = device != peer;
    END(SIM_OK);
}

ENTRY(cudaDeviceEnablePeerAccess, int peer, unsigned flags)
{
    BEGIN(API(cudaDeviceEnablePeerAccess), WORD(peer), flags);
    END(core->device(peer) ? SIM_OK : SIM_EDEVICE);
}
