/* SPDX-License-Identifier: MIT
 * From options to a written report. A command is a function over a run; the table is commands.def.
 */
#ifndef TP_COMMAND_H
#define TP_COMMAND_H

#include "input/input.h"
#include "model/report.h"
#include "options.h"
#include "view/output.h"

/* All that one invocation owns. */
struct tp_run {
    const struct tp_options *options; /* borrowed, like the output */
    struct tp_output *output;
    const struct tp_view *view; /* NULL for commands that write for themselves */
    int sort_column;            /* a column id, or -1 */
    struct tp_strings strings;
    struct tp_stacks stacks;
    struct tp_event_list list;
    struct tp_trace_context trace; /* beside the list, for who wants it */
    struct tp_input *inputs;       /* all open */
    int input_count;
    struct tp_progress progress;
    struct tp_buffer notes;         /* lines for stderr: what was lost */
    struct tp_buffer recording;     /* what inputs say of themselves, as JSON; empty: nothing */
    uint64_t event_count;           /* that were read */
    bool is_partial;                /* exit status 3 */
    struct tp_summed_sink *summed;  /* of the kernels command; NULL: it takes no sums */
    enum tp_measure device_measure; /* of the kernels command: what its device time is */
};

#define TP_COMMAND(id, name, function, subject, help)                                              \
    int function(struct tp_run *run, struct tp_diag *diag);
#include "commands.def"
#undef TP_COMMAND

/**
 * tp_run_init - check what can be checked before reading: formats, sort keys
 * tp_run_fini - frees all; takes a zeroed one
 * Return: 0, or negative with @diag: a usage error.
 */
int tp_run_init(struct tp_run *run, const struct tp_options *options, struct tp_diag *diag);
void tp_run_fini(struct tp_run *run);

/**
 * tp_run_execute - open the inputs, run the command, write to @output
 * Return: 0, or negative with @diag.
 */
int tp_run_execute(struct tp_run *run, struct tp_output *output, struct tp_diag *diag);

/** tp_command_now - tree --now: of recordings, for their running processes */
int tp_command_now(struct tp_run *run, struct tp_diag *diag);

/** tp_kernels_check - tp_run_init's part for the kernels command: its sort key, its attribute */
int tp_kernels_check(struct tp_run *run, struct tp_diag *diag);

/** tp_memory_check - likewise for the memory command: sort_column is an enum tp_alloc_key */
int tp_memory_check(struct tp_run *run, struct tp_diag *diag);

/** tp_run_load_list - all inputs into run->list, each with its tree. For commands. */
int tp_run_load_list(struct tp_run *run, struct tp_diag *diag);

/** tp_run_write - a report, with what the inputs say of themselves, as the options ask for it */
int tp_run_write(struct tp_run *run, struct tp_report *report, struct tp_diag *diag);

#endif
