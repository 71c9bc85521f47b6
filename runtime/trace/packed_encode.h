/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_PACKED_ENCODE_H
#define TP_TRACE_PACKED_ENCODE_H

/* What a packer found, as columns of a payload. Private to trace/. */

#include "trace/alloc_pack.h"
#include "trace/frames.h"
#include "trace/wire.h"

/* Where columns are put, and room for as many values as records. */
struct tp_packed_out {
    struct tp_wire_out *out;
    struct tp_frames *frames;
    uint64_t *words, *values;
    uint32_t *scratch;
};

/** tp_packed_put_group - the group of @kind, of @count records: all of them, allocations or frees
 * Return: groups put, 0 where all columns are zero. */
unsigned tp_packed_put_group(const struct tp_packed_out *to, const struct tp_packer *packer,
                             unsigned kind, uint32_t count);

/** tp_packed_put_section - the section of allocations */
void tp_packed_put_section(const struct tp_packed_out *to, const struct tp_packer *packer);

#endif
