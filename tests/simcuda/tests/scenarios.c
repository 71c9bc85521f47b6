/* SPDX-License-Identifier: MIT */
/*
 * Programs in one: the first argument says which, the others are its numbers. All use CUDA as any
 * program does; what they do is so small that a test can say what a profiler must have seen.
 */
#include "cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

KERNEL(first, "_Z5firstv")
KERNEL(second, "_Z6secondv")

#define CHECK(call) check((call), #call)

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "scenarios: %s: %d\n", what, error);
    exit(1);
}

static int number(char **arguments, int index, int otherwise)
{
    for (int i = 0; i <= index; i++)
        if (!arguments[i])
            return otherwise;
    return atoi(arguments[index]);
}

/* COUNT: kernels one after the other, as nvcc launches them. */
static void launches(char **arguments)
{
    int count = number(arguments, 0, 1);
    void *kernel;
    CHECK(__cudaGetKernel(&kernel, (const void *)(uintptr_t)first));
    for (int i = 0; i < count; i++)
        CHECK(__cudaLaunchKernel(kernel, (struct dim3){1, 1, 1}, (struct dim3){32, 1, 1}, NULL, 0,
                                 NULL));
    CHECK(cudaDeviceSynchronize());
}

/* COUNT: two streams in turn; the second waits for an event of the first. */
static void streams(char **arguments)
{
    int count = number(arguments, 0, 4);
    void *one, *two, *event;
    float ms;
    CHECK(cudaStreamCreateWithFlags(&one, 1));
    CHECK(cudaStreamCreateWithFlags(&two, 1));
    CHECK(cudaEventCreate(&event));
    for (int i = 0; i < count; i++) {
        CHECK(launch_as_nvcc(first, 1, 32, one));
        CHECK(launch_as_nvcc(second, 1, 32, two));
    }
    CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(two, event, 0));
    CHECK(launch_as_nvcc(second, 2, 32, two));
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaEventElapsedTime(&ms, event, event));
    CHECK(cudaDeviceSynchronize());
}

/* Each device its kernels and memory, a copy between two, and a second context on the first. */
static void devices(char **arguments)
{
    int count;
    void *memory[16], *context, *module, *function;
    (void)arguments;
    CHECK(cudaGetDeviceCount(&count));
    for (int i = 0; i < count; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaMalloc(&memory[i], 4096 * (size_t)(i + 1)));
        CHECK(launch_as_nvcc(first, 1, 32, NULL));
        CHECK(cudaDeviceSynchronize());
    }
    if (count > 1)
        CHECK(cudaMemcpyPeer(memory[1], 1, memory[0], 0, 4096));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuModuleLoadData(&module, "image"));
    CHECK(cuModuleGetFunction(&function, module, "in_second_context"));
    CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
}

static pthread_barrier_t all_did;

