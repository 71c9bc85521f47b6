/* SPDX-License-Identifier: MIT */
#include "trace/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "trace/block_header.h"
#include "trace/wire.h"

/*
 * The other half of block_encode.c; it knows only format.md and the table. A section's kinds say
 * where its records lie, then each column is read into 64-bit values and put into its bits of the
 * records' words. Every count is held against the header's slots, and a group or column may come
 * once only, so that the work is bounded by the block's size and its slots.
 */

#define NOWHERE UINT32_MAX

struct fields {
    const struct tp_field_info *first;
    uint32_t count;
};

struct tp_block_decoder {
    ZSTD_DCtx *zstd;
    uint8_t *payload;
    size_t payload_room;
    uint64_t *slots, *open; /* one record more than asked: where values of unknown records go */
    size_t slots_room, open_room;
    uint64_t *values;
    uint32_t *at;     /* first word of each record, in record order */
    uint32_t *sorted; /* the same for known kinds, kind by kind */
    size_t records_room;
    struct fields fields[TP_EVENT_KIND_END];
    uint8_t kind_slots[256]; /* 0: unknown */
};

#define SPARE_WORDS 16

/* What is being decoded, for messages. */
struct place {
    uint64_t offset; /* of the block */
    struct tp_diag *diag;
};

struct section {
    uint64_t *slots;
    uint32_t slots_max;  /* what the records may fill */
    uint32_t slot_count; /* what the known ones do */
    uint32_t records, known;
    uint32_t counts[256];
    uint32_t starts[TP_EVENT_KIND_END]; /* in decoder->sorted */
};

/* A column as it lies in the payload. */
struct column {
    uint8_t encoding;
    bool present;
    struct tp_wire_in data;
};

#define FIELDS_MAX 16 /* columns of one kind; checked when the decoder is made */

struct tp_block_decoder *tp_block_decoder_create(void)
{
    struct tp_block_decoder *decoder = calloc(1, sizeof(*decoder));

    if (!decoder)
        return NULL;
    decoder->zstd = ZSTD_createDCtx();
    if (!decoder->zstd) {
        free(decoder);
        return NULL;
    }
    for (unsigned i = tp_field_count; i-- > 0;) {
        struct fields *fields = &decoder->fields[tp_fields[i].kind];
        fields->first = &tp_fields[i];
        if (fields->count < FIELDS_MAX)
            fields->count++;
    }
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        decoder->kind_slots[kind] = (uint8_t)tp_kind_slots(kind);
    return decoder;
}

void tp_block_decoder_destroy(struct tp_block_decoder *decoder)
{
    if (!decoder)
        return;
    ZSTD_freeDCtx(decoder->zstd);
    free(decoder->payload);
    free(decoder->slots);
    free(decoder->open);
    free(decoder->values);
    free(decoder->at);
    free(decoder->sorted);
    free(decoder);
}

/* Makes *array hold at least @bytes; its contents are not kept. */
static bool grow(void *array, size_t bytes)
{
    void *old, *fresh = malloc(bytes);

    if (!fresh)
        return false;
    memcpy(&old, array, sizeof(old));
    free(old);
    memcpy(array, &fresh, sizeof(fresh));
    return true;
}

static size_t round_up(size_t count)
{
    size_t size = 1024;

    while (size < count)
        size *= 2;
    return size;
}

static int make_room_slots(uint64_t **slots, size_t *room, size_t need)
{
    if (need <= *room && *slots)
        return 0;
    *room = 0;
    size_t size = round_up(need);
    if (!grow(slots, size * TP_SLOT_BYTES + SPARE_WORDS * sizeof(uint64_t)))
        return -ENOMEM;
    *room = size;
    return 0;
}

static int make_room_records(struct tp_block_decoder *decoder, size_t need)
{
    if (need <= decoder->records_room)
        return 0;
    decoder->records_room = 0;
    size_t size = round_up(need);
    if (!grow(&decoder->values, size * sizeof(uint64_t)) ||
        !grow(&decoder->at, size * sizeof(uint32_t)) ||
        !grow(&decoder->sorted, size * sizeof(uint32_t)))
        return -ENOMEM;
    decoder->records_room = size;
    return 0;
}

