/* SPDX-License-Identifier: MIT */
#include "model/device_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "model/live_memory.h"

const char *tp_device_memory_source_name(unsigned sources)
{
    switch (sources) {
    case 0:
        return NULL;
    case TP_MEMORY_FRAMEWORK:
        return "framework";
    case TP_MEMORY_CUDA:
        return "cuda";
    case TP_MEMORY_SEGMENTS:
        return "segments";
    default:
        return "mixed";
    }
}

void tp_device_memory_fini(struct tp_device_memory *memory)
{
    for (size_t i = 0; i < memory->device_count; i++)
        free(memory->devices[i].curve);
    free(memory->steps);
    free(memory->devices);
    free(memory->owners);
    *memory = (struct tp_device_memory){0};
}

int tp_device_memory_add(struct tp_device_memory *memory, const struct tp_memory_step *step)
{
    if (memory->count == memory->capacity) {
        size_t capacity = memory->capacity ? memory->capacity * 2 : 256;
        struct tp_memory_step *steps = realloc(memory->steps, capacity * sizeof(*steps));
        if (!steps)
            return -ENOMEM;
        memory->steps = steps;
        memory->capacity = capacity;
    }
    memory->steps[memory->count++] = *step;
    return 0;
}

static int compare_steps(const void *a, const void *b)
{
    const struct tp_memory_step *left = a, *right = b;

    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->ns != right->ns)
        return left->ns < right->ns ? -1 : 1;
    if (left->is_free != right->is_free) /* an address is free before it is new */
        return left->is_free ? -1 : 1;
    return (left->address > right->address) - (left->address < right->address);
}

/* Each point stands for as many steps as it takes. */
static void add_point(struct tp_memory_device *device, size_t step, size_t steps, int64_t ns)
{
    size_t at = steps <= TP_MEMORY_POINTS ? step : step * TP_MEMORY_POINTS / steps;
    struct tp_memory_point *point = &device->curve[at];

    if (at == device->curve_count)
        device->curve[device->curve_count++] = (struct tp_memory_point){ns, device->live};
    else if (device->live > point->bytes)
        *point = (struct tp_memory_point){ns, device->live};
}

static int take_step(struct tp_memory_device *device, struct tp_live_memory *live,
                     const struct tp_memory_step *step)
{
    struct tp_live_block block = {.address = step->address,
                                  .space = step->space,
                                  .bytes = (uint64_t)step->bytes,
                                  .ns = step->ns,
                                  .owner = step->owner},
                         before;
    int error = 0;

    if (step->is_free) {
        bool found = tp_live_memory_take(live, step->space, step->address, &block);
        int64_t bytes = step->bytes ? -step->bytes : found ? (int64_t)block.bytes : 0;
        device->frees++;
        device->unknown_frees += !found;
        device->freed += bytes;
        device->live -= found ? (int64_t)block.bytes : 0;
    } else {
        error = tp_live_memory_put(live, &block, &before);
        device->allocations++;
        device->allocated += step->bytes;
        device->live += step->bytes;
        if (!error && before.is_used) /* its free is not recorded */
            device->live -= (int64_t)before.bytes;
    }
    if (device->live > device->peak) {
        device->peak = device->live;
        device->peak_ns = step->ns;
    }
    return error;
}

static int add_owner(struct tp_device_memory *memory, int32_t device,
                     const struct tp_live_block *block)
{
    for (size_t i = 0; i < memory->owner_count; i++) {
        struct tp_memory_owner *owner = &memory->owners[i];
        if (owner->device == device && owner->owner == block->owner) {
            owner->blocks++;
            owner->bytes += (int64_t)block->bytes;
            return 0;
        }
    }
    struct tp_memory_owner *owners =
        realloc(memory->owners, (memory->owner_count + 1) * sizeof(*owners));
    if (!owners)
        return -ENOMEM;
    memory->owners = owners;
    owners[memory->owner_count++] = (struct tp_memory_owner){
        .device = device, .owner = block->owner, .blocks = 1, .bytes = (int64_t)block->bytes};
    return 0;
}

/* Steps [first, end) are one device's, by time. */
static int sum_device(struct tp_device_memory *memory, size_t first, size_t end)
{
    struct tp_memory_device *devices =
        realloc(memory->devices, (memory->device_count + 1) * sizeof(*devices));
    struct tp_live_memory live = {0};
    int error = 0;

    if (!devices)
        return -ENOMEM;
    memory->devices = devices;
    struct tp_memory_device *device = &devices[memory->device_count++];
    *device = (struct tp_memory_device){
        .device = memory->steps[first].device,
        .curve = calloc(TP_MEMORY_POINTS, sizeof(*device->curve)),
    };
    if (!device->curve)
        return -ENOMEM;
    for (size_t i = first; i < end && !error; i++) {
        error = take_step(device, &live, &memory->steps[i]);
        add_point(device, i - first, end - first, memory->steps[i].ns);
    }
    for (size_t i = 0; i < live.slot_count && !error; i++) {
        if (live.slots[i].is_used)
            error = add_owner(memory, device->device, &live.slots[i]);
    }
    tp_live_memory_fini(&live);
    return error;
}

static int compare_owners(const void *a, const void *b)
{
    const struct tp_memory_owner *left = a, *right = b;

    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return (left->owner > right->owner) - (left->owner < right->owner);
}

int tp_device_memory_finish(struct tp_device_memory *memory)
{
    int error = 0;

    if (memory->count)
        qsort(memory->steps, memory->count, sizeof(*memory->steps), compare_steps);
    for (size_t i = 0, end; i < memory->count && !error; i = end) {
        for (end = i + 1;
             end < memory->count && memory->steps[end].device == memory->steps[i].device; end++)
            ;
        error = sum_device(memory, i, end);
    }
    if (memory->owner_count)
        qsort(memory->owners, memory->owner_count, sizeof(*memory->owners), compare_owners);
    return error;
}
