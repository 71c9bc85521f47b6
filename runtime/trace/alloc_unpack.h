/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_ALLOC_UNPACK_H
#define TP_TRACE_ALLOC_UNPACK_H

/* The other half of alloc_pack.h. Private to trace/. */

#include "event/event.h"
#include "trace/allocations.h"

struct tp_unpacker {
    struct tp_allocations lists;
    uint64_t *columns[TP_PACKED_END];
    uint32_t counts[TP_PACKED_END]; /* values that are left of each column */
    bool has_brief;                 /* some of the records were brief */
    uint64_t brief_left;            /* before the next whole one */
    uint32_t brief_count;           /* so far */
};

/**
 * tp_alloc_unpack - make records whole, where they lie
 * @unpacker: lists with room for all allocations and frees among them; columns, which are used up
 * @slots: @slot_count slots, whole records of known kinds
 * @has_brief: some of them were brief, as a column tells; unpacker->brief_count is how many
 *
 * Trusts no value.
 * Return: NULL, or what is wrong, as a few words.
 */
const char *tp_alloc_unpack(struct tp_unpacker *unpacker, uint64_t *slots, uint32_t slot_count,
                            bool has_brief);

#endif
