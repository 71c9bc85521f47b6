/* SPDX-License-Identifier: MIT
 * JSON as a stream: yajl finds the tokens, this side knows where in the file they stand. */
#ifndef TP_INPUT_JSON_READER_H
#define TP_INPUT_JSON_READER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yajl/yajl_parse.h>

#include "base/error.h"
#include "input/input.h"

enum { TP_JSON_TOKEN_MAX = 64 << 20 };

/* Stays where it is from init to fini. */
struct tp_json_reader {
    yajl_handle yajl;
    yajl_callbacks callbacks; /* a copy: silenced while a prefix is read */
    void *context;            /* of the callbacks */

    /* Optional. Asked at a syntax error where the next byte is @byte: a text that brings a fresh
     * parser to where the context stands, from which @byte is allowed; or NULL. Its last token is a
     * string: a number would go on. */
    const char *(*resume)(void *context, int byte);

    yajl_alloc_funcs memory; /* notices tokens that grow without end */
    bool is_token_too_long;
    struct tp_diag *diag;
    int result;                 /* negative: failed, explained in diag */
    const unsigned char *chunk; /* being parsed */
    size_t chunk_size;
    uint64_t chunk_offset; /* in the text, which may be compressed in the file */
    uint64_t line;         /* number of the chunk's first line, from 1 */
};

/**
 * tp_json_reader_init - a reader for one document; set @resume afterwards
 * @callbacks: copied; each returns tp_json_reader_fail to stop
 * tp_json_reader_fini - takes a zeroed one as well
 * Return: 0 or -ENOMEM.
 */
int tp_json_reader_init(struct tp_json_reader *reader, const yajl_callbacks *callbacks,
                        void *context, struct tp_diag *diag);
void tp_json_reader_fini(struct tp_json_reader *reader);

/**
 * tp_json_reader_feed - the next bytes of the document
 * tp_json_reader_finish - there are no more. -TP_ETRUNCATED when the document has no end yet
 * Return: 0 or negative, explained in the reader's diag with offset and line.
 */
int tp_json_reader_feed(struct tp_json_reader *reader, const void *bytes, size_t size);
int tp_json_reader_finish(struct tp_json_reader *reader);

/** tp_json_begins - the first byte of what may be a JSON object or array: '{', '[', else 0. A byte
 * order mark and blanks before it do not count. */
char tp_json_begins(const struct tp_input *input);

/**
 * tp_json_reader_input - a whole input: feed and finish
 * A compressed file that breaks off is -TP_ETRUNCATED like a document that does.
 */
int tp_json_reader_input(struct tp_json_reader *reader, struct tp_input *input);

/**
 * tp_json_reader_fail - what a callback has against the present token: "line 7: ..."
 * Return: 0, what a yajl callback returns to stop.
 */
int tp_json_reader_fail(struct tp_json_reader *reader, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** tp_json_reader_offset, _line - of the byte behind the present token */
uint64_t tp_json_reader_offset(const struct tp_json_reader *reader);
uint64_t tp_json_reader_line(const struct tp_json_reader *reader);

#endif
