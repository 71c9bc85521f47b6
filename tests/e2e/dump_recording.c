/* SPDX-License-Identifier: MIT */
/*
 * dump_recording [--json|--long|--summary] DIR...
 *
 * Prints every record of a recording (or of one process's directory) and checks it as the format
 * says it must be: first all blocks of a track, then what its rings hold beyond them. One line a
 * record:
 *
 *     track=1 slot=0 nvtx_push name="step"
 *
 * and after each process one line that begins with '#' and counts what is there and what is wrong.
 * --long adds where a record came from, its ticks and its memory counters; --json prints an object
 * a record with all of that;
 * --summary prints only the last line. Exit status: 0, or 1 when something could not be read.
 *
 * For tests: small and plain, and it stops at the first file that it cannot open.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "event/event.h"
#include "event/names.h"
#include "ring/ring.h"
#include "trace/file.h"

enum mode { MODE_TEXT, MODE_LONG, MODE_JSON, MODE_SUMMARY };

struct file {
    char path[1024];
    void *bytes;
    uint64_t size;
};

/* A track as it is replayed: what must come next, and the begins that are open. */
struct track {
    uint32_t id;
    uint64_t next;    /* number of the next slot */
    uint64_t dropped; /* records that found no room, as the ring or meta.jsonl says */
    uint64_t near_ticks;
    uint64_t (*open)[2 * TP_SLOT_WORDS];
    unsigned open_count, open_room;
};

struct counts {
    uint64_t records, begins, ends, points, lost, dropped, missing, twice, unmatched, open,
        open_differs;
    uint64_t damaged, torn, unknown;
};

struct process {
    const char *dir;
    struct tp_names *names;
    struct track *tracks;
    unsigned track_count;
    struct counts counts;
};

static enum mode mode;
static int status;
static char line_bytes[512 << 10];

static void complain(const struct tp_diag *diag, const char *path)
{
    char text[1024];
    struct tp_diag copy = *diag;

    tp_diag_at(&copy, path);
    tp_diag_print(&copy, text, sizeof(text));
    fprintf(stderr, "dump_recording: %s\n", text);
}

static void *grow(void *memory, size_t count, size_t each)
{
    void *grown = realloc(memory, count * each);

    if (!grown)
        exit(2);
    return grown;
}

static void join_path(char *ret_path, size_t size, const char *dir, const char *name)
{
    struct tp_text text;

    tp_text_init(&text, ret_path, size);
    tp_text_format(&text, "%s/%s", dir, name);
}

/* A private copy, so that a living process cannot change it under us. */
static int file_open(struct file *file, const char *dir, const char *name)
{
    struct stat stat;

    join_path(file->path, sizeof(file->path), dir, name);
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) < 0)
        return -1;
    file->size = (uint64_t)stat.st_size;
    file->bytes =
        mmap(NULL, file->size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file->bytes == MAP_FAILED)
        exit(2);
    uint64_t at = 0;
    for (ssize_t n;
         at < file->size && (n = read(fd, (char *)file->bytes + at, file->size - at)) > 0;)
        at += (uint64_t)n;
    file->size = at;
    close(fd);
    return 0;
}

static void file_close(struct file *file)
{
    if (file->bytes)
        munmap(file->bytes, file->size + 1);
    file->bytes = NULL;
}

static struct track *track_of(struct process *process, uint32_t id)
{
    for (unsigned i = 0; i < process->track_count; i++)
        if (process->tracks[i].id == id)
            return &process->tracks[i];
    process->tracks = grow(process->tracks, process->track_count + 1, sizeof(*process->tracks));
    process->tracks[process->track_count] = (struct track){.id = id};
    return &process->tracks[process->track_count++];
}

/* --- printing
 * ------------------------------------------------------------------------------------------- */

static void put_key(struct tp_text *line, const char *key)
{
    if (mode == MODE_JSON)
        tp_text_format(line, ",\"%s\":", key);
    else
        tp_text_format(line, " %s=", key);
}

