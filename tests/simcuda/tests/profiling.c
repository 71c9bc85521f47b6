/* SPDX-License-Identifier: MIT */
/*
 * A program that profiles itself, or is in another's way, through libcupti: HOW COUNT
 *
 * kineto         subscribes, registers a clock that returns the TSC, enables kinds, launches,
 *                flushes and reads at once; prints what it got
 * replace        no subscription: registers its buffer callbacks over whatever is there, frees each
 *                buffer that comes back, whoever asked for it
 * replace-dlsym  the same with functions that dlsym found
 * disable        launches COUNT kernels, switches kinds off, launches as many again
 * disable-dlsym  the same with functions that dlsym found
 * disable-kernels-dlsym  the same, but only the kind of kernels
 * linger         as replace-dlsym, but it launches COUNT kernels ten times a second until it is
 *                killed
 */
#include "cuda.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

KERNEL(profiled, "_Z8profiledv")

int cuptiSubscribe(void **subscriber, void (*callback)(void *, uint32_t, uint32_t, const void *),
                   void *data);
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, uint8_t **record);

static size_t kernels, calls, out_of_time, buffers;
static uint64_t first_time, last_time;

static uint64_t tsc(void)
{
    return __rdtsc();
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *size = 1 << 20;
    *buffer = aligned_alloc(8, *size);
    *max_records = 0;
}

static void read_record(const uint8_t *record)
{
    uint32_t kind;
    uint64_t start;
    memcpy(&kind, record, sizeof kind);
    memcpy(&start, record + (kind == 10 ? 16 : 8), sizeof start);
    if (kind == 10)
        kernels++;
    else if (kind == 5)
        calls++;
    else
        return;
    if (start < first_time || start > last_time)
        out_of_time++;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                     size_t valid_size)
{
    (void)context, (void)stream, (void)size;
    uint8_t *record = NULL;
    buffers++;
    last_time = tsc() + (1ull << 40); /* device work ends later than its call */
    while (!cuptiActivityGetNextRecord(buffer, valid_size, &record))
        read_record(record);
    free(buffer);
}

static void ignore(void *data, uint32_t domain, uint32_t cbid, const void *info)
{
    (void)data, (void)domain, (void)cbid, (void)info;
}

/* What a client uses without subscribing; imported, or found as plugins find it. */
static struct {
    int (*register_callbacks)(void (*)(uint8_t **, size_t *, size_t *),
                              void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
    int (*enable)(uint32_t);
    int (*disable)(uint32_t);
    int (*flush)(uint32_t);
} cupti = {cuptiActivityRegisterCallbacks, cuptiActivityEnable, cuptiActivityDisable,
           cuptiActivityFlushAll};

static void find_by_dlsym(void)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&cupti.register_callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
    *(void **)&cupti.enable = dlsym(library, "cuptiActivityEnable");
    *(void **)&cupti.disable = dlsym(library, "cuptiActivityDisable");
    *(void **)&cupti.flush = dlsym(library, "cuptiActivityFlushAll");
}

static void each_kind(int (*each)(uint32_t))
{
    static const uint32_t kinds[] = {5, 10, 1, 2};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        each(kinds[i]);
}

static int launch(int count)
{
    for (int i = 0; i < count; i++)
        if (launch_as_nvcc(profiled, 1, 32, NULL))
            return 1;
    return cudaDeviceSynchronize();
}

static int disable(int count, int all)
{
    if (launch(count))
        return 1;
    if (all)
        each_kind(cupti.disable);
    else
        cupti.disable(10);
    return launch(count);
}

/* Return: the error of the subscription. */
static int subscribe(void)
{
    void *subscriber;
    int error = cuptiSubscribe(&subscriber, ignore, NULL);
    if (error) {
        printf("subscribe %d\n", error);
        return error;
    }
    first_time = tsc();
    error = cuptiActivityRegisterTimestampCallback(tsc);
    if (error)
        printf("clock %d\n", error);
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "kineto";
    int count = argc > 2 ? atoi(argv[2]) : 10, subscribes = !strcmp(how, "kineto");

    /* CUDA is in use before the profiler starts, as in a training script. */
    if (launch(1))
        return 1;
    if (strstr(how, "dlsym") || !strcmp(how, "linger"))
        find_by_dlsym();
    if (!strncmp(how, "disable", 7))
        return disable(count, !strstr(how, "kernels"));
    if (subscribes && subscribe())
        return 0;
    cupti.register_callbacks(request, complete);
    each_kind(cupti.enable);
    if (launch(count))
        return 1;
    while (!strcmp(how, "linger"))
        if (usleep(100000) || launch(count))
            return 1;
    cupti.flush(1);
    each_kind(cupti.disable);
    last_time = UINT64_MAX;
    printf("kernels %zu calls %zu\n", kernels, calls);
    if (subscribes)
        printf("out of time %zu\n", out_of_time);
    return 0;
}
