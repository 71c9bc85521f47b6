/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management, arrays, memory of others. Physical memory counts when it is created
 * and released; mapping it costs nothing. Whoever counts at the map counts twice.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GRANULARITY = 2 << 20 };

ENTRY(cuMemGetAllocationGranularity, size_t *granularity, const void *properties, int option)
{
    BEGIN(API(cuMemGetAllocationGranularity), WORD(granularity), WORD(properties), WORD(option));
    if (!granularity)
        END(SIM_EINVAL);
    *granularity = GRANULARITY;
    END(SIM_OK);
}

/* A range of addresses is readable memory at once: what is mapped there is not told apart. */
ENTRY(cuMemAddressReserve, uint64_t *address, size_t size, size_t alignment, uint64_t wanted,
      uint64_t flags)
{
    BEGIN(API(cuMemAddressReserve), WORD(address), size, alignment, wanted, flags);
    if (!address || !size || size % GRANULARITY)
        END(SIM_EINVAL);
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        END(SIM_ENOMEM);
    *address = WORD(pages);
    sim_memory_add_range(*address, size);
    END(SIM_OK);
}

ENTRY(cuMemAddressFree, uint64_t address, size_t size)
{
    BEGIN(API(cuMemAddressFree), address, size);
    END(munmap((void *)(uintptr_t)address, size) ? SIM_EINVAL : SIM_OK);
}

/* What of an allocation's properties matters here. */
struct properties {
    int type, handles;
    int location_type, device;
};

static int create(struct sim_api api, uint64_t *handle, size_t size, const void *properties,
                  uint64_t flags)
{
    BEGIN(api, WORD(handle), size, WORD(properties), flags);
    if (!handle || !size)
        END(SIM_EINVAL);
    END(sim_number("TELL_VIRTUAL", 1)
            ? sim_memory_allocate(SIM_DEVICE_MEMORY, size, NULL, NULL, handle)
            : sim_memory_allocate_untold(size, handle));
}

ENTRY(cuMemCreate, uint64_t *handle, size_t size, const struct properties *properties,
      uint64_t flags)
{
    return size % GRANULARITY ? SIM_EINVAL
                              : create(API(cuMemCreate), handle, size, properties, flags);
}

struct multicast {
    unsigned devices;
    size_t size;
};

ENTRY(cuMulticastCreate, uint64_t *handle, const struct multicast *properties)
{
    return properties ? create(API(cuMulticastCreate), handle, properties->size, properties, 0)
                      : SIM_EINVAL;
}

ENTRY(cuMemRelease, uint64_t handle)
{
    BEGIN(API(cuMemRelease), handle);
    END(sim_memory_release(handle, NULL));
}

ENTRY(cuMemMap, uint64_t address, size_t size, size_t offset, uint64_t handle, uint64_t flags)
{
    BEGIN(API(cuMemMap), address, size, offset, handle, flags);
    END(SIM_OK);
}

ENTRY(cuMemUnmap, uint64_t address, size_t size)
{
    BEGIN(API(cuMemUnmap), address, size);
    END(SIM_OK);
}

ENTRY(cuMemSetAccess, uint64_t address, size_t size, const void *access, size_t count)
{
    BEGIN(API(cuMemSetAccess), address, size, WORD(access), count);
    END(SIM_OK);
}

ENTRY(cuMulticastBindMem, uint64_t handle, size_t offset, uint64_t memory, size_t memory_offset,
      size_t size, uint64_t flags)
{
    BEGIN(API(cuMulticastBindMem), handle, offset, memory, memory_offset, size, flags);
    END(SIM_OK);
}

ENTRY(cuMulticastBindAddr, uint64_t handle, size_t offset, uint64_t address, size_t size,
      uint64_t flags)
{
    BEGIN(API(cuMulticastBindAddr), handle, offset, address, size, flags);
    END(SIM_OK);
}

ENTRY(cuMulticastUnbind, uint64_t handle, int device, size_t offset, size_t size)
{
    BEGIN(API(cuMulticastUnbind), handle, WORD(device), offset, size);
    END(SIM_OK);
}

/* Shared in one process: the number is the handle's place in the order of exports. */
static uint64_t exported[64];
static int export_count;

ENTRY(cuMemExportToShareableHandle, void *shared, uint64_t handle, int type, uint64_t flags)
{
    BEGIN(API(cuMemExportToShareableHandle), WORD(shared), handle, WORD(type), flags);
    if (!shared || export_count == 64)
        END(SIM_EINVAL);
    exported[export_count] = handle;
    *(int *)shared = export_count++;
    END(SIM_OK);
}

ENTRY(cuMemImportFromShareableHandle, uint64_t *handle, void *shared, int type)
{
    BEGIN(API(cuMemImportFromShareableHandle), WORD(handle), WORD(shared), WORD(type));
    uint64_t number = WORD(shared);
    struct sim_block block;
    if (!handle || number >= (uint64_t)export_count || !sim_memory_find(exported[number], &block))
        END(SIM_EINVAL);
    END(sim_memory_allocate(SIM_DEVICE_MEMORY, block.bytes, NULL, NULL, handle));
}

