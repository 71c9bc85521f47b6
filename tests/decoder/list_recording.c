/* SPDX-License-Identifier: MIT
 *
 * Lists all that the C decoder finds in one process's directory, or in one segment, a line a thing.
 * tptrace.py prints the same lines; the tests compare them.
 *
 *     list_recording PROCESS_DIR | FILE
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "event/brief.h"
#include "ring/ring.h"
#include "trace/file.h"

struct range {
    uint32_t track;
    uint64_t first, behind;
    uint64_t last[TP_SLOT_WORDS]; /* of its last record; zeros for none */
};

struct lister {
    struct tp_block_decoder *decoder;
    struct range *covered;
    size_t covered_count;
    uint64_t last_ticks[256]; /* of tracks below 256 */
    int failed;
};

static uint64_t *read_file(const char *path, uint64_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    struct stat status;

    if (!file || fstat(fileno(file), &status)) {
        perror(path);
        exit(1);
    }
    uint64_t *bytes = malloc((size_t)status.st_size + 8);
    *ret_size = fread(bytes, 1, (size_t)status.st_size, file);
    fclose(file);
    return bytes;
}

static void complain(struct lister *lister, struct tp_diag *diag, const char *path)
{
    char text[800];

    tp_diag_at(diag, path);
    tp_diag_print(diag, text, sizeof(text));
    fprintf(stderr, "%s\n", text);
    lister->failed = 1;
}

static void print_record(const char *what, const uint64_t *record, uint64_t ticks)
{
    unsigned kind = tp_slot_kind(record);

    printf("%s %s %" PRIu64, what, tp_kinds[kind].name, ticks);
    for (unsigned i = 0; i < tp_field_count; i++) {
        const struct tp_field_info *field = &tp_fields[i];
        if ((field->kind == kind || field->kind == TP_EVENT_ALL) && field->column > 2)
            printf(" %s=%" PRIu64, field->name,
                   record[field->word] >> field->shift & UINT64_MAX >> (64 - field->bits));
    }
    printf("\n");
}

/* Returns the last one. */
static const uint64_t *print_records(const char *what, const uint64_t *slots, uint32_t count,
                                     uint64_t near_ticks)
{
    static const uint64_t none[TP_SLOT_WORDS];
    const uint64_t *last = none;

    for (uint32_t at = 0; at < count;
         at += tp_kind_slots(tp_slot_kind(slots + (size_t)at * TP_SLOT_WORDS))) {
        const uint64_t *record = slots + (size_t)at * TP_SLOT_WORDS;
        near_ticks = tp_ticks_unwrap(tp_slot_ticks(record), near_ticks);
        print_record(what, record, near_ticks);
        last = record;
    }
    return last;
}

static void print_block(struct lister *lister, const uint8_t *bytes, uint64_t size, uint64_t at,
                        const char *path)
{
    struct tp_block block;
    struct tp_diag diag = {0};

    if (tp_block_decode(lister->decoder, bytes + at, size - at, at, &block, &diag)) {
        complain(lister, &diag, path);
        return;
    }
    const struct tp_block_header *header = &block.header;
    printf("block %" PRIu64 " track %u slots %" PRIu64 "+%u ticks %" PRIu64 "..%" PRIu64
           " lost %u flags %u records %u "
           "unknown %u\n",
           at, header->track, header->first_slot, header->slots, header->first_ticks,
           header->last_ticks, header->lost, header->flags & TP_BLOCK_RECOVERED, block.record_count,
           block.unknown_records);
    print_records("open", block.open, block.open_slots, header->first_ticks);
    const uint64_t *last =
        print_records("record", block.slots, block.slot_count, header->first_ticks);
    lister->covered =
        realloc(lister->covered, (lister->covered_count + 1) * sizeof(*lister->covered));
    struct range *range = &lister->covered[lister->covered_count++];
    *range = (struct range){.track = header->track,
                            .first = header->first_slot,
                            .behind = header->first_slot + header->slots};
    memcpy(range->last, last, sizeof(range->last));
    lister->last_ticks[header->track % 256] = header->last_ticks;
}

static void print_segment(struct lister *lister, const char *path, const char *name)
{
    uint64_t size, at;
    uint8_t *bytes = (uint8_t *)read_file(path, &size);
    struct tp_file_header header;
    struct tp_file_walk walk;
    struct tp_block_header block;
    struct tp_diag diag = {0};
    int got;

    if (tp_file_header_read(&header, bytes, size, TP_FILE_MAGIC, &diag)) {
        complain(lister, &diag, name);
        free(bytes);
        return;
    }
    printf("segment %s number %u version %u.%u\n", name, header.number, header.major, header.minor);
    tp_file_walk_init(&walk, bytes, size, &header);
    while ((got = tp_file_walk_next(&walk, &block, &at, &diag))) {
        if (got < 0)
            complain(lister, &diag, name);
        else if (block.type == TP_BLOCK_EVENTS)
            print_block(lister, bytes, size, at, name);
        else
            printf("block %" PRIu64 " type %u\n", at, block.type);
    }
    printf("damaged %u skipped %" PRIu64 " torn %d\n", walk.damaged, walk.skipped_bytes, walk.torn);
    free(bytes);
}

