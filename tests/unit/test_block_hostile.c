/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include <zstd.h>

#include "records.h"
#include "trace/block.h"
#include "trace/block_header.h"
#include "trace/wire.h"
#include "unit.h"

/* Blocks that no writer of ours makes. */

#define SLOTS 512u

static struct tp_block_decoder *decoder;
static struct tp_block block;
static struct tp_diag diag;
static uint64_t slots[SLOTS * TP_SLOT_WORDS];
static uint8_t sealed[1 << 16];
static uint8_t room[1 << 14];
static struct tp_wire_out out;

static void setup(void)
{
    decoder = tp_block_decoder_create();
    ck_assert_ptr_nonnull(decoder);
    out = (struct tp_wire_out){room, room + sizeof(room), false};
}

static void teardown(void)
{
    tp_block_decoder_destroy(decoder);
}

/* A block in memory of its own, so that a sanitizer sees each byte read behind it. */
static int decode_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);

    if (!copy)
        ck_abort();
    memcpy(copy, bytes, size);
    memset(&diag, 0, sizeof(diag));
    int error = tp_block_decode(decoder, copy, size, 4096, &block, &diag);
    if (diag.code != error)
        ck_abort_msg("%d, noted %d", error, diag.code);
    free(copy);
    return error;
}

static uint8_t sealed_flags;

static size_t seal(const void *payload, uint32_t size, uint32_t slot_count)
{
    struct tp_block_header header = {
        .type = TP_BLOCK_EVENTS, .flags = sealed_flags, .slots = slot_count, .payload_bytes = size};

    if (size > sizeof(sealed) - 64)
        ck_abort();
    memcpy(sealed + 64, payload, size);
    tp_block_header_write(sealed, &header, sealed + 64, size);
    return 64 + size;
}

/* What was put into out, as a block. */
static int decode_out(uint32_t slot_count)
{
    ck_assert(!out.full);
    return decode_copy(sealed, seal(room, (uint32_t)(out.at - room), slot_count));
}

static void put(const char *hex)
{
    unsigned value;

    for (int used; sscanf(hex, "%x%n", &value, &used) == 1; hex += used)
        tp_wire_put_u8(&out, (uint8_t)value);
}

#define NO_OPEN "0 1  0 0 0  "

static int decode_hex(const char *hex, uint32_t slot_count)
{
    out.at = room;
    put(NO_OPEN);
    put(hex);
    return decode_out(slot_count);
}

/* Records must be whole and known, whoever wrote the block. */
static void check_records(const uint64_t *at, uint32_t count)
{
    uint32_t slot = 0;

    for (unsigned step = 1; step && slot < count; slot += step)
        step = tp_kind_slots(tp_slot_kind(at + (size_t)slot * TP_SLOT_WORDS));
    if (slot != count) /* no assertion each time: Check takes a while for them */
        ck_abort_msg("record %u of %u", slot, count);
}

enum { OF_ALLOCATIONS = RECORDS_STYLE_END, OF_WILD_ALLOCATIONS, OF_BRIEF_ALLOCATIONS, STYLES };

static size_t make_block(struct random *random, unsigned style, const void **ret_bytes)
{
    static struct tp_block_encoder *encoder;
    static uint64_t open[32 * TP_SLOT_WORDS];
    size_t need = tp_block_encoder_size(SLOTS);

    if (!encoder)
        encoder = tp_block_encoder_init(aligned_alloc(16, (need + 15) / 16 * 16), need, SLOTS);
    ck_assert_ptr_nonnull(encoder);
    uint32_t count = style < RECORDS_STYLE_END
                         ? records_mix(random, slots, 150, records_kinds(TP_ROLE_NONE), style)
                         : records_heap(random, slots, 150, style == OF_WILD_ALLOCATIONS ? 30 : 0);
    if (style == OF_BRIEF_ALLOCATIONS)
        count = records_shorten(random, slots, count, 5);
    uint32_t open_count =
        records_mix(random, open, 12, records_kinds(TP_ROLE_BEGIN), style % RECORDS_STYLE_END);
    struct tp_block_source source = {.track = 1,
                                     .uuid_low = 2,
                                     .first_slot = 3,
                                     .slots = slots,
                                     .slot_count = count,
                                     .open = open,
                                     .open_slots = open_count,
                                     .near_ticks = 4};
    struct tp_block_made made;
    ck_assert_int_eq(tp_block_encode(encoder, &source, &made), 0);
    *ret_bytes = made.bytes;
    return made.size;
}

