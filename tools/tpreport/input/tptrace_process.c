/* SPDX-License-Identifier: MIT */
#include "input/tptrace_process.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "input/tptrace_file.h"
#include "input/tptrace_ring.h"
#include "input/tptrace_segment.h"

#define OPEN_FILES_MAX                                                                             \
    200 /* segments kept open, so that eviction does not take them away while we read */
#define TRACKS_MAX (1u << 20)
#define SLOT_MAX (UINT64_C(1) << 60) /* no track ever has so many */

/* What is collected while files are read; the process has the result. */
struct opening {
    struct tptrace_process *process;
    const uint8_t *uuid;          /* NULL unknown */
    struct tptrace_pieces pieces; /* as found */
    size_t track_capacity;
    uint32_t *track_slots; /* track number to index + 1; open addressing */
    uint32_t track_mask;
    uint32_t segment; /* being scanned */
    uint64_t near_ticks;
};

/* ---- troubles ---- */

void tptrace_trouble(struct tptrace_process *process, struct tp_diag *diag, const char *file)
{
    struct tptrace_troubles *troubles = &process->troubles;

    if (file)
        tp_diag_at(diag, file);
    pthread_mutex_lock(&troubles->lock);
    troubles->count++;
    if (troubles->kept < troubles->limit) {
        struct tp_diag *items = troubles->items;
        if (!(troubles->kept & (troubles->kept - 1)))
            items = realloc(items, (troubles->kept ? troubles->kept * 2 : 1) * sizeof(*items));
        if (items) {
            troubles->items = items;
            items[troubles->kept++] = *diag;
        }
    }
    pthread_mutex_unlock(&troubles->lock);
}

void tptrace_segment_path(char *path, const struct tptrace_process *process,
                          const struct tptrace_segment *segment)
{
    snprintf(path, TPTRACE_PATH_MAX, "%s/%06u.tpt", process->dir, segment->number);
}

/* ---- tracks ---- */

static uint32_t *track_slot(const struct opening *o, uint32_t track)
{
    for (uint32_t at = track * 0x9e3779b1u;; at++) {
        uint32_t *slot = &o->track_slots[at & o->track_mask];
        if (!*slot || o->process->tracks[*slot - 1].track == track)
            return slot;
    }
}