static void *thread_launches(void *count)
{
    void *stream;
    CHECK(cudaStreamCreateWithFlags(&stream, 1));
    for (int i = 0; i < *(int *)count; i++)
        CHECK(launch_as_nvcc(first, 1, 32, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%d\n", gettid());
    pthread_barrier_wait(&all_did); /* all threads live at once */
    return NULL;
}

/* THREADS COUNT: each thread its stream and COUNT kernels; prints their ids. */
static void threads(char **arguments)
{
    int thread_count = number(arguments, 0, 4), count = number(arguments, 1, 100);
    pthread_t ids[64];
    pthread_barrier_init(&all_did, NULL, (unsigned)thread_count);
    for (int i = 0; i < thread_count; i++)
        pthread_create(&ids[i], NULL, thread_launches, &count);
    for (int i = 0; i < thread_count; i++)
        pthread_join(ids[i], NULL);
}

static void *launches_in_own_stream(void *unused)
{
    for (int i = 0; i < 3; i++)
        CHECK(cudaLaunchKernel_ptsz((const void *)(uintptr_t)first, (struct dim3){1, 1, 1},
                                    (struct dim3){32, 1, 1}, NULL, 0, NULL));
    CHECK(cudaStreamSynchronize_ptsz(NULL));
    return unused;
}

/* Code compiled for per-thread default streams: two threads, each in its own. */
static void per_thread(char **arguments)
{
    (void)arguments;
    for (int i = 0; i < 2; i++) {
        pthread_t id;
        pthread_create(&id, NULL, launches_in_own_stream, NULL);
        pthread_join(id, NULL);
    }
}

struct kernel_params {
    const void *function;
    struct dim3 grid, block;
    unsigned shared;
    void **params, **extra;
};

struct set_params {
    void *to;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
};

/* LAUNCHES: a graph of two kernels, a copy and a memset, made by hand, cloned, instantiated,
 * launched. */
static void graphs(char **arguments)
{
    int count = number(arguments, 0, 3);
    void *graph, *clone, *exec, *node, *memory, *stream;
    char host[256] = "by a graph", back[256] = "";
    struct kernel_params kernel = {
        (const void *)(uintptr_t)first, {4, 1, 1}, {64, 1, 1}, 0, NULL, NULL};
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&memory, 512));
    struct set_params set = {(char *)memory + 256, 0, 7, 1, 256, 1};
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(
        cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, memory, host, sizeof host, HOST_TO_DEVICE));
    CHECK(cudaGraphAddKernelNode(&node, graph, &node, 1, &kernel));
    kernel.function = (const void *)(uintptr_t)second;
    CHECK(cudaGraphAddKernelNode(&node, graph, &node, 1, &kernel));
    CHECK(cudaGraphAddMemsetNode(&node, graph, &node, 1, &set));
    CHECK(cudaGraphClone(&clone, graph));
    CHECK(cudaGraphInstantiate(&exec, clone, 0));
    for (int i = 0; i < count; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(back, memory, sizeof back, DEVICE_TO_HOST));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(memory));
    puts(back);
}

/* LAUNCHES: what a stream does, captured, with a second stream that joins; then launched. */
static void capture(char **arguments)
{
    int count = number(arguments, 0, 2);
    void *stream, *other, *graph, *exec, *event;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaStreamBeginCapture(stream, 0));
    CHECK(launch_as_nvcc(first, 1, 32, stream));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(other, event, 0));
    CHECK(launch_as_nvcc(second, 1, 32, other));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < count; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
}

/* One of each way to get and give back device memory; what is left at the end is 100 bytes. */
static void memory(char **arguments)
{
    enum { VIRTUAL = 2 << 20 };
    const int properties[8] = {1, 0, 1, 0};
    void *plain, *managed, *pinned, *async, *pitched, *left, *pool, *stream;
    char *host = malloc(8192);
    size_t pitch, free_bytes, total;
    uint64_t reserved, handle;
    (void)arguments;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&plain, 1000));
    CHECK(cudaMallocManaged(&managed, 2000, 1));
    CHECK(cudaMallocHost(&pinned, 3000));
    CHECK(cudaMallocPitch(&pitched, &pitch, 100, 4));
    CHECK(cudaHostRegister(host, 8192, 0));
    CHECK(cudaMallocAsync(&async, 4000, stream));
    CHECK(cudaMemcpyAsync(plain, host, 1000, HOST_TO_DEVICE, stream));
    CHECK(cuMemAddressReserve(&reserved, VIRTUAL, 0, 0, 0));
    CHECK(cuMemCreate(&handle, VIRTUAL, properties, 0));
    CHECK(cuMemMap(reserved, VIRTUAL, 0, handle, 0));
    CHECK(cuMemSetAccess(reserved, VIRTUAL, NULL, 0));
    CHECK(cudaMemset((void *)(uintptr_t)reserved, 1, VIRTUAL));
    CHECK(cuMemUnmap(reserved, VIRTUAL));
    CHECK(cuMemRelease(handle));
    CHECK(cuMemAddressFree(reserved, VIRTUAL));
    CHECK(cudaFreeAsync(async, stream));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaHostUnregister(host));
    CHECK(cudaFree(pitched));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(managed));
    CHECK(cudaFree(plain));
    CHECK(cudaMalloc(&left, 100));
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    printf("%zu\n", total - free_bytes);
    if (cudaMalloc(&plain, (size_t)1 << 50) != 2 || cudaGetLastError() != 2)
        exit(1);
}

/* Two modules, one after the other, with kernels at the same address of the name. */
static void unload(char **arguments)
{
    (void)arguments;
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
        void *module, *function;
        CHECK(cuModuleLoadData(&module, "image"));
        CHECK(cuModuleGetFunction(&function, module, i ? "of_the_second" : "of_the_first"));
        CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
        CHECK(cuCtxSynchronize());
        CHECK(cuModuleUnload(module));
    }
}

