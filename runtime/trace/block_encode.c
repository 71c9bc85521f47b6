/* SPDX-License-Identifier: MIT */
#include "trace/block.h"

#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "trace/block_header.h"
#include "trace/wire.h"

/*
 * A block's payload is two sections of the same form, the ranges open before it and its records. A
 * section is surveyed once (offsets, kinds, counts), then each group takes its records' words
 * together to see which bits ever differ: columns that are all zero are left out, equal ones are
 * constants, and only the rest is gathered into a column of 64-bit values and put. All sizes follow
 * from the table, so that the workspace, made for the worst payload, never overflows; the puts are
 * bounded all the same.
 */

#define LEVEL 1
#define RECORD_SLOTS_MAX 4
#define RECORD_WORDS_MAX (RECORD_SLOTS_MAX * TP_SLOT_WORDS)

#define TP_KIND(id, NAME, name, slots, role, class_, since, help)                                  \
    _Static_assert(slots <= RECORD_SLOTS_MAX && id < 128,                                          \
                   "survey, group and counts are made for this");
#include "event/event_kinds.def"

struct fields {
    const struct tp_field_info *first;
    uint32_t count;
};

struct tp_block_encoder {
    uint32_t slots_max;
    size_t payload_size; /* capacity */
    uint8_t *payload;
    uint8_t *block;   /* header, then room for payload_size bytes and padding */
    uint64_t *values; /* of one column */
    uint32_t *at;     /* first slot of each record, in record order */
    uint32_t *sorted; /* the same, kind by kind */
    ZSTD_CCtx *zstd;
    struct fields fields[TP_EVENT_KIND_END];
};

/* Records of one kind, or all of them. */
struct group {
    const uint64_t *slots;
    const uint32_t *at;
    uint32_t count;
    uint64_t any[RECORD_WORDS_MAX];    /* bits that some record has */
    uint64_t differ[RECORD_WORDS_MAX]; /* bits that not all records share */
};

struct column {
    const uint64_t *values;
    uint32_t count;
    uint64_t any;
    unsigned shift; /* zero bits at the low end of all values */
};

static size_t align16(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

/* The most bytes a value can take in any encoding that is chosen for its field. */
static size_t field_worst(const struct tp_field_info *field)
{
    return (field->bits + 7u) / 7u;
}

static size_t fields_worst(unsigned kind)
{
    size_t sum = 0;

    for (unsigned i = 0; i < tp_field_count; i++)
        if (tp_fields[i].kind == kind)
            sum += field_worst(&tp_fields[i]);
    return sum;
}

static size_t payload_worst(uint32_t slots)
{
    size_t all = fields_worst(TP_EVENT_ALL), most = 0;

    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++) {
        size_t per_slot =
            tp_kind_slots(kind) ? (all + fields_worst(kind)) / tp_kind_slots(kind) + 1 : 0;
        most = per_slot > most ? per_slot : most;
    }
    return most * slots + 64 * tp_field_count + 256;
}

static size_t total_slots(uint32_t slots)
{
    return (size_t)slots + TP_BLOCK_OPEN_MAX;
}

static uint32_t section_slots(uint32_t slots)
{
    return slots > TP_BLOCK_OPEN_MAX ? slots : TP_BLOCK_OPEN_MAX;
}

static size_t block_room(size_t payload)
{
    return TP_BLOCK_HEADER_BYTES + payload + 8;
}

size_t tp_block_encoder_size(uint32_t slots)
{
    size_t payload = payload_worst(total_slots(slots));
    size_t most = section_slots(slots);

    return align16(sizeof(struct tp_block_encoder)) + align16(payload) +
           align16(block_room(payload)) + align16(most * sizeof(uint64_t)) +
           2 * align16(most * sizeof(uint32_t)) + align16(ZSTD_estimateCCtxSize(LEVEL));
}

static void *take(uint8_t **at, size_t size)
{
    void *room = *at;

    *at += align16(size);
    return room;
}

static void list_fields(struct fields fields[TP_EVENT_KIND_END])
{
    for (unsigned i = tp_field_count; i-- > 0;) {
        fields[tp_fields[i].kind].first = &tp_fields[i];
        fields[tp_fields[i].kind].count++;
    }
}

struct tp_block_encoder *tp_block_encoder_init(void *workspace, size_t size, uint32_t slots)
{
    uint8_t *at = workspace;
    size_t most = section_slots(slots);

