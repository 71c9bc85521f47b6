/* SPDX-License-Identifier: MIT */
#include "trace/block.h"

#include <errno.h>
#include <string.h>

#include "event/brief.h"
#include "trace/block_decoder.h"
#include "trace/block_header.h"
#include "trace/column_decode.h"
#include "trace/room.h"
#include "trace/wire.h"

/*
 * The other half of block_encode.c; it knows only format.md and the table. A section's kinds say
 * where its records lie, then each column is read into 64-bit values and put into its bits of the
 * records' words. Every count is held against the header's slots, and a group or column may come
 * once only, so that the work is bounded by the block's size and its slots.
 */

#define SPARE_WORDS 8 /* behind the last slot: records are laid out two slots at a time */

/* What is being decoded, for messages. */
struct place {
    uint64_t offset; /* of the block */
    struct tp_diag *diag;
};

struct section {
    uint64_t *slots;
    uint32_t slots_max;   /* what the records may fill */
    uint32_t slot_count;  /* what the known ones do */
    uint32_t records_max; /* how many there may be */
    uint32_t records, unknown;
    uint32_t brief; /* that stood in one slot where they have two here */
};

/* A column as it lies in the payload. */
struct column {
    uint8_t encoding;
    bool present;
    struct tp_wire_in data;
};

#define FIELDS_MAX 16 /* columns of one kind; checked when the decoder is made */

void tp_block_decoder_prepare(struct tp_block_decoder *decoder)
{
    for (unsigned i = tp_field_count; i-- > 0;) {
        struct tp_decoder_fields *fields = &decoder->fields[tp_fields[i].kind];
        fields->first = &tp_fields[i];
        if (fields->count < FIELDS_MAX)
            fields->count++;
    }
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        decoder->kind_slots[kind] = tp_is_brief(kind) ? 0 : (uint8_t)tp_kind_slots(kind);
}

static size_t allocations_size(struct tp_block_decoder *decoder, uint32_t records)
{
    return tp_allocations_lay(&decoder->unpacker.lists, NULL, records) +
           2 * (records + 1) * sizeof(uint64_t);
}

/* @decoder: set where there is a base, else only room for what is not used. */
static void lay_parts(struct tp_room *room, struct tp_block_decoder *decoder, uint32_t slots)
{
    size_t open_bytes = TP_BLOCK_OPEN_MAX * TP_SLOT_BYTES,
           whole_slots = (size_t)slots * TP_BRIEF_WHOLE_SLOTS,
           slot_bytes = whole_slots * TP_SLOT_BYTES;
    uint32_t records = slots > TP_BLOCK_OPEN_MAX ? slots : TP_BLOCK_OPEN_MAX;

    tp_room_take(room, sizeof(*decoder));
    decoder->payload_room = 2 * (slot_bytes + open_bytes); /* more than columns ever take */
    decoder->payload = tp_room_take(room, decoder->payload_room);
    decoder->slots_room = whole_slots;
    decoder->slots = tp_room_take(room, slot_bytes + SPARE_WORDS * sizeof(uint64_t));
    decoder->open_room = TP_BLOCK_OPEN_MAX;
    decoder->open = tp_room_take(room, open_bytes + SPARE_WORDS * sizeof(uint64_t));
    decoder->records_room = records;
    decoder->values = tp_room_take(room, records * sizeof(uint64_t));
    for (unsigned word = 0; word < TP_SLOT_WORDS; word++)
        decoder->common[word] = tp_room_take(room, records * sizeof(uint64_t));
    decoder->kinds = tp_room_take(room, records);
    decoder->at = tp_room_take(room, records * sizeof(uint32_t));
    decoder->selected = tp_room_take(room, (records + 1) * sizeof(uint32_t));
    decoder->allocations_room = slots;
    decoder->allocations = tp_room_take(room, allocations_size(decoder, slots));
}

size_t tp_block_decoder_size(uint32_t slots)
{
    struct tp_block_decoder unused;
    struct tp_room room = {0};

    lay_parts(&room, &unused, slots);
    return room.used + ZSTD_estimateDCtxSize();
}

struct tp_block_decoder *tp_block_decoder_init(void *workspace, size_t size, uint32_t slots)
{
    struct tp_block_decoder *decoder = workspace;
    struct tp_room room = {.base = workspace};