static int fail(const struct place *place, const char *what, unsigned kind, unsigned column)
{
    return tp_diag_fail(place->diag, -TP_ECORRUPT, place->offset,
                        "payload damaged: %s (kind %u, column %u)", what, kind, column);
}

/* Values of one column. Return: 0, or what is wrong. */

static const char *get_planes(struct tp_wire_in *data, uint64_t *values, uint32_t count,
                              unsigned width)
{
    const uint8_t *p;

    if (width > 8 || !tp_wire_get_bytes(data, (size_t)width * count, &p))
        return "planes";
    memset(values, 0, count * sizeof(*values));
    for (unsigned plane = 0; plane < width; plane++, p += count)
        for (uint32_t i = 0; i < count; i++)
            values[i] |= (uint64_t)p[i] << 8 * plane;
    return NULL;
}

static void sum_differences(uint64_t *values, uint32_t count, uint64_t before)
{
    for (uint32_t i = 0; i < count; i++)
        values[i] = before += tp_wire_unzigzag(values[i]);
}

/* Undoes the right shift. Returns false when bits would be lost. */
static bool shift_left(uint64_t *values, uint32_t count, unsigned shift)
{
    uint64_t any = 0;

    if (!shift)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        any |= values[i];
        values[i] <<= shift;
    }
    return shift < 64 && !(any >> (64 - shift));
}

static const char *get_shifted(struct tp_wire_in *data, uint64_t *values, uint32_t count,
                               unsigned encoding)
{
    uint8_t shift, width;

    if (!tp_wire_get_u8(data, &shift) || shift > 63)
        return "shift";
    if (encoding == TP_ENCODING_PLANES) {
        if (!tp_wire_get_u8(data, &width))
            return "width";
        const char *wrong = get_planes(data, values, count, width);
        if (wrong)
            return wrong;
    } else if (!tp_wire_get_varints(data, values, count)) {
        return "varints";
    }
    if (encoding == TP_ENCODING_DELTA)
        sum_differences(values, count, 0);
    return shift_left(values, count, shift) ? NULL : "value too wide";
}

static const char *get_runs(struct tp_wire_in *data, uint64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count;) {
        uint64_t value, length;
        if (!tp_wire_get_varint(data, &value) || !tp_wire_get_varint(data, &length))
            return "runs";
        if (!length || length > count - i)
            return "run length";
        for (uint32_t end = i + (uint32_t)length; i < end; i++)
            values[i] = value;
    }
    return NULL;
}

static const char *get_raw(struct tp_wire_in *data, uint64_t *values, uint32_t count)
{
    const uint8_t *p;
    uint8_t width;

    if (!tp_wire_get_u8(data, &width) || width < 1 || width > 8)
        return "width";
    if (!tp_wire_get_bytes(data, (size_t)width * count, &p))
        return "raw values";
    if (width == 1) {
        for (uint32_t i = 0; i < count; i++)
            values[i] = p[i];
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++, p += width) {
        uint64_t value = 0;
        for (unsigned k = 0; k < width; k++)
            value |= (uint64_t)p[k] << 8 * k;
        values[i] = value;
    }
    return NULL;
}

static const char *get_planes_delta(struct tp_wire_in *data, uint64_t *values, uint32_t count)
{
    uint8_t width;

    if (!tp_wire_get_varint(data, &values[0]) || !tp_wire_get_u8(data, &width))
        return "first value";
    const char *wrong = get_planes(data, values + 1, count - 1, width);
    if (!wrong)
        sum_differences(values + 1, count - 1, values[0]);
    return wrong;
}

/* @count > 0. A column of encoding const is spread over all values. */
static const char *get_column(struct column column, uint64_t *values, uint32_t count)
{
    const char *wrong = NULL;

    switch (column.encoding) {
    case TP_ENCODING_CONST:
        if (!tp_wire_get_varint(&column.data, &values[0]))
            return "constant";
        for (uint32_t i = 1; i < count; i++)
            values[i] = values[0];
        break;
    case TP_ENCODING_VARINT:
    case TP_ENCODING_DELTA:
    case TP_ENCODING_PLANES:
        wrong = get_shifted(&column.data, values, count, column.encoding);
        break;
    case TP_ENCODING_RUNS:
        wrong = get_runs(&column.data, values, count);
        break;
    case TP_ENCODING_RAW:
        wrong = get_raw(&column.data, values, count);
        break;
    case TP_ENCODING_PLANES_DELTA:
        wrong = get_planes_delta(&column.data, values, count);
        break;
    default:
        return "encoding";
    }
    return !wrong && tp_wire_left(&column.data) ? "bytes left over" : wrong;
}

