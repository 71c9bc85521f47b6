/* SPDX-License-Identifier: MIT */
#include "input/debug_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK_BYTES_MAX (4u << 10)
#define EXPANDED_BYTES_MAX (UINT64_C(1) << 30)

/* A search. The last candidate that is there and is not the right one says why. */
struct search {
    const struct tptrace_elf *module;
    const char *folder;
    struct tptrace_debug_file *file;
    struct tp_diag *diag;
    int error;
};

static bool has_debug_information(const struct tptrace_elf *elf)
{
    return tptrace_elf_section(elf, ".debug_info") || tptrace_elf_section(elf, ".zdebug_info");
}

/* Links are followed: by name a folder of debug files leads to anywhere, and then the build id must
 * be right. @path is freed. Return: is it the right one, open? */
static bool open_candidate(char *path, const char *build_id, struct tptrace_elf *elf, int *error,
                           struct tp_diag *diag, char **ret_path)
{
    char *real = path ? realpath(path, NULL) : NULL;
    struct tp_diag why = {0};

    free(path);
    if (!real)
        return false;
    int result = tptrace_elf_open(elf, real, *build_id ? build_id : NULL, &why);
    if (!result) {
        *ret_path = real;
        return true;
    }
    *error = result;
    *diag = why;
    tp_diag_at(diag, real);
    free(real);
    return false;
}

static char *join(const char *format, const char *a, int b_length, const char *b, const char *c)
{
    char *path;

    return asprintf(&path, format, a, b_length, b, c) < 0 ? NULL : path;
}

static char *by_build_id(const char *folder, const char *build_id)
{
    return strlen(build_id) > 2
               ? join("%s/.build-id/%.*s/%s.debug", folder, 2, build_id, build_id + 2)
               : NULL;
}

static bool try_path(struct search *s, char *candidate)
{
    struct tptrace_debug_file *file = s->file;

    if (!open_candidate(candidate, s->module->build_id, &file->elf, &s->error, s->diag,
                        &file->path))
        return false;
    if (has_debug_information(&file->elf))
        return true;
    tptrace_elf_close(&file->elf);
    free(file->path);
    file->path = NULL;
    return false;
}

/* What a section says that names another file. Return: terminated bytes for free(), or NULL. */
static char *read_link(const struct tptrace_elf *elf, const char *section, size_t *ret_size)
{
    const Elf64_Shdr *found = tptrace_elf_section(elf, section);
    struct tp_diag ignored = {0};
    void *bytes = NULL;

    if (!found || found->sh_size > LINK_BYTES_MAX ||
        tptrace_elf_part(elf, found->sh_offset, found->sh_size, section, &bytes, &ignored))
        return NULL;
    *ret_size = found->sh_size;
    return bytes;
}

/* By the name that the module bears of it, where debuggers look. */
static bool try_links(struct search *s, const char *path)
{
    size_t size;
    char *name = read_link(s->module, ".gnu_debuglink", &size);
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 0;
    bool found = name && *name && !strchr(name, '/') && slash &&
                 (try_path(s, join("%s%.*s/%s", "", length, path, name)) ||
                  try_path(s, join("%s%.*s/.debug/%s", "", length, path, name)) ||
                  try_path(s, join("%s%.*s/%s", s->folder, length, path, name)));

    free(name);
    return found;
}

/* ---- supplements (dwz) ---- */

static void read_supplement_id(const char *bytes, size_t size, char *ret_hex)
{
    size_t length = strlen(bytes) + 1;

    *ret_hex = '\0';
    if (length < size && size - length <= TPTRACE_BUILD_ID_MAX)
        tptrace_elf_put_hex(ret_hex, bytes + length, size - length);
}

