/* SPDX-License-Identifier: MIT */
/*
 * Memory: device and managed memory are real pages, so that what is copied there can be copied
 * back. Each device has an arena; a freed block of the same rounded size is handed out again first,
 * as allocators do.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARENA_SHIFT = 38, ROUND = 512, BUCKETS = 4096 };

struct chunk {
    struct sim_block block;
    struct chunk *next;
};

struct arena {
    uint64_t base, used;
    struct chunk *free;
};
static struct arena arenas[16];
static struct chunk *live[BUCKETS];
static size_t pinned_count;

/* Ranges of addresses that programs reserved. */
static struct {
    uint64_t address, bytes;
} ranges[64];
static size_t range_count;

static struct chunk **bucket(uint64_t address)
{
    return &live[(address / ROUND) * 0x9e3779b97f4a7c15u >> 52];
}

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + ROUND - 1) / ROUND * ROUND;
}

static int arena_take(struct sim_device *device, uint64_t bytes, struct chunk **ret_chunk)
{
    struct arena *arena = &arenas[device->ordinal];
    uint64_t size = rounded(bytes);
    if (device->used_bytes + bytes > device->memory_bytes)
        return SIM_ENOMEM;
    for (struct chunk **at = &arena->free; *at; at = &(*at)->next)
        if (rounded((*at)->block.bytes) == size) {
            *ret_chunk = *at;
            *at = (*at)->next;
            return SIM_OK;
        }
    if (!arena->base) {
        void *pages = mmap(NULL, 1ull << ARENA_SHIFT, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages == MAP_FAILED)
            return SIM_ENOMEM;
        arena->base = WORD(pages);
    }
    if (arena->used + size > 1ull << ARENA_SHIFT)
        return SIM_ENOMEM;
    *ret_chunk = calloc(1, sizeof **ret_chunk);
    (*ret_chunk)->block.address = arena->base + arena->used;
    arena->used += size;
    return SIM_OK;
}

static int host_take(uint64_t bytes, struct chunk **ret_chunk)
{
    void *pages = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!pages)
        return SIM_ENOMEM;
    *ret_chunk = calloc(1, sizeof **ret_chunk);
    (*ret_chunk)->block.address = WORD(pages);
    return SIM_OK;
}

static bool on_device(enum sim_memory_kind kind)
{
    return kind != SIM_PINNED;
}

static void tell(const struct sim_block *block, bool release, struct sim_stream *stream)
{
    struct sim_call *call = sim_current_call();
    struct sim_memory memory = {
        .release = release,
        .kind = block->kind,
        .address = block->address,
        .bytes = block->bytes,
        .time = sim_clock_is_foreign() || !call ? sim_now() : call->start,
        .correlation = sim_work_correlation(),
        .context = block->context,
        .stream = stream ? stream->id : 0,
        .async = stream,
        .pool = block->pool,
    };
    OBSERVE(memory, &memory);
}

static int allocate(enum sim_memory_kind kind, uint64_t bytes, struct sim_pool *pool,
                    struct sim_stream *stream, bool told, uint64_t *ret_address)
{
    struct sim_context *context = sim_current_context();
    if (!context)
        return SIM_ECONTEXT;
    if (!bytes)
        return SIM_EINVAL;
    struct chunk *chunk;
    pthread_mutex_lock(&sim_lock);
    int result =
        on_device(kind) ? arena_take(context->device, bytes, &chunk) : host_take(bytes, &chunk);
    if (!result) {
        chunk->block.bytes = bytes;
        chunk->block.kind = kind;
        chunk->block.context = context;
        chunk->block.pool = pool;
        chunk->block.untold = !told;
        if (pool) {
            pool->used_bytes += bytes;
            if (pool->size_bytes < pool->used_bytes)
                pool->size_bytes = pool->used_bytes;
        }
        if (on_device(kind))
            context->device->used_bytes += bytes;
        else
            pinned_count++;
        struct chunk **first = bucket(chunk->block.address);
        chunk->next = *first;
        *first = chunk;
    }
    pthread_mutex_unlock(&sim_lock);
    if (result)
        return result;
    *ret_address = chunk->block.address;
    if (told)
        tell(&chunk->block, false, stream);
    return SIM_OK;
}

int sim_memory_allocate(enum sim_memory_kind kind, uint64_t bytes, struct sim_pool *pool,
                        struct sim_stream *stream, uint64_t *ret_address)
{
    return allocate(kind, bytes, pool, stream, true, ret_address);
}

int sim_memory_allocate_untold(uint64_t bytes, uint64_t *ret_address)
{
    return allocate(SIM_DEVICE_MEMORY, bytes, NULL, NULL, false, ret_address);
}

int sim_memory_reserve(uint64_t bytes, uint64_t *ret_address)
{
    struct sim_context *context = sim_current_context();
    struct chunk *chunk;
    if (!context)
        return SIM_ECONTEXT;
    pthread_mutex_lock(&sim_lock);
    int result = arena_take(context->device, bytes, &chunk);
    pthread_mutex_unlock(&sim_lock);
    if (!result) {
        *ret_address = chunk->block.address;
        free(chunk);
    }
    return result;
}

