/* SPDX-License-Identifier: MIT */
#include "input/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/tptrace_file.h"

#define PART_BYTES_MAX (UINT64_C(1) << 30)
#define NOTE_BYTES_MAX (64u << 10)

int tptrace_elf_part(const struct tptrace_elf *elf, uint64_t offset, uint64_t size,
                     const char *what, void **ret_bytes, struct tp_diag *diag)
{
    if (offset > elf->size || size > elf->size - offset || size > PART_BYTES_MAX)
        return tp_diag_fail(diag, -TP_ECORRUPT, offset, "%s of %llu bytes, the file ends at %llu",
                            what, (unsigned long long)size, (unsigned long long)elf->size);
    void *bytes = malloc(size + 1);
    if (!bytes)
        return tp_diag_fail(diag, -ENOMEM, offset, "no memory for %s", what);
    if (tptrace_read_at(elf->fd, bytes, size, offset) != (int64_t)size) {
        free(bytes);
        return tp_diag_fail(diag, -TP_ETRUNCATED, offset, "%s is cut", what);
    }
    ((char *)bytes)[size] = '\0';
    *ret_bytes = bytes;
    return 0;
}

/* ---- headers ---- */

static int read_header(struct tptrace_elf *elf, struct tp_diag *diag)
{
    const unsigned char *ident = elf->header.e_ident;

    if (tptrace_read_at(elf->fd, &elf->header, sizeof(elf->header), 0) !=
            (int64_t)sizeof(elf->header) ||
        memcmp(ident, ELFMAG, SELFMAG) || ident[EI_CLASS] != ELFCLASS64 ||
        ident[EI_DATA] != ELFDATA2LSB)
        return tp_diag_fail(diag, -TP_EFOREIGN, 0, "no ELF file of 64 bits, little-endian");
    if ((elf->header.e_phnum && elf->header.e_phentsize != sizeof(Elf64_Phdr)) ||
        (elf->header.e_shnum && elf->header.e_shentsize != sizeof(Elf64_Shdr)))
        return tp_diag_fail(diag, -TP_ECORRUPT, 0, "headers of %u and %u bytes",
                            elf->header.e_phentsize, elf->header.e_shentsize);
    return 0;
}

static int read_segments(struct tptrace_elf *elf, struct tp_diag *diag)
{
    void *bytes = NULL;
    int error = tptrace_elf_part(elf, elf->header.e_phoff, elf->header.e_phnum * sizeof(Elf64_Phdr),
                                 "program headers", &bytes, diag);

    if (!error) {
        elf->segments = bytes;
        elf->segment_count = elf->header.e_phnum;
    }
    return error;
}

static int read_sections(struct tptrace_elf *elf, struct tp_diag *diag)
{
    unsigned count = elf->header.e_shnum, names = elf->header.e_shstrndx;
    void *bytes = NULL;
    int error = count ? tptrace_elf_part(elf, elf->header.e_shoff, count * sizeof(Elf64_Shdr),
                                         "section headers", &bytes, diag)
                      : 0;

    if (error || !count)
        return error;
    elf->sections = bytes;
    elf->section_count = count;
    if (names >= count || elf->sections[names].sh_type != SHT_STRTAB)
        return 0;
    struct tp_diag ignored = {0};
    if (!tptrace_elf_part(elf, elf->sections[names].sh_offset, elf->sections[names].sh_size,
                          "names of sections", &bytes, &ignored)) {
        elf->names = bytes;
        elf->name_bytes = elf->sections[names].sh_size;
    }
    return 0;
}

const char *tptrace_elf_section_name(const struct tptrace_elf *elf, const Elf64_Shdr *section)
{
    return elf->names && section->sh_name < elf->name_bytes ? elf->names + section->sh_name : "";
}

