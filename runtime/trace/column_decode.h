/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_COLUMN_DECODE_H
#define TP_TRACE_COLUMN_DECODE_H

/* One column's bytes as values. Private to trace/. */

#include "event/event.h"
#include "trace/wire.h"

/**
 * tp_column_unpack - the values of a column
 * @data:   all of the column's bytes
 * @values: room for @count of them, @count > 0; a constant fills the first only
 *
 * Trusts no byte; the work is bounded by @count and the bytes.
 * Return: NULL, or what is wrong, as a few words.
 */
const char *tp_column_unpack(struct tp_wire_in data, unsigned encoding, uint64_t *values,
                             uint32_t count);

#endif
