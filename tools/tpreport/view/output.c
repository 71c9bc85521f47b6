/* SPDX-License-Identifier: MIT */
#include "view/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- bytes ---- */

static void write_plain(struct tp_output *output, const char *bytes, size_t size)
{
    while (size && !output->error) {
        ssize_t done = write(output->fd, bytes, size);
        if (done < 0 && errno != EINTR)
            output->error = -errno;
        if (done > 0) {
            bytes += done;
            size -= (size_t)done;
        }
    }
}

/* Through the compressor, with @flush Z_FINISH to its end. */
static void write_deflated(struct tp_output *output, const char *bytes, size_t size, int flush)
{
    char room[16 << 10];
    int result;

    output->deflate->next_in = (Bytef *)bytes;
    output->deflate->avail_in = (uInt)size;
    do {
        output->deflate->next_out = (Bytef *)room;
        output->deflate->avail_out = sizeof(room);
        result = deflate(output->deflate, flush);
        write_plain(output, room, sizeof(room) - output->deflate->avail_out);
    } while (!output->error && (result == Z_OK || result == Z_BUF_ERROR) &&
             (output->deflate->avail_in || !output->deflate->avail_out));
}

static void write_out(struct tp_output *output, const char *bytes, size_t size)
{
    enum { PART = 1 << 30 }; /* zlib counts in 32 bits */

    if (!output->deflate) {
        write_plain(output, bytes, size);
        return;
    }
    for (size_t part; size && !output->error; bytes += part, size -= part) {
        part = size < PART ? size : PART;
        write_deflated(output, bytes, part, Z_NO_FLUSH);
    }
}

void tp_output_compress(struct tp_output *output)
{
    enum { GZIP = 16 }; /* added to the window's bits: with gzip's header and trailer */

    if (output->deflate)
        return;
    output->deflate = calloc(1, sizeof(*output->deflate));
    if (!output->deflate || deflateInit2(output->deflate, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                         MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(output->deflate);
        output->deflate = NULL;
        output->error = -ENOMEM;
    }
}

static void end_compression(struct tp_output *output, bool keep)
{
    if (!output->deflate)
        return;
    if (keep)
        write_deflated(output, NULL, 0, Z_FINISH);
    deflateEnd(output->deflate);
    free(output->deflate);
    output->deflate = NULL;
}

/* ---- files ---- */

static bool is_replaceable(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 ? errno == ENOENT : S_ISREG(st.st_mode);
}

static int open_temporary(struct tp_output *output, const char *path)
{
    if (asprintf(&output->temporary, "%s.XXXXXX", path) < 0) {
        output->temporary = NULL;
        return -ENOMEM;
    }
    output->fd = mkostemp(output->temporary, O_CLOEXEC);
    if (output->fd < 0)
        return -errno;
    mode_t mask = umask(0);
    umask(mask);
    fchmod(output->fd, 0666 & ~mask);
    return 0;
}

static bool is_named_gzip(const char *path)
{
    size_t size = strlen(path);

    return size > 3 && !strcmp(path + size - 3, ".gz");
}

int tp_output_open(struct tp_output *output, const char *path, struct tp_diag *diag)
{
    int result = 0;

    output->fd = STDOUT_FILENO;
    output->error = 0;
    output->path = path;
    output->temporary = NULL;
    output->deflate = NULL;
    output->used = 0;
    output->total = 0;
    output->note[0] = '\0';
    if (!path)
        return 0;
    if (is_named_gzip(path))
        tp_output_compress(output);
    if (is_replaceable(path)) {
        result = open_temporary(output, path);
    } else {
        output->fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        result = output->fd < 0 ? -errno : 0;
    }
    if (result < 0) {
        end_compression(output, false);
        free(output->temporary);
        output->temporary = NULL;
        tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "can't be written: %s",
                     tp_error_text(result));
        tp_diag_at(diag, path);
    }
    return result;
}

int tp_output_hide(struct tp_output *output, struct tp_diag *diag)
{
    if (!output->temporary || !fchmod(output->fd, 0600))
        return 0;
    int error = -errno;
    tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "can't be kept from others: %s",
                 tp_error_text(error));
    return tp_diag_at(diag, output->path);
}

void tp_output_bytes(struct tp_output *output, const void *bytes, size_t size)
{
    output->total += size;
    if (size > sizeof(output->bytes) - output->used) {
        write_out(output, output->bytes, output->used);
        output->used = 0;
        if (size > sizeof(output->bytes)) {
            write_out(output, bytes, size);
            return;
        }
    }
    memcpy(output->bytes + output->used, bytes, size);
    output->used += size;
}

void tp_output_buffer(struct tp_output *output, const struct tp_buffer *buffer)
{
    if (buffer->failed && !output->error)
        output->error = -ENOMEM;
    if (buffer->size)
        tp_output_bytes(output, buffer->bytes, buffer->size);
}

void tp_output_note(struct tp_output *output, const char *format, ...)
{
    va_list arguments;

    if (output->note[0])
        return;
    va_start(arguments, format);
    vsnprintf(output->note, sizeof(output->note), format, arguments);
    va_end(arguments);
}

int tp_output_close(struct tp_output *output, bool keep, struct tp_diag *diag)
{
    if (keep || !output->path)
        write_out(output, output->bytes, output->used);
    end_compression(output, keep || !output->path);
    if (output->path && close(output->fd) < 0 && !output->error)
        output->error = -errno;
    if (output->temporary) {
        if (keep && !output->error && rename(output->temporary, output->path) < 0)
            output->error = -errno;
        if (!keep || output->error)
            unlink(output->temporary);
        free(output->temporary);
        output->temporary = NULL;
    }
    if (output->error) {
        tp_diag_fail(diag, output->error, TP_DIAG_NO_OFFSET, "can't be written: %s",
                     tp_error_text(output->error));
        tp_diag_at(diag, output->path ? output->path : "standard output");
    }
    return output->error;
}
