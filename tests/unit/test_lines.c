/* SPDX-License-Identifier: MIT
 * Lines and inlined functions of tests/workloads/lines.c, built with debug information. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/lines.h"
#include "input/symbols.h"

struct subject {
    struct tptrace_elf elf;
    struct tptrace_lines *lines;
    struct tptrace_source_place places[TPTRACE_PLACES_MAX];
};

static int open_subject(struct subject *s, const char *path, struct tp_diag *diag)
{
    struct tptrace_debug_file file;

    s->lines = NULL;
    int result = tptrace_elf_open(&s->elf, path, NULL, diag);
    if (!result)
        result = tptrace_debug_file_find(&file, &s->elf, path, "/nowhere", diag);
    if (!result) {
        result = tptrace_lines_open(&s->lines, &file, diag);
        tptrace_debug_file_close(&file);
    }
    return result;
}

static void close_subject(struct subject *s)
{
    tptrace_lines_close(s->lines);
    tptrace_elf_close(&s->elf);
}

static void begin_with(struct subject *s, const char *path)
{
    struct tp_diag diag = {0};

    ck_assert_msg(!open_subject(s, path, &diag), "%s", diag.text);
}

static void begin(struct subject *s)
{
    begin_with(s, TP_SUBJECT);
}

/* The line of the source that bears a mark. */
static uint32_t line_of(const char *mark)
{
    FILE *file = fopen(TP_SUBJECT_SOURCE, "r");
    char text[256];
    uint32_t line = 0;

    ck_assert_ptr_nonnull(file);
    do {
        ck_assert_msg(fgets(text, sizeof(text), file) != NULL, "no line is marked %s", mark);
        line++;
    } while (!strstr(text, mark));
    fclose(file);
    return line;
}

static bool is_place(const struct tptrace_source_place *place, const char *function, uint32_t line)
{
    return place->function && place->file && !strcmp(place->function, function) &&
           place->line == line && !strcmp(strrchr(place->file, '/'), "/lines.c");
}

/* Where the instructions of the program lie in its file. */
static uint64_t text_at(const struct subject *s, uint64_t *ret_end)
{
    const Elf64_Shdr *text = tptrace_elf_section(&s->elf, ".text");

    ck_assert_ptr_nonnull(text);
    *ret_end = text->sh_offset + text->sh_size;
    return text->sh_offset;
}

/* At how many addresses of the program is @chain what is there? */
static unsigned count_chains(struct subject *s, size_t count, const char *const functions[],
                             const uint32_t lines[])
{
    uint64_t end;
    unsigned found = 0;

    for (uint64_t at = text_at(s, &end); at < end; at++) {
        bool same =
            tptrace_lines_find(s->lines, tptrace_elf_address(&s->elf, at), s->places) == count;
        for (size_t i = 0; same && i < count; i++)
            same = is_place(&s->places[i], functions[i], lines[i]);
        found += same;
    }
    return found;
}

START_TEST(function_is_told_with_its_line)
{
    struct subject s;
    static const char *const next[] = {"next"}, *const take[] = {"take"};

    begin(&s);
    ck_assert_uint_gt(count_chains(&s, 1, next, (uint32_t[]){line_of("/* next 6000 */")}), 0);
    ck_assert_uint_gt(count_chains(&s, 1, take, (uint32_t[]){line_of("/* take */")}), 0);
    ck_assert_uint_eq(count_chains(&s, 1, take, (uint32_t[]){line_of("/* next 6000 */")}), 0);
    ck_assert_ptr_null(tptrace_lines_trouble(s.lines));
    close_subject(&s);
}
END_TEST

START_TEST(inlined_functions_are_told_with_who_called_them)
{
    struct subject s;
    static const char *const chain[] = {"inner", "middle", "outer"};
    uint32_t lines[] = {line_of("/* inner */"), line_of("/* middle */"), 0};

    begin(&s);
    lines[2] = line_of("/* outer 1000 */");
    ck_assert_uint_gt(count_chains(&s, 3, chain, lines), 0);
    lines[2] = line_of("/* outer 2000 */");
    ck_assert_uint_gt(count_chains(&s, 3, chain, lines), 0);
    lines[2] = line_of("/* next 6000 */");
    ck_assert_uint_eq(count_chains(&s, 3, chain, lines), 0);
    close_subject(&s);
}
END_TEST

START_TEST(nothing_is_told_of_no_code)
{
    struct subject s;

    begin(&s);
    ck_assert_uint_eq(tptrace_lines_find(s.lines, 0, s.places), 0);
    ck_assert_uint_eq(tptrace_lines_find(s.lines, UINT64_MAX, s.places), 0);
    ck_assert_uint_eq(tptrace_lines_find(s.lines, UINT64_MAX - 1, s.places), 0);
    close_subject(&s);
}
END_TEST

/* ---- what no compiler makes ---- */

/* Where the code of lines_crafted.c is meant to lie: by the first unit's first address. */
static uint64_t begin_crafted(struct subject *s)
{
    begin_with(s, TP_CRAFTED);
    for (uint64_t at = 1; at < UINT64_C(1) << 24; at++) {
        if (tptrace_lines_find(s->lines, at, s->places) && s->places[0].function &&
            !strcmp(s->places[0].function, "first"))
            return at;
    }
    ck_abort_msg("the first function is nowhere");
    return 0;
}

static void expect_names(struct subject *s, uint64_t address, const char *expected)
{
    char got[256] = "";
    size_t count = tptrace_lines_find(s->lines, address, s->places);

    for (size_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s%s:%u", i ? " < " : "",
                 s->places[i].function ? s->places[i].function : "?", s->places[i].line);
        strcat(got, name);
    }
    ck_assert_str_eq(got, expected);
}

