/* SPDX-License-Identifier: MIT */
#include "trace/block.h"

#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "event/brief.h"
#include "trace/alloc_pack.h"
#include "trace/block_header.h"
#include "trace/column_encode.h"
#include "trace/wire.h"

/*
 * A block's payload is two sections of the same form, the ranges open before it and its records. A
 * section is surveyed once (where records begin, their kinds, counts), then each group looks at its
 * records' words to see which bits ever differ: columns that are all zero are left out, equal ones
 * are constants, and only the rest is gathered and put. All sizes follow from the table, so that
 * the workspace, made for the worst payload, never overflows; the puts are bounded all the same.
 */

/*
 * zstd's level 1 with longer matches and a larger table: on streams of operators 2 % smaller, 5 %
 * faster to write and 10 % to read. The window is as large as any payload: one call has all of it.
 */
static const ZSTD_compressionParameters compression = {
    .windowLog = 22,
    .chainLog = 14,
    .hashLog = 14,
    .searchLog = 1,
    .minMatch = 7,
    .targetLength = 0,
    .strategy = ZSTD_fast,
};

/*
 * Within a frame zstd has one table of codes for all bytes that no earlier ones foretell, and what
 * is random in one way gets the codes of what is random in another. So the planes of times, the
 * most random bytes there are, get frames of their own where they are worth the headers.
 */
#define FRAME_LEAST 512u
#define AHEAD 8u         /* records whose places in tables are fetched before */
#define PACKED_LEAST 16u /* allocations and frees in a block */
#define CUTS_MAX 128

#define RECORD_SLOTS_MAX 4
#define RECORD_WORDS_MAX (RECORD_SLOTS_MAX * TP_SLOT_WORDS)

#define TP_KIND(id, NAME, name, slots, role, class_, since, help)                                  \
    _Static_assert((slots) >= 1 && (slots) <= RECORD_SLOTS_MAX && (id) < 128,                      \
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

struct tp_block_encoder {
    uint32_t slots_max;
    struct look look;    /* at the common words of the section surveyed last */
    int64_t latest;      /* its latest time, in ticks since its first */
    uint32_t records;    /* of the section surveyed last */
    uint64_t *whole;     /* the block's records, where some of them are brief in the ring */
    bool *is_brief;      /* of those */
    size_t payload_size; /* capacity */
    uint8_t *payload;
    uint8_t *block;                  /* header, then room for payload_size bytes and padding */
    uint64_t *common[TP_SLOT_WORDS]; /* the words of each record's first slot, word by word */
    uint64_t *words;                 /* one word of each record of a kind */
    uint64_t *values;                /* a column of them */
    uint32_t *at;                    /* first slot of each record */
    uint8_t *kinds;                  /* and its kind */
    uint32_t *selected;              /* as at, of one kind */
    ZSTD_CCtx *zstd;
    uint32_t cuts[CUTS_MAX]; /* where in the payload a frame ends and another begins, rising */
    unsigned cut_count;
    struct tp_packer packer;
    bool is_packed; /* what is put has a section of allocations */
    struct fields fields[TP_EVENT_KIND_END];
    uint32_t counts[256]; /* records of each kind */
    uint8_t kind_slots[256];
};

static size_t align16(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

static size_t fields_worst(unsigned kind)
{
    size_t sum = 0;

    for (unsigned i = 0; i < tp_field_count; i++)
        if (tp_fields[i].kind == kind)
            sum += tp_column_worst(&tp_fields[i]);
    return sum;
}

static size_t payload_worst(size_t slots)
{
    size_t all = fields_worst(TP_EVENT_ALL), most = 0;

    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++) {
        size_t record = all + fields_worst(kind) + tp_packer_worst(kind);
        unsigned count = tp_packer_worst(kind) ? 1 : tp_kind_slots(kind); /* it may be brief */
        size_t per_slot = count ? (record + count - 1) / count : 0;
        most = per_slot > most ? per_slot : most;
    }
    return most * slots + 2 * 64 * (size_t)tp_field_count + 1024;
}

/* Takes @size bytes of the workspace; only counts them while there is none. */
struct room {
    uint8_t *bytes;
    size_t used;
};

static void *take(struct room *room, size_t size)
{
    void *bytes = room->bytes ? room->bytes + room->used : NULL;

    room->used += align16(size);
    return bytes;
}

static void take_buffers(struct tp_block_encoder *encoder, struct room *room, uint32_t slots)
{
    size_t section = slots > TP_BLOCK_OPEN_MAX ? slots : TP_BLOCK_OPEN_MAX;

    encoder->payload_size = payload_worst((size_t)slots + TP_BLOCK_OPEN_MAX);
    encoder->payload = take(room, encoder->payload_size);
    encoder->block = take(room, TP_BLOCK_HEADER_BYTES + encoder->payload_size + 8);
    for (unsigned word = 0; word < TP_SLOT_WORDS; word++)
        encoder->common[word] = take(room, section * sizeof(uint64_t));
    encoder->words = take(room, section * sizeof(uint64_t));
    encoder->values = take(room, section * sizeof(uint64_t));
    encoder->at = take(room, section * sizeof(*encoder->at));
    encoder->kinds = take(room, section);
    encoder->selected = take(room, (section + 1) * sizeof(*encoder->selected));
    encoder->whole = take(room, (size_t)slots * TP_BRIEF_WHOLE_SLOTS * TP_SLOT_BYTES);
    encoder->is_brief = take(room, slots * sizeof(*encoder->is_brief));
    size_t size = tp_packer_lay(&encoder->packer, NULL, slots);
    tp_packer_lay(&encoder->packer, take(room, size), slots);
}

size_t tp_block_encoder_size(uint32_t slots)
{
    struct tp_block_encoder counted;
    struct room room = {NULL, 0};

    take(&room, sizeof(counted));
    take_buffers(&counted, &room, slots);
    return room.used + align16(ZSTD_estimateCCtxSize_usingCParams(compression));
}

static ZSTD_CCtx *make_compressor(void *workspace, size_t size)
{
    ZSTD_CCtx *zstd = ZSTD_initStaticCCtx(workspace, size);

    if (!zstd)
        return NULL;
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, (int)compression.windowLog);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_chainLog, (int)compression.chainLog);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_hashLog, (int)compression.hashLog);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_searchLog, (int)compression.searchLog);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, (int)compression.minMatch);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_targetLength, (int)compression.targetLength);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_strategy, (int)compression.strategy);
    return zstd;
}

