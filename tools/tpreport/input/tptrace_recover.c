/* SPDX-License-Identifier: MIT */
#include "input/tptrace_recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "event/brief.h"
#include "input/tptrace_blocks.h"
#include "input/tptrace_file.h"
#include "input/tptrace_open.h"
#include "input/tptrace_run.h"
#include "model/python_text.h"
#include "trace/block.h"
#include "trace/file.h"

#define BLOCK_SLOTS (16u << 10)
#define NEW_NAME "recover.tmp"

struct recovery {
    struct tptrace_process *process;
    struct tp_diag *diag;
    int meta_fd;

    struct tptrace_piece *last; /* by ordinal of the track: its last block; slots 0 none */
    size_t last_room;
    struct tptrace_open_stack *open;
    const struct tptrace_track *open_track; /* NULL: of none */
    uint64_t next_slot;
    uint64_t compact[TP_BLOCK_OPEN_MAX * TP_SLOT_WORDS];

    void *workspace;
    struct tp_block_encoder *encoder;
    struct tptrace_open_block block;

    int fd; /* of the segment that is made, -1 none */
    uint32_t number;
    uint64_t size;
    struct tp_index_entry *entries;
    uint32_t entry_count;
    uint64_t slots;
};

static int fail(struct recovery *r, int error, const char *name)
{
    char path[TPTRACE_PATH_MAX];

    tp_diag_fail(r->diag, error, TP_DIAG_NO_OFFSET, "%s", tp_error_text(error));
    return tp_diag_at(r->diag, tptrace_path(path, r->process->dir, name) ? r->process->dir : path);
}

/* ---- open ranges ---- */

/* What was open at the start of @piece: behind the block before it, if nothing is missing between.
 */
static int find_open(struct recovery *r, const struct tptrace_piece *piece)
{
    const struct tptrace_piece *before = &r->last[piece->track->ordinal];

    if (r->open_track == piece->track && r->next_slot == piece->first_slot)
        return 0;
    tptrace_open_clear(r->open);
    if (!before->slots)
        tptrace_open_evicted(r->open, r->process, piece->track->number, piece->first_slot);
    if (!before->slots || before->first_slot + before->slots != piece->first_slot)
        return 0;
    return tptrace_open_read(r->open, r->process, before, &r->block);
}

/* The record before @piece, by which its brief ones are whole: what its own whole ones tell of it
 * if it isn't known, or else the last one of which anything is known. */
static int find_before(struct recovery *r, const struct tptrace_piece *piece, const uint64_t *slots)
{
    const struct tptrace_piece *last = &r->last[piece->track->ordinal];
    int error = 0;

    if (r->open->knows_before || tp_brief_before(slots, piece->slots, r->open->before))
        return 0;
    if (last->slots) {
        uint64_t counters[TP_SLOT_WORDS];
        error = tptrace_open_read(r->open, r->process, last, &r->block);
        memcpy(counters, r->open->before, sizeof(counters));
        tptrace_open_clear(r->open);
        memcpy(r->open->before, counters, sizeof(counters));
    }
    r->open->before[0] = piece->first_ticks & TP_TICKS_MASK;
    return error;
}

/* ---- the new segment ---- */

static uint32_t next_number(const struct tptrace_process *p)
{
    uint32_t last = p->segment_count ? p->segments[p->segment_count - 1].number : 0;

    for (size_t i = 0; i < p->meta.eviction_count; i++)
        if (p->meta.evictions[i].segment > last)
            last = p->meta.evictions[i].segment;
    if (p->summary.is_there && p->summary.file.totals.first_segment > last + 1)
        last = p->summary.file.totals.first_segment - 1;
    uint64_t evicted = p->losses.counts[TP_LOSS_EVICTED];
    return (evicted > last && evicted < UINT32_MAX ? (uint32_t)evicted : last) + 1;
}

static int append(struct recovery *r, const void *bytes, size_t size)
{
    int error = tptrace_write(r->fd, bytes, size);

    if (error)
        return fail(r, error, NEW_NAME);
    r->size += size;
    return 0;
}

static int begin_segment(struct recovery *r)
{
    char path[TPTRACE_PATH_MAX];
    uint8_t header[TP_FILE_HEADER_BYTES];

    if (r->fd >= 0)
        return 0;
    int error = tptrace_path(path, r->process->dir, NEW_NAME);
    if (error)
        return fail(r, error, NEW_NAME);
    unlink(path); /* of one that was killed */
    r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (r->fd < 0)
        return fail(r, -errno, NEW_NAME);
    r->number = next_number(r->process);
    tp_file_header_write(header, TP_FILE_MAGIC, r->process->meta.uuid, r->number);
    return append(r, header, sizeof(header));
}

