/* SPDX-License-Identifier: MIT */
#ifndef SIM_TESTS_CUDA_H
#define SIM_TESTS_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* Own declarations of what the programs of this folder use of CUDA: nothing of NVIDIA's is needed
 * to build them. */

struct dim3 {
    unsigned x, y, z;
};

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3 };

int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int cudaMallocHost(void **address, size_t bytes);
int cudaFreeHost(void *address);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemsetAsync(void *to, int value, size_t bytes, void *stream);
int cudaStreamCreate(void **stream);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamSynchronize(void *stream);
int cudaStreamDestroy(void *stream);
int cudaDeviceSynchronize(void);
int cudaSetDevice(int device);
int cudaGetDeviceCount(int *count);
int cudaGetLastError(void);
int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
                     size_t shared, void *stream);
int cudaLaunchKernel_ptsz(const void *function, struct dim3 grid, struct dim3 block,
                          void **arguments, size_t shared, void *stream);
int cudaStreamSynchronize_ptsz(void *stream);
const char *cudaGetErrorString(int error);
int cudaGetDevice(int *device);
int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes);
int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
int cudaMallocManaged(void **address, size_t bytes, unsigned flags);
int cudaHostRegister(void *address, size_t bytes, unsigned flags);
int cudaHostUnregister(void *address);
int cudaMallocAsync(void **address, size_t bytes, void *stream);
int cudaFreeAsync(void *address, void *stream);
int cudaDeviceGetDefaultMemPool(void **pool, int device);
int cudaMemPoolTrimTo(void *pool, size_t min_bytes);
int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind);
int cudaEventCreate(void **event);
int cudaEventRecord(void *event, void *stream);
int cudaEventSynchronize(void *event);
int cudaEventElapsedTime(float *ms, void *from, void *to);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaProfilerStart(void);
int cudaProfilerStop(void);
int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphAddKernelNode(void **node, void *graph, void *const *dependencies, size_t count,
                           const void *params);
int cudaGraphAddMemcpyNode1D(void **node, void *graph, void *const *dependencies, size_t count,
                             void *to, const void *from, size_t bytes, int kind);
int cudaGraphAddMemsetNode(void **node, void *graph, void *const *dependencies, size_t count,
                           const void *params);
int cudaGraphClone(void **clone, void *original);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, void *stream);
int cudaGraphExecDestroy(void *exec);
int cudaGraphDestroy(void *graph);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleUnload(void *module);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int cuLaunchKernelEx(const void *config, void *function, void **params, void **extra);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemAddressReserve(uint64_t *address, size_t size, size_t alignment, uint64_t wanted,
                        unsigned long long flags);
int cuMemCreate(uint64_t *handle, size_t size, const void *properties, unsigned long long flags);
int cuMemMap(uint64_t address, size_t size, size_t offset, uint64_t handle,
             unsigned long long flags);
int cuMemSetAccess(uint64_t address, size_t size, const void *access, size_t count);
int cuMemUnmap(uint64_t address, size_t size);
int cuMemRelease(uint64_t handle);
int cuMemAddressFree(uint64_t address, size_t size);
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                        int *status);

int __cudaGetKernel(void **handle, const void *function);
int __cudaLaunchKernel(void *kernel, struct dim3 grid, struct dim3 block, void **arguments,
                       size_t shared, void *stream);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device_function,
                            const char *device_name, int limit, void *tid, void *bid, void *block,
                            void *grid, int *warp);

/*
 * What nvcc makes of `__global__ void name()`: a host function, and a constructor that registers
 * it. Launch it with LAUNCH(name, ...), as code of nvcc 13 does, or with cudaLaunchKernel.
 */
#define KERNEL(name, mangled)                                                                      \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        __asm__ volatile("" ::"r"(#name));                                                         \
    }                                                                                              \
    static const char name_of_##name[] = mangled;                                                  \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        static char image[] = "fat";                                                               \
        void **handle = __cudaRegisterFatBinary(image);                                            \
        __cudaRegisterFunction(handle, (const char *)(uintptr_t)name, NULL, name_of_##name, -1,    \
                               NULL, NULL, NULL, NULL, NULL);                                      \
        __cudaRegisterFatBinaryEnd(handle);                                                        \
    }

static inline int launch_as_nvcc(void (*function)(void), unsigned blocks, unsigned threads,
                                 void *stream)
{
    void *kernel, *arguments[1] = {NULL};
    int error = __cudaGetKernel(&kernel, (const void *)(uintptr_t)function);
    return error ? error
                 : __cudaLaunchKernel(kernel, (struct dim3){blocks, 1, 1},
                                      (struct dim3){threads, 1, 1}, arguments, 0, stream);
}

#endif
