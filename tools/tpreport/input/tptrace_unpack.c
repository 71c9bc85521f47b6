/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/tptrace_file.h"
#include "input/tptrace_pack.h"
#include "input/ustar.h"

#define LEVELS_MAX 5 /* RUN/HOST/PROCESS/ring/FILE */

bool tptrace_is_packed(const struct tp_input *input)
{
    struct tp_ustar_member member;

    return !input->is_directory && input->head_size >= TP_USTAR_BLOCK &&
           tp_ustar_read(input->head, &member) == 1 && member.is_file &&
           tp_ustar_is_ours(member.name);
}

/* Exactly @size bytes. */
static int read_all(struct tp_input *input, uint64_t *offset, void *buffer, size_t size,
                    struct tp_diag *diag)
{
    for (size_t done = 0; done < size;) {
        ptrdiff_t n = tp_input_read(input, offset, (char *)buffer + done, size - done);
        if (n <= 0)
            return tp_diag_fail(diag, n ? (int)n : -TP_ETRUNCATED, *offset, "%s",
                                n ? tp_error_text((int)n) : "the archive ends here");
        done += (size_t)n;
    }
    return 0;
}

/* No way out of the folder: relative, no empty or dotted part, not deeper than a recording. */
static bool is_harmless(const char *name)
{
    int levels = 1;

    if (!*name || strlen(name) > TP_USTAR_NAME_MAX)
        return false;
    for (const char *part = name;; levels++) {
        size_t n = strcspn(part, "/");
        if (!n || part[0] == '.')
            return false;
        if (!part[n])
            return levels <= LEVELS_MAX && tp_ustar_is_ours(name);
        part += n + 1;
    }
}

/* @path's folders from byte @from on; its last part is the file. */
static int make_folders(char *path, size_t from)
{
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int error = mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (error)
            return error;
    }
    return 0;
}

/* The member's bytes, with what fills its last block; nowhere with @fd -1. */
static int take_content(struct tp_input *input, uint64_t *offset, uint64_t size, int fd,
                        const char *path, struct tp_diag *diag)
{
    static char chunk[64 << 10];
    uint64_t left = (size + TP_USTAR_BLOCK - 1) / TP_USTAR_BLOCK * TP_USTAR_BLOCK;
    int error = 0;

    while (left && !error) {
        size_t part = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
        error = read_all(input, offset, chunk, part, diag);
        size_t use = size < part ? (size_t)size : part;
        int written = error || fd < 0 ? 0 : tptrace_write(fd, chunk, use);
        if (written) {
            error = tp_diag_fail(diag, written, TP_DIAG_NO_OFFSET, "%s", tp_error_text(written));
            tp_diag_at(diag, path);
        }
        size -= use;
        left -= part;
    }
    return error;
}

static int take_member(struct tp_input *input, uint64_t *offset, const char *folder,
                       const struct tp_ustar_member *member, struct tp_diag *diag)
{
    char path[TPTRACE_PATH_MAX];
    int fd = -1, error = 0;

    if (tptrace_path(path, folder, member->name))
        return tp_diag_fail(diag, -ENAMETOOLONG, *offset, "%s", member->name);
    if (member->is_file && is_harmless(member->name)) {
        error = make_folders(path, strlen(folder) + 1);
        if (!error)
            fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            error = tp_diag_fail(diag, error ? error : -errno, *offset, "%s: %s", member->name,
                                 tp_error_text(error ? error : -errno));
    }
    if (!error)
        error = take_content(input, offset, member->size, fd, path, diag);
    if (fd >= 0)
        close(fd);
    return error;
}

/* What is behind the archive's end is nothing to us, but the compressor's checksum is there. */
static int read_rest(struct tp_input *input, uint64_t *offset, struct tp_diag *diag)
{
    char rest[4096];
    ptrdiff_t n;

    while ((n = tp_input_read(input, offset, rest, sizeof(rest))) > 0)
        ;
    return n ? tp_diag_fail(diag, (int)n, *offset, "%s", tp_error_text((int)n)) : 0;
}

int tptrace_unpack(struct tp_input *input, char **ret_folder, struct tp_diag *diag)
{
    const char *place = getenv("TMPDIR");
    struct tp_ustar_member member;
    uint8_t header[TP_USTAR_BLOCK];
    uint64_t offset = 0;
    char *folder = NULL;
    int more = 0;

    *ret_folder = NULL;
    if (asprintf(&folder, "%s/tpreport-XXXXXX", place && *place ? place : "/tmp") < 0)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    if (!mkdtemp(folder)) {
        int error = tp_diag_fail(diag, -errno, TP_DIAG_NO_OFFSET, "can't unpack into %s: %s",
                                 folder, tp_error_text(-errno));
        free(folder);
        return error;
    }
    *ret_folder = folder;
    int error = read_all(input, &offset, header, sizeof(header), diag);
    while (!error && (more = tp_ustar_read(header, &member)) > 0) {
        error = take_member(input, &offset, folder, &member, diag);
        if (!error)
            error = read_all(input, &offset, header, sizeof(header), diag);
    }
    if (!error && more < 0)
        error = tp_diag_fail(diag, more, offset - TP_USTAR_BLOCK, "no header of a tar archive");
    return error ? error : read_rest(input, &offset, diag);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path), 0;
}

void tptrace_unpacked_remove(char *folder)
{
    if (folder)
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
}
