/* SPDX-License-Identifier: MIT
 * What devices did over time: busy, idle, copying, and the gaps between their work. Busy time is a
 * union over streams, never a sum. */
#ifndef TP_MODEL_GPU_H
#define TP_MODEL_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "model/device_memory.h"
#include "model/event_list.h"

#define TP_GAP_CLASSES 6u

/* A stretch in which a device did nothing. */
struct tp_gpu_gap {
    int64_t start_ns, length_ns;
    uint32_t event;    /* of the list: the work that ended it */
    uint32_t launcher; /* string id: the operator that launched it; TP_STRING_NONE unknown */
    uint32_t call;     /* likewise: the call */
};

struct tp_gpu_device {
    int32_t device, node_id;
    uint8_t device_type;
    uint64_t kernels, copies, sets;
    uint32_t streams;
    int64_t first_ns, last_ns;           /* of its work, from the run's start */
    int64_t busy_ns, idle_ns;            /* of the time between these two */
    int64_t compute_ns, copy_ns, set_ns; /* unions: kernels; copies; fills */
    int64_t overlap_ns;                  /* copies while kernels ran */
    int64_t work_ns; /* the sum of all lengths: above busy when streams overlap */
    uint64_t gap_counts[TP_GAP_CLASSES];
    int64_t gap_ns[TP_GAP_CLASSES];
    struct tp_gpu_gap *gaps; /* the longest, longest first */
    size_t gap_count;
};

struct tp_gpu_report {
    struct tp_gpu_device *devices; /* by node, kind and number */
    size_t count;
    struct tp_device_memory *memory; /* borrowed; NULL none */
};

/** tp_gap_class_limit - gaps of a class are shorter than this; INT64_MAX for the last */
int64_t tp_gap_class_limit(unsigned class_);

/**
 * tp_gpu_of_list - devices of a list with its tree
 * @gap_limit: how many of the longest gaps are kept for a device
 * Waits and annotations on devices are no work.
 * Return: 0 and a report for tp_gpu_fini (which takes zeros), or -ENOMEM.
 */
int tp_gpu_of_list(struct tp_gpu_report *report, const struct tp_event_list *list,
                   size_t gap_limit);
void tp_gpu_fini(struct tp_gpu_report *report);

/** tp_gpu_gap_ended_by - name of the operator that launched what ended a gap, or else of the call,
 * or in brackets why there is none: also of work that an operator is credited with by other ids */
const char *tp_gpu_gap_ended_by(const struct tp_event_list *list, const struct tp_gpu_gap *gap);

#endif