struct tp_block_encoder *tp_block_encoder_init(void *workspace, size_t size, uint32_t slots)
{
    struct room room = {workspace, 0};

    if (slots > TP_BLOCK_SLOTS_MAX || size < tp_block_encoder_size(slots) ||
        (uintptr_t)workspace % 16)
        return NULL;
    struct tp_block_encoder *encoder = take(&room, sizeof(*encoder));
    memset(encoder, 0, sizeof(*encoder));
    encoder->slots_max = slots;
    take_buffers(encoder, &room, slots);
    encoder->zstd = make_compressor(room.bytes + room.used, (size - room.used) & ~(size_t)15);
    for (unsigned i = tp_field_count; i-- > 0;) {
        encoder->fields[tp_fields[i].kind].first = &tp_fields[i];
        encoder->fields[tp_fields[i].kind].count++;
    }
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        encoder->kind_slots[kind] = tp_is_brief(kind) ? 0 : (uint8_t)tp_kind_slots(kind);
    return encoder->zstd ? encoder : NULL;
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

/* A frame for each plane of the column that ends at @end. */
static void cut_planes(struct tp_block_encoder *encoder, const uint8_t *end,
                       struct tp_planes planes)
{
    uint32_t at = (uint32_t)(end - encoder->payload);

    if (planes.bytes < FRAME_LEAST || encoder->cut_count + planes.count + 1 > CUTS_MAX)
        return;
    for (uint32_t i = planes.count + 1; i-- > 0;)
        encoder->cuts[encoder->cut_count++] = at - i * planes.bytes;
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
        if ((field->word == 0 || encoder->is_packed) && !out->full)
            cut_planes(encoder, out->at, planes);
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
    memcpy(encoder->look.any, any, sizeof(any));
    memcpy(encoder->look.differ, differ, sizeof(differ));
    return slot;
}

/*
 * Makes all records whole, up to one that is cut or of no known kind, without the flag that those
 * which were brief have. Returns the slots that were made; @ret_taken: of what.
 */
static uint32_t make_whole(struct tp_block_encoder *encoder, const struct tp_block_source *source,
                           uint32_t *ret_taken)
{
    const uint64_t *before = source->before;
    uint32_t slot = 0, made = 0, records = 0;

    for (unsigned step; slot < source->slot_count; slot += step, records++) {
        const uint64_t *record = source->slots + (size_t)slot * TP_SLOT_WORDS;
        uint64_t *whole = encoder->whole + (size_t)made * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record);
        bool is_brief = tp_is_brief(kind);
        step = is_brief ? 1 : encoder->kind_slots[kind];
        if (!step || step > source->slot_count - slot)
            break;
        if (!is_brief) {
            memcpy(whole, record, step * TP_SLOT_BYTES);
        } else {
            tp_brief_expand(record, before, whole);
            if (kind == TP_EVENT_ALLOC_BRIEF)
                whole[6] &= ~((uint64_t)TP_ALLOC_UNTIMED << TP_ALLOC_FLAGS_SHIFT);
            else
                whole[5] &= ~(uint64_t)TP_ALLOC_UNTIMED;
        }
        encoder->is_brief[records] = is_brief;
        made += is_brief ? TP_BRIEF_WHOLE_SLOTS : step;
        before = whole;
    }
    *ret_taken = slot;
    return made;
}