static int append_block(struct recovery *r, const void *block, size_t size)
{
    struct tp_block_header header;

    if (!(r->entry_count & (r->entry_count - 1))) {
        size_t room = r->entry_count ? r->entry_count * 2 : 1;
        struct tp_index_entry *grown = realloc(r->entries, room * sizeof(*grown));
        if (!grown)
            return fail(r, -ENOMEM, NEW_NAME);
        r->entries = grown;
    }
    int error = tp_block_header_read(&header, block, size, r->size, r->diag);
    if (error)
        return error;
    r->entries[r->entry_count++] = (struct tp_index_entry){.offset = r->size,
                                                           .first_slot = header.first_slot,
                                                           .first_ticks = header.first_ticks,
                                                           .last_ticks = header.last_ticks,
                                                           .track = header.track,
                                                           .slots = header.slots,
                                                           .lost = header.lost};
    return append(r, block, size);
}

/* What a ring has and no block. */
static int recover_piece(struct recovery *r, const struct tptrace_piece *piece)
{
    const uint64_t *slots = r->process->ring_slots + piece->offset * TP_SLOT_WORDS;
    uint64_t end = piece->first_slot + piece->slots;
    struct tp_block_source source = {.track = piece->track->number,
                                     .first_slot = piece->first_slot,
                                     .open = r->compact,
                                     .near_ticks = piece->first_ticks,
                                     .flags = TP_BLOCK_RECOVERED};

    memcpy(&source.uuid_low, r->process->meta.uuid, sizeof(source.uuid_low));
    int error = begin_segment(r);
    if (!error)
        error = find_open(r, piece);
    if (!error)
        error = find_before(r, piece, slots);
    while (!error && source.first_slot < end) {
        uint64_t left = end - source.first_slot;
        struct tp_block_made made;
        source.slots = slots;
        source.slot_count = left < BLOCK_SLOTS ? (uint32_t)left : BLOCK_SLOTS;
        source.open_slots = tptrace_open_slots(r->open, r->compact);
        memcpy(source.before, r->open->before, sizeof(source.before));
        error = tp_block_encode(r->encoder, &source, &made);
        if (error)
            return fail(r, error, "ring");
        error = append_block(r, made.bytes, made.size);
        tptrace_open_replay(r->open, slots, made.slots);
        memcpy(r->open->before, made.last, sizeof(made.last));
        r->open->knows_before = true;
        source.near_ticks = tp_ticks_unwrap(tp_slot_ticks(made.last), source.near_ticks);
        slots += (size_t)made.slots * TP_SLOT_WORDS;
        source.first_slot += made.slots;
    }
    r->open_track = piece->track;
    r->next_slot = end;
    r->slots += piece->slots;
    return error;
}

static int note_block(struct recovery *r, const struct tptrace_piece *piece)
{
    if (piece->track->ordinal >= r->last_room) {
        size_t room = (piece->track->ordinal + 1) * 2;
        struct tptrace_piece *grown = realloc(r->last, room * sizeof(*grown));
        if (!grown)
            return fail(r, -ENOMEM, "");
        memset(grown + r->last_room, 0, (room - r->last_room) * sizeof(*grown));
        r->last = grown;
        r->last_room = room;
    }
    if (piece->segment != TPTRACE_RING)
        r->last[piece->track->ordinal] = *piece;
    return 0;
}

static int make_segment(struct recovery *r)
{
    struct tptrace_blocks blocks;
    struct tptrace_piece piece;
    int more, error = 0;

    tptrace_blocks_begin(&blocks, r->process, false);
    while (!error && (more = tptrace_blocks_next(&blocks, &piece)) > 0) {
        error = note_block(r, &piece);
        if (!error && piece.segment == TPTRACE_RING)
            error = recover_piece(r, &piece);
    }
    tptrace_blocks_end(&blocks);
    return error ? error : more < 0 ? fail(r, more, "") : 0;
}

/* Index, trailer, and its name: from here on it is read. */
static int publish_segment(struct recovery *r)
{
    char from[TPTRACE_PATH_MAX], to[TPTRACE_PATH_MAX], name[32];
    size_t size = tp_index_size(r->entry_count);
    void *index = malloc(size);
    uint32_t uuid_low;

    if (!index)
        return fail(r, -ENOMEM, NEW_NAME);
    memcpy(&uuid_low, r->process->meta.uuid, sizeof(uuid_low));
    int64_t n = tp_index_write(index, size, r->entries, r->entry_count, r->size, uuid_low);
    int error = n < 0 ? fail(r, (int)n, NEW_NAME) : append(r, index, (size_t)n);
    free(index);
    if (!error && fsync(r->fd))
        error = fail(r, -errno, NEW_NAME);
    if (error)
        return error;
    snprintf(name, sizeof(name), "%06u.tpt", r->number);
    if (tptrace_path(from, r->process->dir, NEW_NAME) || tptrace_path(to, r->process->dir, name))
        return fail(r, -ENAMETOOLONG, name);
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) ? fail(r, -errno, name) : 0;
}

