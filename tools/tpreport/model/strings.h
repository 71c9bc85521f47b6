/* SPDX-License-Identifier: MIT
 * Every string of a report, stored once; everything else carries 32-bit ids, equal iff the text is.
 */
#ifndef TP_MODEL_STRINGS_H
#define TP_MODEL_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TP_STRING_NONE = 0,  /* None: no string at all */
    TP_STRING_EMPTY = 1, /* "" */
    TP_STRING_LIST = 2,  /* "[]", the text form of an empty list (shapes) */
};

struct tp_string {
    const char *bytes;    /* valid UTF-8, terminated (and may hold NULs); stays put until fini */
    uint32_t size;        /* bytes */
    uint32_t length : 31; /* code points */
    uint32_t has_controls : 1; /* holds a control character other than a tab */
};

struct tp_strings {
    struct tp_string *items;
    uint32_t count, capacity;
    uint32_t *slots; /* open addressing; id + 1, 0 = free */
    uint32_t slot_count;
    uint64_t seed; /* of hashes */
    struct tp_strings_chunk *chunks;
};

/**
 * tp_strings_init - a pool holding the three fixed strings
 * tp_strings_fini - free it; takes a zeroed pool as well
 *
 * Context: offline. One thread at a time may change a pool; when nobody does, any number may read.
 * Return: 0 or -ENOMEM.
 */
int tp_strings_init(struct tp_strings *strings);
void tp_strings_fini(struct tp_strings *strings);

/**
 * tp_strings_put - the id of a text, stored if it is new
 * @bytes: copied; each byte that is not part of valid UTF-8 is stored as U+FFFD
 *
 * Context: offline, the pool's writer.
 * Return: 0, -ENOMEM, or -TP_ELIMIT (4 GB of text in one string, or 2^32 strings).
 */
int tp_strings_put(struct tp_strings *strings, const char *bytes, size_t size, uint32_t *ret_id);

/** tp_strings_find - as put, but stores nothing. Return: the id, or TP_STRING_NONE if it is not
 * there. */
uint32_t tp_strings_find(const struct tp_strings *strings, const char *bytes, size_t size);

/** tp_strings_get - borrow a string; TP_STRING_NONE reads as "". Context: any thread while nobody
 * writes. */
static inline const struct tp_string *tp_strings_get(const struct tp_strings *strings, uint32_t id)
{
    return &strings->items[id];
}

/** tp_strings_compare - order of the texts by code points, None first. Return: -1, 0, 1. */
int tp_strings_compare(const struct tp_strings *strings, uint32_t a, uint32_t b);

#endif
