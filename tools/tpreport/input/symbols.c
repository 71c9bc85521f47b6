/* SPDX-License-Identifier: MIT */
#include "input/symbols.h"

#include <errno.h>
#include <stdlib.h>

struct function {
    uint64_t address, size;
    uint32_t name; /* offset in the strings */
};

struct tptrace_symbols {
    struct function *functions; /* ascending by address */
    size_t count;
    char *strings;
    uint64_t string_bytes;
    bool is_whole;
};

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

static int read_table(struct tptrace_symbols *symbols, const struct tptrace_elf *elf,
                      const Elf64_Shdr *table, struct tp_diag *diag)
{
    const Elf64_Shdr *strings = &elf->sections[table->sh_link];
    void *all = NULL, *bytes = NULL;
    int error = tptrace_elf_part(elf, strings->sh_offset, strings->sh_size, "names of symbols",
                                 &bytes, diag);

    if (error)
        return error;
    symbols->strings = bytes;
    symbols->string_bytes = strings->sh_size;
    error = tptrace_elf_part(elf, table->sh_offset, table->sh_size, "symbols", &all, diag);
    if (error)
        return error;
    error = keep_functions(symbols, all, table->sh_size / sizeof(Elf64_Sym));
    free(all);
    symbols->is_whole = table->sh_type == SHT_SYMTAB;
    return error;
}

static const Elf64_Shdr *find_table(const struct tptrace_elf *elf)
{
    const Elf64_Shdr *table = NULL;

    for (unsigned i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_link < elf->section_count &&
            (section->sh_type == SHT_SYMTAB || (section->sh_type == SHT_DYNSYM && !table)))
            table = section;
    }
    return table;
}

int tptrace_symbols_read(struct tptrace_symbols **ret_symbols, const struct tptrace_elf *elf,
                         struct tp_diag *diag)
{
    const Elf64_Shdr *table = find_table(elf);
    struct tptrace_symbols *symbols = calloc(1, sizeof(*symbols));
    int error = !symbols ? -ENOMEM : table ? read_table(symbols, elf, table, diag) : 0;

    if (error == -ENOMEM)
        tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "no memory for symbols");
    if (error) {
        tptrace_symbols_close(symbols);
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
    free(symbols);
}

bool tptrace_symbols_are_whole(const struct tptrace_symbols *symbols)
{
    return symbols->is_whole;
}

const char *tptrace_symbols_find(const struct tptrace_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count;

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
