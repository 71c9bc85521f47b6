/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <zstd.h>

#include "event/brief.h"
#include "records.h"
#include "trace/block.h"
#include "unit.h"

#define SLOTS 4096u

static struct tp_block_encoder *encoder;
static struct tp_block_decoder *decoder;
static void *workspace;
static uint64_t slots[SLOTS * TP_SLOT_WORDS], open[256 * TP_SLOT_WORDS];
static uint64_t whole[TP_BRIEF_WHOLE_SLOTS * SLOTS * TP_SLOT_WORDS];
static uint64_t earlier[TP_SLOT_WORDS]; /* what was before; zeros where a test does not set it */
static const void *bytes;
static size_t size;
static uint32_t taken;
static uint64_t last[TP_SLOT_WORDS];
static struct tp_block block;
static struct tp_diag diag;

static void setup(void)
{
    size_t workspace_size = tp_block_encoder_size(SLOTS);

    ck_assert_int_eq(posix_memalign(&workspace, 16, workspace_size), 0);
    encoder = tp_block_encoder_init(workspace, workspace_size, SLOTS);
    ck_assert_ptr_nonnull(encoder);
    decoder = tp_block_decoder_create();
    ck_assert_ptr_nonnull(decoder);
}

static void teardown(void)
{
    tp_block_decoder_destroy(decoder);
    free(workspace);
}

static int encode_with(struct tp_block_encoder *with, const struct tp_block_source *source)
{
    struct tp_block_made made;
    int error = tp_block_encode(with, source, &made);

    if (error)
        return error;
    bytes = made.bytes;
    size = made.size;
    taken = made.slots;
    memcpy(last, made.last, sizeof(last));
    return 0;
}

static int encode(uint32_t count, uint32_t open_count, uint64_t near_ticks)
{
    struct tp_block_source source = {.track = 7,
                                     .uuid_low = 0x01020304,
                                     .first_slot = 1000,
                                     .slots = slots,
                                     .slot_count = count,
                                     .open = open,
                                     .open_slots = open_count,
                                     .near_ticks = near_ticks};

    memcpy(source.before, earlier, sizeof(earlier));
    return encode_with(encoder, &source);
}

static void decode(void)
{
    int error = tp_block_decode(decoder, bytes, size, 0, &block, &diag);

    ck_assert_msg(!error, "%s", diag.text);
}

static void check_round_trip(uint32_t count, uint32_t open_count)
{
    uint64_t then[TP_SLOT_WORDS];

    memcpy(then, earlier, sizeof(then));
    uint32_t whole_count = records_expand(slots, count, then, whole);
    ck_assert_int_eq(encode(count, open_count, tp_slot_ticks(slots)), 0);
    ck_assert_uint_eq(size % 8, 0);
    ck_assert_uint_eq(taken, count);
    ck_assert_mem_eq(last, then, sizeof(last));
    decode();
    ck_assert_uint_eq(block.header.slots, count);
    ck_assert_uint_eq(block.slot_count, whole_count);
    ck_assert_uint_eq(block.open_slots, open_count);
    ck_assert_uint_eq(block.unknown_records, 0);
    ck_assert_mem_eq(block.slots, whole, (size_t)whole_count * TP_SLOT_BYTES);
    ck_assert_mem_eq(block.open, open, (size_t)open_count * TP_SLOT_BYTES);
}

START_TEST(block_round_trip_is_identity_for_every_kind)
{
    struct random random = {random_seed("every kind")};

    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++) /* brief ones as well */
        for (unsigned style = 0; style < RECORDS_STYLE_END; style++)
            for (unsigned room = tp_kind_slots(kind); room < 800; room = room * 3 + 1)
                check_round_trip(records_mix(&random, slots, room, UINT64_C(1) << kind, style), 0);
}
END_TEST

START_TEST(block_round_trip_is_identity_for_mixed_kinds_and_open_ranges)
{
    struct random random = {random_seed("mixed kinds")};

    for (unsigned round = 0; round < 300; round++) {
        uint32_t room = (uint32_t)random_below(&random, round % 10 ? 64 : SLOTS + 1);
        uint32_t count = records_mix(&random, slots, room, records_kinds(TP_ROLE_NONE),
                                     round % RECORDS_STYLE_END);
        uint32_t open_count = records_mix(&random, open, (uint32_t)random_below(&random, 256),
                                          records_kinds(TP_ROLE_BEGIN), round % RECORDS_STYLE_END);
        check_round_trip(count, open_count);
    }
}
END_TEST

