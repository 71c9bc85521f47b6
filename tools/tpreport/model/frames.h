/* SPDX-License-Identifier: MIT
 * Frames of call stacks, each stored once: of native functions also where in the source they are.
 */
#ifndef TP_MODEL_FRAMES_H
#define TP_MODEL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/buffer.h"
#include "model/stacks.h"
#include "model/strings.h"

/* A frame of Python is one text, "FILE(LINE): FUNCTION", without a place of its own. */
struct tp_frame {
    uint32_t function;   /* string ids */
    uint32_t file;       /* TP_STRING_NONE: not known */
    uint32_t line;       /* 0: not known */
    uint32_t is_inlined; /* 1: into the next frame outwards */
};

/* Start from zeros. */
struct tp_frames {
    struct tp_stacks pool;
};

/** tp_frames_fini - takes a zeroed one as well */
void tp_frames_fini(struct tp_frames *frames);

/** tp_frames_put - the id of a frame, stored if it is new. Return: 0, -ENOMEM or -TP_ELIMIT. */
int tp_frames_put(struct tp_frames *frames, const struct tp_frame *frame, uint32_t *ret_id);

struct tp_frame tp_frames_get(const struct tp_frames *frames, uint32_t id);

/** tp_frame_put_place - " (FILE:LINE)", or nothing where the file is not known; @is_short: without
 * its folder */
void tp_frame_put_place(struct tp_buffer *out, const struct tp_frame *frame,
                        const struct tp_strings *strings, bool is_short);

#endif
