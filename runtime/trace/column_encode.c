/* SPDX-License-Identifier: MIT */
#include "trace/column_encode.h"

#define PACKED_LOW_MAX 16u

/* The zigzag of a difference may need one bit more than the field; short runs become raw bytes. */
size_t tp_column_worst(const struct tp_field_info *field)
{
    return (field->bits + 7u) / 7u;
}

/* Bytes of the longest varint among values that have no other bits than @any. */
static size_t varint_bytes(uint64_t any)
{
    return any ? (70u - (unsigned)__builtin_clzll(any)) / 7 : 1;
}

static unsigned width_of(uint64_t any)
{
    return any ? (71u - (unsigned)__builtin_clzll(any)) / 8 : 0;
}

static void take_values(uint64_t *restrict values, const uint64_t *restrict words, uint32_t count,
                        const struct tp_field_info *field)
{
    uint64_t mask = tp_field_mask(field);
    unsigned shift = field->shift;

    for (uint32_t i = 0; i < count; i++)
        values[i] = words[i] >> shift & mask;
}

/*
 * The first value, then zigzag differences >> low; those bits of the differences are zero. Returns
 * the bits that some difference has. (The sign comes and goes by logical shifts, which are there
 * for several values at a time.)
 */
static uint64_t take_differences(uint64_t *restrict values, const uint64_t *restrict words,
                                 uint32_t count, const struct tp_field_info *field, unsigned low)
{
    uint64_t mask = tp_field_mask(field), any = 0;
    unsigned shift = field->shift;

    values[0] = words[0] >> shift & mask;
    for (uint32_t i = 1; i < count; i++) {
        uint64_t difference = (words[i] >> shift & mask) - (words[i - 1] >> shift & mask);
        uint64_t negative = difference >> 63;
        uint64_t value = (difference ^ (0 - negative)) >> low << 1 | negative;
        values[i] = value;
        any |= value;
    }
    return any;
}

/* @any: bits of the values >> shift. */
static void put_varints(struct tp_wire_out *out, const uint64_t *values, uint32_t count,
                        unsigned shift, uint64_t any)
{
    if (tp_wire_room(out) < varint_bytes(any) * count + 8) {
        out->full = true;
    } else if (any < 0x80) {
        for (uint32_t i = 0; i < count; i++)
            out->at[i] = (uint8_t)(values[i] >> shift);
        out->at += count;
    } else {
        out->at = tp_wire_put_varints(out->at, values, count, shift);
    }
}

static void put_raw(struct tp_wire_out *out, const uint64_t *values, uint32_t count, unsigned width)
{
    tp_wire_put_u8(out, (uint8_t)width);
    if (tp_wire_room(out) < (size_t)width * count + 8) {
        out->full = true;
    } else if (width == 1) {
        for (uint32_t i = 0; i < count; i++)
            out->at[i] = (uint8_t)values[i];
        out->at += count;
    } else {
        for (uint32_t i = 0; i < count; i++) {
            tp_wire_store_u64(out->at, values[i]);
            out->at += width;
        }
    }
}

/* One, two or three planes in one pass over the values. */
static void put_some_planes(uint8_t *first, const uint64_t *values, uint32_t count, unsigned shift,
                            unsigned planes)
{
    uint8_t *second = first + count, *third = second + count;

    if (planes == 3) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t v = values[i] >> shift;
            first[i] = (uint8_t)v;
            second[i] = (uint8_t)(v >> 8);
            third[i] = (uint8_t)(v >> 16);
        }
    } else if (planes == 2) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t v = values[i] >> shift;
            first[i] = (uint8_t)v;
            second[i] = (uint8_t)(v >> 8);
        }
    } else {
        for (uint32_t i = 0; i < count; i++)
            first[i] = (uint8_t)(values[i] >> shift);
    }
}

static struct tp_planes put_planes(struct tp_wire_out *out, const uint64_t *values, uint32_t count,
                                   unsigned shift, unsigned width)
{
    struct tp_planes put = {0};

    tp_wire_put_u8(out, (uint8_t)width);
    if (tp_wire_room(out) < (size_t)width * count) {
        out->full = true;
        return put;
    }
    for (unsigned plane = 0, planes; plane < width; plane += planes) {
        planes = width - plane < 3 ? width - plane : 3;
        put_some_planes(out->at, values, count, shift + 8 * plane, planes);
        out->at += (size_t)planes * count;
    }
    return (struct tp_planes){width, count};
}