static int grow_tracks(struct opening *o)
{
    struct tptrace_process *p = o->process;
    size_t capacity = o->track_capacity ? o->track_capacity * 2 : 16;

    struct tptrace_track *tracks = realloc(p->tracks, capacity * sizeof(*tracks));
    if (!tracks)
        return -ENOMEM;
    p->tracks = tracks;
    uint32_t *slots = calloc(capacity * 2, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(o->track_slots);
    o->track_slots = slots;
    o->track_mask = (uint32_t)(capacity * 2 - 1);
    o->track_capacity = capacity;
    for (size_t i = 0; i < p->track_count; i++)
        *track_slot(o, tracks[i].track) = (uint32_t)(i + 1);
    return 0;
}

/* The track's index, made if it is new. Return: index or negative. */
static int64_t find_track(struct opening *o, uint32_t track)
{
    struct tptrace_process *p = o->process;

    if (p->track_count == o->track_capacity) {
        int error = p->track_count < TRACKS_MAX ? grow_tracks(o) : -TP_ELIMIT;
        if (error)
            return error;
    }
    uint32_t *slot = track_slot(o, track);
    if (!*slot) {
        const struct tptrace_meta_track *said = tptrace_meta_find_track(&p->meta, track);
        p->tracks[p->track_count++] =
            (struct tptrace_track){.track = track, .tid = said ? said->tid : 0};
        *slot = (uint32_t)p->track_count;
    }
    return *slot - 1;
}

static int add_piece(struct opening *o, struct tptrace_piece *piece)
{
    piece->order = (uint32_t)o->pieces.count;
    return tptrace_pieces_add(&o->pieces, piece);
}

/* ---- rings ---- */

/* Whole records of known kinds at the start of @ring; their first and last time. */
static uint64_t count_whole(const struct tptrace_ring *ring, uint64_t near, uint64_t *ret_first,
                            uint64_t *ret_last)
{
    uint64_t at = 0, ticks = near;

    while (at < ring->count) {
        const uint64_t *slot = ring->slots + at * TP_SLOT_WORDS;
        unsigned step = tp_kind_slots(tp_slot_kind(slot));
        if (!step || step > ring->count - at)
            break;
        ticks = tp_ticks_unwrap(tp_slot_ticks(slot), ticks);
        if (!at)
            *ret_first = ticks;
        *ret_last = ticks;
        at += step;
    }
    return at;
}

static int keep_slots(struct tptrace_process *p, const uint64_t *slots, uint64_t count)
{
    uint64_t *all = realloc(p->ring_slots, (p->ring_slot_count + count) * TP_SLOT_BYTES);

    if (!all)
        return -ENOMEM;
    p->ring_slots = all;
    memcpy(all + p->ring_slot_count * TP_SLOT_WORDS, slots, count * TP_SLOT_BYTES);
    p->ring_slot_count += count;
    return 0;
}

static int take_ring(struct opening *o, const struct tptrace_ring *ring, const char *path)
{
    struct tptrace_process *p = o->process;
    int64_t index = find_track(o, ring->track);
    struct tp_diag diag;

    if (index < 0)
        return (int)index;
    struct tptrace_track *track = &p->tracks[index];
    if (!track->tid)
        track->tid = ring->tid;
    if (ring->dropped > track->dropped)
        track->dropped = ring->dropped;
    if (!ring->count)
        return 0;
    struct tptrace_piece piece = {.first_slot = ring->first_slot,
                                  .offset = p->ring_slot_count,
                                  .segment = TPTRACE_RING,
                                  .track = (uint32_t)index};
    uint64_t whole = ring->first_slot > SLOT_MAX
                         ? 0
                         : count_whole(ring, o->near_ticks, &piece.first_ticks, &piece.last_ticks);
    if (whole < ring->count) {
        p->totals.damaged_slots += ring->count - whole;
        tp_diag_fail(&diag, -TP_ECORRUPT, TP_DIAG_NO_OFFSET,
                     "slots %llu to %llu of track %u make no records",
                     (unsigned long long)(ring->first_slot + whole),
                     (unsigned long long)(ring->first_slot + ring->count), ring->track);
        tptrace_trouble(p, &diag, path);
    }
    piece.slots = (uint32_t)whole;
    int error = whole ? keep_slots(p, ring->slots, whole) : 0;
    return error || !whole ? error : add_piece(o, &piece);
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);

    return length > tail && !strcmp(name + length - tail, suffix);
}

/* Return: files seen, or negative. A file that went away while we looked is in blocks by now. */
static int read_rings_in(struct opening *o, const char *directory)
{
    struct tptrace_process *p = o->process;
    char path[TPTRACE_PATH_MAX];
    struct tptrace_ring ring;
    struct dirent *entry;
    struct tp_diag diag;
    int error = 0, seen = 0;

    DIR *stream = opendir(directory);
    if (!stream)
        return 0;
    while (!error && (entry = readdir(stream))) {
        if (!has_suffix(entry->d_name, ".tpr") || tptrace_path(path, directory, entry->d_name))
            continue;
        int result = tptrace_ring_read(&ring, path, o->uuid, &diag);
        if (result == -ENOENT)
            continue;
        seen++;
        if (result) {
            p->totals.unreadable_files++;
            tptrace_trouble(p, &diag, path);
            continue;
        }
        p->totals.rings++;
        p->totals.disk_bytes += ring.file_bytes;
        if (ring.track != UINT32_MAX)
            error = take_ring(o, &ring, path);
        free(ring.slots);
    }
    closedir(stream);
    return error ? error : seen;
}

/* Rings lie in the process's directory, or where the start line says, unless the recording was
 * moved. */
static int read_rings(struct opening *o)
{
    const char *said = o->process->meta.ring_dir;
    char path[TPTRACE_PATH_MAX];

    int seen = tptrace_path(path, o->process->dir, "ring") ? 0 : read_rings_in(o, path);
    if (!seen && said && *said)
        seen = read_rings_in(o, said);
    return seen < 0 ? seen : 0;
}

/* ---- segments ---- */

