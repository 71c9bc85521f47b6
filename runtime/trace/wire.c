/* SPDX-License-Identifier: MIT */
#include "trace/wire.h"

#define CONTINUE_BITS UINT64_C(0x8080808080808080)

static bool has_room(struct tp_wire_out *out, size_t size)
{
    if (tp_wire_room(out) < size)
        out->full = true;
    return !out->full;
}

void tp_wire_put_u8(struct tp_wire_out *out, uint8_t v)
{
    if (has_room(out, 1))
        *out->at++ = v;
}

void tp_wire_put_u16(struct tp_wire_out *out, uint16_t v)
{
    if (has_room(out, sizeof(v))) {
        tp_wire_store_u16(out->at, v);
        out->at += sizeof(v);
    }
}

void tp_wire_put_u32(struct tp_wire_out *out, uint32_t v)
{
    if (has_room(out, sizeof(v))) {
        tp_wire_store_u32(out->at, v);
        out->at += sizeof(v);
    }
}

void tp_wire_put_u64(struct tp_wire_out *out, uint64_t v)
{
    if (has_room(out, sizeof(v))) {
        tp_wire_store_u64(out->at, v);
        out->at += sizeof(v);
    }
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

void tp_wire_put_varint(struct tp_wire_out *out, uint64_t v)
{
    uint8_t bytes[TP_VARINT_BYTES];
    size_t size = (size_t)(put_varint(bytes, v) - bytes);

    tp_wire_put_bytes(out, bytes, size);
}

void tp_wire_put_bytes(struct tp_wire_out *out, const void *bytes, size_t size)
{
    if (has_room(out, size)) {
        if (size)
            memcpy(out->at, bytes, size);
        out->at += size;
    }
}

/* Seven bits a byte, of the low 56; the reverse of join_sevens. */
static uint64_t spread_sevens(uint64_t v)
{
    v = (v & UINT64_C(0x0fffffff)) | (v & UINT64_C(0x00fffffff0000000)) << 4;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x0fffc0000fffc000)) << 2;
    return (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
}

/* Values of different lengths come in no order that a processor could foresee: no branch between up
 * to 8 bytes. */
uint8_t *tp_wire_put_varints(uint8_t *p, const uint64_t *values, size_t count, unsigned shift)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t v = values[i] >> shift;
        if (v >> 56) {
            p = put_varint(p, v);
            continue;
        }
        unsigned more = (63u - (unsigned)__builtin_clzll(v | 1)) * 37 >> 8; /* by 7, for 0..55 */
        tp_wire_store_u64(p, spread_sevens(v) | (CONTINUE_BITS & ((UINT64_C(1) << 8 * more) - 1)));
        p += more + 1;
    }
    return p;
}

bool tp_wire_get_bytes(struct tp_wire_in *in, size_t size, const uint8_t **ret_bytes)
{
    if (tp_wire_left(in) < size)
        return false;
    *ret_bytes = in->at;
    in->at += size;
    return true;
}

bool tp_wire_get_u8(struct tp_wire_in *in, uint8_t *ret_v)
{
    const uint8_t *p;

    if (!tp_wire_get_bytes(in, sizeof(*ret_v), &p))
        return false;
    *ret_v = *p;
    return true;
}

bool tp_wire_get_u16(struct tp_wire_in *in, uint16_t *ret_v)
{
    const uint8_t *p;

    if (!tp_wire_get_bytes(in, sizeof(*ret_v), &p))
        return false;
    *ret_v = tp_wire_load_u16(p);
    return true;
}

bool tp_wire_get_u32(struct tp_wire_in *in, uint32_t *ret_v)
{
    const uint8_t *p;

    if (!tp_wire_get_bytes(in, sizeof(*ret_v), &p))
        return false;
    *ret_v = tp_wire_load_u32(p);
    return true;
}

bool tp_wire_get_u64(struct tp_wire_in *in, uint64_t *ret_v)
{
    const uint8_t *p;

    if (!tp_wire_get_bytes(in, sizeof(*ret_v), &p))
        return false;
    *ret_v = tp_wire_load_u64(p);
    return true;
}

bool tp_wire_get_varint(struct tp_wire_in *in, uint64_t *ret_v)
{
    const uint8_t *p = in->at;
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p == in->end)
            return false;
        uint64_t byte = *p++;
        if (shift == 63 && byte > 1)
            return false;
        v |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            in->at = p;
            *ret_v = v;
            return true;
        }
    }
    return false;
}

/* The low seven bits of each of eight bytes, side by side. */
static uint64_t join_sevens(uint64_t v)
{
    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (v & UINT64_C(0x0fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
}

static void spread_bytes(uint64_t *values, uint64_t word)
{
    for (unsigned k = 0; k < 8; k++)
        values[k] = word >> 8 * k & 0xff;
}

bool tp_wire_get_varints(struct tp_wire_in *in, uint64_t *values, size_t count)
{
    size_t i = 0;

    while (i < count && tp_wire_left(in) >= 8) {
        uint64_t word = tp_wire_load_u64(in->at);
        uint64_t ends = ~word & CONTINUE_BITS;
        if (ends == CONTINUE_BITS && count - i >= 8) {
            spread_bytes(values + i, word);
            in->at += 8;
            i += 8;
        } else if (!(word & 0x80)) {
            values[i++] = word & 0x7f;
            in->at++;
        } else if (ends) {
            values[i++] = join_sevens(word & (ends ^ (ends - 1)));
            in->at += (unsigned)__builtin_ctzll(ends) / 8 + 1;
        } else if (!tp_wire_get_varint(in, &values[i++])) {
            return false;
        }
    }
    for (; i < count; i++)
        if (!tp_wire_get_varint(in, &values[i]))
            return false;
    return true;
}
