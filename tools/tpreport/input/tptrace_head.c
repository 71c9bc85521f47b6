/* SPDX-License-Identifier: MIT
 * What a report says of the recording it is made from: short lines for people, the same as JSON. A
 * whole recording of processes that ended says nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace.h"
#include "input/tptrace_windows.h"
#include "model/device_memory.h"
#include "model/python_text.h"

#define ERRNO_END 4096u
#define RANKS_MAX 1000000
#define RANKS_SHOWN 16
#define UNFINISHED_SHOWN 3
#define TROUBLES_SHOWN 3

struct head {
    const struct tptrace_run *run;
    const struct tp_strings *strings;
    struct tp_buffer *out;
    const char *prefix;
    size_t limit, lines, left_out;
};

void tptrace_duration(struct tp_buffer *out, int64_t ns)
{
    if (ns < 1000000)
        tp_buffer_format(out, "%.3f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        tp_buffer_format(out, "%.3f ms", (double)ns / 1e6);
    else
        tp_buffer_format(out, "%.3f s", (double)ns / 1e9);
}

/* ---- lines ---- */

/* Begin a line. Return: false when there have been enough. */
static bool begin(struct head *head)
{
    if (head->lines >= head->limit) {
        head->left_out++;
        return false;
    }
    head->lines++;
    tp_buffer_string(head->out, head->prefix);
    return true;
}

static bool begin_member(struct head *head, const struct tptrace_member *member)
{
    const char *program = member->was_read ? member->process.meta.program : NULL;

    if (!begin(head))
        return false;
    if (head->run->count > 1 || !member->was_read) {
        tp_buffer_format(head->out, "process %u", member->pid);
        if (program)
            tp_buffer_format(head->out, " (%.64s)", program);
        if (member->rank >= 0)
            tp_buffer_format(head->out, ", rank %lld", (long long)member->rank);
        tp_buffer_string(head->out, ": ");
    }
    return true;
}

static void end(struct head *head)
{
    tp_buffer_char(head->out, '\n');
}

/* "COUNT WHAT" when there are any. */
static void count_line(struct head *head, const struct tptrace_member *member, uint64_t count,
                       const char *what)
{
    if (!count || !begin_member(head, member))
        return;
    tp_buffer_count(head->out, count, what);
    end(head);
}

/* A running process's ranges are as old as they were when it was read; a dead one's as old as they
 * got. */
static int64_t age_of(const struct tptrace_member *member, const struct tptrace_unfinished *range)
{
    const struct tptrace_process *p = &member->process;
    size_t cursor = 0;
    int64_t end_ns =
        p->state == TPTRACE_RUNNING ? p->read_ns : tp_clock_ns(&p->clock, &cursor, p->last_ticks);

    return end_ns > range->start_ns ? end_ns - range->start_ns : 0;
}

static uint64_t count_unfinished(const struct tptrace_process *p)
{
    return p->totals.stream.unfinished + p->totals.async_unfinished;
}

static void unfinished_line(struct head *head, const struct tptrace_member *member)
{
    uint64_t count = count_unfinished(&member->process);

    if (!count || !begin_member(head, member))
        return;
    tp_buffer_count(head->out, count, "unfinished range{|s}");
    for (size_t i = 0; i < member->open.kept && i < UNFINISHED_SHOWN; i++) {
        const struct tptrace_unfinished *range = &member->open.items[i];
        const struct tp_string *name = tp_strings_get(head->strings, range->name);
        tp_buffer_string(head->out, i ? ", " : ": ");
        tp_buffer_bytes(head->out, name->bytes, name->size < 80 ? name->size : 80);
        tp_buffer_format(head->out, " in thread %u for ", range->tid);
        tptrace_duration(head->out, age_of(member, range));
    }
    if (count > UNFINISHED_SHOWN)
        tp_buffer_string(head->out, ", ...");
    end(head);
}

/* Whether @other is what the process of @member became. Without the kernel's word a pid that was
 * given again looks the same. */
static bool is_later_image(const struct tptrace_member *member, const struct tptrace_member *other)
{
    const struct tptrace_meta *then = &member->process.meta, *now = &other->process.meta;

    return other->was_read && other->pid == member->pid && other->start_ns > member->start_ns &&
           other->boot_hash == member->boot_hash && then->host && now->host &&
           !strcmp(then->host, now->host) && then->kernel_start == now->kernel_start;
}

const struct tptrace_member *tptrace_next_image(const struct tptrace_run *run,
                                                const struct tptrace_member *member)
{
    const struct tptrace_process *p = &member->process;

    if (p->state == TPTRACE_ENDED && (!p->meta.end_reason || strcmp(p->meta.end_reason, "exec")))
        return NULL;
    for (size_t i = 0; i < run->count; i++) /* by start time */
        if (is_later_image(member, &run->members[i]))
            return &run->members[i];
    return NULL;
}

