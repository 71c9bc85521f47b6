/* SPDX-License-Identifier: MIT
 * Functions of one ELF file by address: .symtab, or .dynsym where that is all there is. */
#ifndef TP_INPUT_SYMBOLS_H
#define TP_INPUT_SYMBOLS_H

#include <stdint.h>

#include "base/error.h"
#include "input/elf_file.h"

struct tptrace_symbols;

/**
 * tptrace_symbols_read - read the functions of a file
 * @elf: open; not needed afterwards
 *
 * Context: offline.
 * Return: 0 and symbols for tptrace_symbols_close (which takes NULL); -ENOMEM; -TP_ECORRUPT.
 */
int tptrace_symbols_read(struct tptrace_symbols **ret_symbols, const struct tptrace_elf *elf,
                         struct tp_diag *diag);
void tptrace_symbols_close(struct tptrace_symbols *symbols);

/** tptrace_symbols_are_whole - are functions among them that are not exported? */
bool tptrace_symbols_are_whole(const struct tptrace_symbols *symbols);

/**
 * tptrace_symbols_find - the function at an address, as tptrace_elf_address tells it
 * Return: its mangled name, borrowed, or NULL.
 */
const char *tptrace_symbols_find(const struct tptrace_symbols *symbols, uint64_t address);

#endif
