/* SPDX-License-Identifier: MIT */
#include "model/spread.h"

#define NOTHING 0x1p-30 /* durations are above 0 */

void tp_spread_fini(struct tp_spread *spread)
{
    tp_durations_fini(&spread->lengths);
}

static void extend(struct tp_spread *spread, double least, double most)
{
    bool is_first = !spread->lengths.count;

    if (is_first || least < spread->least)
        spread->least = least;
    if (is_first || most > spread->most)
        spread->most = most;
}

int tp_spread_add(struct tp_spread *spread, double ns)
{
    if (!(ns > 0))
        ns = 0;
    extend(spread, ns, ns);
    return tp_durations_add(&spread->lengths, ns > 0 ? ns : NOTHING);
}

int tp_spread_add_many(struct tp_spread *spread, const struct tp_summed_work *work)
{
    double mean = work->count ? (double)work->total_ns / (double)work->count : 0;
    uint64_t rest = work->count;
    int result = 0;

    if (!work->count)
        return 0;
    extend(spread, (double)work->least_ns, (double)work->most_ns);
    for (uint32_t i = 0; i < work->length_count && !result; i++) {
        double ns = work->lengths[i].ns;
        if (ns < (double)work->least_ns)
            ns = (double)work->least_ns;
        if (ns > (double)work->most_ns)
            ns = (double)work->most_ns;
        rest -= work->lengths[i].count;
        result =
            tp_durations_add_many(&spread->lengths, ns > 0 ? ns : NOTHING, work->lengths[i].count);
    }
    if (!result && rest)
        result = tp_durations_add_many(&spread->lengths, mean > 0 ? mean : NOTHING, rest);
    return result;
}

int tp_spread_merge(struct tp_spread *spread, struct tp_spread *from)
{
    if (!from->lengths.count)
        return 0;
    extend(spread, from->least, from->most);
    return tp_durations_merge(&spread->lengths, &from->lengths);
}

/* Nothing is shorter than the shortest or longer than the longest, however it was rounded. */
static double between(const struct tp_spread *spread, double value)
{
    if (value < spread->least)
        return spread->least;
    if (value > spread->most)
        return spread->most;
    return value < 2 * NOTHING ? 0 : value;
}

int tp_spread_values(struct tp_spread *spread, struct tp_spread_values *ret_values)
{
    static const unsigned wanted[] = {50, 90, 99};
    double found[3];
    int result = tp_durations_percentiles(&spread->lengths, wanted, 3, found);

    if (result)
        return result;
    *ret_values = (struct tp_spread_values){.least = spread->least,
                                            .median = between(spread, found[0]),
                                            .p90 = between(spread, found[1]),
                                            .p99 = between(spread, found[2]),
                                            .most = spread->most,
                                            .is_there = spread->lengths.count != 0,
                                            .is_exact = !spread->lengths.is_rounded};
    return 0;
}
