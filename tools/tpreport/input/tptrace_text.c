/* SPDX-License-Identifier: MIT */
#include "input/tptrace_text.h"

#include <string.h>

#include <yajl/yajl_parse.h>

/* ---- emit_nvtx ---- */

/* Where the last @mark in @text begins, or -1. */
static ptrdiff_t find_last(const char *text, size_t size, const char *mark)
{
    size_t length = strlen(mark);

    for (size_t at = size < length ? 0 : size - length + 1; at-- > 0;) {
        if (!memcmp(text + at, mark, length))
            return (ptrdiff_t)at;
    }
    return -1;
}

static size_t count_digits(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

/* "[2, 3]": bytes, 0 when it is no list of numbers. */
static size_t match_numbers(const char *text, size_t size)
{
    size_t at = 1;

    if (size < 2 || text[0] != '[')
        return 0;
    if (text[1] == ']')
        return 2;
    for (;;) {
        size_t sign = at < size && text[at] == '-';
        size_t digits = count_digits(text + at + sign, size - at - sign);
        at += sign + digits;
        if (!digits || at >= size)
            return 0;
        if (text[at] == ']')
            return at + 1;
        if (size - at < 2 || memcmp(text + at, ", ", 2))
            return 0;
        at += 2;
    }
}

/* "(12,0)" */
static size_t match_pair(const char *text, size_t size)
{
    size_t at = 1;

    if (size < 5 || text[0] != '(')
        return 0;
    size_t digits = count_digits(text + at, size - at);
    at += digits;
    if (!digits || at >= size || text[at++] != ',')
        return 0;
    digits = count_digits(text + at, size - at);
    at += digits;
    return digits && at < size && text[at] == ')' ? at + 1 : 0;
}

/* A list of @match up to the very end of the text, its '[' included. */
static bool is_list(const char *text, size_t size, size_t (*match)(const char *, size_t))
{
    size_t at = 1;

    if (size < 2 || text[0] != '[')
        return false;
    while (at < size && text[at] != ']') {
        size_t n = match(text + at, size - at);
        at += n;
        if (!n || at >= size)
            return false;
        if (text[at] == ']')
            break;
        if (size - at < 2 || memcmp(text + at, ", ", 2))
            return false;
        at += 2;
        if (at < size && text[at] == ']')
            return false;
    }
    return at + 1 == size;
}

/* Take ", MARK = NUMBER" off the end. */
static bool strip_number(const char *text, size_t *size, const char *mark, int64_t *ret_value)
{
    size_t digits = 0, length = strlen(mark);
    uint64_t value = 0;

    while (digits < *size && digits <= 19 && text[*size - digits - 1] >= '0' &&
           text[*size - digits - 1] <= '9')
        digits++;
    if (!digits || digits > 18 || *size - digits <= length ||
        memcmp(text + *size - digits - length, mark, length))
        return false;
    for (size_t i = *size - digits; i < *size; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    *size -= digits + length;
    *ret_value = (int64_t)value;
    return true;
}

static bool strip_list(const char *text, size_t *size, const char *mark,
                       size_t (*match)(const char *, size_t), const char **ret_list,
                       size_t *ret_size)
{
    ptrdiff_t at = find_last(text, *size, mark);
    size_t length = strlen(mark);

    if (at <= 0 || !is_list(text + at + length, *size - (size_t)at - length, match))
        return false;
    *ret_list = text + at + length;
    *ret_size = *size - (size_t)at - length;
    *size = (size_t)at;
    return true;
}

bool tptrace_split_nvtx(const char *text, size_t size, struct tptrace_nvtx_text *ret_split)
{
    struct tptrace_nvtx_text split = {.sequence_nr = -1};
    const char *unused;
    size_t unused_size;
    int64_t op_id;

    bool any = strip_list(text, &size, ", input_op_ids = ", match_pair, &unused, &unused_size);
    any |= strip_list(text, &size, ", sizes = ", match_numbers, &split.sizes, &split.sizes_size);
    any |= strip_number(text, &size, ", op_id = ", &op_id);
    any |= strip_number(text, &size, ", seq = ", &split.sequence_nr);
    split.name_size = size;
    if (any)
        *ret_split = split;
    return any;
}

/* ---- shapes ---- */

#define SHAPE_DEPTH_MAX 8

struct scan {
    const char *at, *end;
};

static void pass_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n'))
        scan->at++;
}

static bool take(struct scan *scan, char c)
{
    pass_blanks(scan);
    if (scan->at >= scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static bool put_number(struct scan *scan, struct tp_buffer *out)
{
    const char *start = scan->at;

    if (scan->at < scan->end && *scan->at == '-')
        scan->at++;
    size_t digits = count_digits(scan->at, (size_t)(scan->end - scan->at));
    scan->at += digits;
    if (out)
        tp_buffer_bytes(out, start, (size_t)(scan->at - start));
    return digits > 0;
}

/* Nested lists of integers; null stands for an empty one. @out may be NULL: only checked. */
static bool put_list(struct scan *scan, struct tp_buffer *out, unsigned depth)
{
    if (scan->end - scan->at >= 4 && !memcmp(scan->at, "null", 4)) {
        scan->at += 4;
        if (out)
            tp_buffer_string(out, "[]");
        return true;
    }
    if (!depth || !take(scan, '['))
        return false;
    if (out)
        tp_buffer_char(out, '[');
    for (bool first = true; !take(scan, ']'); first = false) {
        if (!first && !take(scan, ','))
            return false;
        if (!first && out)
            tp_buffer_string(out, ", ");
        pass_blanks(scan);
        bool list = scan->at < scan->end && (*scan->at == '[' || *scan->at == 'n');
        if (list ? !put_list(scan, out, depth - 1) : !put_number(scan, out))
            return false;
    }
    if (out)
        tp_buffer_char(out, ']');
    return true;
}

/* One input's shape; a list of tensors as []. */
static bool put_flat(struct scan *scan, struct tp_buffer *out)
{
    struct scan ahead = *scan;

    if (take(&ahead, '[')) {
        pass_blanks(&ahead);
        if (ahead.at < ahead.end && *ahead.at == '[') {
            tp_buffer_string(out, "[]");
            return put_list(scan, NULL, SHAPE_DEPTH_MAX);
        }
    }
    return put_list(scan, out, 1);
}

bool tptrace_shapes_text(struct tp_buffer *out, const char *json, size_t size, bool structured)
{
    struct scan scan = {json, json + size};

    if (!take(&scan, '['))
        return false;
    pass_blanks(&scan);
    if (structured)
        return put_list(&scan, out, SHAPE_DEPTH_MAX);
    if (!take(&scan, '['))
        return false;
    tp_buffer_char(out, '[');
    for (bool first = true; !take(&scan, ']'); first = false) {
        if (!first && !take(&scan, ','))
            return false;
        if (!first)
            tp_buffer_string(out, ", ");
        pass_blanks(&scan);
        if (!put_flat(&scan, out))
            return false;
    }
    tp_buffer_char(out, ']');
    return true;
}

/* ---- JSON as it is ---- */

static bool is_json(const char *json, size_t size)
{
    yajl_handle parser = yajl_alloc(NULL, NULL, NULL);

    if (!parser)
        return false;
    bool good = yajl_parse(parser, (const unsigned char *)json, size) == yajl_status_ok &&
                yajl_complete_parse(parser) == yajl_status_ok;
    yajl_free(parser);
    return good;
}

bool tptrace_json_split(const char *json, size_t size, struct tptrace_json_part *parts,
                        size_t count)
{
    size_t used = 0, depth = 0, start = 0;
    bool text = false;

    memset(parts, 0, count * sizeof(*parts));
    while (size && strchr(" \t\r\n", json[0])) {
        json++;
        size--;
    }
    if (!size || json[0] != '[' || memchr(json, '\0', size) || !is_json(json, size))
        return false;
    for (size_t at = 0; at < size; at++) {
        char c = json[at];
        if (text) {
            at += c == '\\';
            text = c != '"';
            continue;
        }
        text = c == '"';
        depth += c == '[' || c == '{';
        if (depth == 1 && (c == ',' || c == ']') && used < count && at > start)
            parts[used++] = (struct tptrace_json_part){json + start, at - start};
        if (depth == 1 && (c == ',' || (c == '[' && !at)))
            start = at + 1;
        depth -= c == ']' || c == '}';
    }
    return true;
}
