/* SPDX-License-Identifier: MIT */
#include "trace/block.h"

#include <string.h>

#include "event/brief.h"
#include "trace/block_header.h"
#include "trace/column_encode.h"
#include "trace/frames.h"
#include "trace/packed_encode.h"
#include "trace/room.h"
#include "trace/wire.h"

/*
 * A block's payload is two sections of the same form, the ranges open before it and its records. A
 * section is surveyed once (where records begin, their kinds, counts), then each group looks at its
 * records' words to see which bits ever differ: columns that are all zero are left out, equal ones
 * are constants, and only the rest is gathered and put. All sizes follow from the table, so that
 * the workspace, made for the worst payload, never overflows; the puts are bounded all the same.
 */

#define PACKED_LEAST 16u /* allocations and frees in a block */

#define RECORD_WORDS_MAX (TP_KIND_SLOTS_MAX * TP_SLOT_WORDS)

#define TP_KIND(id, NAME, name, slots, role, class_, since, help)                                  \
    _Static_assert((slots) >= 1 && (slots) <= TP_KIND_SLOTS_MAX && (id) < 128,                     \
                   "what a group is made for");
#include "event/event_kinds.def"

struct fields {
    const struct tp_field_info *first;
    uint32_t count;
};

/* The bits that some record has, and those that not all share, word by word. */
struct look {
    uint64_t any[RECORD_WORDS_MAX];
    uint64_t differ[RECORD_WORDS_MAX];
};

/* Records whose words are put as they are: all of a section, or what the packer leaves. */
struct listed {
    const uint8_t *kinds;
    const uint32_t *at; /* first slots */
    uint32_t count;
};

struct tp_block_encoder {
    uint32_t slots_max;
    struct look look;    /* at the common words of the section surveyed last */
    int64_t latest;      /* its latest time, in ticks since its first */
    uint32_t records;    /* of the section surveyed last */
    size_t payload_size; /* capacity */
    uint8_t *payload;
    uint8_t *block;                  /* header, then room for payload_size bytes and padding */
    uint64_t *common[TP_SLOT_WORDS]; /* the words of each record's first slot, word by word */
    uint64_t *words;                 /* one word of each record of a kind */
    uint64_t *values;                /* a column of them */
    uint32_t *at;                    /* first slot of each record */
    uint8_t *kinds;                  /* and its kind */
    struct listed listed;
    const uint64_t *slots; /* in which the listed ones are */
    uint32_t slot_count;
    uint64_t *copy;     /* of a source that others may write to */
    uint32_t *selected; /* as at, of one kind */
    struct tp_frames frames;
    struct tp_packer packer;
    bool is_packed; /* what is put has a section of allocations */
    struct fields fields[TP_EVENT_KIND_END];
    uint32_t counts[256]; /* records of each kind */
    uint8_t kind_slots[256];
};

static size_t fields_worst(unsigned kind)
{
    size_t sum = 0;

    for (unsigned i = 0; i < tp_field_count; i++)
        if (tp_fields[i].kind == kind)
            sum += tp_column_worst(&tp_fields[i]);
    return sum;
}

/* @may_be_brief: allocations and frees may take one slot. */
static size_t section_worst(size_t slots, bool may_be_brief)
{
    size_t all = fields_worst(TP_EVENT_ALL), most = 0;

    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++) {
        size_t packed = tp_packer_worst(kind), record = all + fields_worst(kind) + packed;
        unsigned count = packed && may_be_brief ? 1 : tp_kind_slots(kind);
        size_t per_slot = count ? (record + count - 1) / count : 0;
        most = per_slot > most ? per_slot : most;
    }
    return most * slots + 64 * (size_t)tp_field_count + 512;
}

static void take_buffers(struct tp_block_encoder *encoder, struct tp_room *room, uint32_t slots)
{
    size_t section = slots > TP_BLOCK_OPEN_MAX ? slots : TP_BLOCK_OPEN_MAX;

    encoder->payload_size = section_worst(slots, true) + section_worst(TP_BLOCK_OPEN_MAX, false);
    encoder->payload = tp_room_take(room, encoder->payload_size);
    encoder->block = tp_room_take(room, TP_BLOCK_HEADER_BYTES + encoder->payload_size + 8);
    for (unsigned word = 0; word < TP_SLOT_WORDS; word++)
        encoder->common[word] = tp_room_take(room, section * sizeof(uint64_t));
    encoder->words = tp_room_take(room, section * sizeof(uint64_t));
    encoder->values = tp_room_take(room, section * sizeof(uint64_t));
    encoder->at = tp_room_take(room, section * sizeof(*encoder->at));
    encoder->kinds = tp_room_take(room, section);
    encoder->selected = tp_room_take(room, (section + 1) * sizeof(*encoder->selected));
    encoder->copy = tp_room_take(room, (size_t)slots * TP_SLOT_BYTES);
    size_t size = tp_packer_lay(&encoder->packer, NULL, slots);
    tp_packer_lay(&encoder->packer, tp_room_take(room, size), slots);
}

