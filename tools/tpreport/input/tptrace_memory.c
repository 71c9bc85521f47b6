/* SPDX-License-Identifier: MIT
 * The allocations of a recording as a profile: records of all threads in the order of time, call
 * stacks as functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/brief.h"
#include "event/names.h"
#include "input/tptrace.h"
#include "input/tptrace_frames.h"
#include "model/id_index.h"

#define TROUBLES_KEPT 8
#define NOTES_MAX 40
#define FRAMES_MAX (TP_NAME_LENGTH_LIMIT / sizeof(uint32_t))
#define PARTS_MAX 8 /* of a stack; the agent makes three */

struct thread {
    uint32_t name; /* string id; TP_STRING_NONE: not made yet */
    struct tp_alloc_seen seen;
};

struct reader {
    struct tp_alloc_profile *profile;
    struct tp_strings *strings;
    struct tp_stacks *stacks;
    struct tptrace_run run;
    struct tp_progress *progress; /* may be NULL */
    struct tptrace_frames *native;
    size_t clock_cursor;
    const struct tptrace_process *process; /* that is being read; NULL: nothing of it yet */
    struct tptrace_names *names;
    struct thread *threads; /* by ordinal */
    size_t thread_count;
    uint32_t *frames; /* of the stack that is being resolved */
    size_t frame_count, frame_capacity;
};

/* ---- threads ---- */

static int make_thread(struct reader *r, const struct tptrace_source *source, uint32_t *ret_id)
{
    const struct tptrace_meta *meta = &source->process->meta;
    const struct tptrace_meta_track *told = tptrace_meta_find_track(meta, source->track->number);
    struct tp_buffer text = {0};

    tp_buffer_format(&text, "%.64s (%u/%u)",
                     told && told->name && *told->name ? told->name : "thread", meta->pid,
                     told && told->tid ? told->tid : source->track->tid);
    int error = text.failed ? -ENOMEM : tp_strings_put(r->strings, text.bytes, text.size, ret_id);
    tp_buffer_fini(&text);
    return error;
}

static int thread_of(struct reader *r, const struct tptrace_source *source,
                     struct thread **ret_thread)
{
    size_t ordinal = source->track->ordinal;

    if (ordinal >= r->thread_count) {
        size_t count = ordinal + 16;
        struct thread *threads = realloc(r->threads, count * sizeof(*threads));
        if (!threads)
            return -ENOMEM;
        memset(threads + r->thread_count, 0, (count - r->thread_count) * sizeof(*threads));
        r->threads = threads;
        r->thread_count = count;
    }
    *ret_thread = &r->threads[ordinal];
    return (*ret_thread)->name == TP_STRING_NONE ? make_thread(r, source, &(*ret_thread)->name) : 0;
}

/* ---- records ---- */

static void meet(struct reader *r, const struct tptrace_source *source)
{
    r->process = source->process;
    r->names = source->names;
}

