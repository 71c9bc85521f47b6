/* SPDX-License-Identifier: MIT */
#include "trace/column_decode.h"

/* @count values of @width bytes, byte 0 of all first. One to three planes, the usual ones, take one
 * pass. */
static void join_planes(const uint8_t *p, uint64_t *values, uint32_t count, unsigned width)
{
    const uint8_t *second = p + count, *third = second + count;

    switch (width) {
    case 1:
        for (uint32_t i = 0; i < count; i++)
            values[i] = p[i];
        return;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            values[i] = (uint32_t)(p[i] | second[i] << 8);
        return;
    case 3:
        for (uint32_t i = 0; i < count; i++)
            values[i] = (uint32_t)(p[i] | second[i] << 8 | third[i] << 16);
        return;
    default:
        memset(values, 0, count * sizeof(*values));
        for (unsigned plane = 0; plane < width; plane++, p += count)
            for (uint32_t i = 0; i < count; i++)
                values[i] |= (uint64_t)p[i] << 8 * plane;
    }
}

static const char *get_planes(struct tp_wire_in *data, uint64_t *values, uint32_t count)
{
    const uint8_t *p;
    uint8_t width;

    if (!tp_wire_get_u8(data, &width) || width > 8)
        return "width";
    if (!tp_wire_get_bytes(data, (size_t)width * count, &p))
        return "planes";
    join_planes(p, values, count, width);
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
    const char *wrong = NULL;
    uint8_t shift;

    if (!tp_wire_get_u8(data, &shift) || shift > 63)
        return "shift";
    if (!tp_wire_get_varint(data, &values[0]))
        return "first value";
    if (planes)
        wrong = get_planes(data, values + 1, count - 1);
    else if (!tp_wire_get_varints(data, values + 1, count - 1))
        wrong = "varints";
    if (wrong)
        return wrong;
    uint64_t value = values[0];
    for (uint32_t i = 1; i < count; i++)
        values[i] = value += tp_wire_unzigzag(values[i]) << shift;
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
    case TP_ENCODING_RUNS:
        return get_runs(data, values, count);
    case TP_ENCODING_RAW:
        return get_raw(data, values, count);
    default:
        return "encoding";
    }
}

const char *tp_column_get(struct tp_wire_in data, unsigned encoding, uint64_t *values,
                          uint32_t count)
{
    const char *wrong = get_values(&data, encoding, values, count);

    return !wrong && tp_wire_left(&data) ? "bytes left over" : wrong;
}