void tptrace_put_image(struct tp_buffer *out, const struct tptrace_member *image)
{
    const char *name = strrchr(image->dir, '/');

    tp_buffer_format(out, "%.64s in %s",
                     image->process.meta.program ? image->process.meta.program : "another program",
                     name ? name + 1 : image->dir);
}

static void state_line(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_process *p = &member->process;
    const struct tptrace_member *image = tptrace_next_image(head->run, member);

    if (p->state == TPTRACE_ENDED || !begin_member(head, member))
        return;
    if (image) {
        tp_buffer_string(head->out, "went on as another program (exec), ");
        tptrace_put_image(head->out, image);
    } else {
        tp_buffer_string(head->out,
                         p->state == TPTRACE_RUNNING
                             ? "still running: this is what it has done so far"
                         : p->state == TPTRACE_WENT_ON
                             ? "went on as another program (exec), of which nothing is recorded"
                             : "died without an end line");
    }
    if (image || p->state != TPTRACE_RUNNING)
        tp_buffer_format(head->out, "; what its rings held was %s",
                         p->meta.recovered ? "recovered" : "read");
    end(head);
}

static void troubles_lines(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_troubles *troubles = &member->process.troubles;
    char text[1024];

    for (size_t i = 0; i < troubles->kept && i < TROUBLES_SHOWN; i++) {
        if (!begin(head))
            continue;
        tp_diag_print(&troubles->items[i], text, sizeof(text));
        tp_buffer_string(head->out, text);
        end(head);
    }
    if (troubles->count > TROUBLES_SHOWN && begin_member(head, member)) {
        tp_buffer_count(head->out, troubles->count - TROUBLES_SHOWN,
                        "more place{ is|s are} damaged; tpreport check lists {it|them}");
        end(head);
    }
}

static void clock_lines(struct head *head, const struct tptrace_member *member)
{
    static const char *const from[] = {
        [TPTRACE_RATE_OTHER] = "another process of the same boot",
        [TPTRACE_RATE_SAID] = "what the agent guessed",
        [TPTRACE_RATE_ASSUMED] = "the assumption that a tick is 1 ns",
    };

    if (member->rate_from != TPTRACE_RATE_MEASURED && member->rate_from != TPTRACE_RATE_SAID &&
        member->process.last_ticks && begin_member(head, member)) {
        tp_buffer_format(head->out, "its clock was read %s; the rate is from %s",
                         member->pair_count ? "once only" : "never", from[member->rate_from]);
        end(head);
    }
    count_line(head, member, member->process.clock.rejected_pairs,
               "reading{|s} of the clock {goes|go} backwards and {was|were} left out");
    if (member->process.clock.segments > 1)
        count_line(head, member, member->process.clock.segments - 1, "jump{|s} of the clock");
}

/* A record whose name is dropped is kept. */
static void put_dropped(struct head *head, uint64_t count, const char *reason)
{
    bool is_name = reason && !strcmp(reason, tptrace_loss_reason(TP_LOSS_NO_NAME));

    tp_buffer_count(head->out, count,
                    is_name ? "name{|s} of ranges or whole stacks dropped" : "record{|s} dropped");
}

static void drop_lines(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_meta *meta = &member->process.meta;

    for (size_t i = 0; i < meta->drop_count; i++) {
        if (!begin_member(head, member))
            continue;
        put_dropped(head, meta->drops[i].count, meta->drops[i].reason);
        if (meta->drops[i].has_track)
            tp_buffer_format(head->out, " on track %u", meta->drops[i].track);
        if (meta->drops[i].reason)
            tp_buffer_format(head->out, ": %.200s", meta->drops[i].reason);
        end(head);
    }
}

/* What the process could not tell itself. */
static void untold_lines(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_process *p = &member->process;
    const struct tptrace_losses *losses = &p->losses;

    for (unsigned i = 0; i < TP_LOSS_END; i++) {
        if (!losses->untold[i] || !begin_member(head, member))
            continue;
        put_dropped(head, losses->untold[i], tptrace_loss_reason(i));
        tp_buffer_format(head->out, ": %s", tptrace_loss_reason(i));
        end(head);
    }
    count_line(head, member, p->totals.memory_slots,
               p->state == TPTRACE_RUNNING
                   ? "slot{ is|s are} in rings in memory, no files: nobody else can read {it|them} "
                     "yet"
                   : "slot{ was|s were} in rings in memory, no files, and went with the process");
    count_line(head, member, losses->counts[TP_LOSS_LINES],
               "line{|s} of meta.jsonl found no room: names of threads may be missing");
    if (losses->counts[TP_LOSS_ERROR] && p->state != TPTRACE_ENDED && begin_member(head, member)) {
        tp_buffer_format(head->out, "its last blocks could not be written: %s",
                         tp_error_text(-(int)(losses->counts[TP_LOSS_ERROR] % ERRNO_END)));
        end(head);
    }
}

static bool evicted_for_space(const struct tptrace_meta *meta)
{
    for (size_t i = 0; i < meta->eviction_count; i++)
        if (meta->evictions[i].for_space)
            return true;
    return false;
}

