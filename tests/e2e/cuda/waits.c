/* SPDX-License-Identifier: MIT */
/* A plugin that makes one call of the runtime it was linked with. */
#include "cuda.h"

int plugin_run(int count);

__attribute__((visibility("default"))) int plugin_run(int count)
{
    volatile int result = cudaDeviceSynchronize(); /* a call, not a jump */

    (void)count;
    return result;
}