static void put_name(struct process *process, struct tp_text *line, const char *key, uint32_t id)
{
    struct tp_name name;

    if (!id) {
        put_key(line, key);
        tp_text_string(line, mode == MODE_JSON ? "null" : "-");
        return;
    }
    if (!tp_names_get(process->names, id, &name)) {
        put_key(line, key);
        tp_text_format(line, "\"<name %u>\"", id);
        return;
    }
    const char *bytes = name.bytes, *zero = memchr(bytes, '\0', name.size);
    size_t size = name.size;
    if (zero && (name.kind == TP_NAME_SCOPED || name.kind == TP_NAME_OPERATOR)) {
        put_key(line, name.kind == TP_NAME_SCOPED ? "domain" : "operator");
        tp_text_json(line, bytes, (size_t)(zero - bytes));
        size -= (size_t)(zero + 1 - bytes);
        bytes = zero + 1;
    }
    put_key(line, key);
    tp_text_json(line, bytes, size);
}

/* The value of a counter or an attribute by its type. */
static void put_typed(struct process *process, struct tp_text *line, unsigned type, uint64_t value)
{
    char number[64];
    double real;

    if (type == 4 || type == 5) {
        put_name(process, line, "value", (uint32_t)value);
        return;
    }
    put_key(line, "value");
    memcpy(&real, &value, sizeof(real));
    if (type == 3)
        snprintf(number, sizeof(number), "%.17g", real);
    else
        snprintf(number, sizeof(number), type == 1 ? "%lld" : "%llu", (long long)value);
    tp_text_string(line, number);
}

static uint64_t field_value(const struct tp_field_info *f, const uint64_t *record)
{
    uint64_t value = record[f->word] >> f->shift;

    return f->bits < 64 ? value & ((UINT64_C(1) << f->bits) - 1) : value;
}

static void put_field(struct process *process, struct tp_text *line, const struct tp_field_info *f,
                      const uint64_t *record)
{
    uint64_t value = field_value(f, record);

    if (!strcmp(f->unit, "name"))
        put_name(process, line, f->name, (uint32_t)value);
    else if (!strcmp(f->name, "value"))
        put_typed(process, line, (unsigned)record[4] & 0xff, value);
    else {
        put_key(line, f->name);
        if (!strcmp(f->unit, "i64"))
            tp_text_i64(line, (int64_t)value);
        else
            tp_text_u64(line, value);
    }
}

static void print_record(struct process *process, struct track *track, const char *from,
                         uint64_t number, const uint64_t *record)
{
    unsigned kind = tp_slot_kind(record);
    struct tp_text line;

    tp_text_init(&line, line_bytes, sizeof(line_bytes));
    if (mode == MODE_JSON)
        tp_text_format(&line, "{\"process\":\"%s\",\"track\":%u,\"slot\":%llu,\"kind\":\"%s\"",
                       process->dir, track->id, (unsigned long long)number, tp_kinds[kind].name);
    else
        tp_text_format(&line, "track=%u slot=%llu %s", track->id, (unsigned long long)number,
                       tp_kinds[kind].name);
    for (unsigned i = 0; i < tp_field_count; i++)
        if (tp_fields[i].kind == kind)
            put_field(process, &line, &tp_fields[i], record);
    if (mode != MODE_TEXT) {
        put_key(&line, "from");
        tp_text_json(&line, from, strlen(from));
        put_key(&line, "ticks");
        tp_text_u64(&line, track->near_ticks);
        for (unsigned i = 0; i < tp_field_count; i++)
            if (tp_fields[i].kind == TP_EVENT_ALL && tp_fields[i].word)
                put_field(process, &line, &tp_fields[i], record);
    }
    puts(mode == MODE_JSON ? strcat(line_bytes, "}") : line_bytes);
}

/* --- replaying
 * ------------------------------------------------------------------------------------------ */

static void open_push(struct track *track, const uint64_t *record, unsigned slots)
{
    if (track->open_count == track->open_room) {
        track->open_room = track->open_room * 2 + 16;
        track->open = grow(track->open, track->open_room, sizeof(*track->open));
    }
    memset(track->open[track->open_count], 0, sizeof(*track->open));
    memcpy(track->open[track->open_count++], record, slots * (size_t)TP_SLOT_BYTES);
}

static bool open_pop(struct track *track, unsigned class_)
{
    for (unsigned i = track->open_count; i-- > 0;) {
        if (tp_kinds[tp_slot_kind(track->open[i])].class_ != class_)
            continue;
        memmove(track->open + i, track->open + i + 1,
                (track->open_count - i - 1) * sizeof(*track->open));
        track->open_count--;
        return true;
    }
    return false;
}

