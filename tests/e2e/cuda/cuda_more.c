/* SPDX-License-Identifier: MIT */
/* Graphs, pools, and the driver's own interface: cuda_more SCENARIO [COUNT], as cuda_calls. */
#include "cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tpagent.h"

#define PAGE ((size_t)2 << 20)

struct allocation { /* CUmemAllocationProp */
    unsigned type, handles;
    struct {
        unsigned type;
        int id;
    } location;
    uint64_t rest[4];
};

KERNEL(scale, "_Z5scalePff")
KERNEL(sum, "_Z3sumPKfPf")

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "cuda_more: %s: %d\n", what, error);
    exit(1);
}

#define CHECK(call) check(call, #call)

static void launch_scale(void *stream)
{
    CHECK(cudaLaunchKernel((const void *)(uintptr_t)scale, (struct dim3){64, 2, 1},
                           (struct dim3){256, 1, 1}, NULL, 128, stream));
}

/* Captured once, launched often: two kernels and a memset in each launch. */
static void graph(int count)
{
    void *stream, *captured, *exec, *memory;

    CHECK(cudaMalloc(&memory, 4096));
    CHECK(cudaStreamCreateWithFlags(&stream, 1));
    CHECK(cudaStreamBeginCapture(stream, 0));
    tpagent_begin("forward");
    launch_scale(stream);
    tpagent_end();
    tpagent_begin("loss");
    CHECK(launch_as_nvcc(sum, 1, 32, stream));
    CHECK(cudaMemsetAsync(memory, 0, 4096, stream));
    tpagent_end();
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&exec, captured, 0));
    tpagent_begin("replay");
    for (int i = 0; i < count; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    tpagent_end();
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(captured));
    CHECK(cudaFree(memory));
}

struct trainer {
    void *exec, *memory;
    int count;
};

/* Steps of one thread: kernels on two streams, a graph, and work outside of what is inside. */
static void *train(void *argument)
{
    const struct trainer *trainer = argument;
    void *first, *second;

    CHECK(cudaStreamCreateWithFlags(&first, 1));
    CHECK(cudaStreamCreateWithFlags(&second, 1));
    tpagent_begin("train");
    for (int i = 0; i < trainer->count; i++) {
        tpagent_begin("step");
        tpagent_begin("forward");
        launch_scale(first);
        tpagent_begin("forward"); /* not alone: a range of its own */
        launch_scale(second);
        tpagent_end();
        CHECK(launch_as_nvcc(sum, 1, 32, first));
        tpagent_end();
        tpagent_begin("replay");
        tpagent_begin("replay"); /* the same one */
        CHECK(cudaGraphLaunch(trainer->exec, second));
        tpagent_end();
        tpagent_end();
        CHECK(cudaMemsetAsync(trainer->memory, 0, 4096, first));
        tpagent_end();
        if (i % 100 == 99)
            CHECK(cudaStreamSynchronize(first));
    }
    tpagent_end();
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaStreamSynchronize(second));
    return NULL;
}

static void train_all(int count)
{
    struct trainer trainer = {.count = count};
    void *stream, *captured;
    pthread_t threads[2];

    CHECK(cudaMalloc(&trainer.memory, 4096));
    CHECK(cudaStreamCreateWithFlags(&stream, 1));
    CHECK(cudaStreamBeginCapture(stream, 0));
    launch_scale(stream);
    CHECK(launch_as_nvcc(sum, 1, 32, stream));
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&trainer.exec, captured, 0));
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, train, &trainer);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(cudaGraphExecDestroy(trainer.exec));
    CHECK(cudaGraphDestroy(captured));
    CHECK(cudaFree(trainer.memory));
}

