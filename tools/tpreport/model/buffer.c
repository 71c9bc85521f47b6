/* SPDX-License-Identifier: MIT */
#include "model/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tp_buffer_fini(struct tp_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct tp_buffer){0};
}

void tp_buffer_reset(struct tp_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

static bool reserve(struct tp_buffer *buffer, size_t size)
{
    if (buffer->capacity - buffer->size >= size)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity * 2 : 256;
    while (capacity - buffer->size < size)
        capacity *= 2;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes) {
        buffer->failed = true;
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

void tp_buffer_bytes(struct tp_buffer *buffer, const void *bytes, size_t size)
{
    if (!size || !reserve(buffer, size))
        return;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

void tp_buffer_string(struct tp_buffer *buffer, const char *string)
{
    tp_buffer_bytes(buffer, string, strlen(string));
}

void tp_buffer_char(struct tp_buffer *buffer, char c)
{
    tp_buffer_bytes(buffer, &c, 1);
}

void tp_buffer_code_point(struct tp_buffer *buffer, uint32_t code)
{
    if (code < 0x80) {
        tp_buffer_char(buffer, (char)code);
    } else if (code < 0x800) {
        tp_buffer_char(buffer, (char)(0xc0 | code >> 6));
        tp_buffer_char(buffer, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        tp_buffer_char(buffer, (char)(0xe0 | code >> 12));
        tp_buffer_char(buffer, (char)(0x80 | (code >> 6 & 0x3f)));
        tp_buffer_char(buffer, (char)(0x80 | (code & 0x3f)));
    } else {
        tp_buffer_char(buffer, (char)(0xf0 | (code >> 18 & 7)));
        tp_buffer_char(buffer, (char)(0x80 | (code >> 12 & 0x3f)));
        tp_buffer_char(buffer, (char)(0x80 | (code >> 6 & 0x3f)));
        tp_buffer_char(buffer, (char)(0x80 | (code & 0x3f)));
    }
}

void tp_buffer_format(struct tp_buffer *buffer, const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (size > 0)
        tp_buffer_bytes(buffer, text,
                        (size_t)size < sizeof(text) ? (size_t)size : sizeof(text) - 1);
}

void tp_buffer_count(struct tp_buffer *buffer, uint64_t count, const char *text)
{
    tp_buffer_format(buffer, "%llu ", (unsigned long long)count);
    while (*text) {
        size_t plain = strcspn(text, "{");
        tp_buffer_bytes(buffer, text, plain);
        text += plain;
        if (!*text)
            return;
        const char *many = strchr(text, '|'), *end = strchr(text, '}');
        if (count == 1)
            tp_buffer_bytes(buffer, text + 1, (size_t)(many - text - 1));
        else
            tp_buffer_bytes(buffer, many + 1, (size_t)(end - many - 1));
        text = end + 1;
    }
}
