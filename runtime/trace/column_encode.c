/* SPDX-License-Identifier: MIT */
#include "trace/column_encode.h"

#define PACKED_LOW_MAX 16u
#define LOOKED_AT 1024u /* values, for how many low bits are noise */
#define RUN_LEAST 4u    /* values to a change of a series that is told by its runs */

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

/* As many values at a time as make whole bytes and fit a word. May write a word behind them. */
static inline __attribute__((always_inline)) uint8_t *
put_low_bits_by(uint8_t *p, const uint32_t *values, uint32_t count, unsigned low, unsigned some)
{
    uint32_t mask = (1u << low) - 1, i = 0;
    uint64_t bits;

    for (; i + some <= count; i += some, p += some * low / 8) {
        bits = 0;
        for (unsigned k = some; k-- > 0;)
            bits = bits << low | (values[i + k] & mask);
        tp_wire_store_u64(p, bits);
    }
    bits = 0;
    for (uint32_t k = count; k-- > i;)
        bits = bits << low | (values[k] & mask);
    tp_wire_store_u64(p, bits);
    return p + ((count - i) * low + 7) / 8;
}

/* Values side by side, @low bits of each. */
static void put_low_bits(struct tp_wire_out *out, const uint32_t *values, uint32_t count,
                         unsigned low)
{
    if (tp_wire_room(out) < ((size_t)count * low + 7) / 8 + 16) {
        out->full = true;
        return;
    }
    if (low <= 8)
        out->at = put_low_bits_by(out->at, values, count, low, 8);
    else
        out->at = put_low_bits_by(out->at, values, count, low, 4);
}

/* How many low bits of noisy values leave no more than a byte of all but few of them; some are
 * looked at. */
static unsigned choose_low_bits(const uint32_t *values, uint32_t count)
{
    uint32_t longer[33] = {0}, above = 0, step = 1 + count / LOOKED_AT,
             seen = (count + step - 1) / step;
    unsigned length = 32;

    for (uint32_t i = 0; i < count; i += step)
        longer[32 - (unsigned)__builtin_clz(values[i] | 1)]++;
    for (; length > 8; length--) {
        above += longer[length];
        if (above > seen / 256)
            break;
    }
    unsigned low = length - 8;
    low += low > 8 && low % 2; /* four of them make whole bytes */
    return low < PACKED_LOW_MAX ? low : PACKED_LOW_MAX;
}

/* What comes behind the shift of values that are not all equal. */
static struct tp_planes put_small(struct tp_wire_out *out, const uint32_t *values, uint32_t count,
                                  unsigned low, unsigned width)
{
    tp_wire_put_u8(out, (uint8_t)width);
    if (tp_wire_room(out) < (size_t)width * count) {
        out->full = true;
        return (struct tp_planes){0};
    }
    for (unsigned plane = 0; plane < width; plane++, out->at += count)
        for (uint32_t i = 0; i < count; i++)
            out->at[i] = (uint8_t)(values[i] >> (low + 8 * plane));
    return (struct tp_planes){width, count};
}

struct look {
    uint64_t least, any, differ;
};

static inline __attribute__((always_inline)) uint32_t value_at(const void *values, unsigned size,
                                                               uint32_t i)
{
    return size == 1   ? ((const uint8_t *)values)[i]
           : size == 2 ? ((const uint16_t *)values)[i]
                       : ((const uint32_t *)values)[i];
}

static inline __attribute__((always_inline)) struct look
look_at_small(const void *values, unsigned size, uint32_t count)
{
    uint32_t first = value_at(values, size, 0), least = first, any = 0, differ = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = value_at(values, size, i);
        least = value < least ? value : least;
        any |= value;
        differ |= value ^ first;
    }
    return (struct look){least, any, differ};
}

static struct look look_at_wide(const uint64_t *values, uint32_t count)
{
    struct look look = {.least = values[0]};

