/* SPDX-License-Identifier: MIT */
#ifndef TP_EVENT_EVENT_H
#define TP_EVENT_EVENT_H

/*
 * Records as they stand in rings and decoded blocks: one or more 32-byte slots of four
 * little-endian 64-bit words. Slot 0 has the same meaning in every kind:
 *
 *   word 0   kind << 56 | ticks (low 56 bits)
 *   word 1   alloc_calls << 32 | argument (by kind: mostly a name id)
 *   word 2   allocated_bytes   } of the recording thread, since the thread's start,
 *   word 3   freed_bytes       } by the allocator's usable size
 *
 * Further words by kind: event_kinds.def. The number of slots is fixed per kind.
 */

#include <stdbool.h>
#include <stdint.h>

#define TP_SLOT_WORDS 4
#define TP_SLOT_BYTES 32
#define TP_KIND_SLOTS_MAX 4 /* of any kind */
#define TP_TICKS_MASK ((UINT64_C(1) << 56) - 1)

enum tp_event_kind {
    TP_EVENT_ALL = 0,
#define TP_KIND(id, NAME, name, slots, role, class_, since, help) TP_EVENT_##NAME = id,
#include "event/event_kinds.def"
    TP_EVENT_KIND_END
};

enum tp_event_role { TP_ROLE_NONE, TP_ROLE_BEGIN, TP_ROLE_END, TP_ROLE_POINT, TP_ROLE_LOST };

/* Ranges of one class nest among themselves on a thread; different classes may cross. */
enum tp_range_class {
    TP_CLASS_NONE = 0,
    TP_CLASS_OP = 1,
    TP_CLASS_NVTX = 2,
    TP_CLASS_ITT = 3,
    TP_CLASS_API = 4,
    TP_CLASS_CUDA = 5,
    TP_CLASS_END
};

enum tp_encoding {
    TP_ENCODING_CONST = 0,
    TP_ENCODING_VARINT = 1,
    TP_ENCODING_DELTA = 2,
    TP_ENCODING_RUNS = 3,
    TP_ENCODING_RAW = 4,
    TP_ENCODING_BYTES = 5,
    TP_ENCODING_PLANES = 6,
    TP_ENCODING_PLANES_DELTA = 7,
    TP_ENCODING_PACKED = 8,
    TP_ENCODING_END
};

struct tp_kind_info {
    const char *name; /* NULL: no such kind */
    const char *help;
    uint8_t slots;
    uint8_t role;   /* enum tp_event_role */
    uint8_t class_; /* enum tp_range_class */
    uint8_t since;
};

struct tp_field_info {
    uint8_t kind;   /* TP_EVENT_ALL: a column of every record */
    uint8_t column; /* id, unique within the kind */
    uint8_t word, shift, bits;
    uint8_t encoding; /* first choice */
    uint8_t since;
    const char *name, *unit, *help;
};

extern const struct tp_kind_info tp_kinds[TP_EVENT_KIND_END];
extern const struct tp_field_info tp_fields[]; /* grouped by kind, in the table's order */
extern const unsigned tp_field_count;

/** tp_kind_slots - slots of a record of this kind; 0 for a kind we do not know */
static inline unsigned tp_kind_slots(unsigned kind)
{
    return kind < TP_EVENT_KIND_END ? tp_kinds[kind].slots : 0;
}

static inline unsigned tp_slot_kind(const uint64_t *slot)
{
    return (unsigned)(slot[0] >> 56);
}

static inline uint64_t tp_slot_ticks(const uint64_t *slot)
{
    return slot[0] & TP_TICKS_MASK;
}

static inline uint32_t tp_slot_argument(const uint64_t *slot)
{
    return (uint32_t)slot[1];
}

/** tp_ticks_unwrap - the full tick count nearest to @near (within 2^55) whose low 56 bits are
 * @ticks */
static inline uint64_t tp_ticks_unwrap(uint64_t ticks, uint64_t near)
{
    int64_t apart = (int64_t)((ticks - near) << 8) >> 8;
    return near + (uint64_t)apart;
}

#endif
