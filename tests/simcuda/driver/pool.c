/* SPDX-License-Identifier: MIT */
/*
 * Memory in the order of a stream, from pools. An allocation counts at its call; a pool grows as
 * needed and gives back what is not used when it is trimmed.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct sim_pool *pools;

static struct sim_pool *create(struct sim_device *device)
{
    struct sim_pool *pool = calloc(1, sizeof *pool);
    pool->device = device;
    pool->address = WORD(pool);
    pthread_mutex_lock(&sim_lock);
    pool->next = pools;
    pools = pool;
    pthread_mutex_unlock(&sim_lock);
    OBSERVE(pool, SIM_POOL_CREATED, pool, sim_work_correlation(), 0);
    return pool;
}

static struct sim_pool *default_pool(struct sim_device *device)
{
    if (!device->default_pool)
        device->pool = device->default_pool = create(device);
    return device->default_pool;
}

static int allocate(struct sim_pool *pool, uint64_t *address, size_t bytes, void *handle,
                    bool per_thread)
{
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream)
        return SIM_ECONTEXT;
    if (!address || !bytes)
        return SIM_EINVAL;
    if (!pool) {
        default_pool(stream->context->device);
        pool = stream->context->device->pool;
    }
    if (!stream->capturing)
        return sim_memory_allocate(SIM_DEVICE_MEMORY, bytes, pool, stream, address);
    int result = sim_memory_reserve(bytes, address);
    struct sim_action action = {.kind = SIM_ALLOCATE, .to = *address, .width = bytes};
    if (!result)
        sim_stream_run(stream, NULL, 0, &action);
    return result;
}

static int do_cuMemAllocAsync(struct sim_api api, bool per_thread, uint64_t *address, size_t bytes,
                              void *handle)
{
    BEGIN(api, WORD(address), bytes, WORD(handle));
    END(allocate(NULL, address, bytes, handle, per_thread));
}
PAIR(cuMemAllocAsync, _ptsz, (uint64_t * address, size_t bytes, void *stream), address, bytes,
     stream)

static int do_cuMemAllocFromPoolAsync(struct sim_api api, bool per_thread, uint64_t *address,
                                      size_t bytes, struct sim_pool *pool, void *handle)
{
    BEGIN(api, WORD(address), bytes, WORD(pool), WORD(handle));
    END(pool ? allocate(pool, address, bytes, handle, per_thread) : SIM_EINVAL);
}
PAIR(cuMemAllocFromPoolAsync, _ptsz,
     (uint64_t * address, size_t bytes, struct sim_pool *pool, void *stream), address, bytes, pool,
     stream)

static int do_cuMemFreeAsync(struct sim_api api, bool per_thread, uint64_t address, void *handle)
{
    BEGIN(api, address, WORD(handle));
    struct sim_stream *stream = sim_stream_of(sim_current_context(), handle, per_thread);
    if (!stream)
        END(SIM_ECONTEXT);
    if (!stream->capturing)
        END(sim_memory_release(address, stream));
    struct sim_action action = {.kind = SIM_RELEASE, .to = address};
    for (const struct sim_node *each = stream->capturing->first; each; each = each->next)
        if (each->type == SIM_NODE_ALLOCATE && each->action.to == address)
            action.width = each->action.width;
    sim_stream_run(stream, NULL, 0, &action);
    END(SIM_OK);
}
PAIR(cuMemFreeAsync, _ptsz, (uint64_t address, void *stream), address, stream)

/* What of a pool's properties matters here. */
struct pool_properties {
    int type, handles;
    int location_type, device;
};

ENTRY(cuMemPoolCreate, struct sim_pool **pool, const struct pool_properties *properties)
{
    BEGIN(API(cuMemPoolCreate), WORD(pool), WORD(properties));
    if (!pool || !properties || !sim_device(properties->device))
        END(SIM_EINVAL);
    *pool = create(sim_device(properties->device));
    END(SIM_OK);
}

ENTRY(cuMemPoolDestroy, struct sim_pool *pool)
{
    BEGIN(API(cuMemPoolDestroy), WORD(pool));
    if (!pool || pool == pool->device->default_pool)
        END(SIM_EINVAL);
    OBSERVE(pool, SIM_POOL_DESTROYED, pool, sim_work_correlation(), 0);
    if (pool->device->pool == pool)
        pool->device->pool = pool->device->default_pool;
    /* Blocks of it may be alive: it stays. */
    END(SIM_OK);
}

