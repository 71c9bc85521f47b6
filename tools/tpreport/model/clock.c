/* SPDX-License-Identifier: MIT */
#include "model/clock.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

#define DEPARTURE 1e-3
#define REACH_NS ((int64_t)1 << 60) /* how far the ends are drawn out */
#define BEFORE_NS ((int64_t)1 << 58)

struct stretch {
    double rate;  /* ns per tick */
    double error; /* relative */
    bool good;
};

/* Pairs that go forward in both clocks, at most @count; the others are counted. */
static size_t take_forward(struct tp_clock_pair *kept, const struct tp_clock_pair *pairs,
                           size_t count, uint32_t *ret_rejected)
{
    size_t used = 0;
    uint32_t rejected = 0;

    for (size_t i = 0; i < count; i++) {
        if (used && (pairs[i].ticks <= kept[used - 1].ticks ||
                     pairs[i].monotonic_ns <= kept[used - 1].monotonic_ns))
            rejected++;
        else
            kept[used++] = pairs[i];
    }
    *ret_rejected = rejected;
    return used;
}

static struct stretch stretch_between(const struct tp_clock_pair *a, const struct tp_clock_pair *b)
{
    double ticks = (double)(b->ticks - a->ticks);
    double ns = (double)((uint64_t)b->monotonic_ns - (uint64_t)a->monotonic_ns);
    double error = ((double)a->width + (double)b->width) / ticks;

    return (struct stretch){.rate = ns / ticks, .error = error < 0.05 ? error : 0.05};
}

static bool rate_is_possible(double ns_per_tick)
{
    return ns_per_tick >= 1e9 / TP_CLOCK_RATE_MAX && ns_per_tick <= 1e9 / TP_CLOCK_RATE_MIN;
}

static bool agree(const struct stretch *a, const struct stretch *b)
{
    return fabs(a->rate - b->rate) <= b->rate * (DEPARTURE + a->error + b->error);
}

/* Good is who agrees with a neighbour; where nobody does, the longest possible stretch. */
static size_t judge(struct stretch *stretches, const struct tp_clock_pair *pairs, size_t count)
{
    size_t good = 0, longest = count;

    for (size_t i = 0; i < count; i++) {
        struct stretch *s = &stretches[i];
        if (!rate_is_possible(s->rate))
            continue;
        s->good = (i > 0 && agree(s, s - 1)) || (i + 1 < count && agree(s, s + 1));
        good += s->good;
        if (longest == count ||
            pairs[i + 1].ticks - pairs[i].ticks > pairs[longest + 1].ticks - pairs[longest].ticks)
            longest = i;
    }
    if (!good && longest < count) {
        stretches[longest].good = true;
        good = 1;
    }
    return good;
}

static double mean_rate(const struct stretch *stretches, const struct tp_clock_pair *pairs,
                        size_t count)
{
    double ticks = 0, ns = 0;

    for (size_t i = 0; i < count; i++) {
        if (!stretches[i].good)
            continue;
        double span = (double)(pairs[i + 1].ticks - pairs[i].ticks);
        ticks += span;
        ns += span * stretches[i].rate;
    }
    return ns > 0 ? ticks / ns * 1e9 : 0;
}

static void set_piece(struct tp_clock_piece *piece, uint64_t ticks, uint64_t end_ticks, double rate,
                      int64_t ns, int64_t last_ns)
{
    double reach = (double)REACH_NS / rate;
    uint64_t span = end_ticks - ticks;

    if ((double)span > reach)
        span = (uint64_t)reach;
    *piece = (struct tp_clock_piece){
        .ticks = ticks,
        .span = span ? span : 1,
        .rate = (uint64_t)(ldexp(rate, TP_CLOCK_SHIFT) + 0.5),
        .ns = ns,
        .last_ns = last_ns,
    };
}

