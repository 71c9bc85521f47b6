/* SPDX-License-Identifier: MIT
 * Every byte of a recording looked at: what reading finds out anyway, and what it has no need for:
 * indexes, padding, and what blocks say of themselves. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace.h"
#include "input/tptrace_file.h"
#include "trace/file.h"

#define SEGMENT_MAX (UINT64_C(256) << 20)
#define LINES_MAX 10000

struct check {
    struct tptrace_process *process;
    char path[TPTRACE_PATH_MAX]; /* of the segment */
    struct tptrace_index_list {
        struct tp_index_entry *items;
        uint32_t count, capacity;
    } found;
};

static void trouble(struct check *c, struct tp_diag *diag)
{
    tptrace_trouble(c->process, diag, c->path);
}

static int keep_entry(struct check *c, const struct tp_block_header *header, uint64_t offset)
{
    if (c->found.count == c->found.capacity) {
        uint32_t capacity = c->found.capacity ? c->found.capacity * 2 : 256;
        struct tp_index_entry *items = realloc(c->found.items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        c->found.items = items;
        c->found.capacity = capacity;
    }
    c->found.items[c->found.count++] = (struct tp_index_entry){.offset = offset,
                                                               .first_slot = header->first_slot,
                                                               .first_ticks = header->first_ticks,
                                                               .last_ticks = header->last_ticks,
                                                               .track = header->track,
                                                               .slots = header->slots,
                                                               .lost = header->lost};
    return 0;
}

static void check_padding(struct check *c, const uint8_t *bytes, uint64_t size,
                          const struct tp_block_header *header, uint64_t offset)
{
    uint64_t at = offset + header->header_size + header->stored_bytes,
             end = offset + tp_block_stride(header);
    struct tp_diag diag;

    for (; at < end && at < size; at++) {
        if (!bytes[at])
            continue;
        tp_diag_fail(&diag, -TP_ECORRUPT, at, "padding is %02x, expected 00", bytes[at]);
        trouble(c, &diag);
        return;
    }
}

/* The damage itself was told when the segment was read. */
static int walk_blocks(struct check *c, const uint8_t *bytes, uint64_t size,
                       const struct tp_file_header *header)
{
    struct tp_file_walk walk;
    struct tp_block_header block;
    uint64_t offset;
    int found, error = 0;

    tp_file_walk_init(&walk, bytes, size, header);
    while (!error && (found = tp_file_walk_next(&walk, &block, &offset, NULL))) {
        if (found < 0)
            continue;
        check_padding(c, bytes, size, &block, offset);
        if (block.type == TP_BLOCK_EVENTS)
            error = keep_entry(c, &block, offset);
    }
    return error;
}

static bool entries_equal(const struct tp_index_entry *a, const struct tp_index_entry *b)
{
    return a->offset == b->offset && a->first_slot == b->first_slot &&
           a->first_ticks == b->first_ticks && a->last_ticks == b->last_ticks &&
           a->track == b->track && a->slots == b->slots && a->lost == b->lost;
}

/* A segment that was closed has an index that says what the headers say. */
static int check_index(struct check *c, const uint8_t *bytes, uint64_t size,
                       const struct tp_file_header *header)
{
    struct tp_diag diag;
    struct tp_index_entry *said = calloc(c->found.count + 1, sizeof(*said));

    if (!said)
        return -ENOMEM;
    int64_t count = tp_index_read(said, c->found.count, bytes, size, header, &diag);
    if (count < 0 && count != -TP_ENOTFOUND) {
        trouble(c, &diag);
    } else if (count >= 0) {
        uint32_t same = 0;
        while (same < c->found.count && same < count &&
               entries_equal(&said[same], &c->found.items[same]))
            same++;
        if (same < c->found.count || same < count) {
            tp_diag_fail(&diag, -TP_ECORRUPT, size,
                         "index of %lld blocks differs from the %u blocks there are, first at %u",
                         (long long)count, c->found.count, same);
            trouble(c, &diag);
        }
    }
    free(said);
    return 0;
}

static int check_segment(struct check *c, const struct tptrace_segment *segment)
{
    struct tp_file_header header;
    struct tp_diag diag;
    uint64_t size;
    void *bytes;

    tptrace_segment_path(c->path, c->process, segment);
    if (tptrace_read_file(c->path, SEGMENT_MAX, &bytes, &size, &diag))
        return 0; /* told already, or evicted */
    c->found.count = 0;
    int error = 0;
    if (!tp_file_header_read(&header, bytes, size, TP_FILE_MAGIC, NULL)) {
        if (header.number != segment->number) {
            tp_diag_fail(&diag, -TP_ECORRUPT, 32, "segment number %u, expected %u", header.number,
                         segment->number);
            trouble(c, &diag);
        }
        error = walk_blocks(c, bytes, size, &header);
        if (!error)
            error = check_index(c, bytes, size, &header);
    }
    free(bytes);
    return error;
}

/* ---- what a process says of itself ---- */

static void say(struct tptrace_process *p, const char *name, int code, uint64_t offset,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

static void say(struct tptrace_process *p, const char *name, int code, uint64_t offset,
                const char *format, ...)
{
    char path[TPTRACE_PATH_MAX], text[512];
    struct tp_diag diag;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    tp_diag_fail(&diag, code, offset, "%s", text);
    tptrace_trouble(p, &diag, tptrace_path(path, p->dir, name) ? p->dir : path);
}

/* A file ends anywhere when it is cut, and when its writer was killed. */
static void check_meta(struct tptrace_process *p)
{
    const struct tptrace_meta *meta = &p->meta;
    bool has_records = p->segment_count || p->totals.rings;

    if (!meta->has_start && has_records)
        say(p, "meta.jsonl", -TP_ENOTFOUND, 0, "no start line");
    if (meta->ended && meta->torn)
        say(p, "meta.jsonl", -TP_ECORRUPT, meta->torn_at, "%llu bytes behind the end line",
            (unsigned long long)(meta->bytes - meta->torn_at));
    else if (meta->behind_end)
        say(p, "meta.jsonl", -TP_ECORRUPT, meta->torn_at, "%llu lines behind the end line",
            (unsigned long long)meta->behind_end);
    if (tptrace_is_gone(p) && !p->ring_folder && !meta->recovered)
        say(p, "meta.jsonl", -TP_ETRUNCATED, meta->bytes,
            "no end line, as of a process that died, but no folder of rings either; file cut, or "
            "rings gone");
}

/* ---- names ---- */

#define NAMES_PAGE 4096u /* a writer makes whole ones */

static void check_names(const struct tptrace_member *member, struct tptrace_process *p)
{
    const struct tptrace_meta *meta = &p->meta;
    uint64_t bytes = member->names_bytes;

    if (member->names_damaged)
        say(p, "names.tpn", -TP_ECORRUPT, member->names_damage.offset, "%s; %u such places",
            member->names_damage.text, member->names_damaged);
    if (member->names_unknown)
        say(p, "names.tpn", -TP_ENOTFOUND, bytes, "%u ids are used that have no name; %u have one",
            member->names_unknown, member->name_count);
    if (!bytes)
        return; /* told, if there should be one */
    if (meta->says_names && bytes != meta->said_names_bytes)
        say(p, "names.tpn", -TP_ETRUNCATED, bytes, "the file ends here, expected %llu bytes",
            (unsigned long long)meta->said_names_bytes);
    else if (meta->says_names && member->name_count < meta->said_names)
        say(p, "names.tpn", -TP_ENOTFOUND, bytes, "%u names, expected %llu", member->name_count,
            (unsigned long long)meta->said_names);
    else if (!meta->says_names && bytes % NAMES_PAGE)
        say(p, "names.tpn", -TP_ETRUNCATED, bytes, "the file ends here, in the midst of a page");
}

/* ---- the run ---- */

/* Bytes of run.json, or a trouble told. Processes alone, copied out of their recording, have none.
 */
static uint64_t check_run_json(const struct tptrace_place *place, struct tp_buffer *out)
{
    char path[TPTRACE_PATH_MAX], text[1024];
    struct tp_diag diag = place->run_json;

    if (!diag.code || (diag.code == -ENOENT && !place->is_whole) ||
        tptrace_path(path, place->run_dir, "run.json"))
        return 0;
    tp_diag_at(&diag, path);
    tp_diag_print(&diag, text, sizeof(text));
    tp_buffer_format(out, "%s\n", text);
    return 1;
}

static int check_member(struct tptrace_member *member)
{
    struct check c = {.process = &member->process};
    int error = 0;

    for (size_t i = 0; i < c.process->segment_count && !error; i++)
        error = check_segment(&c, &c.process->segments[i]);
    check_meta(&member->process);
    check_names(member, &member->process);
    free(c.found.items);
    return error;
}

/* And forget them: the lines about the whole need not repeat them. */
static void put_troubles(struct tp_buffer *out, struct tptrace_member *member, uint64_t *count)
{
    struct tptrace_troubles *troubles = &member->process.troubles;
    char text[1024];

    if (member->failed) {
        tp_diag_print(&member->why, text, sizeof(text));
        tp_buffer_format(out, "%s\n", text);
        *count += 1;
        return;
    }
    for (size_t i = 0; i < troubles->kept; i++) {
        tp_diag_print(&troubles->items[i], text, sizeof(text));
        tp_buffer_format(out, "%s\n", text);
    }
    if (troubles->count > troubles->kept)
        tp_buffer_format(out, "%s: %llu more\n", member->dir,
                         (unsigned long long)(troubles->count - troubles->kept));
    *count += troubles->count;
    troubles->count = troubles->kept = 0;
}

static void put_summary(struct tp_buffer *out, const struct tptrace_run *run,
                        const struct tp_strings *strings, uint64_t troubles)
{
    uint64_t bytes = 0, blocks = 0, names = 0, records = 0;
    struct tp_buffer lines = {0};

    for (size_t i = 0; i < run->count; i++) {
        const struct tptrace_member *member = &run->members[i];
        if (!member->was_read)
            continue;
        bytes += member->process.totals.disk_bytes;
        blocks += member->process.totals.blocks;
        names += member->name_count;
        for (unsigned k = 0; k < TP_EVENT_KIND_END; k++)
            records += member->process.totals.stream.kinds[k];
    }
    tptrace_head_lines(run, strings, "", SIZE_MAX, &lines);
    tp_buffer_bytes(out, lines.bytes, lines.size);
    tp_buffer_fini(&lines);
    tp_buffer_format(out, "%s: ", run->place.run_dir);
    tp_buffer_count(out, run->count, "process{|es}, ");
    tp_buffer_count(out, bytes, "byte{|s}, ");
    tp_buffer_count(out, blocks, "block{|s}, ");
    tp_buffer_count(out, records, "record{|s}, ");
    tp_buffer_count(out, names, "name{|s}: ");
    if (troubles)
        tp_buffer_count(out, troubles, "problem{|s}\n");
    else
        tp_buffer_string(out,
                         tptrace_run_was_cut(run) ? "intact, but something was lost\n" : "whole\n");
}

/* What goes on in what is left is held against the blocks there. */
static int take_evicted(void *context, const struct tptrace_source *source, void **notes)
{
    (void)context;
    (void)source;
    (void)notes;
    return 0;
}

int tptrace_check(const char *path, const struct tp_selection *selection, struct tp_buffer *out,
                  bool *ret_cut, struct tp_diag *diag)
{
    static const struct tptrace_consumer nobody[64] = {{.evicted = take_evicted}};
    struct tptrace_run_options how = {
        .selection = selection, .verify = true, .trouble_limit = LINES_MAX};
    struct tptrace_run run;
    struct tp_strings strings;
    uint64_t troubles = 0;

    if (tp_strings_init(&strings))
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    int error = tptrace_run_open(&run, path, selection, diag);
    if (!error)
        error = tptrace_run_read(&run, &how, &strings, nobody, diag);
    for (size_t i = 0; i < run.count && !error; i++) {
        if (run.members[i].failed)
            continue;
        error = check_member(&run.members[i]);
        if (error)
            tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "%s", tp_error_text(error));
    }
    if (!error)
        troubles += check_run_json(&run.place, out);
    for (size_t i = 0; i < run.count && !error; i++)
        put_troubles(out, &run.members[i], &troubles);
    if (!error)
        put_summary(out, &run, &strings, troubles);
    *ret_cut = !error && (troubles || tptrace_run_was_cut(&run));
    tptrace_run_close(&run);
    tp_strings_fini(&strings);
    return error;
}
