/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_FRAMES_H
#define TP_TRACE_FRAMES_H

/*
 * A payload as frames of zstd. Within a frame zstd has one table of codes for all bytes that no
 * earlier ones foretell, and what is random in one way gets the codes of what is random in another.
 * So the planes of times, the most random bytes there are, get frames of their own where they are
 * worth the headers. Private to trace/.
 */

#include <stddef.h>
#include <stdint.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "trace/column_encode.h"
#include "trace/wire.h"

#define TP_CUTS_MAX 128

struct tp_frames {
    ZSTD_CCtx *zstd;
    const uint8_t *payload;
    uint32_t cuts[TP_CUTS_MAX]; /* where a frame ends and another begins, rising */
    bool is_quick[TP_CUTS_MAX]; /* the frame behind it */
    unsigned cut_count;
};

/** tp_frames_workspace - bytes that tp_frames_init needs */
size_t tp_frames_workspace(void);

/** tp_frames_init - @workspace: 16-byte aligned. Return: false where it is too small. */
bool tp_frames_init(struct tp_frames *frames, void *workspace, size_t size);

/** tp_frames_begin - a payload begins at @payload */
void tp_frames_begin(struct tp_frames *frames, const uint8_t *payload);

/** tp_frames_cut - a frame for each plane of the column that ends where @out is; @is_quick: little
 * of it repeats, and is looked for in fewer places */
void tp_frames_cut(struct tp_frames *frames, const struct tp_wire_out *out, struct tp_planes planes,
                   bool is_quick);

/** tp_frames_compress - the payload of @bytes. Return: bytes stored, or what zstd says is wrong. */
size_t tp_frames_compress(struct tp_frames *frames, uint32_t bytes, uint8_t *stored, size_t room);

#endif
