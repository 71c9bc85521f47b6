/* SPDX-License-Identifier: MIT */
#include "input/tptrace_pack.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "input/tptrace_file.h"
#include "input/tptrace_find.h"
#include "input/tptrace_process.h"
#include "input/ustar.h"
#include "trace/file.h"

#define LEVEL 3
#define CHUNK (128u << 10)

struct pack {
    void (*write)(void *context, const void *bytes, size_t size);
    void *context;
    ZSTD_CCtx *zstd;
    char *out;
    size_t out_size;
    int64_t time_s;
    struct tp_diag *diag;
};

/* ---- bytes ---- */

static int put(struct pack *pack, const void *bytes, size_t size, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {bytes, size, 0};
    size_t left;

    do {
        ZSTD_outBuffer out = {pack->out, pack->out_size, 0};
        left = ZSTD_compressStream2(pack->zstd, &out, &in, end);
        if (ZSTD_isError(left))
            return tp_diag_fail(pack->diag, -TP_ELIMIT, TP_DIAG_NO_OFFSET, "zstd: %s",
                                ZSTD_getErrorName(left));
        pack->write(pack->context, pack->out, out.pos);
    } while (in.pos < in.size || (end == ZSTD_e_end && left));
    return 0;
}

static int put_padding(struct pack *pack, uint64_t size)
{
    static const char zeros[TP_USTAR_BLOCK];
    size_t rest = (size_t)(size % TP_USTAR_BLOCK);

    return rest ? put(pack, zeros, TP_USTAR_BLOCK - rest, ZSTD_e_continue) : 0;
}

/* A file that shrinks meanwhile is an error, one that grows is cut: nobody writes it any more. */
static int put_content(struct pack *pack, int fd, uint64_t size, const char *path)
{
    char *chunk = malloc(CHUNK);
    int error = chunk ? 0 : tp_diag_fail(pack->diag, -ENOMEM, 0, "no memory");

    for (uint64_t at = 0; at < size && !error;) {
        size_t want = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
        int64_t n = tptrace_read_at(fd, chunk, want, at);
        if (n != (int64_t)want) {
            error = n < 0 ? (int)n : -TP_ETRUNCATED;
            tp_diag_fail(pack->diag, error, at, "%s", tp_error_text(error));
            tp_diag_at(pack->diag, path);
            break;
        }
        error = put(pack, chunk, want, ZSTD_e_continue);
        at += want;
    }
    free(chunk);
    return error ? error : put_padding(pack, size);
}

static int put_file(struct pack *pack, const char *path, const char *name)
{
    uint8_t header[TP_USTAR_BLOCK];
    uint64_t size;
    int fd = tptrace_open(path, &size, pack->diag);

    if (fd < 0)
        return fd;
    int error = tp_ustar_write(header, name, size, pack->time_s);
    if (error) {
        tp_diag_fail(pack->diag, error, TP_DIAG_NO_OFFSET, "the name is too long for an archive");
        tp_diag_at(pack->diag, path);
    }
    if (!error)
        error = put(pack, header, sizeof(header), ZSTD_e_continue);
    if (!error)
        error = put_content(pack, fd, size, path);
    close(fd);
    return error;
}

/* ---- files ---- */

static int is_wanted(const struct dirent *entry)
{
    return tp_ustar_is_ours(entry->d_name);
}

/* The files of a folder, in the order of their names. */
static int put_folder(struct pack *pack, const char *folder, const char *below)
{
    struct dirent **entries;
    char path[TPTRACE_PATH_MAX], name[TPTRACE_PATH_MAX];
    int error = 0;

    int count = scandir(folder, &entries, is_wanted, alphasort);
    if (count < 0) {
        tp_diag_fail(pack->diag, -errno, TP_DIAG_NO_OFFSET, "%s", tp_error_text(-errno));
        return tp_diag_at(pack->diag, folder);
    }
    for (int i = 0; i < count; i++) {
        if (!error && (tptrace_path(path, folder, entries[i]->d_name) ||
                       tptrace_path(name, below, entries[i]->d_name)))
            error = tp_diag_fail(pack->diag, -ENAMETOOLONG, TP_DIAG_NO_OFFSET, "%s", folder);
        if (!error)
            error = put_file(pack, path, name);
        free(entries[i]);
    }
    free(entries);
    return error;
}

static int put_process(struct pack *pack, const char *dir, const char *run_name)
{
    char below[TPTRACE_PATH_MAX], rings[TPTRACE_PATH_MAX];
    struct tptrace_process process;
    const char *tail = dir + strlen(dir);

    for (int slashes = 0; tail > dir; tail--) /* HOST/PROCESS */
        if (tail[-1] == '/' && ++slashes == 2)
            break;
    snprintf(below, sizeof(below), "%s/%s", run_name, tail);
    int error = tptrace_process_open(&process, dir, 0, pack->diag);
    if (!error && process.state == TPTRACE_RUNNING) {
        error = tp_diag_fail(pack->diag, -TP_ESTATE, TP_DIAG_NO_OFFSET,
                             "process %u still runs; pack the recording when it has ended",
                             process.meta.pid);
        tp_diag_at(pack->diag, dir);
    }
    if (!error)
        error = put_folder(pack, dir, below);
    if (!error && process.ring_folder && !tptrace_path(rings, below, "ring"))
        error = put_folder(pack, process.ring_folder, rings);
    tptrace_process_close(&process);
    return error;
}

static int put_run_file(struct pack *pack, const struct tptrace_place *place, const char *file)
{
    char path[TPTRACE_PATH_MAX], name[TPTRACE_PATH_MAX];

    return tptrace_path(path, place->run_dir, file) || tptrace_path(name, place->run_name, file)
               ? 0
               : put_file(pack, path, name);
}

static int put_all(struct pack *pack, const struct tptrace_place *place)
{
    static const char end[2 * TP_USTAR_BLOCK];
    int error = 0;

    if (!place->run_json.code)
        error = put_run_file(pack, place, "run.json");
    if (!error && place->filtered.count)
        error = put_run_file(pack, place, TP_FILTERED_NAME);
    if (!error && place->unrecorded.count)
        error = put_run_file(pack, place, TP_UNRECORDED_NAME);
    for (size_t i = 0; i < place->count && !error; i++)
        error = put_process(pack, place->process_dirs[i], place->run_name);
    return error ? error : put(pack, end, sizeof(end), ZSTD_e_end);
}

int tptrace_pack(const char *path, void (*write)(void *context, const void *bytes, size_t size),
                 void *context, struct tp_diag *diag)
{
    struct pack pack = {.write = write, .context = context, .diag = diag};
    struct tptrace_place place;

    int error = tptrace_find(path, &place, diag);
    if (error)
        return error;
    pack.time_s = place.start_ns / 1000000000;
    pack.out_size = ZSTD_CStreamOutSize();
    pack.out = malloc(pack.out_size);
    pack.zstd = ZSTD_createCCtx();
    if (!pack.out || !pack.zstd)
        error = tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    if (!error) {
        ZSTD_CCtx_setParameter(pack.zstd, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(pack.zstd, ZSTD_c_checksumFlag, 1);
        error = put_all(&pack, &place);
    }
    ZSTD_freeCCtx(pack.zstd);
    free(pack.out);
    tptrace_place_fini(&place);
    return error;
}
