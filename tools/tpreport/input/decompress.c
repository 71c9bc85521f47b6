/* SPDX-License-Identifier: MIT */
#include "input/decompress.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"

enum { ROOM = 256 << 10, GZIP_OR_ZLIB = 15 + 32 };

struct tp_decompressor {
    ZSTD_DStream *zstd; /* NULL: gzip */
    z_stream gzip;
    bool is_between;      /* members or frames: the file may end here */
    unsigned char *bytes; /* of the file; those from @used to @size wait */
    size_t used, size, capacity;
};

static bool starts_with(const void *head, size_t size, const char *magic, size_t magic_size)
{
    return size >= magic_size && !memcmp(head, magic, magic_size);
}

static int start(struct tp_decompressor *d, bool is_zstd)
{
    if (is_zstd) {
        d->zstd = ZSTD_createDStream();
        return d->zstd ? 0 : -ENOMEM;
    }
    return inflateInit2(&d->gzip, GZIP_OR_ZLIB) == Z_OK ? 0 : -ENOMEM;
}

int tp_decompressor_create(const void *head, size_t size, struct tp_decompressor **ret)
{
    bool is_zstd = starts_with(head, size, "\x28\xb5\x2f\xfd", 4);
    bool is_gzip = starts_with(head, size, "\x1f\x8b\x08", 3);

    *ret = NULL;
    if (!is_zstd && !is_gzip)
        return 0;
    struct tp_decompressor *d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    d->capacity = size > ROOM ? size : ROOM;
    d->bytes = malloc(d->capacity);
    int result = d->bytes ? start(d, is_zstd) : -ENOMEM;
    if (result < 0) {
        free(d->bytes);
        free(d);
        return result;
    }
    memcpy(d->bytes, head, size);
    d->size = size;
    *ret = d;
    return 0;
}

void tp_decompressor_destroy(struct tp_decompressor *d)
{
    if (!d)
        return;
    if (d->zstd)
        ZSTD_freeDStream(d->zstd);
    else
        inflateEnd(&d->gzip);
    free(d->bytes);
    free(d);
}

/* One step of either kind. Return: bytes made, or -TP_ECORRUPT. */
static ptrdiff_t step_zstd(struct tp_decompressor *d, void *buffer, size_t size)
{
    if (d->is_between && d->used == d->size) /* a call now would begin a frame */
        return 0;
    ZSTD_inBuffer in = {d->bytes, d->size, d->used};
    ZSTD_outBuffer out = {buffer, size, 0};

    size_t left = ZSTD_decompressStream(d->zstd, &out, &in);
    if (ZSTD_isError(left))
        return -TP_ECORRUPT;
    d->used = in.pos;
    d->is_between = !left;
    return (ptrdiff_t)out.pos;
}

/* Behind a member: another one, or zeros that some writers pad with. */
static void skip_padding(struct tp_decompressor *d)
{
    while (d->used < d->size && !d->bytes[d->used])
        d->used++;
}

static ptrdiff_t step_gzip(struct tp_decompressor *d, void *buffer, size_t size)
{
    if (d->is_between) {
        skip_padding(d);
        if (d->used == d->size)
            return 0;
        inflateReset(&d->gzip);
        d->is_between = false;
    }
    d->gzip.next_in = d->bytes + d->used;
    d->gzip.avail_in = (uInt)(d->size - d->used);
    d->gzip.next_out = buffer;
    d->gzip.avail_out = (uInt)size;
    int status = inflate(&d->gzip, Z_NO_FLUSH);
    d->used = d->size - d->gzip.avail_in;
    ptrdiff_t made = (ptrdiff_t)(size - d->gzip.avail_out);
    if (status == Z_STREAM_END)
        d->is_between = true;
    else if (status != Z_OK && status != Z_BUF_ERROR && !made)
        return -TP_ECORRUPT;
    return made;
}

ptrdiff_t tp_decompressor_read(struct tp_decompressor *d,
                               ptrdiff_t (*read)(void *context, void *buffer, size_t size),
                               void *context, void *buffer, size_t size)
{
    enum { MOST = 1 << 30 }; /* zlib counts in 32 bits */

    size = size < MOST ? size : MOST;
    for (;;) {
        ptrdiff_t made = d->zstd ? step_zstd(d, buffer, size) : step_gzip(d, buffer, size);
        if (made)
            return made;
        if (d->used < d->size)
            continue;
        ptrdiff_t got = read(context, d->bytes, d->capacity);
        if (got < 0)
            return got;
        d->used = 0;
        d->size = (size_t)got;
        if (!got)
            return d->is_between ? 0 : -TP_ETRUNCATED;
    }
}