static int take_alloc(void *context, const struct tptrace_source *source, const uint64_t *record,
                      uint64_t ticks, const struct tp_stream *stream)
{
    struct reader *r = context;
    const struct tp_stream_range *range;
    void **note;
    bool is_in_range = tp_stream_top(stream, &range, &note);
    int64_t ns = tp_clock_ns(&source->process->clock, &r->clock_cursor, ticks);
    uint32_t number = source->track->ordinal, calls = (uint32_t)(record[1] >> 32);
    struct thread *thread;

    meet(r, source);
    if (tp_slot_kind(record) == TP_EVENT_FREE) {
        const struct tp_alloc_event event = {.address = record[4],
                                             .ns = ns - r->run.start_ns,
                                             .ticks = ticks,
                                             .calls = calls,
                                             .is_untimed = record[5] & TP_ALLOC_UNTIMED};
        return tp_alloc_profile_freed(r->profile, &event, number);
    }
    uint64_t flags = record[6] >> TP_ALLOC_FLAGS_SHIFT;
    uint64_t slack = record[6] & ((UINT64_C(1) << TP_ALLOC_FLAGS_SHIFT) - 1);
    int error = thread_of(r, source, &thread);
    if (error)
        return error;
    tp_alloc_seen_next(&thread->seen, calls);
    const struct tp_alloc_event event = {
        .address = record[4],
        .bytes = record[5],
        .period = record[7],
        .drawn_bytes =
            flags & TP_ALLOC_BY_ASKED ? record[5] - slack + TP_ALLOC_DRAWN_MORE : record[5],
        .ns = ns - r->run.start_ns,
        .ticks = ticks,
        .range = is_in_range ? range->name->name : TP_STRING_NONE,
        .stack = tp_slot_argument(record),
        .thread = thread->name,
        .calls = calls,
        .is_untimed = flags & TP_ALLOC_UNTIMED,
        .is_resize = flags & TP_ALLOC_RESIZED,
        .is_unwatched = flags & TP_ALLOC_UNWATCHED,
        .is_selected = !source->is_muted && tptrace_in_windows(source->options, ns),
    };
    return tp_alloc_profile_allocated(r->profile, &event, number);
}

static bool is_counted(const struct tptrace_process *process)
{
    return process->meta.memory && *process->meta.memory;
}

static int take_range(void *context, const struct tptrace_source *source,
                      const struct tp_stream_range *range)
{
    struct reader *r = context;
    const struct tp_alloc_counters counters = {
        .name = range->name->name,
        .calls = 1,
        .allocations = range->alloc_calls,
        .allocated_bytes = range->allocated_bytes,
        .net_bytes = range->memory_bytes,
        .self_net_bytes = range->self_memory_bytes,
    };

    meet(r, source);
    return is_counted(source->process) ? tp_alloc_count(&r->profile->ranges, &counters) : 0;
}

/* Whether each of its allocations was to be recorded. */
static bool records_all(const struct tptrace_meta *meta)
{
    return meta->alloc && !strcmp(meta->alloc, "all");
}

static int end_track(void *context, const struct tptrace_source *source,
                     const struct tp_stream *stream)
{
    struct reader *r = context;
    struct tp_alloc_counters counters = {
        .calls = 1,
        .allocations = stream->counters[0] >> 32,
        .allocated_bytes = stream->counters[1],
        .net_bytes = (int64_t)(stream->counters[1] - stream->counters[2]),
    };

    struct tp_alloc_coverage *coverage = &r->profile->coverage;
    struct thread *thread;

    meet(r, source);
    if (!is_counted(source->process))
        return 0;
    int error = thread_of(r, source, &thread);
    if (error)
        return error;
    counters.name = thread->name;
    coverage->counted += counters.allocations;
    coverage->counted_bytes += counters.allocated_bytes;
    if (records_all(&source->process->meta))
        tp_alloc_coverage_thread(coverage, &thread->seen, (uint32_t)counters.allocations);
    return tp_alloc_count(&r->profile->threads, &counters);
}

/* ---- what is there ---- */

static void cover_process(struct tp_alloc_coverage *coverage, const struct tptrace_process *process)
{
    const struct tptrace_meta *meta = &process->meta;

    coverage->start_unknown |= !meta->has_counts;
    coverage->is_counted |= is_counted(process);
    coverage->follows_none |= meta->follows_none;
    if (!meta->alloc || !strcmp(meta->alloc, "off") || !strcmp(meta->alloc, "count"))
        return;
    coverage->is_wanted = true;
    coverage->has_windows |= meta->capture_plan != NULL;
    coverage->without_ring += process->losses.counts[TP_LOSS_NO_RING];
    if (meta->begun_by_event) {
        coverage->late++;
        coverage->late_calls += meta->alloc_calls;
        coverage->late_bytes += meta->allocated_bytes;
    } else {
        coverage->until_start += meta->alloc_calls;
    }
}

