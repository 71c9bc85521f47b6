/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_COLUMN_ENCODE_H
#define TP_TRACE_COLUMN_ENCODE_H

/* One column as bytes. Private to trace/. */

#include "event/event.h"
#include "trace/wire.h"

/* The records that the column is taken from. */
struct tp_column_source {
    const uint64_t *slots;
    const uint32_t *at; /* first slot of each record */
    uint32_t count;     /* records, at least 1 */
};

/**
 * tp_column_put - id, encoding, size and data of a column
 * @any:   the bits that some value has, not 0
 * @differ: the bits that not all values share
 * @scratch: room for a value a record
 *
 * Takes the table's encoding, const for equal values, raw bytes for runs that are short.
 */
void tp_column_put(struct tp_wire_out *out, const struct tp_column_source *source,
                   const struct tp_field_info *field, uint64_t any, uint64_t differ,
                   uint64_t *scratch);

/** tp_column_worst - the most bytes that tp_column_put needs for a value of the field; beside it 64
 * for the column */
size_t tp_column_worst(const struct tp_field_info *field);

static inline uint64_t tp_field_mask(const struct tp_field_info *field)
{
    return UINT64_MAX >> (64 - field->bits);
}

#endif
