/* SPDX-License-Identifier: MIT
 * One ELF file: its headers, its sections by name, its build id. */
#ifndef TP_INPUT_ELF_FILE_H
#define TP_INPUT_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TPTRACE_BUILD_ID_MAX 64u
#define TPTRACE_ELF_NOWHERE UINT64_MAX

/* A file that is being read. */
struct tptrace_elf {
    int fd;
    uint64_t size;
    Elf64_Ehdr header;
    Elf64_Phdr *segments;
    unsigned segment_count;
    Elf64_Shdr *sections; /* NULL: there are none, or they are damaged */
    unsigned section_count;
    char *names; /* of sections; terminated */
    uint64_t name_bytes;
    char build_id[2 * TPTRACE_BUILD_ID_MAX + 1]; /* in hex; "": it has none */
};

/**
 * tptrace_elf_open - read the headers of a file
 * @path: a regular file; nothing else is opened
 * @build_id: in hex; NULL: any file will do
 *
 * Context: offline.
 * Return: 0 and a file for tptrace_elf_close (which takes a zeroed one with @fd below 0, too);
 * -errno; -TP_EFOREIGN where it is no 64-bit ELF file or another one than @build_id says;
 * -TP_ECORRUPT. @diag does not bear the path yet.
 */
int tptrace_elf_open(struct tptrace_elf *ret_elf, const char *path, const char *build_id,
                     struct tp_diag *diag);
void tptrace_elf_close(struct tptrace_elf *elf);

/** tptrace_elf_keep_headers - close the file, and only it; its parts cannot be read any more */
void tptrace_elf_keep_headers(struct tptrace_elf *elf);

/** tptrace_elf_part - @size bytes from @offset. Return: 0 and terminated bytes for free(), or
 * negative with @diag. */
int tptrace_elf_part(const struct tptrace_elf *elf, uint64_t offset, uint64_t size,
                     const char *what, void **ret_bytes, struct tp_diag *diag);

/** tptrace_elf_section - the section of that name that has bytes in this file, or NULL */
const Elf64_Shdr *tptrace_elf_section(const struct tptrace_elf *elf, const char *name);

/** tptrace_elf_section_name - borrowed; "" for damage */
const char *tptrace_elf_section_name(const struct tptrace_elf *elf, const Elf64_Shdr *section);

/** tptrace_elf_address - where a place of the file, as a mapping of it counts, is meant to lie in
 * memory; TPTRACE_ELF_NOWHERE: nowhere */
uint64_t tptrace_elf_address(const struct tptrace_elf *elf, uint64_t offset);

/** tptrace_elf_put_hex - bytes as a build id is told; @hex has room for two characters each and the
 * end */
void tptrace_elf_put_hex(char *hex, const char *bytes, size_t size);

#endif
