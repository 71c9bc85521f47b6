/* SPDX-License-Identifier: MIT */
#include "trace/file.h"

#include <string.h>

#include "trace/block_header.h"
#include "trace/losses.h"
#include "trace/wire.h"

static void write_header(uint8_t bytes[64], const char magic[8], uint16_t size,
                         const uint8_t uuid[16], uint32_t number)
{
    memset(bytes, 0, TP_FILE_HEADER_BYTES);
    memcpy(bytes, magic, 8);
    tp_wire_store_u16(bytes + 8, TP_FORMAT_MAJOR);
    tp_wire_store_u16(bytes + 10, TP_FORMAT_MINOR);
    tp_wire_store_u16(bytes + 12, size);
    memcpy(bytes + 16, uuid, 16);
    tp_wire_store_u32(bytes + 32, number);
    tp_wire_store_u32(bytes + 60, tp_block_checksum(bytes, 60));
}

void tp_file_header_write(uint8_t bytes[64], const char magic[8], const uint8_t uuid[16],
                          uint32_t number)
{
    write_header(bytes, magic, TP_FILE_HEADER_BYTES, uuid, number);
}

void tp_names_header_write(uint8_t bytes[64], const uint8_t uuid[16])
{
    write_header(bytes, TP_NAMES_MAGIC, TP_NAMES_HEADER_BYTES, uuid, 0);
}

size_t tp_index_size(uint32_t count)
{
    return TP_BLOCK_HEADER_BYTES + (size_t)count * TP_INDEX_ENTRY_BYTES + TP_TRAILER_BYTES;
}

static void put_entry(struct tp_wire_out *out, const struct tp_index_entry *entry)
{
    tp_wire_put_u64(out, entry->offset);
    tp_wire_put_u64(out, entry->first_slot);
    tp_wire_put_u64(out, entry->first_ticks);
    tp_wire_put_u64(out, entry->last_ticks);
    tp_wire_put_u32(out, entry->track);
    tp_wire_put_u32(out, entry->slots);
    tp_wire_put_u32(out, entry->lost);
    tp_wire_put_u32(out, 0);
}

int64_t tp_index_write(void *buffer, size_t size, const struct tp_index_entry *entries,
                       uint32_t count, uint64_t at, uint32_t uuid_low)
{
    uint8_t *bytes = buffer;
    struct tp_block_header header = {.type = TP_BLOCK_INDEX, .uuid_low = uuid_low};
    struct tp_wire_out out = {bytes + TP_BLOCK_HEADER_BYTES, bytes + size, false};

    if (size < tp_index_size(count))
        return -TP_EFULL;
    for (uint32_t i = 0; i < count; i++)
        put_entry(&out, &entries[i]);
    header.payload_bytes = count * TP_INDEX_ENTRY_BYTES;
    tp_block_header_write(bytes, &header, bytes + TP_BLOCK_HEADER_BYTES, header.payload_bytes);
    tp_wire_put_u64(&out, at);
    tp_wire_put_bytes(&out, TP_TRAILER_MAGIC, 8);
    return out.at - bytes;
}