const Elf64_Shdr *tptrace_elf_section(const struct tptrace_elf *elf, const char *name)
{
    for (unsigned i = 0; i < elf->section_count; i++) {
        if (elf->sections[i].sh_type == SHT_PROGBITS &&
            !strcmp(tptrace_elf_section_name(elf, &elf->sections[i]), name))
            return &elf->sections[i];
    }
    return NULL;
}

uint64_t tptrace_elf_address(const struct tptrace_elf *elf, uint64_t offset)
{
    uint64_t address = TPTRACE_ELF_NOWHERE;

    for (unsigned i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_LOAD && offset >= segment->p_offset &&
            offset - segment->p_offset < segment->p_filesz)
            address = segment->p_vaddr + (offset - segment->p_offset);
    }
    return address;
}

/* ---- the build id ---- */

void tptrace_elf_put_hex(char *hex, const char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        *hex++ = digits[(unsigned char)bytes[i] >> 4];
        *hex++ = digits[(unsigned char)bytes[i] & 15];
    }
    *hex = '\0';
}

static bool find_build_id(const char *bytes, uint64_t size, char *ret_hex)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        memcpy(&note, bytes + at, sizeof(note));
        uint64_t name = at + sizeof(note),
                 desc = name + ((note.n_namesz + UINT64_C(3)) & ~UINT64_C(3)),
                 next = desc + ((note.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
        if (next > size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(bytes + name, "GNU", 4) && note.n_descsz <= TPTRACE_BUILD_ID_MAX) {
            tptrace_elf_put_hex(ret_hex, bytes + desc, note.n_descsz);
            return true;
        }
        at = next;
    }
    return false;
}

static bool read_notes(struct tptrace_elf *elf, uint64_t offset, uint64_t size)
{
    struct tp_diag ignored = {0};
    void *bytes = NULL;

    if (size > NOTE_BYTES_MAX || tptrace_elf_part(elf, offset, size, "notes", &bytes, &ignored))
        return false;
    bool found = find_build_id(bytes, size, elf->build_id);
    free(bytes);
    return found;
}

/* As a running program tells it; of a separate file with debug information, whose segments lie in
 * the other file, only the sections do. */
static void read_build_id(struct tptrace_elf *elf)
{
    for (unsigned i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_NOTE && read_notes(elf, segment->p_offset, segment->p_filesz))
            return;
    }
    for (unsigned i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_type == SHT_NOTE && read_notes(elf, section->sh_offset, section->sh_size))
            return;
    }
}

/* ---- the whole ---- */

static int read_all(struct tptrace_elf *elf, const char *build_id, struct tp_diag *diag)
{
    int error = read_header(elf, diag);

    if (!error)
        error = read_segments(elf, diag);
    if (error)
        return error;
    struct tp_diag sections_diag = {0};
    int sections_error = read_sections(elf, &sections_diag);
    read_build_id(elf);
    if (build_id && strcmp(elf->build_id, build_id))
        return tp_diag_fail(diag, -TP_EFOREIGN, TP_DIAG_NO_OFFSET,
                            "another file than the one that was recorded, of build id %.40s",
                            build_id);
    if (sections_error)
        *diag = sections_diag;
    return sections_error;
}

int tptrace_elf_open(struct tptrace_elf *ret_elf, const char *path, const char *build_id,
                     struct tp_diag *diag)
{
    struct tptrace_elf elf = {0};

    elf.fd = tptrace_open(path, &elf.size, diag);
    int error = elf.fd < 0 ? elf.fd : read_all(&elf, build_id, diag);
    if (error) {
        tptrace_elf_close(&elf);
        elf = (struct tptrace_elf){.fd = -1};
    }
    *ret_elf = elf;
    return error;
}

void tptrace_elf_keep_headers(struct tptrace_elf *elf)
{
    if (elf->fd >= 0)
        close(elf->fd);
    elf->fd = -1;
}

void tptrace_elf_close(struct tptrace_elf *elf)
{
    tptrace_elf_keep_headers(elf);
    free(elf->segments);
    free(elf->sections);
    free(elf->names);
    *elf = (struct tptrace_elf){.fd = -1};
}