    for (uint32_t i = 0; i < count; i++) {
        look.least = values[i] < look.least ? values[i] : look.least;
        look.any |= values[i];
        look.differ |= values[i] ^ values[0];
    }
    return look;
}

/* Without the least of them, which takes longer to find. */
static inline __attribute__((always_inline)) struct look
look_at_noise(const void *values, unsigned size, uint32_t count)
{
    uint32_t first = value_at(values, size, 0), any = 0, differ = 0;

    for (uint32_t i = 0; i < count; i++) {
        any |= value_at(values, size, i);
        differ |= value_at(values, size, i) ^ first;
    }
    return (struct look){differ ? 0 : first, any, differ ? any : 0};
}

static struct look look_at(const struct tp_packed_values *column, bool is_noise)
{
    const void *values = column->values;
    uint32_t count = column->count;

    switch (column->size) {
    case 1:
        return look_at_noise(values, 1, count);
    case 2:
        return is_noise ? look_at_noise(values, 2, count) : look_at_small(values, 2, count);
    case 4:
        return is_noise ? look_at_noise(values, 4, count) : look_at_small(values, 4, count);
    default:
        return look_at_wide(values, count);
    }
}

static inline __attribute__((always_inline)) uint32_t take_small(uint32_t *restrict taken,
                                                                 const void *restrict values,
                                                                 unsigned size, uint32_t count,
                                                                 uint32_t least, unsigned shift)
{
    uint32_t any = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = (value_at(values, size, i) - least) >> shift;
        taken[i] = value;
        any |= value;
    }
    return any;
}

/* Wide ones that are near to the least: the same in 32 bits. Returns false where they are not. */
static bool take_wide(uint32_t *restrict taken, uint64_t *restrict values, uint32_t count,
                      uint64_t least, unsigned shift, uint32_t *ret_any)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < count; i++) {
        values[i] = (values[i] - least) >> shift;
        any |= values[i];
        taken[i] = (uint32_t)values[i];
    }
    *ret_any = (uint32_t)any;
    return !(any >> 32);
}

/* (values − least) >> shift in 32 bits. Returns false where they do not fit; then they lie in the
 * column itself. */
static bool take(uint32_t *taken, const struct tp_packed_values *column, uint64_t least,
                 unsigned shift, uint32_t *ret_any)
{
    uint32_t count = column->count, small = (uint32_t)least;

    if (column->size == 8)
        return take_wide(taken, column->values, count, least, shift, ret_any);
    *ret_any = column->size == 1   ? take_small(taken, column->values, 1, count, small, shift)
               : column->size == 2 ? take_small(taken, column->values, 2, count, small, shift)
                                   : take_small(taken, column->values, 4, count, small, shift);
    return true;
}

/* Bytes as they are. */
static struct tp_planes put_bytes(struct tp_wire_out *out, const uint8_t *values, uint32_t count)
{
    tp_wire_put_u8(out, 1);
    tp_wire_put_bytes(out, values, count);
    return (struct tp_planes){1, count};
}

struct tp_planes tp_column_put_packed(struct tp_wire_out *out, uint8_t column,
                                      const struct tp_packed_values *values, bool is_noise,
                                      uint32_t *scratch)
{
    struct look look = look_at(values, is_noise);
    uint8_t *data = begin_column(out, column);
    struct tp_planes planes = {0};
    unsigned shift = 0, low = 0;
    uint32_t any;

    if (!look.differ) {
        tp_wire_put_varint(out, look.least);
        end_column(out, data, TP_ENCODING_CONST);
        return planes;
    }
    if (values->size > 1)
        shift = (unsigned)__builtin_ctzll(look.differ); /* that of the differences, too */
    tp_wire_put_u8(out, (uint8_t)shift);
    tp_wire_put_varint(out, values->size > 1 ? look.least : 0);
    if (values->size == 1) {
        tp_wire_put_u8(out, 0);
        planes = put_bytes(out, values->values, values->count);
    } else if (take(scratch, values, look.least, shift, &any)) {
        low = is_noise ? choose_low_bits(scratch, values->count) : 0;
        tp_wire_put_u8(out, (uint8_t)low);
        put_low_bits(out, scratch, values->count, low);
        planes = put_small(out, scratch, values->count, low, width_of(any >> low));
    } else {
        uint64_t all = look_at_wide(values->values, values->count).any;
        tp_wire_put_u8(out, 0);
        planes = put_planes(out, values->values, values->count, 0, width_of(all));
    }
    end_column(out, data, TP_ENCODING_PACKED);
    return planes;
}