size_t tp_block_encoder_size(uint32_t slots)
{
    struct tp_block_encoder counted;
    struct tp_room room = {NULL, 0};

    tp_room_take(&room, sizeof(counted));
    take_buffers(&counted, &room, slots);
    tp_room_take(&room, tp_frames_workspace());
    return room.used;
}

struct tp_block_encoder *tp_block_encoder_init(void *workspace, size_t size, uint32_t slots)
{
    struct tp_room room = {workspace, 0};

    if (slots > TP_BLOCK_SLOTS_MAX || size < tp_block_encoder_size(slots) ||
        (uintptr_t)workspace % 16)
        return NULL;
    struct tp_block_encoder *encoder = tp_room_take(&room, sizeof(*encoder));
    memset(encoder, 0, sizeof(*encoder));
    encoder->slots_max = slots;
    take_buffers(encoder, &room, slots);
    bool is_ready =
        tp_frames_init(&encoder->frames, room.base + room.used, (size - room.used) & ~(size_t)15);
    for (unsigned i = tp_field_count; i-- > 0;) {
        encoder->fields[tp_fields[i].kind].first = &tp_fields[i];
        encoder->fields[tp_fields[i].kind].count++;
    }
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        encoder->kind_slots[kind] = tp_is_brief(kind) ? 0 : (uint8_t)tp_kind_slots(kind);
    return is_ready ? encoder : NULL;
}

/* Of the records at @at, in one pass over all their words. */
static inline __attribute__((always_inline)) void look_at_words(struct look *look,
                                                                const uint64_t *slots,
                                                                const uint32_t *at, uint32_t count,
                                                                unsigned words)
{
    const uint64_t *first = slots + (size_t)at[0] * TP_SLOT_WORDS;

    memset(look, 0, sizeof(*look));
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *record = slots + (size_t)at[i] * TP_SLOT_WORDS;
        for (unsigned w = 0; w < words; w++) {
            look->any[w] |= record[w];
            look->differ[w] |= record[w] ^ first[w];
        }
    }
}

/* The usual lengths apart, so that the compiler keeps the words in registers. */
static void look_at(struct look *look, const uint64_t *slots, const uint32_t *at, uint32_t count,
                    unsigned words)
{
    if (words == 4)
        look_at_words(look, slots, at, count, 4);
    else if (words == 8)
        look_at_words(look, slots, at, count, 8);
    else
        look_at_words(look, slots, at, count, words);
}

/* One word of each record of the kind selected last, side by side. */
static const uint64_t *gather(struct tp_block_encoder *encoder, const uint64_t *slots,
                              uint32_t count, unsigned word)
{
    const uint32_t *const at = encoder->selected;
    uint64_t *const words = encoder->words;

    for (uint32_t i = 0; i < count; i++)
        words[i] = slots[(size_t)at[i] * TP_SLOT_WORDS + word];
    return words;
}

/* Returns the groups put: 0 when all columns are zero. */
static unsigned put_group(struct tp_block_encoder *encoder, struct tp_wire_out *out,
                          const uint64_t *slots, unsigned kind, uint32_t count,
                          const struct look *look)
{
    const struct fields *fields = &encoder->fields[kind];
    struct tp_wire_out before = *out;
    unsigned columns = 0;

    tp_wire_put_u8(out, (uint8_t)kind);
    tp_wire_put_varint(out, count);
    uint8_t *column_count = out->at;
    tp_wire_put_u8(out, 0);
    for (uint32_t i = 0; i < fields->count && count; i++) {
        const struct tp_field_info *field = &fields->first[i];
        uint64_t mask = tp_field_mask(field), any = look->any[field->word] >> field->shift & mask;
        uint64_t differ = look->differ[field->word] >> field->shift & mask;
        if (!any)
            continue;
        const uint64_t *words = !differ                ? NULL
                                : kind == TP_EVENT_ALL ? encoder->common[field->word]
                                                       : gather(encoder, slots, count, field->word);
        struct tp_planes planes =
            tp_column_put(out, field, words, count, any, differ, encoder->values);
        if (field->word == 0 || encoder->is_packed)
            tp_frames_cut(&encoder->frames, out, planes, encoder->is_packed);
        columns++;
    }
    if (!columns && kind != TP_EVENT_ALL) {
        *out = before;
        return 0;
    }
    if (!out->full)
        *column_count = (uint8_t)columns;
    return 1;
}

