/* SPDX-License-Identifier: MIT
 *
 * Writes a recording that holds every kind of record and all that a reader must get along with: two
 * tracks whose blocks are mixed, ranges open at a block's start, a closed segment and one that was
 * not, a ring that overlaps the last block, an empty and an unclaimed ring, names that were never
 * finished. Same seed, same records.
 *
 *     make_recording DIR SEED SLOTS      SLOTS a block; DIR must not exist
 *     make_recording --smallest FILE     the segment that format.md explains
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "event/names.h"
#include "records.h"
#include "ring/ring.h"
#include "trace/file.h"
#include "trace/wire.h"

#define SLOTS_MAX 4096u
#define RING_SLOTS 256u

static const uint8_t uuid[16] = {0x74, 0x70, 0x61, 0x67, 0x65, 0x6e, 0x74, 0,
                                 1,    2,    3,    4,    5,    6,    7,    8};

struct track {
    uint32_t id;
    uint64_t next_slot, ticks;
    uint64_t before[TP_SLOT_WORDS]; /* the last record's first slot */
};

struct maker {
    struct random random;
    char dir[512];
    uint32_t slots_max;
    struct tp_block_encoder *encoder;
    struct track tracks[2];
    FILE *segment;
    uint64_t at;
    struct tp_index_entry entries[64];
    uint32_t entry_count;
    uint64_t last[SLOTS_MAX * TP_SLOT_WORDS]; /* slots of the last block */
    uint32_t last_count;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static FILE *create(const char *dir, const char *name)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "wbx");
    if (!file)
        die(path);
    return file;
}

static void put(FILE *file, const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, file) != size)
        die("write");
}

static void close_file(FILE *file)
{
    if (fclose(file))
        die("close");
}

static void write_meta(const struct maker *maker)
{
    FILE *file = create(maker->dir, "meta.jsonl");

    fprintf(file, "{\"t\":\"start\",\"format\":[%u,%u],\"agent\":\"make_recording\",\"uuid\":\"",
            TP_FORMAT_MAJOR, TP_FORMAT_MINOR);
    for (unsigned i = 0; i < 16; i++)
        fprintf(file, "%02x", uuid[i]);
    fprintf(file, "\",\"host\":\"host\",\"pid\":4711,\"ppid\":1,\"start_ns\":1700000000000000000,"
                  "\"exe\":\"/bin/true\","
                  "\"clock\":\"tsc\",\"ticks_per_second\":2500000000}\n");
    records_write_schema(file);
    fprintf(file, "{\"t\":\"clock\",\"ticks\":1000000,\"monotonic_ns\":400000,\"raw_ns\":400000,"
                  "\"realtime_ns\":1700000000000000000,\"width\":50}\n");
    fprintf(file,
            "{\"t\":\"track\",\"track\":0,\"tid\":4711,\"kind\":\"thread\",\"name\":\"main\"}\n");
    fprintf(file, "{\"t\":\"of a later version\"}\n{\"t\":\"torn");
    close_file(file);
}

static void put_name(FILE *file, uint32_t id, unsigned kind, const void *bytes, uint32_t length,
                     bool finished)
{
    static const uint8_t zeros[8];
    struct tp_name_record record = {.id = id, .kind = (uint8_t)kind, .length = length};

    if (finished)
        record.checksum = tp_name_checksum(&record, bytes);
    put(file, &record, sizeof(record));
    put(file, bytes, length);
    put(file, zeros, -length & 7);
}

static void write_names(const struct maker *maker)
{
    FILE *file = create(maker->dir, "names.tpn");
    static const uint8_t hole[64];
    uint8_t header[TP_FILE_HEADER_BYTES];

    tp_file_header_write(header, TP_NAMES_MAGIC, uuid, 0);
    put(file, header, sizeof(header));
    put_name(file, 16, TP_NAME_OPERATOR, "aten::addmm\0", 12, true);
    put_name(file, 17, TP_NAME_OPERATOR, "aten::add\0Tensor", 16, true);
    put_name(file, 18, TP_NAME_SHAPES, "[[[2,3],[3,4]],[\"float\",\"float\"]]", 32, true);
    put_name(file, 19, TP_NAME_TEXT, "never finished", 14, false);
    put_name(file, 20, TP_NAME_SCOPED, "domain\0step \xc3\xa4", 14, true);
    put(file, hole, 40);
    put_name(file, 21, TP_NAME_TEXT, "", 0, true);
    put_name(file, 22, TP_NAME_CODE, "train.py\0007\0main", 15, true);
    put_name(file, 16, TP_NAME_TEXT, "a second name", 13, true);
    put(file, hole, sizeof(hole));
    close_file(file);
}