START_TEST(function_that_begins_last_is_there)
{
    struct subject s;
    uint64_t at = begin_crafted(&s);

    expect_names(&s, at, "first:0 < wide:11");
    expect_names(&s, at + 7, "first:0 < wide:11");
    expect_names(&s, at + 8, "wide:0");
    expect_names(&s, at + 16, "inner:0 < narrow:22");
    expect_names(&s, at + 24, "narrow:0");
    expect_names(&s, at + 32, "wide:0");
    expect_names(&s, at + 40, "second:0 < wide:33");
    expect_names(&s, at + 48, "");
    ck_assert_ptr_null(tptrace_lines_trouble(s.lines));
    close_subject(&s);
}
END_TEST

START_TEST(entries_that_go_round_end)
{
    struct subject s;
    uint64_t at = begin_crafted(&s);

    expect_names(&s, at + 64, "");
    ck_assert_ptr_nonnull(strstr(tptrace_lines_trouble(s.lines)->text, "entries in no order"));
    close_subject(&s);
}
END_TEST

START_TEST(ranges_that_are_shared_end)
{
    struct subject s;
    uint64_t at = begin_crafted(&s);

    tptrace_lines_find(s.lines, at + 80, s.places);
    ck_assert_ptr_nonnull(strstr(tptrace_lines_trouble(s.lines)->text, "that overlap"));
    close_subject(&s);
}
END_TEST

/* ---- damage ---- */

static uint8_t *read_subject(size_t *ret_size)
{
    FILE *file = fopen(TP_SUBJECT, "rb");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    uint8_t *bytes = malloc(size);
    rewind(file);
    ck_assert_uint_eq(fread(bytes, 1, size, file), size);
    fclose(file);
    *ret_size = size;
    return bytes;
}

static const char *write_copy(const void *bytes, size_t size)
{
    static char path[64];

    snprintf(path, sizeof(path), "/tmp/tp-lines-%d", (int)getpid());
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
    return path;
}

/* An answer or an error, no crash. Return: is anything told to be wrong? */
static bool ask_everywhere(const char *path)
{
    struct subject s;
    struct tp_diag diag = {0};

    int result = open_subject(&s, path, &diag);
    if (!result) {
        for (uint64_t at = 4096; at < 8192; at += 3) {
            size_t count = tptrace_lines_find(s.lines, at, s.places);
            ck_assert_uint_le(count, TPTRACE_PLACES_MAX);
        }
        result = tptrace_lines_trouble(s.lines) != NULL;
    }
    close_subject(&s);
    return result != 0;
}

START_TEST(cut_files_do_no_harm)
{
    size_t size;
    uint8_t *bytes = read_subject(&size);

    for (size_t cut = 0; cut < size; cut += size / 300 + 1)
        ask_everywhere(write_copy(bytes, cut));
    unlink(write_copy(bytes, 0));
    free(bytes);
}
END_TEST

START_TEST(damaged_sections_do_no_harm)
{
    struct subject s;
    size_t size;
    uint8_t *bytes = read_subject(&size);
    unsigned told = 0, tried = 0;

    begin(&s);
    srand(1);
    for (unsigned i = 0; i < s.elf.section_count; i++) {
        const Elf64_Shdr *section = &s.elf.sections[i];
        if (strncmp(tptrace_elf_section_name(&s.elf, section), ".debug_", 7))
            continue;
        uint8_t *at = bytes + section->sh_offset, *whole = malloc(section->sh_size);
        memcpy(whole, at, section->sh_size);
        for (unsigned turn = 0; turn < 90; turn++) {
            uint64_t end = turn % 3 ? 1 + turn % 5 : section->sh_size;
            for (uint64_t k = 0; k < end; k++)
                at[turn % 3 ? (uint64_t)rand() % section->sh_size : k] = (uint8_t)rand();
            told += ask_everywhere(write_copy(bytes, size));
            tried++;
            memcpy(at, whole, section->sh_size);
        }
        free(whole);
    }
    ck_assert_uint_gt(told, tried / 20);
    close_subject(&s);
    unlink(write_copy(bytes, 0));
    free(bytes);
}
END_TEST

/* Compressed sections of which the header promises more than is read. */
START_TEST(sections_that_expand_too_much_are_not_read)
{
    struct subject s;
    struct tp_diag diag = {0};
    size_t size;
    uint8_t *bytes = read_subject(&size);

    begin(&s);
    const Elf64_Shdr *section = tptrace_elf_section(&s.elf, ".debug_info");
    Elf64_Shdr *told = (void *)(bytes + s.elf.header.e_shoff);
    told[section - s.elf.sections].sh_flags |= SHF_COMPRESSED;
    const Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = UINT64_C(1) << 40};
    memcpy(bytes + section->sh_offset, &header, sizeof(header));
    close_subject(&s);
    ck_assert_int_eq(open_subject(&s, write_copy(bytes, size), &diag), -TP_ELIMIT);
    ck_assert_ptr_nonnull(strstr(diag.text, ".debug_info expands to 1099511627776 bytes"));
    close_subject(&s);
    unlink(write_copy(bytes, 0));
    free(bytes);
}
END_TEST

RUN_TESTS("lines", function_is_told_with_its_line, inlined_functions_are_told_with_who_called_them,
          nothing_is_told_of_no_code, function_that_begins_last_is_there, entries_that_go_round_end,
          ranges_that_are_shared_end, cut_files_do_no_harm, damaged_sections_do_no_harm,
          sections_that_expand_too_much_are_not_read)