START_TEST(every_field_alone_comes_back)
{
    struct random random = {random_seed("every field")};

    for (unsigned i = 1; i < tp_field_count; i++) {
        const struct tp_field_info *field = &tp_fields[i];
        unsigned kind = field->kind ? field->kind : TP_EVENT_OP_BEGIN, step = tp_kind_slots(kind);
        uint64_t mask = UINT64_MAX >> (64 - field->bits);
        memset(slots, 0, sizeof(slots));
        for (unsigned record = 0; record < 100; record++) {
            uint64_t *slot = slots + (size_t)record * step * TP_SLOT_WORDS;
            slot[0] = (uint64_t)kind << 56;
            slot[field->word] |= (random_u64(&random) & mask) << field->shift;
        }
        check_round_trip(100 * step, 0);
    }
}
END_TEST

static void set_periods(uint32_t count, uint64_t period)
{
    for (uint32_t at = 0, step; at < count; at += step) {
        uint64_t *record = slots + (size_t)at * TP_SLOT_WORDS;
        step = tp_kind_slots(tp_slot_kind(record));
        if (tp_slot_kind(record) == TP_EVENT_ALLOC)
            record[7] = period;
    }
}

START_TEST(allocations_come_back_byte_for_byte)
{
    struct random random = {random_seed("allocations")};
    unsigned packed = 0;

    for (unsigned round = 0; round < 600; round++) {
        unsigned wildness = round % 3 ? (unsigned)random_below(&random, 128) : 0;
        uint32_t room = (uint32_t)random_below(&random, round % 10 ? 200 : SLOTS + 1);
        check_round_trip(records_heap(&random, slots, room, wildness), 0);
        packed += block.header.flags & TP_BLOCK_ALLOCATIONS ? 1 : 0;
    }
    ck_assert_uint_gt(packed, 300);
}
END_TEST

START_TEST(allocations_among_records_of_all_kinds_come_back)
{
    struct random random = {random_seed("allocations among others")};
    uint64_t few = UINT64_C(1) << TP_EVENT_ALLOC | UINT64_C(1) << TP_EVENT_FREE |
                   UINT64_C(1) << TP_EVENT_LOST | UINT64_C(1) << TP_EVENT_OP_BEGIN;
    unsigned packed = 0;

    for (unsigned round = 0; round < 300; round++) {
        uint32_t count = records_mix(&random, slots, 64 + (uint32_t)random_below(&random, 400), few,
                                     round % RECORDS_STYLE_END);
        if (round % 4)
            set_periods(count, 0);
        uint32_t open_count =
            records_mix(&random, open, 40, records_kinds(TP_ROLE_BEGIN), round % RECORDS_STYLE_END);
        check_round_trip(count, open_count);
        packed += block.header.flags & TP_BLOCK_ALLOCATIONS ? 1 : 0;
    }
    ck_assert_uint_gt(packed, 100);
}
END_TEST

START_TEST(allocations_foretell_each_other_samples_do_not)
{
    struct random random = {random_seed("foretold")};
    uint32_t count = records_heap(&random, slots, SLOTS, 0);

    check_round_trip(count, 0);
    size_t foretold = size;
    ck_assert_uint_eq(block.header.flags, TP_BLOCK_ZSTD | TP_BLOCK_ALLOCATIONS);
    set_periods(count, 524288);
    check_round_trip(count, 0);
    ck_assert_uint_eq(block.header.flags, TP_BLOCK_ZSTD);
    printf("# %zu bytes, %zu as they are\n", foretold, size);
    ck_assert_uint_lt(foretold * 3, size * 2);
    check_round_trip(records_heap(&random, slots, 20, 0), 0);
    ck_assert_uint_eq(block.header.flags & TP_BLOCK_ALLOCATIONS, 0); /* too few */
}
END_TEST

/* In pieces of memory of their own, so that a sanitizer sees each slot read behind them. */
static void encode_pieces(uint32_t count, uint32_t first)
{
    uint32_t second = count - first;
    uint64_t *pieces[2] = {malloc(first * TP_SLOT_BYTES + 1), malloc(second * TP_SLOT_BYTES + 1)};
    struct tp_block_source source = {.track = 7,
                                     .uuid_low = 0x01020304,
                                     .first_slot = 1000,
                                     .slots = pieces[0],
                                     .slot_count = first,
                                     .more = pieces[1],
                                     .more_count = second,
                                     .is_shared = true,
                                     .near_ticks = tp_slot_ticks(slots)};

    memcpy(pieces[0], slots, first * TP_SLOT_BYTES);
    memcpy(pieces[1], slots + (size_t)first * TP_SLOT_WORDS, second * TP_SLOT_BYTES);
    memcpy(source.before, earlier, sizeof(earlier));
    ck_assert_int_eq(encode_with(encoder, &source), 0);
    free(pieces[0]);
    free(pieces[1]);
}

