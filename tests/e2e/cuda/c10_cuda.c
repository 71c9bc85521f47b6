/* SPDX-License-Identifier: MIT */
/* Stands for PyTorch's libc10_cuda: a segment from CUDA, blocks of it for tensors, each told to
 * libc10; and a block of the CPU's. */
#include "cuda.h"

#include <stdint.h>

#include "tpagent.h"

enum { CPU, CUDA, SEGMENT = 2 << 20, BLOCK = 512 };

struct device {
    int8_t type, index;
};

typedef void told(void *address, long bytes, size_t allocated, size_t reserved,
                  struct device device);
told _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE;
told _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE;
int plugin_run(int count);

static void blocks(char *segment, int count, told *tell)
{
    struct device device = {CUDA, 0};
    size_t used = 0;

    tpagent_begin("tensors");
    for (int i = 0; i < count; i++)
        tell(segment + (long)i * BLOCK, BLOCK, used += BLOCK, SEGMENT, device);
    tpagent_end();
    tpagent_begin("half of them go");
    for (int i = 0; i < count / 2; i++)
        tell(segment + (long)i * BLOCK, -BLOCK, used -= BLOCK, SEGMENT, device);
    tpagent_end();
    tell(segment, 4096, 4096, 0, (struct device){CPU, -1});
}

__attribute__((visibility("default"))) int plugin_run(int count)
{
    void *segment;

    if (cudaMalloc(&segment, SEGMENT))
        return 1;
    blocks(segment, count, _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE);
    blocks((char *)segment + SEGMENT / 2, count,
           _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE);
    return cudaFree(segment);
}