int sim_memory_release(uint64_t address, struct sim_stream *stream)
{
    pthread_mutex_lock(&sim_lock);
    struct chunk **at = bucket(address), *found;
    while (*at && (*at)->block.address != address)
        at = &(*at)->next;
    found = *at;
    if (!found) {
        pthread_mutex_unlock(&sim_lock);
        return SIM_EINVAL;
    }
    *at = found->next;
    struct sim_block block = found->block;
    if (block.pool)
        block.pool->used_bytes -= block.bytes;
    if (on_device(block.kind)) {
        struct sim_device *device = block.context->device;
        device->used_bytes -= block.bytes;
        found->next = arenas[device->ordinal].free;
        arenas[device->ordinal].free = found;
    } else {
        pinned_count--;
        free(found);
    }
    pthread_mutex_unlock(&sim_lock);
    if (!block.untold)
        tell(&block, true, stream);
    if (!on_device(block.kind) && !block.registered)
        free((void *)(uintptr_t)block.address);
    return SIM_OK;
}

/* An address inside a block, not its first: rare, and looked for everywhere. */
static const struct chunk *chunk_around(uint64_t address)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct chunk *each = live[i]; each; each = each->next)
            if (address - each->block.address < each->block.bytes)
                return each;
    return NULL;
}

bool sim_memory_find(uint64_t address, struct sim_block *ret_block)
{
    pthread_mutex_lock(&sim_lock);
    const struct chunk *found = *bucket(address);
    while (found && found->block.address != address)
        found = found->next;
    if (!found && (pinned_count || sim_memory_is_ours(address)))
        found = chunk_around(address);
    if (found)
        *ret_block = found->block;
    pthread_mutex_unlock(&sim_lock);
    return found;
}

bool sim_memory_is_ours(uint64_t address)
{
    for (int i = 0; i < sim.device_count; i++)
        if (arenas[i].base && address - arenas[i].base < 1ull << ARENA_SHIFT)
            return true;
    for (size_t i = 0; i < range_count; i++)
        if (address - ranges[i].address < ranges[i].bytes)
            return true;
    return false;
}

void sim_memory_add_range(uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&sim_lock);
    size_t i = range_count < 64 ? range_count++ : 63;
    ranges[i].address = address;
    ranges[i].bytes = bytes;
    pthread_mutex_unlock(&sim_lock);
}

int sim_memory_register(uint64_t address, uint64_t bytes)
{
    if (!address || !bytes)
        return SIM_EINVAL;
    struct chunk *chunk = calloc(1, sizeof *chunk);
    chunk->block = (struct sim_block){.address = address,
                                      .bytes = bytes,
                                      .kind = SIM_PINNED,
                                      .context = sim_current_context(),
                                      .registered = true};
    pthread_mutex_lock(&sim_lock);
    chunk->next = *bucket(address);
    *bucket(address) = chunk;
    pinned_count++;
    pthread_mutex_unlock(&sim_lock);
    tell(&chunk->block, false, NULL);
    return SIM_OK;
}

int sim_memory_unregister(uint64_t address)
{
    struct sim_block block;
    if (!sim_memory_find(address, &block) || block.address != address || !block.registered)
        return SIM_EINVAL;
    return sim_memory_release(address, NULL);
}

enum sim_memory_kind sim_memory_kind(uint64_t address)
{
    struct sim_block block;
    if (sim_memory_find(address, &block))
        return block.kind;
    return sim_memory_is_ours(address) ? SIM_DEVICE_MEMORY : SIM_PAGEABLE;
}

static int allocate_call(struct sim_api api, enum sim_memory_kind kind, uint64_t *address,
                         size_t bytes)
{
    BEGIN(api, WORD(address), bytes);
    END(address ? sim_memory_allocate(kind, bytes, NULL, NULL, address) : SIM_EINVAL);
}

static int release(struct sim_api api, uint64_t address)
{
    BEGIN(api, address);
    END(address ? sim_memory_release(address, NULL) : SIM_OK);
}

ENTRY(cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    return allocate_call(API(cuMemAlloc_v2), SIM_DEVICE_MEMORY, address, bytes);
}

ENTRY(cuMemAllocPitch_v2, uint64_t *address, size_t *pitch, size_t width, size_t height,
      unsigned element)
{
    BEGIN(API(cuMemAllocPitch_v2), WORD(address), WORD(pitch), width, height, element);
    if (!address || !pitch)
        END(SIM_EINVAL);
    *pitch = rounded(width);
    END(sim_memory_allocate(SIM_DEVICE_MEMORY, *pitch * height, NULL, NULL, address));
}

ENTRY(cuMemAllocManaged, uint64_t *address, size_t bytes, unsigned flags)
{
    BEGIN(API(cuMemAllocManaged), WORD(address), bytes, flags);
    END(address ? sim_memory_allocate(SIM_MANAGED, bytes, NULL, NULL, address) : SIM_EINVAL);
}

ENTRY(cuMemAllocHost_v2, uint64_t *address, size_t bytes)
{
    return allocate_call(API(cuMemAllocHost_v2), SIM_PINNED, address, bytes);
}

ENTRY(cuMemHostAlloc, uint64_t *address, size_t bytes, unsigned flags)
{
    BEGIN(API(cuMemHostAlloc), WORD(address), bytes, flags);
    END(address ? sim_memory_allocate(SIM_PINNED, bytes, NULL, NULL, address) : SIM_EINVAL);
}

ENTRY(cuMemFree_v2, uint64_t address)
{
    return release(API(cuMemFree_v2), address);
}

ENTRY(cuMemFreeHost, uint64_t address)
{
    return release(API(cuMemFreeHost), address);
}

ENTRY(cuMemGetInfo_v2, size_t *free_bytes, size_t *total_bytes)
{
    BEGIN(API(cuMemGetInfo_v2), WORD(free_bytes), WORD(total_bytes));
    struct sim_context *context = sim_current_context();
    if (!context)
        END(SIM_ECONTEXT);
    *free_bytes = context->device->memory_bytes - context->device->used_bytes;
    *total_bytes = context->device->memory_bytes;
    END(SIM_OK);
}