START_TEST(block_cut_anywhere_is_truncated)
{
    struct random random = {random_seed("cut")};
    const void *bytes;
    size_t size = make_block(&random, RECORDS_RISING, &bytes);
    size_t stored = 64 + tp_wire_load_u32((const uint8_t *)bytes + 8);

    for (size_t cut = 0; cut < stored; cut++)
        ck_assert_int_eq(decode_copy(bytes, cut), -TP_ETRUNCATED);
    for (size_t cut = stored; cut <= size; cut++)
        ck_assert_int_eq(decode_copy(bytes, cut), 0);
}
END_TEST

START_TEST(flipped_bit_anywhere_is_an_error)
{
    struct random random = {random_seed("flip")};
    const void *bytes;

    for (unsigned style = 0; style < STYLES; style++) {
        size_t size = make_block(&random, style, &bytes);
        size_t stored = 64 + tp_wire_load_u32((const uint8_t *)bytes + 8);
        memcpy(sealed, bytes, size);
        for (size_t at = 0; at < stored; at++)
            for (unsigned bit = 0; bit < 8; bit++) {
                sealed[at] ^= (uint8_t)(1u << bit);
                if (!decode_copy(sealed, size))
                    ck_abort_msg("byte %zu, bit %u", at, bit);
                sealed[at] ^= (uint8_t)(1u << bit);
            }
        ck_assert_int_eq(decode_copy(sealed, size), 0);
    }
}
END_TEST

/* With a good checksum: what a hostile writer makes. */
START_TEST(flipped_byte_under_a_good_checksum_never_crashes)
{
    struct random random = {random_seed("sealed flip")};
    static uint8_t payload[1 << 15];
    unsigned readable = 0;

    for (unsigned style = 0; style < STYLES; style++) {
        const void *bytes;
        make_block(&random, style, &bytes);
        ck_assert_int_eq(decode_copy(bytes, 1 << 15), 0);
        uint32_t size = block.header.payload_bytes, slot_count = block.header.slots;
        sealed_flags = block.header.flags & (TP_BLOCK_ALLOCATIONS | TP_BLOCK_BRIEF);
        const uint8_t *stored = (const uint8_t *)bytes + 64;
        if (block.header.flags & TP_BLOCK_ZSTD)
            ck_assert_uint_eq(
                ZSTD_decompress(payload, sizeof(payload), stored, block.header.stored_bytes), size);
        else
            memcpy(payload, stored, size);
        for (uint32_t at = 0; at < size; at++)
            for (unsigned change = 0; change < 12; change++) {
                uint8_t before = payload[at];
                payload[at] =
                    change < 8 ? before ^ (uint8_t)(1u << change) : (uint8_t)random_u64(&random);
                if (!decode_copy(sealed, seal(payload, size, slot_count))) {
                    check_records(block.slots, block.slot_count);
                    check_records(block.open, block.open_slots);
                    readable++;
                }
                payload[at] = before;
            }
    }
    sealed_flags = 0;
    printf("# readable: %u\n", readable);
}
END_TEST

START_TEST(noise_under_a_good_checksum_never_crashes)
{
    struct random random = {random_seed("noise")};
    uint8_t noise[64];

    for (unsigned round = 0; round < 200000; round++) {
        uint32_t size = (uint32_t)random_below(&random, sizeof(noise));
        for (uint32_t i = 0; i < size; i++)
            noise[i] = (uint8_t)(random_below(&random, 3) ? random_below(&random, 4)
                                                          : random_u64(&random));
        if (!decode_copy(sealed, seal(noise, size, (uint32_t)random_below(&random, 20))))
            check_records(block.slots, block.slot_count);
    }
}
END_TEST

