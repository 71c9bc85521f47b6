/* SPDX-License-Identifier: MIT */
/*
 * CUDA programs that know nothing of the agent: cuda_calls SCENARIO [COUNT]. What they print is the
 * same in each run; 0 where every call did what it should.
 */
#include "cuda.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tpagent.h"

int cudaProfilerStart(void);
int cudaProfilerStop(void);
int cudaMallocManaged(void **address, size_t bytes, unsigned flags);
int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
int cudaHostAlloc(void **address, size_t bytes, unsigned flags);
int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes);
int cudaLaunchCooperativeKernel(const void *function, struct dim3 grid, struct dim3 block,
                                void **arguments, size_t shared, void *stream);

KERNEL(scale, "_Z5scalePff")
KERNEL(sum, "_Z3sumPKfPf")

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "cuda_calls: %s: %s (%d)\n", what, cudaGetErrorString(error), error);
    exit(1);
}

#define CHECK(call) check(call, #call)

static void launch_scale(void *stream)
{
    CHECK(cudaLaunchKernel((const void *)(uintptr_t)scale, (struct dim3){64, 2, 1},
                           (struct dim3){256, 1, 1}, NULL, 128, stream));
}

static void launch_sum(void *stream)
{
    CHECK(launch_as_nvcc(sum, 1, 32, stream));
}

static void streams(int count)
{
    void *first, *second;

    CHECK(cudaStreamCreateWithFlags(&first, 1));
    CHECK(cudaStreamCreateWithFlags(&second, 1));
    for (int i = 0; i < count; i++) {
        launch_scale(first);
        launch_sum(second);
    }
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaStreamSynchronize(second));
}

static void devices(int count)
{
    void *memory[2];

    for (int device = 0; device < 2; device++) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaMalloc(&memory[device], 4096));
        for (int i = 0; i < count; i++)
            launch_scale(NULL);
    }
    CHECK(cudaMemcpyPeer(memory[0], 0, memory[1], 1, 4096));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(memory[1]));
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(memory[0]));
}

static void print_memory(void)
{
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (!file || !fgets(line, sizeof(line), file) || sscanf(line, "%*u %lu", &pages) != 1)
        exit(1);
    fclose(file);
    printf("%lu\n", pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

static void many(int count)
{
    for (int i = 0; i < count; i++) {
        launch_scale(NULL);
        if (i % 1000 == 999)
            CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaDeviceSynchronize());
}

/* For counts that end in millions: after every 1,000 launches a copy of 1,000 bytes, in a range,
 * and now and then the memory of this process. */
static void millions(int count)
{
    static char host[1000];
    void *device;

    CHECK(cudaMalloc(&device, sizeof(host)));
    for (int i = 1; i <= count; i++) {
        launch_scale(NULL);
        if (i % 1000)
            continue;
        tpagent_begin("copy");
        CHECK(cudaMemcpy(device, host, sizeof(host), HOST_TO_DEVICE));
        tpagent_end();
        if (i % (count / 10) == 0)
            print_memory();
    }
    CHECK(cudaFree(device));
}

static void *thread_main(void *argument)
{
    const int *count = argument;

    tpagent_begin("thread");
    for (int i = 0; i < *count; i++)
        launch_scale(NULL);
    tpagent_end();
    return NULL;
}

static void threads(int count)
{
    pthread_t started[4];

    launch_sum(NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&started[i], NULL, thread_main, &count);
    for (int i = 0; i < 4; i++)
        pthread_join(started[i], NULL);
    CHECK(cudaDeviceSynchronize());
}

/* Ranges around launches: the reader must find each launch in the innermost one. */
static void ranges(int count)
{
    tpagent_begin("step");
    for (int i = 0; i < count; i++) {
        tpagent_begin("forward");
        launch_scale(NULL);
        launch_scale(NULL);
        tpagent_end();
        launch_sum(NULL);
    }
    tpagent_end();
    CHECK(cudaDeviceSynchronize());
}

static void memory(int count)
{
    char *host = malloc(4096);
    void *plain, *pinned, *mapped, *managed, *pitched;
    size_t pitch;

    (void)count;
    CHECK(cudaMalloc(&plain, 1000));
    CHECK(cudaMallocHost(&pinned, 2000));
    CHECK(cudaHostAlloc(&mapped, 3000, 0));
    CHECK(cudaMallocManaged(&managed, 4000, 1));
    CHECK(cudaMallocPitch(&pitched, &pitch, 100, 10));
    CHECK(cudaMemset(plain, 7, 1000));
    CHECK(cudaMemcpy(plain, host, 500, HOST_TO_DEVICE));
    CHECK(cudaMemcpy(host, plain, 600, DEVICE_TO_HOST));
    CHECK(cudaMemcpyAsync(managed, plain, 700, DEVICE_TO_DEVICE, NULL));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(pitched));
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(plain));
    CHECK(cudaFree(NULL));
    free(host);
}

