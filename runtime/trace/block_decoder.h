/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_BLOCK_DECODER_H
#define TP_TRACE_BLOCK_DECODER_H

/* A decoder inside, for who makes one. Private to trace/. */

#include <stdbool.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "trace/alloc_unpack.h"
#include "trace/block.h"

struct tp_decoder_fields {
    const struct tp_field_info *first;
    uint32_t count;
};

struct tp_block_decoder {
    ZSTD_DCtx *zstd;
    bool (*grow)(void *array, size_t bytes); /* NULL: in a workspace, of the size that it has */
    uint8_t *payload;
    size_t payload_room;
    uint64_t *slots, *open;
    size_t slots_room, open_room;
    uint64_t *values;                /* of one column */
    uint64_t *common[TP_SLOT_WORDS]; /* words of each record's first slot */
    uint8_t *kinds;                  /* of each record */
    uint32_t *at;                    /* first word of each record */
    uint32_t *selected;              /* the same for those of one kind */
    size_t records_room;
    void *allocations; /* for the lists of so many allocations and frees, and slacks */
    uint64_t *slacks, *brief;
    size_t allocations_room;
    struct tp_unpacker unpacker;
    struct tp_decoder_fields fields[TP_EVENT_KIND_END];
    uint8_t kind_slots[256]; /* 0: unknown */
};

/** tp_block_decoder_prepare - what does not depend on where its memory is */
void tp_block_decoder_prepare(struct tp_block_decoder *decoder);

#endif
