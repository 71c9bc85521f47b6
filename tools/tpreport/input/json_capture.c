/* SPDX-License-Identifier: MIT */
#include "input/json_capture.h"

#include <string.h>

#include "model/python_text.h"

/* Behind an element: a comma. Behind a bracket or a key's blank: nothing. */
static void separate(struct tp_buffer *out)
{
    if (out->size && !strchr("[{ ", out->bytes[out->size - 1]))
        tp_buffer_bytes(out, ", ", 2);
}

static bool is_within_limit(const struct tp_buffer *out)
{
    return out->size <= TP_JSON_CAPTURE_MAX;
}

bool tp_json_capture_word(struct tp_buffer *out, const char *text, size_t size)
{
    separate(out);
    tp_buffer_bytes(out, text, size);
    return is_within_limit(out);
}

bool tp_json_capture_string(struct tp_buffer *out, const void *text, size_t size)
{
    separate(out);
    tp_json_string(out, text, size);
    return is_within_limit(out);
}

bool tp_json_capture_key(struct tp_buffer *out, const void *text, size_t size)
{
    separate(out);
    tp_json_string(out, text, size);
    tp_buffer_bytes(out, ": ", 2);
    return is_within_limit(out);
}

bool tp_json_capture_open(struct tp_buffer *out, char bracket)
{
    separate(out);
    tp_buffer_char(out, bracket);
    return is_within_limit(out);
}

bool tp_json_capture_close(struct tp_buffer *out, char bracket)
{
    tp_buffer_char(out, bracket);
    return is_within_limit(out);
}

/* Behind the string that begins at @i. */
static size_t skip_string(const char *text, size_t size, size_t i)
{
    for (i++; i < size && text[i] != '"'; i++)
        i += text[i] == '\\';
    return i + 1 < size ? i + 1 : size;
}

/* Behind the element that begins at @i; whether there is a list in it. */
static size_t skip_element(const char *text, size_t size, size_t i, bool *ret_nested)
{
    int depth = 0;

    *ret_nested = false;
    while (i < size) {
        char c = text[i];
        if (c == '"') {
            i = skip_string(text, size, i);
            continue;
        }
        if (!depth && (c == ',' || c == ']'))
            break;
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        *ret_nested |= depth > 1;
        i++;
    }
    return i;
}

void tp_json_shapes(struct tp_buffer *out, const char *text, size_t size)
{
    size_t i = 1;
    bool nested;

    if (!size || *text != '[') {
        tp_buffer_string(out, "[]");
        return;
    }
    tp_buffer_char(out, '[');
    while (i < size && text[i] != ']') {
        size_t begin = i;
        i = skip_element(text, size, i, &nested);
        if (nested)
            tp_buffer_string(out, "[]");
        else
            tp_buffer_bytes(out, text + begin, i - begin);
        if (i < size && text[i] == ',') {
            tp_buffer_string(out, ", ");
            i += 2; /* captured text has a blank behind it */
        }
    }
    tp_buffer_char(out, ']');
}