static void replay(struct process *process, struct track *track, const char *from, uint64_t number,
                   const uint64_t *record)
{
    const struct tp_kind_info *kind = &tp_kinds[tp_slot_kind(record)];
    struct counts *counts = &process->counts;

    track->near_ticks = tp_ticks_unwrap(tp_slot_ticks(record), track->near_ticks);
    counts->records++;
    counts->begins += kind->role == TP_ROLE_BEGIN;
    counts->ends += kind->role == TP_ROLE_END;
    counts->points += kind->role == TP_ROLE_POINT;
    if (kind->role == TP_ROLE_LOST)
        counts->lost += record[4];
    if (kind->role == TP_ROLE_BEGIN)
        open_push(track, record, kind->slots);
    else if (kind->role == TP_ROLE_END && !open_pop(track, kind->class_))
        counts->unmatched++;
    if (mode != MODE_SUMMARY)
        print_record(process, track, from, number, record);
}

/* Slots [first, first + count) come next: what is wrong with that? */
static void meet(struct process *process, struct track *track, uint64_t first, uint64_t count)
{
    if (first > track->next)
        process->counts.missing += first - track->next;
    else if (first < track->next)
        process->counts.twice += track->next - first;
    track->next = first + count;
}

static bool same_open(const struct track *track, const struct tp_block *block)
{
    unsigned at = 0, i = 0;

    for (; at < block->open_slots && i < track->open_count; i++) {
        const uint64_t *record = block->open + (size_t)at * TP_SLOT_WORDS;
        unsigned slots = tp_kind_slots(tp_slot_kind(record));
        if (memcmp(record, track->open[i], slots * (size_t)TP_SLOT_BYTES))
            return false;
        at += slots;
    }
    return at == block->open_slots && i == track->open_count;
}

static void take_block(struct process *process, const struct tp_block *block)
{
    struct track *track = track_of(process, block->header.track);
    uint64_t number = block->header.first_slot;

    meet(process, track, number, block->header.slots);
    process->counts.unknown += block->unknown_records;
    process->counts.open_differs += !same_open(track, block);
    track->near_ticks = block->header.first_ticks;
    for (uint32_t i = 0; i < block->slot_count;) {
        const uint64_t *record = block->slots + (size_t)i * TP_SLOT_WORDS;
        unsigned slots = tp_kind_slots(tp_slot_kind(record));
        replay(process, track, "block", number + i, record);
        i += slots;
    }
}

/* What is to be replayed: a block of a segment, or a ring. Tracks by number, then blocks as they
 * stand, then rings. */
struct piece {
    uint32_t track;
    bool is_ring;
    uint64_t order; /* a ring's first slot */
    struct file *file;
    uint64_t at;
    struct tp_ring_view view;
};

struct pieces {
    struct piece *all;
    size_t count, room;
};

static struct piece *add_piece(struct pieces *pieces, uint32_t track)
{
    if (pieces->count == pieces->room) {
        pieces->room = pieces->room * 2 + 64;
        pieces->all = grow(pieces->all, pieces->room, sizeof(*pieces->all));
    }
    struct piece *piece = &pieces->all[pieces->count];
    *piece = (struct piece){.track = track, .order = pieces->count};
    pieces->count++;
    return piece;
}

static int by_track(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->is_ring != y->is_ring)
        return x->is_ring ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static void find_blocks(struct process *process, struct pieces *pieces, struct file *file)
{
    struct tp_file_header header;
    struct tp_block_header block_header;
    struct tp_file_walk walk;
    struct tp_diag diag = {0};
    uint64_t at;
    int n;

    if (file->size < TP_FILE_HEADER_BYTES) { /* killed between making it and its header */
        process->counts.torn++;
        return;
    }
    if (tp_file_header_read(&header, file->bytes, file->size, TP_FILE_MAGIC, &diag) < 0) {
        complain(&diag, file->path);
        process->counts.damaged++;
        return;
    }
    tp_file_walk_init(&walk, file->bytes, file->size, &header);
    while ((n = tp_file_walk_next(&walk, &block_header, &at, &diag))) {
        if (n < 0) {
            complain(&diag, file->path);
            process->counts.damaged += !walk.torn;
        } else if (block_header.type == TP_BLOCK_EVENTS) {
            struct piece *piece = add_piece(pieces, block_header.track);
            piece->file = file;
            piece->at = at;
        }
    }
    process->counts.torn += walk.torn;
}

