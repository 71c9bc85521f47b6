/* SPDX-License-Identifier: MIT
 * Reading files that somebody else may be writing, cutting or deleting: by pread into our own
 * memory, never by mapping, where a file cut behind our back would be SIGBUS. And writing some. */
#ifndef TP_INPUT_TPTRACE_FILE_H
#define TP_INPUT_TPTRACE_FILE_H

#include <stdint.h>
#include <stddef.h>

#include "base/error.h"

#define TPTRACE_PATH_MAX 4096

/**
 * tptrace_open - a regular file for reading, no link: a recording leads nowhere else
 * @ret_size: its size now
 * Return: descriptor, or -errno, -TP_EFOREIGN for what is no regular file; @diag bears the path.
 */
int tptrace_open(const char *path, uint64_t *ret_size, struct tp_diag *diag);

/**
 * tptrace_read_at - up to @size bytes from @offset
 * Return: bytes read, fewer only at the end of the file, or -errno.
 */
int64_t tptrace_read_at(int fd, void *bytes, size_t size, uint64_t offset);

/**
 * tptrace_read_file - a whole file, 8-byte aligned
 * @limit: of larger files only the first @limit bytes are read
 * @ret_bytes: for free(); never NULL on success
 * Return: 0 or negative; @diag bears the path.
 */
int tptrace_read_file(const char *path, uint64_t limit, void **ret_bytes, uint64_t *ret_size,
                      struct tp_diag *diag);

/** tptrace_write - all of it, where the file stands. Return: 0 or -errno. */
int tptrace_write(int fd, const void *bytes, size_t size);

/** tptrace_path - "DIRECTORY/NAME" into a buffer of TPTRACE_PATH_MAX. Return: 0 or -ENAMETOOLONG.
 */
int tptrace_path(char *buffer, const char *directory, const char *name);

#endif
