/* SPDX-License-Identifier: MIT */
#include "model/frames.h"

#include <string.h>

#include "model/hash.h"

#define WORDS (sizeof(struct tp_frame) / sizeof(uint32_t))

void tp_frames_fini(struct tp_frames *frames)
{
    tp_stacks_fini(&frames->pool);
}

int tp_frames_put(struct tp_frames *frames, const struct tp_frame *frame, uint32_t *ret_id)
{
    uint32_t words[WORDS];

    if (!frames->pool.count)
        frames->pool.seed = tp_hash_seed();
    memcpy(words, frame, sizeof(words));
    return tp_stacks_put(&frames->pool, words, WORDS, ret_id);
}

struct tp_frame tp_frames_get(const struct tp_frames *frames, uint32_t id)
{
    struct tp_frame frame;

    memcpy(&frame, tp_stacks_frames(&frames->pool, id), sizeof(frame));
    return frame;
}

void tp_frame_put_place(struct tp_buffer *out, const struct tp_frame *frame,
                        const struct tp_strings *strings, bool is_short)
{
    const struct tp_string *file = tp_strings_get(strings, frame->file);
    const char *slash = is_short ? memrchr(file->bytes, '/', file->size) : NULL;
    const char *start = slash ? slash + 1 : file->bytes;

    if (frame->file == TP_STRING_NONE)
        return;
    tp_buffer_string(out, " (");
    tp_buffer_bytes(out, start, (size_t)(file->bytes + file->size - start));
    if (frame->line)
        tp_buffer_format(out, ":%u", frame->line);
    tp_buffer_char(out, ')');
}
