/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "input/symbols.h"

static __attribute__((noinline)) int function_to_find(int x)
{
    return x * 3 + getpid();
}

/* This program's file, and where a function of it lies in the file. */
static unsigned char *read_self(size_t *ret_size)
{
    FILE *file = fopen("/proc/self/exe", "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    unsigned char *bytes = malloc(size);
    rewind(file);
    ck_assert_uint_eq(fread(bytes, 1, size, file), size);
    fclose(file);
    *ret_size = size;
    return bytes;
}

static uint64_t offset_of(const void *address)
{
    char line[512];
    unsigned long start, end, offset;
    char permissions[8];
    FILE *maps = fopen("/proc/self/maps", "r");

    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, permissions, &offset) == 4 &&
            (uintptr_t)address >= start && (uintptr_t)address < end) {
            fclose(maps);
            return (uintptr_t)address - start + offset;
        }
    }
    ck_abort_msg("no mapping of the program");
    return 0;
}

/* As a recording names it: without links. */
static const char *own_path(void)
{
    static char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

    ck_assert_int_gt(size, 0);
    return path;
}

static const char *write_copy(const void *bytes, size_t size)
{
    static char path[64];

    snprintf(path, sizeof(path), "/tmp/tp-symbols-%d", (int)getpid());
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
    return path;
}

static int read_symbols(struct tptrace_symbols **ret, struct tptrace_elf *elf, const char *path,
                        const char *build_id)
{
    struct tp_diag diag = {0};
    int error = tptrace_elf_open(elf, path, build_id, &diag);

    if (error)
        return error;
    error = tptrace_symbols_read(ret, elf, &diag);
    if (error)
        tptrace_elf_close(elf);
    return error;
}

static const char *find(const struct tptrace_symbols *symbols, const struct tptrace_elf *elf,
                        uint64_t offset)
{
    uint64_t address = tptrace_elf_address(elf, offset);

    return address == TPTRACE_ELF_NOWHERE ? NULL : tptrace_symbols_find(symbols, address);
}

START_TEST(functions_are_found_by_where_they_lie)
{
    struct tptrace_symbols *symbols;
    struct tptrace_elf elf;
    uint64_t offset = offset_of((const void *)function_to_find);

    ck_assert_int_ne(function_to_find(1), 0);
    ck_assert_int_eq(read_symbols(&symbols, &elf, own_path(), NULL), 0);
    ck_assert_str_eq(find(symbols, &elf, offset), "function_to_find");
    ck_assert_str_eq(find(symbols, &elf, offset + 4), "function_to_find");
    ck_assert_ptr_null(find(symbols, &elf, UINT64_MAX));
    ck_assert_ptr_null(find(symbols, &elf, UINT64_C(1) << 40));
    ck_assert(tptrace_symbols_are_whole(symbols));
    tptrace_symbols_close(symbols);
    tptrace_elf_close(&elf);
}
END_TEST

START_TEST(another_file_is_refused)
{
    struct tptrace_symbols *symbols;
    struct tptrace_elf elf;

    ck_assert_int_eq(read_symbols(&symbols, &elf, own_path(), "0123456789abcdef0123"),
                     -TP_EFOREIGN);
    ck_assert_int_eq(read_symbols(&symbols, &elf, "/proc/self/maps", NULL), -TP_EFOREIGN);
    ck_assert_int_eq(read_symbols(&symbols, &elf, "/dev/null", NULL), -TP_EFOREIGN);
    ck_assert_int_lt(read_symbols(&symbols, &elf, "/nowhere", NULL), 0);
}
END_TEST

static void find_anything(const char *path, uint64_t step)
{
    struct tptrace_symbols *symbols;
    struct tptrace_elf elf;

    if (read_symbols(&symbols, &elf, path, NULL))
        return;
    for (uint64_t offset = 0; offset < elf.size; offset += step)
        find(symbols, &elf, offset);
    tptrace_symbols_close(symbols);
    tptrace_elf_close(&elf);
}

/* Cut anywhere, or any byte of the headers wrong: an answer or an error, no crash. */
START_TEST(damaged_files_do_no_harm)
{
    size_t size;
    unsigned char *bytes = read_self(&size);
    const Elf64_Ehdr *header = (const void *)bytes;
    uint64_t sections = header->e_shoff;

    for (size_t cut = 0; cut < size; cut += size / 64)
        find_anything(write_copy(bytes, cut), size / 16);
    for (size_t i = 0; i < 400; i++) {
        size_t at = i < 200 ? i * 3 : sections + (i - 200) * 9;
        if (at >= size)
            break;
        bytes[at] ^= 0xff;
        find_anything(write_copy(bytes, size), size / 16);
        bytes[at] ^= 0xff;
    }
    unlink(write_copy(bytes, 0));
    free(bytes);
}
END_TEST

RUN_TESTS("symbols", functions_are_found_by_where_they_lie, another_file_is_refused,
          damaged_files_do_no_harm)
