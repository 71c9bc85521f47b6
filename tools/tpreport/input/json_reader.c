/* SPDX-License-Identifier: MIT */
#include "input/json_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { CHUNK = 256 << 10 };

/* yajl keeps a token that goes over the end of a chunk, however long it is, and trusts that there
 * is memory. The reader stops it at the next chunk. */
static void *take_memory(void *context, size_t size)
{
    struct tp_json_reader *reader = context;

    reader->is_token_too_long |= size > TP_JSON_TOKEN_MAX;
    return malloc(size);
}

static void *grow_memory(void *context, void *memory, size_t size)
{
    struct tp_json_reader *reader = context;

    reader->is_token_too_long |= size > TP_JSON_TOKEN_MAX;
    return realloc(memory, size);
}

static void free_memory(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static int new_parser(struct tp_json_reader *reader)
{
    reader->memory = (yajl_alloc_funcs){take_memory, grow_memory, free_memory, reader};
    reader->yajl = yajl_alloc(&reader->callbacks, &reader->memory, reader->context);
    if (!reader->yajl)
        return -ENOMEM;
    yajl_config(reader->yajl, yajl_dont_validate_strings, 1); /* bad bytes become U+FFFD */
    return 0;
}

int tp_json_reader_init(struct tp_json_reader *reader, const yajl_callbacks *callbacks,
                        void *context, struct tp_diag *diag)
{
    *reader = (struct tp_json_reader){
        .callbacks = *callbacks, .context = context, .diag = diag, .line = 1};
    if (new_parser(reader) < 0)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for a JSON parser");
    return 0;
}

void tp_json_reader_fini(struct tp_json_reader *reader)
{
    if (reader->yajl)
        yajl_free(reader->yajl);
    *reader = (struct tp_json_reader){0};
}

/* ---- where ---- */

static uint64_t count_lines(const unsigned char *bytes, size_t size)
{
    enum { BLOCK = 128 };
    uint64_t lines = 0;

    for (; size >= BLOCK; bytes += BLOCK, size -= BLOCK) {
        uint8_t few = 0; /* narrow sums make wide vectors */
        for (size_t i = 0; i < BLOCK; i++)
            few = (uint8_t)(few + (bytes[i] == '\n'));
        lines += few;
    }
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static size_t consumed(const struct tp_json_reader *reader)
{
    size_t used = yajl_get_bytes_consumed(reader->yajl);

    return used < reader->chunk_size ? used : reader->chunk_size;
}

uint64_t tp_json_reader_offset(const struct tp_json_reader *reader)
{
    return reader->chunk_offset + consumed(reader);
}

uint64_t tp_json_reader_line(const struct tp_json_reader *reader)
{
    return reader->line + count_lines(reader->chunk, consumed(reader));
}

int tp_json_reader_fail(struct tp_json_reader *reader, int code, const char *format, ...)
{
    char what[400];
    struct tp_text text;
    va_list arguments;

    tp_text_init(&text, what, sizeof(what));
    va_start(arguments, format);
    tp_text_vformat(&text, format, arguments);
    va_end(arguments);
    reader->result =
        tp_diag_fail(reader->diag, code, tp_json_reader_offset(reader), "line %llu: %s",
                     (unsigned long long)tp_json_reader_line(reader), what);
    return 0;
}

/* ---- syntax errors ---- */

/* With yajl's complaint ("lexical error: invalid char in json text.") without its line end. */
static int fail_syntax(struct tp_json_reader *reader)
{
    unsigned char *message = yajl_get_error(reader->yajl, 0, NULL, 0);
    int length = message ? (int)strcspn((const char *)message, ".\n") : 0;
    size_t at = consumed(reader), left = reader->chunk_size - at;
    char found[64];
    struct tp_text text;

    tp_text_init(&text, found, sizeof(found));
    if (at)
        tp_text_json(&text, reader->chunk + at - 1, left < 7 ? left + 1 : 8);
    else
        tp_text_string(&text, "something");
    tp_json_reader_fail(reader, -TP_ESYNTAX, "found %s, expected JSON (%.*s)", found, length,
                        message ? (char *)message : "");
    yajl_free_error(reader->yajl, message);
    return reader->result;
}

/* A fresh parser that stands where the old one did, just before the byte that it would not take. */
static int resume_parser(struct tp_json_reader *reader, const char *prefix)
{
    yajl_callbacks loud = reader->callbacks;

    yajl_free(reader->yajl);
    reader->yajl = NULL;
    reader->callbacks = (yajl_callbacks){0};
    int result = new_parser(reader);
    if (!result &&
        yajl_parse(reader->yajl, (const unsigned char *)prefix, strlen(prefix)) != yajl_status_ok)
        result = -TP_ESYNTAX;
    reader->callbacks = loud;
    return result < 0 ? (reader->result = tp_diag_fail(reader->diag, result, TP_DIAG_NO_OFFSET,
                                                       "no memory for a JSON parser"))
                      : 0;
}

/* What is left of the chunk behind a syntax error that the context forgives. */
static int try_resume(struct tp_json_reader *reader, const unsigned char **rest)
{
    size_t at = consumed(reader);
    const unsigned char *byte = reader->chunk + at - 1;

    const char *prefix = reader->resume && at ? reader->resume(reader->context, *byte) : NULL;
    if (!prefix)
        return fail_syntax(reader);
    *rest = byte;
    return resume_parser(reader, prefix);
}

/* ---- bytes ---- */

static void next_chunk(struct tp_json_reader *reader, const unsigned char *bytes, size_t size)
{
    reader->line += count_lines(reader->chunk, reader->chunk_size);
    reader->chunk_offset += reader->chunk_size;
    reader->chunk = bytes;
    reader->chunk_size = size;
}

int tp_json_reader_feed(struct tp_json_reader *reader, const void *bytes, size_t size)
{
    const unsigned char *at = bytes, *end = at + size;

    next_chunk(reader, at, size);
    while (!reader->result) {
        yajl_status status = yajl_parse(reader->yajl, at, (size_t)(end - at));
        if (status == yajl_status_ok && reader->is_token_too_long)
            tp_json_reader_fail(reader, -TP_ELIMIT,
                                "found a token of more than 64 MB, expected a "
                                "shorter one");
        if (status == yajl_status_ok || reader->result < 0)
            break;
        const unsigned char *rest = at;
        if (try_resume(reader, &rest) < 0)
            break;
        next_chunk(reader, rest, (size_t)(end - rest));
        reader->chunk_offset -= (uint64_t)(end - rest); /* the old chunk went to its end */
        reader->line -= count_lines(rest, (size_t)(end - rest));
        at = rest;
    }
    if (reader->result >= 0)
        next_chunk(reader, NULL, 0);
    return reader->result;
}

/* A number behind the document is seen as such only when nothing comes any more. */
static bool has_trailing_garbage(const struct tp_json_reader *reader)
{
    unsigned char *message = yajl_get_error(reader->yajl, 0, NULL, 0);
    bool garbage = message && strstr((const char *)message, "trailing garbage");

    yajl_free_error(reader->yajl, message);
    return garbage;
}

int tp_json_reader_finish(struct tp_json_reader *reader)
{
    if (reader->result < 0)
        return reader->result;
    if (yajl_complete_parse(reader->yajl) == yajl_status_ok || reader->result < 0)
        return reader->result;
    if (has_trailing_garbage(reader)) {
        tp_json_reader_fail(reader, -TP_ESYNTAX,
                            "found more text behind the document, expected "
                            "its end");
        return reader->result;
    }
    reader->result =
        tp_diag_fail(reader->diag, -TP_ETRUNCATED, reader->chunk_offset,
                     "line %llu: found the end of the text, expected the rest of the document",
                     (unsigned long long)reader->line);
    return reader->result;
}

static const char mark[3] = "\xef\xbb\xbf";

char tp_json_begins(const struct tp_input *input)
{
    const char *head = (const char *)input->head;
    size_t size = input->head_size, i = 0;

    if (input->is_directory)
        return 0;
    if (size >= sizeof(mark) && !memcmp(head, mark, sizeof(mark)))
        i = sizeof(mark);
    while (i < size && head[i] && strchr(" \t\r\n", head[i]))
        i++;
    return i < size && (head[i] == '{' || head[i] == '[') ? head[i] : 0;
}

int tp_json_reader_input(struct tp_json_reader *reader, struct tp_input *input)
{
    char *chunk = malloc(CHUNK);
    uint64_t offset = 0;
    ptrdiff_t got = 0;

    if (!chunk)
        return tp_diag_fail(reader->diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory to read with");
    do {
        got = tp_input_read(input, &offset, chunk, CHUNK);
        if (!reader->chunk_offset && got >= (ptrdiff_t)sizeof(mark) &&
            !memcmp(chunk, mark, sizeof(mark)))
            memset(chunk, ' ', sizeof(mark)); /* places stay what they are */
        if (got > 0)
            tp_json_reader_feed(reader, chunk, (size_t)got);
    } while (got > 0 && !reader->result);
    free(chunk);
    if (got < 0 && !reader->result)
        reader->result = tp_diag_fail(reader->diag, (int)got, offset, "can't be read: %s",
                                      tp_error_text((int)got));
    return tp_json_reader_finish(reader);
}