/*
 * Each record's place depends on the one before, so that the processor mostly waits here: all that
 * is wanted of the common words is collected on the way. Ends before a record that is cut, brief or
 * of no known kind. Returns the slots that were surveyed.
 */
static uint32_t survey(struct tp_block_encoder *encoder, const uint64_t *slots, uint32_t slot_count)
{
    uint64_t *const word0 = encoder->common[0], *const word1 = encoder->common[1];
    uint64_t *const word2 = encoder->common[2], *const word3 = encoder->common[3];
    uint32_t *const at = encoder->at;
    uint8_t *const kinds = encoder->kinds;
    uint64_t any[TP_SLOT_WORDS] = {0}, differ[TP_SLOT_WORDS] = {0},
             before = slot_count ? slots[0] : 0;
    int64_t since_first = 0, latest = 0;
    uint32_t slot = 0, records = 0;

    memset(encoder->counts, 0, sizeof(encoder->counts));
    for (unsigned step; slot < slot_count; slot += step, records++) {
        const uint64_t *record = slots + (size_t)slot * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record);
        step = encoder->kind_slots[kind];
        if (!step || step > slot_count - slot)
            break;
        at[records] = slot;
        kinds[records] = (uint8_t)kind;
        encoder->counts[kind]++;
        word0[records] = record[0];
        word1[records] = record[1];
        word2[records] = record[2];
        word3[records] = record[3];
        for (unsigned w = 0; w < TP_SLOT_WORDS; w++) {
            any[w] |= record[w];
            differ[w] |= record[w] ^ slots[w];
        }
        since_first += (int64_t)((record[0] - before) << 8) >> 8;
        latest = since_first > latest ? since_first : latest;
        before = record[0];
    }
    encoder->records = records;
    encoder->latest = latest;
    encoder->listed = (struct listed){kinds, at, records};
    encoder->slots = slots;
    encoder->slot_count = slot;
    memcpy(encoder->look.any, any, sizeof(any));
    memcpy(encoder->look.differ, differ, sizeof(differ));
    return slot;
}

/* Returns how many of the listed records are of @kind; they are selected. */
static uint32_t select_kind(struct tp_block_encoder *encoder, unsigned kind)
{
    const uint8_t *const kinds = encoder->listed.kinds;
    const uint32_t *const at = encoder->listed.at;
    uint32_t *const selected = encoder->selected;
    uint32_t count = 0, records = encoder->listed.count;

    for (uint32_t i = 0; i < records; i++) {
        selected[count] = at[i];
        count += kinds[i] == kind;
    }
    return count;
}

/*
 * Whether so many allocations and frees that it is worth it. Of samples nothing is foretold: what
 * comes between them is not recorded.
 */
static bool is_worth_packing(uint32_t allocations, uint32_t records, uint64_t first_period)
{
    return allocations >= PACKED_LEAST && allocations >= records / 8 && !first_period;
}

/* The same of the records that were surveyed. */
static bool is_to_be_packed(const struct tp_block_encoder *encoder, const uint64_t *slots)
{
    uint32_t allocs = encoder->counts[TP_EVENT_ALLOC];
    uint64_t period = 0;

    for (uint32_t i = 0; allocs && i < encoder->records; i++)
        if (encoder->kinds[i] == TP_EVENT_ALLOC) {
            period = slots[(size_t)encoder->at[i] * TP_SLOT_WORDS + 7];
            break;
        }
    return is_worth_packing(allocs + encoder->counts[TP_EVENT_FREE], encoder->records, period);
}

/* The source's records are taken apart. Returns the slots taken. */
static uint32_t pack(struct tp_block_encoder *encoder, const struct tp_block_source *source)
{
    struct tp_packer *packer = &encoder->packer;
    uint32_t taken = tp_packer_take(packer, source);

    encoder->is_packed =
        packer->briefs || is_worth_packing(packer->allocs + packer->frees, packer->records,
                                           tp_packer_first_period(packer));
    encoder->records = packer->records;
    encoder->latest = packer->latest;
    encoder->slots = packer->other_slots;
    encoder->slot_count = packer->other_slot_count;
    encoder->listed = (struct listed){packer->other_kinds, packer->other_at, packer->others};
    memset(encoder->counts, 0, sizeof(encoder->counts));
    encoder->counts[TP_EVENT_ALLOC] = packer->allocs;
    encoder->counts[TP_EVENT_FREE] = packer->frees;
    for (uint32_t i = 0; i < packer->others; i++)
        encoder->counts[packer->other_kinds[i]]++;
    return taken;
}

