/* SPDX-License-Identifier: MIT */
#include "source/cuda/launches.h"

struct tp_cuda_launch_line tp_cuda_launches[TP_CUDA_LAUNCHES];
_Atomic uint32_t tp_cuda_kernel_changes;

void tp_cuda_launch_keep(const struct tp_cuda_launch *launch, uint32_t changes, uint32_t kernel,
                         uint32_t geometry)
{
    struct tp_cuda_launch_line *line = tp_cuda_launch_line(launch);
    uint32_t before = atomic_load(&line->number);

    if (!tp_seq_write_begin(&line->number, before))
        return;
    line->owner = tp_names_owner();
    line->changes = changes;
    line->kernel = kernel;
    line->geometry = geometry;
    line->launch = *launch;
    tp_seq_write_end(&line->number, before);
}
