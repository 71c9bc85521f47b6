/* SPDX-License-Identifier: MIT */
#include "input/tptrace_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/names.h"
#include "input/tptrace_blocks.h"
#include "input/tptrace_file.h"

/* ---- members ---- */

static void learn_member(struct tptrace_member *member, const struct tptrace_meta *meta)
{
    member->pid = meta->pid;
    member->rank = meta->rank;
    member->start_ns = meta->start_ns;
    if (meta->boot_id)
        member->boot_hash = tp_name_hash(0, meta->boot_id, strlen(meta->boot_id)) | 1;
    member->uses_cuda = meta->cuda.is_known;
    member->uses_cupti = tptrace_cuda_is(&meta->cuda, "cupti");
    member->pair_count = meta->pair_count;
    if (meta->pair_count)
        member->first_pair = meta->pairs[0];
    member->own_rate = tp_clock_rate(meta->pairs, meta->pair_count);
    if ((double)meta->ticks_per_second >= TP_CLOCK_RATE_MIN &&
        (double)meta->ticks_per_second <= TP_CLOCK_RATE_MAX)
        member->said_rate = (double)meta->ticks_per_second;
    if (meta->clock && !strcmp(meta->clock, "monotonic"))
        member->said_rate = 1e9;
}

static bool is_selected(const struct tptrace_member *member, const struct tp_selection *selection)
{
    if (!selection || member->failed)
        return !selection || (!selection->has_pid && !selection->has_rank);
    return (!selection->has_pid || selection->pid == (int64_t)member->pid) &&
           (!selection->has_rank || selection->rank == member->rank);
}

static int read_member(struct tptrace_run *run, const char *dir,
                       const struct tp_selection *selection)
{
    struct tptrace_member *member = &run->members[run->count];
    struct tptrace_meta meta;
    char path[TPTRACE_PATH_MAX];

    *member = (struct tptrace_member){.rank = -1};
    int error = tptrace_path(path, dir, "meta.jsonl");
    error = error ? error : tptrace_meta_read(&meta, path, &member->why);
    if (error == -ENOMEM) {
        tptrace_meta_fini(&meta);
        return error;
    }
    member->failed = error != 0;
    if (!error)
        learn_member(member, &meta);
    if (error != -ENAMETOOLONG)
        tptrace_meta_fini(&meta);
    if (!is_selected(member, selection))
        return 0;
    member->dir = strdup(dir);
    run->count += member->dir != NULL;
    return member->dir ? 0 : -ENOMEM;
}

static int compare_members(const void *a, const void *b)
{
    const struct tptrace_member *left = a, *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    return strcmp(left->dir, right->dir);
}

/* ---- clocks over processes ---- */

/* One offset from monotonic to real time per boot: that of the earliest process, so that a wall
 * clock that was stepped meanwhile puts no process out of line with the others. Members are sorted
 * by start. */
static void set_offset(const struct tptrace_run *run, struct tptrace_member *member)
{
    const struct tptrace_member *like = member;

    for (size_t i = 0; i < run->count; i++) {
        const struct tptrace_member *other = &run->members[i];
        if (other->pair_count && member->boot_hash && other->boot_hash == member->boot_hash) {
            like = other;
            break;
        }
    }
    member->offset_ns = like->first_pair.realtime_ns - like->first_pair.monotonic_ns;
}

static void set_rate(const struct tptrace_run *run, struct tptrace_member *member)
{
    member->rate = member->own_rate;
    member->rate_from = TPTRACE_RATE_MEASURED;
    for (size_t i = 0; i < run->count && member->rate <= 0; i++) {
        const struct tptrace_member *other = &run->members[i];
        if (member->boot_hash && other->boot_hash == member->boot_hash && other->own_rate > 0) {
            member->rate = other->own_rate;
            member->rate_from = TPTRACE_RATE_OTHER;
        }
    }
    if (member->rate > 0)
        return;
    member->rate_from = member->said_rate > 0 ? TPTRACE_RATE_SAID : TPTRACE_RATE_ASSUMED;
    member->rate = member->said_rate > 0 ? member->said_rate : 1e9;
}

/* The time of the first record, when no clock line says what a tick is: a look ahead that leaves no
 * trace. */
static uint64_t first_ticks(struct tptrace_process *process)
{
    struct tptrace_totals totals = process->totals;
    size_t kept = process->troubles.kept;
    uint64_t count = process->troubles.count;
    struct tptrace_blocks blocks;
    struct tptrace_piece piece = {.first_ticks = 0};

    tptrace_blocks_begin(&blocks, process, false);
    tptrace_blocks_next(&blocks, &piece);
    tptrace_blocks_end(&blocks);
    process->totals = totals;
    process->troubles.kept = kept;
    process->troubles.count = count;
    return piece.first_ticks;
}

