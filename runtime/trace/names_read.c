/* SPDX-License-Identifier: MIT */
#include "trace/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/names.h"
#include "trace/wire.h"

/*
 * The names of a process, indexed by id. A writer claims room and fills it later, so that a record
 * of a process that died may be missing or half made: the next good record is searched, as after
 * any other damage. (Its own length is no help: it may be the damage.) Checksums read in vain are
 * on a budget, so that a hostile file costs no more than a few passes over it.
 */

#define RECORD_BYTES 16u
#define ID_END (TP_NAME_FIRST + TP_NAME_LIMIT)

struct entry {
    uint64_t offset; /* of the bytes; 0: no such name */
    uint32_t size;
    uint8_t kind, flags;
};

struct tp_names {
    const uint8_t *bytes;
    uint64_t size;
    struct entry *entries; /* by id - TP_NAME_FIRST */
    uint32_t room;
    uint32_t count, damaged, unfinished, highest;
    uint64_t search_budget; /* bytes that may still be summed in vain */
    struct tp_diag first_damage;
};

static uint64_t record_stride(uint32_t length)
{
    return RECORD_BYTES + (((uint64_t)length + 7) & ~UINT64_C(7));
}

/* A header that a writer could have made, of a record that fits. */
static bool is_sane(const struct tp_name_record *record, uint64_t left)
{
    return record->id >= TP_NAME_FIRST && record->id < ID_END && record->kind && !record->zero &&
           record->length <= TP_NAME_LENGTH_LIMIT &&
           RECORD_BYTES + (uint64_t)record->length <= left;
}

/* The record at @at, copied: the file may be a mapping that a live process writes. */
static bool load(const struct tp_names *names, uint64_t at, struct tp_name_record *record)
{
    if (names->size - at < RECORD_BYTES)
        return false;
    memcpy(record, names->bytes + at, RECORD_BYTES);
    record->id = le32toh(record->id);
    record->zero = le16toh(record->zero);
    record->length = le32toh(record->length);
    record->checksum = le32toh(record->checksum);
    return is_sane(record, names->size - at);
}

static bool is_whole(struct tp_names *names, uint64_t at, const struct tp_name_record *record)
{
    if (!record->checksum)
        return false;
    if (tp_name_checksum(record, names->bytes + at + RECORD_BYTES) == record->checksum)
        return true;
    uint64_t cost = RECORD_BYTES + record->length;
    names->search_budget -= cost < names->search_budget ? cost : names->search_budget;
    return false;
}

static uint64_t pass_zeros(const struct tp_names *names, uint64_t at)
{
    while (names->size - at >= 8 && !tp_wire_load_u64(names->bytes + at))
        at += 8;
    return at;
}

/* The next good record behind the damage at @at, or the end. */
static uint64_t search(struct tp_names *names, uint64_t at)
{
    struct tp_name_record record;

    for (; names->size - at >= RECORD_BYTES && names->search_budget; at += 8)
        if (load(names, at, &record) && is_whole(names, at, &record))
            return at;
    return names->size;
}

/* Where to say what it is: only the first is told. */
static struct tp_diag *damage(struct tp_names *names)
{
    return names->damaged++ ? NULL : &names->first_damage;
}

/* What a writer that died leaves: a header without its checksum, all of which lies within the file.
 * It is written before the bytes. */
static bool is_unfinished(const struct tp_names *names, uint64_t at, uint64_t *ret_end)
{
    struct tp_name_record record;

    if (!load(names, at, &record) || record.checksum)
        return false;
    uint64_t stride = record_stride(record.length);
    *ret_end = stride < names->size - at ? at + stride : names->size;
    return true;
}

static void note_no_record(struct tp_names *names, uint64_t at)
{
    struct tp_name_record record;

    if (names->size - at < RECORD_BYTES)
        tp_diag_fail(damage(names), -TP_ECORRUPT, at,
                     "%u bytes at the end, expected a name or zeros", (unsigned)(names->size - at));
    else if (load(names, at, &record))
        tp_diag_fail(damage(names), -TP_ECORRUPT, at,
                     "checksum %08x is not that of name %u of %u bytes", record.checksum, record.id,
                     record.length);
    else
        tp_diag_fail(damage(names), -TP_ECORRUPT, at,
                     "id %u, kind %u: no name of %llu bytes at most, expected one or zeros",
                     tp_wire_load_u32(names->bytes + at), names->bytes[at + 4],
                     (unsigned long long)(names->size - at - RECORD_BYTES));
}

static bool is_zero(const struct tp_names *names, uint64_t at)
{
    while (at < names->size && !names->bytes[at])
        at++;
    return at == names->size;
}

