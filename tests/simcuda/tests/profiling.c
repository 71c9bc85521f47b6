/* SPDX-License-Identifier: MIT */
/*
 * A program that profiles itself through ordinary imports of libcupti:
 *
 *     kineto COUNT    subscribes, registers a callback that returns the TSC, enables kinds,
 * launches, flushes and reads at once; prints what it got replace COUNT   no subscription:
 * registers its buffer callbacks over whatever is there, frees each buffer that comes back, whoever
 * asked for it
 */
#include "cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void enable(int (*each)(uint32_t))
{
    static const uint32_t kinds[] = {5, 10, 1, 2};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        each(kinds[i]);
}

int main(int argc, char **argv)
{
    int replace = argc > 1 && !strcmp(argv[1], "replace"), count = argc > 2 ? atoi(argv[2]) : 10;
    void *subscriber;
    /* CUDA is in use before the profiler starts, as in a training script. */
    if (launch_as_nvcc(profiled, 1, 32, NULL) || cudaDeviceSynchronize())
        return 1;
    if (!replace) {
        int error = cuptiSubscribe(&subscriber, ignore, NULL);
        if (error) {
            printf("subscribe %d\n", error);
            return 0;
        }
        first_time = tsc();
        error = cuptiActivityRegisterTimestampCallback(tsc);
        if (error)
            printf("clock %d\n", error);
    }
    cuptiActivityRegisterCallbacks(request, complete);
    enable(cuptiActivityEnable);
    for (int i = 0; i < count; i++)
        if (launch_as_nvcc(profiled, 1, 32, NULL))
            return 1;
    cudaDeviceSynchronize();
    cuptiActivityFlushAll(1);
    enable(cuptiActivityDisable);
    last_time = UINT64_MAX;
    printf("kernels %zu calls %zu\n", kernels, calls);
    if (!replace)
        printf("out of time %zu\n", out_of_time);
    return 0;
}