START_TEST(where_a_ring_goes_around_makes_no_difference)
{
    struct random random = {random_seed("pieces")};
    static uint8_t expected[SLOTS * 64];
    uint64_t kinds = records_kinds(TP_ROLE_NONE);

    for (unsigned round = 0; round < 300; round++) {
        uint32_t count = round % 3 ? records_mix(&random, slots, 60, kinds, round / 3 % 6)
                                   : records_heap(&random, slots, round % 9 ? 60 : SLOTS, 3);
        count = records_shorten(&random, slots, count, 1 + (unsigned)random_below(&random, 4));
        check_round_trip(count, 0);
        size_t expected_size = size;
        ck_assert_uint_le(size, sizeof(expected));
        memcpy(expected, bytes, size);
        uint64_t last_then[TP_SLOT_WORDS];
        memcpy(last_then, last, sizeof(last));
        for (unsigned i = 0; i < 12; i++) {
            encode_pieces(count, (uint32_t)random_below(&random, count + 1));
            ck_assert_uint_eq(taken, count);
            ck_assert_mem_eq(last, last_then, sizeof(last));
            ck_assert_uint_eq(size, expected_size);
            ck_assert_mem_eq(bytes, expected, size);
        }
    }
}
END_TEST

static uint32_t count_ranges(const uint64_t *records, uint32_t count)
{
    uint32_t found = 0;

    for (uint32_t at = 0; at < count;) {
        const struct tp_kind_info *kind =
            &tp_kinds[tp_slot_kind(records + (size_t)at * TP_SLOT_WORDS)];
        found += kind->role == TP_ROLE_BEGIN || kind->role == TP_ROLE_END;
        at += kind->slots;
    }
    return found;
}

START_TEST(begins_and_ends_are_told)
{
    struct random random = {random_seed("ranges")};
    uint64_t kinds = records_kinds(TP_ROLE_NONE), points = records_kinds(TP_ROLE_POINT);

    for (unsigned round = 0; round < 200; round++) {
        uint32_t count = records_mix(&random, slots, 200, round % 4 ? kinds : points, RECORDS_WILD);
        if (round % 2)
            count = records_shorten(&random, slots, count, 3);
        struct tp_block_source source = {.slots = slots, .slot_count = count};
        struct tp_block_made made;
        ck_assert_int_eq(tp_block_encode(encoder, &source, &made), 0);
        ck_assert_uint_eq(count_ranges(made.ranges, made.range_slots), count_ranges(slots, count));
        if (round % 4 == 0)
            ck_assert_uint_eq(made.range_slots, 0);
    }
}
END_TEST

static void draw_before(struct random *random)
{
    records_mix(random, earlier, 1, UINT64_C(1) << TP_EVENT_OP_END, RECORDS_WILD);
}

START_TEST(brief_records_of_any_words_come_back_whole)
{
    struct random random = {random_seed("brief")};
    uint64_t kinds = records_kinds(TP_ROLE_NONE);

    for (unsigned round = 0; round < 600; round++) {
        uint32_t room = 1 + (uint32_t)random_below(&random, round % 10 ? 64 : SLOTS);
        draw_before(&random);
        uint32_t count = records_mix(&random, slots, room,
                                     round % 4 == 0   ? RECORDS_BRIEF
                                     : round % 4 == 1 ? RECORDS_BRIEF | (RECORDS_BRIEF >> 2)
                                                      : RECORDS_BRIEF | kinds,
                                     round / 4 % RECORDS_STYLE_END);
        uint32_t open_count = records_mix(&random, open, (uint32_t)random_below(&random, 256),
                                          records_kinds(TP_ROLE_BEGIN), RECORDS_WILD);
        check_round_trip(count, open_count);
    }
}
END_TEST

START_TEST(brief_records_of_an_allocator_come_back_whole)
{
    struct random random = {random_seed("brief allocations")};
    unsigned with_brief = 0;

    for (unsigned round = 0; round < 600; round++) {
        unsigned wildness = round % 3 ? (unsigned)random_below(&random, 128) : 0;
        uint32_t room = (uint32_t)random_below(&random, round % 10 ? 200 : SLOTS + 1);
        uint32_t count = records_heap(&random, slots, room, wildness);
        draw_before(&random);
        count = records_shorten(&random, slots, count, 1 + (unsigned)random_below(&random, 20));
        check_round_trip(count, 0);
        with_brief += block.header.flags & TP_BLOCK_BRIEF ? 1 : 0;
    }
    ck_assert_uint_gt(with_brief, 400);
}
END_TEST