static void read_block(struct process *process, struct tp_block_decoder *decoder,
                       const struct piece *piece)
{
    const struct file *file = piece->file;
    struct tp_diag diag = {0};
    struct tp_block block;

    if (!tp_block_decode(decoder, (char *)file->bytes + piece->at, file->size - piece->at,
                         piece->at, &block, &diag)) {
        take_block(process, &block);
        return;
    }
    complain(&diag, file->path);
    process->counts.damaged++;
}

static void take_ring(struct process *process, const struct tp_ring_view *view)
{
    struct track *track = track_of(process, view->track);
    uint64_t number = view->tail > track->next ? view->tail : track->next;

    if (view->dropped > track->dropped)
        track->dropped = view->dropped;
    if (number >= view->head)
        return;
    meet(process, track, number, view->head - number);
    while (number < view->head) {
        uint64_t record[2 * TP_SLOT_WORDS] = {0};
        memcpy(record, tp_ring_view_slot(view, number), TP_SLOT_BYTES);
        unsigned slots = tp_kind_slots(tp_slot_kind(record));
        if (!slots || number + slots > view->head) {
            fprintf(stderr, "dump_recording: track %u: slot %llu of the ring: no whole record\n",
                    view->track, (unsigned long long)number);
            process->counts.damaged++;
            return;
        }
        if (slots == 2)
            memcpy(record + TP_SLOT_WORDS, tp_ring_view_slot(view, number + 1), TP_SLOT_BYTES);
        replay(process, track, "ring", number, record);
        number += slots;
    }
}

static int has_end(const struct dirent *entry, const char *end)
{
    size_t n = strlen(entry->d_name), m = strlen(end);

    return n > m && !strcmp(entry->d_name + n - m, end);
}

static int is_segment(const struct dirent *entry)
{
    return has_end(entry, ".tpt");
}

static int is_ring(const struct dirent *entry)
{
    return has_end(entry, ".tpr");
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The files of one kind in @dir, in the order of their names. They stay in memory. */
static struct file *open_files(const char *dir, int (*is_wanted)(const struct dirent *),
                               int *ret_count)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, is_wanted, alphasort);
    struct file *files = calloc((size_t)(n > 0 ? n : 1), sizeof(*files));

    *ret_count = 0;
    for (int i = 0; i < n; i++) /* a living process may take one away */
        *ret_count += !file_open(&files[*ret_count], dir, entries[i]->d_name);
    return files;
}

static void find_rings(struct process *process, struct pieces *pieces, const char *dir)
{
    struct tp_ring_view view;
    struct tp_diag diag = {0};
    int count;
    struct file *files = open_files(dir, is_ring, &count);

    for (int i = 0; i < count; i++) {
        if (tp_ring_view_open(&view, files[i].bytes, files[i].size, NULL, &diag) < 0) {
            complain(&diag, files[i].path);
            process->counts.damaged++;
        } else if (view.track != TP_RING_UNCLAIMED) {
            struct piece *piece = add_piece(pieces, view.track);
            piece->is_ring = true;
            piece->order = view.first;
            piece->view = view;
        }
    }
}

/* What meta.jsonl says of records that found no room. */
static void read_drops(struct process *process, const char *dir)
{
    struct file meta = {0};
    unsigned track;
    unsigned long long count;

    if (file_open(&meta, dir, "meta.jsonl") < 0)
        return;
    for (char *line = meta.bytes; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (sscanf(line, "{\"t\":\"drop\",\"count\":%llu,\"reason\":\"no ring", &count) == 1)
            process->counts.dropped += count;
        else if (sscanf(line, "{\"t\":\"drop\",\"track\":%u,\"count\":%llu", &track, &count) == 2 &&
                 count > track_of(process, track)->dropped)
            track_of(process, track)->dropped = count;
    }
    file_close(&meta);
}

