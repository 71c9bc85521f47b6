/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_BLOCK_H
#define TP_TRACE_BLOCK_H

/*
 * A block: records of one track and one stretch of slot numbers, as columns, compressed,
 * checksummed, readable alone. Encoder and decoder do not know each other; both obey format.md.
 * Both work in the caller's memory.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "event/event.h"

#define TP_BLOCK_MAGIC 0x31425054u /* "TPB1" */
#define TP_BLOCK_HEADER_BYTES 64u
#define TP_BLOCK_SLOTS_MAX (64u << 10)     /* a writer makes no larger block */
#define TP_BLOCK_SLOTS_READ_MAX (1u << 20) /* a reader refuses larger ones */
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

/**
 * tp_block_encode - encode whole records into a block
 * @track, @uuid_low: for the header
 * @first_slot:  number of the first slot
 * @slots:       @slot_count slots, whole records of known kinds, in order; @slot_count <= the
 * encoder's slots
 * @open:        begin records of the ranges open before @slots, outermost first, @open_slots slots
 * in all
 * @near_ticks:  a full tick count within 2^55 of the first record, from which 56-bit times are
 * extended
 * @flags:       0 or TP_BLOCK_RECOVERED
 * @ret_bytes, @ret_size: the finished block, header to padding, inside the workspace; valid until
 * the next call
 *
 * Context: one caller at a time; no allocation, no system call.
 * Return: 0, -TP_ELIMIT (too many slots), -TP_ECORRUPT (a record of unknown kind or a cut one).
 */
int tp_block_encode(struct tp_block_encoder *encoder, uint32_t track, uint32_t uuid_low,
                    uint64_t first_slot, const uint64_t *slots, uint32_t slot_count,
                    const uint64_t *open, uint32_t open_slots, uint64_t near_ticks, unsigned flags,
                    const void **ret_bytes, size_t *ret_size);

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

/* A decoded block. The arrays belong to the decoder and live until its next block. */
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
