/* SPDX-License-Identifier: MIT */
#include "make_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/brief.h"
#include "ring/ring.h"

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno));   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void *must_grow(void *memory, size_t size)
{
    memory = realloc(memory, size ? size : 1);
    MUST(memory);
    return memory;
}

static void make_directory(const char *path)
{
    MUST(!mkdir(path, 0777) || errno == EEXIST);
}

static void write_all(int fd, const void *bytes, size_t size)
{
    MUST(write(fd, bytes, size) == (ssize_t)size);
}

static void put_uuid(struct recording *r)
{
    for (int i = 0; i < 16; i++)
        r->uuid[i] =
            (uint8_t)(r->options.pid * 31 + (uint64_t)r->options.start_ns * 7 + (unsigned)i * 13);
    memcpy(&r->uuid_low, r->uuid, 4);
}

int64_t recording_ns(const struct recording *r, uint64_t ticks)
{
    return r->options.start_ns + (int64_t)((double)ticks / r->options.ticks_per_ns);
}

static void put_start(struct recording *r)
{
    fprintf(r->meta, "{\"t\":\"start\",\"format\":[%u,%u],\"agent\":\"test\",\"uuid\":\"",
            TP_FORMAT_MAJOR, TP_FORMAT_MINOR);
    for (int i = 0; i < 16; i++)
        fprintf(r->meta, "%02x", r->uuid[i]);
    fprintf(r->meta,
            "\",\"host\":\"%s\",\"boot_id\":\"boot-of-%s\",\"pid\":%u,\"ppid\":1,\"uid\":0,\"start_"
            "ns\":%lld,"
            "\"exe\":\"/bin/"
            "%s\",\"program\":\"%s\",\"argc\":1,\"clock\":\"tsc\",\"ticks_per_second\":0",
            r->options.host, r->options.host, r->options.pid, (long long)r->options.start_ns,
            r->options.program, r->options.program);
    if (r->options.kernel_start)
        fprintf(r->meta, ",\"kernel_start\":%u", r->options.kernel_start);
    if (r->options.counts_memory)
        fprintf(r->meta, ",\"memory\":\"malloc\"");
    fprintf(r->meta, "}\n");
    if (r->options.rank >= 0)
        fprintf(r->meta, "{\"t\":\"dist\",\"rank\":%d}\n", r->options.rank);
}

static void put_run_json(const struct recording *r)
{
    char path[600];
    const char *slash = strrchr(r->options.run_dir, '/');

    snprintf(path, sizeof(path), "%s/run.json", r->options.run_dir);
    FILE *file = fopen(path, "wx");
    if (!file)
        return;
    fprintf(file, "{\"format\":1,\"run\":\"%s\",\"start_ns\":%lld}\n",
            slash ? slash + 1 : r->options.run_dir, (long long)r->options.start_ns);
    fclose(file);
}

void recording_begin(struct recording *r, const struct recording_options *options)
{
    char path[1024];

    *r = (struct recording){
        .options = *options, .segment = -1, .next_name = TP_NAME_FIRST, .next_ring = 1};
    if (!r->options.host)
        r->options.host = "host";
    if (!r->options.program)
        r->options.program = "program";
    if (r->options.ticks_per_ns <= 0)
        r->options.ticks_per_ns = 1;
    if (!r->options.segment_bytes)
        r->options.segment_bytes = TP_SEGMENT_BYTES;
    put_uuid(r);
    make_directory(options->run_dir);
    put_run_json(r);
    snprintf(path, sizeof(path), "%s/%s", options->run_dir, r->options.host);
    make_directory(path);
    snprintf(r->dir, sizeof(r->dir), "%.300s/%u-%llx", path, options->pid,
             (unsigned long long)options->start_ns);
    make_directory(r->dir);
    snprintf(path, sizeof(path), "%s/meta.jsonl", r->dir);
    r->meta = fopen(path, "a");
    MUST(r->meta);
    put_start(r);
    size_t size = tp_block_encoder_size(2 * RECORDING_SLOTS);
    MUST(!posix_memalign(&r->workspace, 64, size));
    r->encoder = tp_block_encoder_init(r->workspace, size, 2 * RECORDING_SLOTS);
    MUST(r->encoder);
}

