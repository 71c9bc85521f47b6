/* SPDX-License-Identifier: MIT */
#include "input/tptrace_history.h"

#include <errno.h>
#include <stdlib.h>

#define CAPACITY_FIRST 1024u
#define CAPACITY_MAX (1u << 19)
#define STILL_OPEN INT64_MAX

struct tptrace_past {
    int64_t start_ns, end_ns;
    uint64_t sequence; /* 0: free */
    uint64_t parent;
    struct tp_launch_key key;
    bool is_folded; /* into its parent */
};

void tptrace_history_fini(struct tptrace_history *history)
{
    free(history->slots);
    *history = (struct tptrace_history){0};
}

static int grow(struct tptrace_history *h)
{
    uint64_t capacity = h->capacity ? h->capacity * 2 : CAPACITY_FIRST;
    struct tptrace_past *slots = calloc(capacity, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    for (uint64_t i = 0; i < h->capacity; i++)
        slots[h->slots[i].sequence & (capacity - 1)] = h->slots[i];
    free(h->slots);
    h->slots = slots;
    h->capacity = capacity;
    return 0;
}

int tptrace_history_begin(struct tptrace_history *h, const struct tp_stream_range *range,
                          const struct tp_launch_key *key)
{
    while (range->sequence >= h->capacity && h->capacity < CAPACITY_MAX) {
        int error = grow(h);
        if (error)
            return error;
    }
    if (!h->last)
        h->first_ns = range->start_ns;
    h->last = range->sequence;
    h->slots[range->sequence & (h->capacity - 1)] =
        (struct tptrace_past){.start_ns = range->start_ns,
                              .end_ns = STILL_OPEN,
                              .sequence = range->sequence,
                              .key = *key};
    return 0;
}

/* NULL: forgotten, or no range that is shown. */
static struct tptrace_past *find(const struct tptrace_history *h, uint64_t sequence)
{
    struct tptrace_past *past = h->capacity ? &h->slots[sequence & (h->capacity - 1)] : NULL;

    return past && sequence && past->sequence == sequence ? past : NULL;
}

void tptrace_history_end(struct tptrace_history *h, const struct tp_stream_range *range)
{
    struct tptrace_past *past = find(h, range->sequence);

    if (!past)
        return;
    past->end_ns = range->end_ns;
    past->parent = range->parent;
}

void tptrace_history_fold(struct tptrace_history *h, uint64_t sequence, uint64_t parent)
{
    struct tptrace_past *past = find(h, sequence);

    if (!past)
        return;
    past->is_folded = true;
    past->parent = parent;
}

bool tptrace_history_covers(const struct tptrace_history *h, int64_t ns)
{
    return h->last && h->first_ns <= ns;
}

/* The last range that began by then; numbers that no range has are passed over. */
static struct tptrace_past *last_begun(const struct tptrace_history *h, int64_t ns)
{
    uint64_t oldest = h->last >= h->capacity ? h->last - h->capacity + 1 : 1;
    uint64_t low = oldest, high = h->last + 1;
    struct tptrace_past *best = NULL;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2, at = middle;
        struct tptrace_past *past;
        while (!(past = find(h, at)) && at > low)
            at--;
        if (past && past->start_ns > ns) {
            high = at;
        } else {
            best = past ? past : best;
            low = middle + 1;
        }
    }
    return best;
}

enum tptrace_found tptrace_history_find(const struct tptrace_history *h, struct tp_stream *stream,
                                        int64_t start_ns, int64_t end_ns, uint64_t *ret_sequence)
{
    const struct tp_stream_range *range;
    void **note;

    if (!stream || !tptrace_history_covers(h, start_ns))
        return TPTRACE_NOWHERE;
    struct tptrace_past *past = last_begun(h, start_ns);
    uint64_t sequence = past ? past->sequence : 0;

    if (!past)
        return TPTRACE_FORGOTTEN;
    while (past && !(start_ns < past->end_ns && end_ns <= past->end_ns)) {
        if (!past->parent)
            return TPTRACE_NOWHERE;
        sequence = past->parent;
        past = find(h, sequence);
    }
    if (!past && !tp_stream_find(stream, sequence, &range, &note))
        return TPTRACE_FORGOTTEN;
    *ret_sequence = sequence;
    return TPTRACE_FOUND;
}

/* A range that was folded is the one that it was folded into. */
static const struct tptrace_past *followed(const struct tptrace_history *h, uint64_t sequence)
{
    const struct tptrace_past *past = find(h, sequence), *into;

    while (past && past->is_folded && (into = find(h, past->parent)))
        past = into;
    return past;
}

bool tptrace_history_get(const struct tptrace_history *h, uint64_t sequence,
                         struct tp_launch_key *ret_key, uint64_t *ret_parent)
{
    const struct tptrace_past *past = followed(h, sequence);

    if (!past)
        return false;
    *ret_key = past->key;
    *ret_parent = past->parent;
    return true;
}
