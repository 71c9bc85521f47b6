/* SPDX-License-Identifier: MIT
 * Source lines and inlined functions of a program or library, from its debug information. */
#ifndef TP_INPUT_LINES_H
#define TP_INPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/debug_file.h"

#define TPTRACE_PLACES_MAX 256u

struct tptrace_lines;

/* Texts are borrowed from the lines. */
struct tptrace_source_place {
    const char *function; /* mangled where there is such a name; NULL: unknown */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
};

/** tptrace_lines_are_read - false: built without the library that reads debug information */
bool tptrace_lines_are_read(void);

/**
 * tptrace_lines_open - read the debug information of a file, as far as it is needed
 * @file: not needed afterwards
 *
 * Context: offline. Return: 0 and lines for tptrace_lines_close (which takes NULL), or negative
 * with
 * @diag, which bears the path.
 */
int tptrace_lines_open(struct tptrace_lines **ret_lines, const struct tptrace_debug_file *file,
                       struct tp_diag *diag);
void tptrace_lines_close(struct tptrace_lines *lines);

/**
 * tptrace_lines_find - where an instruction comes from
 * @address: as tptrace_elf_address tells it
 * @places: room for TPTRACE_PLACES_MAX; innermost first: a function that was inlined, and into
 *          which one, up to the function that is there
 *
 * Damaged parts of the debug information say nothing about any address, and are remembered.
 *
 * Return: how many; 0: nothing is known.
 */
size_t tptrace_lines_find(struct tptrace_lines *lines, uint64_t address,
                          struct tptrace_source_place *places);

/** tptrace_lines_trouble - what was damaged first; NULL: nothing */
const struct tp_diag *tptrace_lines_trouble(const struct tptrace_lines *lines);

#endif
