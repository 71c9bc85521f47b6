/* SPDX-License-Identifier: MIT
 * Pieces of work from Ascend's files as events: kernels are events of a PrivateUse1 device named
 * npu, operators events of the host that have no place in time. */
#ifndef TP_INPUT_ASCEND_EVENTS_H
#define TP_INPUT_ASCEND_EVENTS_H

#include "model/buffer.h"
#include "model/work.h"

/* What both ways share. */
struct tp_ascend_events {
    struct tp_strings *strings;
    struct tp_stacks *stacks;
    uint32_t use_device; /* "npu" */
    struct tp_buffer text;
    struct tp_diag *diag;
};

/* A sink that sums. */
struct tp_ascend_averages {
    struct tp_work_sink sink; /* first */
    struct tp_ascend_events events;
    struct tp_averages *averages; /* for tp_averages_destroy; not freed by fini */
    uint32_t use_device;
    uint64_t count;
};

int tp_ascend_averages_init(struct tp_ascend_averages *sums, struct tp_strings *strings,
                            struct tp_stacks *stacks, const struct tp_averages_options *options,
                            struct tp_diag *diag);
void tp_ascend_averages_fini(struct tp_ascend_averages *sums);

/* A sink that appends to a list; kernels only. */
struct tp_ascend_list {
    struct tp_work_sink sink; /* first */
    struct tp_ascend_events events;
    struct tp_event_list *list;
    uint32_t first;         /* event of the list */
    int64_t base_ns;        /* the earliest start */
    uint64_t without_start; /* kernels that can't be events */
};

int tp_ascend_list_init(struct tp_ascend_list *events, struct tp_event_list *list,
                        struct tp_diag *diag);

/** tp_ascend_list_finish - times become microseconds since the first start; frees all but the list
 */
void tp_ascend_list_finish(struct tp_ascend_list *events);

/**
 * tp_ascend_shapes - "2,3;4" as "[[2, 3], [4]]"; text of another form as it is
 * @out: reset before
 */
void tp_ascend_shapes(struct tp_buffer *out, const char *text, size_t size);

#endif
