/* SPDX-License-Identifier: MIT
 * Ascend's CSV files as an input. A row becomes a piece of work (ascend_rows.c), which is handed on
 * as it is, summed into averages, or made an event of a list (ascend_events.c). Files are streamed;
 * one that is to be selected from by time since the first start is read twice. */
#include "input/ascend_csv.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/ascend_events.h"
#include "input/ascend_rows.h"

enum {
    READ_SIZE = 64 << 10,
    SEARCH_DEPTH = 4,       /* run/worker_ascend_pt/ASCEND_PROFILER_OUTPUT/file */
    SEARCH_ENTRIES = 20000, /* looked at; a folder of an installation is not searched for long */
};

/* ---- one file ---- */

static int feed_file(struct tp_input *input, struct tp_csv *csv, struct tp_diag *diag)
{
    char *buffer = malloc(READ_SIZE);
    uint64_t offset = 0;
    ptrdiff_t got;
    int result = buffer ? 0 : tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory to read");

    while (!result) {
        got = tp_input_read(input, &offset, buffer, READ_SIZE);
        if (got < 0)
            result =
                tp_diag_fail(diag, (int)got, offset, "can't be read: %s", tp_error_text((int)got));
        if (got <= 0)
            break;
        result = tp_csv_feed(csv, buffer, (size_t)got);
    }
    free(buffer);
    return result ? result : tp_csv_end(csv);
}

/* @file: @input itself, or one found below it. */
static int read_file(struct tp_input *input, struct tp_input *file, struct tp_ascend_rows *rows)
{
    int result = feed_file(file, &rows->csv, rows->diag);

    if (result < 0 && file != input && !rows->diag->file[0])
        tp_diag_at(rows->diag, file->path);
    if (!result && rows->lost_count)
        tp_input_lost(input, rows->lost_count, "%s%s%s", file != input ? file->path : "",
                      file != input ? ": " : "", rows->lost_text);
    return result;
}

/* ---- a directory ---- */

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_ours(const FTSENT *entry)
{
    return entry->fts_info == FTS_F && (!fnmatch("kernel_details*.csv", entry->fts_name, 0) ||
                                        !fnmatch("operator_details*.csv", entry->fts_name, 0));
}

static FTS *search_begin(const char *path)
{
    char *roots[] = {(char *)(uintptr_t)path, NULL};

    return fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
}

/* The next file, in the order of names; NULL at the end. */
static const char *search_next(FTS *search, unsigned *entries)
{
    FTSENT *entry;

    while (++*entries < SEARCH_ENTRIES && (entry = fts_read(search))) {
        if (entry->fts_info == FTS_D && entry->fts_level >= SEARCH_DEPTH)
            fts_set(search, entry, FTS_SKIP);
        else if (is_ours(entry))
            return entry->fts_path;
    }
    return NULL;
}

static bool has_files(const char *path)
{
    unsigned entries = 0;
    FTS *search = search_begin(path);
    bool found = search && search_next(search, &entries);

    if (search)
        fts_close(search);
    return found;
}

/* ---- all of it ---- */

struct reading {
    struct tp_input *input;
    struct tp_strings *strings;
    const struct tp_selection *selection;
    struct tp_work_sink *sink;
    int64_t base_ns;
    struct tp_diag *diag;
};

static int read_one(const struct reading *r, struct tp_input *file)
{
    struct tp_ascend_rows *rows = malloc(sizeof(*rows));

    if (!rows)
        return tp_diag_fail(r->diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory to read with");
    tp_ascend_rows_init(rows, r->strings, r->selection, r->base_ns, r->sink, r->diag);
    r->diag->file[0] = '\0';
    int result = read_file(r->input, file, rows);
    tp_ascend_rows_fini(rows);
    free(rows);
    return result;
}

static int read_found(const struct reading *r, const char *path)
{
    struct tp_input file = {
        .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC), .progress = r->input->progress};

    if (file.fd < 0) {
        tp_diag_fail(r->diag, -errno, TP_DIAG_NO_OFFSET, "can't be read: %s",
                     tp_error_text(-errno));
        return tp_diag_at(r->diag, path);
    }
    int result = read_one(r, &file);
    close(file.fd);
    return result;
}

static int read_all(const struct reading *r)
{
    unsigned entries = 0;
    const char *path;
    int result = 0;

    if (!r->input->is_directory)
        return read_one(r, r->input);
    FTS *search = search_begin(r->input->path);
    if (!search)
        return tp_diag_fail(r->diag, -errno, TP_DIAG_NO_OFFSET, "can't be searched: %s",
                            tp_error_text(-errno));
    while (!result && (path = search_next(search, &entries)))
        result = read_found(r, path);
    fts_close(search);
    if (!result && entries >= SEARCH_ENTRIES)
        tp_input_lost(r->input, 1, "only its first %d entries were searched", SEARCH_ENTRIES);
    return result;
}