/* A block that was cut by the death: its records are in the ring, hence in the new segment. */
static int cut_torn_tail(struct recovery *r)
{
    struct tptrace_process *p = r->process;
    struct tptrace_segment *last = p->segment_count ? &p->segments[p->segment_count - 1] : NULL;
    uint64_t end = TP_FILE_HEADER_BYTES;
    char path[TPTRACE_PATH_MAX];

    if (!last || !p->totals.torn_tails || r->fd < 0)
        return 0;
    for (size_t i = 0; i < r->last_room; i++) {
        const struct tptrace_piece *piece = &r->last[i];
        if (piece->slots && piece->segment == p->segment_count - 1 &&
            piece->offset + piece->bytes > end)
            end = piece->offset + piece->bytes;
    }
    end = (end + 7) & ~UINT64_C(7);
    tptrace_segment_path(path, p, last);
    return end < last->size && truncate(path, (off_t)end) ? fail(r, -errno, "") : 0;
}

/* ---- what meta.jsonl says of it ---- */

static void put_tracks(struct tp_buffer *out, struct tptrace_process *p)
{
    for (size_t i = 0; i < p->tracks.count; i++) {
        const struct tptrace_track *track = p->tracks.items[i];
        const struct tptrace_meta_track *said = tptrace_meta_find_track(&p->meta, track->number);
        if (!track->tid || (said && !said->is_untold))
            continue;
        tp_buffer_format(out, "{\"t\":\"track\",\"track\":%u,\"tid\":%u,\"kind\":\"thread\"",
                         track->number, track->tid);
        if (said && said->name) {
            tp_buffer_string(out, ",\"name\":");
            tp_json_string(out, said->name, strlen(said->name));
        }
        tp_buffer_string(out, "}\n");
    }
}

static int say_recovered(struct recovery *r)
{
    struct tptrace_process *p = r->process;
    struct tp_buffer line = {0};

    put_tracks(&line, p);
    tp_buffer_format(&line, "{\"t\":\"recovered\",\"segment\":%u,\"slots\":%llu,\"tracks\":[",
                     r->number, (unsigned long long)r->slots);
    for (size_t i = 0; i < p->tracks.count; i++) {
        const struct tptrace_track *track = p->tracks.items[i];
        tp_buffer_format(&line, "%s{\"track\":%u,\"slots\":%llu,\"dropped\":%llu}", i ? "," : "",
                         track->number, (unsigned long long)track->join.next,
                         (unsigned long long)track->dropped);
    }
    tp_buffer_string(&line, "]}\n");
    int error = line.failed ? fail(r, -ENOMEM, "meta.jsonl") : 0;
    if (!error && p->meta.torn && ftruncate(r->meta_fd, (off_t)p->meta.torn_at))
        error = fail(r, -errno, "meta.jsonl");
    if (!error && lseek(r->meta_fd, 0, SEEK_END) < 0)
        error = fail(r, -errno, "meta.jsonl");
    int written = error ? 0 : tptrace_write(r->meta_fd, line.bytes, line.size);
    if (written)
        error = fail(r, written, "meta.jsonl");
    tp_buffer_fini(&line);
    return error;
}

static int fail_at_rings(struct recovery *r, int error)
{
    tp_diag_fail(r->diag, error, TP_DIAG_NO_OFFSET, "%s", tp_error_text(error));
    return tp_diag_at(r->diag, r->process->ring_folder);
}

/* And their folder; -ENOTEMPTY where there is more in it. */
static int remove_rings(struct recovery *r)
{
    const char *folder = r->process->ring_folder;
    struct dirent *entry;

    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream)
        return fail_at_rings(r, -errno);
    while ((entry = readdir(stream))) {
        const char *dot = strchr(entry->d_name, '.');
        if (dot && (!strcmp(dot, ".tpr") || !strcmp(dot, ".tpr.new")))
            unlinkat(fd, entry->d_name, 0);
    }
    closedir(stream);
    return rmdir(folder) ? fail_at_rings(r, -errno) : 0;
}

/* What a process that died before its first ring has left, or a recovery that was killed. */
static int remove_empty_folder(struct recovery *r)
{
    int error = r->process->meta.recovered ? 0 : say_recovered(r);

    if (!error)
        error = remove_rings(r);
    return error == -ENOTEMPTY ? 0 : error;
}

/* ---- a process ---- */

