/* SPDX-License-Identifier: MIT */
#include "trace/summary.h"

#include <string.h>

#include "trace/block_header.h"

static void put_signed(struct tp_wire_out *out, int64_t value)
{
    tp_wire_put_varint(out, tp_wire_zigzag((uint64_t)value));
}

static void put_record(struct tp_wire_out *out, const uint64_t *record)
{
    unsigned words = tp_kind_slots(tp_slot_kind(record)) * TP_SLOT_WORDS;

    for (unsigned i = 0; i < words; i++)
        tp_wire_put_u64(out, record[i]);
}

void tp_summary_put_totals(struct tp_wire_out *out, const struct tp_summary_totals *totals)
{
    const uint64_t values[] = {
        totals->segments,       totals->blocks,
        totals->slots,          totals->missing_segments,
        totals->missing_blocks, totals->missing_slots,
        totals->missing_ranges, totals->missing_records,
        totals->without_sketch, totals->crowded,
        totals->first_ticks,    totals->last_ticks,
        totals->ranges,         totals->folded,
        totals->filtered,       totals->ends_without_begin,
        totals->too_deep,       totals->lost_records,
        totals->device_memory,
    };
    unsigned kinds = 0;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        tp_wire_put_varint(out, values[i]);
    for (unsigned kind = 0; kind < TP_EVENT_KIND_END; kind++)
        kinds += totals->kinds[kind] != 0;
    tp_wire_put_varint(out, kinds);
    for (unsigned kind = 0; kind < TP_EVENT_KIND_END; kind++) {
        if (!totals->kinds[kind])
            continue;
        tp_wire_put_u8(out, (uint8_t)kind);
        tp_wire_put_varint(out, totals->kinds[kind]);
    }
    tp_wire_put_varint(out, totals->last.row);
    tp_wire_put_varint(out, totals->last.start);
    tp_wire_put_varint(out, totals->last.end);
    tp_wire_put_u8(out, totals->last.has_parent);
}

void tp_summary_put_row(struct tp_wire_out *out, const uint64_t *record,
                        const struct tp_summary_sums *sums, uint32_t bucket_count)
{
    put_record(out, record);
    tp_wire_put_varint(out, sums->count);
    tp_wire_put_varint(out, sums->ticks);
    put_signed(out, sums->self_ticks);
    put_signed(out, sums->memory);
    put_signed(out, sums->self_memory);
    put_signed(out, sums->device);
    put_signed(out, sums->self_device);
    tp_wire_put_varint(out, sums->least);
    tp_wire_put_varint(out, sums->most);
    tp_wire_put_varint(out, sums->first_start);
    tp_wire_put_varint(out, sums->first_end);
    tp_wire_put_u8(out, sums->has_parent);
    tp_wire_put_varint(out, bucket_count);
}

void tp_summary_put_bucket(struct tp_wire_out *out, uint32_t ascent, uint64_t count)
{
    tp_wire_put_varint(out, ascent);
    tp_wire_put_varint(out, count);
}

void tp_summary_put_track(struct tp_wire_out *out, const struct tp_summary_track *track)
{
    tp_wire_put_varint(out, track->track);
    tp_wire_put_varint(out, track->next_slot);
    tp_wire_put_varint(out, track->ticks);
    for (unsigned i = 0; i < 3; i++)
        tp_wire_put_varint(out, track->counters[i]);
    put_signed(out, track->device_bytes);
    tp_wire_put_u8(out, TP_CLASS_END);
    for (unsigned i = 0; i < TP_CLASS_END; i++)
        tp_wire_put_varint(out, track->skipped[i]);
    tp_wire_put_varint(out, track->frame_count);
}

static void put_kids(struct tp_wire_out *out, const struct tp_summary_kids *kids)
{
    tp_wire_put_varint(out, kids->ticks);
    put_signed(out, kids->memory);
    put_signed(out, kids->device);
    tp_wire_put_varint(out, kids->count);
}

void tp_summary_put_frame(struct tp_wire_out *out, const struct tp_summary_frame *frame)
{
    put_record(out, frame->record);
    tp_wire_put_varint(out, frame->start);
    put_signed(out, frame->device_start);
    put_kids(out, &frame->kids);
    tp_wire_put_u8(out, frame->has_held);
    if (!frame->has_held)
        return;
    put_record(out, frame->held.record);
    tp_wire_put_varint(out, frame->held.start);
    tp_wire_put_varint(out, frame->held.end);
    put_signed(out, frame->held.memory);
    put_signed(out, frame->held.device);
    put_kids(out, &frame->held.kids);
}

void tp_summary_put_half(struct tp_wire_out *out, const struct tp_summary_half *half)
{
    put_record(out, half->record);
    tp_wire_put_varint(out, half->ticks);
    tp_wire_put_varint(out, half->track);
}

void tp_summary_put_credit(struct tp_wire_out *out, uint32_t row,
                           const struct tp_summary_sums *sums)
{
    tp_wire_put_varint(out, row);
    tp_wire_put_varint(out, sums->work_ticks);
    tp_wire_put_varint(out, sums->own_work_ticks);
}

void tp_summary_put_path(struct tp_wire_out *out, const struct tp_summary_path *path)
{
    tp_wire_put_u8(out, (uint8_t)path->of);
    if (path->of == TP_SUMMARY_ENDED) {
        tp_wire_put_varint(out, path->parent);
        tp_wire_put_varint(out, path->row);
        return;
    }
    tp_wire_put_varint(out, path->track);
    tp_wire_put_varint(out, path->frame);
    tp_wire_put_varint(out, path->own_ticks);
    tp_wire_put_varint(out, path->below_ticks);
}

void tp_summary_put_call(struct tp_wire_out *out, uint32_t ascent, uint32_t path, bool saw_work)
{
    tp_wire_put_varint(out, ascent);
    tp_wire_put_varint(out, (uint64_t)path << 1 | saw_work);
}

void tp_summary_put_waiting(struct tp_wire_out *out, uint32_t ascent, uint64_t count,
                            uint64_t ticks)
{
    tp_wire_put_varint(out, ascent);
    tp_wire_put_varint(out, count);
    tp_wire_put_varint(out, ticks);
}

size_t tp_summary_seal(uint8_t *bytes, size_t size, const uint8_t uuid[16],
                       const struct tp_summary_totals *totals)
{
    uint8_t *payload = bytes + TP_SUMMARY_HEAD_BYTES;
    struct tp_block_header header = {
        .type = TP_BLOCK_SUMMARY,
        .payload_bytes = (uint32_t)size,
        .first_ticks = totals->first_ticks,
        .last_ticks = totals->last_ticks,
    };

    memcpy(&header.uuid_low, uuid, 4);
    tp_file_header_write(bytes, TP_SUMMARY_MAGIC, uuid, totals->first_segment);
    tp_block_header_write(bytes + TP_FILE_HEADER_BYTES, &header, payload, (uint32_t)size);
    memset(payload + size, 0, 7);
    return TP_FILE_HEADER_BYTES + tp_block_stride(&header);
}