static int find_supplement(struct search *s)
{
    char id[2 * TPTRACE_BUILD_ID_MAX + 1], *found = NULL;
    struct tptrace_debug_file *file = s->file;
    const char *slash = strrchr(file->path, '/');
    size_t size;
    char *name = read_link(&file->elf, ".gnu_debugaltlink", &size);

    if (!name)
        return 0;
    read_supplement_id(name, size, id);
    int length = *name == '/' ? 0 : (int)(slash - file->path) + 1;
    s->error = 0;
    if (*id && (open_candidate(by_build_id(s->folder, id), id, &file->supplement, &s->error,
                               s->diag, &found) ||
                open_candidate(join("%s%.*s%s", "", length, file->path, name), id,
                               &file->supplement, &s->error, s->diag, &found)))
        s->error = 0;
    else if (!s->error)
        s->error = tp_diag_fail(s->diag, -ENOENT, TP_DIAG_NO_OFFSET,
                                "needs %.200s, which is not there", name);
    free(found);
    free(name);
    return s->error;
}

/* ---- sizes ---- */

static uint64_t expanded_bytes(const struct tptrace_elf *elf, const Elf64_Shdr *section)
{
    struct tp_diag ignored = {0};
    uint64_t size = 0;
    void *bytes = NULL;

    if (tptrace_elf_part(elf, section->sh_offset, sizeof(Elf64_Chdr), "header", &bytes, &ignored))
        return 0;
    if (section->sh_flags & SHF_COMPRESSED) {
        size = ((const Elf64_Chdr *)bytes)->ch_size;
    } else if (!memcmp(bytes, "ZLIB", 4)) { /* .zdebug: big-endian behind that */
        for (unsigned i = 4; i < 12; i++)
            size = size << 8 | ((const unsigned char *)bytes)[i];
    }
    free(bytes);
    return size;
}

/* Compressed sections are expanded into memory, all of them, when debug information is opened. */
static int check_size(const struct tptrace_elf *elf, struct tp_diag *diag)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        const char *name = tptrace_elf_section_name(elf, section);
        bool is_debug = !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8);
        uint64_t size =
            is_debug && section->sh_type == SHT_PROGBITS ? expanded_bytes(elf, section) : 0;
        if (size > EXPANDED_BYTES_MAX - total)
            return tp_diag_fail(diag, -TP_ELIMIT, section->sh_offset,
                                "%.40s expands to %llu bytes; more than %llu in all are not read",
                                name, (unsigned long long)size,
                                (unsigned long long)EXPANDED_BYTES_MAX);
        total += size;
    }
    return 0;
}

/* ---- the whole ---- */

static int open_own(struct search *s, const char *path)
{
    const char *build_id = s->module->build_id;
    int error = tptrace_elf_open(&s->file->elf, path, *build_id ? build_id : NULL, s->diag);

    if (error)
        return tp_diag_at(s->diag, path);
    s->file->path = strdup(path);
    if (s->file->path)
        return 0;
    tptrace_elf_close(&s->file->elf);
    return tp_diag_fail(s->diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
}

static int find(struct search *s, const char *path)
{
    if (has_debug_information(s->module))
        return open_own(s, path);
    if (!*s->module->build_id)
        return 1;
    if (try_path(s, by_build_id(s->folder, s->module->build_id)) || try_links(s, path))
        return 0;
    return s->error ? s->error : 1;
}

int tptrace_debug_file_find(struct tptrace_debug_file *ret_file, const struct tptrace_elf *module,
                            const char *path, const char *folder, struct tp_diag *diag)
{
    struct tptrace_debug_file file = {.elf.fd = -1, .supplement.fd = -1};
    struct search s = {.module = module, .folder = folder, .file = &file, .diag = diag};
    int result = find(&s, path);

    if (!result) {
        result = find_supplement(&s);
        if (!result)
            result = check_size(&file.elf, diag);
        if (!result && file.supplement.fd >= 0)
            result = check_size(&file.supplement, diag);
        if (result && !diag->file[0])
            tp_diag_at(diag, file.path);
    }
    if (result)
        tptrace_debug_file_close(&file);
    else
        *ret_file = file;
    return result;
}

void tptrace_debug_file_close(struct tptrace_debug_file *file)
{
    if (!file->path)
        return;
    tptrace_elf_close(&file->elf);
    tptrace_elf_close(&file->supplement);
    free(file->path);
    file->path = NULL;
}
