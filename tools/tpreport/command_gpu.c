/* SPDX-License-Identifier: MIT
 * tpreport gpu: what devices did over time, from any input that has work of devices. */
#include "command.h"

#include <errno.h>

#include "model/gpu.h"

enum { GAPS_KEPT = 10, GAPS_MAX = 100000 };

static size_t gap_limit(const struct tp_options *options)
{
    int64_t limit = tp_view_row_limit(&options->view, GAPS_KEPT);

    return limit < 0 || limit > GAPS_MAX ? GAPS_MAX : (size_t)limit;
}

int tp_command_gpu(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_device_memory memory = {0};
    struct tp_gpu_report gpu = {0};
    struct tp_report report = {.strings = &run->strings, .stacks = &run->stacks, .gpu = &gpu};

    run->list.memory = &memory;
    int result = tp_run_load_list(run, diag);
    run->list.memory = NULL;
    report.list = &run->list;
    if (!result) {
        result = tp_gpu_of_list(&gpu, &run->list, gap_limit(run->options));
        if (!result)
            result = tp_device_memory_finish(&memory);
        if (result < 0)
            tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for the report");
    }
    gpu.memory = memory.count ? &memory : NULL;
    if (!result)
        result = tp_run_write(run, &report, diag);
    tp_gpu_fini(&gpu);
    tp_device_memory_fini(&memory);
    return result;
}
