/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_CUDA_MEMORY_H
#define TP_SOURCE_CUDA_MEMORY_H

/* CUDA_MEMORY records of the calling thread, now: of hooks, and of virtual memory, which CUPTI's
 * activities leave out. */

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_PINNED = 2, MEMORY_DEVICE = 3, MEMORY_ARRAY = 4, MEMORY_MANAGED = 5 };
enum { /* flags of CUDA_MEMORY */
       MEMORY_IS_ASYNC = 1,
       MEMORY_IS_HERE = 2,
       MEMORY_SIZE_UNKNOWN = 4,
       MEMORY_IS_PHYSICAL = 8,
       MEMORY_IS_IMPORTED = 16,
       MEMORY_DEVICE_UNKNOWN = 32
};

/* CUmemAllocationProp, as far as it is read. */
struct tp_cuda_allocation {
    unsigned type, handles;
    struct {
        unsigned type;
        int id;
    } location;
};

/**
 * tp_cuda_memory - write a record
 * @operation: 1 allocated, 2 freed; @device: + 1, 0 unknown; @correlation: 0 without CUPTI
 * Context: hook.
 */
void tp_cuda_memory(unsigned operation, unsigned kind, unsigned flags, uint64_t address,
                    uint64_t bytes, unsigned device, uint32_t correlation);

/** tp_cuda_memory_created - the same, of cuMemCreate */
void tp_cuda_memory_created(uint64_t handle, uint64_t bytes, const struct tp_cuda_allocation *where,
                            uint32_t correlation);

/** tp_cuda_memory_told - whether a record with this correlation id was written here not long ago:
 * should CUPTI bring another, it is the same */
bool tp_cuda_memory_told(uint32_t correlation);

#endif