void recording_clock(struct recording *r, uint64_t ticks)
{
    int64_t ns =
        recording_ns(r, ticks) - INT64_C(1690000000000000000); /* when the machine was booted */

    fprintf(r->meta,
            "{\"t\":\"clock\",\"ticks\":%llu,\"monotonic_ns\":%lld,\"raw_ns\":0,\"realtime_ns\":%"
            "lld,\"width\":50}\n",
            (unsigned long long)ticks, (long long)ns, (long long)recording_ns(r, ticks));
}

void recording_meta(struct recording *r, const char *line)
{
    fprintf(r->meta, "%s\n", line);
}

uint32_t recording_name(struct recording *r, enum tp_name_kind kind, const void *bytes, size_t size)
{
    struct tp_name_record record = {
        .id = r->next_name++, .kind = (uint8_t)kind, .length = (uint32_t)size};
    uint64_t stride = sizeof(record) + ((size + 7) & ~(size_t)7);

    if (r->names_size + stride > r->names_capacity) {
        r->names_capacity = (r->names_size + stride) * 2;
        r->names = must_grow(r->names, r->names_capacity);
    }
    uint8_t *place = r->names + r->names_size;
    memset(place, 0, stride);
    record.checksum = tp_name_checksum(&record, bytes);
    memcpy(place, &record, sizeof(record));
    memcpy(place + sizeof(record), bytes, size);
    r->names_size += stride;
    return record.id;
}

uint32_t recording_text(struct recording *r, enum tp_name_kind kind, const char *text)
{
    return recording_name(r, kind, text, strlen(text));
}

/* ---- segments ---- */

static void close_segment(struct recording *r, bool with_index)
{
    if (r->segment < 0)
        return;
    if (with_index) {
        size_t size = tp_index_size(r->entry_count);
        void *index = must_grow(NULL, size);
        int64_t n =
            tp_index_write(index, size, r->entries, r->entry_count, r->segment_size, r->uuid_low);
        MUST(n > 0);
        write_all(r->segment, index, (size_t)n);
        free(index);
    }
    close(r->segment);
    r->segment = -1;
}

static void open_segment(struct recording *r)
{
    uint8_t header[64];
    char path[600];

    r->segment_number++;
    snprintf(path, sizeof(path), "%s/%06u.tpt", r->dir, r->segment_number);
    r->segment = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    MUST(r->segment >= 0);
    tp_file_header_write(header, TP_FILE_MAGIC, r->uuid, r->segment_number);
    write_all(r->segment, header, sizeof(header));
    r->segment_size = sizeof(header);
    r->entry_count = 0;
}

static void append_block(struct recording *r, const void *bytes, size_t size)
{
    struct tp_block_header header;

    if (r->segment >= 0 && r->segment_size + size > r->options.segment_bytes)
        close_segment(r, true);
    if (r->segment < 0)
        open_segment(r);
    MUST(!tp_block_header_read(&header, bytes, size, 0, NULL));
    r->entries = must_grow(r->entries, (r->entry_count + 1) * sizeof(*r->entries));
    r->entries[r->entry_count++] = (struct tp_index_entry){
        .offset = r->segment_size,
        .first_slot = header.first_slot,
        .first_ticks = header.first_ticks,
        .last_ticks = header.last_ticks,
        .track = header.track,
        .slots = header.slots,
        .lost = header.lost,
    };
    write_all(r->segment, bytes, size);
    r->segment_size += size;
}

