/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_REPORT_H
#define TP_MODEL_REPORT_H

#include "model/averages.h"
#include "model/buffer.h"
#include "model/event_list.h"

struct tp_gpu_report;
struct tp_kernel_report;
struct tp_work_source;
struct tp_alloc_report;

/* What a view shows: rows that are groups, or rows that are the events of a list. */
struct tp_report {
    const struct tp_strings *strings;
    const struct tp_stacks *stacks;
    const struct tp_event_list *list;  /* where there is one; rows are its events iff !averages */
    const struct tp_average *averages; /* borrowed */
    uint32_t *order;                   /* row number to index in averages or list; owned */
    size_t count;                      /* rows */
    uint32_t use_device;               /* string id: the list's */
    uint32_t first_use_device;         /* ... of the first row before any sorting */
    bool profile_memory;
    bool with_flops;
    bool percentiles;                       /* rows have a spread */
    const struct tp_buffer *recording;      /* JSON about where it is from; NULL: nothing */
    const struct tp_gpu_report *gpu;        /* of the gpu command */
    const struct tp_kernel_report *kernels; /* of the kernels command; else these two are NULL */
    struct tp_work_source *work;
    const struct tp_alloc_report *memory; /* of the memory command; else NULL */
};

/**
 * tp_report_init_events   - rows are the events of @list that are not folded away, in its order
 * tp_report_init_averages - rows are @averages; settings as given
 * tp_report_fini          - frees the order only; takes a zeroed report as well
 *
 * Context: offline. Everything passed in outlives the report.
 * Return: 0 or -ENOMEM.
 */
int tp_report_init_events(struct tp_report *report, const struct tp_event_list *list);
int tp_report_init_averages(struct tp_report *report, const struct tp_strings *strings,
                            const struct tp_stacks *stacks, const struct tp_average *averages,
                            size_t count);
void tp_report_fini(struct tp_report *report);

static inline bool tp_report_shows_events(const struct tp_report *report)
{
    return !report->averages;
}

/**
 * tp_report_row - row @number (< count) in the report's present order
 * @scratch: used when the row has to be made from an event
 * Return: borrowed, either from the report or @scratch.
 */
const struct tp_average *tp_report_row(const struct tp_report *report, size_t number,
                                       struct tp_average *scratch);

/** tp_report_total - one row over all rows, key @key (string id) */
void tp_report_total(const struct tp_report *report, uint32_t key, struct tp_average *ret_row);

#endif