/* What the reader of a report must know of events that are gone. */
static void put_use(struct tp_buffer *out, const struct tptrace_process *p)
{
    unsigned long long ranges = p->summary.file.totals.ranges;

    if (p->summary.is_used && p->summary.work_only)
        tp_buffer_format(out,
                         ": their device work is known in sums only (running summary), and %llu "
                         "ranges are not shown here",
                         ranges);
    else if (p->summary.is_used)
        tp_buffer_format(out, ": %llu ranges are known in sums only (running summary)", ranges);
    else if (p->summary.is_there)
        tp_buffer_format(out, ": %llu ranges that are not shown here", ranges);
}

static void evicted_line(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_process *p = &member->process;

    uint64_t slots = p->totals.evicted_slots; /* of tracks that something is left of */

    if (p->summary.is_there && p->summary.file.totals.slots > slots)
        slots = p->summary.file.totals.slots;
    if (!slots || !begin_member(head, member))
        return;
    tp_buffer_count(head->out, slots, "slot{|s} evicted ");
    tp_buffer_string(head->out, evicted_for_space(&p->meta)
                                    ? "to leave space on the disk (TPAGENT_MIN_FREE)"
                                    : "by the size limit (TPAGENT_MAX_SIZE)");
    put_use(head->out, p);
    end(head);
}

/* What is in no total although the totals are of the whole run, and what is in another row. */
static void summary_lines(struct head *head, const struct tptrace_member *member)
{
    const struct tp_summary_totals *t = &member->process.summary.file.totals;

    if (!member->process.summary.is_used)
        return;
    count_line(
        head, member, t->missing_segments + tptrace_process_uncounted(&member->process),
        "evicted segment{|s} {is|are} in no total: the running summary does not have {it|them}");
    count_line(head, member, t->missing_blocks, "evicted block{|s} {is|are} in no total");
    count_line(
        head, member, t->missing_ranges + t->too_deep,
        "evicted range{|s} {is|are} in no total: {it|they} found no room in the running summary");
    count_line(head, member, t->missing_records,
               "evicted record{|s} of CUDA calls and device memory {is|are} in no row");
    if (!member->process.summary.work_only && tptrace_summary_has_work(&member->process.summary) &&
        begin_member(head, member)) {
        tp_buffer_string(head->out,
                         member->process.summary.file.has_credits
                             ? "CUDA calls that were evicted count as their ranges' own time"
                             : "evicted device work is in rows of its own alone: device times of "
                               "ranges are of what was kept, and CUDA calls of what was evicted "
                               "count as their ranges' own time");
        end(head);
    }
    count_line(head, member, t->without_sketch,
               "evicted range{|s} or piece{|s} of work {is|are} in no sketch: medians take the "
               "mean");
    count_line(
        head, member, t->crowded,
        "evicted range{|s} {is|are} in the row (too many names): the running summary has no more");
}

static void loss_lines(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_totals *t = &member->process.totals;

    count_line(head, member, t->lost_records, "record{|s} lost: {it|they} found no room");
    drop_lines(head, member);
    untold_lines(head, member);
    evicted_line(head, member);
    summary_lines(head, member);
    count_line(head, member, t->missing_slots, "slot{|s} missing");
    count_line(head, member, t->damaged_blocks, "damaged block{|s} left out");
    count_line(head, member, t->damaged_bytes, "damaged byte{|s} passed over");
    count_line(head, member, t->unknown_records,
               "record{|s} of {a kind|kinds} that this reader does not know");
    count_line(head, member, t->stream.cut_by_gap,
               "range{|s} whose end is missing count{s|} up to the gap");
    count_line(head, member, t->stream.too_deep, "range{|s} nested too deep and left out");
    count_line(head, member, t->stream.without_details,
               "operator{|s} whose details could not be read");
    count_line(head, member, member->names_damaged, "name{|s} damaged");
    count_line(head, member, member->names_unknown,
               "name{|s} missing; {it prints|they print} as <name N>");
}

/* ---- CUDA ---- */

/* As the agent counted, and as they were read: not everybody reads them. */
static uint64_t without_time(const struct tptrace_process *p)
{
    uint64_t told = p->meta.cuda.no_time, read = p->totals.cuda.without_time;

    return told > read ? told : read;
}

static void cuda_loss_lines(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_meta_cuda *cuda = &member->process.meta.cuda;
    const struct tptrace_cuda_totals *t = &member->process.totals.cuda;

    count_line(head, member, cuda->dropped, "record{|s} dropped by CUPTI: device times are short");
    count_line(head, member, cuda->no_room, "record{|s} of CUDA found no room");
    count_line(head, member, cuda->invalid, "record{|s} of CUPTI made no sense");
    count_line(head, member, cuda->unknown,
               "record{|s} of CUPTI of {a kind|kinds} that the agent does not know");
    count_line(head, member, cuda->buffers, "buffer{|s} refused to CUPTI at the limit");
    count_line(head, member, without_time(&member->process),
               "record{|s} of CUDA without a time {is|are} in no sum");
    count_line(head, member, t->late_calls,
               "CUDA call{|s} belong{s|} to no range: nothing tells which");
    count_line(head, member, t->unknown_sizes,
               "free{|s} of device memory whose allocation is not recorded count{s|} 0 bytes");
}

