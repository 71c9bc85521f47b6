/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "records.h"
#include "trace/wire.h"
#include "unit.h"

static const uint64_t edges[] = {
    0,
    1,
    0x7f,
    0x80,
    0x3fff,
    0x4000,
    0x1fffff,
    0x200000,
    0xfffffff,
    0x10000000,
    UINT64_C(0x7ffffffff),
    UINT64_C(0x800000000),
    UINT64_C(0x3ffffffffff),
    UINT64_C(0x40000000000),
    UINT64_C(0x1ffffffffffff),
    UINT64_C(0x2000000000000),
    UINT64_C(0xffffffffffffff),
    UINT64_C(0x100000000000000),
    UINT64_C(0x7fffffffffffffff),
    UINT64_C(0x8000000000000000),
    UINT64_MAX,
};

START_TEST(varint_takes_seven_bits_a_byte)
{
    uint8_t bytes[16];

    for (size_t i = 0; i < UNIT_COUNT(edges); i++) {
        struct tp_wire_out out = {bytes, bytes + sizeof(bytes), false};
        uint64_t back = 0;
        unsigned bits = edges[i] ? 64 - (unsigned)__builtin_clzll(edges[i]) : 1;
        tp_wire_put_varint(&out, edges[i]);
        ck_assert_uint_eq((size_t)(out.at - bytes), (bits + 6) / 7);
        struct tp_wire_in in = {bytes, out.at};
        ck_assert(tp_wire_get_varint(&in, &back));
        ck_assert_uint_eq(back, edges[i]);
        ck_assert_ptr_eq(in.at, out.at);
    }
}
END_TEST

START_TEST(cut_varint_is_refused_and_moves_nothing)
{
    uint8_t bytes[16];

    for (size_t i = 0; i < UNIT_COUNT(edges); i++) {
        struct tp_wire_out out = {bytes, bytes + sizeof(bytes), false};
        tp_wire_put_varint(&out, edges[i]);
        for (const uint8_t *end = bytes; end < out.at; end++) {
            struct tp_wire_in in = {bytes, end};
            uint64_t back = 77;
            ck_assert(!tp_wire_get_varint(&in, &back));
            ck_assert_ptr_eq(in.at, bytes);
            ck_assert_uint_eq(back, 77);
        }
    }
}
END_TEST

START_TEST(varint_over_64_bits_or_10_bytes_is_refused)
{
    static const uint8_t wide[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t lengthy[11] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                        0x80, 0x80, 0x80, 0x80, 0};
    static const uint8_t padded[10] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
    uint64_t v = 0;

    ck_assert(!tp_wire_get_varint(&(struct tp_wire_in){wide, wide + 10}, &v));
    ck_assert(!tp_wire_get_varint(&(struct tp_wire_in){lengthy, lengthy + 11}, &v));
    ck_assert(tp_wire_get_varint(&(struct tp_wire_in){padded, padded + 10}, &v));
    ck_assert_uint_eq(v, 1);
    ck_assert(!tp_wire_get_varints(&(struct tp_wire_in){wide, wide + 10}, &v, 1));
    ck_assert(!tp_wire_get_varints(&(struct tp_wire_in){lengthy, lengthy + 11}, &v, 1));
}
END_TEST

START_TEST(varints_in_bulk_are_the_single_ones)
{
    struct random random = {random_seed("bulk varints")};
    static uint64_t values[500], back[500];
    static uint8_t one[500 * TP_VARINT_BYTES + 8], bulk[500 * TP_VARINT_BYTES + 8];

    for (unsigned round = 0; round < 2000; round++) {
        size_t count = random_below(&random, 500);
        unsigned width = (unsigned)random_below(&random, 64), shift = round % 3 ? 0 : width / 2;
        struct tp_wire_out out = {one, one + sizeof(one), false};
        for (size_t i = 0; i < count; i++) {
            values[i] = random_u64(&random) >>
                        (random_below(&random, 8) ? width : random_below(&random, 64));
            tp_wire_put_varint(&out, values[i] >> shift);
        }
        size_t size = (size_t)(out.at - one);
        ck_assert_uint_eq((size_t)(tp_wire_put_varints(bulk, values, count, shift) - bulk), size);
        ck_assert_mem_eq(one, bulk, size);
        struct tp_wire_in in = {one, one + size};
        ck_assert(tp_wire_get_varints(&in, back, count));
        ck_assert_ptr_eq(in.at, in.end);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(back[i], values[i] >> shift);
        if (size) {
            in = (struct tp_wire_in){one, one + random_below(&random, size)};
            ck_assert(!tp_wire_get_varints(&in, back, count));
        }
    }
}
END_TEST

