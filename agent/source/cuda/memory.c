/* SPDX-License-Identifier: MIT */
#include "source/cuda/memory.h"

#include <stdatomic.h>

#include "record.h"

#define LOCATION_DEVICE 1
#define TOLD 1024u

static struct {
    _Atomic uint32_t ids[TOLD];
    _Atomic uint32_t count;
} told;

void tp_cuda_memory(unsigned operation, unsigned kind, unsigned flags, uint64_t address,
                    uint64_t bytes, unsigned device, uint32_t correlation)
{
    const uint64_t more[8] = {bytes};
    const struct tp_record record = {
        .kind = TP_EVENT_CUDA_MEMORY,
        .role = TP_ROLE_POINT,
        .slots = 4,
        .argument = operation | kind << 8 |
                    (flags | MEMORY_IS_HERE | (device ? 0 : MEMORY_DEVICE_UNKNOWN)) << 24,
        .words = {0, address, (uint64_t)(device ? device - 1 : 0) << 32 | correlation, 0},
        .more = more,
    };

    tp_record_write(&record);
    if (correlation)
        atomic_store(&told.ids[atomic_fetch_add(&told.count, 1) % TOLD], correlation);
}

void tp_cuda_memory_created(uint64_t handle, uint64_t bytes, const struct tp_cuda_allocation *where,
                            uint32_t correlation)
{
    bool device = where->location.type == LOCATION_DEVICE;

    tp_cuda_memory(1, device ? MEMORY_DEVICE : MEMORY_PINNED, MEMORY_IS_PHYSICAL, handle, bytes,
                   device ? (unsigned)where->location.id + 1 : 0, correlation);
}

bool tp_cuda_memory_told(uint32_t correlation)
{
    uint32_t count = atomic_load(&told.count);

    for (uint32_t i = 0; i < count && i < TOLD; i++)
        if (atomic_load_explicit(&told.ids[i], memory_order_relaxed) == correlation)
            return true;
    return false;
}
