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

START_TEST(functions_are_found_by_where_they_lie)
{
    struct tptrace_symbols *symbols;
    struct tp_diag diag = {0};
    uint64_t offset = offset_of((const void *)function_to_find);

    ck_assert_int_ne(function_to_find(1), 0);
    ck_assert_int_eq(tptrace_symbols_open(&symbols, own_path(), NULL, &diag), 0);
    ck_assert_str_eq(tptrace_symbols_find(symbols, offset), "function_to_find");
    ck_assert_str_eq(tptrace_symbols_find(symbols, offset + 4), "function_to_find");
    ck_assert_ptr_null(tptrace_symbols_find(symbols, UINT64_MAX));
    ck_assert_ptr_null(tptrace_symbols_find(symbols, UINT64_C(1) << 40));
    tptrace_symbols_close(symbols);
}
END_TEST

START_TEST(another_file_is_refused)
{
    struct tptrace_symbols *symbols;
    struct tp_diag diag = {0};

    ck_assert_int_eq(tptrace_symbols_open(&symbols, own_path(), "0123456789abcdef0123", &diag),
                     -TP_EFOREIGN);
    ck_assert_int_eq(tptrace_symbols_open(&symbols, "/proc/self/maps", NULL, &diag), -TP_EFOREIGN);
    ck_assert_int_eq(tptrace_symbols_open(&symbols, "/dev/null", NULL, &diag), -TP_EFOREIGN);
    ck_assert_int_lt(tptrace_symbols_open(&symbols, "/nowhere", NULL, &diag), 0);
}
END_TEST

/* Cut anywhere, or any byte of the headers wrong: an answer or an error, no crash. */
START_TEST(damaged_files_do_no_harm)
{
    struct tptrace_symbols *symbols;
    struct tp_diag diag = {0};
    size_t size;
    unsigned char *bytes = read_self(&size);
    uint64_t offset = offset_of((const void *)function_to_find);
    const Elf64_Ehdr *header = (const void *)bytes;
    uint64_t sections = header->e_shoff;

    for (size_t cut = 0; cut < size; cut += size / 64) {
        if (!tptrace_symbols_open(&symbols, write_copy(bytes, cut), NULL, &diag)) {
            tptrace_symbols_find(symbols, offset);
            tptrace_symbols_close(symbols);
        }
    }
    for (size_t i = 0; i < 400; i++) {
        size_t at = i < 200 ? i * 3 : sections + (i - 200) * 9;
        if (at >= size)
            break;
        bytes[at] ^= 0xff;
        if (!tptrace_symbols_open(&symbols, write_copy(bytes, size), NULL, &diag)) {
            for (uint64_t o = 0; o < size; o += size / 16)
                tptrace_symbols_find(symbols, o);
            tptrace_symbols_close(symbols);
        }
        bytes[at] ^= 0xff;
    }
    unlink(write_copy(bytes, 0));
    free(bytes);
}
END_TEST

RUN_TESTS("symbols", functions_are_found_by_where_they_lie, another_file_is_refused,
          damaged_files_do_no_harm)