    if (size < tp_block_decoder_size(slots))
        return NULL;
    memset(decoder, 0, sizeof(*decoder));
    lay_parts(&room, decoder, slots);
    decoder->zstd = ZSTD_initStaticDCtx(room.base + room.used, size - room.used);
    if (!decoder->zstd)
        return NULL;
    tp_block_decoder_prepare(decoder);
    return decoder;
}

static size_t round_up(size_t count)
{
    size_t size = 1024;

    while (size < count)
        size *= 2;
    return size;
}

static int make_room_slots(bool (*grow)(void *array, size_t bytes), uint64_t **slots, size_t *room,
                           size_t need)
{
    if (need <= *room && *slots)
        return 0;
    if (!grow)
        return -ENOMEM;
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
    if (!decoder->grow)
        return -ENOMEM;
    decoder->records_room = 0;
    size_t size = round_up(need);
    for (unsigned word = 0; word < TP_SLOT_WORDS; word++)
        if (!decoder->grow(&decoder->common[word], size * sizeof(uint64_t)))
            return -ENOMEM;
    if (!decoder->grow(&decoder->values, size * sizeof(uint64_t)) ||
        !decoder->grow(&decoder->kinds, size) ||
        !decoder->grow(&decoder->at, size * sizeof(uint32_t)) ||
        !decoder->grow(&decoder->selected, (size + 1) * sizeof(uint32_t)))
        return -ENOMEM;
    decoder->records_room = size;
    return 0;
}

static int make_room_allocations(struct tp_block_decoder *decoder, uint32_t need)
{
    struct tp_allocations *lists = &decoder->unpacker.lists;

    if (need > decoder->allocations_room || !decoder->allocations) {
        if (!decoder->grow)
            return -ENOMEM;
        decoder->allocations_room = 0;
        uint32_t size = (uint32_t)round_up(need);
        if (!decoder->grow(&decoder->allocations, allocations_size(decoder, size)))
            return -ENOMEM;
        decoder->allocations_room = size;
    }
    uint32_t room = (uint32_t)decoder->allocations_room;
    size_t lists_size = tp_allocations_lay(lists, decoder->allocations, room);
    decoder->slacks = (uint64_t *)(void *)((uint8_t *)decoder->allocations + lists_size);
    decoder->brief = decoder->slacks + room + 1;
    tp_allocations_begin(lists, need);
    return 0;
}

static int fail(const struct place *place, const char *what, unsigned kind, unsigned column)
{
    return tp_diag_fail(place->diag, -TP_ECORRUPT, place->offset,
                        "payload damaged: %s (kind %u, column %u)", what, kind, column);
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
                      uint32_t count, const struct tp_field_info *field,
                      const struct column *column, const struct place *place)
{
    const char *wrong = tp_column_unpack(column->data, column->encoding, decoder->values, count);

    if (wrong)
        return fail(place, wrong, field->kind, field->column);
    uint64_t *words = section->slots + field->word;
    uint64_t any =
        column->encoding == TP_ENCODING_CONST
            ? scatter_one(words, decoder->selected, decoder->values[0], count, field->shift)
            : scatter(words, decoder->selected, decoder->values, count, field->shift);
    if (any & ~field_mask(field))
        return fail(place, "value too wide", field->kind, field->column);
    return 0;
}