static void begin_segment(struct maker *maker, uint32_t number)
{
    uint8_t header[TP_FILE_HEADER_BYTES];
    char name[32];

    snprintf(name, sizeof(name), "%06u.tpt", number);
    maker->segment = create(maker->dir, name);
    tp_file_header_write(header, TP_FILE_MAGIC, uuid, number);
    put(maker->segment, header, sizeof(header));
    maker->at = sizeof(header);
    maker->entry_count = 0;
}

static void end_segment(struct maker *maker, bool with_index)
{
    uint8_t buffer[8192];
    int64_t size = with_index
                       ? tp_index_write(buffer, sizeof(buffer), maker->entries, maker->entry_count,
                                        maker->at, tp_wire_load_u32(uuid))
                       : 0;

    if (size < 0)
        exit(1);
    put(maker->segment, buffer, (size_t)size);
    close_file(maker->segment);
}

/* Times that go on as they do in life, where the style leaves room for it. */
static void set_times(struct maker *maker, struct track *track, uint64_t *slots, uint32_t count)
{
    for (uint32_t at = 0; at < count;
         at += tp_kind_slots(tp_slot_kind(slots + at * TP_SLOT_WORDS))) {
        uint64_t *slot = slots + at * TP_SLOT_WORDS;
        track->ticks += random_below(&maker->random, 5000);
        slot[0] = (slot[0] & ~TP_TICKS_MASK) | (track->ticks & TP_TICKS_MASK);
    }
}

enum { OF_ALLOCATIONS = RECORDS_STYLE_END, OF_WILD_ALLOCATIONS, OF_BRIEF_ALLOCATIONS };

static uint32_t mix_block(struct maker *maker, unsigned style)
{
    struct random *random = &maker->random;

    if (style >= RECORDS_STYLE_END)
        return records_heap(random, maker->last, maker->slots_max,
                            style == OF_WILD_ALLOCATIONS ? 30 : 0);
    return records_mix(random, maker->last, maker->slots_max, records_kinds(TP_ROLE_NONE), style);
}

static void add_block(struct maker *maker, struct track *track, unsigned style, unsigned flags)
{
    static uint64_t open[64 * TP_SLOT_WORDS];
    struct tp_block_header header;
    struct tp_block_made made;
    uint32_t open_count = records_mix(&maker->random, open, 12, records_kinds(TP_ROLE_BEGIN),
                                      style % RECORDS_STYLE_END);

    maker->last_count = mix_block(maker, style);
    set_times(maker, track, open, open_count);
    set_times(maker, track, maker->last, maker->last_count);
    if (style >= OF_BRIEF_ALLOCATIONS)
        maker->last_count = records_shorten(&maker->random, maker->last, maker->last_count,
                                            style == OF_BRIEF_ALLOCATIONS ? 6 : 2);
    struct tp_block_source source = {.track = track->id,
                                     .uuid_low = tp_wire_load_u32(uuid),
                                     .first_slot = track->next_slot,
                                     .slots = maker->last,
                                     .slot_count = maker->last_count,
                                     .open = open,
                                     .open_slots = open_count,
                                     .near_ticks = track->ticks,
                                     .flags = flags};
    memcpy(source.before, track->before, sizeof(source.before));
    if (tp_block_encode(maker->encoder, &source, &made) ||
        tp_block_header_read(&header, made.bytes, made.size, maker->at, NULL))
        exit(1);
    maker->entries[maker->entry_count++] = (struct tp_index_entry){
        maker->at,    header.first_slot, header.first_ticks, header.last_ticks,
        header.track, header.slots,      header.lost,        0};
    put(maker->segment, made.bytes, made.size);
    maker->at += made.size;
    track->next_slot += maker->last_count;
    memcpy(track->before, made.last, sizeof(track->before));
}

