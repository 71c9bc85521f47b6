/* SPDX-License-Identifier: MIT
 * Where the debug information of a program or library is: in itself, or in a separate file that its
 * build id leads to. Nobody is asked over a network. */
#ifndef TP_INPUT_DEBUG_FILE_H
#define TP_INPUT_DEBUG_FILE_H

#include "input/elf_file.h"

struct tptrace_debug_file {
    char *path;
    struct tptrace_elf elf;        /* has .debug_info */
    struct tptrace_elf supplement; /* what several such files share; fd below 0: needs none */
};

/**
 * tptrace_debug_file_find - open the file with the debug information of @module
 * @path: of @module
 * @folder: of separate files, as Debian's /usr/lib/debug: .build-id/ab/cdef.debug, or the path of
 *          @module's own folder below it
 *
 * Separate files and supplements are regular files that bear the build id that they are known by;
 * others are not used.
 *
 * Context: offline.
 * Return: 0 and a file for tptrace_debug_file_close (which takes a zeroed @path, too); 1: there is
 * none; negative where the one there is cannot be used, @diag bears its path.
 */
int tptrace_debug_file_find(struct tptrace_debug_file *ret_file, const struct tptrace_elf *module,
                            const char *path, const char *folder, struct tp_diag *diag);
void tptrace_debug_file_close(struct tptrace_debug_file *file);

#endif