struct tp_planes tp_column_put_small(struct tp_wire_out *out, uint8_t column,
                                     const struct tp_packed_values *values, uint32_t *scratch)
{
    struct look look = look_at(values, true);
    uint8_t *data = begin_column(out, column);
    struct tp_planes planes = {0};
    uint32_t any;

    if (!look.differ) {
        tp_wire_put_varint(out, look.any);
        end_column(out, data, TP_ENCODING_CONST);
        return planes;
    }
    unsigned shift = (unsigned)__builtin_ctzll(look.any);
    take(scratch, values, 0, shift, &any);
    tp_wire_put_u8(out, (uint8_t)shift);
    planes = put_small(out, scratch, values->count, 0, width_of(any));
    end_column(out, data, TP_ENCODING_PLANES);
    return planes;
}

static void put_series_runs(struct tp_wire_out *out, const struct tp_series *series, uint32_t count)
{
    uint32_t from = 0, i = 0;
    uint64_t now = 0;

    for (; i < series->changes; from = series->at[i], now = series->values[i], i++)
        if (series->at[i] > from) {
            tp_wire_put_varint(out, now);
            tp_wire_put_varint(out, series->at[i] - from);
        }
    tp_wire_put_varint(out, now);
    tp_wire_put_varint(out, count - from);
}

struct tp_planes tp_column_put_series(struct tp_wire_out *out, const struct tp_field_info *field,
                                      const struct tp_series *series, uint32_t count,
                                      uint64_t *words, uint64_t *values)
{
    uint64_t any, differ;

    tp_series_look(series, &any, &differ);
    if (!differ || series->changes > count / RUN_LEAST) {
        struct tp_field_info alone = *field; /* without the others of its word */
        alone.shift = 0;
        tp_series_expand(series, differ ? count : 0, words);
        return tp_column_put(out, &alone, words, count, any, differ, values);
    }
    uint8_t *data = begin_column(out, field->column);
    put_series_runs(out, series, count);
    end_column(out, data, TP_ENCODING_RUNS);
    return (struct tp_planes){0};
}

/* Most of them are short, and so take a byte for the kind and one for the length. */
static void put_kind_runs(struct tp_wire_out *out, const uint8_t *kinds, uint32_t count)
{
    for (uint32_t i = 0, start = 0; i < count; start = i) {
        while (i < count && kinds[i] == kinds[start])
            i++;
        if (i - start < 0x80 && tp_wire_room(out) >= 2) {
            out->at[0] = kinds[start];
            out->at[1] = (uint8_t)(i - start);
            out->at += 2;
        } else {
            tp_wire_put_varint(out, kinds[start]);
            tp_wire_put_varint(out, i - start);
        }
    }
}

void tp_column_put_kinds(struct tp_wire_out *out, const struct tp_field_info *field,
                         const uint8_t *kinds, uint32_t count)
{
    uint8_t *data = begin_column(out, field->column);
    uint32_t runs = 1;

    for (uint32_t i = 1; i < count; i++)
        runs += kinds[i] != kinds[i - 1];
    if (runs == 1) {
        tp_wire_put_varint(out, kinds[0]);
        end_column(out, data, TP_ENCODING_CONST);
    } else if (runs > count / 4) {
        put_bytes(out, kinds, count);
        end_column(out, data, TP_ENCODING_RAW);
    } else {
        put_kind_runs(out, kinds, count);
        end_column(out, data, TP_ENCODING_RUNS);
    }
}
