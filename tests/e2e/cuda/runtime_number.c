/* SPDX-License-Identifier: MIT */
/* A libcudart that only says which one it is, and what came where two differ in parameters. */
#include "cuda.h"

#include "batch.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int cudaDeviceSynchronize(void)
{
    return 1000 + VERSION;
}

EXPORT int cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
                                void *attributes, size_t *indexes,
                                size_t attribute_count TAKES_FAILED, void *stream)
{
#if VERSION < 13
    *ret_failed = count;
#endif
    return to[0] == from[1] && to[1] == from[0] && sizes[1] == 20 && count == 2 && !attributes &&
                   indexes[0] == 3 && attribute_count == 4 && stream == (void *)5
               ? 0
               : 1;
}