static void write_segments(struct maker *maker)
{
    begin_segment(maker, 1);
    for (unsigned style = 0; style < RECORDS_STYLE_END; style++)
        add_block(maker, &maker->tracks[style % 2], style, 0);
    add_block(maker, &maker->tracks[0], OF_ALLOCATIONS, 0);
    add_block(maker, &maker->tracks[1], OF_WILD_ALLOCATIONS, 0);
    add_block(maker, &maker->tracks[1], OF_BRIEF_ALLOCATIONS, 0);
    add_block(maker, &maker->tracks[1], OF_BRIEF_ALLOCATIONS + 1, 0);
    end_segment(maker, true);
    begin_segment(maker, 2);
    add_block(maker, &maker->tracks[1], RECORDS_SMALL, TP_BLOCK_RECOVERED);
    maker->tracks[1].ticks += 12345; /* some slots in between were lost with a block */
    maker->tracks[1].next_slot += 5;
    add_block(maker, &maker->tracks[0], RECORDS_RISING, 0);
    put(maker->segment, "TPB1 and then the process died", 30);
    end_segment(maker, false);
}

static void write_ring(const struct maker *maker, uint32_t number, const uint64_t *slots,
                       struct tp_ring_header *header)
{
    char name[32];

    snprintf(name, sizeof(name), "ring/%u.tpr", number);
    FILE *file = create(maker->dir, name);
    put(file, header, sizeof(*header));
    static const uint8_t zeros[TP_RING_HEADER_BYTES - sizeof(*header)];
    put(file, zeros, sizeof(zeros));
    put(file, slots, RING_SLOTS * TP_SLOT_BYTES);
    close_file(file);
}

/* Allocations, most of them brief, then records of all kinds. */
static uint32_t mix_ring(struct maker *maker, struct track *track, uint64_t *slots)
{
    struct random *random = &maker->random;
    uint32_t count = records_heap(random, slots, 60, 0);

    count += records_mix(random, slots + (size_t)count * TP_SLOT_WORDS, 60,
                         records_kinds(TP_ROLE_NONE) | RECORDS_BRIEF, RECORDS_WILD);
    set_times(maker, track, slots, count);
    return records_shorten(random, slots, count, 1 + (unsigned)random_below(random, 8));
}

/* No block tells what was before its first record. */
static void write_ring_behind_gap(struct maker *maker, struct tp_ring_header header)
{
    static uint64_t fresh[RING_SLOTS * TP_SLOT_WORDS], slots[RING_SLOTS * TP_SLOT_WORDS];
    uint32_t count = mix_ring(maker, &maker->tracks[1], fresh);

    tp_ring_header_init(&header, uuid, 4711, 3, RING_SLOTS);
    header.first += 7;
    for (uint32_t i = 0; i < count; i++)
        memcpy(slots + (header.first + i) % RING_SLOTS * TP_SLOT_WORDS, fresh + i * TP_SLOT_WORDS,
               TP_SLOT_BYTES);
    atomic_store(&header.head, header.first + count);
    atomic_store(&header.tail, header.first);
    write_ring(maker, 3, slots, &header);
}

