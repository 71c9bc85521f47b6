/* SPDX-License-Identifier: MIT */
#include "fuzz_trace.h"

#include <string.h>

#include "trace/block_header.h"
#include "trace/file.h"
#include "trace/wire.h"

void fuzz_seal_file(uint8_t *bytes, size_t size)
{
    if (size >= TP_FILE_HEADER_BYTES)
        tp_wire_store_u32(bytes + 60, tp_block_checksum(bytes, 60));
}

void fuzz_seal_block(uint8_t *bytes, size_t size)
{
    if (size < TP_BLOCK_HEADER_BYTES)
        return;
    size_t start = tp_wire_load_u16(bytes + 4), stored = tp_wire_load_u32(bytes + 8);
    if (start <= size && stored <= size - start)
        tp_wire_store_u32(bytes + 56, tp_block_checksum(bytes + start, stored));
    tp_wire_store_u32(bytes + 60, tp_block_checksum(bytes, 60));
}

uint32_t fuzz_check_records(const uint64_t *slots, uint32_t slot_count)
{
    uint32_t records = 0;

    for (uint32_t at = 0; at < slot_count; records++) {
        unsigned step = tp_kind_slots(tp_slot_kind(slots + (size_t)at * TP_SLOT_WORDS));
        FUZZ_CHECK(step && step <= slot_count - at);
        at += step;
    }
    return records;
}

static struct tp_block_encoder *get_encoder(void)
{
    static struct tp_block_encoder *encoder;
    size_t size = tp_block_encoder_size(TP_BLOCK_SLOTS_MAX);

    if (!encoder)
        encoder = tp_block_encoder_init(aligned_alloc(16, (size + 15) & ~(size_t)15), size,
                                        TP_BLOCK_SLOTS_MAX);
    FUZZ_CHECK(encoder);
    return encoder;
}

void fuzz_check_round_trip(const struct tp_block *block)
{
    static struct tp_block_decoder *decoder;
    struct tp_block again;
    const void *bytes;
    size_t size;

    if (!decoder)
        decoder = tp_block_decoder_create();
    if (block->slot_count > TP_BLOCK_SLOTS_MAX)
        return;
    FUZZ_CHECK(!tp_block_encode(get_encoder(), 1, 2, 3, block->slots, block->slot_count,
                                block->open, block->open_slots, block->header.first_ticks, 0,
                                &bytes, &size));
    FUZZ_CHECK(!tp_block_decode(decoder, bytes, size, 0, &again, NULL));
    FUZZ_CHECK(again.slot_count == block->slot_count && again.open_slots == block->open_slots);
    FUZZ_CHECK(!memcmp(again.slots, block->slots, (size_t)block->slot_count * TP_SLOT_BYTES));
    if (block->open_slots)
        FUZZ_CHECK(!memcmp(again.open, block->open, (size_t)block->open_slots * TP_SLOT_BYTES));
}