static void cuda_mode_line(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_meta_cuda *cuda = &member->process.meta.cuda;

    if (tptrace_cuda_is(cuda, "hooks") && begin_member(head, member)) {
        tp_buffer_string(head->out, "CUDA calls were interposed: launches are counted, what the "
                                    "device did and how long it took is not known; calls by "
                                    "address and of libraries with a runtime inside pass by");
        if (cuda->why && *cuda->why)
            tp_buffer_format(head->out, " (%.200s)", cuda->why);
        end(head);
    }
    if (tptrace_cuda_is(cuda, "cupti") && cuda->why && *cuda->why && begin_member(head, member)) {
        tp_buffer_format(head->out, "CUDA: %.400s", cuda->why);
        end(head);
    }
    if (tptrace_cuda_is(cuda, "off") && cuda->why && *cuda->why && begin_member(head, member)) {
        tp_buffer_format(head->out, "CUDA was not recorded: %.200s", cuda->why);
        end(head);
    }
    if (!member->process.cuda_clock.is_tied && member->process.totals.cuda.activities &&
        begin_member(head, member)) {
        tp_buffer_string(head->out, "CUPTI's clock was never read beside ours: its times are taken "
                                    "as real time");
        end(head);
    }
}

static void cuda_step_line(struct head *head, const struct tptrace_member *member)
{
    int64_t step_ns = member->process.cuda_clock.step_ns;

    if (!step_ns || !member->process.totals.cuda.activities || !begin_member(head, member))
        return;
    tp_buffer_format(head->out,
                     "CUPTI's clock was set while this was recorded (by %.3f s): when device work "
                     "around that ran is not certain, how long it took is",
                     (double)step_ns / 1e9);
    end(head);
}

static void cuda_until_line(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_process *p = &member->process;
    struct tptrace_cuda_cursor cursor = {0};

    if (!tptrace_cuda_is(&p->meta.cuda, "cupti") || p->state == TPTRACE_ENDED ||
        !begin_member(head, member))
        return;
    if (p->meta.cuda.until) {
        tp_buffer_string(head->out, "device records are complete up to ");
        tptrace_duration(head->out, tptrace_cuda_ns(&p->cuda_clock, &cursor, p->meta.cuda.until) -
                                        member->start_ns);
        tp_buffer_string(head->out, " from its start; ");
    }
    tp_buffer_format(head->out, "those that CUPTI had not handed over are %s",
                     p->state == TPTRACE_RUNNING ? "not here yet" : "lost");
    end(head);
}

/* Without a `cuda` line nobody knows what their times are. */
static uint64_t count_unexplained(const struct tptrace_process *p)
{
    uint64_t count = 0;

    for (unsigned k = TP_EVENT_CUDA_CALL; k <= TP_EVENT_CUDA_NODE; k++)
        count += p->meta.cuda.is_known ? 0 : p->totals.stream.kinds[k];
    return count;
}

static void memory_line(struct head *head, const struct tptrace_member *member)
{
    static const char *const sources[] = {
        [TP_MEMORY_FRAMEWORK] = "what the framework's own allocator handed out",
        [TP_MEMORY_CUDA] = "what cudaMalloc and its like allocated",
        [TP_MEMORY_SEGMENTS] = "segments: what cudaMalloc and its like allocated, not what the "
                               "framework's own allocator handed out of them, which it did not "
                               "tell",
    };
    unsigned source = tptrace_memory_source(&member->process);

    if (!source || !begin_member(head, member))
        return;
    tp_buffer_format(head->out, "device memory is %s", sources[source]);
    end(head);
}

static void cuda_lines(struct head *head, const struct tptrace_member *member)
{
    const struct tptrace_totals *t = &member->process.totals;

    count_line(head, member, count_unexplained(&member->process),
               "record{|s} of CUDA {is|are} left out: nothing says how {it was|they were} made");

    cuda_mode_line(head, member);
    cuda_step_line(head, member);
    cuda_loss_lines(head, member);
    if (t->cuda.without_launch && begin_member(head, member)) {
        tp_buffer_count(head->out, t->cuda.without_launch, "piece{|s} of device work (");
        tptrace_duration(head->out, t->cuda.without_launch_ns);
        tp_buffer_format(head->out, ") belong%s to no range: no launch recorded",
                         t->cuda.without_launch == 1 ? "s" : "");
        end(head);
    }
    count_line(head, member, t->cuda.by_external,
               "piece{|s} of device work {was|were} placed by external ids: {its call is|their "
               "calls are} not "
               "recorded");
    cuda_until_line(head, member);
    count_line(head, member, tptrace_calls_without_record(&member->process),
               "CUDA call{|s} {has|have} no record of CUPTI's: neither {it nor its|they nor their} "
               "work {is|are} in the sums");
    memory_line(head, member);
}

