/* SPDX-License-Identifier: MIT
 * Ticks of a process to nanoseconds, piecewise linear through the pairs that the process took.
 *
 * The pairs are (ticks, monotonic); real time is monotonic plus one constant, so a stepped wall
 * clock moves nothing. Between two pairs the line goes through both. A stretch whose rate departs
 * more than 1000 ppm (and more than its reading error) from both neighbours holds a jump of one of
 * the clocks: there the neighbours' rate is used up to the time of the next pair, which begins a
 * new segment. */
#ifndef TP_MODEL_CLOCK_H
#define TP_MODEL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rates that a clock may have; others are damage. */
#define TP_CLOCK_RATE_MIN 1e6
#define TP_CLOCK_RATE_MAX 1e11

#define TP_CLOCK_SHIFT 48
#define TP_CLOCK_HALF (UINT64_C(1) << (TP_CLOCK_SHIFT - 1))

struct tp_clock_pair {
    uint64_t ticks;
    int64_t monotonic_ns;
    int64_t realtime_ns;
    uint64_t width; /* ticks between the two readings around the others: the error is below it */
};

struct tp_clock_piece {
    uint64_t ticks; /* first; the piece holds [ticks, ticks + span) */
    uint64_t span;
    uint64_t rate; /* ns per tick, times 2^TP_CLOCK_SHIFT */
    int64_t ns, last_ns;
};

struct tp_clock {
    struct tp_clock_piece
        *pieces; /* at least one, ascending; the first begins before the first pair */
    size_t count;
    double ticks_per_second; /* over the good stretches; what was given when there is none */
    uint32_t pair_count;     /* pairs used */
    uint32_t rejected_pairs; /* going backwards, or so close that they say nothing */
    uint32_t segments;       /* 1 + jumps */
    bool measured;           /* the rate is the pairs' own */
};

/**
 * tp_clock_fit - make a clock from pairs
 * @pairs: @count of them, at least 1, in the order in which they were taken
 * @offset_ns: what to add to monotonic
 * @ticks_per_second: the rate when only one pair is good; within the limits above
 *
 * Context: offline. The result is for tp_clock_fini and never changes: any number of threads may
 * read it. Return: 0, -TP_EVALUE (no pair, a rate out of bounds) or -ENOMEM.
 */
int tp_clock_fit(struct tp_clock *clock, const struct tp_clock_pair *pairs, size_t count,
                 int64_t offset_ns, double ticks_per_second);
void tp_clock_fini(struct tp_clock *clock);

/**
 * tp_clock_rate - the rate that pairs alone say
 * Return: ticks per second, or 0 when fewer than two pairs are good.
 */
double tp_clock_rate(const struct tp_clock_pair *pairs, size_t count);

/** tp_clock_seek - the piece for @ticks, clamped to the clock's reach; updates @cursor */
const struct tp_clock_piece *tp_clock_seek(const struct tp_clock *clock, size_t *cursor,
                                           uint64_t ticks);

/**
 * tp_clock_ns - the time of a tick count; never goes backwards
 * @cursor: the caller's place in the pieces, 0 at first; times near the last one cost a
 * multiplication
 */
static inline int64_t tp_clock_ns(const struct tp_clock *clock, size_t *cursor, uint64_t ticks)
{
    const struct tp_clock_piece *piece = &clock->pieces[*cursor];
    uint64_t since = ticks - piece->ticks;

    if (__builtin_expect(since >= piece->span, 0)) {
        piece = tp_clock_seek(clock, cursor, ticks);
        since = ticks < piece->ticks ? 0 : ticks - piece->ticks;
        if (since >= piece->span)
            since = piece->span - 1;
    }
    unsigned __int128 scaled = (unsigned __int128)since * piece->rate + TP_CLOCK_HALF;
    int64_t ns = piece->ns + (int64_t)(scaled >> TP_CLOCK_SHIFT);
    return ns < piece->last_ns ? ns : piece->last_ns;
}

#endif