static int fit_clock(struct tptrace_member *member)
{
    struct tptrace_process *p = &member->process;
    struct tp_clock_pair pair = {.realtime_ns = member->start_ns};

    if (p->meta.pair_count)
        return tp_clock_fit(&p->clock, p->meta.pairs, p->meta.pair_count, member->offset_ns,
                            member->rate);
    pair.ticks = first_ticks(p);
    return tp_clock_fit(&p->clock, &pair, 1, member->start_ns, member->rate);
}

/* ---- opening ---- */

static int fail_selection(const struct tptrace_run *run, struct tp_diag *diag)
{
    tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                 "none of %zu processes is selected; tpreport info lists them", run->found);
    tp_diag_at(diag, run->place.run_dir);
    return -TP_ENOTFOUND;
}

/* All failed: say why of the first. */
static int fail_all(const struct tptrace_run *run, struct tp_diag *diag)
{
    for (size_t i = 0; i < run->count; i++) {
        if (!run->members[i].failed)
            return 0;
    }
    if (diag)
        *diag = run->members[0].why;
    return run->members[0].why.code;
}

static int64_t earliest_start(const struct tptrace_run *run)
{
    int64_t earliest = run->place.start_ns;

    for (size_t i = 0; i < run->count; i++) {
        int64_t start_ns = run->members[i].start_ns;
        if (start_ns && (!earliest || start_ns < earliest))
            earliest = start_ns;
    }
    return earliest;
}

int tptrace_run_open(struct tptrace_run *run, const char *input,
                     const struct tp_selection *selection, struct tp_diag *diag)
{
    *run = (struct tptrace_run){0};
    int error = tptrace_find(input, &run->place, diag);
    if (error)
        return error;
    run->found = run->place.count;
    run->members = calloc(run->found, sizeof(*run->members));
    error = run->members ? 0 : -ENOMEM;
    for (size_t i = 0; i < run->found && !error; i++)
        error = read_member(run, run->place.process_dirs[i], selection);
    if (error)
        return tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "no memory for %zu processes",
                            run->found);
    if (!run->count)
        return fail_selection(run, diag);
    qsort(run->members, run->count, sizeof(*run->members), compare_members);
    for (size_t i = 0; i < run->count; i++) {
        set_offset(run, &run->members[i]);
        set_rate(run, &run->members[i]);
    }
    run->start_ns = run->end_ns = earliest_start(run);
    return fail_all(run, diag);
}

void tptrace_run_close(struct tptrace_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        free(run->members[i].dir);
        if (run->members[i].was_read)
            tptrace_process_close(&run->members[i].process);
    }
    free(run->members);
    tptrace_place_fini(&run->place);
    *run = (struct tptrace_run){0};
}

/* ---- windows of time ---- */

struct windows {
    struct tp_stream_window *items;
    size_t count, capacity;
};

