/* SPDX-License-Identifier: MIT */
/* An nvcc program: a kernel of two arguments, a template, a device variable, managed memory, a graph. */
#include <cstdio>

__device__ int offset;

__global__ void add(int *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] += offset;
}

template <typename T> __global__ void fill(T *values, T value)
{
    values[threadIdx.x] = value;
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error) {                                                                               \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main()
{
    int *values, one = 1;
    float *managed;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&values, 1024 * sizeof *values));
    CHECK(cudaMallocManaged(&managed, 32 * sizeof *managed));
    CHECK(cudaMemcpyToSymbol(offset, &one, sizeof one));
    CHECK(cudaMemset(values, 0, 1024 * sizeof *values));
    add<<<4, 256>>>(values, 1024);
    fill<float><<<1, 32, 128, stream>>>(managed, 1.0f);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<2, 128, 0, stream>>>(values, 256);
    add<<<2, 128, 0, stream>>>(values, 256);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(managed));
    CHECK(cudaFree(values));
    printf("%s with %d multiprocessors\n", properties.name, properties.multiProcessorCount);
    return 0;
}
