/* SPDX-License-Identifier: MIT */
#ifndef TP_INPUT_TPTRACE_SEGMENT_H
#define TP_INPUT_TPTRACE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/file.h"

/* What a scan tells, in file order. Return of both: 0, or negative to stop. */
struct tptrace_scan {
    void *context;
    int (*block)(void *context, const struct tp_block_header *header, uint64_t offset);
    void (*trouble)(void *context, struct tp_diag *diag); /* damage; the scan goes on */
};

struct tptrace_scanned {
    uint64_t blocks;        /* of all types */
    uint64_t skipped_bytes; /* damage */
    bool torn;              /* the last block is cut */
    bool closed;            /* there is a trailer */
};

/**
 * tptrace_segment_scan - walk over the headers of a segment's blocks
 * @size: of the file
 * @expect_uuid: NULL = do not compare
 *
 * Reads the headers only; where one makes no sense, what is behind it is read and searched.
 *
 * Context: offline.
 * Return: 0, or negative with @diag filled when the file is none of this process or cannot be read.
 */
int tptrace_segment_scan(int fd, uint64_t size, const uint8_t *expect_uuid,
                         const struct tptrace_scan *scan, struct tptrace_scanned *ret_scanned,
                         struct tp_diag *diag);

#endif
