/* SPDX-License-Identifier: MIT */
#include "input/tptrace_history.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define CAPACITY_FIRST 1024u
#define CAPACITY_MAX (1u << 17)

/* There are many: as small as can be. */
struct tptrace_past {
    int64_t start_ns, end_ns;
    const struct tp_stream_name *name; /* NULL: free */
    uint32_t shapes;
    uint32_t sequence; /* its low half */
    uint32_t above;    /* its parent's number is so much less; 0 none */
    uint8_t kind, scope;
    bool is_folded; /* into its parent */
};

static_assert(sizeof(struct tptrace_past) == 40, "struct tptrace_past grew");

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
    uint64_t above = range->parent ? range->sequence - range->parent : 0;
    bool is_taken = past->name && (int32_t)(past->sequence - (uint32_t)range->sequence) > 0;
    if (is_taken || above > UINT32_MAX) /* it was open for long, or its parent was */
        return 0;
    if (range->sequence > h->last)
        h->last = range->sequence;
    past->start_ns = range->start_ns;
    past->end_ns = range->end_ns;
    past->name = key->name;
    past->shapes = key->shapes;
    past->sequence = (uint32_t)range->sequence;
    past->above = (uint32_t)above;
    past->kind = key->kind;
    past->scope = key->scope;
    past->is_folded = false;
    return 0;
}

/* NULL: forgotten, or no range that is shown. */
static struct tptrace_past *find(const struct tptrace_history *h, uint64_t sequence)
{
    struct tptrace_past *past = h->capacity ? &h->slots[sequence & (h->capacity - 1)] : NULL;

    return past && sequence && past->name && past->sequence == (uint32_t)sequence ? past : NULL;
}

static uint64_t parent_of(const struct tptrace_past *past, uint64_t sequence)
{
    return past->above ? sequence - past->above : 0;
}

void tptrace_history_fold(struct tptrace_history *h, uint64_t sequence, uint64_t parent)
{
    struct tptrace_past *past = find(h, sequence);

    if (!past)
        return;
    past->is_folded = true;
    past->above = (uint32_t)(sequence - parent);
}

/* The number of the last range that began by then, 0 none; numbers that no range has are passed
 * over. */
static uint64_t last_begun(const struct tptrace_history *h, int64_t ns)
{
    uint64_t oldest = h->last >= h->capacity ? h->last - h->capacity + 1 : 1;
    uint64_t low = oldest > h->first ? oldest : h->first, high = h->last + 1, best = 0;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2, at = middle;
        struct tptrace_past *past;
        while (!(past = find(h, at)) && at > low)
            at--;
        if (past && past->start_ns > ns) {
            high = at;
        } else {
            best = past ? at : best;
            low = middle + 1;
        }
    }
    return best;
}

enum tptrace_found tptrace_history_find(const struct tptrace_history *h, struct tp_stream *stream,
                                        int64_t start_ns, int64_t end_ns, uint64_t *ret_sequence)
{
    uint64_t open = stream ? tp_stream_last_open(stream, start_ns) : 0;
    uint64_t sequence = h->last ? last_begun(h, start_ns) : 0;
    const struct tp_stream_range *range;
    const struct tptrace_past *past;
    void **note;

    if (!sequence || open > sequence) {
        *ret_sequence = open;
        if (open)
            return TPTRACE_FOUND;
        return h->capacity && h->last >= h->capacity ? TPTRACE_FORGOTTEN : TPTRACE_NOWHERE;
    }
    past = find(h, sequence);
    while (past && !(start_ns < past->end_ns && end_ns <= past->end_ns)) {
        if (!past->above)
            return TPTRACE_NOWHERE;
        sequence = parent_of(past, sequence);
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
    *ret_parent = parent_of(past, sequence);
    *ret_folded = past->is_folded;
    if (!past->is_folded)
        *ret_key = (struct tp_launch_key){
            .name = past->name, .shapes = past->shapes, .kind = past->kind, .scope = past->scope};
    return true;
}