START_TEST(unknown_kind_is_left_out_and_counted)
{
    /* kinds op_end, 200, mark, 200; ticks 5 6 7 8; a group of 200 with a column; mark's name 99 */
    int error = decode_hex(
        "4 3  0 4 2  1 4 5 1 3 C8 D C8  2 1 5 0 5 6 7 8  C8 1 2 1  1 0 1 9  D 1 1  10 0 1 63", 6);

    ck_assert_msg(error == -TP_ECORRUPT, "two records cannot be in one group of one");
    error = decode_hex(
        "4 3  0 4 2  1 4 5 1 3 C8 D C8  2 1 5 0 5 6 7 8  C8 2 1  1 0 1 9  D 1 1  10 0 1 63", 6);
    ck_assert_msg(!error, "%s", diag.text);
    ck_assert_uint_eq(block.unknown_records, 2);
    ck_assert_uint_eq(block.record_count, 2);
    ck_assert_uint_eq(block.slot_count, 3);
    check_records(block.slots, block.slot_count);
    ck_assert_uint_eq(tp_slot_ticks(block.slots), 5);
    ck_assert_uint_eq(tp_slot_ticks(block.slots + 4), 7);
    ck_assert_uint_eq(tp_slot_argument(block.slots + 4), 99);
}
END_TEST

START_TEST(unknown_kind_among_open_ranges_is_left_out_and_counted)
{
    out.at = room;
    put("2 1  0 2 1  1 4 3 1 FA 4   0 1 0 0 0");
    ck_assert_int_eq(decode_out(0), 0);
    ck_assert_uint_eq(block.open_slots, 1);
    ck_assert_uint_eq(tp_slot_kind(block.open), TP_EVENT_NVTX_PUSH);
    ck_assert_uint_eq(block.unknown_records, 1);
}
END_TEST

START_TEST(open_record_that_is_no_begin_is_damage)
{
    out.at = room;
    put("1 1  0 1 1  1 0 1 3   0 1 0 0 0");
    ck_assert_int_eq(decode_out(0), -TP_ECORRUPT);
}
END_TEST

START_TEST(unknown_column_is_passed_over)
{
    int error =
        decode_hex("1 2  0 1 3  1 0 1 4  DD C8 3 1 2 3  2 0 1 9   4 1 2  EE 0 1 7  10 0 1 2A", 1);

    ck_assert_msg(!error, "%s", diag.text);
    ck_assert_uint_eq(block.slots[0], UINT64_C(4) << 56 | 9);
    ck_assert_uint_eq(block.slots[1], 42);
    ck_assert_uint_eq(block.unknown_records, 0);
}
END_TEST

START_TEST(missing_columns_and_groups_are_zero)
{
    ck_assert_int_eq(decode_hex("2 1  0 2 1  1 0 1 2", 4), 0);
    ck_assert_uint_eq(block.slot_count, 4);
    for (unsigned i = 0; i < 16; i++)
        ck_assert_uint_eq(block.slots[i], i % 8 ? 0 : UINT64_C(2) << 56);
    ck_assert_int_eq(decode_hex("2 1  0 2 0", 4), 0);
    ck_assert_uint_eq(block.unknown_records, 2);
}
END_TEST

START_TEST(column_and_group_may_come_once_only)
{
    ck_assert_int_eq(decode_hex("1 2  0 1 1  1 0 1 4   4 1 1  10 0 1 2A", 1), 0);
    ck_assert_int_eq(decode_hex("1 2  0 1 1  1 0 1 4   4 1 2  10 0 1 2A  10 0 1 2A", 1),
                     -TP_ECORRUPT);
    ck_assert_int_eq(decode_hex("1 3  0 1 1  1 0 1 4   4 1 0  4 1 0", 1), -TP_ECORRUPT);
    ck_assert_int_eq(decode_hex("1 3  0 1 1  1 0 1 4   DD 1 0  DD 1 0", 1), -TP_ECORRUPT);
    ck_assert_int_eq(decode_hex("1 2  0 1 1  1 0 1 4   0 1 0", 1), -TP_ECORRUPT);
}
END_TEST

