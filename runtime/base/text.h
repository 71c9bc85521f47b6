/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_TEXT_H
#define TP_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bounded text in the caller's buffer: always terminated, notes when something did not fit. */
struct tp_text {
    char *data;
    size_t size; /* of the buffer, at least 1 */
    size_t used; /* without the terminator */
    bool cut;
};

/* All of them: any thread, signal-safe, no allocation, no locale. */
void tp_text_init(struct tp_text *text, char *buffer, size_t size);
void tp_text_char(struct tp_text *text, char c);
void tp_text_bytes(struct tp_text *text, const void *bytes, size_t size);
void tp_text_string(struct tp_text *text, const char *string);
void tp_text_u64(struct tp_text *text, uint64_t value);
void tp_text_i64(struct tp_text *text, int64_t value);
void tp_text_hex(struct tp_text *text, uint64_t value,
                 unsigned digits); /* at least this many digits */

/** tp_text_json - @size bytes as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD */
void tp_text_json(struct tp_text *text, const void *bytes, size_t size);

/** tp_text_format - %s %.*s %.40s %c %d %i %u %x %X with l, ll, z and zero-padded width; %p; %% */
void tp_text_format(struct tp_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tp_text_vformat(struct tp_text *text, const char *format, va_list arguments);

/**
 * tp_utf8_decode - one code point of possibly broken UTF-8
 * @bytes: at least @size readable bytes, @size > 0
 * @ret_code: the code point, or 0xFFFD for a bad byte (surrogates and overlong forms are bad)
 * Return: bytes consumed, 1..4; 1 for a bad byte.
 */
size_t tp_utf8_decode(const unsigned char *bytes, size_t size, uint32_t *ret_code);

/** tp_utf8_length - code points in @size bytes, each bad byte counting one */
size_t tp_utf8_length(const char *bytes, size_t size);

/** tp_text_distance - edit distance of two short words (Levenshtein), for "did you mean"; words
 * over 63 bytes: 64 */
unsigned tp_text_distance(const char *a, const char *b);

/** tp_glob_match - shell pattern with * ? [..], no locale, bounded time. */
bool tp_glob_match(const char *pattern, const char *text);

#endif
