/* SPDX-License-Identifier: MIT
 * What has come of each correlation id: where it stands in the tree of launches, or what waits for
 * that. Kept for a quarter of a million ids to a million; those for which something may still come
 * are stragglers then, of which the last ones are kept. */
#ifndef TP_INPUT_TPTRACE_LAUNCH_IDS_H
#define TP_INPUT_TPTRACE_LAUNCH_IDS_H

#include "model/launch_tree.h"

struct tptrace_wait_queue {
    struct tptrace_wait *first, *last;
    size_t count;
};

/* What has come of one id that has no place yet; or a call without an id, in a queue alone. */
struct tptrace_wait {
    const struct tp_stream_name *name; /* of the call */
    int64_t start_ns, end_ns;
    uint64_t told_ticks; /* of the record of the call */
    int64_t device_ns, memory, memory_ns;
    uint64_t works, memories;
    struct tp_launch_node *node;      /* that an external id offers; a reference, or NULL */
    struct tptrace_wait_queue *queue; /* that it is in; NULL none */
    struct tptrace_wait *previous, *next;
    uint32_t correlation, tid;
    uint8_t type; /* of the external id */
    bool has_call;
};

enum tptrace_id_state {
    TPTRACE_ID_FREE,
    TPTRACE_ID_WAITING,
    TPTRACE_ID_PLACED,
    TPTRACE_ID_ALIAS,
};

enum {
    TPTRACE_ID_SAW_CALL = 1,
    TPTRACE_ID_SAW_WORK = 2,
    TPTRACE_ID_LAUNCHES = 4,
    TPTRACE_ID_BY_TIME = 8,      /* placed without a record of its thread */
    TPTRACE_ID_SAW_RUNTIME = 16, /* a call of the runtime: one of the driver is inside of it */
};

struct tptrace_launch_entry {
    union {
        struct tptrace_wait *wait;
        struct tp_launch_node *node; /* a reference */
        uint64_t alias;              /* the id that it goes by */
    };
    uint8_t state, seen;
    uint32_t range; /* a number of the range that it was placed in */
};

#define TPTRACE_ID_PAGES 1024u /* ids are kept for so many pages */
#define TPTRACE_ID_SLOTS (UINT32_C(1) << 18)
#define TPTRACE_STRAGGLERS_MAX ((size_t)1 << 20)
#define TPTRACE_QUEUED_MAX ((size_t)1 << 20)

struct tptrace_launch_ids {
    struct tp_launch_tree *tree; /* borrowed */
    struct tptrace_id_page *pages[TPTRACE_ID_PAGES];
    uint32_t window; /* so many of them are used: more where much is under way */
    struct tptrace_straggler *stragglers[TPTRACE_ID_SLOTS];
    struct tptrace_straggler *oldest, *newest;
    size_t straggler_count, straggler_max;
    size_t queued_count, queued_max; /* waits in all queues; the maximum is for who joins them */
    struct tptrace_wait *spare;
    struct tptrace_wait given_up; /* sums of ids for which there was no more room */
    uint64_t by_external;         /* of these, work that went where an external id said */
    uint64_t seed;                /* of hashes */
};

/**
 * tptrace_launch_ids_init - @ids: zeroed; @tree: whose nodes entries refer to
 * tptrace_launch_ids_reset - forget all ids; references are dropped, not given up: the tree goes
 *   with them. Waits in a queue are the queue's.
 * tptrace_launch_ids_fini - after a reset
 */
void tptrace_launch_ids_init(struct tptrace_launch_ids *ids, struct tp_launch_tree *tree);
void tptrace_launch_ids_reset(struct tptrace_launch_ids *ids);
void tptrace_launch_ids_fini(struct tptrace_launch_ids *ids);

/** tptrace_launch_ids_find - the entry of an id, made if it is new; NULL without memory */
struct tptrace_launch_entry *tptrace_launch_ids_find(struct tptrace_launch_ids *ids,
                                                     uint32_t correlation);

/** tptrace_launch_ids_look - the entry of an id, if there is one */
struct tptrace_launch_entry *tptrace_launch_ids_look(struct tptrace_launch_ids *ids,
                                                     uint32_t correlation);

/** tptrace_launch_ids_follow, _look_behind - ... or of the id that it goes by; followed, it is no
 * alias */
struct tptrace_launch_entry *tptrace_launch_ids_look_behind(struct tptrace_launch_ids *ids,
                                                            uint32_t correlation);
struct tptrace_launch_entry *tptrace_launch_ids_follow(struct tptrace_launch_ids *ids,
                                                       uint32_t correlation);

/** tptrace_launch_ids_wait - of an entry that is free or waits; NULL without memory */
struct tptrace_wait *tptrace_launch_ids_wait(struct tptrace_launch_ids *ids,
                                             struct tptrace_launch_entry *entry,
                                             uint32_t correlation);

/** tptrace_launch_ids_forget - free an entry; not for one that waits outside of all queues */
void tptrace_launch_ids_forget(struct tptrace_launch_ids *ids, struct tptrace_launch_entry *entry);

/** tptrace_launch_ids_each - every entry there is room for. Return: 0 or what @visit returned. */
int tptrace_launch_ids_each(struct tptrace_launch_ids *ids,
                            int (*visit)(void *context, struct tptrace_launch_entry *entry),
                            void *context);

/** tptrace_wait_new - NULL without memory; tptrace_wait_free - leaves its queue as well */
struct tptrace_wait *tptrace_wait_new(struct tptrace_launch_ids *ids, uint32_t correlation);
void tptrace_wait_free(struct tptrace_launch_ids *ids, struct tptrace_wait *wait);

/** tptrace_wait_take_offer - its device work goes where an external id says, if one does */
void tptrace_wait_take_offer(struct tptrace_launch_ids *ids, struct tptrace_wait *wait);

/** tptrace_wait_join, _leave - a queue, at its end; it leaves none, too */
void tptrace_wait_join(struct tptrace_launch_ids *ids, struct tptrace_wait *wait,
                       struct tptrace_wait_queue *queue);
void tptrace_wait_leave(struct tptrace_launch_ids *ids, struct tptrace_wait *wait);

#endif