/* Said by an earlier process already? */
static bool is_repeated(const struct tptrace_run *run, size_t before, const char *name,
                        const char *why)
{
    for (size_t i = 0; i < before; i++) {
        if (!run->members[i].was_read)
            continue;
        const struct tptrace_meta *meta = &run->members[i].process.meta;
        for (size_t k = 0; k < meta->source_count && name; k++) {
            const char *other = meta->sources[k].why ? meta->sources[k].why : "";
            if (!strcmp(meta->sources[k].name, name) && !strcmp(other, why))
                return true;
        }
        for (size_t k = 0; k < meta->note_count && !name; k++) {
            if (!strcmp(meta->notes[k], why))
                return true;
        }
        if (i > 64) /* enough to keep a large run's head short */
            return false;
    }
    return false;
}

bool tptrace_source_failed(const struct tptrace_meta_source *source)
{
    return source->state && (!strcmp(source->state, "failed") || !strcmp(source->state, "absent"));
}

static void source_lines(struct head *head, size_t index)
{
    const struct tptrace_meta *meta = &head->run->members[index].process.meta;

    for (size_t i = 0; i < meta->source_count; i++) {
        const struct tptrace_meta_source *source = &meta->sources[i];
        const char *why = source->why ? source->why : "";
        bool failed = source->state && !strcmp(source->state, "failed");
        /* what is not seen of allocations changes their numbers */
        bool lacks = source->name && !strcmp(source->name, "malloc") && *why;
        if ((!failed && !lacks) || is_repeated(head->run, index, source->name, why) || !begin(head))
            continue;
        tp_buffer_format(head->out, "source %.64s%s%s%.300s", source->name,
                         failed ? " did not start" : "", *why ? ": " : "", why);
        end(head);
    }
    for (size_t i = 0; i < meta->note_count; i++) {
        if (is_repeated(head->run, index, NULL, meta->notes[i]) || !begin(head))
            continue;
        tp_buffer_format(head->out, "%.500s", meta->notes[i]);
        end(head);
    }
}

static void failed_line(struct head *head, const struct tptrace_member *member)
{
    char text[1024];

    if (!begin(head))
        return;
    tp_diag_print(&member->why, text, sizeof(text));
    tp_buffer_format(head->out, "%s; this process is left out", text);
    end(head);
}

/* Ranks of the job that left no process here. */
static void missing_ranks_line(struct head *head)
{
    const struct tptrace_run *run = head->run;
    int64_t world = 0, missing = 0;

    for (size_t i = 0; i < run->count; i++)
        if (run->members[i].was_read && run->members[i].process.meta.world_size > world)
            world = run->members[i].process.meta.world_size;
    if (world <= 1 || world > RANKS_MAX || run->count < run->found)
        return;
    bool *there = calloc((size_t)world, sizeof(*there));
    if (!there)
        return;
    for (size_t i = 0; i < run->count; i++)
        if (run->members[i].rank >= 0 && run->members[i].rank < world)
            there[run->members[i].rank] = true;
    for (int64_t rank = 0; rank < world; rank++)
        missing += !there[rank];
    if (missing && begin(head)) {
        tp_buffer_format(head->out, "%lld of %lld ranks %s missing:", (long long)missing,
                         (long long)world, missing == 1 ? "is" : "are");
        int64_t shown = 0;
        for (int64_t rank = 0; rank < world && shown < RANKS_SHOWN; rank++)
            if (!there[rank])
                tp_buffer_format(head->out, "%s %lld", shown++ ? "," : "", (long long)rank);
        tp_buffer_string(head->out, missing > RANKS_SHOWN ? ", ..." : "");
        end(head);
    }
    free(there);
}

static void filtered_line(struct head *head)
{
    const struct tptrace_folderless *filtered = &head->run->place.filtered;
    bool one = filtered->count == 1;

    if (!filtered->count || !begin(head))
        return;
    tp_buffer_format(head->out,
                     "%u process%s installed a filter of system calls before %s first event and "
                     "recorded nothing: %.100s%s",
                     filtered->count, one ? "" : "es", one ? "its" : "their",
                     filtered->program ? filtered->program : "unknown",
                     filtered->more_programs ? " and others" : "");
    end(head);
}

/* Processes that did not count their allocations beside others that did. */
static void uncounted_line(struct head *head)
{
    const struct tptrace_run *run = head->run;
    uint64_t uncounted = 0, counted = 0;

    for (size_t i = 0; i < run->count; i++) {
        const struct tptrace_member *member = &run->members[i];
        if (tptrace_counts_memory(member))
            counted++;
        else
            uncounted += member->was_read && member->process.totals.stream.ranges;
    }
    if (!uncounted || !counted || !begin(head))
        return;
    tp_buffer_count(head->out, uncounted,
                    "process{|es} with ranges counted no allocations: 0 bytes of {it|them} in CPU "
                    "Mem");
    end(head);
}