static void select_kind(struct tp_block_encoder *encoder, unsigned kind)
{
    const uint8_t *const kinds = encoder->kinds;
    const uint32_t *const at = encoder->at;
    uint32_t *const selected = encoder->selected;
    uint32_t count = 0, records = encoder->records;

    for (uint32_t i = 0; i < records; i++) {
        selected[count] = at[i];
        count += kinds[i] == kind;
    }
}

/*
 * Whether so many allocations and frees that it is worth it. Of samples nothing is foretold: what
 * comes between them is not recorded.
 */
static bool is_to_be_packed(const struct tp_block_encoder *encoder, const uint64_t *slots)
{
    uint32_t allocs = encoder->counts[TP_EVENT_ALLOC],
             all = allocs + encoder->counts[TP_EVENT_FREE];

    if (all < PACKED_LEAST || all < encoder->records / 8)
        return false;
    for (uint32_t i = 0; allocs && i < encoder->records; i++)
        if (encoder->kinds[i] == TP_EVENT_ALLOC)
            return !slots[(size_t)encoder->at[i] * TP_SLOT_WORDS + 7];
    return true;
}

static bool is_allocation(unsigned kind)
{
    return kind == TP_EVENT_ALLOC || kind == TP_EVENT_FREE;
}

/* The common words of all records, and what is unequal among them, without what is foretold. */
static void pack(struct tp_block_encoder *encoder, const uint64_t *slots, bool has_brief)
{
    struct look *look = &encoder->look;

    memset(look, 0, sizeof(*look));
    tp_packer_begin(&encoder->packer, encoder->counts[TP_EVENT_ALLOC],
                    encoder->counts[TP_EVENT_FREE], slots, has_brief);
    for (uint32_t i = 0; i < encoder->records; i++) {
        const uint64_t *record = slots + (size_t)encoder->at[i] * TP_SLOT_WORDS;
        uint64_t common[TP_SLOT_WORDS];
        memcpy(common, record, sizeof(common));
        if (i + AHEAD < encoder->records && is_allocation(encoder->kinds[i + AHEAD]))
            tp_packer_expect(&encoder->packer,
                             slots[(size_t)encoder->at[i + AHEAD] * TP_SLOT_WORDS + 4]);
        tp_packer_put(&encoder->packer, encoder->kinds[i], has_brief && encoder->is_brief[i],
                      common, record + TP_SLOT_WORDS);
        for (unsigned w = 0; w < TP_SLOT_WORDS; w++) {
            encoder->common[w][i] = common[w];
            look->any[w] |= common[w];
            look->differ[w] |= common[w] ^ encoder->common[w][0];
        }
    }
    tp_packer_end(&encoder->packer);
}

/* Leaves out what the section of allocations has. */
static void leave_packed(struct look *look, unsigned kind)
{
    if (!is_allocation(kind))
        return;
    look->any[4] = 0;
    if (kind == TP_EVENT_ALLOC) {
        look->any[5] = 0;
        look->any[6] &= ~TP_SLACK_MASK;
    }
}

