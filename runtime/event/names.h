/* SPDX-License-Identifier: MIT */
#ifndef TP_EVENT_NAMES_H
#define TP_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names: strings stored once per process, in names.tpn; records carry ids. The file is a 64-byte
 * header and then records {u32 id, u8 kind, u8 flags, u16 zero, u32 length, u32 checksum, bytes,
 * pad to 8}, padded with zeros and allocated ahead, so the unused rest of the file is zero. The
 * checksum is the low half of XXH3-64 of the bytes, seeded with XXH3-64 of the first 12 bytes of
 * the record; it is stored last and is never 0 (a computed 0 is stored as 1). A record whose
 * checksum is 0 or wrong was claimed and never finished: skip it by its length.
 */
enum tp_name_kind {
    TP_NAME_TEXT = 1,      /* UTF-8 as given, no check */
    TP_NAME_SYMBOL = 2,    /* mangled */
    TP_NAME_CODE = 3,      /* file NUL line NUL qualified name */
    TP_NAME_SHAPES = 4,    /* JSON: [dims, types] or [dims, types, strides], an element an input */
    TP_NAME_STACK = 5,     /* u32 ids, innermost first; the last one may be a stack's */
    TP_NAME_KEY = 6,       /* attribute key */
    TP_NAME_OPERATOR = 7,  /* name NUL overload */
    TP_NAME_SCOPED = 8,    /* domain NUL text; an empty domain is the default one */
    TP_NAME_INPUTS = 9,    /* JSON: list of strings, an element an input */
    TP_NAME_GEOMETRY = 10, /* JSON: of a kernel launch; see format.md */
    TP_NAME_ADDRESS = 11,  /* u64: an instruction of this process, the one behind a call */
    TP_NAME_KIND_END
};

/* Ids that need no record. */
#define TP_NAME_NONE 0u
#define TP_NAME_NO_ROOM 1u
#define TP_NAME_NO_ROOM_TEXT "(no room for name)"
#define TP_NAME_TOO_MANY 2u
#define TP_NAME_TOO_MANY_TEXT "(too many names)"
#define TP_NAME_FIRST 16u

#define TP_NAME_LIMIT (1u << 20)
#define TP_NAMES_FILE_LIMIT (64u << 20)
#define TP_NAME_LENGTH_LIMIT (64u << 10) /* longer ones are cut there, flag TP_NAME_CUT */
#define TP_NAME_CUT 1u

/* A frame of a stack that stands for those for which there was no room: it is all there is of the
 * stack, the last one, or the one before Python's. */
#define TP_STACK_CUT "(no room for more frames)"

struct tp_name_record {
    uint32_t id;
    uint8_t kind, flags;
    uint16_t zero;
    uint32_t length;
    uint32_t checksum;
};

/**
 * tp_name_checksum - the checksum of a record: header's first 12 bytes and the name's bytes; never
 * 0 Context: any.
 */
uint32_t tp_name_checksum(const struct tp_name_record *record, const void *bytes);

/**
 * tp_name_hash - 64-bit hash of a kind and bytes, for tables in memory
 */
uint64_t tp_name_hash(unsigned kind, const void *bytes, size_t size);

#endif