static int add_window(struct windows *windows, int64_t from_ns, int64_t to_ns)
{
    if (windows->count == windows->capacity) {
        size_t capacity = windows->capacity ? windows->capacity * 2 : 8;
        struct tp_stream_window *items = realloc(windows->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        windows->items = items;
        windows->capacity = capacity;
    }
    windows->items[windows->count++] = (struct tp_stream_window){from_ns, to_ns};
    return 0;
}

static int64_t instant_ns(const struct tptrace_run *run, const struct tp_instant *instant,
                          int64_t unset)
{
    switch (instant->kind) {
    case TP_INSTANT_RELATIVE:
        return run->start_ns + instant->ns;
    case TP_INSTANT_WALL:
        return instant->ns;
    default:
        return unset;
    }
}

static int compare_windows(const void *a, const void *b)
{
    const struct tp_stream_window *left = a, *right = b;

    return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

/* Windows that touch are one: the stack machine wants them apart. */
static void unite_windows(struct windows *windows)
{
    size_t used = 0;

    if (windows->count)
        qsort(windows->items, windows->count, sizeof(*windows->items), compare_windows);
    for (size_t i = 0; i < windows->count; i++) {
        struct tp_stream_window *last = used ? &windows->items[used - 1] : NULL;
        if (last && windows->items[i].from_ns <= last->to_ns) {
            if (windows->items[i].to_ns > last->to_ns)
                last->to_ns = windows->items[i].to_ns;
        } else {
            windows->items[used++] = windows->items[i];
        }
    }
    windows->count = used;
}

/* Steps as stretches of time. */
struct step_search {
    struct tptrace_run *run;
    const struct tp_selection *selection;
    struct windows *windows;
    int64_t from_ns, to_ns;
};

static int find_step(void *context, const struct tptrace_source *source,
                     const struct tp_stream_range *range)
{
    struct step_search *search = context;
    int64_t step = (int64_t)range->record[4];

    (void)source;
    if (!range->name->step)
        return 0;
    if (!search->run->has_steps || step < search->run->first_step)
        search->run->first_step = step;
    if (!search->run->has_steps || step > search->run->last_step)
        search->run->last_step = step;
    search->run->has_steps = true;
    if (step < search->selection->first_step || step > search->selection->last_step)
        return 0;
    int64_t from = range->start_ns > search->from_ns ? range->start_ns : search->from_ns;
    int64_t to = range->end_ns < search->to_ns ? range->end_ns : search->to_ns;
    return from < to ? add_window(search->windows, from, to) : 0;
}

/* One quick pass over the process for its steps; leaves no trace in its totals. */
static int find_steps(struct tptrace_run *run, struct tptrace_process *process,
                      struct tptrace_names *names, const struct tp_selection *selection,
                      struct windows *windows)
{
    struct step_search search = {.run = run,
                                 .selection = selection,
                                 .windows = windows,
                                 .from_ns = instant_ns(run, &selection->from, INT64_MIN),
                                 .to_ns = instant_ns(run, &selection->to, INT64_MAX)};
    struct tptrace_consumer consumer = {.context = &search, .range = find_step};
    struct tptrace_stream_options options = {.workers = 1};
    struct tptrace_totals totals = process->totals;
    size_t kept = process->troubles.kept;
    uint64_t count = process->troubles.count;
    struct tptrace_open_ranges open;

    int error = tptrace_stream_process(process, names, &options, &consumer, &open);
    process->totals = totals;
    process->troubles.kept = kept;
    process->troubles.count = count;
    unite_windows(windows);
    if (!error && !windows->count) /* no such step here: nothing is selected */
        error = add_window(windows, INT64_MAX - 1, INT64_MAX);
    return error;
}

static int make_windows(struct tptrace_run *run, struct tptrace_process *process,
                        struct tptrace_names *names, const struct tp_selection *selection,
                        struct windows *windows)
{
    if (!selection)
        return 0;
    if (selection->has_step)
        return find_steps(run, process, names, selection, windows);
    if (selection->from.kind == TP_INSTANT_UNSET && selection->to.kind == TP_INSTANT_UNSET)
        return 0;
    return add_window(windows, instant_ns(run, &selection->from, INT64_MIN),
                      instant_ns(run, &selection->to, INT64_MAX));
}

/* ---- reading ---- */

unsigned tptrace_run_workers(const struct tptrace_run_options *options)
{
    return options->in_time ? 1 : options->workers ? options->workers : tptrace_worker_count();
}

/* What only reading needed. */
static void release(struct tptrace_process *process)
{
    for (size_t i = 0; i < process->segment_count; i++) {
        if (process->segments[i].fd >= 0)
            close(process->segments[i].fd);
        process->segments[i].fd = -1;
    }
    tptrace_summary_release(&process->summary);
    free(process->ring_slots);
    free(process->meta.pairs);
    free(process->meta.cuda.pairs);
    process->meta.cuda.pairs = NULL;
    process->ring_slots = NULL;
    process->meta.pairs = NULL;
}

static void note_names(struct tptrace_member *member, struct tptrace_names *names,
                       struct tp_diag *diag)
{
    const struct tp_names *file = tptrace_names_file(names);
    struct tptrace_process *p = &member->process;

    member->names_bytes = tptrace_names_bytes(names);
    p->totals.disk_bytes += member->names_bytes;
    if (file) {
        member->name_count = tp_names_count(file);
        member->names_damaged = tp_names_damaged(file);
        if (member->names_damaged)
            member->names_damage = *tp_names_first_damage(file);
    } else if (p->segment_count || p->ring_slot_count || p->meta.says_names ||
               (p->state == TPTRACE_ENDED && diag->code != -ENOENT)) {
        p->totals.unreadable_files++;
        tptrace_trouble(p, diag, NULL);
    }
}

static int stream_member(struct tptrace_run *run, struct tptrace_member *member,
                         const struct tptrace_run_options *options, struct tptrace_names *names,
                         const struct tptrace_consumer *consumers, uint64_t first_ordinal)
{
    struct windows windows = {0};
    int error = make_windows(run, &member->process, names, options->selection, &windows);
    struct tptrace_stream_options stream = {
        .fold = options->fold,
        .windows = windows.items,
        .window_count = windows.count,
        .thread = options->selection ? options->selection->thread : NULL,
        .first_ordinal = first_ordinal,
        .user = (uint64_t)(member - run->members),
        .workers = tptrace_run_workers(options),
        .kept_only = options->selection && options->selection->kept_only,
        .in_time = options->in_time,
        .verify = options->verify,
        .progress = options->progress ? &run->progress : NULL,
    };

    if (!error)
        error = tptrace_stream_process(&member->process, names, &stream, consumers, &member->open);
    free(windows.items);
    return error;
}

/* The last moment that a process tells of: its end, its last record, or its last clock reading. */
static uint64_t end_ticks(const struct tptrace_process *p)
{
    uint64_t end = p->last_ticks;

    if (p->meta.ended && p->meta.end_ticks > end)
        end = p->meta.end_ticks;
    for (size_t i = 0; i < p->meta.pair_count; i++) {
        if (p->meta.pairs[i].ticks > end)
            end = p->meta.pairs[i].ticks;
    }
    return end;
}

static int read_records(struct tptrace_run *run, struct tptrace_member *member,
                        const struct tptrace_run_options *options, struct tp_strings *strings,
                        const struct tptrace_consumer *consumers, uint64_t first_ordinal)
{
    struct tptrace_process *p = &member->process;
    struct tptrace_names *names;
    char path[TPTRACE_PATH_MAX];
    struct tp_diag diag;

    int error = fit_clock(member);
    if (!error)
        error = tptrace_cuda_clock_fit(&p->cuda_clock, &p->meta.cuda, &p->clock);
    if (!error)
        error = tptrace_path(path, member->dir, "names.tpn");
    if (!error)
        error = tptrace_names_open(&names, strings, path, p->meta.has_uuid ? p->meta.uuid : NULL,
                                   options->want_shapes, &diag);
    if (error)
        return error;
    note_names(member, names, &diag);
    error = options->instead ? options->instead(options->instead_context, member, names)
                             : stream_member(run, member, options, names, consumers, first_ordinal);
    member->names_unknown = tptrace_names_unknown(names);
    tptrace_names_close(names);
    size_t cursor = 0;
    uint64_t end = end_ticks(p);
    int64_t end_ns = end ? tp_clock_ns(&p->clock, &cursor, end) : 0;
    if (end_ns > run->end_ns)
        run->end_ns = end_ns;
    return error;
}

/* Of the files as they are now: what is written meanwhile is not waited for. */
static void begin_progress(struct tptrace_run *run, struct tp_progress *progress)
{
    run->progress = (struct tp_progress_part){.progress = progress, .what = run->place.run_name};
    for (size_t i = 0; i < run->count && progress && progress->fd >= 0; i++)
        if (!run->members[i].failed)
            run->progress.total += tptrace_process_size(run->members[i].dir);
}

int tptrace_run_read(struct tptrace_run *run, const struct tptrace_run_options *options,
                     struct tp_strings *strings, const struct tptrace_consumer *consumers,
                     struct tp_diag *diag)
{
    uint64_t ordinal = 0;

    begin_progress(run, options->progress);
    for (size_t i = 0; i < run->count; i++) {
        struct tptrace_member *member = &run->members[i];
        if (member->failed)
            continue;
        member->was_read = true;
        int error = tptrace_process_open(&member->process, member->dir, options->trouble_limit,
                                         &member->why);
        if (error && error != -ENOMEM) { /* it went away or was damaged since */
            member->failed = true;
            continue;
        }
        if (!error)
            error = read_records(run, member, options, strings, consumers, ordinal);
        if (error) {
            tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "%s", tp_error_text(error));
            return tp_diag_at(diag, member->dir), error;
        }
        ordinal += member->process.tracks.count;
        release(&member->process);
    }
    return 0;
}

bool tptrace_run_was_cut(const struct tptrace_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct tptrace_member *member = &run->members[i];
        if (member->failed ||
            (member->was_read && member->rate_from == TPTRACE_RATE_ASSUMED &&
             member->process.tracks.count) ||
            member->names_damaged || member->names_unknown ||
            (member->was_read && tptrace_process_was_cut(&member->process)))
            return true;
    }
    return false;
}

/* Of a framework's or of CUDA's telling. */
static bool uses_device_memory(const struct tptrace_member *member)
{
    const struct tptrace_totals *totals = &member->process.totals;

    return member->was_read && (totals->cuda.has_memory || totals->stream.device_memory);
}

bool tptrace_run_uses_cuda(const struct tptrace_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct tptrace_member *member = &run->members[i];
        if ((member->was_read && member->process.totals.cuda.has_device_work) ||
            uses_device_memory(member))
            return true;
    }
    return false;
}

bool tptrace_counts_memory(const struct tptrace_member *member)
{
    const char *memory = member->was_read ? member->process.meta.memory : NULL;

    return memory && *memory;
}

bool tptrace_run_counts_memory(const struct tptrace_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        if (tptrace_counts_memory(&run->members[i]) || uses_device_memory(&run->members[i]))
            return true;
    return false;
}
