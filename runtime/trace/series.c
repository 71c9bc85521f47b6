/* SPDX-License-Identifier: MIT */
#include "trace/series.h"

#include "trace/room.h"

size_t tp_series_lay(struct tp_series *series, void *base, uint32_t values)
{
    struct tp_room room = {base, 0};

    series->at = tp_room_take(&room, values * sizeof(*series->at));
    series->values = tp_room_take(&room, values * sizeof(*series->values));
    return room.used;
}

static uint64_t first_of(const struct tp_series *series)
{
    return series->changes && !series->at[0] ? series->values[0] : 0;
}

void tp_series_look(const struct tp_series *series, uint64_t *ret_any, uint64_t *ret_differ)
{
    uint64_t any = 0, differ = 0, first = first_of(series);

    for (uint32_t i = 0; i < series->changes; i++) {
        any |= series->values[i];
        differ |= series->values[i] ^ first;
    }
    *ret_any = any;
    *ret_differ = differ;
}

void tp_series_expand(const struct tp_series *series, uint32_t count, uint64_t *values)
{
    uint64_t now = 0;
    uint32_t at = 0;

    for (uint32_t i = 0; i < series->changes; i++) {
        for (; at < series->at[i]; at++)
            values[at] = now;
        now = series->values[i];
    }
    for (; at < count; at++)
        values[at] = now;
}
