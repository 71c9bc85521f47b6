/* SPDX-License-Identifier: MIT
 * A JSON value kept as text: "[[8, 16], []]", "{"a": 1}". Without strings, true, false and null it
 * is what Python prints for the same value. */
#ifndef TP_INPUT_JSON_CAPTURE_H
#define TP_INPUT_JSON_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/buffer.h"

enum { TP_JSON_CAPTURE_MAX = 16 << 20 };

/*
 * Append the next token; commas come by themselves. Memory that is lacking shows in out->failed.
 * Return: false when the text has grown over TP_JSON_CAPTURE_MAX.
 */
bool tp_json_capture_word(struct tp_buffer *out, const char *text,
                          size_t size); /* a number, null */
bool tp_json_capture_string(struct tp_buffer *out, const void *text, size_t size);
bool tp_json_capture_key(struct tp_buffer *out, const void *text, size_t size);
bool tp_json_capture_open(struct tp_buffer *out, char bracket);
bool tp_json_capture_close(struct tp_buffer *out, char bracket);

/**
 * tp_json_shapes - sizes of inputs as reports have them
 * @out: gets the list @text with every element that holds a list itself replaced by "[]"
 */
void tp_json_shapes(struct tp_buffer *out, const char *text, size_t size);

#endif
