/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_FILE_H
#define TP_TRACE_FILE_H

/* Segments: a 64-byte header, blocks, and when closed an index block and a trailer. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/block.h"

#define TP_FILE_MAGIC "TPTRACE\n"
#define TP_NAMES_MAGIC "TPNAMES\n"
#define TP_FILE_HEADER_BYTES 64u
#define TP_FORMAT_MAJOR 1
#define TP_FORMAT_MINOR 3
#define TP_SEGMENT_BYTES (64u << 20)
#define TP_TRAILER_MAGIC "TPTRAIL\n"
#define TP_TRAILER_BYTES 16u
#define TP_INDEX_ENTRY_BYTES 48u

/* Of a recording: a line for each process that installed a filter of system calls before its first
 * event. */
#define TP_FILTERED_NAME "filtered"
#define TP_FILTERED_MAX (64u << 10)

struct tp_file_header {
    uint16_t major, minor;
    uint16_t header_size, flags;
    uint8_t uuid[16];
    uint32_t number; /* segment number from 1; 0 in names.tpn */
};

/** tp_file_header_write - 64 bytes; @magic is 8 bytes */
void tp_file_header_write(uint8_t bytes[64], const char magic[8], const uint8_t uuid[16],
                          uint32_t number);

/** tp_names_header_write - the first 64 bytes of a header as losses.h has it, the rest of which is
 * zero */
void tp_names_header_write(uint8_t bytes[64], const uint8_t uuid[16]);

/** tp_file_header_read - check magic, checksum, major version. Return: 0, -TP_ETRUNCATED,
 * -TP_EFOREIGN, -TP_EVERSION, -TP_ECORRUPT. */
int tp_file_header_read(struct tp_file_header *header, const void *bytes, uint64_t size,
                        const char magic[8], struct tp_diag *diag);

/* One entry of a segment's index. */
struct tp_index_entry {
    uint64_t offset;
    uint64_t first_slot;
    uint64_t first_ticks, last_ticks;
    uint32_t track, slots;
    uint32_t lost, zero;
};

/**
 * tp_index_write - index block and trailer into @buffer
 * @entries: @count of them, in file order; @at: offset in the file where the index block will stand
 * Return: bytes written, or -TP_EFULL when @size is below tp_index_size(count).
 */
int64_t tp_index_write(void *buffer, size_t size, const struct tp_index_entry *entries,
                       uint32_t count, uint64_t at, uint32_t uuid_low);
size_t tp_index_size(uint32_t count);

/**
 * tp_index_read - the index of a closed segment
 * @bytes: the whole segment of @size bytes, @header its checked header
 * @entries: room for @count of them, filled as far as they go; what they say is not checked against
 * the blocks Return: how many the index has, -TP_ENOTFOUND (not closed), -TP_ECORRUPT,
 * -TP_ETRUNCATED, -TP_ELIMIT.
 */
int64_t tp_index_read(struct tp_index_entry *entries, uint32_t count, const void *bytes,
                      uint64_t size, const struct tp_file_header *header, struct tp_diag *diag);

/* A walk over the blocks of a mapped or read segment. */
struct tp_file_walk {
    const uint8_t *bytes;
    uint64_t size, at;
    uint32_t uuid_low;
    uint64_t skipped_bytes; /* damage that was passed over to find the next block, a torn tail not
                               counted */
    uint32_t damaged;       /* how often */
    bool torn; /* the last block is cut: what a killed writer leaves; told once as -TP_ETRUNCATED */
};

/** tp_file_walk_init - @bytes: the whole segment, checked header included; starts behind the header
 */
void tp_file_walk_init(struct tp_file_walk *walk, const void *bytes, uint64_t size,
                       const struct tp_file_header *header);

/**
 * tp_file_walk_next - the next block whose header is good and whose uuid is the file's
 * @ret_offset: where it begins
 *
 * Damage is passed over by searching the next 8-byte boundary with a magic and a good header; each
 * such place is told through @diag (code, offset, text) once: the call then returns its negative
 * code and may be called on. The trailer ends the walk. Return: 1 with a block, 0 at the end,
 * negative for damage.
 */
int tp_file_walk_next(struct tp_file_walk *walk, struct tp_block_header *ret_header,
                      uint64_t *ret_offset, struct tp_diag *diag);

/* Names, read back. */
struct tp_names;

/**
 * tp_names_open - check and index a names file's bytes (not copied; they must outlive the object)
 * Return: 0 or negative; damaged records are counted and skipped, the rest is used.
 */
int tp_names_open(struct tp_names **ret_names, const void *bytes, uint64_t size,
                  const uint8_t *expect_uuid, struct tp_diag *diag);
void tp_names_close(struct tp_names *names);

struct tp_name {
    uint8_t kind, flags;
    uint32_t size;
    const char *bytes; /* not terminated */
};

/** tp_names_get - O(1). Return: false for an id that has no (whole) record. The fixed ids 1 and 2
 * have texts. */
bool tp_names_get(const struct tp_names *names, uint32_t id, struct tp_name *ret_name);
uint32_t tp_names_count(const struct tp_names *names);
/** tp_names_damaged - places that no writer makes, not even one that was killed; the first of them,
 * NULL none */
uint32_t tp_names_damaged(const struct tp_names *names);
const struct tp_diag *tp_names_first_damage(const struct tp_names *names);

/** tp_names_unfinished - names that were claimed and never finished: nobody used them */
uint32_t tp_names_unfinished(const struct tp_names *names);
uint32_t tp_names_highest(const struct tp_names *names);

#endif
