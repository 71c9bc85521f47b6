// SPDX-License-Identifier: MIT
//
// cuda_calls launch N | kinds | graph NODES LAUNCHES | exit return|exit|_exit|term|abort | fork
//
// Small CUDA programs for a machine with a GPU. What each has done is printed as one JSON line, so that whoever recorded
// it can compare.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

static void must(cudaError_t error, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "cuda_calls.cu:%d: %s\n", line, cudaGetErrorString(error));
    exit(3);
}
#define MUST(call) must(call, __LINE__)

__global__ void nothing() {}

__global__ void spin(long long cycles)
{
    for (long long start = clock64(); clock64() - start < cycles;)
        ;
}

static double now_ns()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static long thread_id()
{
    return syscall(SYS_gettid);
}

// The launches of one thread: what a launch costs it, with the device never far behind.
static int launch(long count)
{
    nothing<<<1, 1>>>();
    MUST(cudaDeviceSynchronize());
    double spent = 0;
    for (long done = 0; done < count; done += 500) {
        double start = now_ns();
        for (long i = done; i < done + 500 && i < count; i++)
            nothing<<<1, 1>>>();
        spent += now_ns() - start;
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
    }
    printf("{\"kernels\": %ld, \"ns_per_launch\": %.1f, \"thread\": %ld}\n", count + 1, spent / count, thread_id());
    return 0;
}

// A launch by the driver's functions, found as JIT compilers find them: by address.
static int launch_by_address()
{
    static const char image[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
                                ".visible .entry by_address() { ret; }\n";
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module, *function;
    auto load = reinterpret_cast<int (*)(void **, const void *)>(dlsym(driver, "cuModuleLoadData"));
    auto find = reinterpret_cast<int (*)(void **, void *, const char *)>(dlsym(driver, "cuModuleGetFunction"));
    auto launch = reinterpret_cast<int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                           void *, void **, void **)>(dlsym(driver, "cuLaunchKernel"));
    int error = load(&module, image);
    if (!error)
        error = find(&function, module, "by_address");
    return error ? error : launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
}

static int kinds()
{
    const size_t size = 1 << 20;
    void *device, *other, *pinned, *pooled;
    char *pageable = static_cast<char *>(calloc(1, size));
    cudaStream_t stream;
    cudaEvent_t event;
    long ids[2];

    MUST(cudaMalloc(&device, size));
    MUST(cudaMalloc(&other, size));
    MUST(cudaMallocHost(&pinned, size));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaEventCreate(&event));
    MUST(cudaMallocAsync(&pooled, size, stream));
    MUST(cudaMemset(device, 1, size));
    MUST(cudaMemcpy(device, pageable, size, cudaMemcpyHostToDevice));
    MUST(cudaMemcpyAsync(other, pinned, size, cudaMemcpyHostToDevice, stream));
    MUST(cudaMemcpyAsync(device, other, size, cudaMemcpyDeviceToDevice, stream));
    MUST(cudaMemcpy(pageable, device, size, cudaMemcpyDeviceToHost));
    spin<<<2, 64, 0, stream>>>(100000);
    MUST(cudaEventRecord(event, stream));
    MUST(cudaEventSynchronize(event));
    MUST(cudaStreamSynchronize(stream));
    for (int i = 0; i < 2; i++)
        std::thread([&ids, i] {
            ids[i] = thread_id();
            for (int j = 0; j < 100; j++)
                nothing<<<1, 32>>>();
            MUST(cudaDeviceSynchronize());
        }).join();
    MUST(cudaGetLastError());
    if (int error = launch_by_address()) {
        fprintf(stderr, "cuda_calls.cu: a launch by address: %d\n", error);
        return 3;
    }
    MUST(cudaDeviceSynchronize());
    MUST(cudaFreeAsync(pooled, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaFree(device));
    MUST(cudaFree(other));
    MUST(cudaFreeHost(pinned));
    printf("{\"kernels\": 202, \"by_name\": 201, \"copies\": 4, \"copied_bytes\": %zu, \"memsets\": 1, \"threads\": [%ld, %ld, %ld], "
           "\"allocated_bytes\": %zu}\n",
           4 * size, thread_id(), ids[0], ids[1], 3 * size);
    free(pageable);
    return 0;
}

static int graph(int nodes, int launches)
{
    cudaGraph_t captured;
    cudaGraphExec_t exec;
    cudaStream_t stream;

    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < nodes; i++)
        nothing<<<1, 1, 0, stream>>>();
    MUST(cudaStreamEndCapture(stream, &captured));
    MUST(cudaGraphInstantiate(&exec, captured, 0));
    for (int i = 0; i < launches; i++) {
        MUST(cudaGraphLaunch(exec, stream));
        if (i % 16 == 15)
            MUST(cudaStreamSynchronize(stream));
    }
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaGetLastError());
    printf("{\"kernels\": %ld, \"graph_launches\": %d}\n", (long)nodes * launches, launches);
    return 0;
}

static int leave(const char *how)
{
    for (int i = 0; i < 50; i++)
        nothing<<<1, 1>>>();
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    printf("{\"kernels\": 50}\n");
    fflush(stdout);
    if (!strcmp(how, "exit"))
        exit(7);
    if (!strcmp(how, "_exit"))
        _exit(7);
    if (strcmp(how, "return"))
        usleep(2500000); // what the driver had not delivered by then may be lost
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "abort"))
        abort();
    return 7;
}

static int forked()
{
    int status;

    nothing<<<1, 1>>>();
    MUST(cudaDeviceSynchronize());
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(5);
    waitpid(child, &status, 0);
    nothing<<<1, 1>>>();
    MUST(cudaDeviceSynchronize());
    printf("{\"kernels\": 2, \"child\": %d}\n", WEXITSTATUS(status));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "launch"))
        return launch(atol(argv[2]));
    if (argc > 1 && !strcmp(argv[1], "kinds"))
        return kinds();
    if (argc > 3 && !strcmp(argv[1], "graph"))
        return graph(atoi(argv[2]), atoi(argv[3]));
    if (argc > 2 && !strcmp(argv[1], "exit"))
        return leave(argv[2]);
    if (argc > 1 && !strcmp(argv[1], "fork"))
        return forked();
    fprintf(stderr, "usage: cuda_calls launch N | kinds | graph NODES LAUNCHES | exit HOW | fork\n");
    return 2;
}
