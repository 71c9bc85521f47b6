/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_BLOCK_HEADER_H
#define TP_TRACE_BLOCK_HEADER_H

/* What the writers of blocks (events, index) and the walk share. Private to trace/. */

#include "trace/block.h"

/**
 * tp_block_header_write - fill and seal a header
 * @header: header_size, checksum and stored_bytes are set here, the rest is the caller's
 * @payload: @stored_bytes bytes as stored
 */
void tp_block_header_write(uint8_t bytes[TP_BLOCK_HEADER_BYTES], struct tp_block_header *header,
                           const void *payload, uint32_t stored_bytes);

/**
 * tp_block_header_parse - as tp_block_header_read, but the block may reach beyond @size
 * Return: as tp_block_header_read; *header is set on 0.
 */
int tp_block_header_parse(struct tp_block_header *header, const void *bytes, uint64_t size,
                          uint64_t offset, struct tp_diag *diag);

uint32_t tp_block_checksum(const void *bytes, size_t size);

#endif
