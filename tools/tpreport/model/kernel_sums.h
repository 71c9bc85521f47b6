/* SPDX-License-Identifier: MIT
 * How long the kernels of events took. Any number of events may share one range of kernels (those
 * of equal ids do), so that a long range is added up once and remembered. */
#ifndef TP_MODEL_KERNEL_SUMS_H
#define TP_MODEL_KERNEL_SUMS_H

#include "model/event_list.h"
#include "model/id_index.h"

/* Start from zeros. */
struct tp_kernel_sums {
    struct tp_id_index ranges; /* first kernel and number of kernels */
    struct tp_number *sums;    /* by the index's number */
    uint32_t capacity;
    uint64_t addition_count; /* for tests: the work done so far */
};

/** tp_kernel_sums_fini - takes a zeroed one as well */
void tp_kernel_sums_fini(struct tp_kernel_sums *sums);

/**
 * tp_kernel_sums_get - the durations of an event's kernels, added from the first to the last
 * Return: 0 or -ENOMEM.
 */
int tp_kernel_sums_get(struct tp_kernel_sums *sums, const struct tp_event_list *list,
                       const struct tp_function_event *event, struct tp_number *ret_sum);

#endif
