/* SPDX-License-Identifier: MIT
 * Where a report goes: standard output, or a file that appears whole or not at all. */
#ifndef TP_VIEW_OUTPUT_H
#define TP_VIEW_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/buffer.h"

enum { TP_OUTPUT_ROOM = 64 << 10 };

struct tp_output {
    int fd;
    int error;                  /* first failure, negative; what comes after it is dropped */
    const char *path;           /* NULL: standard output */
    struct z_stream_s *deflate; /* NULL: not compressed */
    char *temporary; /* written instead of @path and renamed at the end; NULL: written directly */
    char note[256];  /* a line for stderr behind the report; "" none */
    uint64_t total;  /* bytes so far, as they came in */
    size_t used;
    char bytes[TP_OUTPUT_ROOM];
};

/**
 * tp_output_open - start writing
 * @path: borrowed until close; NULL for standard output. A regular file, or one that does not
 * exist, is replaced at close; anything else (a pipe, a device) is written directly. What is named
 * *.gz is compressed
 *
 * Context: offline, one thread.
 * Return: 0 or a negative errno, explained in @diag.
 */
int tp_output_open(struct tp_output *output, const char *path, struct tp_diag *diag);

/** tp_output_compress - what is written from here on is gzip, if it is not yet; before the first
 * byte
 */
void tp_output_compress(struct tp_output *output);

/** tp_output_hide - nobody else may read the file, whatever the umask. Return: 0 or -errno. */
int tp_output_hide(struct tp_output *output, struct tp_diag *diag);

/** tp_output_bytes, _buffer - write; failures are kept for close, tp_output_failed tells early */
void tp_output_bytes(struct tp_output *output, const void *bytes, size_t size);
void tp_output_buffer(struct tp_output *output, const struct tp_buffer *buffer);
static inline bool tp_output_failed(const struct tp_output *output)
{
    return output->error < 0;
}

/** tp_output_note - something that the report itself has no place for; the first one stays */
void tp_output_note(struct tp_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * tp_output_close - write out the rest and let the file appear; @keep false throws it away
 * Return: 0, or the first failure, explained in @diag. A reader that went away is -EPIPE.
 */
int tp_output_close(struct tp_output *output, bool keep, struct tp_diag *diag);

#endif