/* ---- a selection by time since the first start ---- */

struct first_start {
    struct tp_work_sink sink; /* first */
    bool is_known;
    struct tp_number ns;
};

static int take_start(struct tp_work_sink *sink, const struct tp_work *work)
{
    struct first_start *first = (struct first_start *)sink;

    if (work->has_span && (!first->is_known || tp_number_compare(work->start_ns, first->ns) < 0)) {
        first->ns = work->start_ns;
        first->is_known = true;
    }
    return 0;
}

/* A second reading of the same input, opened anew: it may be compressed. */
static int find_base(struct reading *r)
{
    struct first_start first = {.sink = {.take = take_start}};
    struct reading scan = *r;
    struct tp_input again;

    if (!strcmp(r->input->path, "-"))
        return tp_diag_fail(r->diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                            "--from and --to in seconds need a file that can be read twice");
    int result = tp_input_open(&again, r->input->path, NULL, r->diag);
    if (result < 0)
        return result;
    scan.input = &again;
    scan.selection = NULL;
    scan.sink = &first.sink;
    result = read_all(&scan);
    tp_input_close(&again);
    r->base_ns = tp_number_truncate(first.ns);
    return result;
}

static int read_work(struct tp_input *input, struct tp_strings *strings, struct tp_work_sink *sink,
                     struct tp_diag *diag)
{
    const struct tp_selection *s = input->selection;
    struct reading r = {
        .input = input, .strings = strings, .selection = s, .sink = sink, .diag = diag};
    int result = 0;

    if (s && (s->from.kind == TP_INSTANT_RELATIVE || s->to.kind == TP_INSTANT_RELATIVE))
        result = find_base(&r);
    return result ? result : read_all(&r);
}

static int read_list(struct tp_input *input, struct tp_event_list *list, struct tp_diag *diag)
{
    struct tp_ascend_list events;

    int result = tp_ascend_list_init(&events, list, diag);
    if (!result)
        result = read_work(input, list->strings, &events.sink, diag);
    tp_ascend_list_finish(&events);
    if (!result && events.without_start)
        tp_input_lost(input, events.without_start,
                      events.without_start == 1
                          ? "%llu kernel has no start time, so it is no event"
                          : "%llu kernels have no start time, so they are no events",
                      (unsigned long long)events.without_start);
    return result;
}

static int read_averages(struct tp_input *input, struct tp_strings *strings,
                         struct tp_stacks *stacks, const struct tp_averages_options *options,
                         struct tp_input_averages *ret, struct tp_diag *diag)
{
    struct tp_ascend_averages sums;

    int result = tp_ascend_averages_init(&sums, strings, stacks, options, diag);
    if (!result)
        result = read_work(input, strings, &sums.sink, diag);
    ret->use_device = sums.use_device;
    ret->averages = sums.averages;
    tp_ascend_averages_fini(&sums);
    return result;
}

/* ---- what it is ---- */

static int probe_header(void *context, const struct tp_csv_row *row)
{
    tp_ascend_header_read(context, row);
    return -TP_ESTATE; /* seen enough */
}

static bool is_our_text(const unsigned char *head, size_t size)
{
    struct tp_ascend_header header = {.file = TP_ASCEND_NEITHER};
    struct tp_csv *csv = malloc(sizeof(*csv));

    if (!csv)
        return false;
    tp_csv_init(csv, probe_header, &header, NULL);
    int result = tp_csv_feed(csv, head, size);
    if (!result)
        tp_csv_end(csv);
    else if (result == -TP_ELIMIT) /* too wide: ours by its first columns, refused when read */
        probe_header(&header, &(struct tp_csv_row){.text = csv->text.bytes ? csv->text.bytes : "",
                                                   .values = csv->values,
                                                   .count = csv->count});
    tp_csv_fini(csv);
    free(csv);
    return header.file != TP_ASCEND_NEITHER;
}

static int probe(const struct tp_input *input)
{
    if (input->is_directory)
        return has_files(input->path) ? 50 : 0;
    return is_our_text(input->head, input->head_size) ? 90 : 0;
}

const struct tp_input_kind tp_input_ascend_csv = {
    .name = "ascend-csv",
    .help = "Ascend's kernel_details.csv or operator_details.csv",
    .probe = probe,
    .read_list = read_list,
    .read_averages = read_averages,
    .read_work = read_work,
};

int tp_ascend_csv_parse(const char *text, size_t size, const struct tp_selection *selection,
                        struct tp_strings *strings, struct tp_work_sink *sink, struct tp_diag *diag)
{
    struct tp_ascend_rows *rows = malloc(sizeof(*rows));
    if (!rows)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory to read with");
    tp_ascend_rows_init(rows, strings, selection, 0, sink, diag);
    int result = tp_csv_feed(&rows->csv, text, size);
    if (!result)
        result = tp_csv_end(&rows->csv);
    tp_ascend_rows_fini(rows);
    free(rows);
    return result;
}
