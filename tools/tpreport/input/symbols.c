/* SPDX-License-Identifier: MIT */
#include "input/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/tptrace_file.h"

#define SECTION_BYTES_MAX (UINT64_C(1) << 30)
#define HEADERS_MAX 65536u
#define NOTE_BYTES_MAX (64u << 10)
#define BUILD_ID_MAX 64u

struct function {
    uint64_t address, size;
    uint32_t name; /* offset in the strings */
};

struct tptrace_symbols {
    struct function *functions; /* ascending by address */
    size_t count;
    char *strings;
    uint64_t string_bytes;
    Elf64_Phdr *segments;
    unsigned segment_count;
};

/* A file that is being read. */
struct elf {
    int fd;
    uint64_t size;
    Elf64_Ehdr header;
    struct tp_diag *diag;
};

/* @size bytes from @offset. Return: 0 and bytes for free(), or negative. */
static int read_part(const struct elf *elf, uint64_t offset, uint64_t size, const char *what,
                     void **ret_bytes)
{
    if (offset > elf->size || size > elf->size - offset || size > SECTION_BYTES_MAX)
        return tp_diag_fail(elf->diag, -TP_ECORRUPT, offset,
                            "%s of %llu bytes, the file ends at %llu", what,
                            (unsigned long long)size, (unsigned long long)elf->size);
    void *bytes = malloc(size + 1);
    if (!bytes)
        return tp_diag_fail(elf->diag, -ENOMEM, offset, "no memory for %s", what);
    if (tptrace_read_at(elf->fd, bytes, size, offset) != (int64_t)size) {
        free(bytes);
        return tp_diag_fail(elf->diag, -TP_ETRUNCATED, offset, "%s is cut", what);
    }
    ((char *)bytes)[size] = '\0';
    *ret_bytes = bytes;
    return 0;
}

static int read_header(struct elf *elf)
{
    const unsigned char *ident = elf->header.e_ident;

    if (tptrace_read_at(elf->fd, &elf->header, sizeof(elf->header), 0) !=
            (int64_t)sizeof(elf->header) ||
        memcmp(ident, ELFMAG, SELFMAG) || ident[EI_CLASS] != ELFCLASS64 ||
        ident[EI_DATA] != ELFDATA2LSB)
        return tp_diag_fail(elf->diag, -TP_EFOREIGN, 0, "no ELF file of 64 bits, little-endian");
    if ((elf->header.e_phnum && elf->header.e_phentsize != sizeof(Elf64_Phdr)) ||
        (elf->header.e_shnum && elf->header.e_shentsize != sizeof(Elf64_Shdr)))
        return tp_diag_fail(elf->diag, -TP_ECORRUPT, 0, "headers of %u and %u bytes",
                            elf->header.e_phentsize, elf->header.e_shentsize);
    return 0;
}

/* ---- the build id ---- */

static bool note_is(const char *bytes, uint64_t size, const char *build_id)
{
    char hex[2 * BUILD_ID_MAX + 1];

    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        memcpy(&note, bytes + at, sizeof(note));
        uint64_t name = at + sizeof(note),
                 desc = name + ((note.n_namesz + UINT64_C(3)) & ~UINT64_C(3)),
                 next = desc + ((note.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
        if (next > size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(bytes + name, "GNU", 4) && note.n_descsz <= BUILD_ID_MAX) {
            for (uint32_t i = 0; i < note.n_descsz; i++) {
                static const char digits[] = "0123456789abcdef";
                hex[2 * i] = digits[(unsigned char)bytes[desc + i] >> 4];
                hex[2 * i + 1] = digits[(unsigned char)bytes[desc + i] & 15];
            }
            hex[2 * note.n_descsz] = '\0';
            return !strcmp(hex, build_id);
        }
        at = next;
    }
    return false;
}

static int check_build_id(const struct elf *elf, const struct tptrace_symbols *symbols,
                          const char *build_id)
{
    struct tp_diag ignored = {0};
    struct elf quiet = *elf;
    bool same = !build_id;

    quiet.diag = &ignored;
    for (unsigned i = 0; i < symbols->segment_count && !same; i++) {
        const Elf64_Phdr *segment = &symbols->segments[i];
        void *bytes = NULL;
        if (segment->p_type != PT_NOTE || segment->p_filesz > NOTE_BYTES_MAX ||
            read_part(&quiet, segment->p_offset, segment->p_filesz, "notes", &bytes))
            continue;
        same = note_is(bytes, segment->p_filesz, build_id);
        free(bytes);
    }
    return same ? 0
                : tp_diag_fail(elf->diag, -TP_EFOREIGN, TP_DIAG_NO_OFFSET,
                               "another file than the one that was recorded, of build id %.40s",
                               build_id);
}

/* ---- functions ---- */

static int compare_functions(const void *a, const void *b)
{
    const struct function *left = a, *right = b;

    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (left->size > right->size) - (left->size < right->size);
}

static int keep_functions(struct tptrace_symbols *symbols, const Elf64_Sym *all, size_t count)
{
    symbols->functions = malloc((count + 1) * sizeof(*symbols->functions));
    if (!symbols->functions)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        unsigned type = ELF64_ST_TYPE(all[i].st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || all[i].st_shndx == SHN_UNDEF ||
            all[i].st_name >= symbols->string_bytes)
            continue;
        symbols->functions[symbols->count++] = (struct function){
            .address = all[i].st_value, .size = all[i].st_size, .name = all[i].st_name};
    }
    if (symbols->count)
        qsort(symbols->functions, symbols->count, sizeof(*symbols->functions), compare_functions);
    return 0;
}

