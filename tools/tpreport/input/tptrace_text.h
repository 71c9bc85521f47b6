/* SPDX-License-Identifier: MIT
 * Texts that carry more than a name: shapes as JSON. */
#ifndef TP_INPUT_TPTRACE_TEXT_H
#define TP_INPUT_TPTRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/buffer.h"

/**
 * tptrace_shapes_text - the shapes of a name of kind SHAPES as text
 * @json: [dims, types] or [dims, types, strides]
 * @structured: as they are, "[[[2, 3], [4]], []]"; else with a list of tensors as [], "[[], []]"
 * Return: false when it is no such JSON; what @out then holds means nothing.
 */
bool tptrace_shapes_text(struct tp_buffer *out, const char *json, size_t size, bool structured);

/* Where the elements of a JSON list are. */
struct tptrace_json_part {
    const char *bytes; /* NULL: there is none */
    size_t size;
};

/**
 * tptrace_json_split - the first @count elements of a JSON list
 * @parts: elements that the list does not have are empty
 *
 * The text is checked as a whole, so that each part is JSON and can be written as it is.
 * Return: false when it is no JSON list.
 */
bool tptrace_json_split(const char *json, size_t size, struct tptrace_json_part *parts,
                        size_t count);

#endif