/* Behind what makes no record at @at. */
static uint64_t pass_over(struct tp_names *names, uint64_t at)
{
    uint64_t next = pass_zeros(names, at), end;

    if (names->size - next < RECORD_BYTES) {
        if (!is_zero(names, next))
            note_no_record(names, next);
        return names->size; /* zeros to the end: room that nobody claimed */
    }
    if (is_unfinished(names, next, &end)) {
        names->unfinished++;
        return end;
    }
    uint64_t found = search(names, next > at ? next : at + 8);
    if (found == next) /* room that was claimed and never used */
        names->unfinished++;
    else
        note_no_record(names, next);
    return found;
}

static int make_room(struct tp_names *names, uint32_t index)
{
    uint32_t room = names->room ? names->room : 256;

    if (index < names->room)
        return 0;
    while (room <= index)
        room *= 2;
    struct entry *entries = realloc(names->entries, room * sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    memset(entries + names->room, 0, (room - names->room) * sizeof(*entries));
    names->entries = entries;
    names->room = room;
    return 0;
}

static int keep(struct tp_names *names, uint64_t at, const struct tp_name_record *record)
{
    uint32_t index = record->id - TP_NAME_FIRST;
    int error = make_room(names, index);

    if (error)
        return error;
    if (names->entries[index].offset) { /* an id never changes: the first one stays */
        tp_diag_fail(damage(names), -TP_ECORRUPT, at, "id %u a second time", record->id);
        return 0;
    }
    names->entries[index] =
        (struct entry){at + RECORD_BYTES, record->length, record->kind, record->flags};
    names->count++;
    if (record->id > names->highest)
        names->highest = record->id;
    return 0;
}

static int index_records(struct tp_names *names, uint64_t at)
{
    struct tp_name_record record;

    while (at < names->size) {
        if (load(names, at, &record) && is_whole(names, at, &record)) {
            int error = keep(names, at, &record);
            if (error)
                return error;
            uint64_t stride = record_stride(record.length);
            at = stride < names->size - at ? at + stride : names->size;
            continue;
        }
        at = pass_over(names, at);
    }
    return 0;
}

int tp_names_open(struct tp_names **ret_names, const void *bytes, uint64_t size,
                  const uint8_t *expect_uuid, struct tp_diag *diag)
{
    struct tp_file_header header;
    int error = tp_file_header_read(&header, bytes, size, TP_NAMES_MAGIC, diag);

    if (error)
        return error;
    if (expect_uuid && memcmp(expect_uuid, header.uuid, sizeof(header.uuid)))
        return tp_diag_fail(diag, -TP_EFOREIGN, 16, "names of another process instance");
    struct tp_names *names = calloc(1, sizeof(*names));
    if (!names)
        return tp_diag_fail(diag, -ENOMEM, 0, "no memory for names");
    names->bytes = bytes;
    names->size = size;
    names->search_budget = 4 * size + (1 << 20);
    error = index_records(names, header.header_size);
    if (error) {
        tp_names_close(names);
        return tp_diag_fail(diag, error, 0, "no memory for names");
    }
    *ret_names = names;
    return 0;
}

void tp_names_close(struct tp_names *names)
{
    if (!names)
        return;
    free(names->entries);
    free(names);
}

static bool get_fixed(uint32_t id, struct tp_name *ret_name)
{
    const char *text = id == TP_NAME_NO_ROOM    ? TP_NAME_NO_ROOM_TEXT
                       : id == TP_NAME_TOO_MANY ? TP_NAME_TOO_MANY_TEXT
                                                : NULL;

    if (!text)
        return false;
    *ret_name = (struct tp_name){TP_NAME_TEXT, 0, (uint32_t)strlen(text), text};
    return true;
}

bool tp_names_get(const struct tp_names *names, uint32_t id, struct tp_name *ret_name)
{
    if (id < TP_NAME_FIRST)
        return get_fixed(id, ret_name);
    if (id - TP_NAME_FIRST >= names->room || !names->entries[id - TP_NAME_FIRST].offset)
        return false;
    const struct entry *entry = &names->entries[id - TP_NAME_FIRST];
    *ret_name = (struct tp_name){entry->kind, entry->flags, entry->size,
                                 (const char *)names->bytes + entry->offset};
    return true;
}

uint32_t tp_names_count(const struct tp_names *names)
{
    return names->count;
}

uint32_t tp_names_damaged(const struct tp_names *names)
{
    return names->damaged;
}

uint32_t tp_names_unfinished(const struct tp_names *names)
{
    return names->unfinished;
}

const struct tp_diag *tp_names_first_damage(const struct tp_names *names)
{
    return names->damaged ? &names->first_damage : NULL;
}

uint32_t tp_names_highest(const struct tp_names *names)
{
    return names->highest;
}
