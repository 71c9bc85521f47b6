/* SPDX-License-Identifier: MIT
 * Work, one piece at a time: a kernel on a device, an operator on the host. What the kernels report
 * and its presets are made of; it is passed on and never kept. */
#ifndef TP_MODEL_WORK_H
#define TP_MODEL_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/averages.h"
#include "model/event_list.h"

enum tp_work_kind {
    TP_WORK_KERNEL,
    TP_WORK_COPY,     /* copies and fills of memory by a device */
    TP_WORK_WAIT,     /* a device's record of waiting: no work, but a device record */
    TP_WORK_CALL,     /* the host in a call of the device's runtime or driver */
    TP_WORK_OPERATOR, /* anything else on the host */
};

/* Times by measure, from TP_MEASURE_CPU_TIME to TP_MEASURE_SELF_DEVICE_TIME. */
enum { TP_WORK_TIMES = TP_MEASURE_SELF_DEVICE_TIME + 1 };

/* What only one maker of devices records. Texts are string ids, TP_STRING_NONE where there is none.
 */
struct tp_work_details {
    int64_t step; /* with has_step */
    int64_t blocks;
    struct tp_number wait_ns;
    struct tp_number aicore_self_ns, aicore_total_ns;
    uint32_t type, core;
    uint32_t input_shapes, input_dtypes, input_formats; /* as the file has them */
    uint32_t output_shapes, output_dtypes, output_formats;
    uint32_t call_stack;
    bool has_step, has_shapes; /* the input has such columns at all */
    bool has_blocks, has_wait, has_aicore;
};

struct tp_work {
    enum tp_work_kind kind;
    uint32_t name; /* string id */
    /* Nanoseconds, an integer where they are whole. A time that is not known has its bit unset. */
    struct tp_number ns[TP_WORK_TIMES];
    uint8_t known;
    bool has_span; /* start and end are known */
    struct tp_number start_ns, end_ns;
    int64_t device, stream;
    uint32_t launched; /* of a call, and of what it launched: a kernel that is not recorded itself;
                          TP_STRING_NONE */
    uint32_t geometry; /* of a launch, as an event's; TP_STRING_NONE unknown */
    float occupancy;   /* percent; with a geometry only, below 0 unknown */
    uint32_t captured_in; /* the range in which a graph's node was captured; TP_STRING_NONE */
    const struct tp_function_event *event; /* where it is from a list, else NULL */
    const struct tp_work_details *details; /* NULL: nothing special */
};

static inline bool tp_work_knows(const struct tp_work *work, enum tp_measure measure)
{
    return work->known >> measure & 1;
}

/* Whoever takes pieces of work. Return: 0, or negative to stop with that result. */
struct tp_work_sink {
    int (*take)(struct tp_work_sink *sink, const struct tp_work *work);
};

/* Where pieces of work come from: reads all of them into a sink. */
struct tp_work_source {
    int (*read)(struct tp_work_source *source, struct tp_work_sink *sink, struct tp_diag *diag);
};

/**
 * tp_work_kind_of_event - what an event of a list is
 * By device type, and by the names that the runtimes use. User annotations on a device are
 * TP_WORK_WAIT: they span work that has events of its own.
 */
enum tp_work_kind tp_work_kind_of_event(const struct tp_event_list *list,
                                        const struct tp_function_event *event);

/** tp_work_kind_of_device_work - what work of a device is by its name */
enum tp_work_kind tp_work_kind_of_device_work(const struct tp_string *name);

/**
 * tp_work_of_list - events @first to before @end, in list order, into a sink
 * Context: offline; the list has its tree and times.
 * Return: 0, or what the sink stopped with.
 */
int tp_work_of_list(const struct tp_event_list *list, uint32_t first, uint32_t end,
                    struct tp_work_sink *sink);

/**
 * tp_work_ns - microseconds as nanoseconds
 * A double that is whole but for the rounding of its making (2 ps) becomes an integer.
 */
struct tp_number tp_work_ns(struct tp_number us);

#endif