/* The source's slots in one piece that nobody else writes to. */
static struct tp_block_source make_own(const struct tp_block_encoder *encoder,
                                       const struct tp_block_source *source)
{
    struct tp_block_source own = *source;

    if (!source->is_shared && !source->more_count)
        return own;
    if (source->slot_count)
        memcpy(encoder->copy, source->slots, source->slot_count * (size_t)TP_SLOT_BYTES);
    if (source->more_count)
        memcpy(encoder->copy + (size_t)source->slot_count * TP_SLOT_WORDS, source->more,
               source->more_count * (size_t)TP_SLOT_BYTES);
    own.slots = encoder->copy;
    own.slot_count += source->more_count;
    own.more_count = 0;
    return own;
}

/* Surveys the source's records, or packs them. After a block that was packed the next one mostly is
 * as well. Returns the slots taken. */
static uint32_t take_records(struct tp_block_encoder *encoder, const struct tp_block_source *source,
                             bool was_packed)
{
    if (was_packed && source->slot_count) {
        uint32_t taken = pack(encoder, source);
        if (encoder->is_packed)
            return taken;
    }
    struct tp_block_source own = make_own(encoder, source);
    uint32_t taken = survey(encoder, own.slots, own.slot_count);
    if (is_to_be_packed(encoder, own.slots) ||
        (taken < own.slot_count &&
         tp_is_brief(tp_slot_kind(own.slots + (size_t)taken * TP_SLOT_WORDS))))
        return pack(encoder, &own);
    return taken;
}

static bool is_of_packer(const struct tp_block_encoder *encoder, unsigned kind)
{
    return encoder->is_packed &&
           (kind == TP_EVENT_ALL || kind == TP_EVENT_ALLOC || kind == TP_EVENT_FREE);
}

static struct tp_packed_out packed_out(struct tp_block_encoder *encoder, struct tp_wire_out *out)
{
    return (struct tp_packed_out){.out = out,
                                  .frames = &encoder->frames,
                                  .words = encoder->words,
                                  .values = encoder->values,
                                  .scratch = encoder->selected};
}

/* The group of @count records of @kind. Returns the groups put. */
static unsigned put_group_of(struct tp_block_encoder *encoder, struct tp_wire_out *out,
                             unsigned kind, uint32_t count)
{
    const uint64_t *slots = encoder->slots;
    struct look look;

    if (is_of_packer(encoder, kind)) {
        struct tp_packed_out to = packed_out(encoder, out);
        return tp_packed_put_group(&to, &encoder->packer, kind, count);
    }
    if (kind == TP_EVENT_ALL)
        return put_group(encoder, out, slots, kind, count, &encoder->look);
    select_kind(encoder, kind);
    look_at(&look, slots, encoder->selected, count, tp_kind_slots(kind) * TP_SLOT_WORDS);
    return put_group(encoder, out, slots, kind, count, &look);
}

/* Puts the section whose records were surveyed or packed last. */
static int put_groups(struct tp_block_encoder *encoder, struct tp_wire_out *out)
{
    tp_wire_put_varint(out, encoder->records);
    uint8_t *group_count = out->at;
    tp_wire_put_u8(out, 0);
    unsigned groups = put_group_of(encoder, out, TP_EVENT_ALL, encoder->records);
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        if (encoder->counts[kind] && encoder->fields[kind].count)
            groups += put_group_of(encoder, out, kind, encoder->counts[kind]);
    if (out->full)
        return -TP_ELIMIT;
    *group_count = (uint8_t)groups;
    return 0;
}

static int put_open(struct tp_block_encoder *encoder, struct tp_wire_out *out, const uint64_t *open,
                    uint32_t open_slots)
{
    encoder->is_packed = false;
    return survey(encoder, open, open_slots) < open_slots ? -TP_ECORRUPT : put_groups(encoder, out);
}

static int put_records(struct tp_block_encoder *encoder, struct tp_wire_out *out)
{
    int error = put_groups(encoder, out);

    if (error || !encoder->is_packed)
        return error;
    struct tp_packed_out to = packed_out(encoder, out);
    tp_packed_put_section(&to, &encoder->packer);
    return out->full ? -TP_ELIMIT : 0;
}