/* Where the rings are: beside the segments, or where the start line says. */
static void ring_dir(const char *dir, char *ret_path, size_t size)
{
    struct file meta = {0};
    char *at, *end;

    join_path(ret_path, size, dir, "ring");
    if (!access(ret_path, F_OK) || file_open(&meta, dir, "meta.jsonl") < 0)
        return;
    at = strstr(meta.bytes, "\"ring_dir\":\"");
    if (at && (end = strchr(at + 12, '"')))
        snprintf(ret_path, size, "%.*s", (int)(end - at - 12), at + 12);
    file_close(&meta);
}

static void print_summary(struct process *process)
{
    struct counts *c = &process->counts;
    struct {
        const char *name;
        uint64_t value;
    } fields[] = {
        {"tracks", process->track_count},
        {"records", c->records},
        {"begins", c->begins},
        {"ends", c->ends},
        {"points", c->points},
        {"lost", c->lost},
        {"dropped", c->dropped},
        {"missing", c->missing},
        {"twice", c->twice},
        {"unmatched", c->unmatched},
        {"open", c->open},
        {"open_differs", c->open_differs},
        {"damaged", c->damaged},
        {"torn", c->torn},
        {"unknown", c->unknown},
    };

    putchar('#');
    for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        printf(" %s=%llu", fields[i].name, (unsigned long long)fields[i].value);
    putchar('\n');
}

static void read_pieces(struct process *process, const char *dir)
{
    struct tp_block_decoder *decoder = tp_block_decoder_create();
    struct pieces pieces = {0};
    char rings[1024];
    int count;
    struct file *segments = open_files(dir, is_segment, &count);

    for (int i = 0; i < count; i++)
        find_blocks(process, &pieces, &segments[i]);
    ring_dir(dir, rings, sizeof(rings));
    find_rings(process, &pieces, rings);
    if (pieces.count)
        qsort(pieces.all, pieces.count, sizeof(*pieces.all), by_track);
    for (size_t i = 0; i < pieces.count; i++) {
        if (pieces.all[i].is_ring)
            take_ring(process, &pieces.all[i].view);
        else
            read_block(process, decoder, &pieces.all[i]);
    }
    for (int i = 0; i < count; i++)
        file_close(&segments[i]);
    free(pieces.all);
    tp_block_decoder_destroy(decoder);
}

static void read_process(const char *dir)
{
    struct process process = {.dir = dir};
    struct file names = {0};
    struct tp_diag diag = {0};

    if (!file_open(&names, dir, "names.tpn") &&
        tp_names_open(&process.names, names.bytes, names.size, NULL, &diag) < 0)
        complain(&diag, names.path);
    read_pieces(&process, dir);
    read_drops(&process, dir);
    for (unsigned i = 0; i < process.track_count; i++) {
        process.counts.open += process.tracks[i].open_count;
        process.counts.dropped += process.tracks[i].dropped;
    }
    print_summary(&process);
    status |= process.counts.damaged != 0;
    tp_names_close(process.names);
    file_close(&names);
}

/* <pid>-<start in hex>: in the order of their starts. */
static int by_start(const struct dirent **a, const struct dirent **b)
{
    const char *x = strchr((*a)->d_name, '-'), *y = strchr((*b)->d_name, '-');

    return x && y && strcmp(x, y) ? strcmp(x, y) : strcmp((*a)->d_name, (*b)->d_name);
}

/* Process directories are those with a meta.jsonl, at most two levels down. */
static int read_tree(const char *dir, unsigned depth)
{
    char path[1024];
    struct dirent **entries;
    int found = 0;

    join_path(path, sizeof(path), dir, "meta.jsonl");
    if (!access(path, F_OK)) {
        read_process(strdup(dir));
        return 1;
    }
    int n = depth ? scandir(dir, &entries, is_visible, by_start) : 0;
    for (int i = 0; i < n; i++) {
        join_path(path, sizeof(path), dir, entries[i]->d_name);
        found += read_tree(path, depth - 1);
    }
    return found;
}

int main(int argc, char **argv)
{
    static const char *const options[] = {"", "--long", "--json", "--summary"};

    for (int i = 1; i < argc; i++) {
        bool option = false;
        for (unsigned k = MODE_LONG; k <= MODE_SUMMARY; k++)
            if (!strcmp(argv[i], options[k])) {
                mode = k;
                option = true;
            }
        if (!option && !read_tree(argv[i], 3)) {
            fprintf(stderr, "dump_recording: %s: no process has recorded here\n", argv[i]);
            status = 1;
        }
    }
    return status;
}
