/* SPDX-License-Identifier: MIT */
#include "trace/file.h"

#include <string.h>

#include "trace/block_header.h"
#include "trace/wire.h"

int tp_file_header_read(struct tp_file_header *header, const void *bytes, uint64_t size,
                        const char magic[8], struct tp_diag *diag)
{
    const uint8_t *p = bytes;

    if (size >= 8 && memcmp(p, magic, 8))
        return tp_diag_fail(diag, -TP_EFOREIGN, 0,
                            "begins with %016llx, expected %016llx (\"%.*s\")",
                            (unsigned long long)be64toh(tp_wire_load_u64(p)),
                            (unsigned long long)be64toh(tp_wire_load_u64(magic)), 7, magic);
    if (size < TP_FILE_HEADER_BYTES)
        return tp_diag_fail(diag, -TP_ETRUNCATED, 0, "file of %llu bytes, a header has %u",
                            (unsigned long long)size, TP_FILE_HEADER_BYTES);
    uint32_t expected = tp_block_checksum(p, 60), sum = tp_wire_load_u32(p + 60);
    if (sum != expected)
        return tp_diag_fail(diag, -TP_ECORRUPT, 60, "file header's checksum is %08x, expected %08x",
                            sum, expected);
    struct tp_file_header found = {
        .major = tp_wire_load_u16(p + 8),
        .minor = tp_wire_load_u16(p + 10),
        .header_size = tp_wire_load_u16(p + 12),
        .flags = tp_wire_load_u16(p + 14),
        .number = tp_wire_load_u32(p + 32),
    };
    memcpy(found.uuid, p + 16, sizeof(found.uuid));
    if (found.major != TP_FORMAT_MAJOR)
        return tp_diag_fail(diag, -TP_EVERSION, 8, "format version %u.%u, this reader knows %u.x",
                            found.major, found.minor, TP_FORMAT_MAJOR);
    if (found.header_size < TP_FILE_HEADER_BYTES || found.header_size % 8)
        return tp_diag_fail(diag, -TP_ECORRUPT, 12, "file header of %u bytes, expected %u",
                            found.header_size, TP_FILE_HEADER_BYTES);
    if (found.header_size > size)
        return tp_diag_fail(diag, -TP_ETRUNCATED, 12, "file of %llu bytes, its header has %u",
                            (unsigned long long)size, found.header_size);
    *header = found;
    return 0;
}

void tp_file_walk_init(struct tp_file_walk *walk, const void *bytes, uint64_t size,
                       const struct tp_file_header *header)
{
    *walk = (struct tp_file_walk){
        .bytes = bytes,
        .size = size,
        .at = header->header_size < size ? header->header_size : size,
        .uuid_low = tp_wire_load_u32(header->uuid),
    };
}

static bool at_trailer(const struct tp_file_walk *walk)
{
    return walk->size - walk->at == TP_TRAILER_BYTES &&
           !memcmp(walk->bytes + walk->at + 8, TP_TRAILER_MAGIC, 8);
}

/* Is there a good header of this file's at @at? (Its block may be cut.) */
static int look_at(const struct tp_file_walk *walk, uint64_t at, struct tp_block_header *ret_header,
                   struct tp_diag *diag)
{
    int error = tp_block_header_parse(ret_header, walk->bytes + at, walk->size - at, at, diag);

    if (!error && ret_header->uuid_low != walk->uuid_low)
        return tp_diag_fail(diag, -TP_EFOREIGN, at + 52,
                            "block of another process: uuid %08x, expected %08x",
                            ret_header->uuid_low, walk->uuid_low);
    return error;
}

static bool fits(const struct tp_file_walk *walk, uint64_t at, const struct tp_block_header *header)
{
    return (uint64_t)header->header_size + header->stored_bytes <= walk->size - at;
}

