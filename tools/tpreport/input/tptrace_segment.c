/* SPDX-License-Identifier: MIT */
#include "input/tptrace_segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_file.h"

/* At most so much behind damage is read into memory to be searched; a writer's segments are
 * smaller. */
#define SEARCH_MAX (UINT64_C(256) << 20)

struct scanner {
    const struct tptrace_scan *scan;
    struct tptrace_scanned *scanned;
    int fd;
    uint64_t size, at;
    uint32_t uuid_low;
};

static bool is_trailer(const uint8_t *bytes, uint64_t left)
{
    return left == TP_TRAILER_BYTES && !memcmp(bytes + 8, TP_TRAILER_MAGIC, 8);
}

static int tell_block(struct scanner *s, const struct tp_block_header *header, uint64_t offset)
{
    s->scanned->blocks++;
    return s->scan->block(s->scan->context, header, offset);
}

/* From @at on nothing is certain: search in memory. */
static int walk_bytes(struct scanner *s, const uint8_t *bytes, uint64_t size, struct tp_diag *diag)
{
    struct tp_file_walk walk = {.bytes = bytes, .size = size, .uuid_low = s->uuid_low};
    struct tp_block_header header;
    uint64_t offset;
    int found, error = 0;

    while (!error && (found = tp_file_walk_next(&walk, &header, &offset, diag))) {
        if (found > 0) {
            error = tell_block(s, &header, s->at + offset);
        } else if (!walk.torn) {
            diag->offset += s->at;
            s->scan->trouble(s->scan->context, diag);
        }
    }
    s->scanned->skipped_bytes += walk.skipped_bytes;
    s->scanned->torn = walk.torn;
    s->scanned->closed =
        size >= TP_TRAILER_BYTES && is_trailer(bytes + size - TP_TRAILER_BYTES, TP_TRAILER_BYTES);
    return error;
}

static int search_rest(struct scanner *s, struct tp_diag *diag)
{
    uint64_t size = s->size - s->at;

    if (size > SEARCH_MAX)
        size = SEARCH_MAX;
    uint8_t *bytes = malloc(size);
    if (!bytes)
        return tp_diag_fail(diag, -ENOMEM, s->at, "no memory to search %llu bytes",
                            (unsigned long long)size);
    int64_t n = tptrace_read_at(s->fd, bytes, size, s->at);
    int error = n < 0 ? tp_diag_fail(diag, (int)n, s->at, "%s", tp_error_text((int)n))
                      : walk_bytes(s, bytes, (uint64_t)n, diag);
    if (!error && s->size - s->at > SEARCH_MAX) {
        s->scanned->skipped_bytes += s->size - s->at - SEARCH_MAX;
        tp_diag_fail(diag, -TP_ELIMIT, s->at + SEARCH_MAX,
                     "damaged, and too long to be searched beyond here");
        s->scan->trouble(s->scan->context, diag);
    }
    free(bytes);
    return error;
}

static int scan_blocks(struct scanner *s, struct tp_diag *diag)
{
    uint8_t bytes[TP_BLOCK_HEADER_BYTES];
    struct tp_block_header header;

    while (s->at < s->size) {
        uint64_t left = s->size - s->at;
        int64_t n = tptrace_read_at(s->fd, bytes, sizeof(bytes), s->at);
        if (n < 0)
            return tp_diag_fail(diag, (int)n, s->at, "%s", tp_error_text((int)n));
        if (n == TP_TRAILER_BYTES && is_trailer(bytes, left)) {
            s->scanned->closed = true;
            return 0;
        }
        if (n < (int64_t)sizeof(bytes) || tp_block_header_read(&header, bytes, left, s->at, NULL) ||
            header.uuid_low != s->uuid_low)
            return search_rest(s, diag);
        int error = tell_block(s, &header, s->at);
        if (error)
            return error;
        s->at += tp_block_stride(&header);
    }
    return 0;
}

int tptrace_segment_scan(int fd, uint64_t size, const uint8_t *expect_uuid,
                         const struct tptrace_scan *scan, struct tptrace_scanned *ret_scanned,
                         struct tp_diag *diag)
{
    uint8_t bytes[TP_FILE_HEADER_BYTES];
    struct tp_file_header header;

    *ret_scanned = (struct tptrace_scanned){0};
    int64_t n = tptrace_read_at(fd, bytes, sizeof(bytes), 0);
    if (n < 0)
        return tp_diag_fail(diag, (int)n, 0, "%s", tp_error_text((int)n));
    int error = tp_file_header_read(&header, bytes, n < (int64_t)sizeof(bytes) ? (uint64_t)n : size,
                                    TP_FILE_MAGIC, diag);
    if (error)
        return error;
    if (expect_uuid && memcmp(expect_uuid, header.uuid, sizeof(header.uuid)))
        return tp_diag_fail(diag, -TP_EFOREIGN, 16, "segment of another process instance");
    struct scanner s = {
        .scan = scan, .scanned = ret_scanned, .fd = fd, .size = size, .at = header.header_size};
    memcpy(&s.uuid_low, header.uuid, sizeof(s.uuid_low));
    return scan_blocks(&s, diag);
}