static size_t bytes_of(int format)
{
    switch (format) {
    case 0x02: /* 16 bits, and the half float */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03:
    case 0x0a:
    case 0x20:
        return 4;
    default:
        return 1;
    }
}

struct array {
    size_t width, height;
    int format;
    unsigned channels;
};

ENTRY(cuArrayCreate_v2, uint64_t *array, const struct array *shape)
{
    BEGIN(API(cuArrayCreate_v2), WORD(array), WORD(shape));
    if (!array || !shape)
        END(SIM_EINVAL);
    END(sim_memory_allocate(SIM_ARRAY,
                            shape->width * (shape->height ? shape->height : 1) *
                                bytes_of(shape->format) * shape->channels,
                            NULL, NULL, array));
}

struct array3d {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

static int array3d(struct sim_api api, uint64_t *array, const struct array3d *shape,
                   unsigned levels)
{
    BEGIN(api, WORD(array), WORD(shape), levels);
    if (!array || !shape)
        END(SIM_EINVAL);
    uint64_t bytes = 0, texel = bytes_of(shape->format) * shape->channels;
    for (unsigned level = 0; level < levels; level++) {
        size_t width = shape->width >> level, height = shape->height >> level,
               depth = shape->depth >> level;
        bytes += (width ? width : 1) * (height ? height : 1) * (depth ? depth : 1) * texel;
    }
    END(sim_memory_allocate(SIM_ARRAY, bytes, NULL, NULL, array));
}

ENTRY(cuArray3DCreate_v2, uint64_t *array, const struct array3d *shape)
{
    return array3d(API(cuArray3DCreate_v2), array, shape, 1);
}

ENTRY(cuMipmappedArrayCreate, uint64_t *array, const struct array3d *shape, unsigned levels)
{
    return array3d(API(cuMipmappedArrayCreate), array, shape, levels);
}

static int array_destroy(struct sim_api api, uint64_t array)
{
    BEGIN(api, array);
    END(sim_memory_release(array, NULL));
}

ENTRY(cuArrayDestroy, uint64_t array)
{
    return array_destroy(API(cuArrayDestroy), array);
}

ENTRY(cuMipmappedArrayDestroy, uint64_t array)
{
    return array_destroy(API(cuMipmappedArrayDestroy), array);
}

/* Memory of another process, of this one in fact: the handle holds address and size. */
struct ipc_handle {
    uint64_t address, bytes;
    char reserved[48];
};

ENTRY(cuIpcGetMemHandle, struct ipc_handle *handle, uint64_t address)
{
    BEGIN(API(cuIpcGetMemHandle), WORD(handle), address);
    struct sim_block block;
    if (!handle || !sim_memory_find(address, &block))
        END(SIM_EINVAL);
    memset(handle, 0, sizeof *handle);
    handle->address = block.address;
    handle->bytes = block.bytes;
    END(SIM_OK);
}

ENTRY(cuIpcOpenMemHandle_v2, uint64_t *address, struct ipc_handle handle, unsigned flags)
{
    BEGIN(API(cuIpcOpenMemHandle_v2), WORD(address), WORD(&handle), flags);
    END(address ? sim_memory_allocate(SIM_DEVICE_MEMORY, handle.bytes, NULL, NULL, address)
                : SIM_EINVAL);
}

ENTRY(cuIpcCloseMemHandle, uint64_t address)
{
    BEGIN(API(cuIpcCloseMemHandle), address);
    END(sim_memory_release(address, NULL));
}

struct external_memory {
    uint64_t bytes;
};

struct external_handle {
    int type;
    uint64_t handle[2];
    uint64_t size;
};

ENTRY(cuImportExternalMemory, struct external_memory **memory, const struct external_handle *handle)
{
    BEGIN(API(cuImportExternalMemory), WORD(memory), WORD(handle));
    if (!memory || !handle)
        END(SIM_EINVAL);
    *memory = calloc(1, sizeof **memory);
    (*memory)->bytes = handle->size;
    END(SIM_OK);
}

struct external_buffer {
    uint64_t offset, size;
};

ENTRY(cuExternalMemoryGetMappedBuffer, uint64_t *address, struct external_memory *memory,
      const struct external_buffer *buffer)
{
    BEGIN(API(cuExternalMemoryGetMappedBuffer), WORD(address), WORD(memory), WORD(buffer));
    if (!address || !memory || !buffer || buffer->offset + buffer->size > memory->bytes)
        END(SIM_EINVAL);
    END(sim_memory_allocate(SIM_DEVICE_MEMORY, buffer->size, NULL, NULL, address));
}

ENTRY(cuDestroyExternalMemory, struct external_memory *memory)
{
    BEGIN(API(cuDestroyExternalMemory), WORD(memory));
    free(memory);
    END(SIM_OK);
}

/* Registered host memory is pinned while it is; nothing is allocated. */
ENTRY(cuMemHostRegister_v2, void *address, size_t bytes, unsigned flags)
{
    BEGIN(API(cuMemHostRegister_v2), WORD(address), bytes, flags);
    END(sim_memory_register(WORD(address), bytes));
}

ENTRY(cuMemHostUnregister, void *address)
{
    BEGIN(API(cuMemHostUnregister), WORD(address));
    END(sim_memory_unregister(WORD(address)));
}