static uint64_t field_mask(const struct tp_field_info *field)
{
    return field->bits < 64 ? (UINT64_C(1) << field->bits) - 1 : UINT64_MAX;
}

/* Puts the values into their bits of the records at @at. Returns the bits that some value has. */
static uint64_t scatter(uint64_t *words, const uint32_t *at, const uint64_t *values, uint32_t count,
                        unsigned shift)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < count; i++) {
        any |= values[i];
        words[at[i]] |= values[i] << shift;
    }
    return any;
}

static uint64_t scatter_one(uint64_t *words, const uint32_t *at, uint64_t value, uint32_t count,
                            unsigned shift)
{
    if (value)
        for (uint32_t i = 0; i < count; i++)
            words[at[i]] |= value << shift;
    return value;
}

static int put_column(struct tp_block_decoder *decoder, const struct section *section,
                      const uint32_t *at, uint32_t count, const struct tp_field_info *field,
                      const struct column *column, const struct place *place)
{
    bool one = column->encoding == TP_ENCODING_CONST;
    const char *wrong = get_column(*column, decoder->values, one ? 1 : count);

    if (wrong)
        return fail(place, wrong, field->kind, field->column);
    uint64_t *words = section->slots + field->word;
    uint64_t any = one ? scatter_one(words, at, decoder->values[0], count, field->shift)
                       : scatter(words, at, decoder->values, count, field->shift);
    if (any & ~field_mask(field))
        return fail(place, "value too wide", field->kind, field->column);
    return 0;
}

/* Finds a group's columns; unknown ones are passed over. */
static int find_columns(const struct tp_block_decoder *decoder, struct tp_wire_in *payload,
                        unsigned kind, struct column columns[FIELDS_MAX], const struct place *place)
{
    const struct fields *fields = kind < TP_EVENT_KIND_END ? &decoder->fields[kind] : NULL;
    uint8_t count, id, encoding;

    if (!tp_wire_get_u8(payload, &count))
        return fail(place, "cut", kind, 0);
    for (unsigned i = 0; i < FIELDS_MAX; i++)
        columns[i].present = false;
    while (count--) {
        uint64_t size;
        const uint8_t *data;
        if (!tp_wire_get_u8(payload, &id) || !tp_wire_get_u8(payload, &encoding) ||
            !tp_wire_get_varint(payload, &size) || !tp_wire_get_bytes(payload, size, &data))
            return fail(place, "cut", kind, 0);
        for (unsigned i = 0; fields && i < fields->count; i++) {
            if (fields->first[i].column != id)
                continue;
            if (columns[i].present)
                return fail(place, "column twice", kind, id);
            columns[i] = (struct column){encoding, true, {data, data + size}};
        }
    }
    return 0;
}

/* Where each record lies, from the kinds in decoder->values (NULL column: all of kind 0, which is
 * unknown). */
static int lay_out(struct tp_block_decoder *decoder, struct section *section,
                   const struct column *kinds, const struct place *place)
{
    const uint64_t *values = decoder->values;
    uint64_t any = 0, used = 0;

    if (!kinds->present)
        memset(decoder->values, 0, section->records * sizeof(uint64_t));
    const char *wrong =
        kinds->present ? get_column(*kinds, decoder->values, section->records) : NULL;
    if (wrong)
        return fail(place, wrong, 0, 1);
    memset(section->counts, 0, sizeof(section->counts));
    for (uint32_t i = 0; i < section->records; i++) {
        unsigned kind = values[i] & 0xff, step = decoder->kind_slots[kind];
        any |= values[i];
        section->counts[kind]++;
        decoder->at[i] = step ? (uint32_t)used : NOWHERE;
        used += step;
    }
    if (any > 0xff)
        return fail(place, "kind too wide", 0, 1);
    section->known = 0;
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        section->known += decoder->kind_slots[kind] ? section->counts[kind] : 0;
    uint32_t unknown = section->records - section->known;
    if (used + unknown > section->slots_max)
        return fail(place, "more records than slots", 0, 1);
    section->slot_count = (uint32_t)used;
    return 0;
}

