/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "drain.h"
#include "fold.h"
#include "trace/file.h"

#define BLOCK_BYTES (4u << 20)
#define FILE_BYTES (TP_SUMMARY_HEAD_BYTES + TP_BLOCK_PAYLOAD_MAX)
#define NEW_FILE TP_SUMMARY_FILE ".new"

struct tp_summary_work {
    struct tp_fold *fold;
    struct tp_block_decoder *decoder;
    uint8_t block[BLOCK_BYTES];
    uint8_t file[FILE_BYTES + 8];
};

/* --- memory
 * ------------------------------------------------------------------------------------------ */

static size_t work_bytes(void)
{
    return (sizeof(struct tp_summary_work) + 63) & ~(size_t)63;
}

static size_t fold_bytes(void)
{
    return (tp_fold_size() + 63) & ~(size_t)63;
}

/* Nothing of it is touched that is not used. */
static struct tp_summary_work *make_work(struct tp_live *live)
{
    uint32_t slots = tp_drain_block_slots();
    size_t decoder_bytes = tp_block_decoder_size(slots);
    size_t size = work_bytes() + fold_bytes() + decoder_bytes;
    char *memory = tp_os_map(size);
    struct tp_summary_work *work = (struct tp_summary_work *)memory;

    if (!memory)
        return NULL;
    tp_os_dont_fork(memory, size);
    work->fold = tp_fold_open(memory + work_bytes(), live->names.map, &live->names.used);
    work->decoder =
        tp_block_decoder_init(memory + work_bytes() + fold_bytes(), decoder_bytes, slots);
    return work;
}

/* @number: of the first segment that can be counted. */
static bool is_ready(struct tp_summary_state *s, struct tp_live *live, uint32_t number)
{
    if (s->work)
        return true;
    s->work = make_work(live);
    s->fd = -1;
    if (s->work)
        tp_fold_totals(s->work->fold)->missing_segments = number - 1;
    else
        s->error = -ENOMEM;
    return s->work != NULL;
}

/* --- reading
 * ------------------------------------------------------------------------------------------ */

static void put_path(struct tp_text *text, const struct tp_live *live, int dir, const char *name)
{
    if (dir == TP_OS_NO_DIR)
        tp_text_format(text, "%s/", live->dir);
    tp_text_string(text, name);
}

static int open_file(const struct tp_live *live, int dir, const char *name, int flags)
{
    char path[TP_PATH_MAX + 32];
    struct tp_text text;

    tp_text_init(&text, path, sizeof(path));
    put_path(&text, live, dir, name);
    return tp_os_open(dir, path, flags, 0600);
}

static void close_segment(struct tp_summary_state *s)
{
    if (s->fd >= 0)
        tp_os_close(s->fd);
    s->fd = -1;
}

/* Where the segment was left, or at its start. */
static bool open_segment(struct tp_summary_state *s, const struct tp_live *live, int dir,
                         uint32_t number)
{
    char name[32];
    struct tp_text text;
    struct tp_os_stat stat;

    if (s->segment != number) {
        close_segment(s);
        s->segment = number;
        s->at = 0;
    }
    if (s->fd >= 0)
        return true;
    tp_text_init(&text, name, sizeof(name));
    tp_text_format(&text, "%06u.tpt", number);
    s->fd = open_file(live, dir, name, O_RDONLY | O_NOFOLLOW);
    if (s->fd < 0)
        return false;
    if (tp_os_stat(s->fd, &stat)) {
        close_segment(s);
        return false;
    }
    s->size = stat.size;
    if (!s->at)
        s->at = TP_FILE_HEADER_BYTES;
    return true;
}

/* Nothing behind the place where no block begins can be read: these are our own files, in which
 * there is one block behind the other. */
static void give_up_segment(struct tp_summary_state *s)
{
    struct tp_summary_totals *totals = tp_fold_totals(s->work->fold);

    totals->missing_segments++;
    s->at = s->size;
}

static bool is_trailer(const struct tp_summary_state *s, const uint8_t *bytes, int64_t size)
{
    return s->at + TP_TRAILER_BYTES == s->size && size >= (int64_t)TP_TRAILER_BYTES &&
           !memcmp(bytes + 8, TP_TRAILER_MAGIC, 8);
}