static int recover_process(struct recovery *r, struct tp_buffer *out, bool *ret_partial)
{
    struct tptrace_process *p = r->process;
    uint64_t unread = p->totals.unreadable_files + p->totals.damaged_slots;
    int error = make_segment(r);

    if (!error)
        error = cut_torn_tail(r);
    if (!error && r->fd >= 0)
        error = publish_segment(r);
    if (!error && (r->slots || !p->meta.recovered))
        error = say_recovered(r);
    if (!error && !unread)
        error = remove_rings(r);
    if (error)
        return error;
    tp_buffer_format(out, "%s: ", p->dir);
    tp_buffer_count(out, r->slots, "slot{|s} of ");
    tp_buffer_count(out, p->totals.rings, "ring{|s}");
    if (r->fd >= 0)
        tp_buffer_format(out, " %s now %06u.tpt", r->slots == 1 ? "is" : "are", r->number);
    if (unread)
        tp_buffer_string(out, "; a damaged ring stays");
    tp_buffer_char(out, '\n');
    *ret_partial |= unread != 0;
    return 0;
}

static int begin(struct recovery *r)
{
    size_t size = tp_block_encoder_size(BLOCK_SLOTS);

    r->workspace = aligned_alloc(64, (size + 63) & ~(size_t)63);
    r->encoder = r->workspace ? tp_block_encoder_init(r->workspace, size, BLOCK_SLOTS) : NULL;
    r->open = calloc(1, sizeof(*r->open));
    return r->encoder && r->open ? 0 : fail(r, -ENOMEM, "");
}

static void end(struct recovery *r)
{
    char path[TPTRACE_PATH_MAX];

    if (r->fd >= 0) {
        close(r->fd);
        if (!tptrace_path(path, r->process->dir, NEW_NAME))
            unlink(path); /* there only when something failed */
    }
    free(r->workspace);
    free(r->open);
    free(r->last);
    tptrace_open_block_fini(&r->block);
    free(r->entries);
    free(r);
}

/* Whether the process is gone can be told on its own host only. */
static const char *why_not(const struct tptrace_process *p)
{
    struct utsname names;

    if (p->state == TPTRACE_RUNNING)
        return "the process runs: left alone";
    if (!p->meta.has_uuid)
        return "meta.jsonl has no start line: left alone";
    if (p->meta.host && !uname(&names) && strcmp(names.nodename, p->meta.host) != 0)
        return "recorded on another host, where it may run: left alone";
    return NULL;
}

static int recover_member(struct tptrace_process *p, int meta_fd, struct tp_buffer *out,
                          bool *ret_partial, struct tp_diag *diag)
{
    bool is_empty = !p->totals.rings && !p->totals.unreadable_files;
    const char *why = why_not(p);

    if (is_empty && (!tptrace_is_gone(p) || !p->ring_folder || why))
        return 0;
    if (why) {
        tp_buffer_format(out, "%s: %s\n", p->dir, why);
        *ret_partial |= p->state != TPTRACE_RUNNING;
        return 0;
    }
    struct recovery *r = calloc(1, sizeof(*r));
    if (!r)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    r->process = p;
    r->diag = diag;
    r->meta_fd = meta_fd;
    r->fd = -1;
    int error = is_empty ? remove_empty_folder(r) : begin(r);
    if (!error && !is_empty)
        error = recover_process(r, out, ret_partial);
    end(r);
    return error;
}

static int recover_dir(const char *dir, struct tp_buffer *out, bool *ret_partial,
                       struct tp_diag *diag)
{
    char path[TPTRACE_PATH_MAX];
    struct tptrace_process process;

    int error = tptrace_path(path, dir, "meta.jsonl");
    int fd = error ? error : open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        tp_diag_fail(diag, error ? error : -errno, TP_DIAG_NO_OFFSET, "%s",
                     tp_error_text(error ? error : -errno));
        return tp_diag_at(diag, path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        tp_buffer_format(out, "%s: another tpreport recovers it\n", dir);
        *ret_partial = true;
        close(fd);
        return 0;
    }
    error = tptrace_process_open(&process, dir, 0, diag);
    if (!error)
        error = recover_member(&process, fd, out, ret_partial, diag);
    tptrace_process_close(&process);
    close(fd);
    return error;
}

int tptrace_recover(const char *path, const struct tp_selection *selection, struct tp_buffer *out,
                    bool *ret_partial, struct tp_diag *diag)
{
    struct tptrace_run run;
    size_t before = out->size;

    *ret_partial = false;
    int error = tptrace_run_open(&run, path, selection, diag);
    for (size_t i = 0; i < run.count && !error; i++) {
        if (run.members[i].failed)
            *ret_partial = true;
        else
            error = recover_dir(run.members[i].dir, out, ret_partial, diag);
    }
    if (!error && out->size == before)
        tp_buffer_format(out, "%s: no rings: nothing to recover\n", run.place.run_dir);
    tptrace_run_close(&run);
    return error;
}
