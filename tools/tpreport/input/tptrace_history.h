/* SPDX-License-Identifier: MIT
 * The last ranges of one track by their numbers, for calls that are told after them and say when
 * they were, not where. */
#ifndef TP_INPUT_TPTRACE_HISTORY_H
#define TP_INPUT_TPTRACE_HISTORY_H

#include "model/launch_tree.h"

/* Start from zeros. */
struct tptrace_history {
    struct tptrace_past *slots; /* of the last ranges, by number */
    uint64_t capacity;
    uint64_t last;  /* the highest number */
    uint64_t first; /* set by the owner: lower ones are not all there */
};

enum tptrace_found {
    TPTRACE_NOWHERE, /* no range was open */
    TPTRACE_FOUND,
    TPTRACE_FORGOTTEN, /* too long ago */
};

void tptrace_history_fini(struct tptrace_history *history);

/** tptrace_history_add - a range has ended. Return: 0 or -ENOMEM. */
int tptrace_history_add(struct tptrace_history *history, const struct tp_stream_range *range,
                        const struct tp_launch_key *key);

/** tptrace_history_fold - range @sequence turned out to be the same as @parent */
void tptrace_history_fold(struct tptrace_history *history, uint64_t sequence, uint64_t parent);

/**
 * tptrace_history_find - the innermost range that holds a stretch of time
 * @stream: the track's; knows what is open still. It has gone beyond @end_ns. NULL: no records
 */
enum tptrace_found tptrace_history_find(const struct tptrace_history *history,
                                        struct tp_stream *stream, int64_t start_ns, int64_t end_ns,
                                        uint64_t *ret_sequence);

/**
 * tptrace_history_get - what a range that has ended is, and the number of its parent
 * @ret_folded: it is the same as its parent; @ret_key is not set
 * Return: false when it is forgotten.
 */
bool tptrace_history_get(const struct tptrace_history *history, uint64_t sequence,
                         struct tp_launch_key *ret_key, uint64_t *ret_parent, bool *ret_folded);

#endif
