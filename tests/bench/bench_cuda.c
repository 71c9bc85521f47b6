/* SPDX-License-Identifier: MIT */
/*
 * The agent's part of a CUDA launch, in bare readings of the TSC, on a CUDA that does nothing:
 *
 *     LD_PRELOAD=libtpagent.so TPAGENT_CUDA=hooks bench_cuda hooks
 *         an interposed launch, less one that only calls the next function
 *     LD_PRELOAD=libtpagent.so TPAGENT_CUPTI=libcuda_empty.so bench_cuda callbacks
 *         CUPTI's callback at enter and exit of a launch, less an empty one
 *     ... bench_cuda activities
 *         a record of a call or a kernel, converted and stored
 *     ... bench_cuda disk LAUNCHES
 *         so many launches with calls and kernels; the recording's size is what is asked
 *
 * In short chunks of CPU time, the three in turns, with a rest between so that the drain keeps up;
 * the lowest tenth counts.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "cuda_empty.h"

#define CHUNK 500
#define CHUNKS 4000
#define REST_NS 300000
#define KERNELS 24
#define RECORDS 1200 /* calls and kernels in a buffer, half and half */

enum { RUNTIME = 5, KERNEL = 10 };

/* As CUPTI lays it out. */
struct call_data {
    uint32_t site;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_uid;
    uint64_t *data;
    uint32_t correlation;
};

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double low(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), by_value);
    return values[count / 10];
}

typedef void chunk_function(void);

/* ns for each of @per things that a chunk does */
static double timed(chunk_function *chunk, int per)
{
    uint64_t start = cpu_ns();

    chunk();
    return (double)(cpu_ns() - start) / per;
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, REST_NS}, NULL);
}

static void bare(void)
{
    for (int i = 0; i < CHUNK; i++) {
        uint64_t ticks = __rdtsc();
        __asm__ volatile("" ::"r"(ticks));
    }
}

/* --- hooks */

static int (*volatile next_launch)(const void *, struct dim3, struct dim3, void **, size_t, void *);
static char kernels[KERNELS][64]; /* functions of the program */

static __attribute__((noinline)) int empty_launch(const void *function, struct dim3 grid,
                                                  struct dim3 block, void **values, size_t shared,
                                                  void *stream)
{
    return next_launch(function, grid, block, values, shared, stream);
}

static void empty_hooks(void)
{
    for (int i = 0; i < CHUNK; i++)
        empty_launch(kernels[i % KERNELS], (struct dim3){80, 1, 1}, (struct dim3){256, 1, 1}, NULL,
                     0, NULL);
}

static void hooks(void)
{
    for (int i = 0; i < CHUNK; i++)
        cudaLaunchKernel(kernels[i % KERNELS], (struct dim3){80, 1, 1}, (struct dim3){256, 1, 1},
                         NULL, 0, NULL);
}

/* --- callbacks */

static client_callback *volatile callback;
static uint32_t correlation;

static __attribute__((noinline)) void empty_callback(void *data, uint32_t domain, uint32_t id,
                                                     const void *call)
{
    __asm__ volatile("" ::"r"(data), "r"(domain), "r"(id), "r"(call));
}

static void call_back(void)
{
    struct call_data call = {.function = "cudaLaunchKernel_v7000", .symbol = "_Z4gemmPf"};

    for (int i = 0; i < CHUNK; i++) {
        call.correlation = ++correlation;
        call.site = 0;
        callback(NULL, 2, 211, &call);
        call.site = 1;
        callback(NULL, 2, 211, &call);
    }
}

static void empty_callbacks(void)
{
    callback = empty_callback;
    call_back();
}

static void callbacks(void)
{
    callback = cuda_client()->callback;
    call_back();
}

static void compare(const char *what, chunk_function *ours, chunk_function *empty)
{
    static double bare_ns[CHUNKS], ours_ns[CHUNKS], empty_ns[CHUNKS];

    ours();
    empty();
    for (int i = 0; i < CHUNKS; i++) {
        bare_ns[i] = timed(bare, CHUNK);
        empty_ns[i] = timed(empty, CHUNK);
        ours_ns[i] = timed(ours, CHUNK);
        rest();
    }
    double one = low(bare_ns, CHUNKS);
    double added = low(ours_ns, CHUNKS) - low(empty_ns, CHUNKS);
    printf("%s %.2f ns, rdtsc %.2f ns, ratio %.2f\n", what, added, one, added / one);
}

/* --- activities */

static char names[KERNELS][128];
static uint64_t now_ns = 1000000000;
static uint32_t seed = 1;

static uint32_t chance(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * below >> 32);
}

static void put(uint8_t *record, size_t offset, uint64_t value, size_t size)
{
    memcpy(record + offset, &value, size);
}