static int take_block(void *context, const struct tp_block_header *header, uint64_t offset)
{
    struct opening *o = context;
    struct tptrace_process *p = o->process;

    if (header->type != TP_BLOCK_EVENTS)
        return 0;
    p->totals.blocks++;
    p->segments[o->segment].blocks++;
    p->totals.block_bytes += tp_block_stride(header);
    struct tptrace_piece piece = {
        .first_slot = header->first_slot,
        .first_ticks = header->first_ticks,
        .last_ticks = header->last_ticks,
        .offset = offset,
        .slots = header->slots,
        .bytes = header->header_size + header->stored_bytes,
        .segment = o->segment,
    };
    int64_t index = header->first_slot > SLOT_MAX ? -TP_ECORRUPT : find_track(o, header->track);
    if (index < 0 && index != -ENOMEM) {
        struct tp_diag diag;
        char path[TPTRACE_PATH_MAX];
        p->totals.damaged_blocks++;
        tp_diag_fail(&diag, (int)index, offset + 20, "block of track %u from slot %llu",
                     header->track, (unsigned long long)header->first_slot);
        tptrace_segment_path(path, p, &p->segments[o->segment]);
        tptrace_trouble(p, &diag, path);
        return 0;
    }
    piece.track = (uint32_t)index;
    return index < 0 ? (int)index : add_piece(o, &piece);
}

static void note_segment_trouble(void *context, struct tp_diag *diag)
{
    struct opening *o = context;
    char path[TPTRACE_PATH_MAX];

    tptrace_segment_path(path, o->process, &o->process->segments[o->segment]);
    tptrace_trouble(o->process, diag, path);
}

static int scan_segment(struct opening *o, uint32_t index)
{
    struct tptrace_process *p = o->process;
    struct tptrace_segment *segment = &p->segments[index];
    const struct tptrace_scan scan = {
        .context = o, .block = take_block, .trouble = note_segment_trouble};
    struct tptrace_scanned scanned;
    char path[TPTRACE_PATH_MAX];
    struct tp_diag diag;

    tptrace_segment_path(path, p, segment);
    int fd = tptrace_open(path, &segment->size, &diag);
    if (fd == -ENOENT)
        return 0; /* evicted since we listed it */
    o->segment = index;
    int error =
        fd < 0 ? fd : tptrace_segment_scan(fd, segment->size, o->uuid, &scan, &scanned, &diag);
    if (error) {
        if (fd >= 0)
            close(fd);
        bool starting =
            error == -TP_ETRUNCATED && p->state != TPTRACE_ENDED && index + 1 == p->segment_count;
        if (error == -ENOMEM || starting)
            return starting ? 0 : error;
        p->totals.unreadable_files++;
        tptrace_trouble(p, &diag, path);
        return 0;
    }
    segment->fd = index < OPEN_FILES_MAX ? fd : -1;
    if (segment->fd < 0)
        close(fd);
    p->totals.disk_bytes += segment->size;
    p->totals.damaged_bytes += scanned.skipped_bytes;
    if (!scanned.torn)
        return 0;
    p->totals.torn_tails++; /* what a killed writer leaves, and only at the very end */
    if (p->state == TPTRACE_ENDED || index + 1 < p->segment_count) {
        tp_diag_fail(&diag, -TP_ETRUNCATED, segment->size, "the last block is cut");
        note_segment_trouble(o, &diag);
    }
    return 0;
}