/* Finds a group's columns; unknown ones are passed over. */
static int find_columns(const struct tp_block_decoder *decoder, struct tp_wire_in *payload,
                        unsigned kind, struct column columns[FIELDS_MAX], const struct place *place)
{
    const struct tp_decoder_fields *fields =
        kind < TP_EVENT_KIND_END ? &decoder->fields[kind] : NULL;
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

static const char *get_kinds(struct tp_block_decoder *decoder, const struct column *column,
                             uint32_t count)
{
    const uint64_t *values = decoder->values;
    uint64_t any = 0;

    if (!column->present) { /* all of kind 0, which is unknown */
        memset(decoder->kinds, 0, count);
        return NULL;
    }
    const char *wrong = tp_column_unpack(column->data, column->encoding, decoder->values, count);
    if (wrong)
        return wrong;
    if (column->encoding == TP_ENCODING_CONST) {
        memset(decoder->kinds, (int)(values[0] & 0xff), count);
        return values[0] > 0xff ? "kind too wide" : NULL;
    }
    uint8_t *const kinds = decoder->kinds;
    for (uint32_t i = 0; i < count; i++) {
        any |= values[i];
        kinds[i] = (uint8_t)values[i];
    }
    return any > 0xff ? "kind too wide" : NULL;
}

/* ORs the values, shifted, into the words; or only shifts them where they lie. Returns the bits
 * that some have. */
static uint64_t merge_values(uint64_t *words, const uint64_t *values, uint32_t count,
                             unsigned shift)
{
    uint64_t any = 0;

    if (words == values && !shift) {
        for (uint32_t i = 0; i < count; i++)
            any |= words[i];
    } else if (words == values) {
        for (uint32_t i = 0; i < count; i++) {
            any |= words[i];
            words[i] <<= shift;
        }
    } else {
        for (uint32_t i = 0; i < count; i++) {
            any |= values[i];
            words[i] |= values[i] << shift;
        }
    }
    return any;
}

/* A column of every record into its bits of decoder->common; @fresh: nothing is there yet. */
static const char *merge_column(struct tp_block_decoder *decoder, const struct tp_field_info *field,
                                const struct column *column, uint32_t count, bool fresh)
{
    uint64_t *words = decoder->common[field->word], *values = fresh ? words : decoder->values;
    const char *wrong = tp_column_unpack(column->data, column->encoding, values, count);

    if (wrong)
        return wrong;
    if (column->encoding == TP_ENCODING_CONST)
        for (uint32_t i = 1; i < count; i++)
            values[i] = values[0];
    uint64_t any = merge_values(words, values, count, field->shift);
    return any & ~field_mask(field) ? "value too wide" : NULL;
}

static int merge_columns(struct tp_block_decoder *decoder, const struct column columns[FIELDS_MAX],
                         uint32_t count, const struct place *place)
{
    const struct tp_decoder_fields *fields = &decoder->fields[TP_EVENT_ALL];
    bool used[TP_SLOT_WORDS] = {false};

    for (unsigned i = 1; i < fields->count; i++) { /* the kinds, 0, are read */
        const struct tp_field_info *field = &fields->first[i];
        if (!columns[i].present)
            continue;
        const char *wrong = merge_column(decoder, field, &columns[i], count, !used[field->word]);
        if (wrong)
            return fail(place, wrong, field->kind, field->column);
        used[field->word] = true;
    }
    for (unsigned word = 0; word < TP_SLOT_WORDS; word++)
        if (!used[word])
            memset(decoder->common[word], 0, count * sizeof(uint64_t));
    return 0;
}

static bool has_brief_kind(const uint8_t *kinds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (tp_is_brief(kinds[i]))
            return true;
    return false;
}

/* All records with their common words, the rest zero. Unknown ones take no room: the next one is
 * put over them. */
static int lay_out(struct tp_block_decoder *decoder, struct section *section,
                   const struct place *place)
{
    const uint64_t *const word0 = decoder->common[0], *const word1 = decoder->common[1];
    const uint64_t *const word2 = decoder->common[2], *const word3 = decoder->common[3];
    const uint8_t *const kinds = decoder->kinds, *const kind_slots = decoder->kind_slots;
    uint64_t *const slots = section->slots;
    uint32_t *const at = decoder->at;
    uint64_t end = (uint64_t)section->slots_max * TP_SLOT_WORDS, used = 0;
    uint32_t unknown = 0, count = section->records;

    for (uint32_t i = 0; i < count; i++) {
        unsigned words = kind_slots[kinds[i]] * TP_SLOT_WORDS;
        uint64_t *record = slots + used;
        at[i] = (uint32_t)used;
        used += words;
        if (used > end)
            return fail(place, "more records than slots", 0, 1);
        record[0] = word0[i] | (uint64_t)kinds[i] << 56;
        record[1] = word1[i];
        record[2] = word2[i];
        record[3] = word3[i];
        memset(record + TP_SLOT_WORDS, 0, TP_SLOT_BYTES);
        if (words > 2 * TP_SLOT_WORDS)
            memset(record + 2 * TP_SLOT_WORDS, 0, (words - 2 * TP_SLOT_WORDS) * sizeof(uint64_t));
        unknown += !words;
    }
    section->unknown = unknown;
    section->slot_count = (uint32_t)(used / TP_SLOT_WORDS);
    if (section->slot_count + unknown > section->slots_max)
        return fail(place, "more records than slots", 0, 1);
    if (unknown && has_brief_kind(kinds, count))
        return fail(place, "kind of rings", 0, 1);
    return 0;
}

static uint32_t select_kind(struct tp_block_decoder *decoder, unsigned kind, uint32_t records)
{
    const uint8_t *const kinds = decoder->kinds;
    const uint32_t *const at = decoder->at;
    uint32_t *const selected = decoder->selected;
    uint32_t count = 0;

    for (uint32_t i = 0; i < records; i++) {
        selected[count] = at[i];
        count += kinds[i] == kind;
    }
    return count;
}

static int put_columns(struct tp_block_decoder *decoder, const struct section *section,
                       unsigned kind, const struct column columns[FIELDS_MAX], uint32_t count,
                       const struct place *place)
{
    const struct tp_decoder_fields *fields = &decoder->fields[kind];
    int error = 0;

    for (unsigned i = 0; i < fields->count && count && !error; i++)
        if (columns[i].present)
            error = put_column(decoder, section, count, &fields->first[i], &columns[i], place);
    return error;
}

/* The group of kind 0: the kinds, then the other columns of every record. */
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
    if (error || !section->records)
        return error;
    const char *wrong = get_kinds(decoder, &columns[0], section->records);
    if (wrong)
        return fail(place, wrong, 0, 1);
    error = merge_columns(decoder, columns, section->records, place);
    return error ? error : lay_out(decoder, section, place);
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
    uint32_t count = select_kind(decoder, kind, section->records);
    if (records != count)
        return fail(place, "group's records", kind, 0);
    return put_columns(decoder, section, kind, columns, count, place);
}