START_TEST(brief_records_take_less_than_whole_ones)
{
    struct random random = {random_seed("brief size")};
    uint32_t count = records_heap(&random, slots, SLOTS, 0);

    check_round_trip(count, 0);
    size_t whole_size = size;
    check_round_trip(records_shorten(&random, slots, count, 16), 0);
    ck_assert_uint_eq(block.header.flags, TP_BLOCK_ZSTD | TP_BLOCK_ALLOCATIONS | TP_BLOCK_BRIEF);
    printf("# %zu bytes, whole %zu\n", size, whole_size);
    ck_assert_uint_lt(size * 10, whole_size * 9);
}
END_TEST

/* Few of each, and so every way to tell a place; also such as no allocator has, and as many that
 * addresses have any number of bits. */
START_TEST(brief_records_at_odd_places_come_back_whole)
{
    struct random random = {random_seed("odd places")};
    static const uint64_t sizes[] = {24, 40, 0, UINT64_C(1) << 46, TP_BRIEF_BYTES_MAX, 1 << 20};
    static const uint64_t addresses[] = {0x1000, 0x1020, 0x1004, 0, UINT64_MAX, UINT64_C(1) << 50};

    for (unsigned round = 0; round < 400; round++) {
        uint32_t count = 1 + (uint32_t)random_below(&random, 300);
        uint64_t places = round % 4 ? 1 + random_below(&random, 60) : UINT64_C(1) << round / 4 % 40;
        unsigned kinds = 1 + (unsigned)random_below(&random, UNIT_COUNT(sizes));
        draw_before(&random);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t *slot = slots + (size_t)i * TP_SLOT_WORDS;
            uint64_t kind = random_below(&random, 2) ? TP_EVENT_ALLOC_BRIEF : TP_EVENT_FREE_BRIEF;
            uint64_t place = random_below(&random, places);
            slot[0] = kind << 56 | sizes[random_below(&random, kinds)];
            slot[1] = 0;
            slot[2] = place < UNIT_COUNT(addresses) && round % 2 ? addresses[place] : place << 5;
            slot[3] = 0;
        }
        check_round_trip(count, 0);
    }
}
END_TEST

static void put_brief(uint32_t at, unsigned kind, uint64_t usable, uint64_t address)
{
    uint64_t *slot = slots + (size_t)at * TP_SLOT_WORDS;

    slot[0] = (uint64_t)kind << 56 | usable;
    slot[1] = slot[3] = 0;
    slot[2] = address;
}

START_TEST(a_hundred_blocks_are_taken_in_any_order)
{
    enum { BLOCKS = 100 };
    struct random random = {random_seed("any order")};
    uint64_t addresses[BLOCKS];
    uint32_t count = 0;

    for (unsigned i = 0; i < BLOCKS; i++)
        put_brief(count++, TP_EVENT_ALLOC_BRIEF, i % 3 ? 24 : 40, addresses[i] = 0x5000 + 64 * i);
    for (unsigned round = 0; round < 15; round++) {
        for (unsigned i = BLOCKS - 1; i > 0; i--) {
            unsigned other = (unsigned)random_below(&random, round % 3 ? i + 1 : 1);
            uint64_t address = addresses[i];
            addresses[i] = addresses[other];
            addresses[other] = address;
        }
        for (unsigned i = 0; i < BLOCKS; i++)
            put_brief(count++, TP_EVENT_FREE_BRIEF, i % 3 ? 24 : 40, addresses[i]);
        for (unsigned i = 0; i < BLOCKS; i++)
            put_brief(count++, TP_EVENT_ALLOC_BRIEF, i % 5 ? 24 : 40,
                      addresses[i % 2 ? BLOCKS - i : i]);
    }
    check_round_trip(count, 0);
}
END_TEST

START_TEST(what_is_cut_or_unknown_is_left_for_later)
{
    memset(slots, 0, sizeof(slots));
    slots[0] = (uint64_t)TP_EVENT_OP_END << 56 | 1000;
    slots[4] = (uint64_t)TP_EVENT_ALLOC_BRIEF << 56 | 24;
    slots[8] = (uint64_t)TP_EVENT_ALLOC << 56 | 1010;
    for (uint32_t count = 1; count <= 4; count++) {
        ck_assert_int_eq(encode(count, 0, 0), 0);
        ck_assert_uint_eq(taken, count == 3 ? 2 : count);
        decode();
        ck_assert_uint_eq(block.header.slots, taken);
        ck_assert_uint_eq(block.record_count, count < 3 ? count : count - 1);
        ck_assert_uint_eq(tp_slot_ticks(last), count == 4 ? 1010 : 1000);
        ck_assert_uint_eq(tp_slot_kind(last), count == 1 ? TP_EVENT_OP_END : TP_EVENT_ALLOC);
    }
    slots[0] = (uint64_t)TP_EVENT_MARK << 56; /* and what is in it is none of a brief one's */
    slots[8] = UINT64_C(255) << 56;
    ck_assert_int_eq(encode(4, 0, 0), 0);
    ck_assert_uint_eq(taken, 2);
}
END_TEST