/* Sorts the known records by kind and turns slots into words; unknown ones share the words behind
 * the last slot. */
static void sort_by_kind(struct tp_block_decoder *decoder, struct section *section)
{
    uint32_t next[256] = {0}, sum = 0, spare = section->slot_count * TP_SLOT_WORDS;

    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++) {
        section->starts[kind] = next[kind] = sum;
        sum += decoder->kind_slots[kind] ? section->counts[kind] : 0;
    }
    for (uint32_t i = 0; i < section->records; i++) {
        unsigned kind = decoder->values[i] & 0xff;
        if (decoder->at[i] == NOWHERE) {
            decoder->at[i] = spare;
        } else {
            decoder->at[i] *= TP_SLOT_WORDS;
            decoder->sorted[next[kind]++] = decoder->at[i];
        }
    }
}

static int put_columns(struct tp_block_decoder *decoder, const struct section *section,
                       unsigned kind, const struct column columns[FIELDS_MAX],
                       const struct place *place)
{
    const struct fields *fields = &decoder->fields[kind];
    const uint32_t *at = kind ? decoder->sorted + section->starts[kind] : decoder->at;
    uint32_t count = kind ? section->counts[kind] : section->records;
    int error = 0;

    for (unsigned i = 0; i < fields->count && count && !error; i++)
        if (columns[i].present)
            error = put_column(decoder, section, at, count, &fields->first[i], &columns[i], place);
    return error;
}

/* The group of kind 0: first the kinds, then the other columns of every record. */
static int get_common_group(struct tp_block_decoder *decoder, struct section *section,
                            struct tp_wire_in *payload, const struct place *place)
{
    struct column columns[FIELDS_MAX];
    uint8_t kind;
    uint64_t records;

    if (!tp_wire_get_u8(payload, &kind) || !tp_wire_get_varint(payload, &records) || kind ||
        records != section->records)
        return fail(place, "first group", 0, 0);
    int error = find_columns(decoder, payload, 0, columns, place);
    if (error)
        return error;
    if (section->records)
        error = lay_out(decoder, section, &columns[0], place);
    if (error)
        return error;
    sort_by_kind(decoder, section);
    memset(section->slots, 0,
           (size_t)section->slot_count * TP_SLOT_BYTES + SPARE_WORDS * sizeof(uint64_t));
    return put_columns(decoder, section, 0, columns, place);
}

static int get_group(struct tp_block_decoder *decoder, struct section *section,
                     struct tp_wire_in *payload, bool seen[256], const struct place *place)
{
    struct column columns[FIELDS_MAX];
    uint8_t kind;
    uint64_t records;

    if (!tp_wire_get_u8(payload, &kind) || !tp_wire_get_varint(payload, &records))
        return fail(place, "cut", 0, 0);
    if (seen[kind])
        return fail(place, "group twice", kind, 0);
    seen[kind] = true;
    int error = find_columns(decoder, payload, kind, columns, place);
    if (error || !decoder->kind_slots[kind])
        return error;
    if (records != section->counts[kind])
        return fail(place, "group's records", kind, 0);
    return put_columns(decoder, section, kind, columns, place);
}

/* section->slots and slots_max are set. */
static int get_section(struct tp_block_decoder *decoder, struct section *section,
                       struct tp_wire_in *payload, const struct place *place)
{
    bool seen[256] = {true};
    uint64_t records, groups;

    if (!tp_wire_get_varint(payload, &records) || !tp_wire_get_varint(payload, &groups) || !groups)
        return fail(place, "cut", 0, 0);
    if (records > section->slots_max)
        return fail(place, "more records than slots", 0, 0);
    section->records = (uint32_t)records;
    section->known = section->slot_count = 0;
    if (make_room_records(decoder, records))
        return -ENOMEM;
    memset(section->counts, 0, sizeof(section->counts));
    int error = get_common_group(decoder, section, payload, place);
    while (!error && --groups)
        error = get_group(decoder, section, payload, seen, place);
    return error;
}

