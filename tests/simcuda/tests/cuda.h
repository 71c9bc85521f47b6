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
const char *cudaGetErrorString(int error);

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
