/* SPDX-License-Identifier: MIT
 * Averages of a stream: tptrace_sums.c sums ranges, tptrace_sums_cuda.c what CUDA did. */
#ifndef TP_INPUT_TPTRACE_SUMS_H
#define TP_INPUT_TPTRACE_SUMS_H

#include "input/tptrace.h"
#include "input/tptrace_launches.h"

#define TPTRACE_CELL_BITS 9
#define TPTRACE_CELLS (1u << TPTRACE_CELL_BITS)

/* An event of a group whose fields stand for the group. */
struct tptrace_member_event {
    int64_t start_ns, end_ns;
    uint64_t sequence;
    const struct tp_stream_name *name;
    uint32_t shapes; /* name id, of an operator */
    uint8_t kind, scope;
    bool has_parent;
};

struct tptrace_cell {
    const struct tp_stream_name *name; /* NULL: free */
    uint32_t shapes;                   /* name id, when shapes make a group; else 0 */
    uint8_t scope;                     /* of an operator; else 0 */
    uint8_t kind;                      /* OP_BEGIN, a kind of activity, CUDA_BEGIN, or 0 */
    uint64_t count;
    int64_t total_ns, self_ns;
    int64_t memory, self_memory, device, self_device;
    int64_t device_ns, self_device_ns; /* of work that was launched */
    struct tptrace_member_event first; /* in list order */
};

struct tptrace_worker_sums {
    struct tp_averages *averages;
    const struct tptrace_process *process; /* of what the cells hold; NULL: they are empty */
    struct tptrace_names *names;
    struct tptrace_cuda_totals *cuda_totals;
    int32_t node_id;
    bool by_shapes, percentiles;
    enum tp_by by;
    struct tptrace_member_event last; /* of all, in list order */
    bool has_last;
    struct tptrace_cell cells[TPTRACE_CELLS];

    struct tptrace_sums *all;
    struct tptrace_launch_sink sink; /* into this */
    bool is_first;                   /* of the workers: ends a process for all of them */
    struct tptrace_cuda_cursor cursor;
    struct tptrace_activity_names made; /* of names */
    uint64_t activity_count;            /* numbers them */
    struct tptrace_cell memory;         /* that no range is credited with, by calls of CUDA ... */
    struct tptrace_cell own_memory;     /* ... and by a framework */
};

struct tptrace_sums {
    unsigned count;
    struct tptrace_worker_sums **workers;
    struct tptrace_consumer *consumers;
    pthread_mutex_t lock; /* launches, and everything of a process that uses CUDA */
    struct tptrace_launches *launches;
    struct tptrace_kernels *kernels; /* borrowed: takes work of devices, too; NULL: nobody does */
    struct tp_averages *cuda_memory; /* of this process, by calls of CUDA; NULL none so far */
    struct tp_averages_options options;
    const struct tp_stacks *stacks;
};

/* In list order: by start, longer first, then as numbered. */
static inline bool tptrace_comes_before(int64_t start_ns, int64_t end_ns, uint64_t sequence,
                                        const struct tptrace_member_event *b)
{
    if (start_ns != b->start_ns)
        return start_ns < b->start_ns;
    if (end_ns != b->end_ns)
        return end_ns > b->end_ns;
    return sequence < b->sequence;
}

/** tptrace_sums_average - a member's fields as those of an event without sums */
struct tp_average_event tptrace_sums_average(const struct tptrace_worker_sums *w,
                                             const struct tptrace_member_event *member);

/** tptrace_sums_turn_to - the cells are for this source's process from now on. Return: 0, -ENOMEM.
 */
int tptrace_sums_turn_to(struct tptrace_worker_sums *w, const struct tptrace_source *source);

/** tptrace_sums_add - one more event of a kind of activity; its cell's device times are set by its
 * kind. Return: 0 or -ENOMEM. */
int tptrace_sums_add(struct tptrace_worker_sums *w, const struct tptrace_member_event *member);

/** tptrace_sums_credit - a path's sums to its group. Return: 0 or -ENOMEM. */
int tptrace_sums_credit(struct tptrace_worker_sums *w, const struct tp_launch_key *key,
                        const struct tp_launch_sums *own, const struct tp_launch_sums *total);

/** tptrace_sums_own_memory - device memory by a framework that no range is credited with */
void tptrace_sums_own_memory(struct tptrace_worker_sums *w, int64_t ns, int64_t bytes,
                             uint64_t count);

/** tptrace_sums_evicted - a consumer's: rows of the running summary are rows as all others */
int tptrace_sums_evicted(void *context, const struct tptrace_source *source, void **notes);

/** tptrace_sums_cuda_consumer - what a consumer needs to take CUDA's records */
void tptrace_sums_cuda_consumer(struct tptrace_worker_sums *w, struct tptrace_consumer *consumer);

/** tptrace_sums_cuda_finish - a process's launches go to their groups; by the first worker. Return:
 * 0 or -ENOMEM. */
int tptrace_sums_cuda_finish(struct tptrace_worker_sums *w);

#endif