/* What the drain had written but not yet taken off, and what it had not written. */
static void write_rings(struct maker *maker)
{
    static uint64_t fresh[RING_SLOTS * TP_SLOT_WORDS], slots[RING_SLOTS * TP_SLOT_WORDS];
    struct track *track = &maker->tracks[0];
    struct tp_ring_header header = {0};

    tp_ring_header_init(&header, uuid, 4711, 0, RING_SLOTS);
    write_ring(maker, 2, slots, &header);
    uint32_t count = mix_ring(maker, track, fresh);
    uint32_t overlap = maker->last_count < 120 ? maker->last_count : 0;
    header.track = track->id;
    header.tid = 4711;
    atomic_store(&header.tail, track->next_slot - overlap);
    for (uint32_t i = 0; i < overlap + count; i++) {
        uint64_t n = track->next_slot - overlap + i;
        const uint64_t *from =
            i < overlap ? maker->last + i * TP_SLOT_WORDS : fresh + (i - overlap) * TP_SLOT_WORDS;
        memcpy(slots + n % RING_SLOTS * TP_SLOT_WORDS, from, TP_SLOT_BYTES);
    }
    atomic_store(&header.head, track->next_slot + count);
    atomic_store(&header.dropped, 3);
    write_ring(maker, 0, slots, &header);
    tp_ring_header_init(&header, uuid, 4711, 1, RING_SLOTS);
    header.track = 1;
    header.tid = 4712;
    header.first = maker->tracks[1].next_slot;
    atomic_store(&header.head, header.first);
    atomic_store(&header.tail, header.first);
    write_ring(maker, 1, slots, &header);
    write_ring_behind_gap(maker, header);
}

static void make_dir(const char *path)
{
    if (mkdir(path, 0777))
        die(path);
}

static void make_dirs(struct maker *maker, const char *dir)
{
    make_dir(dir);
    FILE *file = create(dir, "run.json");
    fprintf(file, "{\"format\":1,\"run\":\"made\",\"start_ns\":1700000000000000000,\"host\":"
                  "\"host\",\"pid\":4711}\n");
    close_file(file);
    snprintf(maker->dir, sizeof(maker->dir), "%s/host", dir);
    make_dir(maker->dir);
    snprintf(maker->dir, sizeof(maker->dir), "%s/host/4711-17979cfe362a0000", dir);
    make_dir(maker->dir);
    char ring[600];
    snprintf(ring, sizeof(ring), "%s/ring", maker->dir);
    make_dir(ring);
}

static struct tp_block_encoder *make_encoder(uint32_t slots)
{
    size_t size = tp_block_encoder_size(slots);
    struct tp_block_encoder *encoder =
        tp_block_encoder_init(aligned_alloc(16, (size + 15) & ~(size_t)15), size, slots);

    if (!encoder)
        die("encoder");
    return encoder;
}

/* One track, one range, no file beside it. */
static int write_smallest(const char *path)
{
    static const uint64_t slots[2 * TP_SLOT_WORDS] = {
        UINT64_C(4) << 56 | 1000000, 16, 0,  0, UINT64_C(6) << 56 | 1000258,
        UINT64_C(3) << 32,           96, 32,
    };
    struct maker maker = {.encoder = make_encoder(64)};
    struct tp_block_source source = {
        .uuid_low = tp_wire_load_u32(uuid), .slots = slots, .slot_count = 2, .near_ticks = 1000000};
    struct tp_block_made made;
    uint8_t header[TP_FILE_HEADER_BYTES];

    maker.segment = fopen(path, "wb");
    if (!maker.segment)
        die(path);
    tp_file_header_write(header, TP_FILE_MAGIC, uuid, 1);
    put(maker.segment, header, sizeof(header));
    if (tp_block_encode(maker.encoder, &source, &made))
        return 1;
    put(maker.segment, made.bytes, made.size);
    close_file(maker.segment);
    return 0;
}

int main(int argc, char **argv)
{
    static struct maker maker;

    if (argc == 3 && !strcmp(argv[1], "--smallest"))
        return write_smallest(argv[2]);
    if (argc != 4) {
        fprintf(stderr, "usage: make_recording DIR SEED SLOTS\n");
        return 2;
    }
    maker.random.state = strtoull(argv[2], NULL, 0);
    maker.slots_max = (uint32_t)strtoul(argv[3], NULL, 0);
    if (maker.slots_max < 4 || maker.slots_max > SLOTS_MAX)
        return 2;
    maker.encoder = make_encoder(SLOTS_MAX);
    maker.tracks[0] = (struct track){.id = 0, .ticks = 1000000};
    maker.tracks[1] = (struct track){.id = 1, .ticks = (UINT64_C(1) << 56) - 20000};
    make_dirs(&maker, argv[1]);
    write_meta(&maker);
    write_names(&maker);
    write_segments(&maker);
    write_rings(&maker);
    return 0;
}
