// SPDX-License-Identifier: MIT
// Calls each function of the runtime that makes a device work or hold memory; nvcc compiles it with
// the default stream of all threads, and once more with each thread's own.
#include <cstdio>
#include <cstdlib>

__global__ void once(int *p)
{
    if (p)
        *p = 1;
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = call;                                                                  \
        if (error != cudaSuccess) {                                                                \
            std::printf("%s: %d\n", #call, error);                                                 \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static void launches(cudaStream_t stream)
{
    int *none = nullptr;
    void *arguments[] = {&none};
    cudaLaunchConfig_t config = {};
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    config.gridDim = dim3(3, 1, 1);
    config.blockDim = dim3(32, 1, 1);
    config.stream = stream;
    once<<<1, 32, 0, stream>>>(none);
    CHECK(cudaLaunchKernel((const void *)once, dim3(2), dim3(32), arguments, 0, stream));
    CHECK(cudaLaunchKernelExC(&config, (const void *)once, arguments));
    CHECK(cudaLaunchCooperativeKernel((const void *)once, dim3(1), dim3(32), arguments, 0, stream));
    CHECK(cudaLaunchHostFunc(stream, [](void *) {}, nullptr));
    CHECK(cudaStreamSynchronize(stream));
    if (!stream)
        return;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    once<<<1, 64, 0, stream>>>(none);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static void arrays()
{
    cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t flat, block;
    cudaMipmappedArray_t levels;
    cudaPitchedPtr pitched;
    void *rows;
    size_t pitch;

    CHECK(cudaMallocArray(&flat, &floats, 64, 16, 0));
    CHECK(cudaMalloc3DArray(&block, &floats, make_cudaExtent(16, 8, 4), 0));
    CHECK(cudaMallocMipmappedArray(&levels, &floats, make_cudaExtent(32, 32, 0), 3, 0));
    CHECK(cudaMalloc3D(&pitched, make_cudaExtent(100, 10, 3)));
    CHECK(cudaMallocPitch(&rows, &pitch, 200, 7));
    CHECK(cudaMemset2D(rows, pitch, 1, 200, 7));
    CHECK(cudaMemset3D(pitched, 2, make_cudaExtent(100, 10, 3)));
    CHECK(cudaFree(rows));
    CHECK(cudaFree(pitched.ptr));
    CHECK(cudaFreeMipmappedArray(levels));
    CHECK(cudaFreeArray(block));
    CHECK(cudaFreeArray(flat));
}

static void copies(cudaStream_t stream)
{
    static char host[4096];
    char *device, *other;

    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMalloc(&other, sizeof host));
    CHECK(cudaMemcpy(device, host, 100, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(other, device, 200, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemcpy2D(device, 64, host, 64, 32, 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DAsync(host, 64, device, 64, 16, 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemset(device, 3, 300));
    CHECK(cudaMemsetAsync(other, 4, 400, stream));
    CHECK(cudaMemset2DAsync(device, 64, 5, 32, 8, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(other));
    CHECK(cudaFree(device));
}

static void pools(cudaStream_t stream)
{
    cudaMemPoolProps properties = {};
    cudaMemPool_t pool;
    void *first, *second, *pinned, *mapped, *managed;

    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    CHECK(cudaMallocFromPoolAsync(&first, 1000, pool, stream));
    CHECK(cudaMallocAsync(&second, 2000, stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaFreeAsync(second, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaMallocHost(&pinned, 3000));
    CHECK(cudaHostAlloc(&mapped, 4000, 0));
    CHECK(cudaMallocManaged(&managed, 5000));
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaFreeHost(pinned));
}

static void waits(cudaStream_t stream)
{
    cudaEvent_t event;

    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaDeviceSynchronize());
}

int main()
{
    cudaStream_t stream;

    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&stream));
    for (cudaStream_t each : {cudaStream_t{}, stream}) {
        launches(each);
        copies(each);
        pools(each);
        waits(each);
    }
    arrays();
    CHECK(cudaStreamDestroy(stream));
    std::printf("done\n");
    return 0;
}