START_TEST(wrong_structure_is_damage)
{
    static const struct {
        const char *hex;
        uint32_t slots;
    } cases[] = {
        {"", 0},                           /* no section */
        {"0 0", 0},                        /* no group */
        {"1 1  4 1 0", 1},                 /* the first group is not 0 */
        {"1 1  0 2 1  1 0 1 3", 1},        /* its records are not the section's */
        {"2 1  0 2 1  1 0 1 3", 1},        /* more records than slots */
        {"1 1  0 1 1  1 0 1 2", 1},        /* a record of two slots in one */
        {"1 1  0 1 1  1 0 1 3", 2},        /* slots that no record fills */
        {"1 1  0 1 1  1 0 1 3  0", 1},     /* bytes behind the last group */
        {"1 2  0 1 1  1 0 1 3", 1},        /* a group too few */
        {"1 2  0 1 1  1 0 1 4  4 2 0", 1}, /* the kind's records are not the group's */
        {"1 1  0 1 2  1 0 1 3", 1},        /* a column too few */
        {"1 1  0 1 1  1 0 2 3", 1},        /* a column beyond the end */
        {"1 1  0 1 1  1 0 FF FF FF FF FF FF FF FF FF 1 3", 1}, /* far beyond */
        {"80 80 80 80 80 80 80 80 80 1 1  0 80 80 80 80 80 80 80 80 80 1 1  1 0 1 3",
         1}, /* 2^63 records */
    };

    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        ck_assert_msg(decode_hex(cases[i].hex, cases[i].slots) == -TP_ECORRUPT, "case %zu: %s", i,
                      cases[i].hex);
}
END_TEST

START_TEST(wrong_column_data_is_damage)
{
    /* encoding, size, data of the ticks of three op_end records */
    static const char *const bad[] = {
        "0 0",                           /* const: no value */
        "0 2 1 1",                       /* a byte too many */
        "0 9 80 80 80 80 80 80 80 80 1", /* wider than 56 bits */
        "1 0",                           /* varint: no shift */
        "1 3 0 1 2",                     /* a value too few */
        "1 5 0 1 2 3 4",                 /* a value too many */
        "1 4 40 1 2 3",                  /* shift of 64 */
        "1 4 38 1 2 3",                  /* shifted out of the field */
        "1 4 3F 1 2 3",                  /* shifted out of 64 bits */
        "2 0",                           /* delta: nothing */
        "2 1 0",                         /* no first value */
        "2 3 0 1 2",                     /* a difference too few */
        "2 4 40 1 2 3",                  /* shift of 64 */
        "2 4 0 0 1 0",                   /* below zero: wider than 56 bits */
        "3 0",                           /* runs: nothing */
        "3 2 5 2",                       /* too short */
        "3 2 5 4",                       /* too long */
        "3 4 5 0 5 3",                   /* a run of none */
        "3 1 5",                         /* no length */
        "3 4 5 3 5 0",                   /* behind the last */
        "4 0",                           /* raw: no width */
        "4 1 0",                         /* width 0 */
        "4 4 2 1 1 1",                   /* too few bytes */
        "4 5 1 1 1 1 1",                 /* too many */
        "4 1 9",                         /* width 9 */
        "5 6 1 1 1 1 1 1",               /* bytes are no numbers */
        "6 1 0",                         /* planes: no width */
        "6 2 0 9",                       /* width 9 */
        "6 1D 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", /* with all its bytes */
        "1 4 3F 2 2 2",                                                   /* lost beyond 64 bits */
        "6 4 0 1 1 1",                                                    /* too few bytes */
        "6 6 0 1 1 1 1 1",                                                /* too many */
        "6 5 39 1 1 1 1",  /* shifted out of the field */
        "7 2 0 0",         /* planes of differences: no width */
        "7 3 0 0 9",       /* width 9 */
        "7 4 0 0 1 1",     /* too few */
        "7 6 0 0 1 1 1 1", /* too many */
        "8 3 1 2 3",       /* an encoding that is not known */
        "FF 0",
    };
    char hex[200];

    ck_assert_int_eq(decode_hex("3 1 0 3 2  1 0 1 3  2 7 5 0 0 1 2 4", 3), 0);
    ck_assert_uint_eq(tp_slot_ticks(block.slots + 8), 3);
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        snprintf(hex, sizeof(hex), "3 1 0 3 2  1 0 1 3  2 %s", bad[i]);
        ck_assert_msg(decode_hex(hex, 3) == -TP_ECORRUPT, "case %zu: %s", i, bad[i]);
    }
    ck_assert_int_eq(decode_hex("3 1 0 3 1  1 1 5 0 3 3 80 2", 3), -TP_ECORRUPT); /* kind 256 */
    ck_assert_int_eq(decode_hex("3 1 0 3 1  1 0 2 80 2", 3), -TP_ECORRUPT);
    /* a mark's source, of 8 bits */
    ck_assert_int_eq(decode_hex("1 2 0 1 1  1 0 1 D  D 1 1  11 0 2 FF 1", 2), 0);
    ck_assert_int_eq(decode_hex("1 2 0 1 1  1 0 1 D  D 1 1  11 0 2 80 2", 2), -TP_ECORRUPT);
    ck_assert_int_eq(decode_hex("2 2 0 2 1  1 0 1 D  D 2 1  11 1 4 0 1 80 2", 4), -TP_ECORRUPT);
}
END_TEST