static bool has_ranges(const struct tp_block_encoder *encoder)
{
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        if (encoder->counts[kind] &&
            (tp_kinds[kind].role == TP_ROLE_BEGIN || tp_kinds[kind].role == TP_ROLE_END))
            return true;
    return false;
}

/* What the caller goes on with. */
static void tell(const struct tp_block_encoder *encoder, const struct tp_block_source *source,
                 struct tp_block_made *made)
{
    uint32_t records = encoder->records;
    const uint64_t *last = source->before;

    if (encoder->is_packed)
        last = encoder->packer.last;
    else if (records)
        last = encoder->slots + (size_t)encoder->at[records - 1] * TP_SLOT_WORDS;
    memcpy(made->last, last, sizeof(made->last));
    made->ranges = encoder->slots;
    made->range_slots = has_ranges(encoder) ? encoder->slot_count : 0;
}

static uint32_t sum_lost(const struct tp_block_encoder *encoder)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; encoder->counts[TP_EVENT_LOST] && i < encoder->listed.count; i++)
        if (encoder->listed.kinds[i] == TP_EVENT_LOST) {
            uint64_t lost = encoder->slots[(size_t)encoder->listed.at[i] * TP_SLOT_WORDS + 4];
            sum = lost > UINT32_MAX - sum ? UINT32_MAX : sum + lost;
        }
    return (uint32_t)sum;
}

static uint64_t get_first_ticks(const struct tp_block_encoder *encoder, uint64_t near)
{
    if (!encoder->records)
        return near;
    return tp_ticks_unwrap(
        encoder->is_packed ? encoder->packer.first_ticks : tp_slot_ticks(encoder->slots), near);
}

/* Compresses where that helps. Returns the bytes stored. */
static uint32_t store_payload(struct tp_block_encoder *encoder, struct tp_block_header *header)
{
    uint8_t *stored = encoder->block + TP_BLOCK_HEADER_BYTES;
    size_t size =
        tp_frames_compress(&encoder->frames, header->payload_bytes, stored, encoder->payload_size);

    if (!ZSTD_isError(size) && size < header->payload_bytes) {
        header->flags |= TP_BLOCK_ZSTD;
        return (uint32_t)size;
    }
    memcpy(stored, encoder->payload, header->payload_bytes);
    return header->payload_bytes;
}

static void finish(struct tp_block_encoder *encoder, struct tp_block_header *header,
                   struct tp_block_made *made)
{
    uint32_t stored = store_payload(encoder, header);

    tp_block_header_write(encoder->block, header, encoder->block + TP_BLOCK_HEADER_BYTES, stored);
    memset(encoder->block + TP_BLOCK_HEADER_BYTES + stored, 0, 8);
    made->bytes = encoder->block;
    made->size = tp_block_stride(header);
}

int tp_block_encode(struct tp_block_encoder *encoder, const struct tp_block_source *source,
                    struct tp_block_made *ret_made)
{
    struct tp_wire_out out = {encoder->payload, encoder->payload + encoder->payload_size, false};
    uint64_t slot_count = (uint64_t)source->slot_count + source->more_count;
    bool was_packed = encoder->is_packed;

    if (slot_count > encoder->slots_max || source->open_slots > TP_BLOCK_OPEN_MAX)
        return -TP_ELIMIT;
    tp_frames_begin(&encoder->frames, encoder->payload);
    int error = put_open(encoder, &out, source->open, source->open_slots);
    if (error)
        return error;
    uint32_t taken = take_records(encoder, source, was_packed);
    if (slot_count && !taken)
        return -TP_ECORRUPT;
    ret_made->slots = taken;
    tell(encoder, source, ret_made);
    error = put_records(encoder, &out);
    if (error)
        return error;
    bool has_brief = encoder->is_packed && encoder->packer.briefs;
    uint64_t first_ticks = get_first_ticks(encoder, source->near_ticks);
    struct tp_block_header header = {
        .type = TP_BLOCK_EVENTS,
        .flags = (uint8_t)((source->flags & TP_BLOCK_RECOVERED) |
                           (encoder->is_packed ? TP_BLOCK_ALLOCATIONS : 0) |
                           (has_brief ? TP_BLOCK_BRIEF : 0)),
        .payload_bytes = (uint32_t)(out.at - encoder->payload),
        .slots = taken,
        .track = source->track,
        .first_slot = source->first_slot,
        .first_ticks = first_ticks,
        .last_ticks = first_ticks + (uint64_t)encoder->latest,
        .lost = sum_lost(encoder),
        .uuid_low = source->uuid_low,
    };
    finish(encoder, &header, ret_made);
    return 0;
}
