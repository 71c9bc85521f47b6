/* SPDX-License-Identifier: MIT */
/* Devices: which, their properties, their end. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

/* Where cudaDeviceProp has what programs print; the rest of it is 0. */
#if SIM_RUNTIME_VERSION >= 13000
enum { PROPERTIES_BYTES = 1008, MULTIPROCESSORS = 384, THREADS_PER_MULTIPROCESSOR = 604 };
#elif SIM_RUNTIME_VERSION >= 12000
enum { PROPERTIES_BYTES = 1032, MULTIPROCESSORS = 388, THREADS_PER_MULTIPROCESSOR = 624 };
#else
enum { PROPERTIES_BYTES = 640, MULTIPROCESSORS = 388, THREADS_PER_MULTIPROCESSOR = 624 };
#endif
enum {
    NAME = 0,
    UUID = 256,
    MEMORY_BYTES = 288,
    SHARED_PER_BLOCK = 296,
    REGISTERS_PER_BLOCK = 304,
    WARP_SIZE = 308,
    THREADS_PER_BLOCK = 320,
    MAJOR = 360,
    MINOR = 364,
};

static void put(char *properties, size_t at, uint64_t value, size_t bytes)
{
    memcpy(properties + at, &value, bytes);
}

static int properties(struct sim_api api, char *ret_properties, int ordinal)
{
    BEGIN(api, WORD(ret_properties), WORD(ordinal));
    const struct sim_device *device = core->device(ordinal);
    if (!device || !ret_properties)
        END(device ? SIM_EINVAL : SIM_EDEVICE);
    memset(ret_properties, 0, PROPERTIES_BYTES);
    snprintf(ret_properties + NAME, 256, "%s", device->name);
    memcpy(ret_properties + UUID, device->uuid, sizeof device->uuid);
    put(ret_properties, MEMORY_BYTES, device->memory_bytes, 8);
    put(ret_properties, SHARED_PER_BLOCK, 49152, 8);
    put(ret_properties, REGISTERS_PER_BLOCK, 65536, 4);
    put(ret_properties, WARP_SIZE, 32, 4);
    put(ret_properties, THREADS_PER_BLOCK, 1024, 4);
    put(ret_properties, MAJOR, device->major, 4);
    put(ret_properties, MINOR, device->minor, 4);
    put(ret_properties, MULTIPROCESSORS, device->multiprocessors, 4);
    put(ret_properties, THREADS_PER_MULTIPROCESSOR, 2048, 4);
    END(SIM_OK);
}

/* 12 gave the name a version, 13 took it back. */
#if SIM_RUNTIME_VERSION >= 12000 && SIM_RUNTIME_VERSION < 13000
ENTRY(cudaGetDeviceProperties_v2, char *ret_properties, int ordinal)
{
    return properties(API(cudaGetDeviceProperties), ret_properties, ordinal);
}
#else
ENTRY(cudaGetDeviceProperties, char *ret_properties, int ordinal)
{
    return properties(API(cudaGetDeviceProperties), ret_properties, ordinal);
}
#endif

ENTRY(cudaDeviceGetAttribute, int *value, int attribute, int ordinal)
{
    BEGIN(API(cudaDeviceGetAttribute), WORD(value), WORD(attribute), WORD(ordinal));
    END(driver.cuDeviceGetAttribute(value, attribute, ordinal));
}

ENTRY(cudaDeviceSynchronize, void)
{
    BEGIN(API(cudaDeviceSynchronize), 0);
    END(driver.cuCtxSynchronize());
}

/* Waits; what the context holds stays. */
ENTRY(cudaDeviceReset, void)
{
    BEGIN(API(cudaDeviceReset), 0);
    END(driver.cuCtxSynchronize());
}

struct pointer_attributes {
    int type, device; /* type: 0 unregistered, 1 host, 2 device, 3 managed */
    void *device_pointer, *host_pointer;
    long reserved[8];
};

ENTRY(cudaPointerGetAttributes, struct pointer_attributes *attributes, const void *pointer)
{
    BEGIN(API(cudaPointerGetAttributes), WORD(attributes), WORD(pointer));
    if (!attributes)
        END(SIM_EINVAL);
    memset(attributes, 0, sizeof *attributes);
    attributes->device = core->current_context()->device->ordinal;
    switch (core->memory_kind(WORD(pointer))) {
    case SIM_PINNED:
        attributes->type = 1;
        attributes->host_pointer = attributes->device_pointer = (void *)(uintptr_t)pointer;
        break;
    case SIM_DEVICE_MEMORY:
        attributes->type = 2;
        attributes->device_pointer = (void *)(uintptr_t)pointer;
        break;
    case SIM_MANAGED:
        attributes->type = 3;
        attributes->host_pointer = attributes->device_pointer = (void *)(uintptr_t)pointer;
        break;
    default:
        attributes->host_pointer = (void *)(uintptr_t)pointer;
    }
    END(SIM_OK);
}

ENTRY(cudaProfilerStart, void)
{
    BEGIN(API(cudaProfilerStart), 0);
    END(driver.cuProfilerStart());
}

ENTRY(cudaProfilerStop, void)
{
    BEGIN(API(cudaProfilerStop), 0);
    END(driver.cuProfilerStop());
}