START_TEST(header_says_what_the_block_holds)
{
    struct random random = {1};
    uint64_t near_ticks = UINT64_C(0x1234567890abcdef);

    memset(slots, 0, sizeof(slots));
    slots[0] = (uint64_t)TP_EVENT_MARK << 56 | ((near_ticks - 100) & TP_TICKS_MASK);
    slots[8] = (uint64_t)TP_EVENT_LOST << 56 | ((near_ticks + 500) & TP_TICKS_MASK);
    slots[8 + 4] = 3;
    slots[16] = (uint64_t)TP_EVENT_LOST << 56 | ((near_ticks + 20) & TP_TICKS_MASK);
    slots[16 + 4] = 4;
    uint32_t open_count = records_fill(&random, open, TP_EVENT_OP_BEGIN, RECORDS_WILD, 0);
    ck_assert_int_eq(encode(6, open_count, near_ticks), 0);
    decode();
    ck_assert_uint_eq(block.header.type, TP_BLOCK_EVENTS);
    ck_assert_uint_eq(block.header.track, 7);
    ck_assert_uint_eq(block.header.uuid_low, 0x01020304);
    ck_assert_uint_eq(block.header.first_slot, 1000);
    ck_assert_uint_eq(block.header.slots, 6);
    ck_assert_uint_eq(block.header.first_ticks, near_ticks - 100);
    ck_assert_uint_eq(block.header.last_ticks, near_ticks + 500);
    ck_assert_uint_eq(block.header.lost, 7);
    ck_assert_uint_eq(block.record_count, 3);
    ck_assert_uint_eq(block.open_slots, 2);
}
END_TEST

START_TEST(times_go_on_where_56_bits_wrap)
{
    uint64_t near_ticks = (UINT64_C(5) << 56) - 1000;

    memset(slots, 0, sizeof(slots));
    for (unsigned i = 0; i < 100; i++)
        slots[i * 4] = (uint64_t)TP_EVENT_OP_END << 56 | ((near_ticks + 37 * i) & TP_TICKS_MASK);
    ck_assert_int_eq(encode(100, 0, near_ticks - 12345), 0);
    decode();
    ck_assert_uint_eq(block.header.first_ticks, near_ticks);
    ck_assert_uint_eq(block.header.last_ticks, near_ticks + 37 * 99);
    ck_assert_mem_eq(block.slots, slots, 100 * TP_SLOT_BYTES);
}
END_TEST

START_TEST(lost_records_beyond_the_header_are_not_wrapped)
{
    memset(slots, 0, sizeof(slots));
    for (unsigned i = 0; i < 3; i++) {
        slots[i * 8] = (uint64_t)TP_EVENT_LOST << 56;
        slots[i * 8 + 4] = i == 1 ? UINT64_MAX - 1 : 3;
    }
    ck_assert_int_eq(encode(6, 0, 0), 0);
    decode();
    ck_assert_uint_eq(block.header.lost, UINT32_MAX);
}
END_TEST

START_TEST(equal_records_take_no_room)
{
    struct random random = {1};

    for (unsigned i = 0; i < SLOTS; i += 2)
        records_fill(&random, slots + i * TP_SLOT_WORDS, TP_EVENT_MEMORY, RECORDS_EQUAL, 0);
    check_round_trip(SLOTS, 0);
    ck_assert_uint_lt(size, 64 + 120);
}
END_TEST

START_TEST(kinds_take_no_more_than_a_byte_each_and_runs_of_them_less)
{
    memset(slots, 0, sizeof(slots));
    for (unsigned i = 0; i < 1000; i++)
        slots[i * TP_SLOT_WORDS] = (uint64_t)(i % 2 ? TP_EVENT_OP_END : TP_EVENT_ITT_END) << 56;
    check_round_trip(1000, 0);
    ck_assert_uint_lt(block.header.payload_bytes, 1000 + 50);
    for (unsigned i = 0; i < 1000; i++)
        slots[i * TP_SLOT_WORDS] = (uint64_t)(i % 20 < 10 ? TP_EVENT_OP_END : TP_EVENT_ITT_END)
                                   << 56;
    check_round_trip(1000, 0);
    ck_assert_uint_lt(block.header.payload_bytes, 200 + 50);
}
END_TEST

