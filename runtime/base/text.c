/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <string.h>

void tp_text_init(struct tp_text *text, char *buffer, size_t size)
{
    text->data = buffer;
    text->size = size;
    text->used = 0;
    text->cut = false;
    buffer[0] = '\0';
}

void tp_text_bytes(struct tp_text *text, const void *bytes, size_t size)
{
    size_t room = text->size - 1 - text->used;

    if (size > room) {
        size = room;
        text->cut = true;
    }
    memcpy(text->data + text->used, bytes, size);
    text->used += size;
    text->data[text->used] = '\0';
}

void tp_text_char(struct tp_text *text, char c)
{
    tp_text_bytes(text, &c, 1);
}

void tp_text_string(struct tp_text *text, const char *string)
{
    tp_text_bytes(text, string, strlen(string));
}

static size_t digits_of(uint64_t value, unsigned base, bool upper, char *end)
{
    const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t count = 0;

    do {
        *--end = set[value % base];
        value /= base;
        count++;
    } while (value);
    return count;
}

static void put_number(struct tp_text *text, uint64_t value, bool negative, unsigned base,
                       bool upper, unsigned width, char pad)
{
    char buffer[24];
    size_t count = digits_of(value, base, upper, buffer + sizeof(buffer));
    size_t total = count + negative;

    if (negative && pad == '0')
        tp_text_char(text, '-');
    for (; total < width; total++)
        tp_text_char(text, pad);
    if (negative && pad != '0')
        tp_text_char(text, '-');
    tp_text_bytes(text, buffer + sizeof(buffer) - count, count);
}

void tp_text_u64(struct tp_text *text, uint64_t value)
{
    put_number(text, value, false, 10, false, 0, ' ');
}

void tp_text_i64(struct tp_text *text, int64_t value)
{
    put_number(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, 10, false, 0,
               ' ');
}

void tp_text_hex(struct tp_text *text, uint64_t value, unsigned digits)
{
    put_number(text, value, false, 16, false, digits, '0');
}

