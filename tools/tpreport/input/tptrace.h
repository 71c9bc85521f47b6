/* SPDX-License-Identifier: MIT
 * Our own recordings as an input: straight into averages, or as a list of events. */
#ifndef TP_INPUT_TPTRACE_H
#define TP_INPUT_TPTRACE_H

#include "input/input.h"
#include "input/tptrace_stream.h"
#include "input/tptrace_run.h"
#include "model/alloc_profile.h"

extern const struct tp_input_kind tp_input_tptrace;

/* What a range is as an event, but for its times. */
struct tptrace_event {
    uint32_t name, trace_name, overload_name, input_shapes;
    int64_t sequence_nr;
    int64_t step;       /* of a ProfilerStep*; -1 */
    int64_t fwd_thread; /* framework's number; 0 none */
    uint16_t flags;     /* enum tp_event_flag */
    uint8_t scope;
};

/** tptrace_event_of - from a begin record and its name */
void tptrace_event_of(struct tptrace_event *event, const struct tptrace_names *names,
                      const struct tp_stream_name *name, const uint64_t *record);

/** tptrace_node_of - the node_id of a process's events */
int32_t tptrace_node_of(const struct tptrace_process *process, enum tp_by by);

/* ---- averages (tptrace_sums.c) ---- */

struct tptrace_sums;
struct tptrace_kernels;

/**
 * tptrace_sums_create - aggregators for @count workers
 * Return: 0 and sums for tptrace_sums_destroy (which takes NULL), or -ENOMEM.
 */
int tptrace_sums_create(struct tptrace_sums **ret_sums, unsigned count,
                        const struct tp_stacks *stacks, const struct tp_averages_options *options,
                        enum tp_by by);
void tptrace_sums_destroy(struct tptrace_sums *sums);

/** tptrace_sums_set_kernels - who takes work of devices one by one as well; outlives the sums */
void tptrace_sums_set_kernels(struct tptrace_sums *sums, struct tptrace_kernels *kernels);

/** tptrace_sums_consumers - one per worker */
const struct tptrace_consumer *tptrace_sums_consumers(const struct tptrace_sums *sums);

/** tptrace_sums_finish - all in one; @ret_averages is the caller's. Return: 0 or -ENOMEM. */
int tptrace_sums_finish(struct tptrace_sums *sums, struct tp_averages **ret_averages);

/* ---- lists (tptrace_list.c) ---- */

struct tptrace_list;

/** tptrace_list_create - collects what a run's consumers take; @by: what node_id stands for.
 * Return: NULL without memory. */
struct tptrace_list *tptrace_list_create(enum tp_by by);
void tptrace_list_destroy(struct tptrace_list *list);

/** tptrace_list_consumer - fills in a consumer; it uses the list alone, so each worker has its own
 * list */
void tptrace_list_consumer(struct tptrace_list *list, struct tptrace_consumer *consumer);

/** tptrace_list_want_summed - before it becomes a consumer: @summed takes work that was evicted */
void tptrace_list_want_summed(struct tptrace_list *list, struct tp_summed_sink *summed);

/** tptrace_list_add - move all that @from has behind what @into has. Return: 0 or -ENOMEM. */
int tptrace_list_add(struct tptrace_list *into, struct tptrace_list *from);

/**
 * tptrace_list_finish - append all events in list order, with their parents
 * @run: was read; its totals of CUDA are added to
 * Return: 0, -ENOMEM or -TP_ELIMIT.
 */
int tptrace_list_finish(struct tptrace_list *list, struct tptrace_run *run,
                        struct tp_event_list *events);

/** tptrace_marks - what a trace tells besides events, if one is wanted; after reading.
 * Return: 0, -ENOMEM or -TP_ELIMIT. */
int tptrace_marks(const struct tptrace_run *run, struct tp_event_list *events);

/* ---- what a report says of its recording (tptrace_head.c) ---- */

/** tptrace_head_lines - at most @limit short lines about what is missing, each with @prefix and its
 * end */
void tptrace_head_lines(const struct tptrace_run *run, const struct tp_strings *strings,
                        const char *prefix, size_t limit, struct tp_buffer *out);

/** tptrace_next_image - the program that a process of @run became (exec), of what was read of it.
 * Return: NULL: none that is known. */
const struct tptrace_member *tptrace_next_image(const struct tptrace_run *run,
                                                const struct tptrace_member *member);

/** tptrace_put_image - its program and the folder of its recording */
void tptrace_put_image(struct tp_buffer *out, const struct tptrace_member *image);

/** tptrace_head_json - the same facts as one JSON object; @all: and threads, sources, kinds of
 * records, sizes */
void tptrace_head_json(const struct tptrace_run *run, const struct tp_strings *strings, bool all,
                       struct tp_buffer *out);

/* ---- allocations (tptrace_memory.c) ---- */

/* What files are opened for to tell more of native frames than addresses: those that the recording
 * names, where they are regular files with the build id that was recorded, and those with their
 * debug information, where that is separate and of the same build id. */
struct tptrace_frames_wanted {
    bool symbols; /* names of functions; false: nothing is opened */
    bool lines;   /* source lines, and functions that were inlined */
    const char *debug_folder;
};

/**
 * tptrace_memory - the allocations of a recording, added to a profile
 * @wanted: of call stacks
 * @notes, @recording: as in struct tp_input
 * @ret_cut: is anything lost or unreadable?
 *
 * Context: offline; reads all records. Return: 0 or negative with @diag.
 */
int tptrace_memory(const char *path, const struct tp_selection *selection,
                   const struct tptrace_frames_wanted *wanted, struct tp_alloc_profile *profile,
                   struct tp_strings *strings, struct tp_stacks *stacks, struct tp_buffer *notes,
                   struct tp_buffer *recording, bool *ret_cut, struct tp_diag *diag);

/* ---- info and check (tptrace_info.c, tptrace_check.c) ---- */

/**
 * tptrace_info - what a recording holds, as text or as JSON
 * @ret_cut: is anything lost or unreadable?
 * Context: offline; reads all records. Return: 0 or negative with @diag.
 */
int tptrace_info(const char *path, const struct tp_selection *selection, bool json,
                 struct tp_buffer *out, bool *ret_cut, struct tp_diag *diag);

/** tptrace_check - verify every byte; a line for each thing that is wrong, then one about the whole
 */
int tptrace_check(const char *path, const struct tp_selection *selection, struct tp_buffer *out,
                  bool *ret_cut, struct tp_diag *diag);

/**
 * tptrace_now - what each thread of the processes that have not ended is inside, and since when
 *
 * As text or as JSON. Only the last block of each thread and the rings are read; nothing is
 * stopped.
 */
int tptrace_now(const char *path, const struct tp_selection *selection, bool json,
                struct tp_buffer *out, bool *ret_cut, struct tp_diag *diag);

/** tptrace_state_name - "ended", "died", "running" */
const char *tptrace_state_name(enum tptrace_state state);

/** tptrace_rate_name - "measured", ... */
const char *tptrace_rate_name(enum tptrace_rate rate);

/** tptrace_source_failed - could it not start, or is it not built in? */
bool tptrace_source_failed(const struct tptrace_meta_source *source);

/** tptrace_duration - "1.234 s" */
void tptrace_duration(struct tp_buffer *out, int64_t ns);

#endif
