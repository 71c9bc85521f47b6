/* SPDX-License-Identifier: MIT */
#include "trace/block_header.h"

#include "event/brief.h"
#include "trace/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t tp_block_checksum(const void *bytes, size_t size)
{
    return (uint32_t)XXH3_64bits(bytes, size);
}

void tp_block_header_write(uint8_t bytes[TP_BLOCK_HEADER_BYTES], struct tp_block_header *header,
                           const void *payload, uint32_t stored_bytes)
{
    header->header_size = TP_BLOCK_HEADER_BYTES;
    header->stored_bytes = stored_bytes;
    header->checksum = tp_block_checksum(payload, stored_bytes);
    tp_wire_store_u32(bytes, TP_BLOCK_MAGIC);
    tp_wire_store_u16(bytes + 4, header->header_size);
    bytes[6] = header->type;
    bytes[7] = header->flags;
    tp_wire_store_u32(bytes + 8, header->stored_bytes);
    tp_wire_store_u32(bytes + 12, header->payload_bytes);
    tp_wire_store_u32(bytes + 16, header->slots);
    tp_wire_store_u32(bytes + 20, header->track);
    tp_wire_store_u64(bytes + 24, header->first_slot);
    tp_wire_store_u64(bytes + 32, header->first_ticks);
    tp_wire_store_u64(bytes + 40, header->last_ticks);
    tp_wire_store_u32(bytes + 48, header->lost);
    tp_wire_store_u32(bytes + 52, header->uuid_low);
    tp_wire_store_u32(bytes + 56, header->checksum);
    tp_wire_store_u32(bytes + 60, tp_block_checksum(bytes, 60));
}

static void load(struct tp_block_header *header, const uint8_t *bytes)
{
    header->header_size = tp_wire_load_u16(bytes + 4);
    header->type = bytes[6];
    header->flags = bytes[7];
    header->stored_bytes = tp_wire_load_u32(bytes + 8);
    header->payload_bytes = tp_wire_load_u32(bytes + 12);
    header->slots = tp_wire_load_u32(bytes + 16);
    header->track = tp_wire_load_u32(bytes + 20);
    header->first_slot = tp_wire_load_u64(bytes + 24);
    header->first_ticks = tp_wire_load_u64(bytes + 32);
    header->last_ticks = tp_wire_load_u64(bytes + 40);
    header->lost = tp_wire_load_u32(bytes + 48);
    header->uuid_low = tp_wire_load_u32(bytes + 52);
    header->checksum = tp_wire_load_u32(bytes + 56);
}

/* The limits that bound a reader's memory and make every later sum of sizes fit. */
static int check_limits(const struct tp_block_header *header, uint64_t offset, struct tp_diag *diag)
{
    if (header->header_size < TP_BLOCK_HEADER_BYTES || header->header_size % 8)
        return tp_diag_fail(diag, -TP_ECORRUPT, offset + 4, "block header of %u bytes, expected %u",
                            header->header_size, TP_BLOCK_HEADER_BYTES);
    if (header->payload_bytes > TP_BLOCK_PAYLOAD_MAX || header->stored_bytes > TP_BLOCK_PAYLOAD_MAX)
        return tp_diag_fail(diag, -TP_ELIMIT, offset + 8,
                            "payload of %u bytes, stored as %u; the limit is %u",
                            header->payload_bytes, header->stored_bytes, TP_BLOCK_PAYLOAD_MAX);
    uint32_t slots_max =
        TP_BLOCK_SLOTS_READ_MAX / (header->flags & TP_BLOCK_BRIEF ? TP_BRIEF_WHOLE_SLOTS : 1);
    if (header->slots > slots_max)
        return tp_diag_fail(diag, -TP_ELIMIT, offset + 16, "block of %u slots; the limit is %u",
                            header->slots, slots_max);
    if (!(header->flags & TP_BLOCK_ZSTD) && header->stored_bytes != header->payload_bytes)
        return tp_diag_fail(diag, -TP_ECORRUPT, offset + 8,
                            "payload of %u bytes stored plainly as %u", header->payload_bytes,
                            header->stored_bytes);
    return 0;
}

int tp_block_header_parse(struct tp_block_header *header, const void *bytes, uint64_t size,
                          uint64_t offset, struct tp_diag *diag)
{
    struct tp_block_header found;

    if (size < TP_BLOCK_HEADER_BYTES)
        return tp_diag_fail(diag, -TP_ETRUNCATED, offset, "%llu bytes left, a block header has %u",
                            (unsigned long long)size, TP_BLOCK_HEADER_BYTES);
    uint32_t magic = tp_wire_load_u32(bytes);
    if (magic != TP_BLOCK_MAGIC)
        return tp_diag_fail(diag, -TP_EFOREIGN, offset, "no block here: magic %08x, expected %08x",
                            magic, TP_BLOCK_MAGIC);
    uint32_t expected = tp_block_checksum(bytes, 60),
             sum = tp_wire_load_u32((const uint8_t *)bytes + 60);
    if (sum != expected)
        return tp_diag_fail(diag, -TP_ECORRUPT, offset + 60,
                            "block header's checksum is %08x, expected %08x", sum, expected);
    load(&found, bytes);
    int error = check_limits(&found, offset, diag);
    if (!error)
        *header = found;
    return error;
}

int tp_block_header_read(struct tp_block_header *header, const void *bytes, uint64_t size,
                         uint64_t offset, struct tp_diag *diag)
{
    struct tp_block_header found;
    int error = tp_block_header_parse(&found, bytes, size, offset, diag);

    if (error)
        return error;
    uint64_t need = (uint64_t)found.header_size + found.stored_bytes;
    if (size < need)
        return tp_diag_fail(diag, -TP_ETRUNCATED, offset, "block of %llu bytes, %llu left",
                            (unsigned long long)need, (unsigned long long)size);
    *header = found;
    return 0;
}

uint64_t tp_block_stride(const struct tp_block_header *header)
{
    return ((uint64_t)header->header_size + header->stored_bytes + 7) & ~UINT64_C(7);
}