static int compare_segments(const void *a, const void *b)
{
    const struct tptrace_segment *left = a, *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

static int list_segments(struct tptrace_process *p)
{
    size_t capacity = 0;
    struct dirent *entry;
    int error = 0;

    DIR *stream = opendir(p->dir);
    if (!stream)
        return -errno;
    while (!error && (entry = readdir(stream))) {
        size_t digits = strspn(entry->d_name, "0123456789");
        if (digits < 6 || digits > 9 || strcmp(entry->d_name + digits, ".tpt"))
            continue;
        if (p->segment_count == capacity) {
            capacity = capacity ? capacity * 2 : 16;
            struct tptrace_segment *grown = realloc(p->segments, capacity * sizeof(*grown));
            if (!grown) {
                error = -ENOMEM;
                break;
            }
            p->segments = grown;
        }
        p->segments[p->segment_count++] = (struct tptrace_segment){
            .number = (uint32_t)strtoul(entry->d_name, NULL, 10), .fd = -1};
    }
    closedir(stream);
    if (p->segment_count > 1)
        qsort(p->segments, p->segment_count, sizeof(*p->segments), compare_segments);
    return error;
}

static int read_segments(struct opening *o)
{
    int error = list_segments(o->process);

    for (uint32_t i = 0; i < o->process->segment_count && !error; i++)
        error = scan_segment(o, i);
    return error;
}

int64_t tptrace_process_read_piece(struct tptrace_process *process,
                                   const struct tptrace_piece *piece, void **buffer,
                                   size_t *capacity, struct tp_diag *diag)
{
    struct tptrace_segment *segment = &process->segments[piece->segment];
    char path[TPTRACE_PATH_MAX];
    uint64_t size;
    int fd = segment->fd;

    tptrace_segment_path(path, process, segment);
    if (*capacity < piece->bytes) {
        void *grown = realloc(*buffer, piece->bytes);
        if (!grown) {
            tp_diag_fail(diag, -ENOMEM, piece->offset, "no memory for a block of %u bytes",
                         piece->bytes);
            return tp_diag_at(diag, path);
        }
        *buffer = grown;
        *capacity = piece->bytes;
    }
    if (fd < 0 && (fd = tptrace_open(path, &size, diag)) < 0)
        return fd;
    int64_t n = tptrace_read_at(fd, *buffer, piece->bytes, piece->offset);
    if (fd != segment->fd)
        close(fd);
    if (n >= 0)
        return n;
    tp_diag_fail(diag, (int)n, piece->offset, "%s", tp_error_text((int)n));
    return tp_diag_at(diag, path);
}

/* ---- state ---- */

static bool is_this_boot(const char *boot_id)
{
    char id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!file)
        return false;
    bool got = fgets(id, sizeof(id), file) != NULL;
    fclose(file);
    id[strcspn(id, "\n")] = '\0';
    return got && !strcmp(id, boot_id);
}

/* By pid on the same boot of the same machine; in another pid namespace it reads as gone. */
static enum tptrace_state find_state(const struct tptrace_meta *meta)
{
    if (meta->ended)
        return TPTRACE_ENDED;
    if (meta->pid && meta->boot_id && is_this_boot(meta->boot_id) &&
        (!kill((pid_t)meta->pid, 0) || errno == EPERM))
        return TPTRACE_RUNNING;
    return TPTRACE_DIED;
}

static void note_meta_troubles(struct tptrace_process *p, const char *path)
{
    struct tp_diag diag;

    p->totals.disk_bytes += p->meta.bytes;
    if (!p->meta.damaged_lines)
        return;
    tp_diag_fail(
        &diag, -TP_ESYNTAX, p->meta.first_damaged_at, "line %llu makes no sense; %llu such lines",
        (unsigned long long)p->meta.first_damaged, (unsigned long long)p->meta.damaged_lines);
    tptrace_trouble(p, &diag, path);
}

/* A process that runs may have said more meanwhile, of evictions above all. */
static int read_meta_again(struct tptrace_process *p, const char *path)
{
    struct tptrace_meta again;
    struct tp_diag diag;

    int error = tptrace_meta_read(&again, path, &diag);
    if (error) {
        tptrace_meta_fini(&again);
        return error == -ENOMEM ? error : 0;
    }
    tptrace_meta_fini(&p->meta);
    p->meta = again;
    p->state = find_state(&p->meta);
    return 0;
}

/* ---- joining ---- */

static bool is_sorted(const struct tptrace_pieces *pieces)
{
    for (size_t i = 1; i < pieces->count; i++) {
        if (tptrace_piece_compare(&pieces->items[i - 1], &pieces->items[i]) > 0)
            return false;
    }
    return true;
}

static void sum_track(struct tptrace_process *p, struct tptrace_track *track)
{
    const struct tptrace_piece *pieces = p->pieces + track->first_piece;
    const struct tptrace_meta_total *said = tptrace_meta_find_total(&p->meta, track->track);
    struct tptrace_totals *totals = &p->totals;

    if (said && said->dropped > track->dropped)
        track->dropped = said->dropped;
    if (said && said->slots > track->join.next && said->slots < SLOT_MAX) {
        track->join.gap_slots += said->slots - track->join.next;
        track->join.gaps++;
    }
    if (p->meta.eviction_count)
        totals->evicted_slots += track->join.first_gap;
    else
        totals->missing_slots += track->join.first_gap;
    totals->missing_slots += track->join.gap_slots;
    totals->gaps += track->join.gaps;
    totals->double_slots += track->join.double_slots;
    for (size_t i = 0; i < track->piece_count; i++) {
        if (pieces[i].last_ticks > track->last_ticks)
            track->last_ticks = pieces[i].last_ticks;
        if (pieces[i].segment == TPTRACE_RING)
            totals->ring_slots += pieces[i].slots;
        else
            totals->block_slots += pieces[i].slots - pieces[i].skip;
    }
    if (track->last_ticks > p->last_ticks)
        p->last_ticks = track->last_ticks;
}