static unsigned count_frames(void)
{
    const char *at = (const char *)bytes + TP_BLOCK_HEADER_BYTES;
    size_t left = block.header.stored_bytes, frame;
    unsigned frames = 0;

    for (; left; left -= frame, at += frame, frames++) {
        frame = ZSTD_findFrameCompressedSize(at, left);
        ck_assert(!ZSTD_isError(frame));
    }
    return frames;
}

START_TEST(planes_of_many_times_are_frames_of_their_own)
{
    struct random random = {random_seed("frames")};
    uint64_t ticks = 1000;

    memset(slots, 0, sizeof(slots));
    for (unsigned i = 0; i < SLOTS; i++) {
        ticks += 200 + random_below(&random, 256);
        slots[i * TP_SLOT_WORDS] = (uint64_t)TP_EVENT_OP_END << 56 | ticks;
    }
    check_round_trip(500, 0);
    ck_assert_uint_eq(count_frames(), 1);
    check_round_trip(SLOTS, 0);
    ck_assert_uint_eq(count_frames(), 3); /* what is before them, and two planes */
}
END_TEST

START_TEST(block_without_records_is_a_block)
{
    check_round_trip(0, 0);
    ck_assert_uint_eq(block.header.slots, 0);
}
END_TEST

START_TEST(encoder_refuses_what_it_cannot_hold)
{
    struct random random = {1};

    records_mix(&random, slots, SLOTS, UINT64_C(1) << TP_EVENT_OP_END, RECORDS_ZERO);
    ck_assert_int_eq(encode(SLOTS + 1, 0, 0), -TP_ELIMIT);
    ck_assert_int_eq(encode(1, TP_BLOCK_OPEN_MAX + 1, 0), -TP_ELIMIT);
    check_round_trip(SLOTS, 0);
}
END_TEST

START_TEST(encoder_refuses_unknown_and_cut_records)
{
    struct random random = {1};

    memset(slots, 0, sizeof(slots));
    ck_assert_int_eq(encode(1, 0, 0), -TP_ECORRUPT);
    slots[0] = UINT64_C(255) << 56;
    ck_assert_int_eq(encode(1, 0, 0), -TP_ECORRUPT);
    slots[0] = (uint64_t)TP_EVENT_MARK << 56;
    ck_assert_int_eq(encode(1, 0, 0), -TP_ECORRUPT);
    ck_assert_int_eq(encode(2, 0, 0), 0);
    records_fill(&random, open, TP_EVENT_OP_BEGIN, RECORDS_WILD, 0);
    ck_assert_int_eq(encode(2, 1, 0), -TP_ECORRUPT);
    memset(open, 0, TP_SLOT_BYTES);
    open[0] = (uint64_t)TP_EVENT_ALLOC_BRIEF << 56;
    ck_assert_int_eq(encode(2, 1, 0), -TP_ECORRUPT);
}
END_TEST

START_TEST(encoder_refuses_a_small_or_crooked_workspace)
{
    size_t need = tp_block_encoder_size(256);
    char *room = aligned_alloc(16, need + 32);

    ck_assert_ptr_nonnull(room);
    ck_assert_ptr_null(tp_block_encoder_init(room, need - 1, 256));
    ck_assert_ptr_null(tp_block_encoder_init(room + 8, need, 256));
    ck_assert_ptr_null(tp_block_encoder_init(room, SIZE_MAX / 2, TP_BLOCK_SLOTS_MAX + 1));
    ck_assert_ptr_nonnull(tp_block_encoder_init(room, need, 256));
    free(room);
}
END_TEST

START_TEST(encoder_stays_inside_its_workspace_at_the_worst)
{
    struct random random = {random_seed("worst")};
    size_t need = tp_block_encoder_size(512);
    uint8_t *room = aligned_alloc(16, (need + 15) / 16 * 16 + 64);
    static uint64_t begins[TP_BLOCK_OPEN_MAX * TP_SLOT_WORDS];

    ck_assert_ptr_nonnull(room);
    memset(room + need, 0x5a, 64);
    struct tp_block_encoder *small = tp_block_encoder_init(room, need, 512);
    ck_assert_ptr_nonnull(small);
    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++) {
        uint32_t count = records_mix(&random, slots, 512, UINT64_C(1) << kind, RECORDS_WILD);
        set_periods(count, 0);
        uint32_t open_count = records_mix(&random, begins, TP_BLOCK_OPEN_MAX,
                                          records_kinds(TP_ROLE_BEGIN), RECORDS_WILD);
        struct tp_block_source source = {
            .slots = slots, .slot_count = count, .open = begins, .open_slots = open_count};
        ck_assert_int_eq(encode_with(small, &source), 0);
        decode();
        ck_assert_mem_eq(block.open, begins, (size_t)open_count * TP_SLOT_BYTES);
    }
    for (unsigned i = 0; i < 64; i++)
        ck_assert_uint_eq(room[need + i], 0x5a);
    free(room);
}
END_TEST