static void write_names(const struct recording *r)
{
    uint8_t header[64];
    char path[600];

    snprintf(path, sizeof(path), "%s/names.tpn", r->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    MUST(fd >= 0);
    tp_file_header_write(header, TP_NAMES_MAGIC, r->uuid, 0);
    write_all(fd, header, sizeof(header));
    write_all(fd, r->names, r->names_size);
    MUST(!ftruncate(fd, (off_t)((r->names_size + 12287) / 4096 * 4096)));
    close(fd);
}

void recording_end(struct recording *r, const char *reason)
{
    if (reason)
        fprintf(r->meta, "{\"t\":\"end\",\"reason\":\"%s\",\"ticks\":%llu,\"tracks\":[]}\n", reason,
                (unsigned long long)r->last_ticks);
    fclose(r->meta);
    close_segment(r, reason != NULL);
    write_names(r);
    free(r->entries);
    free(r->names);
    free(r->workspace);
}

/* ---- tracks ---- */

void track_begin(struct recording_track *t, struct recording *r, uint32_t number, uint32_t tid)
{
    *t = (struct recording_track){.recording = r, .track = number, .tid = tid};
    fprintf(r->meta,
            "{\"t\":\"track\",\"track\":%u,\"tid\":%u,\"kind\":\"thread\",\"name\":\"thread-%u\","
            "\"ticks\":0}\n",
            number, tid, tid);
}

void track_end(struct recording_track *t)
{
    free(t->slots);
    free(t->open);
    free(t->open_before);
}

static void keep_open(struct recording_track *t, unsigned kind, const uint64_t *record)
{
    const struct tp_kind_info *info = &tp_kinds[kind];

    if (info->role == TP_ROLE_BEGIN) {
        if (t->open_count == t->open_capacity) {
            t->open_capacity = t->open_capacity ? t->open_capacity * 2 : 16;
            t->open = must_grow(t->open, t->open_capacity * 2 * TP_SLOT_BYTES);
        }
        memcpy(t->open + t->open_count++ * 2 * TP_SLOT_WORDS, record, info->slots * TP_SLOT_BYTES);
        return;
    }
    for (uint32_t i = t->open_count; info->role == TP_ROLE_END && i-- > 0;) {
        uint64_t *place = t->open + i * 2 * TP_SLOT_WORDS;
        if (tp_kinds[tp_slot_kind(place)].class_ != info->class_)
            continue;
        memmove(place, place + 2 * TP_SLOT_WORDS, (t->open_count - 1 - i) * 2 * TP_SLOT_BYTES);
        t->open_count--;
        return;
    }
}

void track_put(struct recording_track *t, unsigned kind, uint64_t ticks, uint32_t argument,
               const uint64_t *words)
{
    unsigned slots = tp_kind_slots(kind);

    if (t->slot_count + slots > RECORDING_SLOTS)
        track_flush(t);
    if (!t->slots)
        t->slots = must_grow(NULL, RECORDING_SLOTS * TP_SLOT_BYTES);
    uint64_t *slot = t->slots + (size_t)t->slot_count * TP_SLOT_WORDS;
    memset(slot, 0, slots * TP_SLOT_BYTES);
    slot[0] = (uint64_t)kind << 56 | (ticks & TP_TICKS_MASK);
    slot[1] = (uint64_t)t->alloc_calls << 32 | argument;
    slot[2] = t->allocated;
    slot[3] = t->freed;
    if (words && slots > 1)
        memcpy(slot + TP_SLOT_WORDS, words, (slots - 1) * TP_SLOT_BYTES);
    keep_open(t, kind, slot);
    t->slot_count += slots;
    t->ticks = ticks;
    if (ticks > t->recording->last_ticks)
        t->recording->last_ticks = ticks;
}

void track_put_alloc(struct recording_track *t, unsigned kind, uint64_t ticks, uint64_t address,
                     uint64_t bytes)
{
    bool is_alloc = kind == TP_EVENT_ALLOC || kind == TP_EVENT_ALLOC_BRIEF;
    uint64_t words[TP_SLOT_WORDS] = {address, is_alloc ? bytes : 0};
    uint64_t before = t->ticks;

    t->alloc_calls += is_alloc;
    t->allocated += is_alloc ? bytes : 0;
    t->freed += is_alloc ? 0 : bytes;
    track_put(t, kind, ticks, 0, words);
    if (!tp_is_brief(kind))
        return;
    uint64_t *slot = t->slots + (size_t)(t->slot_count - 1) * TP_SLOT_WORDS;
    slot[0] = (uint64_t)kind << 56 | bytes;
    slot[1] = slot[3] = 0;
    slot[2] = address;
    t->ticks = before;
}

/* The slots are somewhere; a new stretch begins. */
static void turn(struct recording_track *t)
{
    t->first_slot += t->slot_count;
    t->slot_count = 0;
    t->before[0] = t->ticks & TP_TICKS_MASK;
    t->before[1] = (uint64_t)t->alloc_calls << 32;
    t->before[2] = t->allocated;
    t->before[3] = t->freed;
    t->open_before = must_grow(t->open_before, (t->open_count * 2 + 1) * TP_SLOT_BYTES);
    t->open_before_count = 0;
    for (uint32_t i = 0; i < t->open_count; i++) {
        const uint64_t *record = t->open + i * 2 * TP_SLOT_WORDS;
        unsigned slots = tp_kind_slots(tp_slot_kind(record));
        memcpy(t->open_before + t->open_before_count * TP_SLOT_WORDS, record,
               slots * TP_SLOT_BYTES);
        t->open_before_count += slots;
    }
}

void track_flush(struct recording_track *t)
{
    struct tp_block_source source = {.track = t->track,
                                     .uuid_low = t->recording->uuid_low,
                                     .first_slot = t->first_slot,
                                     .slots = t->slots,
                                     .slot_count = t->slot_count,
                                     .open = t->open_before,
                                     .open_slots = t->open_before_count,
                                     .near_ticks = t->ticks};
    struct tp_block_made made;

    if (!t->slot_count)
        return;
    memcpy(source.before, t->before, sizeof(source.before));
    int error = tp_block_encode(t->recording->encoder, &source, &made);
    MUST(!error);
    append_block(t->recording, made.bytes, made.size);
    turn(t);
}

void track_lose(struct recording_track *t)
{
    turn(t);
}

void track_leave_in_ring(struct recording_track *t, uint64_t back)
{
    struct recording *r = t->recording;
    uint32_t count = TP_RING_SLOTS_MIN;
    char path[600];

    while (count < t->slot_count + back)
        count *= 2;
    uint64_t size = TP_RING_HEADER_BYTES + (uint64_t)count * TP_SLOT_BYTES;
    char *bytes = calloc(1, size);
    MUST(bytes);
    struct tp_ring_header *header = (struct tp_ring_header *)bytes;
    tp_ring_header_init(header, r->uuid, r->options.pid, r->next_ring, count);
    header->track = t->track;
    header->tid = t->tid;
    header->first = 0;
    atomic_store(&header->tail, t->first_slot - back);
    atomic_store(&header->head, t->first_slot + t->slot_count);
    atomic_store(&header->dropped, t->dropped);
    for (uint32_t i = 0; i < t->slot_count; i++)
        memcpy(bytes + TP_RING_HEADER_BYTES + ((t->first_slot + i) & (count - 1)) * TP_SLOT_BYTES,
               t->slots + (size_t)i * TP_SLOT_WORDS, TP_SLOT_BYTES);
    for (uint64_t i = 1; i <= back; i++) { /* what a block has too: ends of no class that is open */
        uint64_t *slot = (uint64_t *)(bytes + TP_RING_HEADER_BYTES +
                                      ((t->first_slot - i) & (count - 1)) * TP_SLOT_BYTES);
        slot[0] = (uint64_t)TP_EVENT_API_END << 56;
    }
    snprintf(path, sizeof(path), "%s/ring", r->dir);
    make_directory(path);
    snprintf(path, sizeof(path), "%s/ring/%u.tpr", r->dir, r->next_ring++);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    MUST(fd >= 0);
    write_all(fd, bytes, size);
    close(fd);
    free(bytes);
    turn(t);
}

/* ---- directories ---- */

void make_temporary(char path[256])
{
    const char *base = getenv("TMPDIR");

    snprintf(path, 256, "%.200s/tpreport-test-XXXXXX", base && *base ? base : "/tmp");
    MUST(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
