/* SPDX-License-Identifier: MIT
 * A recording as one file: a tar archive (ustar) compressed by zstd, which tar(1) unpacks as well.
 * Not read in place: blocks are read in any order, so the files are put into a folder of our own
 * first. */
#ifndef TP_INPUT_TPTRACE_PACK_H
#define TP_INPUT_TPTRACE_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "input/input.h"

/**
 * tptrace_pack - write all files of a recording
 * @path: as tptrace_find; a process or host alone is packed alone
 * @write: takes the archive's bytes one after the other; @context is its own
 *
 * The same recording gives the same bytes. Recordings of which a process still runs are refused.
 *
 * Context: offline. Return: 0 or negative with @diag.
 */
int tptrace_pack(const char *path, void (*write)(void *context, const void *bytes, size_t size),
                 void *context, struct tp_diag *diag);

/** tptrace_is_packed - does the head of a file look like tptrace_pack's? */
bool tptrace_is_packed(const struct tp_input *input);

/**
 * tptrace_unpack - the files of a packed recording into a new folder below TMPDIR, else /tmp
 * @ret_folder: for tptrace_unpacked_remove, set even when it fails half-way, or NULL
 *
 * Trusts no byte: only files with names that a recording has, nothing outside of the folder.
 * Return: 0 or negative with @diag.
 */
int tptrace_unpack(struct tp_input *input, char **ret_folder, struct tp_diag *diag);
void tptrace_unpacked_remove(char *folder);

#endif
