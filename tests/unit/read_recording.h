/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_READ_RECORDING_H
#define TESTS_UNIT_READ_RECORDING_H

/* Small recordings in a folder of the test's own, and reading them as a report does. */

#include "input/input.h"
#include "make_recording.h"

extern char recording_folder[256];

/* Around each test. */
void recording_setup(void);
void recording_teardown(void);

/* A process of @run (below the folder), 1 tick = 1 ns, two clock readings, rank @pid % 10. */
void begin_recording(struct recording *r, const char *run, uint32_t pid, int64_t start_ns);

/* The same, of a process that the kernel started then. */
void begin_recording_since(struct recording *r, const char *run, uint32_t pid, int64_t start_ns,
                           unsigned kernel_start);
uint32_t operator_name(struct recording *r, const char *name);

/* The first names of a process: a to h. */
void name_letters(struct recording *r);

/* (a op a begins, ) ends, <a >, [a ], {a }: as in test_stream; | writes a block, 10 ticks a record.
 * Return: the time of the next one. */
uint64_t put_records(struct recording_track *t, uint64_t ticks, const char *text);

struct reading {
    struct tp_input input;
    struct tp_strings strings;
    struct tp_stacks stacks;
    struct tp_event_list list;
    struct tp_average *rows;
    size_t count;
    struct tp_diag diag;
};

extern const struct tp_selection everything;

/* @run: a path below the folder. What is opened is for close_reading. */
void open_reading(struct reading *r, const char *run, const struct tp_selection *selection);
int read_averages(struct reading *r, const char *run, const struct tp_averages_options *options);
void read_events(struct reading *r, const char *run, const struct tp_selection *selection);
void close_reading(struct reading *r);

/* The notes on the input contain this; "": there are none. */
void expect_notes(const struct reading *r, const char *expected);

#endif