static int cover_unrecorded(struct reader *r)
{
    const struct tptrace_folderless *all = &r->run.place.unrecorded;
    struct tp_alloc_coverage *coverage = &r->profile->coverage;

    if (!all->count)
        return 0;
    coverage->unrecorded += all->count;
    coverage->unrecorded_calls += all->alloc_calls;
    coverage->unrecorded_bytes += all->allocated_bytes;
    coverage->unrecorded_more |= all->more_programs;
    return all->program ? tp_strings_put(r->strings, all->program, strlen(all->program),
                                         &coverage->unrecorded_program)
                        : 0;
}

static int cover(struct reader *r, const struct tp_selection *selection)
{
    struct tp_alloc_coverage *coverage = &r->profile->coverage;

    for (size_t i = 0; i < r->run.count; i++)
        if (r->run.members[i].was_read)
            cover_process(coverage, &r->run.members[i].process);
    coverage->is_selected |= selection->has_step || selection->from.kind != TP_INSTANT_UNSET ||
                             selection->to.kind != TP_INSTANT_UNSET;
    return selection->has_pid || selection->has_rank || selection->thread ? 0 : cover_unrecorded(r);
}

/* ---- frames ---- */

static int add_frames(struct reader *r, const uint32_t *ids, uint32_t count)
{
    if (r->frame_count + count > r->frame_capacity) {
        size_t capacity = 2 * (r->frame_count + count);
        uint32_t *frames = realloc(r->frames, capacity * sizeof(*frames));
        if (!frames)
            return -ENOMEM;
        r->frames = frames;
        r->frame_capacity = capacity;
    }
    memcpy(r->frames + r->frame_count, ids, count * sizeof(*ids));
    r->frame_count += count;
    return 0;
}

/* What one name of a stack says: an address may be of several functions. */
static int add_named(struct reader *r, uint32_t id)
{
    const struct tp_names *file = tptrace_names_file(r->names);
    const uint32_t *ids;
    struct tp_name name;
    uint64_t address;
    uint32_t count;

    if (file && tp_names_get(file, id, &name) && name.kind == TP_NAME_ADDRESS &&
        name.size == sizeof(address)) {
        memcpy(&address, name.bytes, sizeof(address));
        int error = tptrace_frames_find(r->native, &r->process->meta, address, &ids, &count);
        return error ? error : add_frames(r, ids, count);
    }
    const struct tp_frame frame = {.function = tptrace_names_plain(r->names, id)->name};
    int error = tp_frames_put(&r->profile->frames, &frame, &count);
    return error ? error : add_frames(r, &count, 1);
}

static bool is_stack(const struct reader *r, uint32_t id, struct tp_name *ret_name)
{
    const struct tp_names *file = tptrace_names_file(r->names);

    return file && tp_names_get(file, id, ret_name) && ret_name->kind == TP_NAME_STACK;
}

/* The frames of one name of at most @left. @ret_outer: the stack that goes on, TP_NAME_NONE for
 * none. */
static int add_part(struct reader *r, const struct tp_name *name, uint32_t *left,
                    uint32_t *ret_outer)
{
    uint32_t count = name->size / sizeof(uint32_t), id;
    struct tp_name outer;
    int error = 0;

    *ret_outer = TP_NAME_NONE;
    for (uint32_t i = 0; i < count && *left && !error; i++) {
        memcpy(&id, name->bytes + i * sizeof(id), sizeof(id));
        if (i + 1 == count && is_stack(r, id, &outer)) {
            *ret_outer = id;
        } else {
            error = add_named(r, id);
            --*left;
        }
    }
    return error;
}

/* A stack's name as a stack of the report. In a damaged file its parts may follow each other round
 * and round. */