static void pools(int count)
{
    void *memory, *stream, *pool, *registered = malloc(10000);

    CHECK(cudaStreamCreateWithFlags(&stream, 1));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    for (int i = 0; i < count; i++) {
        CHECK(cudaMallocAsync(&memory, 1000, stream));
        CHECK(cudaMemsetAsync(memory, 0, 1000, stream));
        CHECK(cudaFreeAsync(memory, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaHostRegister(registered, 10000, 0));
    CHECK(cudaHostUnregister(registered));
    free(registered);
}

static void driver(int count)
{
    struct allocation where = {.type = 1, .location = {1, 0}};
    void *context, *module, *function;
    uint64_t memory, address, handle;
    int device;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, "image"));
    CHECK(cuModuleGetFunction(&function, module, "triton_poi_fused_add_0"));
    CHECK(cuMemAlloc_v2(&memory, 5000));
    tpagent_begin("driver");
    for (int i = 0; i < count; i++)
        CHECK(cuLaunchKernel(function, 10, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
    tpagent_end();
    check(!cuLaunchKernelEx(NULL, function, NULL, NULL), "a launch without a configuration");
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree_v2(memory));
    CHECK(cuMemAddressReserve(&address, 2 * PAGE, 0, 0, 0));
    CHECK(cuMemCreate(&handle, 2 * PAGE, &where, 0));
    CHECK(cuMemMap(address, 2 * PAGE, 0, handle, 0));
    CHECK(cuMemUnmap(address, 2 * PAGE));
    CHECK(cuMemRelease(handle));
    CHECK(cuMemAddressFree(address, 2 * PAGE));
    CHECK(cuModuleUnload(module));
}

struct ipc_handle { /* CUipcMemHandle */
    char reserved[64];
};

int cuIpcGetMemHandle(struct ipc_handle *handle, uint64_t address);
int cuIpcOpenMemHandle_v2(uint64_t *address, struct ipc_handle handle, unsigned flags);
int cuIpcCloseMemHandle(uint64_t address);
int cuLaunchKernel_ptsz(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        void *stream, void **values, void **extra);

/* Memory of another process, and launches to the thread's own default stream. */
static void shared(int count)
{
    void *context, *module, *function;
    uint64_t memory, other;
    struct ipc_handle handle;
    int device;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, "image"));
    CHECK(cuModuleGetFunction(&function, module, "of_each_thread"));
    CHECK(cuMemAlloc_v2(&memory, 7000));
    CHECK(cuIpcGetMemHandle(&handle, memory));
    CHECK(cuIpcOpenMemHandle_v2(&other, handle, 1));
    tpagent_begin("shared");
    for (int i = 0; i < count; i++)
        CHECK(cuLaunchKernel_ptsz(function, 10, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
    tpagent_end();
    CHECK(cuCtxSynchronize());
    CHECK(cuIpcCloseMemHandle(other));
    CHECK(cuMemFree_v2(memory));
    CHECK(cuModuleUnload(module));
}

/* Two contexts of one device, in turns; each range is of one. */
static void contexts(int count)
{
    static const char *const names[] = {"first", "second"};
    void *context[2], *module[2], *function[2];
    int device;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    for (int i = 0; i < 2; i++) {
        CHECK(cuCtxCreate_v2(&context[i], 0, device));
        CHECK(cuModuleLoadData(&module[i], "image"));
        CHECK(cuModuleGetFunction(&function[i], module[i], "of_both"));
    }
    for (int i = 0; i < 3 * count; i++) {
        int which = i % 3 == 2;
        CHECK(cuCtxSetCurrent(context[which]));
        tpagent_begin(names[which]);
        CHECK(cuLaunchKernel(function[which], 10, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
        tpagent_end();
    }
    for (int i = 0; i < 2; i++) {
        CHECK(cuCtxSetCurrent(context[i]));
        CHECK(cuCtxSynchronize());
        CHECK(cuModuleUnload(module[i]));
    }
}

/* Asks by name how many devices there are; what it does with one goes by address. */
static void by_address(int count)
{
    void *handle = dlopen("libcudart.so.13", RTLD_NOW), *memory;
    int (*allocate)(void **, size_t), (*release)(void *), devices;

    *(void **)&allocate = dlsym(handle, "cudaMalloc");
    *(void **)&release = dlsym(handle, "cudaFree");
    CHECK(cudaGetDeviceCount(&devices));
    for (int i = 0; i < count; i++) {
        CHECK(allocate(&memory, 4096));
        CHECK(release(memory));
    }
    printf("%d devices\n", devices);
}

/* Another module at the address of the first one: its kernel is another kernel. */
static void modules(int count)
{
    void *context, *module, *function;
    int device;
    char name[32];

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuCtxCreate_v2(&context, 0, device));
    for (int i = 0; i < count; i++) {
        CHECK(cuModuleLoadData(&module, "image"));
        snprintf(name, sizeof(name), "jit_kernel_%d", i);
        CHECK(cuModuleGetFunction(&function, module, name));
        CHECK(cuLaunchKernel(function, 10, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
        CHECK(cuCtxSynchronize());
        CHECK(cuModuleUnload(module));
    }
}

/* One kernel runs, the others wait in a graph that is never launched. */
static void captured(int count)
{
    void *stream, *graph;

    CHECK(cudaStreamCreateWithFlags(&stream, 1));
    launch_scale(stream);
    CHECK(cudaStreamBeginCapture(stream, 0));
    for (int i = 0; i < count; i++)
        launch_scale(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphDestroy(graph));
}

/* One kernel runs, the other launches are of none. */
static void failed(int count)
{
    static const char nothing = 0;
    struct dim3 one = {1, 1, 1};

    launch_scale(NULL);
    for (int i = 0; i < count; i++)
        check(!cudaLaunchKernel(&nothing, one, one, NULL, 0, NULL), "a launch of no kernel");
    CHECK(cudaDeviceSynchronize());
}

/* All calls of a step have one external id; what is set between the steps has none. */
static void external(int count)
{
    enum { CUSTOM = 3 };
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW), *memory;
    int (*push)(uint32_t, uint64_t), (*pop)(uint32_t, uint64_t *);
    uint64_t last;

    *(void **)&push = dlsym(cupti, "cuptiActivityPushExternalCorrelationId");
    *(void **)&pop = dlsym(cupti, "cuptiActivityPopExternalCorrelationId");
    CHECK(cudaMalloc(&memory, 4096));
    for (int i = 0; i < count; i++) {
        tpagent_begin("step");
        CHECK(push(CUSTOM, (uint64_t)i));
        launch_scale(NULL);
        CHECK(cudaMemsetAsync(memory, 0, 4096, NULL));
        CHECK(pop(CUSTOM, &last));
        tpagent_end();
        tpagent_begin("between");
        CHECK(cudaMemsetAsync(memory, 1, 4096, NULL));
        tpagent_end();
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(memory));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int);
    } scenarios[] = {{"graph", graph},       {"pools", pools},       {"driver", driver},
                     {"modules", modules},   {"shared", shared},     {"by_address", by_address},
                     {"external", external}, {"captured", captured}, {"failed", failed},
                     {"contexts", contexts}, {"train", train_all}};

    for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        if (!strcmp(argv[1], scenarios[i].name)) {
            scenarios[i].run(argc > 2 ? atoi(argv[2]) : 10);
            return 0;
        }
    fprintf(stderr, "cuda_more: which scenario?\n");
    return 2;
}
