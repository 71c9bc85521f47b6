/* SPDX-License-Identifier: MIT
 * Calls of CUDA, the ranges they stand in and the work on the device, joined while records stream
 * by. Whatever comes first waits for the rest: what is kept grows with what is under way, not with
 * the length of a recording. */
#ifndef TP_INPUT_TPTRACE_LAUNCHES_H
#define TP_INPUT_TPTRACE_LAUNCHES_H

#include "input/tptrace_stream.h"
#include "model/launch_tree.h"

struct tptrace_launches;

/* Who takes rows as they become known. */
struct tptrace_launch_sink {
    void *context;
    /* a call whose place is known; @name, times and kind of @call are set. Return: 0 or negative.
     */
    int (*call)(void *context, const struct tptrace_activity *call, bool has_parent);
    /* memory of a device that no range is credited with; @count records, the first at @ns */
    int (*memory)(void *context, int64_t ns, int64_t bytes, uint64_t count);
    /* a path's sums: its own, and with those of all below it; more may follow */
    int (*path)(void *context, const struct tp_launch_key *key, const struct tp_launch_sums *own,
                const struct tp_launch_sums *total);
};

/** tptrace_launches_create - for one process after the other. @by_shapes: shapes tell ranges apart.
 * Return: NULL without memory. */
struct tptrace_launches *tptrace_launches_create(bool by_shapes);
void tptrace_launches_destroy(struct tptrace_launches *launches);

/*
 * All of these: offline, one thread at a time. Return: 0, -ENOMEM or what the sink returned.
 */

/** tptrace_launches_place - the thread enters a call */
int tptrace_launches_place(struct tptrace_launches *launches, struct tp_stream *stream,
                           uint32_t correlation, const struct tptrace_launch_sink *sink);

/** tptrace_launches_call - a call of the API; not kept
 * @told_ticks: of its record, which is made after the thread's own of the call */
int tptrace_launches_call(struct tptrace_launches *launches, const struct tptrace_activity *call,
                          uint64_t told_ticks, const struct tptrace_launch_sink *sink);

/** tptrace_launches_work - work of a device */
int tptrace_launches_work(struct tptrace_launches *launches, const struct tptrace_activity *work);

/** tptrace_launches_other - an activity that belongs to nobody, for the totals */
void tptrace_launches_other(struct tptrace_launches *launches,
                            const struct tptrace_activity *activity);

/** tptrace_launches_memory - memory of a device; @ns: when */
int tptrace_launches_memory(struct tptrace_launches *launches,
                            const struct tptrace_cuda_memory *memory, int64_t ns,
                            struct tp_stream *stream, const struct tptrace_launch_sink *sink);

/** tptrace_launches_external - a call has an external id of a type */
int tptrace_launches_external(struct tptrace_launches *launches, uint32_t correlation, uint8_t type,
                              uint64_t id);

/* What becomes of ranges; for a consumer's watcher. */
void tptrace_launches_ended(struct tptrace_launches *launches, const struct tptrace_source *source,
                            const struct tp_stream_range *range);
void tptrace_launches_folded(const struct tptrace_source *source,
                             const struct tp_stream_range *range,
                             const struct tp_stream_range *parent);
int tptrace_launches_merge(struct tptrace_launches *launches, const struct tp_stream_range *into,
                           void **into_note, void *note, bool fold);

/*
 * What others have joined before the first record. Paths are borrowed until
 * tptrace_launches_finish.
 */

/** tptrace_launches_open_path - of a range that goes on; NULL without memory
 * @note: of it; @own_ns: of its own calls, @below_ns: of ranges below that are told already */
struct tp_launch_node *tptrace_launches_open_path(struct tptrace_launches *launches,
                                                  const struct tp_launch_key *key, void **note,
                                                  int64_t own_ns, int64_t below_ns);

/** tptrace_launches_ended_path - of ranges that have ended; NULL without memory
 * @parent: NULL: they had none */
struct tp_launch_node *tptrace_launches_ended_path(struct tptrace_launches *launches,
                                                   struct tp_launch_node *parent,
                                                   const struct tp_launch_key *key);

/** tptrace_launches_placed - a call was made there (NULL: in no range); did its work come? */
int tptrace_launches_placed(struct tptrace_launches *launches, uint32_t correlation,
                            struct tp_launch_node *node, bool saw_work);

/** tptrace_launches_waiting - work came whose call may come */
int tptrace_launches_waiting(struct tptrace_launches *launches, uint32_t correlation,
                             uint64_t works, int64_t device_ns);

/** tptrace_launches_rest - a thread's records have been read up to here */
int tptrace_launches_rest(struct tptrace_launches *launches, const struct tptrace_source *source,
                          struct tp_stream *stream, const struct tptrace_launch_sink *sink);

/** tptrace_launches_finish - the process's records have been read: everything that waits is told,
 * then every path; ready for another process
 * @totals: is added to */
int tptrace_launches_finish(struct tptrace_launches *launches, struct tptrace_cuda_totals *totals,
                            const struct tptrace_launch_sink *sink);

#endif
