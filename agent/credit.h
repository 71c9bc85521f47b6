/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_CREDIT_H
#define TP_AGENT_CREDIT_H

/*
 * Which ranges get the time of a device's work, while segments are folded. A call of CUDA and its
 * work bear one id; they may lie in different blocks, in either order and far apart, and the ranges
 * around the call may have ended by then or not. So a range that calls has a path of its own; when
 * it ends, its path is merged into the one of its parent that stands for the same rows. Calls refer
 * to paths and are kept by their ids, the last quarter of a million of them, and up to
 * TP_CREDIT_IDS where so many wait for their work. What finds no room, or never meets its other
 * half, is counted.
 *
 * It is the tree of launches of tpreport, in memory of fixed size: instead of leaving a reference
 * behind, a path that is merged takes its calls along.
 */

#include "trace/summary.h"

#define TP_CREDIT_IDS (1u << 20)
#define TP_CREDIT_PATHS (64u << 10)
#define TP_CREDIT_WORKS (256u << 10) /* ids whose work is here and whose call is not */
#define TP_CREDIT_DONE_IDS (16u << 10)

#define TP_CREDIT_NOWHERE 0u /* the path of calls outside of all ranges */

struct tp_credit_path {
    uint32_t row, number;                                    /* when it is put */
    uint32_t parent, first_child, next, previous, hash_next; /* paths; 0 none */
    uint32_t calls;                                          /* the first one's place + 1 */
    uint64_t own, below; /* ticks; below: of those that rows have got already */
};

enum tp_credit_state { TP_CREDIT_FREE, TP_CREDIT_PLACED, TP_CREDIT_WAITING };

struct tp_credit_call {
    uint32_t id;
    uint32_t next, previous; /* of its path; place + 1 */
    uint32_t where : 24;     /* path, or work that waits */
    uint32_t state : 2;
    uint32_t saw_work : 1;
    uint32_t is_graph : 1; /* more work may come for long */
    uint32_t is_idle : 1;  /* it is no call that has a device do something */
};

struct tp_credit_work {
    uint64_t ticks;
    uint32_t count; /* of one that is free: the next one */
};

struct tp_credit {
    uint64_t without_launch, without_launch_ticks; /* given up */
    uint32_t newest;                               /* id of a call */
    uint32_t path_count, path_spare, paths_used;   /* used ever; the first free one; in use */
    uint32_t work_count, work_spare, works_used;
    uint32_t calls_used;
    uint32_t window; /* so many places of @calls are in use, a power of two */
    struct tp_credit_path paths[TP_CREDIT_PATHS + 1]; /* the first: outside of all ranges */
    uint32_t slots[TP_CREDIT_PATHS];                  /* by parent and row */
    struct tp_credit_work works[TP_CREDIT_WORKS + 1];
    struct tp_credit_call calls[TP_CREDIT_IDS]; /* by the low bits of their ids */
};

/** tp_credit_init - @credit: zeroed */
void tp_credit_init(struct tp_credit *credit);

/** tp_credit_open - a path for a range that is open, of which nothing is known below it
 * @for_call: leaves room for ranges around. Return: 0 no room. */
uint32_t tp_credit_open(struct tp_credit *credit, uint32_t row, bool for_call);

/** tp_credit_call - a thread enters a call in a range */
void tp_credit_call(struct tp_credit *credit, uint32_t id, uint32_t path);

/** tp_credit_idle - a call of that id has no device do anything */
void tp_credit_idle(struct tp_credit *credit, uint32_t id);

/** tp_credit_work - a device did something for a call */
void tp_credit_work(struct tp_credit *credit, uint32_t id, uint64_t ticks, bool is_graph);

/** tp_credit_adopt - a range has ended below another one, or (TP_CREDIT_NOWHERE) without a parent
 */
void tp_credit_adopt(struct tp_credit *credit, uint32_t parent, uint32_t path);

/** tp_credit_fold - a range that has ended is the same one as @into; or (TP_CREDIT_NOWHERE) it is
 * in no row, and those below it have lost their parent */
void tp_credit_fold(struct tp_credit *credit, uint32_t into, uint32_t path);

/** tp_credit_tell - each path of ranges that have ended, with what came to it since: its own and
 * with all below it; then forget what nothing is expected of */
void tp_credit_tell(struct tp_credit *credit,
                    void (*tell)(void *context, uint32_t row, uint64_t own, uint64_t total),
                    void *context);

/** tp_credit_number - behind tp_credit_tell: numbers for a path and all below it, a path's before
 * those below it
 * @put: is told each one that is not @path itself */
void tp_credit_number(struct tp_credit *credit, uint32_t path, uint32_t *number,
                      void (*put)(void *context, const struct tp_credit_path *path,
                                  uint32_t parent_number),
                      void *context);

/** tp_credit_put - calls and works, by the numbers of paths */
void tp_credit_put(const struct tp_credit *credit, struct tp_wire_out *out);

#endif
