/* SPDX-License-Identifier: MIT
 * evict_recording N PROCESS_DIR: do to a recording that was made without a limit what the agent
 * does at its limit: count the first N blocks of its one segment file after the other and write the
 * running summary. Segments are first cut into pieces of one block each. With the summary's file
 * the rest is what an agent would have left.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fold.h"
#include "trace/block.h"
#include "trace/file.h"

#define BLOCK_SLOTS (64u << 10)

static void fail(const char *what)
{
    fprintf(stderr, "evict_recording: %s\n", what);
    exit(1);
}

static uint8_t *read_all(const char *dir, const char *name, size_t *ret_size)
{
    char path[4096];
    struct stat info;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &info))
        return NULL;
    uint8_t *bytes = malloc((size_t)info.st_size + 1);
    if (!bytes || read(fd, bytes, (size_t)info.st_size) != info.st_size)
        fail(path);
    close(fd);
    *ret_size = (size_t)info.st_size;
    return bytes;
}

static void write_all(const char *dir, const char *name, const void *head, size_t head_size,
                      const void *bytes, size_t size)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(head, 1, head_size, file) != head_size ||
        fwrite(bytes, 1, size, file) != size || fclose(file))
        fail(path);
}

static void say_evicted(const char *dir, unsigned segments)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/meta.jsonl", dir);
    size_t size;
    char *text = (char *)read_all(dir, "meta.jsonl", &size);
    FILE *file = fopen(path, "wb");
    if (!text || !file)
        fail(path);
    for (unsigned i = 1; i <= segments; i++)
        fprintf(file,
                "{\"t\":\"evict\",\"segment\":%u,\"first_ticks\":0,\"last_ticks\":0,\"blocks\":1,"
                "\"bytes\":1,\"reason\":\"TPAGENT_MAX_SIZE\"}\n",
                i);
    if (fwrite(text, 1, size, file) != size || fclose(file))
        fail(path);
    free(text);
}

struct eviction {
    const char *dir;
    uint8_t uuid[16];
    unsigned wanted, blocks; /* to be counted; seen */
    struct tp_fold *fold;
    struct tp_block_decoder *decoder;
};

static void take_block(struct eviction *e, const uint8_t *bytes, size_t size)
{
    uint8_t header[TP_FILE_HEADER_BYTES];
    struct tp_block block;
    struct tp_diag diag;
    char name[32];

    if (e->blocks++ < e->wanted) {
        if (tp_block_decode(e->decoder, bytes, size, 0, &block, &diag))
            fail(diag.text);
        tp_fold_block(e->fold, &block);
        return;
    }
    tp_file_header_write(header, TP_FILE_MAGIC, e->uuid, e->blocks);
    snprintf(name, sizeof(name), "%06u.tpt", e->blocks);
    write_all(e->dir, name, header, sizeof(header), bytes, size);
}

/* Return: false when there is no such segment. */
static bool take_segment(struct eviction *e, unsigned number)
{
    struct tp_file_header header;
    struct tp_block_header block;
    struct tp_file_walk walk;
    char name[32], path[4096];
    uint64_t offset;
    size_t size;

    snprintf(name, sizeof(name), "%06u.tpt", number);
    uint8_t *bytes = read_all(e->dir, name, &size);
    if (!bytes)
        return false;
    snprintf(path, sizeof(path), "%s/%s", e->dir, name);
    unlink(path);
    if (tp_file_header_read(&header, bytes, size, TP_FILE_MAGIC, NULL))
        fail(name);
    memcpy(e->uuid, header.uuid, 16);
    tp_file_walk_init(&walk, bytes, size, &header);
    while (tp_file_walk_next(&walk, &block, &offset, NULL) > 0)
        if (block.type == TP_BLOCK_EVENTS)
            take_block(e, bytes + offset, tp_block_stride(&block));
    free(bytes);
    return true;
}

static void write_summary(struct eviction *e)
{
    uint8_t *file = malloc(TP_SUMMARY_HEAD_BYTES + TP_BLOCK_PAYLOAD_MAX + 8);
    uint8_t *payload = file + TP_SUMMARY_HEAD_BYTES;
    struct tp_wire_out out = {payload, payload + TP_BLOCK_PAYLOAD_MAX, false};
    struct tp_summary_totals *totals = tp_fold_totals(e->fold);

    totals->first_segment = (e->blocks < e->wanted ? e->blocks : e->wanted) + 1;
    totals->segments = totals->first_segment - 1;
    tp_fold_put(e->fold, &out);
    if (out.full)
        fail("summary too large");
    size_t size = tp_summary_seal(file, (size_t)(out.at - payload), e->uuid, totals);
    write_all(e->dir, TP_SUMMARY_FILE, "", 0, file, size);
    say_evicted(e->dir, totals->first_segment - 1);
    free(file);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct eviction e = {.dir = argv[2], .wanted = (unsigned)atoi(argv[1])};
    size_t names_size = 0;
    char *names = (char *)read_all(e.dir, "names.tpn", &names_size);
    _Atomic uint64_t used = names_size;

    size_t decoder_size = tp_block_decoder_size(BLOCK_SLOTS);
    void *fold = calloc(1, tp_fold_size());
    void *decoder = malloc(decoder_size);
    if (!names || !fold || !decoder)
        fail("no names or no memory");
    e.fold = tp_fold_open(fold, names, &used);
    e.decoder = tp_block_decoder_init(decoder, decoder_size, BLOCK_SLOTS);
    if (!e.decoder)
        fail("no decoder");
    /* whole first: the pieces bear the numbers of segments */
    unsigned count = 0;
    char from[4096], to[4096];
    for (;; count++) {
        snprintf(from, sizeof(from), "%s/%06u.tpt", e.dir, count + 1);
        snprintf(to, sizeof(to), "%s/%06u.tpt", e.dir, count + 500001);
        if (rename(from, to))
            break;
    }
    for (unsigned i = 0; i < count; i++)
        if (!take_segment(&e, i + 500001))
            fail("a segment went away");
    if (e.wanted)
        write_summary(&e);
    printf("%u\n", e.blocks);
    free(names);
    free(fold);
    free(decoder);
    return 0;
}