/* A program of the driver API alone, which asks for its functions by name. */
static void by_name(char **arguments)
{
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*allocate)(uint64_t *, size_t);
    void *context, *module, *function, *found;
    uint64_t address;
    (void)arguments;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuGetProcAddress_v2("cuLaunchKernel", &found, 13000, 0, NULL));
    *(void **)&launch = found;
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &found, 13000, 0, NULL));
    *(void **)&allocate = found;
    CHECK(cuModuleLoadData(&module, "image"));
    CHECK(cuModuleGetFunction(&function, module, "by_name"));
    CHECK(allocate(&address, 64));
    CHECK(launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
    if (cuGetProcAddress_v2("cuNoSuchThing", &found, 13000, 0, NULL) != 500)
        exit(1);
}

/* early|late: a child that uses CUDA, forked before or after the parent did. Prints its error. */
static void forks(char **arguments)
{
    int late = arguments[0] && !strcmp(arguments[0], "late"), status;
    if (late)
        CHECK(launch_as_nvcc(first, 1, 32, NULL));
    pid_t child = fork();
    if (!child) {
        int error = launch_as_nvcc(first, 1, 32, NULL);
        printf("%d\n", error);
        fflush(stdout);
        if (!error)
            error = cudaDeviceSynchronize();
        exit(0);
    }
    waitpid(child, &status, 0);
    CHECK(launch_as_nvcc(first, 1, 32, NULL));
    CHECK(cudaDeviceSynchronize());
    printf("child %d\n", status);
}

/* return|launched|_exit|abort: how the process ends, after a launch; launched: nobody waits for it.
 */
static void ends(char **arguments)
{
    CHECK(launch_as_nvcc(first, 1, 32, NULL));
    if (arguments[0] && !strcmp(arguments[0], "launched"))
        return;
    CHECK(cudaDeviceSynchronize());
    if (arguments[0] && !strcmp(arguments[0], "_exit"))
        _exit(0);
    if (arguments[0] && !strcmp(arguments[0], "abort"))
        abort();
}

static void not_a_kernel(void)
{
}

/* Calls that must fail: no such kernel, too many threads, no such memory. */
static void wrong(char **arguments)
{
    (void)arguments;
    printf("%d %d %d\n",
           cudaLaunchKernel((const void *)(uintptr_t)not_a_kernel, (struct dim3){1, 1, 1},
                            (struct dim3){1, 1, 1}, NULL, 0, NULL),
           launch_as_nvcc(first, 1, 2048, NULL), cudaFree((void *)8));
}

/* COUNT: kernels of a library with a runtime of its own (argument 2), in turn with the program's.
 */
static void library(char **arguments)
{
    int count = number(arguments, 0, 1);
    void *math = arguments[1] ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL, *stream;
    int (*gemm)(void *stream);
    *(void **)&gemm = math ? dlsym(math, "math_gemm") : NULL;
    if (!gemm)
        exit(1);
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < count; i++) {
        CHECK(launch_as_nvcc(first, 1, 32, stream));
        CHECK(gemm(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
}

/* A capture window of cudaProfilerStart and cudaProfilerStop around the second of three launches.
 */
static void window(char **arguments)
{
    (void)arguments;
    CHECK(launch_as_nvcc(first, 1, 32, NULL));
    CHECK(cudaProfilerStart());
    CHECK(launch_as_nvcc(second, 1, 32, NULL));
    CHECK(cudaProfilerStop());
    CHECK(launch_as_nvcc(first, 1, 32, NULL));
    CHECK(cudaDeviceSynchronize());
}

static const struct {
    const char *name;
    void (*run)(char **arguments);
} scenarios[] = {
    {"launches", launches}, {"streams", streams}, {"devices", devices},
    {"threads", threads},   {"graphs", graphs},   {"capture", capture},
    {"memory", memory},     {"unload", unload},   {"by_name", by_name},
    {"forks", forks},       {"ends", ends},       {"wrong", wrong},
    {"window", window},     {"library", library}, {"per_thread", per_thread},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (!strcmp(argv[1], scenarios[i].name)) {
            scenarios[i].run(argv + 2);
            return 0;
        }
    fprintf(stderr, "scenarios: no such scenario\n");
    return 2;
}
