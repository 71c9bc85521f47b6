/* SPDX-License-Identifier: MIT */
#ifndef TP_VIEW_VIEW_H
#define TP_VIEW_VIEW_H

#include "base/error.h"
#include "model/report.h"
#include "view/format.h"
#include "view/output.h"

/* What is asked for; a format may know several of them. */
enum tp_view_subject {
    TP_VIEW_NOTHING, /* a command that writes for itself */
    TP_VIEW_ROWS,    /* averages or events */
    TP_VIEW_TOTAL,   /* the one row of the report */
    TP_VIEW_TREE,
    TP_VIEW_TREE_COMPACT,
    TP_VIEW_TRACE,
    TP_VIEW_STACKS,
    TP_VIEW_GPU,
    TP_VIEW_MEMORY,      /* the allocation profile */
    TP_VIEW_KERNELS,     /* the kernels report; its formats are these and those of the next three */
    TP_VIEW_CALLS,       /* the same about calls of the device's runtime */
    TP_VIEW_KERNEL_WORK, /* single kernels */
    TP_VIEW_OPERATOR_WORK, /* single operators */
};

struct tp_view_options {
    int64_t row_limit;       /* below 0: all */
    bool row_limit_given;    /* not given: the text table's default only */
    uint32_t max_name_width; /* 0: no limit; these three in code points */
    uint32_t max_shapes_width;
    uint32_t max_src_width;
    const char *header; /* NULL: none */
    bool top_level_events_only;
    bool geometry; /* of kernels: of their launches, below each row of a text table */
    enum tp_time_unit time_unit;
    enum tp_measure metric; /* of stacks */
};

/** tp_view_row_limit - rows to print, below 0 for all; @usually where nothing is said */
static inline int64_t tp_view_row_limit(const struct tp_view_options *options, int64_t usually)
{
    return options->row_limit_given ? options->row_limit : usually;
}

/**
 * A format: how one subject is written. Everything in @report is read only.
 * Context: offline, one thread. Return: 0, or a negative result explained in @diag; failures of
 * @output itself stay there.
 */
typedef int tp_view_write(const struct tp_report *report, const struct tp_view_options *options,
                          struct tp_output *output, struct tp_diag *diag);

struct tp_view {
    enum tp_view_subject subject;
    const char *format; /* value of --format, or of --style for traces; the first of a subject is
                           its default */
    tp_view_write *write;
};

/**
 * tp_view_find - the format's entry for a subject; NULL @format: the default
 * @diag: names the formats there are
 * Return: a constant, or NULL.
 */
const struct tp_view *tp_view_find(enum tp_view_subject subject, const char *format,
                                   struct tp_diag *diag);

/** tp_view_put_formats - the names of a subject's formats, the default first */
void tp_view_put_formats(enum tp_view_subject subject, const char *between, struct tp_buffer *out);

#define TP_VIEW(subject, format, function) tp_view_write function;
#include "view/views.def"
#undef TP_VIEW

/** tp_view_put_head - how JSON in nanoseconds begins: who made it, what of, what was lost of that
 */
void tp_view_put_head(struct tp_buffer *out, const struct tp_report *report);

/**
 * tp_view_next_row - step through the rows that the options let through
 * @number:  the row to look at first; afterwards the one returned
 * @printed: how many were returned so far, kept by the caller, 0 at first
 * @limit:   below 0: all
 * Return: the row, or NULL at the end.
 */
const struct tp_average *tp_view_next_row(const struct tp_report *report,
                                          const struct tp_view_options *options, int64_t limit,
                                          size_t *number, int64_t *printed,
                                          struct tp_average *scratch);

#endif
