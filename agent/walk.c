/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <stdatomic.h>

#include "python_frames.h"

#define PAGE ((uintptr_t)4096)

/* Return: false: the walk ends before this frame. */
static inline bool add(struct tp_walk *w, uintptr_t pc)
{
    if (w->python && tp_python_runs_at(pc)) {
        w->at_loop = true;
        return false;
    }
    if (pc < PAGE)
        return false;
    /* products that do not wait for each other */
    unsigned __int128 product =
        (unsigned __int128)(pc ^ UINT64_C(0x9e3779b97f4a7c15)) *
        (w->count * UINT64_C(0xbf58476d1ce4e5b9) + UINT64_C(0xd6e8feb86659fd93));
    w->hash += (uint64_t)product ^ (uint64_t)(product >> 64);
    w->addresses[w->count++] = pc;
    return w->count < w->depth;
}

/* Whether the last walk's next frame follows still. */
static inline bool still(const struct tp_unwind *next)
{
    return tp_unwind_word(next->sp - sizeof(next->sp)) == next->pc &&
           (!next->bp_at ||
            (next->bp_at != TP_UNWIND_FURTHER && tp_unwind_word(next->bp_at) == next->bp));
}

/* From frame @i of the last walk on, to last->end. Return: false: the walk is over. */
static inline bool follow(struct tp_walk *w, struct tp_last_walk *last, unsigned i)
{
    bool goes_on = true;

    while (goes_on && i + 1 < TP_WALK_FRAMES && still(&last->frames[i + 1])) {
        goes_on = add(w, last->frames[++i].pc);
        last->outer[i] = w->hash;
    }
    last->end = i;
    return goes_on;
}

/*
 * The same where frame @i has the number that it had: if all are there still, the walk ends as the
 * last one did, and the hash grows by as much.
 */
static inline bool is_as_before(struct tp_walk *w, const struct tp_last_walk *last, unsigned i)
{
    unsigned end = last->end;

    if (end >= TP_WALK_FRAMES || i > end || i - last->first != w->count - 1 ||
        w->python != last->python)
        return false;
    for (unsigned next = i + 1; next <= end; next++)
        if (!still(&last->frames[next]))
            return false;
    w->hash += last->outer[i];
    w->count = last->end_count;
    w->at_loop = last->at_loop;
    w->is_known = true;
    return true;
}

static void step_on(struct tp_walk *w, struct tp_unwind *at, uintptr_t high)
{
    while (tp_unwind_step(at, high) && add(w, at->pc))
        ;
}

/* The frames that were new go before those that were not. */
static void keep(struct tp_last_walk *last, unsigned known, unsigned count)
{
    last->first = TP_WALK_FRAMES;
    last->end = known < TP_WALK_FRAMES ? last->end : TP_WALK_FRAMES;
    if (known < count)
        return;
    last->first = known - count;
    for (unsigned i = 0; i < count; i++) {
        last->frames[last->first + i] = last->inner[i];
        last->outer[last->first + i] = last->inner_outer[i];
    }
}

/* What the hash was behind each frame becomes what was still to come. */
static void keep_sums(struct tp_last_walk *last, const struct tp_walk *w, unsigned from,
                      unsigned to)
{
    for (unsigned i = from; i < to; i++)
        last->outer[i] = w->hash - last->outer[i];
}

static void keep_end(struct tp_last_walk *last, const struct tp_walk *w, bool goes_on)
{
    last->end_count = w->count;
    last->python = w->python;
    last->at_loop = w->at_loop;
    last->goes_on = goes_on;
}

/* The walk has come to frame @known of the last one; @count are new. */
static inline void go_on(struct tp_walk *w, uintptr_t high, struct tp_last_walk *last,
                         unsigned known, unsigned count, bool goes_on)
{
    bool is_as_it_was = goes_on && is_as_before(w, last, known);

    if (is_as_it_was) {
        goes_on = last->goes_on;
    } else {
        last->outer[known] = w->hash;
        last->end = known;
        goes_on = goes_on && follow(w, last, known);
    }
    /* a copy only where it goes another way now, or further */
    struct tp_unwind at;
    if (goes_on && (at = last->frames[last->end], tp_unwind_step(&at, high))) {
        if (add(w, at.pc))
            step_on(w, &at, high);
        last->first = TP_WALK_FRAMES;
        return;
    }
    if (count || known != last->first)
        keep(last, known, count);
    keep_sums(last, w, last->first, is_as_it_was ? known : last->end + 1);
    if (!is_as_it_was)
        keep_end(last, w, goes_on);
}

static inline void walk_again(struct tp_walk *w, struct tp_unwind at, uintptr_t high,
                              struct tp_last_walk *last)
{
    unsigned known = last->high == high ? last->first : TP_WALK_FRAMES, count = 0;
    bool goes_on = add(w, at.pc);

    last->high = high;
    for (;;) {
        while (known < TP_WALK_FRAMES && last->frames[known].sp < at.sp)
            known++;
        struct tp_unwind *then = &last->frames[known];
        if (known < TP_WALK_FRAMES && then->sp == at.sp && then->pc == at.pc && then->bp == at.bp) {
            then->bp_at = at.bp_at; /* the way that has led here now */
            break;
        }
        last->inner_outer[count] = w->hash;
        last->inner[count++] = at;
        if (!goes_on || !tp_unwind_step(&at, high)) {
            keep(last, TP_WALK_FRAMES, count);
            if (last->first < TP_WALK_FRAMES) {
                last->end = TP_WALK_FRAMES - 1;
                keep_sums(last, w, last->first, TP_WALK_FRAMES);
                keep_end(last, w, goes_on);
            }
            return;
        }
        goes_on = add(w, at.pc);
    }
    go_on(w, high, last, known, count, goes_on);
}

/* What a handler returns to is no function that has called it; where the walk came to frames that
 * are known it was left out then. */
static inline void leave_signal_out(struct tp_walk *w)
{
    if (!w->is_known && w->count &&
        (tp_unwind_rule(w->addresses[w->count - 1]) & 7) == TP_UNWIND_SIGNAL)
        w->count--;
}

void tp_walk_stack(struct tp_walk *w, const void *frame, uintptr_t high, struct tp_last_walk *last)
{
    const uintptr_t *words = frame;
    struct tp_unwind at = {.pc = words[1], .sp = (uintptr_t)(words + 2), .bp = words[0]};

    if (last && !last->busy) {
        last->busy = 1;
        atomic_signal_fence(memory_order_seq_cst);
        walk_again(w, at, high, last);
        atomic_signal_fence(memory_order_seq_cst);
        last->busy = 0;
    } else if (add(w, at.pc)) {
        step_on(w, &at, high);
    }
    leave_signal_out(w);
}
