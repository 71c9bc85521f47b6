/* SPDX-License-Identifier: MIT
 * How long the events of a row took: the shortest, the longest, and what lies between. */
#ifndef TP_MODEL_SPREAD_H
#define TP_MODEL_SPREAD_H

#include "model/durations.h"
#include "model/summed_work.h"

/* What a row shows. Times in ns. */
struct tp_spread_values {
    double least, median, p90, p99, most;
    bool is_there; /* false: of no event */
    bool is_exact; /* but for least and most, which always are */
};

/* Start from zeros. */
struct tp_spread {
    struct tp_durations lengths;
    double least, most;
};

void tp_spread_fini(struct tp_spread *spread);

/**
 * tp_spread_add - one more event
 * tp_spread_add_many - events of which little is known: @lengths, of at most @count of them, what
 *   all took together, and the extremes
 * tp_spread_merge - all of @from as well, which keeps them
 * Context: offline, one thread.
 * Return: 0 or -ENOMEM.
 */
int tp_spread_add(struct tp_spread *spread, double ns);
int tp_spread_add_many(struct tp_spread *spread, const struct tp_summed_work *work);
int tp_spread_merge(struct tp_spread *spread, struct tp_spread *from);

/** tp_spread_values - Return: 0 or -ENOMEM. */
int tp_spread_values(struct tp_spread *spread, struct tp_spread_values *ret_values);

#endif
