/* SPDX-License-Identifier: MIT
 * Any bytes as a program or library: its functions, its debug information, what separate files it
 * names. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_trace.h"
#include "input/lines.h"
#include "input/symbols.h"

#define STEP 5
#define ADDRESSES 16384

static const char *write_program(const uint8_t *data, size_t size)
{
    static char path[64];

    snprintf(path, sizeof(path), "/tmp/tp-fuzz-program-%d", (int)getpid());
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(data, 1, size, file) == size);
    fclose(file);
    return path;
}

static void find_symbols(const struct tptrace_elf *elf)
{
    struct tptrace_symbols *symbols;
    struct tp_diag diag;

    if (tptrace_symbols_read(&symbols, elf, &diag))
        return;
    for (uint64_t at = 0; at < ADDRESSES; at += STEP)
        tptrace_symbols_find(symbols, at);
    tptrace_symbols_close(symbols);
}

static void check_places(const struct tptrace_source_place *places, size_t count)
{
    FUZZ_CHECK(count <= TPTRACE_PLACES_MAX);
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(!places[i].function || strlen(places[i].function) < SIZE_MAX);
        FUZZ_CHECK(!places[i].file || strlen(places[i].file) < SIZE_MAX);
    }
}

static void find_lines(const struct tptrace_elf *elf, const char *path)
{
    struct tptrace_source_place places[TPTRACE_PLACES_MAX];
    struct tptrace_debug_file file;
    struct tptrace_lines *lines;
    struct tp_diag diag;

    if (tptrace_debug_file_find(&file, elf, path, "/nowhere", &diag))
        return;
    if (!tptrace_lines_open(&lines, &file, &diag)) {
        for (uint64_t at = 0; at < ADDRESSES; at += STEP)
            check_places(places, tptrace_lines_find(lines, at, places));
        tptrace_lines_close(lines);
    }
    tptrace_debug_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = write_program(data, size);
    struct tptrace_elf elf;
    struct tp_diag diag;

    if (!tptrace_elf_open(&elf, path, NULL, &diag)) {
        for (uint64_t at = 0; at < ADDRESSES; at += STEP)
            tptrace_elf_address(&elf, at);
        find_symbols(&elf);
        find_lines(&elf, path);
        tptrace_elf_close(&elf);
    }
    unlink(path);
    return 0;
}