static bool has_long_runs(const uint64_t *values, uint32_t count)
{
    uint32_t runs = 1;

    for (uint32_t i = 1; i < count; i++)
        runs += values[i] != values[i - 1];
    return runs <= count / 4;
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

/* The data of values that are not all equal. Returns the encoding. */
static enum tp_encoding put_values(struct tp_wire_out *out, const struct tp_field_info *field,
                                   uint64_t *values, uint32_t count, uint64_t any,
                                   struct tp_planes *planes)
{
    unsigned shift = (unsigned)__builtin_ctzll(any);

    switch (field->encoding) {
    case TP_ENCODING_VARINT:
        tp_wire_put_u8(out, (uint8_t)shift);
        put_varints(out, values, count, shift, any >> shift);
        return TP_ENCODING_VARINT;
    case TP_ENCODING_PLANES:
        tp_wire_put_u8(out, (uint8_t)shift);
        *planes = put_planes(out, values, count, shift, width_of(any >> shift));
        return TP_ENCODING_PLANES;
    case TP_ENCODING_RUNS:
        if (has_long_runs(values, count)) {
            put_runs(out, values, count);
            return TP_ENCODING_RUNS;
        }
        break;
    }
    put_raw(out, values, count, width_of(any));
    return TP_ENCODING_RAW;
}

/* @values: the first value, then differences >> low that have no other bits than @any. */
static void put_differences(struct tp_wire_out *out, const struct tp_field_info *field,
                            const uint64_t *values, uint32_t count, uint64_t any, unsigned low,
                            struct tp_planes *planes)
{
    tp_wire_put_u8(out, (uint8_t)low);
    tp_wire_put_varint(out, values[0]);
    if (field->encoding == TP_ENCODING_DELTA)
        put_varints(out, values + 1, count - 1, 0, any);
    else
        *planes = put_planes(out, values + 1, count - 1, 0, width_of(any));
}

static enum tp_encoding put_data(struct tp_wire_out *out, const struct tp_field_info *field,
                                 const uint64_t *words, uint32_t count, uint64_t any,
                                 uint64_t differ, uint64_t *values, struct tp_planes *planes)
{
    if (!differ) {
        tp_wire_put_varint(out, any);
        return TP_ENCODING_CONST;
    }
    if (field->encoding == TP_ENCODING_DELTA || field->encoding == TP_ENCODING_PLANES_DELTA) {
        unsigned low = (unsigned)__builtin_ctzll(differ);
        uint64_t some = take_differences(values, words, count, field, low);
        put_differences(out, field, values, count, some, low, planes);
        return field->encoding;
    }
    take_values(values, words, count, field);
    return put_values(out, field, values, count, any, planes);
}

/* A column begins; its data comes next. Returns where. */
static uint8_t *begin_column(struct tp_wire_out *out, uint8_t column)
{
    tp_wire_put_u8(out, column);
    tp_wire_put_u8(out, 0);
    return out->at;
}

/* The data goes first and moves to make room for its size: that is shorter than a size of fixed
 * width. */
static void end_column(struct tp_wire_out *out, uint8_t *data, enum tp_encoding encoding)
{
    uint8_t length[TP_VARINT_BYTES];
    struct tp_wire_out length_out = {length, length + sizeof(length), false};
    size_t size = (size_t)(out->at - data);

    tp_wire_put_varint(&length_out, size);
    size_t length_size = (size_t)(length_out.at - length);
    tp_wire_put_bytes(out, length, length_size);
    if (out->full)
        return;
    data[-1] = (uint8_t)encoding;
    memmove(data + length_size, data, size);
    memcpy(data, length, length_size);
}

struct tp_planes tp_column_put(struct tp_wire_out *out, const struct tp_field_info *field,
                               const uint64_t *words, uint32_t count, uint64_t any, uint64_t differ,
                               uint64_t *values)
{
    struct tp_planes planes = {0};
    uint8_t *data = begin_column(out, field->column);

    end_column(out, data, put_data(out, field, words, count, any, differ, values, &planes));
    return planes;
}

/* Values side by side, @low bits of each. */
static void put_low_bits(struct tp_wire_out *out, const uint64_t *values, uint32_t count,
                         unsigned low)
{
    uint64_t bits = 0, mask = (UINT64_C(1) << low) - 1;
    unsigned used = 0;

    if (tp_wire_room(out) < (size_t)count * low / 8 + 8) {
        out->full = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        bits |= (values[i] & mask) << used;
        used += low;
        if (used >= 32) {
            tp_wire_store_u32(out->at, (uint32_t)bits);
            out->at += 4;
            bits >>= 32;
            used -= 32;
        }
    }
    tp_wire_store_u64(out->at, bits);
    out->at += (used + 7) / 8;
}

/* How many low bits of noisy values leave a byte of all but few of them; some are looked at. */
static unsigned choose_low_bits(const uint64_t *values, uint32_t count)
{
    uint32_t longer[65] = {0}, above = 0, step = 1 + count / 4096, seen = (count + step - 1) / step;
    unsigned length = 64;

    for (uint32_t i = 0; i < count; i += step)
        longer[64 - (unsigned)__builtin_clzll(values[i] | 1)]++;
    for (; length > 8; length--) {
        above += longer[length];
        if (above > seen / 256)
            break;
    }
    return length - 8 < PACKED_LOW_MAX ? length - 8 : PACKED_LOW_MAX;
}

struct tp_planes tp_column_put_packed(struct tp_wire_out *out, uint8_t column,
                                      const uint64_t *values, uint32_t count, bool is_noise,
                                      uint64_t *scratch)
{
    uint64_t least = values[0], differ = 0, any = 0;
    uint8_t *data = begin_column(out, column);

    for (uint32_t i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        differ |= values[i] ^ values[0];
    }
    if (!differ) {
        tp_wire_put_varint(out, least);
        end_column(out, data, TP_ENCODING_CONST);
        return (struct tp_planes){0};
    }
    unsigned shift = (unsigned)__builtin_ctzll(differ); /* that of the differences, too */
    for (uint32_t i = 0; i < count; i++) {
        scratch[i] = (values[i] - least) >> shift;
        any |= scratch[i];
    }
    unsigned low = is_noise ? choose_low_bits(scratch, count) : 0;
    tp_wire_put_u8(out, (uint8_t)shift);
    tp_wire_put_varint(out, least);
    tp_wire_put_u8(out, (uint8_t)low);
    put_low_bits(out, scratch, count, low);
    struct tp_planes planes = put_planes(out, scratch, count, low, width_of(any >> low));
    end_column(out, data, TP_ENCODING_PACKED);
    return planes;
}
