/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_BLOCK_H
#define TP_TRACE_BLOCK_H

/*
 * A block: records of one track and one stretch of slot numbers, as columns, compressed,
 * checksummed, readable alone. Encoder and decoder do not know each other; both obey format.md.
 * Both work in the caller's memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "event/event.h"

#define TP_BLOCK_MAGIC 0x31425054u /* "TPB1" */
#define TP_BLOCK_HEADER_BYTES 64u
#define TP_BLOCK_SLOTS_MAX (64u << 10)     /* a writer makes no larger block */
#define TP_BLOCK_SLOTS_READ_MAX (1u << 20) /* a reader refuses more, also once they are whole */
#define TP_BLOCK_OPEN_MAX (16u << 10)      /* slots of open begins in one block */
#define TP_BLOCK_PAYLOAD_MAX (16u << 20)

enum tp_block_type {
    TP_BLOCK_EVENTS = 1,
    TP_BLOCK_INDEX = 2,
    TP_BLOCK_NAMES = 3,
    TP_BLOCK_METADATA = 4,
    TP_BLOCK_SUMMARY = 5
};

enum {
    TP_BLOCK_ZSTD = 1,
    TP_BLOCK_RECOVERED = 2,
    TP_BLOCK_ALLOCATIONS = 4, /* with a section of allocations */
    TP_BLOCK_BRIEF = 8,       /* with brief records, which take two slots each once decoded */
};

/* The header's fields in host order (offsets: format.md). */
struct tp_block_header {
    uint16_t header_size;
    uint8_t type, flags;
    uint32_t stored_bytes;  /* payload as stored, without padding */
    uint32_t payload_bytes; /* payload decompressed */
    uint32_t slots;
    uint32_t track;
    uint64_t first_slot;
    uint64_t first_ticks, last_ticks;
    uint32_t lost;
    uint32_t uuid_low;
    uint32_t checksum; /* of the payload as stored */
};

/**
 * tp_block_encoder_size - bytes of workspace that an encoder needs for blocks of up to @slots slots
 */
size_t tp_block_encoder_size(uint32_t slots);

struct tp_block_encoder;

/**
 * tp_block_encoder_init - make an encoder in @workspace (16-byte aligned, at least
 * tp_block_encoder_size bytes)
 *
 * Nothing is allocated, then or later: zstd works in the workspace too (a static context).
 * Return: the encoder (the workspace's start), or NULL when @size is too small.
 */
struct tp_block_encoder *tp_block_encoder_init(void *workspace, size_t size, uint32_t slots);

/* What a block is made of. */
struct tp_block_source {
    uint32_t track, uuid_low;
    uint64_t first_slot;   /* number of the first slot */
    const uint64_t *slots; /* as in a ring: records of known kinds, brief ones too, in order */
    const uint64_t *more;  /* and behind them, where a ring has gone around */
    uint32_t slot_count, more_count; /* together at most the encoder's */
    bool is_shared;                  /* others may write there meanwhile */
    uint32_t open_slots;
    const uint64_t *open; /* begin records of the ranges open before, outermost first */
    uint64_t near_ticks;  /* full ticks within 2^55 of the first record, for 56-bit times */
    uint64_t before[TP_SLOT_WORDS]; /* first slot of the record before, whole; zeros for none */
    unsigned flags;                 /* 0 or TP_BLOCK_RECOVERED */
};

/* A block that was made. */
struct tp_block_made {
    const void *bytes; /* header to padding, inside the workspace; valid until the next call */
    size_t size;
    uint32_t slots; /* taken: a record that is cut off at the end, or unknown, is left, and all
                       behind it */
    uint64_t last[TP_SLOT_WORDS]; /* what comes before the next block's first record */
    const uint64_t *ranges;       /* whole records, in order: all begins and ends, and others */
    uint32_t range_slots;
};

/**
 * tp_block_encode - encode records into a block
 *
 * Context: one caller at a time; no allocation, no system call.
 * Return: 0, -TP_ELIMIT (too many slots), -TP_ECORRUPT (there are slots, but none could be taken;
 * or an open record is cut or of no kind that stands in blocks).
 */
int tp_block_encode(struct tp_block_encoder *encoder, const struct tp_block_source *source,
                    struct tp_block_made *ret_made);

/**
 * tp_block_header_read - check and read a header
 * @bytes: @size bytes left in the file from here; @offset: where that is, for messages
 *
 * Checks magic, checksum, sizes against @size and the limits.
 * Return: 0, -TP_ETRUNCATED, -TP_EFOREIGN (no magic), -TP_ECORRUPT, -TP_ELIMIT.
 */
int tp_block_header_read(struct tp_block_header *header, const void *bytes, uint64_t size,
                         uint64_t offset, struct tp_diag *diag);

/** tp_block_stride - bytes from this block's start to the next one's */
uint64_t tp_block_stride(const struct tp_block_header *header);

/* A decoded block. The arrays belong to the decoder and live until its next block. Records that
 * were brief are whole: slot_count may be up to twice what the header says. */
struct tp_block {
    struct tp_block_header header;
    uint64_t *slots; /* records of known kinds, unknown ones left out */
    uint32_t slot_count;
    uint32_t record_count; /* known ones */
    uint32_t unknown_records;
    uint64_t *open; /* begin records open before the block, outermost first */
    uint32_t open_slots;
};

struct tp_block_decoder;

/** tp_block_decoder_create - heap object of about 1 MiB, grows to the largest block. Return: NULL
 * without memory. */
struct tp_block_decoder *tp_block_decoder_create(void);
void tp_block_decoder_destroy(struct tp_block_decoder *decoder);

/** tp_block_decoder_size - bytes of workspace of a decoder for the blocks of an encoder of @slots
 * slots */
size_t tp_block_decoder_size(uint32_t slots);

/**
 * tp_block_decoder_init - make a decoder in @workspace (16-byte aligned, tp_block_decoder_size
 * bytes)
 *
 * Nothing is allocated, then or later: a larger block is -ENOMEM. Not for tp_block_decoder_destroy.
 * Return: the decoder (the workspace's start), or NULL when @size is too small.
 */
struct tp_block_decoder *tp_block_decoder_init(void *workspace, size_t size, uint32_t slots);

/**
 * tp_block_decode - check and decode one events block
 * @bytes: the block's first byte, @size bytes left in the file, @offset: where that is
 *
 * Ticks in word 0 keep 56 bits; header.first_ticks extends them. Trusts no byte.
 * Context: offline; one decoder, one thread; several decoders in parallel.
 * Return: 0, or a negative code with @diag filled (offset inside the file).
 */
int tp_block_decode(struct tp_block_decoder *decoder, const void *bytes, uint64_t size,
                    uint64_t offset, struct tp_block *ret_block, struct tp_diag *diag);

#endif