static void windows_line(struct head *head, const struct tptrace_member *member)
{
    if (!member->process.meta.capture_plan || !begin_member(head, member))
        return;
    tptrace_windows_line(head->out, member);
    end(head);
}

void tptrace_head_lines(const struct tptrace_run *run, const struct tp_strings *strings,
                        const char *prefix, size_t limit, struct tp_buffer *out)
{
    struct head head = {
        .run = run, .strings = strings, .out = out, .prefix = prefix, .limit = limit};

    for (size_t i = 0; i < run->count; i++) {
        const struct tptrace_member *member = &run->members[i];
        if (member->failed || !member->was_read) {
            failed_line(&head, member);
            continue;
        }
        windows_line(&head, member);
        state_line(&head, member);
        unfinished_line(&head, member);
        loss_lines(&head, member);
        troubles_lines(&head, member);
        clock_lines(&head, member);
        cuda_lines(&head, member);
        source_lines(&head, i);
    }
    missing_ranks_line(&head);
    uncounted_line(&head);
    filtered_line(&head);
    if (head.left_out)
        tp_buffer_format(out, "%s%zu more such lines; tpreport info has them all\n", prefix,
                         head.left_out);
}

/* ---- JSON ---- */

static void put_text(struct tp_buffer *out, const char *key, const char *text)
{
    if (!text)
        return;
    tp_buffer_format(out, ", \"%s\": ", key);
    tp_json_string(out, text, strlen(text));
}

static void put_count(struct tp_buffer *out, const char *key, uint64_t count)
{
    tp_buffer_format(out, ", \"%s\": %llu", key, (unsigned long long)count);
}

static void put_totals(struct tp_buffer *out, const struct tptrace_member *member)
{
    const struct tptrace_totals *t = &member->process.totals;
    uint64_t records = 0;

    for (unsigned k = 0; k < TP_EVENT_KIND_END; k++)
        records += t->stream.kinds[k];
    put_count(out, "records", records);
    put_count(out, "ranges", t->stream.ranges);
    put_count(out, "folded", t->stream.folded);
    put_count(out, "unfinished", count_unfinished(&member->process));
    put_count(out, "lost_records", t->lost_records);
    put_count(out, "dropped_records", t->dropped_elsewhere);
    put_count(out, "evicted_slots", t->evicted_slots);
    put_count(out, "missing_slots", t->missing_slots);
    put_count(out, "memory_slots", t->memory_slots);
    put_count(out, "damaged_blocks", t->damaged_blocks);
    put_count(out, "damaged_bytes", t->damaged_bytes);
    put_count(out, "unreadable_files", t->unreadable_files);
    put_count(out, "unknown_records", t->unknown_records);
    put_count(out, "cut_by_gap", t->stream.cut_by_gap);
    put_count(out, "ends_without_begin", t->stream.ends_without_begin);
    put_count(out, "without_details", t->stream.without_details);
    put_count(out, "names_missing", (uint64_t)member->names_damaged + member->names_unknown);
}

static void put_summary(struct tp_buffer *out, const struct tptrace_process *p)
{
    const struct tp_summary_totals *t = &p->summary.file.totals;

    if (!p->summary.is_there)
        return;
    tp_buffer_format(out, ", \"summary\": {\"used\": %s, \"first_segment_not_counted\": %u",
                     p->summary.is_used ? "true" : "false", t->first_segment);
    put_count(out, "segments", t->segments);
    put_count(out, "blocks", t->blocks);
    put_count(out, "slots", t->slots);
    put_count(out, "ranges", t->ranges);
    put_count(out, "folded", t->folded);
    put_count(out, "rows", p->summary.row_count);
    put_count(out, "open_ranges", p->summary.open_count);
    put_count(out, "ranges_in_too_many_names", t->crowded);
    put_count(out, "missing_segments", t->missing_segments + tptrace_process_uncounted(p));
    put_count(out, "missing_blocks", t->missing_blocks);
    put_count(out, "missing_slots", t->missing_slots);
    put_count(out, "missing_ranges", t->missing_ranges + t->too_deep);
    put_count(out, "records_in_no_row", t->missing_records);
    put_count(out, "in_no_sketch", t->without_sketch);
    tp_buffer_char(out, '}');
}

static void put_open(struct tp_buffer *out, const struct tptrace_member *member,
                     const struct tp_strings *strings)
{
    tp_buffer_string(out, ", \"open\": [");
    for (size_t i = 0; i < member->open.kept; i++) {
        const struct tptrace_unfinished *range = &member->open.items[i];
        const struct tp_string *name = tp_strings_get(strings, range->name);
        tp_buffer_format(out, "%s{\"thread\": %u, \"start_ns\": %lld, \"age_ns\": %lld, \"name\": ",
                         i ? ", " : "", range->tid, (long long)range->start_ns,
                         (long long)age_of(member, range));
        tp_json_string(out, name->bytes, name->size);
        tp_buffer_char(out, '}');
    }
    tp_buffer_char(out, ']');
}

