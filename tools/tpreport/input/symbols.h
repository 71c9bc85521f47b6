/* SPDX-License-Identifier: MIT
 * Functions of one ELF file by address: .symtab, or .dynsym where that is all there is. */
#ifndef TP_INPUT_SYMBOLS_H
#define TP_INPUT_SYMBOLS_H

#include <stdint.h>

#include "base/error.h"

struct tptrace_symbols;

/**
 * tptrace_symbols_open - read the functions of a file
 * @path: a regular file; nothing else is opened
 * @build_id: in hex; NULL: any file will do
 *
 * Context: offline.
 * Return: 0 and symbols for tptrace_symbols_close (which takes NULL); -errno; -TP_EFOREIGN where it
 * is no 64-bit ELF file or another one than @build_id says; -TP_ECORRUPT; @diag bears the path.
 */
int tptrace_symbols_open(struct tptrace_symbols **ret_symbols, const char *path,
                         const char *build_id, struct tp_diag *diag);
void tptrace_symbols_close(struct tptrace_symbols *symbols);

/**
 * tptrace_symbols_find - the function at a place of the file
 * @offset: in the file, as a mapping of it counts
 * Return: its mangled name, borrowed, or NULL.
 */
const char *tptrace_symbols_find(const struct tptrace_symbols *symbols, uint64_t offset);

#endif
