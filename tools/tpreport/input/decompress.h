/* SPDX-License-Identifier: MIT
 * Files that come compressed, read as if they were not: gzip and zstd, with any number of members
 * or frames one behind the other. */
#ifndef TP_INPUT_DECOMPRESS_H
#define TP_INPUT_DECOMPRESS_H

#include <stddef.h>

struct tp_decompressor;

/**
 * tp_decompressor_create - look at the first bytes of a file
 * @head: already read; copied when it is compressed
 * @ret:  for tp_decompressor_destroy (which takes NULL); NULL when the file is not compressed
 * Return: 0 or -ENOMEM.
 */
int tp_decompressor_create(const void *head, size_t size, struct tp_decompressor **ret);
void tp_decompressor_destroy(struct tp_decompressor *decompressor);

/**
 * tp_decompressor_read - the next plain bytes
 * @read: gets @context; bytes of the file behind the head: as read(2), but a negative errno on
 * failure
 *
 * What stands before a damage is given out first.
 *
 * Return: bytes, 0 at the end, -TP_ETRUNCATED, -TP_ECORRUPT, or @read's failure.
 */
ptrdiff_t tp_decompressor_read(struct tp_decompressor *decompressor,
                               ptrdiff_t (*read)(void *context, void *buffer, size_t size),
                               void *context, void *buffer, size_t size);

#endif