static void put_sources(struct tp_buffer *out, const struct tptrace_meta *meta)
{
    bool first = true;

    tp_buffer_string(out, ", \"sources_not_started\": [");
    for (size_t i = 0; i < meta->source_count; i++) {
        const struct tptrace_meta_source *source = &meta->sources[i];
        if (!tptrace_source_failed(source))
            continue;
        tp_buffer_string(out, first ? "{\"name\": " : ", {\"name\": ");
        tp_json_string(out, source->name, strlen(source->name));
        put_text(out, "state", source->state);
        put_text(out, "why", source->why);
        tp_buffer_char(out, '}');
        first = false;
    }
    tp_buffer_string(out, "], \"notes\": [");
    for (size_t i = 0; i < meta->note_count; i++) {
        if (i)
            tp_buffer_string(out, ", ");
        tp_json_string(out, meta->notes[i], strlen(meta->notes[i]));
    }
    tp_buffer_char(out, ']');
}

const char *tptrace_state_name(enum tptrace_state state)
{
    static const char *const names[] = {
        [TPTRACE_ENDED] = "ended",
        [TPTRACE_DIED] = "died",
        [TPTRACE_RUNNING] = "running",
        [TPTRACE_WENT_ON] = "exec",
    };

    return names[state];
}

static void put_kinds(struct tp_buffer *out, const struct tptrace_totals *totals)
{
    bool first = true;

    tp_buffer_string(out, ", \"kinds\": {");
    for (unsigned k = 0; k < TP_EVENT_KIND_END; k++) {
        if (!totals->stream.kinds[k])
            continue;
        tp_buffer_format(out, "%s\"%s\": %llu", first ? "" : ", ", tp_kinds[k].name,
                         (unsigned long long)totals->stream.kinds[k]);
        first = false;
    }
    tp_buffer_char(out, '}');
}

static void put_threads(struct tp_buffer *out, const struct tptrace_process *p)
{
    tp_buffer_string(out, ", \"threads\": [");
    for (size_t i = 0; i < p->tracks.count; i++) {
        const struct tptrace_track *track = p->tracks.items[i];
        const struct tptrace_meta_track *said = tptrace_meta_find_track(&p->meta, track->number);
        tp_buffer_format(out, "%s{\"track\": %u, \"tid\": %u, \"slots\": %llu, \"dropped\": %llu",
                         i ? ", " : "", track->number, track->tid,
                         (unsigned long long)track->join.next, (unsigned long long)track->dropped);
        put_text(out, "name", said ? said->name : NULL);
        tp_buffer_char(out, '}');
    }
    tp_buffer_char(out, ']');
}

static void put_all_sources(struct tp_buffer *out, const struct tptrace_meta *meta)
{
    tp_buffer_string(out, ", \"sources\": [");
    for (size_t i = 0; i < meta->source_count; i++) {
        tp_buffer_string(out, i ? ", {\"name\": " : "{\"name\": ");
        tp_json_string(out, meta->sources[i].name, strlen(meta->sources[i].name));
        put_text(out, "state", meta->sources[i].state);
        put_text(out, "why", meta->sources[i].why);
        tp_buffer_char(out, '}');
    }
    tp_buffer_char(out, ']');
}

const char *tptrace_rate_name(enum tptrace_rate rate)
{
    static const char *const names[] = {
        [TPTRACE_RATE_MEASURED] = "measured",
        [TPTRACE_RATE_OTHER] = "another process",
        [TPTRACE_RATE_SAID] = "start line",
        [TPTRACE_RATE_ASSUMED] = "assumed",
    };

    return names[rate];
}

static void put_cuda(struct tp_buffer *out, const struct tptrace_process *p)
{
    const struct tptrace_meta_cuda *cuda = &p->meta.cuda;
    const struct tptrace_cuda_totals *t = &p->totals.cuda;

    if (!cuda->is_known && !cuda->has_lost)
        return;
    tp_buffer_format(out, ", \"cuda\": {\"api\": %llu", (unsigned long long)cuda->api);
    put_text(out, "mode", cuda->mode);
    put_text(out, "library", cuda->library);
    put_text(out, "clock", cuda->clock);
    put_text(out, "graphs", cuda->graphs);
    put_text(out, "why", cuda->why);
    put_count(out, "clock_readings", p->cuda_clock.cupti.pair_count);
    put_count(out, "dropped", cuda->dropped);
    put_count(out, "no_room", cuda->no_room);
    put_count(out, "invalid", cuda->invalid);
    put_count(out, "unknown", cuda->unknown);
    put_count(out, "buffers_refused", cuda->buffers);
    put_count(out, "without_time", without_time(p));
    put_count(out, "without_launch", t->without_launch);
    tp_buffer_format(out, ", \"without_launch_ns\": %lld", (long long)t->without_launch_ns);
    put_count(out, "inner_calls_left_out", t->inner_calls);
    put_count(out, "late_calls", t->late_calls);
    put_count(out, "calls_without_record", tptrace_calls_without_record(p));
    put_count(out, "by_external_id", t->by_external);
    put_text(out, "device_memory_of", tp_device_memory_source_name(tptrace_memory_source(p)));
    tp_buffer_string(out, ", \"devices\": [");
    for (size_t i = 0; i < cuda->device_count; i++) {
        const struct tptrace_cuda_device *device = &cuda->devices[i];
        tp_buffer_format(out,
                         "%s{\"device\": %u, \"memory\": %llu, \"sms\": %u, \"capability\": [%u, "
                         "%u]",
                         i ? ", " : "", device->device, (unsigned long long)device->memory,
                         device->sms, device->major, device->minor);
        put_text(out, "name", device->name);
        put_text(out, "uuid", device->uuid);
        tp_buffer_char(out, '}');
    }
    tp_buffer_format(out, "], \"contexts\": %zu, \"streams\": %zu}", cuda->context_count,
                     cuda->stream_count);
}

