/* SPDX-License-Identifier: MIT */
#include "input/tptrace_frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/lines.h"
#include "input/symbols.h"
#include "model/demangle.h"
#include "model/hash.h"

#define NO_FILE UINT32_MAX
#define UNKNOWN UINT32_MAX

/* A program or library; several processes have the same ones. */
struct file {
    char *path, *build_id; /* build_id may be NULL */
    struct tptrace_elf elf;
    struct tptrace_symbols *symbols;       /* NULL: there are none to be had */
    struct tptrace_symbols *debug_symbols; /* those of its separate file, where they are more */
    struct tptrace_lines *lines;           /* NULL: there are none */
    struct tp_diag why_no_lines;           /* code 0: nothing is wrong */
};

/* What was found out before, by where it was asked. */
struct memo {
    struct tp_stacks keys;
    uint32_t *values;
    uint32_t capacity;
};

struct tptrace_frames {
    struct tptrace_frames_wanted wanted;
    struct tp_strings *strings;
    struct tp_frames *frames;
    struct file *files;
    uint32_t file_count;
    struct tp_stacks chains;          /* of frames */
    struct memo in_process, in_files; /* chains by address, and by place in a file */
    struct tp_buffer text;
    uint64_t files_without_symbols;
    struct tp_diag why_no_symbols; /* of the first such file */
};

/* ---- what is known ---- */

/* Room for the chain of a place; UNKNOWN when it is new. */
static int find_memo(struct memo *memo, uint32_t of, uint64_t at, uint32_t **ret_value)
{
    const uint32_t key[] = {of, (uint32_t)at, (uint32_t)(at >> 32)};
    uint32_t known = memo->keys.count, id;

    if (!known)
        memo->keys.seed = tp_hash_seed();
    if (known == memo->capacity) {
        uint32_t capacity = known ? known * 2 : 256;
        uint32_t *values = realloc(memo->values, capacity * sizeof(*values));
        if (!values)
            return -ENOMEM;
        memo->values = values;
        memo->capacity = capacity;
    }
    int error = tp_stacks_put(&memo->keys, key, 3, &id);
    if (error)
        return error;
    if (id == known)
        memo->values[id] = UNKNOWN;
    *ret_value = &memo->values[id];
    return 0;
}

static void memo_fini(struct memo *memo)
{
    tp_stacks_fini(&memo->keys);
    free(memo->values);
    *memo = (struct memo){0};
}

/* ---- files ---- */

