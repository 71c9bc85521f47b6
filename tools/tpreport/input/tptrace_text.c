/* SPDX-License-Identifier: MIT */
#include "input/tptrace_text.h"

#include <string.h>

#include <yajl/yajl_parse.h>

static size_t count_digits(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
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