static void put_code(struct tp_text *text, uint32_t code)
{
    char out[4];
    size_t n = 0;

    if (code < 0x80) {
        out[n++] = (char)code;
    } else if (code < 0x800) {
        out[n++] = (char)(0xc0 | code >> 6);
        out[n++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out[n++] = (char)(0xe0 | code >> 12);
        out[n++] = (char)(0x80 | (code >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (code & 0x3f));
    } else {
        out[n++] = (char)(0xf0 | code >> 18);
        out[n++] = (char)(0x80 | (code >> 12 & 0x3f));
        out[n++] = (char)(0x80 | (code >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (code & 0x3f));
    }
    tp_text_bytes(text, out, n);
}

void tp_text_json(struct tp_text *text, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;

    tp_text_char(text, '"');
    while (size) {
        uint32_t code;
        size_t step = tp_utf8_decode(p, size, &code);
        if (code == '"' || code == '\\') {
            tp_text_char(text, '\\');
            tp_text_char(text, (char)code);
        } else if (code < 0x20 || code == 0x7f) {
            tp_text_string(text, "\\u");
            tp_text_hex(text, code, 4);
        } else {
            put_code(text, code);
        }
        p += step;
        size -= step;
    }
    tp_text_char(text, '"');
}

static uint64_t next_unsigned(va_list *arguments, int longs)
{
    if (longs >= 2)
        return va_arg(*arguments, unsigned long long);
    if (longs == 1)
        return va_arg(*arguments, unsigned long);
    return va_arg(*arguments, unsigned);
}

static int64_t next_signed(va_list *arguments, int longs)
{
    if (longs >= 2)
        return va_arg(*arguments, long long);
    if (longs == 1)
        return va_arg(*arguments, long);
    return va_arg(*arguments, int);
}

/* One conversion, *format just behind its '%'; leaves *format behind the conversion's letter. */
static void put_conversion(struct tp_text *text, const char **format, va_list *arguments)
{
    const char *f = *format;
    char pad = ' ';
    unsigned width = 0;
    int longs = 0, precision = -1;

    if (*f == '0')
        pad = *f++;
    while (*f >= '0' && *f <= '9')
        width = width * 10 + (unsigned)(*f++ - '0');
    if (f[0] == '.' && f[1] == '*') {
        precision = va_arg(*arguments, int);
        f += 2;
    } else if (*f == '.') {
        for (precision = 0, f++; *f >= '0' && *f <= '9'; f++)
            precision = precision * 10 + (*f - '0');
    }
    while (*f == 'l' || *f == 'z') {
        longs++;
        f++;
    }
    switch (*f) {
    case 's': {
        const char *s = va_arg(*arguments, const char *);
        if (!s)
            s = "(null)";
        tp_text_bytes(text, s, precision < 0 ? strlen(s) : strnlen(s, (size_t)precision));
        break;
    }
    case 'c':
        tp_text_char(text, (char)va_arg(*arguments, int));
        break;
    case 'd':
    case 'i': {
        int64_t v = next_signed(arguments, longs);
        put_number(text, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0, 10, false, width, pad);
        break;
    }
    case 'u':
        put_number(text, next_unsigned(arguments, longs), false, 10, false, width, pad);
        break;
    case 'x':
    case 'X':
        put_number(text, next_unsigned(arguments, longs), false, 16, *f == 'X', width, pad);
        break;
    case 'p':
        tp_text_string(text, "0x");
        tp_text_hex(text, (uintptr_t)va_arg(*arguments, void *), 1);
        break;
    case '%':
        tp_text_char(text, '%');
        break;
    default: /* our own mistake; show it rather than read a wrong argument */
        tp_text_string(text, "%?");
        break;
    }
    *format = *f ? f + 1 : f;
}

void tp_text_vformat(struct tp_text *text, const char *format, va_list arguments)
{
    va_list copy;

    va_copy(copy, arguments);
    while (*format) {
        size_t plain = strcspn(format, "%");
        tp_text_bytes(text, format, plain);
        format += plain;
        if (*format == '%') {
            format++;
            put_conversion(text, &format, &copy);
        }
    }
    va_end(copy);
}

void tp_text_format(struct tp_text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tp_text_vformat(text, format, arguments);
    va_end(arguments);
}

size_t tp_utf8_decode(const unsigned char *p, size_t size, uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code = p[0];
    size_t need = code < 0x80   ? 1
                  : code < 0xc2 ? 0
                  : code < 0xe0 ? 2
                  : code < 0xf0 ? 3
                  : code < 0xf5 ? 4
                                : 0;

    *ret_code = 0xfffd;
    if (need == 1) {
        *ret_code = code;
        return 1;
    }
    if (!need || need > size)
        return 1;
    code &= 0x7fu >> need;
    for (size_t i = 1; i < need; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 1;
        code = code << 6 | (p[i] & 0x3f);
    }
    if (code < least[need] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 1;
    *ret_code = code;
    return need;
}

size_t tp_utf8_length(const char *bytes, size_t size)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t count = 0;

    while (size) {
        uint32_t code;
        size_t step = *p < 0x80 ? 1 : tp_utf8_decode(p, size, &code);
        p += step;
        size -= step;
        count++;
    }
    return count;
}

unsigned tp_text_distance(const char *a, const char *b)
{
    unsigned char row[65];
    size_t length_a = strnlen(a, 64), length_b = strnlen(b, 64);

    if (length_a > 63 || length_b > 63)
        return 64;
    for (size_t j = 0; j <= length_b; j++)
        row[j] = (unsigned char)j;
    for (size_t i = 1; i <= length_a; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= length_b; j++) {
            unsigned above = row[j];
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1u < best)
                best = row[j - 1] + 1u;
            row[j] = (unsigned char)best;
            diagonal = above;
        }
    }
    return row[length_b];
}

/* @p just behind '['; returns behind ']' or NULL when the class never ends. */
static const char *match_class(const char *p, char c, bool *ret_match)
{
    bool negate = *p == '!' || *p == '^', match = false;

    if (negate)
        p++;
    for (const char *first = p; *p && (*p != ']' || p == first); p++) {
        unsigned char low = (unsigned char)*p, high = low;
        if (p[1] == '-' && p[2] && p[2] != ']') {
            high = (unsigned char)p[2];
            p += 2;
        }
        match |= (unsigned char)c >= low && (unsigned char)c <= high;
    }
    *ret_match = match != negate;
    return *p == ']' ? p + 1 : NULL;
}

/* One pattern element against one character; returns the pattern behind it, NULL = no match. */
static const char *match_one(const char *p, char c)
{
    bool match;

    if (*p == '[') {
        const char *end = match_class(p + 1, c, &match);
        if (end)
            return match ? end : NULL;
    }
    return *p == '?' || *p == c ? p + 1 : NULL;
}

bool tp_glob_match(const char *pattern, const char *text)
{
    const char *star = NULL, *again = NULL;

    while (*text) {
        const char *next = *pattern && *pattern != '*' ? match_one(pattern, *text) : NULL;
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (next) {
            pattern = next;
            text++;
        } else if (star) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
