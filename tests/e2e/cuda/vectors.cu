// SPDX-License-Identifier: MIT
// A CUDA program as people write them; nvcc compiles it where there is one.
#include <cstdio>
#include <cstdlib>

template <typename T> __global__ void add(const T *a, const T *b, T *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void clear(float *a)
{
    a[threadIdx.x] = 0;
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = call;                                                                  \
        if (error != cudaSuccess) {                                                                \
            std::printf("%s: %s\n", #call, cudaGetErrorName(error));                               \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

int main()
{
    const int n = 1000;
    float *a, *b, *c;
    CHECK(cudaMalloc(&a, n * sizeof(float)));
    CHECK(cudaMalloc(&b, n * sizeof(float)));
    CHECK(cudaMalloc(&c, n * sizeof(float)));
    for (int i = 0; i < 5; i++)
        add<<<4, 256>>>(a, b, c, n);
    clear<<<1, 32, 64>>>(a);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    std::printf("done\n");
    return 0;
}