/* Puts the section whose records were surveyed last. */
static int put_groups(struct tp_block_encoder *encoder, struct tp_wire_out *out,
                      const uint64_t *slots)
{
    struct look look;

    tp_wire_put_varint(out, encoder->records);
    uint8_t *group_count = out->at;
    tp_wire_put_u8(out, 0);
    unsigned groups =
        put_group(encoder, out, slots, TP_EVENT_ALL, encoder->records, &encoder->look);
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++) {
        uint32_t count = encoder->counts[kind];
        if (!count || !encoder->fields[kind].count)
            continue;
        select_kind(encoder, kind);
        look_at(&look, slots, encoder->selected, count, tp_kind_slots(kind) * TP_SLOT_WORDS);
        if (encoder->is_packed)
            leave_packed(&look, kind);
        groups += put_group(encoder, out, slots, kind, count, &look);
    }
    if (out->full)
        return -TP_ELIMIT;
    *group_count = (uint8_t)groups;
    return 0;
}

static uint64_t bits_of(uint64_t value)
{
    return 64 - (unsigned)__builtin_clzll(value | 1);
}

/* Whether addresses mostly are nearer to the one before than to the lowest of them. */
static bool is_in_steps(const uint64_t *values, uint32_t count)
{
    uint64_t least = UINT64_MAX, steps = 0, offsets = 0;

    for (uint32_t i = 0; i < count; i++)
        least = values[i] < least ? values[i] : least;
    for (uint32_t i = 1; i < count; i++) {
        steps += bits_of(tp_wire_zigzag(values[i] - values[i - 1]));
        offsets += bits_of(values[i] - least);
    }
    return steps < offsets;
}

/* A column of addresses that are not all equal, as differences. */
static struct tp_planes put_steps(struct tp_block_encoder *encoder, struct tp_wire_out *out,
                                  enum tp_packed column, const uint64_t *values, uint32_t count)
{
    const struct tp_field_info field = {
        .column = (uint8_t)column, .bits = 64, .encoding = TP_ENCODING_PLANES_DELTA};
    uint64_t any = 0, differ = 0;

    for (uint32_t i = 0; i < count; i++) {
        any |= values[i];
        differ |= values[i] ^ values[0];
    }
    return tp_column_put(out, &field, values, count, any, differ, encoder->values);
}

/* Sizes are few in most programs, then they have codes; where none is frequent that is in vain. */
static bool is_noise(enum tp_packed column, const uint64_t *values, uint32_t count)
{
    uint32_t seen[256] = {0}, most = 0;

    if (column == TP_PACKED_FREE_BYTES || column == TP_PACKED_ALLOC_SLACK)
        return false;
    if (column != TP_PACKED_ALLOC_ASKED)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t seen_now = ++seen[values[i] & 0xff];
        most = seen_now > most ? seen_now : most;
    }
    return most < count / 64;
}

/* A column of the section of allocations. Returns false where it has no values. */
static bool put_packed_column(struct tp_block_encoder *encoder, struct tp_wire_out *out,
                              enum tp_packed column)
{
    const struct tp_packer *packer = &encoder->packer;
    const uint64_t *values = packer->columns[column];
    uint32_t count = packer->counts[column];
    bool is_address = column == TP_PACKED_ALLOC_ADDRESS || column == TP_PACKED_FREE_ADDRESS;

    if (!count)
        return false;
    tp_wire_put_varint(out, count);
    struct tp_planes planes =
        is_address && is_in_steps(values, count)
            ? put_steps(encoder, out, column, values, count)
            : tp_column_put_packed(out, (uint8_t)column, values, count,
                                   is_noise(column, values, count), encoder->values);
    if (!out->full)
        cut_planes(encoder, out->at, planes);
    return true;
}

/* The section of allocations. */
static int put_packed(struct tp_block_encoder *encoder, struct tp_wire_out *out)
{
    uint8_t *column_count = out->at, columns = 0;

    tp_wire_put_u8(out, 0);
    for (unsigned column = 1; column < TP_PACKED_END; column++)
        columns += put_packed_column(encoder, out, column);
    if (out->full)
        return -TP_ELIMIT;
    *column_count = columns;
    return 0;
}

