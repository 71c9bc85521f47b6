/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_SERIES_H
#define TP_TRACE_SERIES_H

/* Values that mostly are equal to the one before: only where they change is kept. Private to
 * trace/. */

#include <stddef.h>
#include <stdint.h>

struct tp_series {
    uint64_t now; /* the last one; 0 before the first change */
    uint32_t changes;
    uint32_t *at;     /* which value is another than the one before */
    uint64_t *values; /* and what it is */
};

/** tp_series_lay - room for so many values at @base, 16-byte aligned, or only how much they take
 * where that is NULL. Return: bytes. */
size_t tp_series_lay(struct tp_series *series, void *base, uint32_t values);

static inline void tp_series_begin(struct tp_series *series)
{
    series->now = 0;
    series->changes = 0;
}

/** tp_series_change - as tp_series_put, of another value than the one before */
static inline void tp_series_change(struct tp_series *series, uint32_t index, uint64_t value)
{
    uint32_t number = series->changes;

    if (number && series->at[number - 1] == index)
        number--;
    series->at[number] = index;
    series->values[number] = series->now = value;
    series->changes = number + 1;
}

/** tp_series_put - the value @index, and all behind it; again for the same index: that is undone */
static inline void tp_series_put(struct tp_series *series, uint32_t index, uint64_t value)
{
    if (value != series->now)
        tp_series_change(series, index, value);
}

/** tp_series_look - the bits that some value has, and those that not all share */
void tp_series_look(const struct tp_series *series, uint64_t *ret_any, uint64_t *ret_differ);

/** tp_series_expand - all @count values */
void tp_series_expand(const struct tp_series *series, uint32_t count, uint64_t *values);

#endif