static void print_names(struct lister *lister, const char *path, const char *name_of_file)
{
    uint64_t size;
    uint64_t *bytes = read_file(path, &size);
    struct tp_names *names;
    struct tp_name name;
    struct tp_diag diag = {0};

    if (tp_names_open(&names, bytes, size, NULL, &diag)) {
        complain(lister, &diag, name_of_file);
        free(bytes);
        return;
    }
    for (uint32_t id = 0; id <= tp_names_highest(names); id++)
        if (tp_names_get(names, id, &name)) {
            printf("name %u kind %u flags %u ", id, name.kind, name.flags);
            for (uint32_t i = 0; i < name.size; i++)
                printf("%02x", (unsigned char)name.bytes[i]);
            printf(".\n");
        }
    printf("names %u damaged %u\n", tp_names_count(names),
           tp_names_damaged(names) + tp_names_unfinished(names));
    tp_names_close(names);
    free(bytes);
}

/* The slot behind the block that has slot @number, or @number. @before: the block's last record,
 * also where it ends at that slot. */
static uint64_t pass_covered(const struct lister *lister, uint32_t track, uint64_t number,
                             uint64_t before[TP_SLOT_WORDS])
{
    for (size_t i = 0; i < lister->covered_count; i++) {
        const struct range *range = &lister->covered[i];
        if (range->track != track || range->first > number || number > range->behind)
            continue;
        memcpy(before, range->last, sizeof(range->last));
        if (number < range->behind) {
            number = range->behind;
            i = (size_t)-1;
        }
    }
    return number;
}

static void print_ring(struct lister *lister, const char *path, const char *name)
{
    static uint64_t slots[TP_RING_SLOTS_MAX * TP_SLOT_WORDS];
    uint64_t size, ticks, before[TP_SLOT_WORDS] = {0}, whole[2 * TP_SLOT_WORDS];
    uint64_t *bytes = read_file(path, &size);
    struct tp_ring_view ring;
    struct tp_diag diag = {0};

    if (tp_ring_view_open(&ring, bytes, size, NULL, &diag)) {
        complain(lister, &diag, name);
        free(bytes);
        return;
    }
    printf("ring %s track %u tid %u slots %" PRIu64 "..%" PRIu64 " dropped %" PRIu64 "\n", name,
           ring.track, ring.tid, ring.tail, ring.head, ring.dropped);
    ticks = lister->last_ticks[ring.track % 256];
    for (uint64_t number = ring.tail; number < ring.head; number++)
        memcpy(slots + (number - ring.tail) * TP_SLOT_WORDS, tp_ring_view_slot(&ring, number),
               TP_SLOT_BYTES);
    for (uint64_t number = ring.tail; number < ring.head;) {
        number = pass_covered(lister, ring.track, number, before);
        if (number >= ring.head)
            break;
        const uint64_t *record = slots + (number - ring.tail) * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record), count = tp_kind_slots(kind);
        if (!count || count > ring.head - number) {
            printf("damaged slot %" PRIu64 "\n", number);
            break;
        }
        if (tp_is_brief(kind)) {
            if (!before[0])
                tp_brief_before(record, ring.head - number, before);
            tp_brief_expand(record, before, whole);
            record = whole;
        }
        ticks = tp_ticks_unwrap(tp_slot_ticks(record), ticks);
        print_record("record", record, ticks);
        memcpy(before, record, sizeof(before));
        number += count;
    }
    free(bytes);
}

static int ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);

    return length > end_length && !strcmp(name + length - end_length, end);
}

static void each_file(struct lister *lister, const char *dir, const char *end,
                      void (*print)(struct lister *, const char *, const char *))
{
    struct dirent **found;
    int count = scandir(dir, &found, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        char path[1024];
        snprintf(path, sizeof(path), "%s/%s", dir, found[i]->d_name);
        if (ends_with(found[i]->d_name, end))
            print(lister, path, found[i]->d_name);
        free(found[i]);
    }
    if (count >= 0)
        free(found);
}

int main(int argc, char **argv)
{
    struct lister lister = {.decoder = tp_block_decoder_create()};
    char path[1024];

    if (argc != 2 || !lister.decoder) {
        fprintf(stderr, "usage: list_recording PROCESS_DIR | FILE\n");
        return 2;
    }
    const char *slash = strrchr(argv[1], '/'), *name = slash ? slash + 1 : argv[1];
    if (ends_with(name, ".tpt")) {
        print_segment(&lister, argv[1], name);
    } else if (ends_with(name, ".tpn")) {
        print_names(&lister, argv[1], name);
    } else if (ends_with(name, ".tpr")) {
        print_ring(&lister, argv[1], name);
    } else {
        snprintf(path, sizeof(path), "%s/names.tpn", argv[1]);
        print_names(&lister, path, "names.tpn");
        each_file(&lister, argv[1], ".tpt", print_segment);
        snprintf(path, sizeof(path), "%s/ring", argv[1]);
        each_file(&lister, path, ".tpr", print_ring);
    }
    tp_block_decoder_destroy(lister.decoder);
    free(lister.covered);
    return lister.failed;
}
