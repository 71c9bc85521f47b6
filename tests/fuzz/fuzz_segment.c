/* SPDX-License-Identifier: MIT
 *
 * A segment: its header, the walk over its blocks, each block, the index. The first byte says
 * whether all headers get good checksums (bit 0) and a good file header comes before (bit 1).
 */
#include "fuzz_trace.h"

#include <string.h>

#include "trace/file.h"
#include "trace/wire.h"

static void walk(const uint8_t *bytes, size_t size, const struct tp_file_header *header)
{
    static struct tp_block_decoder *decoder;
    struct tp_file_walk walk;
    struct tp_block_header block_header;
    struct tp_block block;
    struct tp_diag diag = {0};
    uint64_t at, before = 0;
    size_t steps = 0;
    int got;

    if (!decoder)
        decoder = tp_block_decoder_create();
    tp_file_walk_init(&walk, bytes, size, header);
    while ((got = tp_file_walk_next(&walk, &block_header, &at, &diag))) {
        FUZZ_CHECK(steps++ <= size && walk.at > before);
        before = walk.at;
        if (got < 0) {
            FUZZ_CHECK(diag.code == got);
            continue;
        }
        FUZZ_CHECK(at >= header->header_size && at + 64 <= size &&
                   at % 8 == header->header_size % 8);
        if (block_header.type == TP_BLOCK_EVENTS &&
            !tp_block_decode(decoder, bytes + at, size - at, at, &block, &diag))
            fuzz_check_records(block.slots, block.slot_count);
    }
    FUZZ_CHECK(walk.skipped_bytes <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t uuid[16] = {1, 2, 3, 4};
    struct tp_file_header header;
    struct tp_index_entry entries[8];
    struct tp_diag diag = {0};

    if (size < 1)
        return 0;
    size_t before = data[0] & 2 ? TP_FILE_HEADER_BYTES : 0, total = before + size - 1;
    uint8_t *bytes = malloc(total + 1);
    memcpy(bytes + before, data + 1, size - 1);
    if (before)
        tp_file_header_write(bytes, TP_FILE_MAGIC, uuid, 1);
    if (data[0] & 1) {
        fuzz_seal_file(bytes, total);
        for (size_t at = TP_FILE_HEADER_BYTES; at + 4 <= total; at += 8)
            if (tp_wire_load_u32(bytes + at) == TP_BLOCK_MAGIC)
                fuzz_seal_block(bytes + at, total - at);
    }
    if (!tp_file_header_read(&header, bytes, total, TP_FILE_MAGIC, &diag)) {
        walk(bytes, total, &header);
        tp_index_read(entries, 8, bytes, total, &header, &diag);
    }
    free(bytes);
    return 0;
}