    if (slots > TP_BLOCK_SLOTS_MAX || size < tp_block_encoder_size(slots) ||
        (uintptr_t)workspace % 16)
        return NULL;
    struct tp_block_encoder *encoder = take(&at, sizeof(*encoder));
    memset(encoder, 0, sizeof(*encoder));
    encoder->slots_max = slots;
    encoder->payload_size = payload_worst(total_slots(slots));
    encoder->payload = take(&at, encoder->payload_size);
    encoder->block = take(&at, block_room(encoder->payload_size));
    encoder->values = take(&at, most * sizeof(uint64_t));
    encoder->at = take(&at, most * sizeof(uint32_t));
    encoder->sorted = take(&at, most * sizeof(uint32_t));
    size_t left = size - (size_t)(at - (uint8_t *)workspace);
    encoder->zstd = ZSTD_initStaticCCtx(at, left & ~(size_t)15);
    list_fields(encoder->fields);
    return encoder->zstd ? encoder : NULL;
}

/* Columns: each put appends encoding and data; the caller adds the id before and the size between.
 */

static void put_values(struct tp_wire_out *out, const uint64_t *values, uint32_t count,
                       unsigned shift, size_t worst)
{
    if (tp_wire_room(out) < worst * count + 2)
        out->full = true;
    else
        out->at = tp_wire_put_varints(out->at, values, count, shift);
}

static void put_raw(struct tp_wire_out *out, const uint64_t *values, uint32_t count, unsigned width)
{
    if (tp_wire_room(out) < (size_t)width * count + 8) {
        out->full = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        tp_wire_store_u64(out->at, values[i]);
        out->at += width;
    }
}

static void put_planes(struct tp_wire_out *out, const uint64_t *values, uint32_t count,
                       unsigned shift, unsigned width)
{
    if (tp_wire_room(out) < (size_t)width * count) {
        out->full = true;
        return;
    }
    for (unsigned plane = 0; plane < width; plane++) {
        for (uint32_t i = 0; i < count; i++)
            out->at[i] = (uint8_t)(values[i] >> shift >> 8 * plane);
        out->at += count;
    }
}

static unsigned width_of(uint64_t any)
{
    return any ? (71u - (unsigned)__builtin_clzll(any)) / 8 : 0;
}

static uint32_t count_runs(const uint64_t *values, uint32_t count)
{
    uint32_t runs = 1;

    for (uint32_t i = 1; i < count; i++)
        runs += values[i] != values[i - 1];
    return runs;
}

static void put_runs(struct tp_wire_out *out, const uint64_t *values, uint32_t count)
{
    for (uint32_t i = 0, start = 0; i < count; start = i) {
        while (i < count && values[i] == values[start])
            i++;
        tp_wire_put_varint(out, values[start]);
        tp_wire_put_varint(out, i - start);
    }
}

/* In place: each value becomes the zigzag of its difference to the one before. Returns the bits
 * that some have. */
static uint64_t take_differences(uint64_t *values, uint32_t count, unsigned shift)
{
    uint64_t before = 0, any = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = values[i] >> shift;
        values[i] = tp_wire_zigzag(value - before);
        before = value;
        if (i)
            any |= values[i];
    }
    return any;
}

static unsigned choose(unsigned wish, const uint64_t *values, uint32_t count)
{
    if (wish == TP_ENCODING_RUNS && count_runs(values, count) > count / 4)
        return TP_ENCODING_RAW;
    return wish;
}

static void put_data(struct tp_wire_out *out, const struct tp_field_info *field, uint64_t *values,
                     uint32_t count, uint64_t any, unsigned encoding)
{
    unsigned shift = (unsigned)__builtin_ctzll(any);

    switch (encoding) {
    case TP_ENCODING_VARINT:
        tp_wire_put_u8(out, (uint8_t)shift);
        put_values(out, values, count, shift, field_worst(field));
        break;
    case TP_ENCODING_DELTA:
        tp_wire_put_u8(out, (uint8_t)shift);
        take_differences(values, count, shift);
        put_values(out, values, count, 0, field_worst(field));
        break;
    case TP_ENCODING_RUNS:
        put_runs(out, values, count);
        break;
    case TP_ENCODING_RAW:
        tp_wire_put_u8(out, (uint8_t)width_of(any));
        put_raw(out, values, count, width_of(any));
        break;
    case TP_ENCODING_PLANES:
        tp_wire_put_u8(out, (uint8_t)shift);
        tp_wire_put_u8(out, (uint8_t)width_of(any >> shift));
        put_planes(out, values, count, shift, width_of(any >> shift));
        break;
    case TP_ENCODING_PLANES_DELTA: {
        tp_wire_put_varint(out, values[0]);
        unsigned width = width_of(take_differences(values, count, 0));
        tp_wire_put_u8(out, (uint8_t)width);
        put_planes(out, values + 1, count - 1, 0, width);
        break;
    }
    default: /* a table row with an encoding that no writer uses */
        out->full = true;
    }
}

/* Puts the column's data first and moves it to make room for its size: shorter than a size of fixed
 * width. */
