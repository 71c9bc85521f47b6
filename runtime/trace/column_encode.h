/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_COLUMN_ENCODE_H
#define TP_TRACE_COLUMN_ENCODE_H

/* One column as bytes. Private to trace/. */

#include "event/event.h"
#include "trace/series.h"
#include "trace/wire.h"

/* The planes at a column's end, the last of them up to its last byte. */
struct tp_planes {
    uint32_t count, bytes; /* bytes of each */
};

/**
 * tp_column_put - id, encoding, size and data of a column
 * @words:  of each record the word that holds the field; @count of them, at least 1
 * @any:    the bits that some value has, not 0
 * @differ: the bits that not all values share
 * @values: room for @count values
 *
 * Takes the table's encoding, const for equal values, raw bytes for runs that are short.
 * Return: its planes; none where the encoding has none.
 */
struct tp_planes tp_column_put(struct tp_wire_out *out, const struct tp_field_info *field,
                               const uint64_t *words, uint32_t count, uint64_t any, uint64_t differ,
                               uint64_t *values);

/* Values of a column, of 1, 2, 4 or 8 bytes each. */
struct tp_packed_values {
    void *values;
    uint32_t count;
    uint8_t size;
};

/**
 * tp_column_put_packed - a column of the section of allocations
 * @values:   at least 1; those of 8 bytes may be lost
 * @is_noise: their low bits are random, and so are put side by side as they are
 * @scratch:  room for as many values
 *
 * Return: as tp_column_put.
 */
struct tp_planes tp_column_put_packed(struct tp_wire_out *out, uint8_t column,
                                      const struct tp_packed_values *values, bool is_noise,
                                      uint32_t *scratch);

/** tp_column_put_small - a column of planes of values of at most 4 bytes, not all of them 0 */
struct tp_planes tp_column_put_small(struct tp_wire_out *out, uint8_t column,
                                     const struct tp_packed_values *values, uint32_t *scratch);

/** tp_column_put_series - a column of @count values; @words, @values: room for them */
struct tp_planes tp_column_put_series(struct tp_wire_out *out, const struct tp_field_info *field,
                                      const struct tp_series *series, uint32_t count,
                                      uint64_t *words, uint64_t *values);

/** tp_column_put_kinds - the column of kinds of at least one record */
void tp_column_put_kinds(struct tp_wire_out *out, const struct tp_field_info *field,
                         const uint8_t *kinds, uint32_t count);

/** tp_column_worst - the most bytes that tp_column_put needs for a value of the field; beside it 64
 * for the column */
size_t tp_column_worst(const struct tp_field_info *field);

static inline uint64_t tp_field_mask(const struct tp_field_info *field)
{
    return UINT64_MAX >> (64 - field->bits);
}

#endif
