/* SPDX-License-Identifier: MIT */
#include "model/alloc_coverage.h"

void tp_alloc_coverage_thread(struct tp_alloc_coverage *coverage, const struct tp_alloc_seen *seen,
                              uint32_t calls)
{
    if (!seen->records) {
        coverage->before += calls;
        return;
    }
    coverage->before += seen->first - 1;
    coverage->between += (uint32_t)(seen->last - seen->first + 1 - (uint32_t)seen->records);
    coverage->after += (uint32_t)(calls - seen->last);
}

bool tp_alloc_coverage_is_whole(const struct tp_alloc_coverage *coverage)
{
    return !coverage->between && !coverage->after && !coverage->without_ring &&
           !coverage->has_windows;
}

bool tp_alloc_coverage_is_from_start(const struct tp_alloc_coverage *coverage)
{
    return tp_alloc_coverage_is_whole(coverage) && !coverage->late && !coverage->start_unknown &&
           coverage->before == coverage->until_start;
}