ENTRY(cuMemPoolTrimTo, struct sim_pool *pool, size_t min_bytes)
{
    BEGIN(API(cuMemPoolTrimTo), WORD(pool), min_bytes);
    if (!pool)
        END(SIM_EINVAL);
    uint64_t kept = pool->used_bytes > min_bytes ? pool->used_bytes : min_bytes;
    if (pool->size_bytes > kept)
        pool->size_bytes = kept;
    OBSERVE(pool, SIM_POOL_TRIMMED, pool, sim_work_correlation(), min_bytes);
    END(SIM_OK);
}

enum { RELEASE_THRESHOLD = 4, RESERVED = 5, RESERVED_HIGH = 6, USED = 7, USED_HIGH = 8 };

ENTRY(cuMemPoolSetAttribute, struct sim_pool *pool, int attribute, void *value)
{
    BEGIN(API(cuMemPoolSetAttribute), WORD(pool), WORD(attribute), WORD(value));
    if (!pool || !value)
        END(SIM_EINVAL);
    if (attribute == RELEASE_THRESHOLD)
        memcpy(&pool->release_threshold, value, sizeof pool->release_threshold);
    END(SIM_OK);
}

ENTRY(cuMemPoolGetAttribute, struct sim_pool *pool, int attribute, void *value)
{
    BEGIN(API(cuMemPoolGetAttribute), WORD(pool), WORD(attribute), WORD(value));
    if (!pool || !value)
        END(SIM_EINVAL);
    uint64_t found = attribute == RELEASE_THRESHOLD                        ? pool->release_threshold
                     : attribute == RESERVED || attribute == RESERVED_HIGH ? pool->size_bytes
                                                                           : pool->used_bytes;
    memcpy(value, &found, attribute >= RELEASE_THRESHOLD ? sizeof found : sizeof(int));
    END(SIM_OK);
}

static int device_pool(struct sim_api api, struct sim_pool **pool, int device, bool by_default)
{
    BEGIN(api, WORD(pool), WORD(device));
    if (!pool || !sim_device(device))
        END(SIM_EDEVICE);
    struct sim_pool *first = default_pool(sim_device(device));
    *pool = by_default ? first : sim_device(device)->pool;
    END(SIM_OK);
}

ENTRY(cuDeviceGetDefaultMemPool, struct sim_pool **pool, int device)
{
    return device_pool(API(cuDeviceGetDefaultMemPool), pool, device, true);
}

ENTRY(cuDeviceGetMemPool, struct sim_pool **pool, int device)
{
    return device_pool(API(cuDeviceGetMemPool), pool, device, false);
}

ENTRY(cuDeviceSetMemPool, int device, struct sim_pool *pool)
{
    BEGIN(API(cuDeviceSetMemPool), WORD(device), WORD(pool));
    if (!pool || !sim_device(device))
        END(SIM_EDEVICE);
    default_pool(sim_device(device));
    sim_device(device)->pool = pool;
    END(SIM_OK);
}

/* Shared pools: exported and imported in one process; the handle is the pool. */
ENTRY(cuMemPoolExportToShareableHandle, void *handle, struct sim_pool *pool, int type,
      uint64_t flags)
{
    BEGIN(API(cuMemPoolExportToShareableHandle), WORD(handle), WORD(pool), WORD(type), flags);
    if (!handle || !pool)
        END(SIM_EINVAL);
    int number = 0;
    for (const struct sim_pool *each = pools; each != pool; each = each->next)
        number++;
    *(int *)handle = number;
    END(SIM_OK);
}

ENTRY(cuMemPoolImportFromShareableHandle, struct sim_pool **pool, void *handle, int type,
      uint64_t flags)
{
    BEGIN(API(cuMemPoolImportFromShareableHandle), WORD(pool), WORD(handle), WORD(type), flags);
    struct sim_context *context = sim_current_context();
    if (!pool || !context)
        END(SIM_EINVAL);
    *pool = create(context->device);
    (*pool)->imported = true;
    (*pool)->process = (uint32_t)getpid();
    END(SIM_OK);
}

ENTRY(cuMemPoolExportPointer, uint64_t *data, uint64_t address)
{
    BEGIN(API(cuMemPoolExportPointer), WORD(data), address);
    struct sim_block block;
    if (!data || !sim_memory_find(address, &block))
        END(SIM_EINVAL);
    data[0] = block.bytes;
    END(SIM_OK);
}

/* An imported block has another address, and counts in the importing pool. */
ENTRY(cuMemPoolImportPointer, uint64_t *address, struct sim_pool *pool, const uint64_t *data)
{
    BEGIN(API(cuMemPoolImportPointer), WORD(address), WORD(pool), WORD(data));
    if (!address || !pool || !data)
        END(SIM_EINVAL);
    END(sim_memory_allocate(SIM_DEVICE_MEMORY, data[0], pool, NULL, address));
}
