/* SPDX-License-Identifier: MIT */
/* A library that uses CUDA, for a program that does not: opened, used, closed. */
#include "cuda.h"

KERNEL(scale, "_Z5scalePff")

int plugin_run(int count);

__attribute__((visibility("default"))) int plugin_run(int count)
{
    for (int i = 0; i < count; i++) {
        int error = cudaLaunchKernel((const void *)(uintptr_t)scale, (struct dim3){8, 1, 1},
                                     (struct dim3){64, 1, 1}, NULL, 0, NULL);
        if (error)
            return error;
    }
    return cudaDeviceSynchronize();
}