/* The line before the first pair. */
static void set_first(struct tp_clock_piece *piece, uint64_t ticks, double rate, int64_t ns)
{
    double before = (double)BEFORE_NS / rate;
    uint64_t back = (double)ticks > before ? (uint64_t)before : ticks;
    uint64_t fixed = (uint64_t)(ldexp(rate, TP_CLOCK_SHIFT) + 0.5);
    int64_t back_ns =
        (int64_t)(((unsigned __int128)back * fixed + TP_CLOCK_HALF) >> TP_CLOCK_SHIFT);

    set_piece(piece, ticks - back, ticks, rate, ns - back_ns, ns);
}

static double rate_near(const struct stretch *stretches, size_t count, size_t at)
{
    for (size_t i = at + 1; i-- > 0;) {
        if (stretches[i].good)
            return stretches[i].rate;
    }
    while (at < count && !stretches[at].good)
        at++;
    return at < count ? stretches[at].rate : 0;
}

static void set_pieces(struct tp_clock *clock, const struct tp_clock_pair *pairs, size_t used,
                       const struct stretch *stretches, int64_t offset_ns)
{
    double given = 1e9 / clock->ticks_per_second;
    size_t last = used - 1;

    for (size_t i = 0; i < last; i++) {
        double rate = stretches[i].good ? stretches[i].rate : rate_near(stretches, last, i);
        set_piece(&clock->pieces[i + 1], pairs[i].ticks, pairs[i + 1].ticks,
                  rate > 0 ? rate : given, pairs[i].monotonic_ns + offset_ns,
                  pairs[i + 1].monotonic_ns + offset_ns);
        clock->segments += !stretches[i].good;
    }
    double rate = last ? rate_near(stretches, last, last - 1) : 0;
    set_piece(&clock->pieces[used], pairs[last].ticks, UINT64_MAX, rate > 0 ? rate : given,
              pairs[last].monotonic_ns + offset_ns, INT64_MAX);
    rate = last ? rate_near(stretches, last, 0) : 0;
    set_first(&clock->pieces[0], pairs[0].ticks, rate > 0 ? rate : given,
              pairs[0].monotonic_ns + offset_ns);
    clock->count = used + 1;
}

int tp_clock_fit(struct tp_clock *clock, const struct tp_clock_pair *pairs, size_t count,
                 int64_t offset_ns, double ticks_per_second)
{
    *clock = (struct tp_clock){.segments = 1, .ticks_per_second = ticks_per_second};
    if (!count || !(ticks_per_second >= TP_CLOCK_RATE_MIN && ticks_per_second <= TP_CLOCK_RATE_MAX))
        return -TP_EVALUE;
    struct tp_clock_pair *kept = malloc(count * sizeof(*kept));
    struct stretch *stretches = calloc(count, sizeof(*stretches));
    clock->pieces = calloc(count + 1, sizeof(*clock->pieces));
    if (!kept || !stretches || !clock->pieces) {
        free(kept);
        free(stretches);
        tp_clock_fini(clock);
        return -ENOMEM;
    }
    size_t used = take_forward(kept, pairs, count, &clock->rejected_pairs);
    for (size_t i = 0; i + 1 < used; i++)
        stretches[i] = stretch_between(&kept[i], &kept[i + 1]);
    clock->measured = judge(stretches, kept, used - 1) > 0;
    if (clock->measured)
        clock->ticks_per_second = mean_rate(stretches, kept, used - 1);
    set_pieces(clock, kept, used, stretches, offset_ns);
    clock->pair_count = (uint32_t)used;
    free(kept);
    free(stretches);
    return 0;
}

double tp_clock_rate(const struct tp_clock_pair *pairs, size_t count)
{
    struct tp_clock clock;

    if (count < 2 || tp_clock_fit(&clock, pairs, count, 0, 1e9))
        return 0;
    double rate = clock.ticks_per_second;
    tp_clock_fini(&clock);
    return clock.measured ? rate : 0;
}

void tp_clock_fini(struct tp_clock *clock)
{
    free(clock->pieces);
    clock->pieces = NULL;
    clock->count = 0;
}

const struct tp_clock_piece *tp_clock_seek(const struct tp_clock *clock, size_t *cursor,
                                           uint64_t ticks)
{
    size_t low = 0, high = clock->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (clock->pieces[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    *cursor = low;
    return &clock->pieces[low];
}