/* section->slots and slots_max are set. */
static int get_section(struct tp_block_decoder *decoder, struct section *section,
                       struct tp_wire_in *payload, const struct place *place)
{
    bool seen[256] = {true};
    uint64_t records, groups;

    if (!tp_wire_get_varint(payload, &records) || !tp_wire_get_varint(payload, &groups) || !groups)
        return fail(place, "cut", 0, 0);
    if (records > section->records_max)
        return fail(place, "more records than slots", 0, 0);
    section->records = (uint32_t)records;
    section->unknown = section->slot_count = 0;
    if (make_room_records(decoder, records))
        return -ENOMEM;
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

/* Where the columns' values go: nobody needs the common words any more. */
static void lay_columns(struct tp_block_decoder *decoder, uint32_t allocs)
{
    uint64_t *const *common = decoder->common;
    uint64_t *const arrays[TP_PACKED_ARRAYS] = {common[0],     common[1],       common[2],
                                                common[3],     decoder->values, decoder->slacks,
                                                decoder->brief};

    tp_packed_lay(decoder->unpacker.columns, arrays, allocs);
}

/* A column of the section of allocations. Unknown ones are passed over. */
static int get_packed_column(struct tp_block_decoder *decoder, struct tp_wire_in *payload,
                             uint32_t allocs, uint32_t frees, const struct place *place)
{
    struct tp_unpacker *unpacker = &decoder->unpacker;
    uint64_t count, size;
    uint8_t id, encoding;
    const uint8_t *data;

    if (!tp_wire_get_varint(payload, &count) || !tp_wire_get_u8(payload, &id) ||
        !tp_wire_get_u8(payload, &encoding) || !tp_wire_get_varint(payload, &size) ||
        !tp_wire_get_bytes(payload, size, &data))
        return fail(place, "cut", TP_EVENT_ALLOC, 0);
    if (!id || id >= TP_PACKED_END)
        return 0;
    if (!count || count > tp_packed_most(id, allocs, frees) || unpacker->counts[id])
        return fail(place, "column's values", TP_EVENT_ALLOC, id);
    uint64_t *values = unpacker->columns[id];
    const char *wrong =
        tp_column_unpack((struct tp_wire_in){data, data + size}, encoding, values, (uint32_t)count);
    if (wrong)
        return fail(place, wrong, TP_EVENT_ALLOC, id);
    unpacker->counts[id] = (uint32_t)count;
    for (uint32_t i = 1; encoding == TP_ENCODING_CONST && i < count; i++)
        values[i] = values[0];
    return 0;
}

/* The section of allocations: what was left out of the records of @section for it. */
static int get_allocations(struct tp_block_decoder *decoder, struct section *section,
                           struct tp_wire_in *payload, bool has_brief, const struct place *place)
{
    uint32_t allocs = 0, frees = 0;
    uint8_t columns;
    int error = 0;