static int resolve(struct reader *r, uint32_t id, uint32_t *ret_stack)
{
    uint32_t left = FRAMES_MAX;
    struct tp_name name;
    int error = 0;

    *ret_stack = TP_STACK_NONE;
    if (id == TP_NAME_NONE)
        return 0;
    r->frame_count = 0;
    if (!is_stack(r, id, &name)) /* says why there is none */
        error = add_named(r, id);
    for (unsigned i = 0; !error && i < PARTS_MAX && is_stack(r, id, &name); i++)
        error = add_part(r, &name, &left, &id);
    return error ? error : tp_stacks_put(r->stacks, r->frames, (uint32_t)r->frame_count, ret_stack);
}

static int resolve_stacks(struct reader *r)
{
    struct tp_alloc_profile *profile = r->profile;
    struct tp_id_index known = {0};
    uint32_t *stacks = NULL;
    int error = 0;

    for (size_t i = profile->process_first; i < profile->count && error >= 0; i++) {
        uint32_t number;
        tp_progress_step(r->progress, "names of call stacks", i - profile->process_first,
                         profile->count - profile->process_first);
        error = tp_id_index_put(&known, profile->sites[i].stack, &number);
        if (error == 1) {
            uint32_t *grown = realloc(stacks, (number + (size_t)1) * sizeof(*stacks));
            stacks = grown ? grown : stacks;
            error = grown ? resolve(r, profile->sites[i].stack, &stacks[number]) : -ENOMEM;
        }
        if (error >= 0)
            profile->sites[i].stack = stacks[number];
    }
    tp_id_index_fini(&known);
    free(stacks);
    return error < 0 ? error : 0;
}

static int end_process(void *context)
{
    struct reader *r = context;
    int error = r->process ? resolve_stacks(r) : 0;

    if (r->process && !error) {
        size_t cursor = 0;
        int64_t end_ns =
            tp_clock_ns(&r->process->clock, &cursor, r->process->last_ticks) - r->run.start_ns;
        error = tp_alloc_profile_end_process(r->profile, end_ns);
    }
    tptrace_frames_end_process(r->native);
    r->process = NULL;
    r->clock_cursor = 0;
    if (r->threads)
        memset(r->threads, 0, r->thread_count * sizeof(*r->threads));
    return error;
}

/* ---- the whole ---- */

static int read_all(struct reader *r, const char *path, const struct tp_selection *selection,
                    struct tp_diag *diag)
{
    const struct tptrace_consumer consumer = {.context = r,
                                              .range = take_range,
                                              .alloc = take_alloc,
                                              .end_track = end_track,
                                              .end_process = end_process};
    const struct tptrace_run_options how = {.selection = selection,
                                            .progress = r->progress,
                                            .in_time = true,
                                            .trouble_limit = TROUBLES_KEPT};
    int error = tptrace_run_open(&r->run, path, selection, diag);

    if (!error)
        error = tptrace_run_read(&r->run, &how, r->strings, &consumer, diag);
    return error ? error : cover(r, selection);
}

int tptrace_memory(const char *path, const struct tp_selection *selection,
                   const struct tptrace_frames_wanted *wanted, struct tp_progress *progress,
                   struct tp_alloc_profile *profile, struct tp_strings *strings,
                   struct tp_stacks *stacks, struct tp_buffer *notes, struct tp_buffer *recording,
                   bool *ret_cut, struct tp_diag *diag)
{
    struct reader r = {
        .profile = profile, .strings = strings, .stacks = stacks, .progress = progress};

    if (tptrace_frames_create(&r.native, wanted, strings, &profile->frames))
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory");
    int error = read_all(&r, path, selection, diag);
    if (!error) {
        tptrace_head_lines(&r.run, strings, "tpreport: ", NOTES_MAX, notes);
        tptrace_frames_put_notes(r.native, notes);
        tptrace_head_json(&r.run, strings, false, recording);
        *ret_cut = tptrace_run_was_cut(&r.run);
    }
    tptrace_run_close(&r.run);
    tptrace_frames_destroy(r.native);
    free(r.frames);
    free(r.threads);
    return error;
}
