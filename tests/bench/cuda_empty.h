/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BENCH_CUDA_EMPTY_H
#define TESTS_BENCH_CUDA_EMPTY_H

/* A CUDA that does nothing, for what the agent's own part of a call costs: a runtime whose launch
 * returns at once, and a CUPTI that only keeps what its client gave it. */

#include <stddef.h>
#include <stdint.h>

struct dim3 {
    unsigned x, y, z;
};

int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **values,
                     size_t shared, void *stream);

void __cudaRegisterFunction(void **binary, const char *function, char *device_function,
                            const char *name, int threads, void *thread_id, void *block_id,
                            void *block_size, void *grid_size, int *warp_size);

typedef void client_callback(void *data, uint32_t domain, uint32_t id, const void *call);

/* What the client gave; NULL without one. */
struct cuda_client {
    client_callback *callback;
    void *data;
    void (*request)(uint8_t **, size_t *, size_t *);
    void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
};

struct cuda_client *cuda_client(void);

#endif