START_TEST(const_column_of_many_records_costs_no_more_than_its_slots)
{
    out.at = room;
    put("80 80 40 1  0 80 80 40 1  1 0 1 3   0 1 0 0 0"); /* 2^20 open records */
    ck_assert_int_eq(decode_out(0), -TP_ECORRUPT);
    ck_assert_int_eq(decode_hex("80 80 40 1  0 80 80 40 1  1 0 1 3", 1 << 20), 0);
    ck_assert_uint_eq(block.record_count, 1 << 20);
    /* twice as many slots as there is room for */
    ck_assert_int_eq(decode_hex("80 8 1  0 80 8 1  1 0 1 2", 1024), -TP_ECORRUPT);
    ck_assert_int_eq(decode_hex("81 80 40 1  0 81 80 40 1  1 0 1 3", (1 << 20) + 1), -TP_ELIMIT);
}
END_TEST

START_TEST(header_over_a_limit_is_refused)
{
    static uint8_t payload[64];
    struct tp_block_header header = {.type = TP_BLOCK_EVENTS, .flags = TP_BLOCK_ZSTD};

    header.payload_bytes = TP_BLOCK_PAYLOAD_MAX + 1;
    memset(sealed, 0, 200);
    tp_block_header_write(sealed, &header, payload, sizeof(payload));
    ck_assert_int_eq(decode_copy(sealed, 128), -TP_ELIMIT);
    header.payload_bytes = 63;
    header.flags = 0;
    tp_block_header_write(sealed, &header, payload, sizeof(payload));
    ck_assert_int_eq(decode_copy(sealed, 128), -TP_ECORRUPT);
    header.payload_bytes = 64;
    header.type = TP_BLOCK_INDEX;
    memset(sealed + 64, 0, 64);
    tp_block_header_write(sealed, &header, payload, sizeof(payload));
    ck_assert_int_eq(decode_copy(sealed, 128), -TP_EUNSUPPORTED);
    header.type = TP_BLOCK_EVENTS;
    header.flags = 16;
    tp_block_header_write(sealed, &header, payload, sizeof(payload));
    ck_assert_int_eq(decode_copy(sealed, 128), -TP_EUNSUPPORTED);
}
END_TEST

#define ONE_ALLOCATION "1 1  0 1 1  1 0 1 1E  "
#define ITS_PLACE "1 3 0 1 0  1 5 0 1 5  1 9 0 1 18  1 B 0 1 0  "