/* What only `info` tells. */
static void put_details(struct tp_buffer *out, const struct tptrace_member *member)
{
    const struct tptrace_process *p = &member->process;
    const struct tptrace_totals *t = &p->totals;

    tp_buffer_format(out, ", \"ppid\": %u", p->meta.parent_pid);
    put_text(out, "parent", p->meta.parent);
    put_text(out, "exe", p->meta.exe);
    put_text(out, "agent", p->meta.agent);
    put_text(out, "memory", p->meta.memory);
    put_text(out, "directory", member->dir);
    put_kinds(out, t);
    put_threads(out, p);
    put_all_sources(out, &p->meta);
    put_count(out, "disk_bytes", t->disk_bytes);
    put_count(out, "block_bytes", t->block_bytes);
    put_count(out, "blocks", t->blocks);
    put_count(out, "segments", p->segment_count);
    put_count(out, "rings", t->rings);
    put_count(out, "slots_from_blocks", t->block_slots);
    put_count(out, "slots_from_rings", t->ring_slots);
    put_count(out, "names", member->name_count);
    put_text(out, "clock", p->meta.clock);
    tp_buffer_format(out, ", \"ticks_per_second\": %.0f", p->clock.ticks_per_second);
    put_text(out, "ticks_per_second_from", tptrace_rate_name(member->rate_from));
    put_count(out, "clock_readings", p->clock.pair_count);
    put_count(out, "clock_jumps", p->clock.segments ? p->clock.segments - 1 : 0);
}

static void put_next_image(struct tp_buffer *out, const struct tptrace_run *run,
                           const struct tptrace_member *member)
{
    const struct tptrace_member *image = tptrace_next_image(run, member);
    const char *name = image ? strrchr(image->dir, '/') : NULL;

    put_text(out, "went_on_in", name ? name + 1 : NULL);
}

static void put_member(struct tp_buffer *out, const struct tptrace_run *run,
                       const struct tptrace_member *member, const struct tp_strings *strings,
                       bool all)
{
    char text[1024];

    tp_buffer_format(out, "{\"pid\": %u, \"rank\": ", member->pid);
    if (member->rank >= 0)
        tp_buffer_format(out, "%lld", (long long)member->rank);
    else
        tp_buffer_string(out, "null");
    if (member->failed || !member->was_read) {
        tp_diag_print(&member->why, text, sizeof(text));
        put_text(out, "state", "unreadable");
        put_text(out, "why", text);
    } else {
        const struct tptrace_meta *meta = &member->process.meta;
        put_text(out, "host", meta->host);
        put_text(out, "program", meta->program);
        tp_buffer_format(out, ", \"start_ns\": %lld", (long long)member->start_ns);
        put_text(out, "state", tptrace_state_name(member->process.state));
        put_text(out, "end_reason", meta->end_reason);
        put_next_image(out, run, member);
        put_totals(out, member);
        put_summary(out, &member->process);
        put_open(out, member, strings);
        if (meta->capture_plan) {
            tp_buffer_string(out, ", \"capture\": ");
            tptrace_windows_json(out, member, all);
        }
        put_sources(out, meta);
        put_cuda(out, &member->process);
        if (all)
            put_details(out, member);
    }
    tp_buffer_char(out, '}');
}

void tptrace_head_json(const struct tptrace_run *run, const struct tp_strings *strings, bool all,
                       struct tp_buffer *out)
{
    tp_buffer_string(out, "{\"run\": ");
    tp_json_string(out, run->place.run_name, strlen(run->place.run_name));
    put_text(out, "path", run->place.run_dir);
    tp_buffer_format(
        out,
        ", \"start_ns\": %lld, \"end_ns\": %lld, \"whole\": %s, \"filtered\": %u, \"processes\": [",
        (long long)run->start_ns, (long long)run->end_ns,
        tptrace_run_was_cut(run) ? "false" : "true", run->place.filtered.count);
    for (size_t i = 0; i < run->count; i++) {
        if (i)
            tp_buffer_string(out, ", ");
        put_member(out, run, &run->members[i], strings, all);
    }
    tp_buffer_string(out, "]}");
}
