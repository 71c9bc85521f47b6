/* SPDX-License-Identifier: MIT */
/*
 * A small CUDA program that knows nothing of the simulation: allocates, copies, launches COUNT
 * kernels on two streams, sets, copies back. Its output is the same in each run.
 */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

KERNEL(scale, "_Z5scalePff")
KERNEL(sum, "_Z3sumPKfPf")

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "example: %s: %s (%d)\n", what, cudaGetErrorString(error), error);
    exit(1);
}

int main(int argc, char **argv)
{
    enum { BYTES = 1 << 20 };
    int count = argc > 1 ? atoi(argv[1]) : 10;
    char *host = calloc(1, BYTES), *back = malloc(BYTES);
    void *device, *result, *stream;
    strcpy(host, "what went there came back");
    check(cudaMalloc(&device, BYTES), "cudaMalloc");
    check(cudaMalloc(&result, 4096), "cudaMalloc");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(cudaMemcpy(device, host, BYTES, HOST_TO_DEVICE), "cudaMemcpy");
    check(cudaMemset(result, 0, 4096), "cudaMemset");
    for (int i = 0; i < count; i++) {
        check(launch_as_nvcc(scale, 64, 256, NULL), "scale");
        check(cudaLaunchKernel((const void *)(uintptr_t)sum, (struct dim3){1, 1, 1},
                               (struct dim3){32, 1, 1}, NULL, 0, stream),
              "sum");
    }
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaMemcpyAsync(back, device, BYTES, DEVICE_TO_HOST, stream), "cudaMemcpyAsync");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaFree(result), "cudaFree");
    check(cudaFree(device), "cudaFree");
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    printf("%d launches; %s\n", 2 * count, back);
    free(host);
    free(back);
    return 0;
}