static int read_table(const struct elf *elf, struct tptrace_symbols *symbols,
                      const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
    void *all = NULL, *bytes = NULL;
    int error = read_part(elf, strings->sh_offset, strings->sh_size, "names of symbols", &bytes);

    if (error)
        return error;
    symbols->strings = bytes;
    symbols->string_bytes = strings->sh_size;
    error = read_part(elf, table->sh_offset, table->sh_size, "symbols", &all);
    if (error)
        return error;
    error = keep_functions(symbols, all, table->sh_size / sizeof(Elf64_Sym));
    free(all);
    return error;
}

static int read_symbols(const struct elf *elf, struct tptrace_symbols *symbols)
{
    const Elf64_Shdr *table = NULL;
    unsigned count = elf->header.e_shnum;
    void *bytes = NULL;

    if (!count)
        return 0;
    int error =
        read_part(elf, elf->header.e_shoff, count * sizeof(Elf64_Shdr), "section headers", &bytes);
    if (error)
        return error;
    const Elf64_Shdr *sections = bytes;
    for (unsigned i = 0; i < count; i++) {
        if (sections[i].sh_link < count &&
            (sections[i].sh_type == SHT_SYMTAB || (sections[i].sh_type == SHT_DYNSYM && !table)))
            table = &sections[i];
    }
    if (table)
        error = read_table(elf, symbols, table, &sections[table->sh_link]);
    free(bytes);
    return error;
}

static int read_elf(struct elf *elf, struct tptrace_symbols *symbols, const char *build_id)
{
    int error = read_header(elf);
    void *bytes = NULL;

    if (error)
        return error;
    symbols->segment_count = elf->header.e_phnum;
    error = read_part(elf, elf->header.e_phoff, symbols->segment_count * sizeof(Elf64_Phdr),
                      "program headers", &bytes);
    if (error) {
        symbols->segment_count = 0;
        return error;
    }
    symbols->segments = bytes;
    error = check_build_id(elf, symbols, build_id);
    return error ? error : read_symbols(elf, symbols);
}

int tptrace_symbols_open(struct tptrace_symbols **ret_symbols, const char *path,
                         const char *build_id, struct tp_diag *diag)
{
    struct elf elf = {.diag = diag};

    elf.fd = tptrace_open(path, &elf.size, diag);
    if (elf.fd < 0)
        return elf.fd;
    struct tptrace_symbols *symbols = calloc(1, sizeof(*symbols));
    int error = symbols ? read_elf(&elf, symbols, build_id)
                        : tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    close(elf.fd);
    if (error) {
        tptrace_symbols_close(symbols);
        tp_diag_at(diag, path);
        return error;
    }
    *ret_symbols = symbols;
    return 0;
}

void tptrace_symbols_close(struct tptrace_symbols *symbols)
{
    if (!symbols)
        return;
    free(symbols->functions);
    free(symbols->strings);
    free(symbols->segments);
    free(symbols);
}

const char *tptrace_symbols_find(const struct tptrace_symbols *symbols, uint64_t offset)
{
    size_t low = 0, high = symbols->count;
    uint64_t address = UINT64_MAX;

    for (unsigned i = 0; i < symbols->segment_count; i++) {
        const Elf64_Phdr *segment = &symbols->segments[i];
        if (segment->p_type == PT_LOAD && offset >= segment->p_offset &&
            offset - segment->p_offset < segment->p_filesz)
            address = segment->p_vaddr + (offset - segment->p_offset);
    }
    if (address == UINT64_MAX)
        return NULL;
    while (low < high) { /* the first function behind it */
        size_t middle = low + (high - low) / 2;
        if (symbols->functions[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    const struct function *function = &symbols->functions[low - 1];
    if (address - function->address >= function->size && function->size)
        return NULL;
    return symbols->strings + function->name;
}
