/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_WIRE_H
#define TP_TRACE_WIRE_H

/*
 * Numbers as bytes: little-endian words and varints (LEB128, at most 10 bytes), bounded in both
 * directions. An out or an in is a place and an end; what does not fit is refused whole. Context of
 * all: any, no allocation.
 */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TP_VARINT_BYTES 10u

static inline void tp_wire_store_u16(void *p, uint16_t v)
{
    v = htole16(v);
    memcpy(p, &v, sizeof(v));
}

static inline void tp_wire_store_u32(void *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof(v));
}

static inline void tp_wire_store_u64(void *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof(v));
}

static inline uint16_t tp_wire_load_u16(const void *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof(v));
    return le16toh(v);
}

static inline uint32_t tp_wire_load_u32(const void *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

static inline uint64_t tp_wire_load_u64(const void *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

/* Small differences of either sign become small unsigned numbers. */
static inline uint64_t tp_wire_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t tp_wire_unzigzag(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

/* A place to put bytes. The first put that finds no room sets full, writes nothing, and so do all
 * after it. */
struct tp_wire_out {
    uint8_t *at, *end;
    bool full;
};

static inline size_t tp_wire_room(const struct tp_wire_out *out)
{
    return out->full ? 0 : (size_t)(out->end - out->at);
}

void tp_wire_put_u8(struct tp_wire_out *out, uint8_t v);
void tp_wire_put_u16(struct tp_wire_out *out, uint16_t v);
void tp_wire_put_u32(struct tp_wire_out *out, uint32_t v);
void tp_wire_put_u64(struct tp_wire_out *out, uint64_t v);
void tp_wire_put_varint(struct tp_wire_out *out, uint64_t v);
void tp_wire_put_bytes(struct tp_wire_out *out, const void *bytes, size_t size);

/* Bytes to get numbers from. A get that fails moves nothing. */
struct tp_wire_in {
    const uint8_t *at, *end;
};

static inline size_t tp_wire_left(const struct tp_wire_in *in)
{
    return (size_t)(in->end - in->at);
}

/* Return: false when too few bytes are left (a varint: or it is longer than 10 bytes or than 64
 * bits). */
bool tp_wire_get_u8(struct tp_wire_in *in, uint8_t *ret_v);
bool tp_wire_get_u16(struct tp_wire_in *in, uint16_t *ret_v);
bool tp_wire_get_u32(struct tp_wire_in *in, uint32_t *ret_v);
bool tp_wire_get_u64(struct tp_wire_in *in, uint64_t *ret_v);
bool tp_wire_get_varint(struct tp_wire_in *in, uint64_t *ret_v);
bool tp_wire_get_bytes(struct tp_wire_in *in, size_t size, const uint8_t **ret_bytes);

/**
 * tp_wire_put_varints - @count varints of values >> shift
 * @p: room for all of them, and for 8 bytes more, which may be written to
 * Return: behind the last varint.
 */
uint8_t *tp_wire_put_varints(uint8_t *p, const uint64_t *values, size_t count, unsigned shift);

/**
 * tp_wire_get_varints - @count varints, in bulk
 * Return: false as tp_wire_get_varint; @values is then undefined.
 */
bool tp_wire_get_varints(struct tp_wire_in *in, uint64_t *values, size_t count);

#endif