/* Numbers of records, seats and distances as large as there can be. */
START_TEST(the_largest_blocks_come_back_whole)
{
    size_t need = tp_block_encoder_size(TP_BLOCK_SLOTS_MAX);
    void *room = aligned_alloc(16, (need + 15) / 16 * 16);
    struct tp_block_encoder *large = tp_block_encoder_init(room, need, TP_BLOCK_SLOTS_MAX);
    static uint64_t records[TP_BLOCK_SLOTS_MAX * TP_SLOT_WORDS];
    static uint64_t expected[TP_BRIEF_WHOLE_SLOTS * TP_BLOCK_SLOTS_MAX * TP_SLOT_WORDS];
    struct tp_block_source source = {.slots = records, .slot_count = TP_BLOCK_SLOTS_MAX};

    ck_assert_ptr_nonnull(large);
    for (unsigned frees_from = 0; frees_from <= TP_BLOCK_SLOTS_MAX;
         frees_from += TP_BLOCK_SLOTS_MAX / 2)
        for (unsigned again = 0; again < 2; again++) {
            for (uint32_t i = 0; i < TP_BLOCK_SLOTS_MAX; i++) {
                bool is_free = again ? i && i < TP_BLOCK_SLOTS_MAX - 1 : i >= frees_from;
                uint64_t kind = is_free ? TP_EVENT_FREE_BRIEF : TP_EVENT_ALLOC_BRIEF;
                uint64_t *slot = records + (size_t)i * TP_SLOT_WORDS;
                slot[0] = kind << 56 | (24 + (frees_from ? i * UINT64_C(16) : 0));
                slot[2] = (i - (is_free ? frees_from : 0)) * UINT64_C(32);
            }
            uint64_t then[TP_SLOT_WORDS] = {0};
            records_expand(records, TP_BLOCK_SLOTS_MAX, then, expected);
            ck_assert_int_eq(encode_with(large, &source), 0);
            decode();
            ck_assert_uint_eq(block.slot_count, TP_BRIEF_WHOLE_SLOTS * TP_BLOCK_SLOTS_MAX);
            ck_assert_mem_eq(block.slots, expected, sizeof(expected));
        }
    free(room);
}
END_TEST

START_TEST(encoder_allocates_nothing)
{
    struct random random = {1};
    uint32_t count =
        records_mix(&random, slots, SLOTS, records_kinds(TP_ROLE_NONE), RECORDS_RISING);
    struct mallinfo2 before = mallinfo2();

    unit_fail_allocation(1);
    int error = encode(count, 0, 0);
    unsigned allocations = unit_allocations();
    unit_fail_allocation(0);
    ck_assert_int_eq(error, 0);
    ck_assert_uint_eq(allocations, 0);
    struct mallinfo2 after = mallinfo2();
    ck_assert_uint_eq(before.uordblks, after.uordblks);
    ck_assert_uint_eq(before.hblkhd, after.hblkhd);
}
END_TEST

static void *encode_in_thread(void *count)
{
    return encode(*(uint32_t *)count, 0, 0) ? count : NULL;
}

/* The agent's drain has 128 KiB; zstd is in this too. Sanitizers put red zones on the stack: more
 * is allowed. */
START_TEST(encoder_needs_little_stack)
{
    struct random random = {1};
    uint32_t count = records_mix(&random, slots, SLOTS, records_kinds(TP_ROLE_NONE), RECORDS_WILD);
    size_t stack_size = 256 << 10, touched = 0;
    uint8_t *stack = aligned_alloc(4096, stack_size);
    pthread_attr_t attributes;
    pthread_t thread;
    void *failed = NULL;

    memset(stack, 0x5a, stack_size);
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, stack, stack_size), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, encode_in_thread, &count), 0);
    pthread_join(thread, &failed);
    ck_assert_ptr_null(failed);
    while (touched < stack_size && stack[touched] == 0x5a)
        touched++;
    printf("# stack used: %zu bytes\n", stack_size - touched);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    ck_assert_uint_lt(stack_size - touched, 128 << 10);
#else
    ck_assert_uint_lt(stack_size - touched, 16 << 10);
