/* SPDX-License-Identifier: MIT
 *
 * The block decoder. The first byte says what the rest is: a block with its own header (0), a
 * payload stored plainly (1) or compressed here (2), the last two with three bytes before it for
 * the number of slots. From 3 on the block has a section of allocations, from 6 on brief records.
 */
#include "fuzz_trace.h"

#include <string.h>

#include <zstd.h>

#include "trace/block_header.h"
#include "trace/wire.h"

static size_t as_block(uint8_t *bytes, size_t room, const uint8_t *data, size_t size, int compress,
                       unsigned flags)
{
    struct tp_block_header header = {.type = TP_BLOCK_EVENTS, .flags = (uint8_t)flags};
    size_t stored = size - 3;

    header.slots = tp_wire_load_u16(data) | (uint32_t)data[2] << 16;
    header.payload_bytes = (uint32_t)stored;
    if (compress) {
        header.flags |= TP_BLOCK_ZSTD;
        stored = ZSTD_compress(bytes + 64, room - 64, data + 3, stored, 1);
        FUZZ_CHECK(!ZSTD_isError(stored));
    } else {
        memcpy(bytes + 64, data + 3, stored);
    }
    tp_block_header_write(bytes, &header, bytes + 64, (uint32_t)stored);
    return 64 + stored;
}

static void decode(const uint8_t *bytes, size_t size)
{
    static struct tp_block_decoder *decoder;
    struct tp_block block;
    struct tp_diag diag = {0};
    uint8_t *copy = malloc(size + 1); /* its own allocation: a byte read behind it is seen */

    if (!decoder)
        decoder = tp_block_decoder_create();
    FUZZ_CHECK(decoder && copy);
    memcpy(copy, bytes, size);
    int error = tp_block_decode(decoder, copy, size, 0, &block, &diag);
    free(copy);
    FUZZ_CHECK(error == diag.code && error <= 0);
    if (error)
        return;
    FUZZ_CHECK(fuzz_check_records(block.slots, block.slot_count) == block.record_count);
    fuzz_check_records(block.open, block.open_slots);
    fuzz_check_round_trip(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned flags[3] = {0, TP_BLOCK_ALLOCATIONS,
                                      TP_BLOCK_ALLOCATIONS | TP_BLOCK_BRIEF};
    static uint8_t bytes[1 << 20];

    if (size < 4 || size > sizeof(bytes) / 2)
        return 0;
    if (data[0] % 3) {
        size = as_block(bytes, sizeof(bytes), data + 1, size - 1, data[0] % 3 == 2,
                        flags[data[0] / 3 % 3]);
    } else {
        size--;
        memcpy(bytes, data + 1, size);
        fuzz_seal_block(bytes, size);
    }
    decode(bytes, size);
    return 0;
}