START_TEST(brief_records_that_are_not_what_columns_say_are_damage)
{
    static const struct {
        const char *hex;
        uint32_t slots;
    } bad[] = {
        {ONE_ALLOCATION "4 " ITS_PLACE, 1},                        /* no column of them */
        {ONE_ALLOCATION "5 " ITS_PLACE "1 C 0 1 0", 1},            /* a whole one: no step */
        {ONE_ALLOCATION "6 " ITS_PLACE "1 C 0 1 1  1 1 0 1 7", 1}, /* a step, but no whole one */
        {ONE_ALLOCATION "5 " ITS_PLACE "1 C 0 1 2", 1},            /* two of one */
        {ONE_ALLOCATION "5 " ITS_PLACE "1 C 0 1 1", 2},            /* slots beyond it */
        {ONE_ALLOCATION "6 " ITS_PLACE "1 1 0 1 7  1 C 0 1 0", 2}, /* none behind the whole one */
        {ONE_ALLOCATION "6 " ITS_PLACE "1 1 0 1 7  2 C 0 1 0", 1}, /* a whole one in a slot */
        {ONE_ALLOCATION "6 " ITS_PLACE "1 1 0 1 7  3 C 0 1 0", 2}, /* too many values */
        {"1 1  0 1 1  1 0 1 3  1 2 C 0 1 0", 1},                   /* none has room for two */
        {"1 1  0 1 1  1 0 1 3  1 1 C 0 1 1", 1},                   /* one of none */
        {"1 1  0 1 1  1 0 1 20  5 " ITS_PLACE "1 C 0 1 1", 1},     /* a kind of rings */
        {"1 1  0 1 1  1 0 1 21  1 1 C 0 1 0", 1},
    };

    sealed_flags = TP_BLOCK_ALLOCATIONS | TP_BLOCK_BRIEF;
    ck_assert_int_eq(decode_hex(ONE_ALLOCATION "5 " ITS_PLACE "1 C 0 1 1", 1), 0);
    ck_assert_uint_eq(block.header.slots, 1);
    ck_assert_uint_eq(block.slot_count, 2);
    ck_assert_uint_eq(block.record_count, 1);
    static const uint64_t expected[8] = {UINT64_C(30) << 56, UINT64_C(1) << 32, 24, 0, 5, 24,
                                         UINT64_C(4) << 48};
    ck_assert_mem_eq(block.slots, expected, sizeof(expected));
    ck_assert_int_eq(decode_hex(ONE_ALLOCATION "6 " ITS_PLACE "1 1 0 1 7  2 C 0 1 0", 2), 0);
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        ck_assert_msg(decode_hex(bad[i].hex, bad[i].slots) == -TP_ECORRUPT, "case %zu: %s", i,
                      bad[i].hex);
    sealed_flags = TP_BLOCK_ALLOCATIONS; /* then there may be no column of them */
    ck_assert_int_eq(decode_hex(ONE_ALLOCATION "6 " ITS_PLACE "1 1 0 1 7  2 C 0 1 0", 2),
                     -TP_ECORRUPT);
    sealed_flags = TP_BLOCK_BRIEF; /* nor without the section */
    ck_assert_int_eq(decode_hex("1 1  0 1 1  1 0 1 3", 1), -TP_ECORRUPT);
    sealed_flags = 0;
    ck_assert_int_eq(decode_hex("1 1  0 1 1  1 0 1 20", 1), -TP_ECORRUPT);
}
END_TEST

START_TEST(brief_records_take_no_more_memory_than_whole_ones)
{
    sealed_flags = TP_BLOCK_ALLOCATIONS | TP_BLOCK_BRIEF;
    ck_assert_int_eq(decode_hex("80 80 20 1  0 80 80 20 1  1 0 1 3  1 1 C 0 1 0", 1 << 19), 0);
    ck_assert_uint_eq(block.record_count, 1 << 19);
    ck_assert_int_eq(decode_hex("0 1  0 0 0  1 1 C 0 1 0", (1 << 19) + 1), -TP_ELIMIT);
    /* twice as many records as slots */
    ck_assert_int_eq(decode_hex("4 1  0 4 1  1 0 1 1F  2 4 4 0 1 0  1 C 0 1 4", 2), -TP_ECORRUPT);
    sealed_flags = 0;
}
END_TEST

static int decode_zstd(const void *stored, size_t stored_size, uint32_t payload_size,
                       uint32_t slot_count)
{
    struct tp_block_header header = {.type = TP_BLOCK_EVENTS,
                                     .flags = TP_BLOCK_ZSTD,
                                     .slots = slot_count,
                                     .payload_bytes = payload_size};

    memcpy(sealed + 64, stored, stored_size);
    tp_block_header_write(sealed, &header, stored, (uint32_t)stored_size);
    return decode_copy(sealed, 64 + stored_size);
}