static const struct tptrace_meta_module *module_of(const struct tptrace_meta *meta,
                                                   uint64_t address)
{
    for (size_t i = meta->module_count; i-- > 0;) { /* what was seen last is what is there */
        const struct tptrace_meta_module *module = &meta->modules[i];
        if (address >= module->base && address - module->base < module->size)
            return module->path ? module : NULL;
    }
    return NULL;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void open_lines(const struct tptrace_frames *f, struct file *file)
{
    struct tptrace_debug_file debug;
    struct tp_diag diag = {0};
    int result =
        tptrace_debug_file_find(&debug, &file->elf, file->path, f->wanted.debug_folder, &diag);

    if (!result) {
        result = tptrace_lines_open(&file->lines, &debug, &diag);
        struct tp_diag ignored = {0};
        if (file->symbols && !tptrace_symbols_are_whole(file->symbols))
            tptrace_symbols_read(&file->debug_symbols, &debug.elf, &ignored);
        tptrace_debug_file_close(&debug);
    }
    if (result < 0)
        file->why_no_lines = diag;
}

static void open_file(struct tptrace_frames *f, struct file *file)
{
    struct tp_diag diag = {0};
    int error = tptrace_elf_open(&file->elf, file->path, file->build_id, &diag);

    if (!error)
        error = tptrace_symbols_read(&file->symbols, &file->elf, &diag);
    if (error) {
        tp_diag_at(&diag, file->path);
        if (!f->files_without_symbols++)
            f->why_no_symbols = diag;
    }
    if (file->elf.fd >= 0 && f->wanted.lines)
        open_lines(f, file);
    tptrace_elf_keep_headers(&file->elf);
}

/* The number of a module's file, read at first need. */
static int file_of(struct tptrace_frames *f, const struct tptrace_meta_module *module,
                   uint32_t *ret_number)
{
    uint32_t count = f->file_count;

    for (*ret_number = 0; *ret_number < count; ++*ret_number) {
        const struct file *file = &f->files[*ret_number];
        if (!strcmp(file->path, module->path) && is_same(file->build_id, module->build_id))
            return 0;
    }
    struct file *files = realloc(f->files, (count + (size_t)1) * sizeof(*files));
    if (!files)
        return -ENOMEM;
    f->files = files;
    files[count] = (struct file){.path = strdup(module->path),
                                 .build_id = module->build_id ? strdup(module->build_id) : NULL,
                                 .elf.fd = -1};
    if (!files[count].path || (module->build_id && !files[count].build_id)) {
        free(files[count].path);
        free(files[count].build_id);
        return -ENOMEM;
    }
    f->file_count++;
    if (f->wanted.symbols)
        open_file(f, &files[count]);
    return 0;
}

/* ---- frames ---- */

/* As its author wrote it, and without the version of a library that a symbol may bear. */
static void put_symbol(struct tp_buffer *text, const char *symbol)
{
    char *name = strndup(symbol, strcspn(symbol, "@"));
    char *plain = name && name[0] == '_' && name[1] == 'Z' ? tp_demangle(name) : NULL;

    if (name)
        tp_buffer_string(text, plain ? plain : name);
    text->failed |= !name;
    free(plain);
    free(name);
}

/* The text becomes a string; its room is used again. */
static int take_text(struct tptrace_frames *f, uint32_t *ret_string)
{
    struct tp_buffer *text = &f->text;
    int error =
        text->failed ? -ENOMEM : tp_strings_put(f->strings, text->bytes, text->size, ret_string);

    tp_buffer_reset(text);
    return error;
}

static int put_frame(struct tptrace_frames *f, const struct tptrace_source_place *place,
                     bool is_inlined, uint32_t *ret_id)
{
    struct tp_frame frame = {.line = place->file ? place->line : 0, .is_inlined = is_inlined};

    put_symbol(&f->text, place->function);
    int error = take_text(f, &frame.function);
    if (!error && place->file) {
        tp_buffer_string(&f->text, place->file);
        error = take_text(f, &frame.file);
    }
    return error ? error : tp_frames_put(f->frames, &frame, ret_id);
}

static const char *find_symbol(const struct file *file, uint64_t address)
{
    const char *symbol = file->symbols ? tptrace_symbols_find(file->symbols, address) : NULL;

    return symbol || !file->debug_symbols ? symbol
                                          : tptrace_symbols_find(file->debug_symbols, address);
}

/* @offset: in a file, else in memory. Of the function that is there a symbol says more than its
 * debug information, such as parameters or which part of it this is. */
static int make_chain(struct tptrace_frames *f, uint32_t number, uint64_t offset, uint32_t *ret)
{
    const struct file *file = number == NO_FILE ? NULL : &f->files[number];
    const char *slash = file ? strrchr(file->path, '/') : NULL;
    uint64_t address = file ? tptrace_elf_address(&file->elf, offset) : TPTRACE_ELF_NOWHERE;
    struct tptrace_source_place places[TPTRACE_PLACES_MAX] = {{0}};
    uint32_t ids[TPTRACE_PLACES_MAX], count = 0;
    const char *symbol = NULL;
    char none[256];
    int error = 0;

    if (address != TPTRACE_ELF_NOWHERE) {
        symbol = find_symbol(file, address);
        if (file->lines)
            count = (uint32_t)tptrace_lines_find(file->lines, address, places);
    }
    count += !count;
    snprintf(none, sizeof(none), "%.200s%s0x%llx",
             slash  ? slash + 1
             : file ? file->path
                    : "",
             file ? "+" : "", (unsigned long long)offset);
    if (symbol)
        places[count - 1].function = symbol;
    for (uint32_t i = 0; i < count && !error; i++) {
        places[i].function = places[i].function ? places[i].function : none;
        error = put_frame(f, &places[i], i + 1 < count, &ids[i]);
    }
    return error ? error : tp_stacks_put(&f->chains, ids, count, ret);
}

static int find_chain(struct tptrace_frames *f, const struct tptrace_meta *meta, uint64_t address,
                      uint32_t *ret)
{
    const struct tptrace_meta_module *module = module_of(meta, address - 1);
    uint64_t offset = module ? address - 1 - module->base + module->offset : address;
    uint32_t number = NO_FILE, *value;
    int error = module ? file_of(f, module, &number) : 0;

    if (!error)
        error = find_memo(&f->in_files, number, offset, &value);
    if (!error && *value == UNKNOWN)
        error = make_chain(f, number, offset, value);
    if (!error)
        *ret = *value;
    return error;
}

int tptrace_frames_find(struct tptrace_frames *f, const struct tptrace_meta *meta, uint64_t address,
                        const uint32_t **ret_ids, uint32_t *ret_count)
{
    uint32_t *value;
    int error = find_memo(&f->in_process, 0, address, &value);

    if (!error && *value == UNKNOWN)
        error = find_chain(f, meta, address, value);
    if (error)
        return error;
    *ret_ids = tp_stacks_frames(&f->chains, *value);
    *ret_count = tp_stacks_count(&f->chains, *value);
    return 0;
}

void tptrace_frames_end_process(struct tptrace_frames *f)
{
    memo_fini(&f->in_process);
}

/* ---- the whole ---- */

static const struct tp_diag *trouble_of(const struct file *file)
{
    if (file->why_no_lines.code)
        return &file->why_no_lines;
    return file->lines ? tptrace_lines_trouble(file->lines) : NULL;
}

static void put_note(struct tp_buffer *notes, uint64_t count, const char *what,
                     const struct tp_diag *first)
{
    char why[512];

    if (!count)
        return;
    tp_diag_print(first, why, sizeof(why));
    tp_buffer_string(notes, "tpreport: ");
    tp_buffer_count(notes, count, what);
    tp_buffer_format(notes, ", the first: %s\n", why);
}

void tptrace_frames_put_notes(const struct tptrace_frames *f, struct tp_buffer *notes)
{
    const struct tp_diag *first = NULL;
    uint64_t count = 0;

    for (uint32_t i = 0; i < f->file_count; i++) {
        const struct tp_diag *trouble = trouble_of(&f->files[i]);
        first = first ? first : trouble;
        count += trouble != NULL;
    }
    put_note(notes, f->files_without_symbols, "file{|s} without names of functions",
             &f->why_no_symbols);
    put_note(notes, count, "file{|s} whose source lines could not all be read", first);
}

int tptrace_frames_create(struct tptrace_frames **ret, const struct tptrace_frames_wanted *wanted,
                          struct tp_strings *strings, struct tp_frames *frames)
{
    struct tptrace_frames *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->wanted = *wanted;
    f->wanted.lines &= wanted->symbols && tptrace_lines_are_read();
    f->strings = strings;
    f->frames = frames;
    f->chains.seed = tp_hash_seed();
    *ret = f;
    return 0;
}

void tptrace_frames_destroy(struct tptrace_frames *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < f->file_count; i++) {
        free(f->files[i].path);
        free(f->files[i].build_id);
        tptrace_elf_close(&f->files[i].elf);
        tptrace_symbols_close(f->files[i].symbols);
        tptrace_symbols_close(f->files[i].debug_symbols);
        tptrace_lines_close(f->files[i].lines);
    }
    free(f->files);
    tp_stacks_fini(&f->chains);
    memo_fini(&f->in_process);
    memo_fini(&f->in_files);
    tp_buffer_fini(&f->text);
    free(f);
}