START_TEST(varints_in_bulk_stop_behind_the_last_one)
{
    static const uint8_t bytes[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    uint64_t values[16];

    for (size_t count = 0; count <= 16; count++) {
        struct tp_wire_in in = {bytes, bytes + sizeof(bytes)};
        memset(values, 0xff, sizeof(values));
        ck_assert(tp_wire_get_varints(&in, values, count));
        ck_assert_uint_eq((size_t)(in.at - bytes), count);
        if (count < 16)
            ck_assert_uint_eq(values[count], UINT64_MAX);
    }
}
END_TEST

START_TEST(words_are_little_endian)
{
    uint8_t bytes[15];
    struct tp_wire_out out = {bytes, bytes + sizeof(bytes), false};
    static const uint8_t expected[15] = {1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8};

    tp_wire_put_u8(&out, 1);
    tp_wire_put_u16(&out, 0x0203);
    tp_wire_put_u32(&out, 0x04050607);
    tp_wire_put_u64(&out, UINT64_C(0x08090a0b0c0d0e0f));
    ck_assert(!out.full);
    ck_assert_mem_eq(bytes, expected, sizeof(bytes));

    struct tp_wire_in in = {bytes, bytes + sizeof(bytes)};
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    ck_assert(tp_wire_get_u8(&in, &u8) && tp_wire_get_u16(&in, &u16) &&
              tp_wire_get_u32(&in, &u32) && tp_wire_get_u64(&in, &u64));
    ck_assert_uint_eq(u8, 1);
    ck_assert_uint_eq(u16, 0x0203);
    ck_assert_uint_eq(u32, 0x04050607);
    ck_assert_uint_eq(u64, UINT64_C(0x08090a0b0c0d0e0f));
    ck_assert(!tp_wire_get_u8(&in, &u8));
}
END_TEST

START_TEST(put_without_room_writes_nothing_and_stays_full)
{
    uint8_t bytes[8] = {0};
    struct tp_wire_out out = {bytes, bytes + 3, false};

    tp_wire_put_u32(&out, UINT32_MAX);
    ck_assert(out.full);
    tp_wire_put_u8(&out, 1);
    tp_wire_put_u16(&out, 1);
    tp_wire_put_u64(&out, 1);
    tp_wire_put_varint(&out, 1);
    tp_wire_put_bytes(&out, "ab", 2);
    ck_assert_uint_eq(tp_wire_room(&out), 0);
    ck_assert_ptr_eq(out.at, bytes);
    for (size_t i = 0; i < sizeof(bytes); i++)
        ck_assert_uint_eq(bytes[i], 0);
}
END_TEST

START_TEST(get_without_bytes_moves_nothing)
{
    static const uint8_t bytes[8] = {0};
    struct tp_wire_in in = {bytes, bytes + 1};
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    const uint8_t *p;

    ck_assert(!tp_wire_get_u16(&in, &u16));
    ck_assert(!tp_wire_get_u32(&in, &u32));
    ck_assert(!tp_wire_get_u64(&in, &u64));
    ck_assert(!tp_wire_get_bytes(&in, 2, &p));
    ck_assert(!tp_wire_get_bytes(&in, SIZE_MAX, &p));
    ck_assert_ptr_eq(in.at, bytes);
}
END_TEST

START_TEST(zigzag_makes_small_differences_small_and_comes_back)
{
    static const int64_t in_order[] = {0, -1, 1, -2, 2, -3, 3};

    for (size_t i = 0; i < UNIT_COUNT(in_order); i++)
        ck_assert_uint_eq(tp_wire_zigzag((uint64_t)in_order[i]), i);
    for (size_t i = 0; i < UNIT_COUNT(edges); i++) {
        ck_assert_uint_eq(tp_wire_unzigzag(tp_wire_zigzag(edges[i])), edges[i]);
        ck_assert_uint_eq(tp_wire_unzigzag(tp_wire_zigzag(0 - edges[i])), 0 - edges[i]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        varint_takes_seven_bits_a_byte,
        cut_varint_is_refused_and_moves_nothing,
        varint_over_64_bits_or_10_bytes_is_refused,
        varints_in_bulk_are_the_single_ones,
        varints_in_bulk_stop_behind_the_last_one,
        words_are_little_endian,
        put_without_room_writes_nothing_and_stays_full,
        get_without_bytes_moves_nothing,
        zigzag_makes_small_differences_small_and_comes_back,
    };

    return unit_run("wire", NULL, NULL, tests, UNIT_COUNT(tests));
}