static int put_open(struct tp_block_encoder *encoder, struct tp_wire_out *out, const uint64_t *open,
                    uint32_t open_slots)
{
    encoder->is_packed = false;
    return survey(encoder, open, open_slots) < open_slots ? -TP_ECORRUPT
                                                          : put_groups(encoder, out, open);
}

/* Surveys the block's records, whole ones: where they are is @ret_slots. Returns how many slots of
 * the source were taken. */
static uint32_t take_records(struct tp_block_encoder *encoder, const struct tp_block_source *source,
                             bool *ret_has_brief, const uint64_t **ret_slots)
{
    uint32_t taken = survey(encoder, source->slots, source->slot_count);
    bool has_brief = taken < source->slot_count &&
                     tp_is_brief(tp_slot_kind(source->slots + (size_t)taken * TP_SLOT_WORDS));

    *ret_slots = source->slots;
    *ret_has_brief = has_brief;
    if (has_brief) {
        *ret_slots = encoder->whole;
        survey(encoder, encoder->whole, make_whole(encoder, source, &taken));
    }
    return taken;
}

static int put_records(struct tp_block_encoder *encoder, struct tp_wire_out *out,
                       const uint64_t *slots, bool has_brief)
{
    encoder->is_packed = has_brief || is_to_be_packed(encoder, slots);
    if (encoder->is_packed)
        pack(encoder, slots, has_brief);
    int error = put_groups(encoder, out, slots);
    return error || !encoder->is_packed ? error : put_packed(encoder, out);
}

static uint32_t sum_lost(const struct tp_block_encoder *encoder, const uint64_t *slots)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; encoder->counts[TP_EVENT_LOST] && i < encoder->records; i++)
        if (encoder->kinds[i] == TP_EVENT_LOST) {
            uint64_t lost = slots[(size_t)encoder->at[i] * TP_SLOT_WORDS + 4];
            sum = lost > UINT32_MAX - sum ? UINT32_MAX : sum + lost;
        }
    return (uint32_t)sum;
}

/* The payload as frames. Returns their bytes, or what zstd says is wrong. */
static size_t compress_frames(struct tp_block_encoder *encoder, uint8_t *stored,
                              uint32_t payload_bytes)
{
    size_t size = 0;

    for (uint32_t i = 0, from = 0, to; i <= encoder->cut_count; i++, from = to) {
        to = i < encoder->cut_count ? encoder->cuts[i] : payload_bytes;
        if (to == from)
            continue;
        size_t frame = ZSTD_compress2(encoder->zstd, stored + size, encoder->payload_size - size,
                                      encoder->payload + from, to - from);
        if (ZSTD_isError(frame))
            return frame;
        size += frame;
    }
    return size;
}

/* Compresses where that helps. Returns the bytes stored. */
static uint32_t store_payload(struct tp_block_encoder *encoder, struct tp_block_header *header)
{
    uint8_t *stored = encoder->block + TP_BLOCK_HEADER_BYTES;
    size_t size = compress_frames(encoder, stored, header->payload_bytes);

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
    const uint64_t *slots;
    bool has_brief;

    if (source->slot_count > encoder->slots_max || source->open_slots > TP_BLOCK_OPEN_MAX)
        return -TP_ELIMIT;
    encoder->cut_count = 0;
    int error = put_open(encoder, &out, source->open, source->open_slots);
    if (error)
        return error;
    uint32_t taken = take_records(encoder, source, &has_brief, &slots), records = encoder->records;
    if (source->slot_count && !taken)
        return -TP_ECORRUPT;
    const uint64_t *last =
        records ? slots + (size_t)encoder->at[records - 1] * TP_SLOT_WORDS : source->before;
    memcpy(ret_made->last, last, sizeof(ret_made->last));
    ret_made->slots = taken;
    error = put_records(encoder, &out, slots, has_brief);
    if (error)
        return error;
    uint64_t near = source->near_ticks;
    uint64_t first_ticks = records ? tp_ticks_unwrap(tp_slot_ticks(slots), near) : near;
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
        .lost = sum_lost(encoder, slots),
        .uuid_low = source->uuid_low,
    };
    finish(encoder, &header, ret_made);
    return 0;
}
