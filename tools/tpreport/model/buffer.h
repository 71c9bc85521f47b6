/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_BUFFER_H
#define TP_MODEL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that grows. Start from zeros; failing to grow is remembered, asked for once at the end. */
struct tp_buffer {
    char *bytes; /* not terminated */
    size_t size, capacity;
    bool failed; /* something is missing: no memory */
};

/* Context of all: offline, one thread at a time. fini takes a zeroed buffer; reset keeps the room.
 */
void tp_buffer_fini(struct tp_buffer *buffer);
void tp_buffer_reset(struct tp_buffer *buffer);
void tp_buffer_bytes(struct tp_buffer *buffer, const void *bytes, size_t size);
void tp_buffer_string(struct tp_buffer *buffer, const char *string);
void tp_buffer_char(struct tp_buffer *buffer, char c);
void tp_buffer_code_point(struct tp_buffer *buffer, uint32_t code); /* as UTF-8 */
void tp_buffer_format(struct tp_buffer *buffer, const char *format,
                      ...) /* up to 4 kB; by snprintf */
    __attribute__((format(printf, 2, 3)));

/** tp_buffer_count - a number, a blank, and what there are so many of: of "{one|many}" in @text the
 * part that fits the number, as in "record{|s} lost: {it|they} found no room" */
void tp_buffer_count(struct tp_buffer *buffer, uint64_t count, const char *text);

#endif