static int check_open(const struct section *section, const struct place *place)
{
    for (uint32_t slot = 0; slot < section->slot_count;) {
        unsigned kind = tp_slot_kind(section->slots + (size_t)slot * TP_SLOT_WORDS);
        if (tp_kinds[kind].role != TP_ROLE_BEGIN)
            return fail(place, "open record that is no begin", kind, 0);
        slot += tp_kind_slots(kind);
    }
    return 0;
}

static int get_sections(struct tp_block_decoder *decoder, struct tp_block *block,
                        struct tp_wire_in payload, const struct place *place)
{
    struct section open = {.slots_max = TP_BLOCK_OPEN_MAX};
    struct section main = {.slots_max = block->header.slots};

    if (make_room_slots(&decoder->open, &decoder->open_room, TP_BLOCK_OPEN_MAX) ||
        make_room_slots(&decoder->slots, &decoder->slots_room, block->header.slots))
        return -ENOMEM;
    open.slots = decoder->open;
    main.slots = decoder->slots;
    int error = get_section(decoder, &open, &payload, place);
    if (!error)
        error = check_open(&open, place);
    if (!error)
        error = get_section(decoder, &main, &payload, place);
    if (error)
        return error;
    if (tp_wire_left(&payload))
        return fail(place, "bytes left over", 0, 0);
    if (main.known == main.records && main.slot_count != main.slots_max)
        return fail(place, "fewer slots than the header says", 0, 0);
    block->slots = main.slots;
    block->slot_count = main.slot_count;
    block->record_count = main.known;
    block->unknown_records = main.records - main.known + (open.records - open.known);
    block->open = open.slots;
    block->open_slots = open.slot_count;
    return 0;
}

static int unpack(struct tp_block_decoder *decoder, const struct tp_block_header *header,
                  const uint8_t *stored, struct tp_wire_in *ret_payload, const struct place *place)
{
    uint32_t size = header->payload_bytes;

    if (!(header->flags & TP_BLOCK_ZSTD)) {
        *ret_payload = (struct tp_wire_in){stored, stored + size};
        return 0;
    }
    if (size > decoder->payload_room || !decoder->payload) {
        decoder->payload_room = 0;
        if (!grow(&decoder->payload, round_up(size)))
            return -ENOMEM;
        decoder->payload_room = round_up(size);
    }
    size_t got =
        ZSTD_decompressDCtx(decoder->zstd, decoder->payload, size, stored, header->stored_bytes);
    if (ZSTD_isError(got))
        return tp_diag_fail(place->diag, -TP_ECORRUPT, place->offset,
                            "payload does not decompress: %s", ZSTD_getErrorName(got));
    if (got != size)
        return tp_diag_fail(place->diag, -TP_ECORRUPT, place->offset,
                            "payload of %zu bytes, expected %u", got, size);
    *ret_payload = (struct tp_wire_in){decoder->payload, decoder->payload + size};
    return 0;
}

int tp_block_decode(struct tp_block_decoder *decoder, const void *bytes, uint64_t size,
                    uint64_t offset, struct tp_block *ret_block, struct tp_diag *diag)
{
    struct place place = {offset, diag};
    struct tp_block block = {0};
    struct tp_wire_in payload;
    int error = tp_block_header_read(&block.header, bytes, size, offset, diag);

    if (error)
        return error;
    if (block.header.type != TP_BLOCK_EVENTS)
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, offset + 6, "block of type %u, expected %u",
                            block.header.type, TP_BLOCK_EVENTS);
    const uint8_t *stored = (const uint8_t *)bytes + block.header.header_size;
    uint32_t sum = tp_block_checksum(stored, block.header.stored_bytes);
    if (sum != block.header.checksum)
        return tp_diag_fail(diag, -TP_ECORRUPT, offset, "payload's checksum is %08x, expected %08x",
                            sum, block.header.checksum);
    error = unpack(decoder, &block.header, stored, &payload, &place);
    if (!error)
        error = get_sections(decoder, &block, payload, &place);
    if (error == -ENOMEM)
        return tp_diag_fail(diag, -ENOMEM, offset, "no memory for a block of %u slots",
                            block.header.slots);
    if (!error)
        *ret_block = block;
    return error;
}
