/* SPDX-License-Identifier: MIT */
/* A plugin that makes two calls of the runtime it was linked with. */
#include "cuda.h"

#include "batch.h"

int plugin_run(int count);

static int copy(void)
{
    char host[2];
    void *to[2] = {&host[0], &host[1]}, *from[2] = {&host[1], &host[0]}, *stream = (void *)5;
    size_t sizes[2] = {10, 20}, indexes[1] = {3};
#if VERSION < 13
    size_t failed = 0;
    int result = cudaMemcpyBatchAsync(to, from, sizes, 2, NULL, indexes, 4, &failed, stream);
    return result || failed != 2;
#else
    return cudaMemcpyBatchAsync(to, from, sizes, 2, NULL, indexes, 4, stream);
#endif
}

__attribute__((visibility("default"))) int plugin_run(int count)
{
    volatile int result = cudaDeviceSynchronize(); /* a call, not a jump */

    (void)count;
    return copy() ? -1 : result;
}