    for (uint32_t i = 0; i < section->records; i++) {
        allocs += decoder->kinds[i] == TP_EVENT_ALLOC;
        frees += decoder->kinds[i] == TP_EVENT_FREE;
    }
    if (!tp_wire_get_u8(payload, &columns))
        return fail(place, "cut", TP_EVENT_ALLOC, 0);
    if (make_room_allocations(decoder, allocs + frees))
        return -ENOMEM;
    lay_columns(decoder, allocs);
    memset(decoder->unpacker.counts, 0, sizeof(decoder->unpacker.counts));
    while (columns-- && !error)
        error = get_packed_column(decoder, payload, allocs, frees, place);
    if (error)
        return error;
    const char *wrong =
        tp_alloc_unpack(&decoder->unpacker, section->slots, section->slot_count, has_brief);
    section->brief = decoder->unpacker.brief_count;
    return wrong ? fail(place, wrong, TP_EVENT_ALLOC, 0) : 0;
}

static int get_sections(struct tp_block_decoder *decoder, struct tp_block *block,
                        struct tp_wire_in payload, const struct place *place)
{
    uint32_t slots = block->header.slots;
    bool has_brief = block->header.flags & TP_BLOCK_BRIEF;
    struct section open = {.slots_max = TP_BLOCK_OPEN_MAX, .records_max = TP_BLOCK_OPEN_MAX};
    struct section main = {.slots_max = has_brief ? slots * TP_BRIEF_WHOLE_SLOTS : slots,
                           .records_max = slots};

    if (make_room_slots(decoder->grow, &decoder->open, &decoder->open_room, TP_BLOCK_OPEN_MAX) ||
        make_room_slots(decoder->grow, &decoder->slots, &decoder->slots_room, main.slots_max))
        return -ENOMEM;
    open.slots = decoder->open;
    main.slots = decoder->slots;
    int error = get_section(decoder, &open, &payload, place);
    if (!error)
        error = check_open(&open, place);
    if (!error)
        error = get_section(decoder, &main, &payload, place);
    if (!error && block->header.flags & TP_BLOCK_ALLOCATIONS)
        error = get_allocations(decoder, &main, &payload, has_brief, place);
    if (error)
        return error;
    if (tp_wire_left(&payload))
        return fail(place, "bytes left over", 0, 0);
    uint32_t stood_in = main.slot_count - main.brief + main.unknown;
    if (stood_in > slots || (stood_in < slots && !main.unknown))
        return fail(place, "other slots than the header says", 0, 0);
    block->slots = main.slots;
    block->slot_count = main.slot_count;
    block->record_count = main.records - main.unknown;
    block->unknown_records = main.unknown + open.unknown;
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
        if (!decoder->grow)
            return -ENOMEM;
        decoder->payload_room = 0;
        if (!decoder->grow(&decoder->payload, round_up(size)))
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
    const unsigned known_flags =
        TP_BLOCK_ZSTD | TP_BLOCK_RECOVERED | TP_BLOCK_ALLOCATIONS | TP_BLOCK_BRIEF;
    struct tp_wire_in payload;
    int error = tp_block_header_read(&block.header, bytes, size, offset, diag);

    if (error)
        return error;
    if (block.header.type != TP_BLOCK_EVENTS)
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, offset + 6, "block of type %u, expected %u",
                            block.header.type, TP_BLOCK_EVENTS);
    if (block.header.flags & ~known_flags)
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, offset + 7,
                            "block with flags %02x, written by a later version",
                            block.header.flags);
    const uint8_t *stored = (const uint8_t *)bytes + block.header.header_size;
    uint32_t sum = tp_block_checksum(stored, block.header.stored_bytes);
    if (sum != block.header.checksum)
        return tp_diag_fail(diag, -TP_ECORRUPT, offset, "payload's checksum is %08x, expected %08x",
                            sum, block.header.checksum);
    if ((block.header.flags & (TP_BLOCK_BRIEF | TP_BLOCK_ALLOCATIONS)) == TP_BLOCK_BRIEF)
        return fail(&place, "brief records without a section of allocations", TP_EVENT_ALLOC,
                    TP_PACKED_BRIEF);
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
