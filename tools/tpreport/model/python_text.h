/* SPDX-License-Identifier: MIT
 * Values as the reference writes them into text: lists of shapes are kept in this form. */
#ifndef TP_MODEL_PYTHON_TEXT_H
#define TP_MODEL_PYTHON_TEXT_H

#include "model/buffer.h"

/**
 * tp_python_string - a string with its quotes: 'a', or "it's" when it has ' and no "
 * Backslash escapes for the quote, the backslash and control characters. @bytes is valid UTF-8.
 */
void tp_python_string(struct tp_buffer *out, const char *bytes, size_t size);

/**
 * tp_json_string - a JSON string with its quotes, UTF-8 kept, control characters escaped
 * tp_json_ascii  - the same with everything beyond U+007E as \uXXXX, pairs beyond the BMP
 * Both use the short forms \n \r \t \b \f. A bad byte of UTF-8 becomes U+FFFD.
 */
void tp_json_string(struct tp_buffer *out, const char *bytes, size_t size);
void tp_json_ascii(struct tp_buffer *out, const char *bytes, size_t size);

/**
 * tp_python_to_json - a list in its text form ("[[8, 16], None]") as JSON ("[[8,16],null]")
 * Text that is no such list comes out as a JSON string.
 */
void tp_python_to_json(struct tp_buffer *out, const char *text, size_t size);

#endif