START_TEST(payload_of_another_size_than_said_is_refused)
{
    static uint8_t zeros[1 << 20];
    uint8_t packed[1 << 12];

    out.at = room;
    put(NO_OPEN "1 1  0 1 1  1 0 1 3");
    uint32_t size = (uint32_t)(out.at - room);
    size_t packed_size = ZSTD_compress(packed, sizeof(packed), room, size, 1);
    ck_assert_int_eq(decode_zstd(packed, packed_size, size, 1), 0);
    ck_assert_int_eq(decode_zstd(packed, packed_size, size + 1, 1), -TP_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(diag.text, "expected"));
    ck_assert_int_eq(decode_zstd(packed, packed_size, size - 1, 1), -TP_ECORRUPT);
    ck_assert_int_eq(decode_zstd(packed, packed_size - 1, size, 1), -TP_ECORRUPT);
    ck_assert_int_eq(decode_zstd("nothing at all", 14, size, 1), -TP_ECORRUPT);
    packed_size = ZSTD_compress(packed, sizeof(packed), zeros, sizeof(zeros), 1);
    ck_assert_int_eq(decode_zstd(packed, packed_size, 100, 1), -TP_ECORRUPT);
}
END_TEST

START_TEST(longer_header_of_a_later_version_is_passed_over)
{
    static uint8_t longer[256];

    out.at = room;
    put(NO_OPEN "1 1  0 1 1  1 0 1 3");
    size_t size = seal(room, (uint32_t)(out.at - room), 1);
    memcpy(longer, sealed, 64);
    memset(longer + 64, 0xee, 16);
    memcpy(longer + 80, sealed + 64, size - 64);
    longer[4] = 80;
    tp_wire_store_u32(longer + 60, tp_block_checksum(longer, 60));
    ck_assert_int_eq(decode_copy(longer, size + 16), 0);
    ck_assert_uint_eq(block.record_count, 1);
    ck_assert_uint_eq(tp_block_stride(&block.header), (size + 16 + 7) / 8 * 8);
    longer[4] = 81;
    memcpy(longer + 81, sealed + 64, size - 64);
    tp_wire_store_u32(longer + 60, tp_block_checksum(longer, 60));
    ck_assert_int_eq(decode_copy(longer, size + 17), -TP_ECORRUPT);
}
END_TEST

START_TEST(messages_name_place_found_and_expected)
{
    struct random random = {1};
    const void *bytes;
    char text[600];
    size_t size = make_block(&random, RECORDS_SMALL, &bytes);

    memcpy(sealed, bytes, size);
    sealed[70] ^= 1;
    ck_assert_int_eq(decode_copy(sealed, size), -TP_ECORRUPT);
    ck_assert_uint_eq(diag.offset, 4096);
    tp_diag_print(&diag, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "at byte 4096: payload's checksum is "));
    ck_assert_int_eq(
        decode_copy("TPXX1234567890123456789012345678901234567890123456789012345678901234567890",
                    70),
        -TP_EFOREIGN);
    ck_assert_ptr_nonnull(strstr(diag.text, "magic 58585054, expected 31425054"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        block_cut_anywhere_is_truncated,
        flipped_bit_anywhere_is_an_error,
        flipped_byte_under_a_good_checksum_never_crashes,
        noise_under_a_good_checksum_never_crashes,
        unknown_kind_is_left_out_and_counted,
        unknown_kind_among_open_ranges_is_left_out_and_counted,
        open_record_that_is_no_begin_is_damage,
        unknown_column_is_passed_over,
        missing_columns_and_groups_are_zero,
        column_and_group_may_come_once_only,
        wrong_structure_is_damage,
        wrong_column_data_is_damage,
        const_column_of_many_records_costs_no_more_than_its_slots,
        header_over_a_limit_is_refused,
        brief_records_that_are_not_what_columns_say_are_damage,
        brief_records_take_no_more_memory_than_whole_ones,
        payload_of_another_size_than_said_is_refused,
        longer_header_of_a_later_version_is_passed_over,
        messages_name_place_found_and_expected,
    };

    return unit_run("block_hostile", setup, teardown, tests, UNIT_COUNT(tests));
}