#endif
    free(stack);
}
END_TEST

START_TEST(decoder_without_memory_says_so_and_works_again)
{
    struct random random = {1};
    uint32_t count = records_mix(&random, slots, SLOTS, records_kinds(TP_ROLE_NONE), RECORDS_SMALL);
    int error = -ENOMEM;

    ck_assert_int_eq(encode(count, 0, 0), 0);
    for (unsigned number = 1; error; number++) {
        tp_block_decoder_destroy(decoder);
        unit_fail_allocation(number);
        decoder = tp_block_decoder_create();
        if (!decoder)
            continue;
        error = tp_block_decode(decoder, bytes, size, 0, &block, &diag);
        unit_fail_allocation(0);
        ck_assert(!error || error == -ENOMEM);
        decode();
        ck_assert_mem_eq(block.slots, slots, (size_t)count * TP_SLOT_BYTES);
        ck_assert_uint_lt(number, 100);
    }
}
END_TEST

START_TEST(decoder_in_a_workspace_reads_allocations_and_stays_inside)
{
    struct random random = {random_seed("workspace")};
    size_t need = tp_block_decoder_size(SLOTS);
    uint8_t *room = aligned_alloc(16, (need + 15) / 16 * 16 + 64);

    ck_assert_ptr_nonnull(room);
    memset(room + need, 0x5a, 64);
    struct tp_block_decoder *small = tp_block_decoder_init(room, need, SLOTS);
    ck_assert_ptr_nonnull(small);
    for (unsigned wildness = 0; wildness < 256; wildness += 5) {
        uint32_t count = wildness % 2
                             ? records_mix(&random, slots, SLOTS, RECORDS_BRIEF, RECORDS_WILD)
                             : records_heap(&random, slots, SLOTS, wildness);
        uint64_t then[TP_SLOT_WORDS] = {0};
        uint32_t whole_count = records_expand(slots, count, then, whole);
        ck_assert_int_eq(encode(count, 0, 0), 0);
        int error = tp_block_decode(small, bytes, size, 0, &block, &diag);
        ck_assert_msg(!error, "%s", diag.text);
        ck_assert(block.header.flags & TP_BLOCK_ALLOCATIONS);
        ck_assert_uint_eq(block.slot_count, whole_count);
        ck_assert_mem_eq(block.slots, whole, (size_t)whole_count * TP_SLOT_BYTES);
    }
    for (unsigned i = 0; i < 64; i++)
        ck_assert_uint_eq(room[need + i], 0x5a);
    free(room);
}
END_TEST

START_TEST(one_decoder_reads_blocks_of_any_size)
{
    struct random random = {random_seed("any size")};

    for (unsigned round = 0; round < 30; round++) {
        uint32_t count = records_mix(&random, slots, round % 2 ? SLOTS : 10,
                                     records_kinds(TP_ROLE_NONE), RECORDS_WILD);
        check_round_trip(count, 0);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        block_round_trip_is_identity_for_every_kind,
        block_round_trip_is_identity_for_mixed_kinds_and_open_ranges,
        every_field_alone_comes_back,
        allocations_come_back_byte_for_byte,
        allocations_among_records_of_all_kinds_come_back,
        allocations_foretell_each_other_samples_do_not,
        brief_records_of_any_words_come_back_whole,
        brief_records_of_an_allocator_come_back_whole,
        brief_records_take_less_than_whole_ones,
        brief_records_at_odd_places_come_back_whole,
        a_hundred_blocks_are_taken_in_any_order,
        the_largest_blocks_come_back_whole,
        what_is_cut_or_unknown_is_left_for_later,
        where_a_ring_goes_around_makes_no_difference,
        begins_and_ends_are_told,
        header_says_what_the_block_holds,
        times_go_on_where_56_bits_wrap,
        lost_records_beyond_the_header_are_not_wrapped,
        equal_records_take_no_room,
        kinds_take_no_more_than_a_byte_each_and_runs_of_them_less,
        planes_of_many_times_are_frames_of_their_own,
        block_without_records_is_a_block,
        encoder_refuses_what_it_cannot_hold,
        encoder_refuses_unknown_and_cut_records,
        encoder_refuses_a_small_or_crooked_workspace,
        encoder_stays_inside_its_workspace_at_the_worst,
        encoder_allocates_nothing,
        encoder_needs_little_stack,
        decoder_without_memory_says_so_and_works_again,
        decoder_in_a_workspace_reads_allocations_and_stays_inside,
        one_decoder_reads_blocks_of_any_size,
    };

    return unit_run("block", setup, teardown, tests, UNIT_COUNT(tests));
}