/* The next place from @at on with a whole block, or the end of the bytes. */
static uint64_t search(const struct tp_file_walk *walk, uint64_t at)
{
    struct tp_block_header header;

    for (; at < walk->size && walk->size - at >= TP_BLOCK_HEADER_BYTES; at += 8)
        if (tp_wire_load_u32(walk->bytes + at) == TP_BLOCK_MAGIC &&
            !look_at(walk, at, &header, NULL) && fits(walk, at, &header))
            return at;
    return walk->size;
}

/* The bytes at walk->at are no whole block: @error says why. */
static int pass_damage(struct tp_file_walk *walk, int error, bool cut, uint64_t from)
{
    uint64_t found = search(walk, from);

    if (found == walk->size && cut)
        walk->torn = true;
    else
        walk->damaged++;
    if (found != walk->size || !cut)
        walk->skipped_bytes += found - walk->at;
    walk->at = found;
    return error;
}

int tp_file_walk_next(struct tp_file_walk *walk, struct tp_block_header *ret_header,
                      uint64_t *ret_offset, struct tp_diag *diag)
{
    struct tp_block_header header;
    uint64_t at = walk->at;

    if (at >= walk->size)
        return 0;
    if (at_trailer(walk)) {
        walk->at = walk->size;
        return 0;
    }
    int error = look_at(walk, at, &header, diag);
    if (error == -TP_ETRUNCATED)
        return pass_damage(walk, error, true, walk->size);
    if (error) {
        bool foreign =
            error == -TP_EFOREIGN && tp_wire_load_u32(walk->bytes + at) == TP_BLOCK_MAGIC;
        bool whole = foreign && fits(walk, at, &header);
        return pass_damage(walk, error, false, at + (whole ? tp_block_stride(&header) : 8));
    }
    if (!fits(walk, at, &header)) {
        error = tp_block_header_read(&header, walk->bytes + at, walk->size - at, at, diag);
        return pass_damage(walk, error, true, at + 8);
    }
    *ret_header = header;
    *ret_offset = at;
    walk->at = at + tp_block_stride(&header);
    return 1;
}

int64_t tp_index_read(struct tp_index_entry *entries, uint32_t count, const void *bytes,
                      uint64_t size, const struct tp_file_header *header, struct tp_diag *diag)
{
    const uint8_t *p = bytes;
    struct tp_block_header block;

    if (size < TP_FILE_HEADER_BYTES + TP_TRAILER_BYTES || memcmp(p + size - 8, TP_TRAILER_MAGIC, 8))
        return tp_diag_fail(diag, -TP_ENOTFOUND, size, "no trailer: the segment was not closed");
    uint64_t trailer = size - TP_TRAILER_BYTES, at = tp_wire_load_u64(p + trailer);
    if (at < header->header_size || at >= trailer)
        return tp_diag_fail(diag, -TP_ECORRUPT, trailer, "index at byte %llu of %llu",
                            (unsigned long long)at, (unsigned long long)size);
    int error = tp_block_header_read(&block, p + at, trailer - at, at, diag);
    if (error)
        return error;
    const uint8_t *entry = p + at + block.header_size;
    if (block.type != TP_BLOCK_INDEX || block.flags & TP_BLOCK_ZSTD ||
        block.stored_bytes % TP_INDEX_ENTRY_BYTES ||
        block.uuid_low != tp_wire_load_u32(header->uuid) ||
        block.checksum != tp_block_checksum(entry, block.stored_bytes))
        return tp_diag_fail(diag, -TP_ECORRUPT, at, "index is damaged");
    uint32_t have = block.stored_bytes / TP_INDEX_ENTRY_BYTES;
    for (uint32_t i = 0; i < have && i < count; i++, entry += TP_INDEX_ENTRY_BYTES)
        entries[i] = (struct tp_index_entry){
            .offset = tp_wire_load_u64(entry),
            .first_slot = tp_wire_load_u64(entry + 8),
            .first_ticks = tp_wire_load_u64(entry + 16),
            .last_ticks = tp_wire_load_u64(entry + 24),
            .track = tp_wire_load_u32(entry + 32),
            .slots = tp_wire_load_u32(entry + 36),
            .lost = tp_wire_load_u32(entry + 40),
        };
    return have;
}
