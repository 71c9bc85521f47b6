/* SPDX-License-Identifier: MIT */
#include "input/tptrace_process.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "event/brief.h"
#include "input/tptrace_file.h"
#include "input/tptrace_ring.h"
#include "model/device_memory.h"

#define OPEN_FILES_MAX                                                                             \
    200 /* segments kept open, so that eviction does not take them away while we read */
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

int tptrace_segment_open(const struct tptrace_process *process,
                         const struct tptrace_segment *segment, struct tp_diag *diag)
{
    char path[TPTRACE_PATH_MAX];
    uint64_t size;

    if (segment->fd >= 0)
        return segment->fd;
    tptrace_segment_path(path, process, segment);
    return tptrace_open(path, &size, diag);
}

int tptrace_process_find_track(struct tptrace_process *process, uint32_t number,
                               struct tptrace_track **ret_track)
{
    int found = tptrace_tracks_find(&process->tracks, number, ret_track);

    if (found == 1) {
        const struct tptrace_meta_track *said = tptrace_meta_find_track(&process->meta, number);
        (*ret_track)->tid = said ? said->tid : 0;
    }
    return found < 0 ? found : 0;
}

/* ---- rings ---- */

void tptrace_track_named(struct tptrace_track *track, const char name[16], uint64_t slot)
{
    if (!name[0] || slot < track->named_at)
        return;
    memcpy(track->name, name, sizeof(track->name));
    track->named_at = slot;
}

/* Whole records of known kinds at the start of @ring; the first and the last time that they tell,
 * @near if none does. */
