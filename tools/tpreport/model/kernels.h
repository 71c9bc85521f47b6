/* SPDX-License-Identifier: MIT
 * The kernels report's sums. Pieces of work are sorted into classes, each with a row per name;
 * which class becomes the report is chosen when everything was read (tp_kernels_choose). */
#ifndef TP_MODEL_KERNELS_H
#define TP_MODEL_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/durations.h"
#include "model/summed_work.h"
#include "model/work.h"

enum tp_profiler {
#define TP_PROFILER(id, name, help) TP_PROFILER_##id,
#include "model/profilers.def"
#undef TP_PROFILER
    TP_PROFILERS,
    TP_PROFILER_AUTO = -1,
};

enum tp_work_class {
    TP_CLASS_KERNELS,   /* device time of kernels */
    TP_CLASS_COPIES,    /* device time of copies and fills */
    TP_CLASS_WAITS,     /* ... of records that are no work; counted only */
    TP_CLASS_OPERATORS, /* device time that host events account for */
    TP_CLASS_HOST,      /* self CPU time of host events */
    TP_CLASS_CALLS,     /* time in calls of the device's runtime */
    TP_CLASSES
};

/* Kernels of graphs by the range in which their nodes were captured. */
struct tp_kernel_capture {
    uint32_t name; /* string id */
    uint64_t calls;
    struct tp_number ns;
};

struct tp_kernel_row {
    uint32_t name;       /* string id */
    uint32_t name_count; /* names that were merged into this row */
    uint32_t position;   /* by tp_kernels_finish: in the order in which rows came */
    struct tp_number total_ns, minimum_ns, maximum_ns;
    uint64_t launches;                  /* without a time */
    struct tp_durations durations;      /* in ns */
    double median_ns;                   /* by tp_kernels_finish */
    uint32_t geometry;                  /* of its launches; TP_STRING_NONE unknown */
    bool geometry_varies;               /* then it is that of the first */
    double occupancy_ns;                /* percent times ns, over calls where it is known: ... */
    double occupied_ns;                 /* ... so long they took */
    struct tp_kernel_capture *captures; /* by tp_kernels_finish the longest one first */
    uint32_t capture_count, capture_capacity;
    uint32_t last_capture;      /* found last */
    struct tp_number first_ns;  /* when the first call began; with is_unordered ... */
    struct tp_number shaped_ns; /* ... and the first one with a geometry */
};

/* Rows of one class by name. */
struct tp_kernel_rows {
    struct tp_kernel_row *items;
    uint32_t count, capacity;
    uint32_t *by_name; /* string id to row + 1; 0 none */
    uint32_t name_capacity;
    uint64_t calls;
    struct tp_number total_ns;
    uint64_t without_time, negative; /* pieces that are in no row */
    struct tp_number negative_ns;
};

/* From the first start to the last end. */
struct tp_work_span {
    bool is_known;
    struct tp_number start_ns, end_ns;
};

/* A sink that sums. */
struct tp_kernels {
    struct tp_work_sink sink; /* first */
    struct tp_summed_sink summed;
    enum tp_measure
        device_measure; /* what counts as device time; set between init and the first work */
    bool is_unordered;  /* likewise: work does not come in the order of time */
    struct tp_kernel_rows classes[TP_CLASSES];
    struct tp_number self_cpu_ns, cpu_ns; /* over all host events, whatever their sign */
    bool saw_host;   /* host times are known, even if there are no events with any */
    bool saw_device; /* ... device times */
    bool is_ascend;
    bool has_geometry;              /* of any kernel */
    bool has_captures;              /* likewise */
    struct tp_kernel_rows launches; /* of kernels without a time: calls alone count */
    struct tp_work_span span;       /* of the present input */
    bool has_elapsed;
    struct tp_number elapsed_ns; /* of the longest input */
};

/* What a view shows. */
struct tp_kernel_report {
    struct tp_kernels *kernels; /* borrowed; its rows may be put into another order */
    enum tp_profiler profiler;
    enum tp_work_class shown; /* TP_CLASSES: no rows */
    uint32_t repeat;          /* at least 1 */
};

/** tp_kernel_report_rows - those that are shown; NULL for wall time alone */
static inline const struct tp_kernel_rows *
tp_kernel_report_rows(const struct tp_kernel_report *report)
{
    return report->shown < TP_CLASSES ? &report->kernels->classes[report->shown] : NULL;
}

/** tp_kernels_init, _fini - an empty profile; fini takes a zeroed one */
void tp_kernels_init(struct tp_kernels *kernels);
void tp_kernels_fini(struct tp_kernels *kernels);

/** tp_kernels_add_capture - calls and their time, which were taken as work, came from a graph that
 * was captured in a range. Return: 0 or -ENOMEM. */
int tp_kernels_add_capture(struct tp_kernels *kernels, enum tp_work_class work_class, uint32_t name,
                           const struct tp_kernel_capture *capture);

/**
 * tp_kernels_end_input - what was taken since the last one came from one input
 * @own: the input's own start and end, where it has them; else they come from the work
 */
void tp_kernels_end_input(struct tp_kernels *kernels, const struct tp_work_span *own);

/**
 * tp_kernels_choose - what the report measures by
 * @demanded: TP_PROFILER_AUTO for the first that can be had
 * @diag: what this input can serve
 * Return: 0, -TP_EUNSUPPORTED, or -TP_ENOTFOUND when there is nothing at all to measure.
 */
int tp_kernels_choose(const struct tp_kernels *kernels, enum tp_profiler demanded,
                      enum tp_profiler *ret_profiler, struct tp_diag *diag);

/**
 * tp_kernels_class - whose rows the report of a profiler shows
 * Kernels only when there are any, else copies, else operators; TP_CLASSES for wall time: none.
 */
enum tp_work_class tp_kernels_class(const struct tp_kernels *kernels, enum tp_profiler profiler);

/**
 * tp_kernels_finish - make a class fit for a report: medians, rows by total time, largest first,
 *   those of equal time in the order in which they came first, or began first and by name
 * @merge_numbered: names that differ only in the number at their end become one row, "ZerosLike*"
 * Return: 0 or -ENOMEM.
 */
int tp_kernels_finish(struct tp_kernels *kernels, enum tp_work_class work_class,
                      bool merge_numbered, struct tp_strings *strings);

/** tp_profiler_name, tp_profiler_help - as on the command line; what it is */
const char *tp_profiler_name(enum tp_profiler profiler);
const char *tp_profiler_help(enum tp_profiler profiler);

/** tp_work_class_name - what rows are, for people; TP_CLASSES: "none" */
const char *tp_work_class_name(enum tp_work_class work_class);

/** tp_profiler_find - Return: a profiler or -TP_ENOTFOUND. */
int tp_profiler_find(const char *name);

#endif
