/* SPDX-License-Identifier: MIT */
#include "model/python_text.h"

#include <string.h>

#include "base/text.h"

void tp_python_string(struct tp_buffer *out, const char *bytes, size_t size)
{
    bool has_single = memchr(bytes, '\'', size), has_double = memchr(bytes, '"', size);
    char quote = has_single && !has_double ? '"' : '\'';
    const unsigned char *p = (const unsigned char *)bytes;

    tp_buffer_char(out, quote);
    while (size) {
        uint32_t code;
        size_t step = tp_utf8_decode(p, size, &code);
        if (code == (unsigned char)quote || code == '\\')
            tp_buffer_format(out, "\\%c", (char)code);
        else if (code == '\n' || code == '\r' || code == '\t')
            tp_buffer_string(out, code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t");
        else if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad)
            tp_buffer_format(out, "\\x%02x", (unsigned)code);
        else
            tp_buffer_code_point(out, code);
        p += step;
        size -= step;
    }
    tp_buffer_char(out, quote);
}

static void json_escape(struct tp_buffer *out, uint32_t code)
{
    static const char plain[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf";
    const char *at = code && code < 0x80 ? strchr(plain, (int)code) : NULL;

    if (at)
        tp_buffer_format(out, "\\%c", letters[at - plain]);
    else if (code < 0x10000)
        tp_buffer_format(out, "\\u%04x", (unsigned)code);
    else
        tp_buffer_format(out, "\\u%04x\\u%04x", 0xd800 + (unsigned)((code - 0x10000) >> 10),
                         0xdc00 + (unsigned)((code - 0x10000) & 0x3ff));
}

static void json_string(struct tp_buffer *out, const char *bytes, size_t size, bool ascii)
{
    const unsigned char *p = (const unsigned char *)bytes;

    tp_buffer_char(out, '"');
    while (size) {
        size_t plain = 0;
        while (plain < size && p[plain] >= 0x20 && p[plain] < 0x7f && p[plain] != '"' &&
               p[plain] != '\\')
            plain++;
        tp_buffer_bytes(out, p, plain);
        p += plain;
        size -= plain;
        if (!size)
            break;
        uint32_t code;
        size_t step = tp_utf8_decode(p, size, &code);
        if (code < 0x80 || ascii)
            json_escape(out, code);
        else
            tp_buffer_code_point(out, code);
        p += step;
        size -= step;
    }
    tp_buffer_char(out, '"');
}

void tp_json_string(struct tp_buffer *out, const char *bytes, size_t size)
{
    json_string(out, bytes, size, false);
}

void tp_json_ascii(struct tp_buffer *out, const char *bytes, size_t size)
{
    json_string(out, bytes, size, true);
}

/* ---- from list text to JSON ---- */

struct reader {
    const char *at, *end;
};

static bool take(struct reader *in, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(in->end - in->at) < size || memcmp(in->at, word, size) != 0)
        return false;
    in->at += size;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Behind a backslash; one character of the string. */
static bool take_escape(struct reader *in, struct tp_buffer *out)
{
    if (in->at == in->end)
        return false;
    char c = *in->at++;
    if (c != 'x') {
        tp_buffer_char(out, c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c);
        return true;
    }
    if (in->end - in->at < 2 || hex_digit(in->at[0]) < 0 || hex_digit(in->at[1]) < 0)
        return false;
    tp_buffer_code_point(out, (uint32_t)(hex_digit(in->at[0]) << 4 | hex_digit(in->at[1])));
    in->at += 2;
    return true;
}

static bool copy_string(struct reader *in, struct tp_buffer *out)
{
    struct tp_buffer plain = {0};
    char quote = *in->at++;
    bool closed = false, good = true;

    while (good && !closed && in->at < in->end) {
        char c = *in->at++;
        if (c == quote)
            closed = true;
        else if (c == '\\')
            good = take_escape(in, &plain);
        else
            tp_buffer_char(&plain, c);
    }
    tp_json_string(out, plain.size ? plain.bytes : "", plain.size);
    out->failed |= plain.failed;
    tp_buffer_fini(&plain);
    return closed;
}

static bool copy_number(struct reader *in, struct tp_buffer *out)
{
    const char *begin = in->at;

    while (in->at < in->end && *in->at && strchr("+-.0123456789e", *in->at))
        in->at++;
    tp_buffer_bytes(out, begin, (size_t)(in->at - begin));
    return in->at > begin;
}

static bool copy_token(struct reader *in, struct tp_buffer *out, long *depth)
{
    if (take(in, "[")) {
        ++*depth;
        tp_buffer_char(out, '[');
    } else if (take(in, "]")) {
        --*depth;
        tp_buffer_char(out, ']');
    } else if (take(in, ", ")) {
        tp_buffer_char(out, ',');
    } else if (take(in, "None")) {
        tp_buffer_string(out, "null");
    } else if (take(in, "True")) {
        tp_buffer_string(out, "true");
    } else if (take(in, "False")) {
        tp_buffer_string(out, "false");
    } else if (*in->at == '\'' || *in->at == '"') {
        return copy_string(in, out);
    } else {
        return copy_number(in, out);
    }
    return *depth >= 0;
}

void tp_python_to_json(struct tp_buffer *out, const char *text, size_t size)
{
    struct reader in = {text, text + size};
    size_t start = out->size;
    long depth = 0;
    bool good = size && *text == '[';

    while (good && in.at < in.end)
        good = copy_token(&in, out, &depth) && (depth > 0 || in.at == in.end);
    if (good && !depth)
        return;
    out->size = start;
    tp_json_string(out, text, size);
}