/* One block of the open segment. */
static void take_block(struct tp_summary_state *s)
{
    struct tp_summary_work *work = s->work;
    struct tp_summary_totals *totals = tp_fold_totals(work->fold);
    struct tp_block_header header;
    struct tp_block block;
    uint64_t left = s->size - s->at;

    int64_t n = tp_os_read_at(s->fd, work->block, TP_BLOCK_HEADER_BYTES, s->at);
    if (n >= 0 && is_trailer(s, work->block, n)) {
        s->at = s->size;
        return;
    }
    if (n != (int64_t)TP_BLOCK_HEADER_BYTES ||
        tp_block_header_read(&header, work->block, left, s->at, NULL) ||
        tp_block_stride(&header) > BLOCK_BYTES) {
        give_up_segment(s);
        return;
    }
    if (header.type == TP_BLOCK_EVENTS) {
        n = tp_os_read_at(s->fd, work->block, tp_block_stride(&header), s->at);
        if (!tp_block_decode(work->decoder, work->block, n < 0 ? 0 : (uint64_t)n, s->at, &block,
                             NULL)) {
            tp_fold_block(work->fold, &block);
        } else {
            totals->missing_blocks++;
            totals->missing_slots += header.slots;
        }
    }
    s->at += tp_block_stride(&header);
}

static void read_on(struct tp_summary_state *s, uint64_t until)
{
    while (s->at < s->size && s->at < until)
        take_block(s);
}

void tp_summary_ahead(struct tp_summary_state *s, struct tp_live *live, int dir, uint32_t number,
                      uint64_t bytes)
{
    if (is_ready(s, live, number) && open_segment(s, live, dir, number))
        read_on(s, s->at + bytes);
}

/* --- writing
 * ------------------------------------------------------------------------------------------ */

static int write_file(const struct tp_live *live, int dir, const uint8_t *bytes, size_t size)
{
    char from[TP_PATH_MAX + 32], to[TP_PATH_MAX + 32];
    struct tp_text text;

    int fd = open_file(live, dir, NEW_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    int64_t n = tp_os_write(fd, bytes, size);
    tp_os_close(fd);
    tp_text_init(&text, from, sizeof(from));
    put_path(&text, live, dir, NEW_FILE);
    tp_text_init(&text, to, sizeof(to));
    put_path(&text, live, dir, TP_SUMMARY_FILE);
    if (n == (int64_t)size)
        return tp_os_rename(dir, from, to);
    tp_os_unlink(dir, from, false);
    return n < 0 ? (int)n : -ENOSPC;
}

static int write_summary(struct tp_summary_state *s, const struct tp_live *live, int dir)
{
    struct tp_summary_work *work = s->work;
    uint8_t *payload = work->file + TP_SUMMARY_HEAD_BYTES;
    struct tp_wire_out out = {payload, work->file + FILE_BYTES, false};
    struct tp_summary_totals *totals = tp_fold_totals(work->fold);

    totals->first_segment = s->segment + 1;
    tp_fold_put(work->fold, &out);
    if (out.full)
        return -TP_EFULL;
    size_t size = tp_summary_seal(work->file, (size_t)(out.at - payload), live->uuid, totals);
    int error = write_file(live, dir, work->file, size);
    if (!error)
        s->written = totals->first_segment;
    return error;
}

/* Once for each time that it begins to fail. */
static void tell(struct tp_summary_state *s, struct tp_text *meta)
{
    if (!s->error)
        s->told = false;
    if (!s->error || s->told)
        return;
    s->told = true;
    tp_text_format(meta,
                   "{\"t\":\"note\",\"text\":\"the running summary could not be written (%s): what "
                   "is evicted may be in no total\"}\n",
                   tp_error_name(s->error));
}

void tp_summary_before_eviction(struct tp_summary_state *s, struct tp_live *live, int dir,
                                uint32_t number, struct tp_text *ret_meta)
{
    if (!is_ready(s, live, number)) {
        tell(s, ret_meta);
        return;
    }
    struct tp_summary_totals *totals = tp_fold_totals(s->work->fold);
    if (open_segment(s, live, dir, number))
        read_on(s, UINT64_MAX);
    else
        totals->missing_segments++;
    totals->segments++;
    close_segment(s);
    s->error = write_summary(s, live, dir);
    tell(s, ret_meta);
}

void tp_summary_close(struct tp_summary_state *s, struct tp_live *live, bool final,
                      struct tp_text *ret_meta)
{
    if (s->work && final && s->error && s->at < s->size &&
        open_segment(s, live, TP_OS_NO_DIR, s->segment))
        read_on(s, UINT64_MAX); /* a segment counts whole or not at all */
    if (s->work)
        close_segment(s);
    if (!final || !s->error || !s->work || s->at < s->size)
        return;
    s->error = write_summary(s, live, TP_OS_NO_DIR);
    if (!s->error)
        tp_text_string(ret_meta,
                       "{\"t\":\"note\",\"text\":\"the running summary was written in the "
                       "end: it is whole\"}\n");
}