static size_t add_call(uint8_t *at, uint32_t id, uint64_t start)
{
    memset(at, 0, 40);
    put(at, 0, RUNTIME, 4);
    put(at, 4, 211, 4);
    put(at, 8, start, 8);
    put(at, 16, start + 2500 + chance(600), 8);
    put(at, 24, (uint64_t)getpid(), 4);
    put(at, 28, (uint64_t)getpid(), 4);
    put(at, 32, id, 4);
    return 40;
}

static size_t add_kernel(uint8_t *at, uint32_t id, uint64_t start)
{
    unsigned kernel = id % KERNELS; /* as a training step repeats its kernels */

    memset(at, 0, 216);
    put(at, 0, KERNEL, 4);
    put(at, 6, 32 + 8 * (kernel % 5), 2);
    put(at, 16, start + 4000 + chance(500), 8);
    put(at, 24, start + 6000 + 700 * kernel + chance(300), 8);
    put(at, 44, 1, 4);
    put(at, 48, 7, 4);
    put(at, 52, 80 + kernel, 4);
    put(at, 56, 1, 4);
    put(at, 60, 1, 4);
    put(at, 64, 256, 4);
    put(at, 68, 1, 4);
    put(at, 72, 1, 4);
    put(at, 92, id, 4);
    put(at, 104, (uintptr_t)names[kernel], 8);
    return 216;
}

static uint8_t *filled;
static size_t filled_used, filled_size;

/* The next buffer: @count launches, the first with id @id. */
static void fill(uint32_t id, int count)
{
    size_t records;

    cuda_client()->request(&filled, &filled_size, &records);
    filled_used = 0;
    if (!filled)
        exit(1);
    for (int i = 0; i < count; i++) {
        now_ns += 5000 + chance(4000);
        filled_used += add_call(filled + filled_used, id + (uint32_t)i, now_ns);
        filled_used += add_kernel(filled + filled_used, id + (uint32_t)i, now_ns);
    }
}

static void complete(void)
{
    cuda_client()->complete(NULL, 0, filled, filled_size, filled_used);
}

static void *measure_activities(void *argument)
{
    static double bare_ns[CHUNKS], ours_ns[CHUNKS];
    int chunks = CHUNKS / 4;

    (void)argument;
    for (int i = -1; i < chunks; i++) {
        fill(correlation, RECORDS / 2);
        correlation += RECORDS / 2;
        double one = timed(bare, CHUNK), ours = timed(complete, RECORDS);
        if (i >= 0) {
            bare_ns[i] = one;
            ours_ns[i] = ours;
        }
        nanosleep(&(struct timespec){0, 5 * REST_NS}, NULL);
    }
    double one = low(bare_ns, chunks), record = low(ours_ns, chunks);
    printf("activities %.2f ns, rdtsc %.2f ns, ratio %.2f\n", record, one, record / one);
    return NULL;
}

/* One launch after another, as a program makes them: a call, later its records. */
static int launches;

static void *give_back(void *argument)
{
    (void)argument;
    complete();
    return NULL;
}

static void on_worker(void *(*run)(void *))
{
    pthread_t worker;

    if (pthread_create(&worker, NULL, run, NULL))
        abort();
    pthread_join(worker, NULL);
}

static void disk(void)
{
    struct call_data call = {.function = "cudaLaunchKernel_v7000"};

    for (int done = 0; done < launches; done += RECORDS / 2) {
        fill((uint32_t)done + 1, RECORDS / 2);
        for (int i = 0; i < RECORDS / 2; i++) {
            call.correlation = (uint32_t)(done + 1 + i);
            cuda_client()->callback(NULL, 2, 211, &call);
            for (uint32_t wait = 20 + chance(40); wait; wait--) /* what lies between launches */
                __asm__ volatile("pause");
        }
        on_worker(give_back);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int (*initialize)(void);

    launches = (argc > 2 ? atoi(argv[2]) : 100000) / (RECORDS / 2) * (RECORDS / 2);
    next_launch = dlsym(dlopen("libcuda_empty.so", RTLD_NOLOAD | RTLD_NOW), "cudaLaunchKernel");
    for (int i = 0; i < KERNELS; i++)
        snprintf(
            names[i], sizeof(names[i]),
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_%02dIfEEEEviT0_T1_",
            i);
    for (int i = 0; i < KERNELS; i++)
        __cudaRegisterFunction(NULL, kernels[i], NULL, names[i], -1, NULL, NULL, NULL, NULL, NULL);
    if (!strcmp(what, "hooks")) {
        compare("hooks", hooks, empty_hooks);
        return 0;
    }
    *(void **)&initialize = dlsym(RTLD_DEFAULT, "InitializeInjection");
    if (!initialize || initialize() != 1 || !cuda_client()->callback) {
        fprintf(stderr, "bench_cuda: no agent, or it did not take CUPTI\n");
        return 1;
    }
    if (!strcmp(what, "callbacks"))
        compare("callbacks", callbacks, empty_callbacks);
    else if (!strcmp(what, "activities"))
        on_worker(measure_activities);
    else if (!strcmp(what, "disk"))
        disk();
    else
        return 2;
    return 0;
}
