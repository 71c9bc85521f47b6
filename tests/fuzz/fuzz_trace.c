/* SPDX-License-Identifier: MIT */
#include "fuzz_trace.h"

#include <string.h>

#include "event/brief.h"
#include "ring/ring.h"
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

/* Encodes, decodes, and finds @slots as the records and what was open. */
static void check(const struct tp_block_source *source, const uint64_t *slots, uint32_t slot_count)
{
    static struct tp_block_decoder *decoder;
    struct tp_block_made made;
    struct tp_block block;

    if (!decoder)
        decoder = tp_block_decoder_create();
    FUZZ_CHECK(!tp_block_encode(get_encoder(), source, &made));
    FUZZ_CHECK(made.slots == source->slot_count);
    FUZZ_CHECK(!tp_block_decode(decoder, made.bytes, made.size, 0, &block, NULL));
    FUZZ_CHECK(block.slot_count == slot_count && block.open_slots == source->open_slots);
    FUZZ_CHECK(!memcmp(block.slots, slots, (size_t)slot_count * TP_SLOT_BYTES));
    if (block.open_slots)
        FUZZ_CHECK(!memcmp(block.open, source->open, (size_t)block.open_slots * TP_SLOT_BYTES));
}

void fuzz_check_round_trip(const struct tp_block *block)
{
    struct tp_block_source source = {.slots = block->slots,
                                     .slot_count = block->slot_count,
                                     .open = block->open,
                                     .open_slots = block->open_slots,
                                     .near_ticks = block->header.first_ticks};

    if (block->slot_count <= TP_BLOCK_SLOTS_MAX)
        check(&source, block->slots, block->slot_count);
}

void fuzz_check_ring_records(const uint64_t *slots, uint32_t slot_count)
{
    static uint64_t whole[TP_BRIEF_WHOLE_SLOTS * TP_RING_SLOTS_MIN * TP_SLOT_WORDS];
    struct tp_block_source source = {.slots = slots, .slot_count = slot_count};
    const uint64_t *before = source.before;
    uint32_t used = 0;

    tp_brief_before(slots, slot_count, source.before);
    for (uint32_t at = 0, step; at < slot_count; at += step) {
        const uint64_t *record = slots + (size_t)at * TP_SLOT_WORDS;
        uint64_t *to = whole + (size_t)used * TP_SLOT_WORDS;
        step = tp_kind_slots(tp_slot_kind(record));
        if (tp_is_brief(tp_slot_kind(record)))
            tp_brief_expand(record, before, to);
        else
            memcpy(to, record, step * TP_SLOT_BYTES);
        used += tp_kind_slots(tp_slot_kind(to));
        before = to;
    }
    check(&source, whole, used);
}