static void put_column(struct tp_wire_out *out, const struct tp_field_info *field, uint64_t *values,
                       uint32_t count, uint64_t any, unsigned encoding)
{
    tp_wire_put_u8(out, field->column);
    tp_wire_put_u8(out, (uint8_t)encoding);
    uint8_t *data = out->at;
    if (encoding == TP_ENCODING_CONST)
        tp_wire_put_varint(out, values[0]);
    else
        put_data(out, field, values, count, any, encoding);
    size_t size = (size_t)(out->at - data);
    struct tp_wire_out length = {data, out->end, out->full};
    uint8_t bytes[TP_VARINT_BYTES];
    struct tp_wire_out measure = {bytes, bytes + sizeof(bytes), false};
    tp_wire_put_varint(&measure, size);
    size_t length_size = (size_t)(measure.at - bytes);
    if (tp_wire_room(out) < length_size) {
        out->full = true;
        return;
    }
    memmove(data + length_size, data, size);
    tp_wire_put_bytes(&length, bytes, length_size);
    out->at += length_size;
}

static inline __attribute__((always_inline)) void look_at_words(struct group *group, unsigned words)
{
    const uint64_t *first = group->slots + (size_t)group->at[0] * TP_SLOT_WORDS;
    uint64_t any[RECORD_WORDS_MAX] = {0}, differ[RECORD_WORDS_MAX] = {0};

    for (uint32_t i = 0; i < group->count; i++) {
        const uint64_t *record = group->slots + (size_t)group->at[i] * TP_SLOT_WORDS;
        for (unsigned w = 0; w < words; w++) {
            any[w] |= record[w];
            differ[w] |= record[w] ^ first[w];
        }
    }
    memcpy(group->any, any, sizeof(any));
    memcpy(group->differ, differ, sizeof(differ));
}

static void look(struct group *group, unsigned words)
{
    switch (words) {
    case 4:
        look_at_words(group, 4);
        break;
    case 8:
        look_at_words(group, 8);
        break;
    default:
        look_at_words(group, words);
    }
}

static uint64_t field_mask(const struct tp_field_info *field)
{
    return field->bits < 64 ? (UINT64_C(1) << field->bits) - 1 : UINT64_MAX;
}

static void gather(uint64_t *values, const struct group *group, const struct tp_field_info *field,
                   uint32_t count)
{
    const uint64_t *words = group->slots + field->word;
    uint64_t mask = field_mask(field);
    unsigned shift = field->shift;

    for (uint32_t i = 0; i < count; i++)
        values[i] = words[(size_t)group->at[i] * TP_SLOT_WORDS] >> shift & mask;
}

/* One group; @words: of its records, as far as its columns reach. Puts nothing when all its columns
 * are zero. */
static bool put_group(struct tp_block_encoder *encoder, struct tp_wire_out *out,
                      struct group *group, unsigned kind, unsigned words)
{
    const struct fields *fields = &encoder->fields[kind];
    struct tp_wire_out before = *out;
    uint8_t *columns;

    if (group->count)
        look(group, words);
    tp_wire_put_u8(out, (uint8_t)kind);
    tp_wire_put_varint(out, group->count);
    columns = out->at;
    tp_wire_put_u8(out, 0);
    for (uint32_t i = 0; i < fields->count && group->count; i++) {
        const struct tp_field_info *field = &fields->first[i];
        uint64_t mask = field_mask(field);
        uint64_t any = group->any[field->word] >> field->shift & mask;
        bool equal = !(group->differ[field->word] >> field->shift & mask);
        if (!any)
            continue;
        gather(encoder->values, group, field, equal ? 1 : group->count);
        unsigned encoding =
            equal ? TP_ENCODING_CONST : choose(field->encoding, encoder->values, group->count);
        put_column(out, field, encoder->values, group->count, any, encoding);
        if (!out->full)
            (*columns)++;
    }
    if (kind != TP_EVENT_ALL && !out->full && !*columns) {
        *out = before;
        return false;
    }
    return true;
}

struct survey {
    uint32_t records;
    uint32_t counts[TP_EVENT_KIND_END];
};

static int survey_records(struct survey *survey, uint32_t *at, const uint64_t *slots,
                          uint32_t slot_count)
{
    memset(survey, 0, sizeof(*survey));
    for (uint32_t slot = 0; slot < slot_count;) {
        unsigned kind = tp_slot_kind(slots + (size_t)slot * TP_SLOT_WORDS);
        unsigned step = tp_kind_slots(kind);
        if (!step || step > slot_count - slot)
            return -TP_ECORRUPT;
        at[survey->records++] = slot;
        survey->counts[kind]++;
        slot += step;
    }
    return 0;
}

