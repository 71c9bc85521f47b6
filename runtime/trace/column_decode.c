/* SPDX-License-Identifier: MIT */
#include "trace/column_decode.h"

/* Value i of @width planes at @p. */
static inline __attribute__((always_inline)) uint64_t plane_value(const uint8_t *p, size_t count,
                                                                  size_t i, unsigned width)
{
    uint64_t value = 0;

    for (unsigned plane = 0; plane < width; plane++)
        value |= (uint64_t)p[plane * count + i] << 8 * plane;
    return value;
}

static inline __attribute__((always_inline)) void join(const uint8_t *p, uint64_t *values,
                                                       size_t count, unsigned width)
{
    for (size_t i = 0; i < count; i++)
        values[i] = plane_value(p, count, i, width);
}

/* Differences of up to three bytes: first all that needs no order, which the compiler does several
 * at a time. */
static inline __attribute__((always_inline)) void
join_small_differences(const uint8_t *p, uint64_t *values, size_t count, unsigned width,
                       uint64_t before, unsigned shift)
{
    int32_t differences[256];

    for (size_t at = 0, some; at < count; at += some) {
        some = count - at < 256 ? count - at : 256;
        for (size_t i = 0; i < some; i++) {
            uint32_t v = 0;
            for (unsigned plane = 0; plane < width; plane++)
                v |= (uint32_t)p[plane * count + at + i] << 8 * plane;
            differences[i] = (int32_t)(v >> 1 ^ (0 - (v & 1)));
        }
        for (size_t i = 0; i < some; i++)
            values[at + i] = before += (uint64_t)(int64_t)differences[i] << shift;
    }
}

static void join_wide_differences(const uint8_t *p, uint64_t *values, size_t count, unsigned width,
                                  uint64_t before, unsigned shift)
{
    for (size_t i = 0; i < count; i++)
        values[i] = before += tp_wire_unzigzag(plane_value(p, count, i, width)) << shift;
}

static const char *find_planes(struct tp_wire_in *data, uint32_t count, const uint8_t **ret_p,
                               uint8_t *ret_width)
{
    if (!tp_wire_get_u8(data, ret_width) || *ret_width > 8)
        return "width";
    return tp_wire_get_bytes(data, (size_t)*ret_width * count, ret_p) ? NULL : "planes";
}

/* The usual widths apart, so that the compiler unrolls them. */
static const char *get_planes(struct tp_wire_in *data, uint64_t *values, uint32_t count)
{
    const uint8_t *p;
    uint8_t width;
    const char *wrong = find_planes(data, count, &p, &width);

    if (wrong)
        return wrong;
    if (width == 1)
        join(p, values, count, 1);
    else if (width == 2)
        join(p, values, count, 2);
    else if (width == 3)
        join(p, values, count, 3);
    else
        join(p, values, count, width);
    return NULL;
}

static const char *get_plane_differences(struct tp_wire_in *data, uint64_t *values, uint32_t count,
                                         uint64_t before, unsigned shift)
{
    const uint8_t *p;
    uint8_t width;
    const char *wrong = find_planes(data, count, &p, &width);

    if (wrong)
        return wrong;
    if (width == 1)
        join_small_differences(p, values, count, 1, before, shift);
    else if (width == 2)
        join_small_differences(p, values, count, 2, before, shift);
    else if (width == 3)
        join_small_differences(p, values, count, 3, before, shift);
    else
        join_wide_differences(p, values, count, width, before, shift);
    return NULL;
}

/* Undoes the right shift. Returns false when bits are lost. */
static bool shift_left(uint64_t *values, uint32_t count, unsigned shift)
{
    uint64_t any = 0;

    if (!shift)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        any |= values[i];
        values[i] <<= shift;
    }
    return !(any >> (64 - shift));
}

/* Values as they are: a shift, then varints or planes. */
static const char *get_plain(struct tp_wire_in *data, uint64_t *values, uint32_t count, bool planes)
{
    const char *wrong = NULL;
    uint8_t shift;

    if (!tp_wire_get_u8(data, &shift) || shift > 63)
        return "shift";
    if (planes)
        wrong = get_planes(data, values, count);
    else if (!tp_wire_get_varints(data, values, count))
        wrong = "varints";
    if (wrong)
        return wrong;
    return shift_left(values, count, shift) ? NULL : "value too wide";
}

/* Differences: a shift, the first value, then varints or planes. */
static const char *get_differences(struct tp_wire_in *data, uint64_t *values, uint32_t count,
                                   bool planes)
{
    uint8_t shift;

    if (!tp_wire_get_u8(data, &shift) || shift > 63)
        return "shift";
    if (!tp_wire_get_varint(data, &values[0]))
        return "first value";
    uint64_t value = values[0];
    if (planes)
        return get_plane_differences(data, values + 1, count - 1, value, shift);
    if (!tp_wire_get_varints(data, values + 1, count - 1))
        return "varints";
    for (uint32_t i = 1; i < count; i++)
        values[i] = value += tp_wire_unzigzag(values[i]) << shift;
    return NULL;
}

/* The @low lowest bits of each value, side by side at @p. */
static void join_low_bits(const uint8_t *p, uint64_t *values, uint32_t count, unsigned low)
{
    uint64_t bits = 0, mask = (UINT64_C(1) << low) - 1;
    unsigned left = 0;

    for (uint32_t i = 0; i < count; i++) {
        for (; left < low; left += 8)
            bits |= (uint64_t)*p++ << left;
        values[i] |= bits & mask;
        bits >>= low;
        left -= low;
    }
}

static const char *get_packed(struct tp_wire_in *data, uint64_t *values, uint32_t count)
{
    uint64_t least;
    uint8_t shift, low;
    const uint8_t *p;

    if (!tp_wire_get_u8(data, &shift) || shift > 63)
        return "shift";
    if (!tp_wire_get_varint(data, &least))
        return "least value";
    if (!tp_wire_get_u8(data, &low) || low > 16 ||
        !tp_wire_get_bytes(data, ((size_t)count * low + 7) / 8, &p))
        return "low bits";
    const char *wrong = get_planes(data, values, count);
    if (wrong)
        return wrong;
    if (!shift_left(values, count, low))
        return "bits beyond 64";
    join_low_bits(p, values, count, low);
    if (!shift_left(values, count, shift))
        return "bits beyond 64";
    for (uint32_t i = 0; i < count; i++)
        values[i] += least;
    return NULL;
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

static const char *get_values(struct tp_wire_in *data, unsigned encoding, uint64_t *values,
                              uint32_t count)
{
    switch (encoding) {
    case TP_ENCODING_CONST:
        return tp_wire_get_varint(data, &values[0]) ? NULL : "constant";
    case TP_ENCODING_VARINT:
        return get_plain(data, values, count, false);
    case TP_ENCODING_PLANES:
        return get_plain(data, values, count, true);
    case TP_ENCODING_DELTA:
        return get_differences(data, values, count, false);
    case TP_ENCODING_PLANES_DELTA:
        return get_differences(data, values, count, true);
    case TP_ENCODING_PACKED:
        return get_packed(data, values, count);
    case TP_ENCODING_RUNS:
        return get_runs(data, values, count);
    case TP_ENCODING_RAW:
        return get_raw(data, values, count);
    default:
        return "encoding";
    }
}

const char *tp_column_unpack(struct tp_wire_in data, unsigned encoding, uint64_t *values,
                             uint32_t count)
{
    const char *wrong = get_values(&data, encoding, values, count);

    return !wrong && tp_wire_left(&data) ? "bytes left over" : wrong;
}
