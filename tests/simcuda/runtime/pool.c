/* SPDX-License-Identifier: MIT */
/* Memory in stream order, pools, memory of others. */
#include "runtime.h"

static int do_cudaMallocAsync(struct sim_api api, bool per_thread, uint64_t *address, size_t bytes,
                              void *stream)
{
    BEGIN(api, WORD(address), bytes, WORD(stream));
    END(DRIVER(cuMemAllocAsync, _ptsz, per_thread)(address, bytes, stream));
}
PAIR(cudaMallocAsync, _ptsz, (uint64_t * address, size_t bytes, void *stream), address, bytes,
     stream)

static int do_cudaMallocFromPoolAsync(struct sim_api api, bool per_thread, uint64_t *address,
                                      size_t bytes, struct sim_pool *pool, void *stream)
{
    BEGIN(api, WORD(address), bytes, WORD(pool), WORD(stream));
    END(DRIVER(cuMemAllocFromPoolAsync, _ptsz, per_thread)(address, bytes, pool, stream));
}
PAIR(cudaMallocFromPoolAsync, _ptsz,
     (uint64_t * address, size_t bytes, struct sim_pool *pool, void *stream), address, bytes, pool,
     stream)

static int do_cudaFreeAsync(struct sim_api api, bool per_thread, void *address, void *stream)
{
    BEGIN(api, WORD(address), WORD(stream));
    END(address ? DRIVER(cuMemFreeAsync, _ptsz, per_thread)(WORD(address), stream) : SIM_OK);
}
PAIR(cudaFreeAsync, _ptsz, (void *address, void *stream), address, stream)

ENTRY(cudaMemPoolCreate, struct sim_pool **pool, const void *properties)
{
    BEGIN(API(cudaMemPoolCreate), WORD(pool), WORD(properties));
    END(driver.cuMemPoolCreate(pool, properties));
}

ENTRY(cudaMemPoolDestroy, struct sim_pool *pool)
{
    BEGIN(API(cudaMemPoolDestroy), WORD(pool));
    END(driver.cuMemPoolDestroy(pool));
}

ENTRY(cudaMemPoolTrimTo, struct sim_pool *pool, size_t min_bytes)
{
    BEGIN(API(cudaMemPoolTrimTo), WORD(pool), min_bytes);
    END(driver.cuMemPoolTrimTo(pool, min_bytes));
}

ENTRY(cudaMemPoolSetAttribute, struct sim_pool *pool, int attribute, void *value)
{
    BEGIN(API(cudaMemPoolSetAttribute), WORD(pool), WORD(attribute), WORD(value));
    END(driver.cuMemPoolSetAttribute(pool, attribute, value));
}

ENTRY(cudaMemPoolGetAttribute, struct sim_pool *pool, int attribute, void *value)
{
    BEGIN(API(cudaMemPoolGetAttribute), WORD(pool), WORD(attribute), WORD(value));
    END(driver.cuMemPoolGetAttribute(pool, attribute, value));
}

ENTRY(cudaMemPoolExportToShareableHandle, void *handle, struct sim_pool *pool, int type,
      unsigned flags)
{
    BEGIN(API(cudaMemPoolExportToShareableHandle), WORD(handle), WORD(pool), WORD(type), flags);
    END(driver.cuMemPoolExportToShareableHandle(handle, pool, type, flags));
}

ENTRY(cudaMemPoolImportFromShareableHandle, struct sim_pool **pool, void *handle, int type,
      unsigned flags)
{
    BEGIN(API(cudaMemPoolImportFromShareableHandle), WORD(pool), WORD(handle), WORD(type), flags);
    END(driver.cuMemPoolImportFromShareableHandle(pool, handle, type, flags));
}

ENTRY(cudaMemPoolExportPointer, uint64_t *data, void *address)
{
    BEGIN(API(cudaMemPoolExportPointer), WORD(data), WORD(address));
    END(driver.cuMemPoolExportPointer(data, WORD(address)));
}

ENTRY(cudaMemPoolImportPointer, uint64_t *address, struct sim_pool *pool, const uint64_t *data)
{
    BEGIN(API(cudaMemPoolImportPointer), WORD(address), WORD(pool), WORD(data));
    END(driver.cuMemPoolImportPointer(address, pool, data));
}

ENTRY(cudaDeviceGetDefaultMemPool, struct sim_pool **pool, int device)
{
    BEGIN(API(cudaDeviceGetDefaultMemPool), WORD(pool), WORD(device));
    END(driver.cuDeviceGetDefaultMemPool(pool, device));
}

ENTRY(cudaDeviceGetMemPool, struct sim_pool **pool, int device)
{
    BEGIN(API(cudaDeviceGetMemPool), WORD(pool), WORD(device));
    END(driver.cuDeviceGetMemPool(pool, device));
}

ENTRY(cudaDeviceSetMemPool, int device, struct sim_pool *pool)
{
    BEGIN(API(cudaDeviceSetMemPool), WORD(device), WORD(pool));
    END(driver.cuDeviceSetMemPool(device, pool));
}

ENTRY(cudaIpcGetMemHandle, void *handle, void *address)
{
    BEGIN(API(cudaIpcGetMemHandle), WORD(handle), WORD(address));
    END(driver.cuIpcGetMemHandle(handle, WORD(address)));
}

ENTRY(cudaIpcOpenMemHandle, uint64_t *address, struct sim_ipc_handle handle, unsigned flags)
{
    BEGIN(API(cudaIpcOpenMemHandle), WORD(address), WORD(&handle), flags);
    END(driver.cuIpcOpenMemHandle_v2(address, handle, flags));
}

ENTRY(cudaIpcCloseMemHandle, void *address)
{
    BEGIN(API(cudaIpcCloseMemHandle), WORD(address));
    END(driver.cuIpcCloseMemHandle(WORD(address)));
}

ENTRY(cudaImportExternalMemory, void **memory, const void *handle)
{
    BEGIN(API(cudaImportExternalMemory), WORD(memory), WORD(handle));
    END(driver.cuImportExternalMemory(memory, handle));
}

ENTRY(cudaExternalMemoryGetMappedBuffer, uint64_t *address, void *memory, const void *buffer)
{
    BEGIN(API(cudaExternalMemoryGetMappedBuffer), WORD(address), WORD(memory), WORD(buffer));
    END(driver.cuExternalMemoryGetMappedBuffer(address, memory, buffer));
}

ENTRY(cudaDestroyExternalMemory, void *memory)
{
    BEGIN(API(cudaDestroyExternalMemory), WORD(memory));
    END(driver.cuDestroyExternalMemory(memory));
}

ENTRY(cudaHostRegister, void *address, size_t bytes, unsigned flags)
{
    BEGIN(API(cudaHostRegister), WORD(address), bytes, flags);
    END(driver.cuMemHostRegister_v2(address, bytes, flags));
}

ENTRY(cudaHostUnregister, void *address)
{
    BEGIN(API(cudaHostUnregister), WORD(address));
    END(driver.cuMemHostUnregister(address));
}