/* What is left of each range at the end: of "weights" all, of "batch" the last one, of "scratch"
 * nothing, though others free it. */
static void live(int count)
{
    void *weights, *managed, *batch = NULL, *scratch;

    tpagent_begin("weights");
    for (int i = 1; i <= count; i++)
        CHECK(cudaMalloc(&weights, (size_t)i * 1000));
    CHECK(cudaMallocManaged(&managed, 512, 1));
    tpagent_end();
    for (int i = 0; i < count; i++) {
        tpagent_begin("step");
        tpagent_begin("scratch");
        CHECK(cudaMalloc(&scratch, 7000));
        tpagent_end();
        tpagent_begin("batch");
        CHECK(cudaFree(batch));
        CHECK(cudaMalloc(&batch, 300));
        tpagent_end();
        CHECK(cudaFree(scratch));
        tpagent_end();
    }
}

/* A call that fails: its number is recorded, the last error stays the program's. */
static void failing(int count)
{
    void *address = NULL;

    (void)count;
    printf("%d\n", cudaMalloc(&address, (size_t)1 << 60));
    printf("%d\n", cudaGetLastError());
    printf("%d\n", cudaGetLastError());
}

static void window(int count)
{
    tpagent_begin("all");
    launch_scale(NULL);
    tpagent_begin("outside");
    launch_scale(NULL);
    CHECK(cudaProfilerStart());
    for (int i = 0; i < count; i++) {
        tpagent_begin("inside");
        launch_sum(NULL);
        tpagent_end();
    }
    CHECK(cudaProfilerStop());
    launch_scale(NULL);
    tpagent_end();
    tpagent_begin("later");
    tpagent_end();
    tpagent_end();
    CHECK(cudaDeviceSynchronize());
}

static void fork_after(int count)
{
    void *address;
    int status;

    launch_scale(NULL);
    CHECK(cudaDeviceSynchronize());
    pid_t pid = fork();
    if (!pid) {
        /* what CUDA says here is CUDA's business; that nothing hangs or dies is ours */
        int error = cudaMalloc(&address, 100);
        tpagent_begin("child");
        tpagent_end();
        _exit(error ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    for (int i = 0; i < count; i++)
        launch_sum(NULL);
    CHECK(cudaDeviceSynchronize());
}

static void fork_before(int count)
{
    int status;
    pid_t pid = fork();

    if (!pid) {
        for (int i = 0; i < count; i++)
            launch_scale(NULL);
        CHECK(cudaDeviceSynchronize());
        exit(0);
    }
    waitpid(pid, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    launch_sum(NULL);
    CHECK(cudaDeviceSynchronize());
}

static void fast_exit(int count)
{
    for (int i = 0; i < count; i++)
        launch_scale(NULL);
    fflush(stdout);
    _exit(7);
}

/* A program with threads before it has CUDA, and without work on the device before its end. */
static void settled(int count)
{
    pthread_t thread;
    int none = 0;

    pthread_create(&thread, NULL, thread_main, &none);
    pthread_join(thread, NULL);
    usleep(50000);
    for (int i = 0; i < count; i++)
        launch_scale(NULL);
    CHECK(cudaDeviceSynchronize());
    usleep(300000);
    _exit(7);
}

static void *killer(void *argument)
{
    usleep((useconds_t) * (int *)argument);
    kill(getpid(), SIGKILL);
    return NULL;
}

static void killed(int microseconds)
{
    pthread_t thread;

    launch_scale(NULL);
    pthread_create(&thread, NULL, killer, &microseconds);
    for (;;) {
        for (int i = 0; i < 100; i++)
            launch_sum(NULL);
        usleep(20000);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int);
    } scenarios[] = {
        {"streams", streams},         {"devices", devices}, {"many", many},
        {"threads", threads},         {"ranges", ranges},   {"memory", memory},
        {"failing", failing},         {"window", window},   {"fork_after", fork_after},
        {"fork_before", fork_before}, {"_exit", fast_exit}, {"killed", killed},
        {"millions", millions},       {"settled", settled}, {"live", live},
    };

    for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        if (!strcmp(argv[1], scenarios[i].name)) {
            scenarios[i].run(argc > 2 ? atoi(argv[2]) : 10);
            return 0;
        }
    fprintf(stderr, "cuda_calls: which scenario?\n");
    return 2;
}