static int join_tracks(struct opening *o)
{
    struct tptrace_process *p = o->process;
    struct tptrace_piece *found = o->pieces.items;
    size_t count = o->pieces.count;
    struct tptrace_pieces joined = {0};
    int error = 0;

    if (!is_sorted(&o->pieces))
        qsort(found, count, sizeof(*found), tptrace_piece_compare);
    for (size_t from = 0, to; from < count && !error; from = to) {
        struct tptrace_track *track = &p->tracks[found[from].track];
        for (to = from; to < count && found[to].track == found[from].track;)
            to++;
        track->first_piece = joined.count;
        error = tptrace_join_track(found + from, to - from, &joined, &track->join);
        track->piece_count = joined.count - track->first_piece;
    }
    p->pieces = joined.items;
    p->piece_count = joined.count;
    for (size_t i = 0; i < p->track_count && !error; i++)
        sum_track(p, &p->tracks[i]);
    for (size_t i = 0; i < p->meta.drop_count; i++) {
        if (!p->meta.drops[i].has_track)
            p->totals.dropped_elsewhere += p->meta.drops[i].count;
    }
    return error;
}

/* ---- the whole ---- */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int open_parts(struct opening *o, const char *meta_path)
{
    struct tptrace_process *p = o->process;

    p->state = find_state(&p->meta);
    p->read_ns = now_ns();
    o->uuid = p->meta.has_uuid ? p->meta.uuid : NULL;
    o->near_ticks = p->meta.pair_count ? p->meta.pairs[0].ticks : 0;
    int error = read_rings(o);
    if (!error)
        error = read_segments(o);
    if (!error && p->state != TPTRACE_ENDED)
        error = read_meta_again(p, meta_path);
    return error ? error : join_tracks(o);
}

int tptrace_process_open(struct tptrace_process *process, const char *dir, size_t trouble_limit,
                         struct tp_diag *diag)
{
    struct opening o = {.process = process};
    char path[TPTRACE_PATH_MAX];

    *process = (struct tptrace_process){.troubles.limit = trouble_limit};
    pthread_mutex_init(&process->troubles.lock, NULL);
    process->dir = strdup(dir);
    if (!process->dir)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    int error = tptrace_path(path, dir, "meta.jsonl");
    if (error)
        return tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "%s: path too long", dir);
    error = tptrace_meta_read(&process->meta, path, diag);
    if (error)
        return error;
    error = open_parts(&o, path);
    free(o.track_slots);
    free(o.pieces.items);
    if (error) {
        tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "%s", tp_error_text(error));
        return tp_diag_at(diag, dir);
    }
    note_meta_troubles(process, path);
    return 0;
}

void tptrace_process_close(struct tptrace_process *process)
{
    for (size_t i = 0; i < process->segment_count; i++) {
        if (process->segments[i].fd >= 0)
            close(process->segments[i].fd);
    }
    tptrace_meta_fini(&process->meta);
    tp_clock_fini(&process->clock);
    free(process->dir);
    free(process->segments);
    free(process->tracks);
    free(process->pieces);
    free(process->ring_slots);
    free(process->troubles.items);
    pthread_mutex_destroy(&process->troubles.lock);
    *process = (struct tptrace_process){0};
}

bool tptrace_process_was_cut(const struct tptrace_process *process)
{
    const struct tptrace_totals *t = &process->totals;

    return process->troubles.count || t->missing_slots || t->damaged_blocks || t->damaged_slots ||
           t->damaged_bytes || t->unreadable_files || t->double_slots || t->unknown_records ||
           t->lost_records || t->dropped_elsewhere || t->stream.too_deep;
}
