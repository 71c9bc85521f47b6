/* SPDX-License-Identifier: MIT */
#include "model/alloc_order.h"

#include <string.h>

#define STEPS_MAX 8192 /* of a search */
#define DEAD_ENDS 512
#define TWICE_MAX 2

/* Events that were placed when nothing could follow. */
struct dead_end {
    uint64_t placed;
    unsigned twice;
    bool is_live;
};

struct search {
    const struct tp_alloc_turn *turns;
    size_t count;
    uint64_t wanted;                     /* bit i: event i */
    uint64_t before[TP_ALLOC_ORDER_MAX]; /* bit j: event j happened before */
    uint8_t by_end[TP_ALLOC_ORDER_MAX];  /* what must come soonest first */
    uint8_t *order;
    unsigned ordered, steps;
    bool has_dead_ends;
    struct dead_end dead_ends[DEAD_ENDS]; /* by a hash, the latest ones */
};

static void find_constraints(struct search *s)
{
    const struct tp_alloc_turn *t = s->turns;

    for (size_t i = 0; i < s->count; i++) {
        s->before[i] = 0;
        for (size_t j = 0; j < i; j++) {
            if (t[j].thread == t[i].thread || t[j].to <= t[i].from)
                s->before[i] |= UINT64_C(1) << j;
            else if (t[i].to <= t[j].from)
                s->before[j] |= UINT64_C(1) << i;
        }
    }
}

static void sort_by_end(struct search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t at = i;
        for (; at && s->turns[s->by_end[at - 1]].to > s->turns[i].to; at--)
            s->by_end[at] = s->by_end[at - 1];
        s->by_end[at] = (uint8_t)i;
    }
}

static struct dead_end *dead_end_of(struct search *s, uint64_t placed)
{
    return &s->dead_ends[(placed * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (DEAD_ENDS - 1)];
}

static void note_dead_end(struct search *s, uint64_t placed, bool is_live, unsigned twice)
{
    if (!s->has_dead_ends)
        memset(s->dead_ends, 0, sizeof(s->dead_ends));
    s->has_dead_ends = true;
    *dead_end_of(s, placed) =
        (struct dead_end){.placed = placed, .twice = twice, .is_live = is_live};
}

static bool is_dead_end(struct search *s, uint64_t placed, bool is_live, unsigned twice)
{
    const struct dead_end *end = dead_end_of(s, placed);

    return s->has_dead_ends && placed && end->placed == placed && end->is_live == is_live &&
           end->twice == twice;
}

/* Can the events that are not @placed follow in turns, but for @twice of them? */
static bool place(struct search *s, uint64_t placed, unsigned depth, bool is_live, unsigned twice)
{
    s->ordered = depth;
    if (!(s->wanted & ~placed))
        return true;
    if (!s->steps || is_dead_end(s, placed, is_live, twice))
        return false;
    s->steps--;
    for (unsigned out_of_turn = 0; out_of_turn <= (twice ? 1u : 0u); out_of_turn++) {
        for (size_t k = 0; k < s->count; k++) {
            unsigned i = s->by_end[k];
            bool is_free = s->turns[i].is_free;
            if (placed >> i & 1 || s->before[i] & ~placed || (is_free != is_live) != out_of_turn)
                continue;
            s->order[depth] = (uint8_t)i;
            if (place(s, placed | UINT64_C(1) << i, depth + 1, !is_free, twice - out_of_turn))
                return true;
        }
    }
    note_dead_end(s, placed, is_live, twice);
    return false;
}

/* What is not among the ordered ones, behind them. */
static void put_rest(const struct search *s)
{
    uint64_t placed = 0;
    unsigned at = s->ordered;

    for (unsigned i = 0; i < s->ordered; i++)
        placed |= UINT64_C(1) << s->order[i];
    for (unsigned i = 0; i < s->count; i++)
        if (!(placed >> i & 1))
            s->order[at++] = (uint8_t)i;
}

unsigned tp_alloc_order(const struct tp_alloc_turn *turns, size_t count, bool is_live,
                        uint32_t *steps, uint8_t ret_order[TP_ALLOC_ORDER_MAX])
{
    struct search s;
    bool found = false;

    s.turns = turns;
    s.count = count;
    s.order = ret_order;
    s.wanted = 0;
    for (size_t i = 0; i < count; i++)
        s.wanted |= (uint64_t)turns[i].is_wanted << i;
    find_constraints(&s);
    sort_by_end(&s);
    for (unsigned twice = 0; twice <= TWICE_MAX && !found; twice++) {
        unsigned most = *steps < STEPS_MAX ? *steps : STEPS_MAX;
        s.steps = most;
        s.has_dead_ends = false;
        found = place(&s, 0, 0, is_live, twice);
        *steps -= most - s.steps;
    }
    if (!found) { /* the first way that there is, without a look at others */
        s.steps = (unsigned)count + 1;
        s.has_dead_ends = false;
        found = place(&s, 0, 0, is_live, (unsigned)count);
    }
    if (!found)
        s.ordered = 0;
    put_rest(&s);
    return found ? s.ordered : (unsigned)count;
}
