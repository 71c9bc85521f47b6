/* SPDX-License-Identifier: MIT */
#include "input/tptrace_history.h"

#include <errno.h>
#include <stdlib.h>

#define CAPACITY_FIRST 1024u
#define CAPACITY_MAX (1u << 17)

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

int tptrace_history_add(struct tptrace_history *h, const struct tp_stream_range *range,
                        const struct tp_launch_key *key)
{
    while (range->sequence >= h->capacity && h->capacity < CAPACITY_MAX) {
        int error = grow(h);
        if (error)
            return error;
    }
    struct tptrace_past *past = &h->slots[range->sequence & (h->capacity - 1)];
    if (past->sequence > range->sequence) /* it was open for so long that its place is taken */
        return 0;
    if (range->sequence > h->last)
        h->last = range->sequence;
    *past = (struct tptrace_past){.start_ns = range->start_ns,
                                  .end_ns = range->end_ns,
                                  .sequence = range->sequence,
                                  .parent = range->parent,
                                  .key = *key};
    return 0;
}

/* NULL: forgotten, or no range that is shown. */
static struct tptrace_past *find(const struct tptrace_history *h, uint64_t sequence)
{
    struct tptrace_past *past = h->capacity ? &h->slots[sequence & (h->capacity - 1)] : NULL;

    return past && sequence && past->sequence == sequence ? past : NULL;
}

void tptrace_history_fold(struct tptrace_history *h, uint64_t sequence, uint64_t parent)
{
    struct tptrace_past *past = find(h, sequence);

    if (!past)
        return;
    past->is_folded = true;
    past->parent = parent;
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
    uint64_t open = stream ? tp_stream_last_open(stream, start_ns) : 0, sequence;
    const struct tptrace_past *past = h->last ? last_begun(h, start_ns) : NULL;
    const struct tp_stream_range *range;
    void **note;

    if (!past || open > past->sequence) {
        *ret_sequence = open;
        if (open)
            return TPTRACE_FOUND;
        return h->capacity && h->last >= h->capacity ? TPTRACE_FORGOTTEN : TPTRACE_NOWHERE;
    }
    sequence = past->sequence;
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

bool tptrace_history_get(const struct tptrace_history *h, uint64_t sequence,
                         struct tp_launch_key *ret_key, uint64_t *ret_parent, bool *ret_folded)
{
    const struct tptrace_past *past = find(h, sequence);

    if (!past)
        return false;
    *ret_parent = past->parent;
    *ret_folded = past->is_folded;
    if (!past->is_folded)
        *ret_key = past->key;
    return true;
}