static void sort_by_kind(uint32_t *sorted, uint32_t starts[TP_EVENT_KIND_END],
                         const struct survey *survey, const uint32_t *at, const uint64_t *slots)
{
    uint32_t next[TP_EVENT_KIND_END];
    uint32_t sum = 0;

    for (unsigned kind = 0; kind < TP_EVENT_KIND_END; kind++) {
        starts[kind] = next[kind] = sum;
        sum += survey->counts[kind];
    }
    for (uint32_t i = 0; i < survey->records; i++)
        sorted[next[tp_slot_kind(slots + (size_t)at[i] * TP_SLOT_WORDS)]++] = at[i];
}

static int put_section(struct tp_block_encoder *encoder, struct tp_wire_out *out,
                       const uint64_t *slots, uint32_t slot_count)
{
    struct survey survey;
    struct group group = {.slots = slots, .at = encoder->at};
    uint32_t starts[TP_EVENT_KIND_END];

    if (survey_records(&survey, encoder->at, slots, slot_count))
        return -TP_ECORRUPT;
    group.count = survey.records;
    tp_wire_put_varint(out, survey.records);
    uint8_t *groups = out->at;
    tp_wire_put_u8(out, 0);
    unsigned group_count = put_group(encoder, out, &group, TP_EVENT_ALL, TP_SLOT_WORDS);
    sort_by_kind(encoder->sorted, starts, &survey, encoder->at, slots);
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++) {
        if (!survey.counts[kind] || !encoder->fields[kind].count)
            continue;
        group.at = encoder->sorted + starts[kind];
        group.count = survey.counts[kind];
        group_count += put_group(encoder, out, &group, kind, tp_kind_slots(kind) * TP_SLOT_WORDS);
    }
    if (out->full)
        return -TP_ELIMIT;
    *groups = (uint8_t)group_count;
    return 0;
}

/* First and latest time, extended to 64 bits, and what was lost. The survey has checked the
 * records. */
static void sum_up(struct tp_block_header *header, const uint64_t *slots, uint32_t slot_count,
                   uint64_t near_ticks)
{
    uint64_t ticks = slot_count ? tp_ticks_unwrap(tp_slot_ticks(slots), near_ticks) : near_ticks;
    uint64_t lost = 0;

    header->first_ticks = header->last_ticks = ticks;
    for (uint32_t slot = 0; slot < slot_count;) {
        const uint64_t *record = slots + (size_t)slot * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record);
        ticks = tp_ticks_unwrap(tp_slot_ticks(record), ticks);
        if ((int64_t)(ticks - header->last_ticks) > 0)
            header->last_ticks = ticks;
        if (kind == TP_EVENT_LOST)
            lost = lost + record[4] < lost ? UINT64_MAX : lost + record[4];
        slot += tp_kind_slots(kind);
    }
    header->lost = lost > UINT32_MAX ? UINT32_MAX : (uint32_t)lost;
}

/* Compresses where that helps. Returns the bytes stored. */
static uint32_t store_payload(struct tp_block_encoder *encoder, struct tp_block_header *header)
{
    uint8_t *stored = encoder->block + TP_BLOCK_HEADER_BYTES;
    size_t size = ZSTD_compressCCtx(encoder->zstd, stored, encoder->payload_size, encoder->payload,
                                    header->payload_bytes, LEVEL);

    if (!ZSTD_isError(size) && size < header->payload_bytes) {
        header->flags |= TP_BLOCK_ZSTD;
        return (uint32_t)size;
    }
    memcpy(stored, encoder->payload, header->payload_bytes);
    return header->payload_bytes;
}

int tp_block_encode(struct tp_block_encoder *encoder, uint32_t track, uint32_t uuid_low,
                    uint64_t first_slot, const uint64_t *slots, uint32_t slot_count,
                    const uint64_t *open, uint32_t open_slots, uint64_t near_ticks, unsigned flags,
                    const void **ret_bytes, size_t *ret_size)
{
    struct tp_block_header header = {
        .type = TP_BLOCK_EVENTS,
        .flags = (uint8_t)(flags & TP_BLOCK_RECOVERED),
        .slots = slot_count,
        .track = track,
        .first_slot = first_slot,
        .uuid_low = uuid_low,
    };
    struct tp_wire_out out = {encoder->payload, encoder->payload + encoder->payload_size, false};

    if (slot_count > encoder->slots_max || open_slots > TP_BLOCK_OPEN_MAX)
        return -TP_ELIMIT;
    int error = put_section(encoder, &out, open, open_slots);
    if (!error)
        error = put_section(encoder, &out, slots, slot_count);
    if (error)
        return error;
    sum_up(&header, slots, slot_count, near_ticks);
    header.payload_bytes = (uint32_t)(out.at - encoder->payload);
    uint32_t stored = store_payload(encoder, &header);
    tp_block_header_write(encoder->block, &header, encoder->block + TP_BLOCK_HEADER_BYTES, stored);
    memset(encoder->block + TP_BLOCK_HEADER_BYTES + stored, 0, 8);
    *ret_bytes = encoder->block;
    *ret_size = tp_block_stride(&header);
    return 0;
}