static uint64_t count_whole(const struct tptrace_ring *ring, uint64_t near, uint64_t *ret_first,
                            uint64_t *ret_last)
{
    uint64_t at = 0, ticks = near;
    bool tells = false;

    *ret_first = *ret_last = near;

    while (at < ring->count) {
        const uint64_t *slot = ring->slots + at * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(slot), step = tp_kind_slots(kind);
        if (!step || step > ring->count - at)
            break;
        at += step;
        if (tp_is_brief(kind))
            continue;
        ticks = tp_ticks_unwrap(tp_slot_ticks(slot), ticks);
        if (!tells)
            *ret_first = ticks;
        *ret_last = ticks;
        tells = true;
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

void tptrace_track_dropped(struct tptrace_process *p, struct tptrace_track *track, uint64_t count,
                           const char *path)
{
    char meta[TPTRACE_PATH_MAX];
    struct tp_diag diag;

    if (count > TPTRACE_SLOT_MAX) {
        if (!path && !tptrace_path(meta, p->dir, "meta.jsonl"))
            path = meta;
        tp_diag_fail(&diag, -TP_ECORRUPT, TP_DIAG_NO_OFFSET, "track %u dropped %llu records",
                     track->number, (unsigned long long)count);
        tptrace_trouble(p, &diag, path);
    } else if (count > track->dropped) {
        track->dropped = count;
    }
}

static int take_ring(struct tptrace_process *p, const struct tptrace_ring *ring, const char *path)
{
    uint64_t near = p->meta.pair_count ? p->meta.pairs[0].ticks : 0, whole = 0;
    struct tptrace_piece piece = {
        .first_slot = ring->first_slot, .offset = p->ring_slot_count, .segment = TPTRACE_RING};
    struct tp_diag diag;

    int error = tptrace_process_find_track(p, ring->track, &piece.track);
    if (error)
        return error;
    piece.track->has_ring = true;
    if (!piece.track->tid)
        piece.track->tid = ring->tid;
    tptrace_track_named(piece.track, ring->name, ring->first_slot);
    tptrace_track_dropped(p, piece.track, ring->dropped, path);
    if (ring->first_slot <= TPTRACE_SLOT_MAX)
        whole = count_whole(ring, near, &piece.first_ticks, &piece.last_ticks);
    if (whole < ring->count) {
        p->totals.damaged_slots += ring->count - whole;
        tp_diag_fail(&diag, -TP_ECORRUPT, TP_DIAG_NO_OFFSET,
                     "slots %llu to %llu of track %u make no records",
                     (unsigned long long)(ring->first_slot + whole),
                     (unsigned long long)(ring->first_slot + ring->count), ring->track);
        tptrace_trouble(p, &diag, path);
    }
    if (!whole)
        return 0;
    piece.slots = (uint32_t)whole;
    error = keep_slots(p, ring->slots, whole);
    return error ? error : tptrace_pieces_add(&piece.track->rings, &piece);
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);

    return length > tail && !strcmp(name + length - tail, suffix);
}

/* Return: files seen, or negative. A file that went away while we looked is in blocks by now. */
static int read_rings_in(struct tptrace_process *p, const char *directory)
{
    char path[TPTRACE_PATH_MAX];
    struct tptrace_ring ring;
    struct dirent *entry;
    struct tp_diag diag;
    int error = 0, seen = 0;

    DIR *stream = opendir(directory);
    if (!stream)
        return 0;
    free(p->ring_folder);
    p->ring_folder = strdup(directory);
    if (!p->ring_folder)
        error = -ENOMEM;
    while (!error && (entry = readdir(stream))) {
        if (!has_suffix(entry->d_name, ".tpr") || tptrace_path(path, directory, entry->d_name))
            continue;
        int result = tptrace_ring_read(&ring, path, p->meta.has_uuid ? p->meta.uuid : NULL, &diag);
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
            error = take_ring(p, &ring, path);
        free(ring.slots);
    }
    closedir(stream);
    return error ? error : seen;
}

/*
 * A folder outside of the recording is read only if it is what the agent makes with
 * TPAGENT_RING_DIR: named after the process, no link, of the recording's owner. (Each ring must
 * bear the process's uuid as well.)
 */
static bool is_ring_folder(const struct tptrace_process *p, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat folder, own;
    char name[64];

    snprintf(name, sizeof(name), "%u-%llx", p->meta.pid, (unsigned long long)p->meta.start_ns);
    return slash && !strcmp(slash + 1, name) && !lstat(path, &folder) && S_ISDIR(folder.st_mode) &&
           !stat(p->dir, &own) && own.st_uid == folder.st_uid;
}

/* Rings lie in the process's directory, or where the start line says. */
static int read_rings(struct tptrace_process *p)
{
    const char *said = p->meta.ring_dir;
    char path[TPTRACE_PATH_MAX];
    struct stat info;

    int seen = tptrace_path(path, p->dir, "ring") || lstat(path, &info) || !S_ISDIR(info.st_mode)
                   ? 0
                   : read_rings_in(p, path);
    if (!seen && said && is_ring_folder(p, said))
        seen = read_rings_in(p, said);
    for (size_t i = 0; i < p->tracks.count; i++)
        tptrace_rings_sort(&p->tracks.items[i]->rings);
    return seen < 0 ? seen : 0;
}

/*
 * Of each call one record comes when it begins and CUPTI's later: with its work, or not at all.
 * What is not here for another reason is told as that.
 */
uint64_t tptrace_calls_without_record(const struct tptrace_process *process)
{
    const struct tptrace_totals *t = &process->totals;
    const uint64_t *kinds = t->stream.kinds;
    uint64_t calls = kinds[TP_EVENT_CUDA_CALL], records = kinds[TP_EVENT_CUDA_API];

    if (process->state == TPTRACE_RUNNING || t->evicted_slots || t->missing_slots ||
        t->lost_records || t->damaged_blocks)
        return 0;
    return calls > records ? calls - records : 0;
}

unsigned tptrace_memory_source(const struct tptrace_process *process)
{
    const struct tptrace_totals *t = &process->totals;

    if (t->stream.device_memory)
        return TP_MEMORY_FRAMEWORK;
    if (!t->cuda.has_memory)
        return 0;
    return t->stream.kinds[TP_EVENT_OP_BEGIN] ? TP_MEMORY_SEGMENTS : TP_MEMORY_CUDA;
}

/* ---- segments ---- */

static int compare_segments(const void *a, const void *b)
{
    const struct tptrace_segment *left = a, *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

/* 0: it is none. */
static uint32_t segment_number(const char *name)
{
    size_t digits = strspn(name, "0123456789");

    return digits < 6 || digits > 9 || strcmp(name + digits, ".tpt") != 0
               ? 0
               : (uint32_t)strtoul(name, NULL, 10);
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
        uint32_t number = segment_number(entry->d_name);
        if (!number)
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
        p->segments[p->segment_count++] = (struct tptrace_segment){.number = number, .fd = -1};
    }
    closedir(stream);
    if (p->segment_count > 1)
        qsort(p->segments, p->segment_count, sizeof(*p->segments), compare_segments);
    return error;
}

/* Open them now: a running process may evict them while we read. */
static void open_segments(struct tptrace_process *p)
{
    char path[TPTRACE_PATH_MAX];

    for (size_t i = 0; i < p->segment_count; i++) {
        struct tptrace_segment *segment = &p->segments[i];
        struct tp_diag diag;
        tptrace_segment_path(path, p, segment);
        int fd = tptrace_open(path, &segment->size, &diag);
        if (fd >= 0 && i < OPEN_FILES_MAX)
            segment->fd = fd;
        else if (fd >= 0)
            close(fd);
    }
}

/* Of those in its directory, 0 none. */
static uint32_t newest_segment(const struct tptrace_process *p)
{
    DIR *stream = opendir(p->dir);
    struct dirent *entry;
    uint32_t newest = 0;

    while (stream && (entry = readdir(stream))) {
        uint32_t number = segment_number(entry->d_name);
        newest = number > newest ? number : newest;
    }
    if (stream)
        closedir(stream);
    return newest;
}

/*
 * After the segments are open: what is evicted meanwhile is in them still, and in a later summary.
 * But what rings held must not be in it as well, so the newest segment that there was before they
 * were read must still be there.
 */
static int read_summary(struct tptrace_process *p, uint32_t newest_before)
{
    struct tp_diag diag;
    int error =
        tptrace_summary_open(&p->summary, p->dir, p->meta.has_uuid ? p->meta.uuid : NULL, &diag);

    p->totals.disk_bytes += p->summary.bytes;
    if (error == -ENOMEM)
        return error;
    if (!error && (!newest_before || p->summary.file.totals.first_segment <= newest_before))
        return 0;
    if (!error)
        tp_diag_fail(&diag, -EAGAIN, TP_DIAG_NO_OFFSET,
                     "segments were evicted faster than they were read; read again");
    p->summary.is_there = false;
    p->totals.unreadable_files++;
    tptrace_trouble(p, &diag, error ? NULL : TP_SUMMARY_FILE);
    return 0;
}

int64_t tptrace_process_read_piece(struct tptrace_process *process,
                                   const struct tptrace_piece *piece, void **buffer,
                                   size_t *capacity, struct tp_diag *diag)
{
    const struct tptrace_segment *segment = &process->segments[piece->segment];
    char path[TPTRACE_PATH_MAX];

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
    int fd = tptrace_segment_open(process, segment, diag);
    if (fd < 0)
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

#define START_SLACK_S 2 /* by how much two ways to tell the same moment may differ */

/* Whether it is the process that wrote @meta, and no zombie: from /proc, where there is one. */
static bool is_alive(const struct tptrace_meta *meta)
{
    char path[64], text[1024], state;
    unsigned long long start_ticks;
    struct timespec boot, monotonic;

    if (kill((pid_t)meta->pid, 0) && errno != EPERM)
        return false;
    snprintf(path, sizeof(path), "/proc/%u/stat", meta->pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = '\0';
    const char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end + 1,
                            " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                            "%*d %*d %llu",
                            &state, &start_ticks) != 2)
        return true;
    if (state == 'Z' || state == 'X')
        return false;
    if (!meta->pair_count)
        return true;
    /* Another process has the pid if it began later than ours was there already. Clocks that a user
     * may set are no help, and what the machine slept counts for "ours". */
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    int64_t latest_s = meta->pairs[0].monotonic_ns / 1000000000 + boot.tv_sec - monotonic.tv_sec;
    return (int64_t)(start_ticks / (unsigned long)sysconf(_SC_CLK_TCK)) <= latest_s + START_SLACK_S;
}

enum image { IMAGE_UNKNOWN, IMAGE_STAYS, IMAGE_IS_GONE };

/* Whether the process that lives is still the program that was recorded: that one has its names
 * mapped. */
static enum image find_image(const struct tptrace_process *p)
{
    char path[TPTRACE_PATH_MAX], end[TPTRACE_PATH_MAX], *line = NULL;
    enum image image = IMAGE_UNKNOWN;
    const char *name = strrchr(p->dir, '/');
    size_t size = 0;

    if (tptrace_path(path, p->dir, "names.tpn") || access(path, F_OK) ||
        tptrace_path(end, name ? name : p->dir, "names.tpn"))
        return IMAGE_UNKNOWN;
    snprintf(path, sizeof(path), "/proc/%u/maps", p->meta.pid);
    FILE *file = fopen(path, "re");
    while (file && image != IMAGE_STAYS && getline(&line, &size, file) > 0)
        image = strstr(line, end) ? IMAGE_STAYS : IMAGE_IS_GONE;
    if (file)
        fclose(file);
    free(line);
    return image;
}

/* By pid on the same boot of the same machine; in another pid namespace it reads as gone. */
static enum tptrace_state find_state(const struct tptrace_process *p)
{
    const struct tptrace_meta *meta = &p->meta;

    if (meta->ended)
        return TPTRACE_ENDED;
    bool went_on = tptrace_execs(p) != 0;
    if (meta->pid && meta->boot_id && is_this_boot(meta->boot_id) && is_alive(meta)) {
        enum image image = find_image(p);
        if (image == IMAGE_STAYS || (image == IMAGE_UNKNOWN && !went_on))
            return TPTRACE_RUNNING;
        went_on = true;
    }
    return went_on ? TPTRACE_WENT_ON : TPTRACE_DIED;
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
    p->state = find_state(p);
    return 0;
}

/* ---- the whole ---- */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int open_parts(struct tptrace_process *p, const char *meta_path)
{
    p->state = find_state(p);
    uint32_t newest = p->state == TPTRACE_RUNNING ? newest_segment(p) : 0;
    p->read_ns = now_ns();
    int error = read_rings(p);
    if (!error)
        error = tptrace_memory_rings_read(p);
    if (!error)
        error = list_segments(p);
    if (error)
        return error;
    open_segments(p);
    error = read_summary(p, newest);
    if (error)
        return error;
    if (p->state != TPTRACE_ENDED)
        error = read_meta_again(p, meta_path);
    for (size_t i = 0; i < p->tracks.count && !error; i++) {
        const struct tptrace_track *track = p->tracks.items[i];
        if (track->name[0])
            error = tptrace_meta_name_track(&p->meta, track->number, track->tid, track->name);
    }
    for (size_t i = 0; i < p->meta.drop_count; i++) {
        if (!p->meta.drops[i].has_track)
            p->totals.dropped_elsewhere += p->meta.drops[i].count;
    }
    tptrace_losses_read(p);
    /* What the end line tells of must be there, even where every segment is gone. */
    for (size_t i = 0; i < p->meta.total_count && error >= 0; i++) {
        struct tptrace_track *track;
        if (p->meta.totals[i].slots)
            error = tptrace_process_find_track(p, p->meta.totals[i].track, &track);
    }
    return error < 0 ? error : 0;
}

int tptrace_process_open(struct tptrace_process *process, const char *dir, size_t trouble_limit,
                         struct tp_diag *diag)
{
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
    error = open_parts(process, path);
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
    tptrace_cuda_clock_fini(&process->cuda_clock);
    tp_clock_fini(&process->clock);
    free(process->dir);
    tptrace_summary_close(&process->summary);
    free(process->ring_folder);
    free(process->segments);
    tptrace_tracks_fini(&process->tracks);
    free(process->ring_slots);
    free(process->troubles.items);
    pthread_mutex_destroy(&process->troubles.lock);
    *process = (struct tptrace_process){0};
}

uint32_t tptrace_process_uncounted(const struct tptrace_process *process)
{
    uint32_t behind = process->summary.file.totals.first_segment, most = 0;

    for (size_t i = 0; i < process->meta.eviction_count; i++)
        if (process->meta.evictions[i].segment > most)
            most = process->meta.evictions[i].segment;
    if (process->losses.counts[TP_LOSS_EVICTED] > most &&
        process->losses.counts[TP_LOSS_EVICTED] < UINT32_MAX)
        most = (uint32_t)process->losses.counts[TP_LOSS_EVICTED];
    if (!process->summary.is_there || most < behind)
        return 0;
    uint32_t gone = most - behind + 1;
    for (size_t i = 0; i < process->segment_count; i++) /* deleted when we had it, or not yet */
        gone -= process->segments[i].number >= behind && process->segments[i].number <= most;
    return gone;
}

/* A report that counts the running summary says that it is of all. */
static bool summary_was_cut(const struct tptrace_process *process)
{
    const struct tp_summary_totals *t = &process->summary.file.totals;

    return process->summary.is_used &&
           (t->missing_segments || t->missing_blocks || t->missing_slots || t->missing_ranges ||
            t->too_deep || tptrace_process_uncounted(process));
}

bool tptrace_process_was_cut(const struct tptrace_process *process)
{
    const struct tptrace_totals *t = &process->totals;
    const struct tptrace_meta_cuda *cuda = &process->meta.cuda;

    if (cuda->dropped || cuda->no_room || cuda->invalid || cuda->unknown || cuda->buffers ||
        cuda->missing || cuda->no_time || t->cuda.without_time ||
        tptrace_calls_without_record(process) || summary_was_cut(process))
        return true;
    return process->troubles.count || t->missing_slots || t->memory_slots ||
           process->losses.counts[TP_LOSS_LINES] || t->damaged_blocks || t->damaged_slots ||
           t->damaged_bytes || t->unreadable_files || t->double_slots || t->unknown_records ||
           t->lost_records || t->dropped_elsewhere || t->stream.too_deep;
}
