/* SPDX-License-Identifier: MIT */
#include "input/tptrace_stream_run.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "event/brief.h"
#include "input/tptrace_file.h"

#define WORTH_A_WORKER (64u << 10) /* bytes on disk: about a dozen blocks */

/* A piece on its way: what a worker took. */
struct job {
    struct tptrace_piece piece;
    struct tptrace_reading *reading;
    uint32_t turn;       /* its number among those of its track */
    uint64_t done_bytes; /* of all pieces so far, where progress is shown */
};

unsigned tptrace_worker_count(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set))
        return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > 64 ? 64 : (unsigned)count;
}

/* ---- what comes out of the streams ---- */

/* Keep the earliest ones, sorted. */
static void keep_open(struct tptrace_open_ranges *open, const struct tptrace_unfinished *range)
{
    size_t at = open->kept;

    while (at && open->items[at - 1].start_ns > range->start_ns)
        at--;
    if (at == TPTRACE_UNFINISHED_KEPT)
        return;
    if (open->kept < TPTRACE_UNFINISHED_KEPT)
        open->kept++;
    memmove(&open->items[at + 1], &open->items[at], (open->kept - 1 - at) * sizeof(*range));
    open->items[at] = *range;
}

static int take_range(void *context, const struct tp_stream_range *range)
{
    struct tptrace_reading *r = context;

    if (__builtin_expect(range->how == TP_STREAM_UNFINISHED, 0)) {
        struct tptrace_unfinished item = {.name = range->name->name,
                                          .tid = r->source.track->tid,
                                          .start_ns = range->start_ns,
                                          .class_ = range->class_};
        pthread_mutex_lock(&r->run->lock);
        keep_open(r->run->open, &item);
        pthread_mutex_unlock(&r->run->lock);
    }
    if (!r->consumer->range)
        return 0;
    return r->consumer->range(r->consumer->context, &r->source, range);
}

static const struct tp_stream_name *async_name(const struct tptrace_stream_run *run,
                                               const uint64_t *record)
{
    const struct tp_stream_names *names = tptrace_names_stream(run->names);
    uint32_t id = tp_slot_argument(record);
    bool nvtx = (record[5] & 0xff) == TP_CLASS_NVTX;
    const struct tp_stream_name *name =
        id < names->count ? (nvtx ? names->nvtx : names->plain)[id] : NULL;

    return name ? name : names->unknown(names->context, id);
}

/* @end is NULL for a range without one. */
static int deliver_async(struct tptrace_stream_run *run, const struct tptrace_source *source,
                         const struct tptrace_consumer *consumer,
                         const struct tptrace_async_half *begin,
                         const struct tptrace_async_half *end, int64_t last_ns)
{
    struct tptrace_async async = {
        .name = async_name(run, begin->record),
        .start_ns = begin->ns,
        .end_ns = end ? end->ns : last_ns,
        .sequence = begin->sequence,
        .tid = begin->tid,
        .end_tid = end ? end->tid : begin->tid,
        .how = end ? TP_STREAM_ENDED : TP_STREAM_UNFINISHED,
    };

    memcpy(async.record, begin->record, sizeof(async.record));
    if (async.end_ns < async.start_ns)
        async.end_ns = async.start_ns;
    const struct tptrace_stream_options *options = run->options;
    if (options->window_count &&
        !tp_stream_in_windows(options->windows, options->window_count, async.start_ns))
        return 0;
    if (async.name->filtered || !consumer->async)
        return 0;
    return consumer->async(consumer->context, source, &async);
}

static int take_point(void *context, const uint64_t *record, int64_t ns, uint64_t sequence)
{
    struct tptrace_reading *r = context;
    struct tptrace_stream_run *run = r->run;
    unsigned kind = tp_slot_kind(record);
    struct tptrace_async_half half = {.id = record[4],
                                      .is_end = kind == TP_EVENT_ASYNC_END,
                                      .ns = ns,
                                      .sequence = sequence,
                                      .tid = r->source.track->tid,
                                      .ordinal = r->source.track->ordinal};
    struct tptrace_async_half other;

    if (kind == TP_EVENT_MEMORY)
        return 0;
    memcpy(half.record, record, tp_kind_slots(kind) * TP_SLOT_BYTES);
    pthread_mutex_lock(&run->lock);
    int matched = tptrace_async_match(&run->async, &half, &other);
    run->process->totals.async_ranges += matched == 1;
    run->process->totals.async_without_begin += matched == -TP_ELIMIT;
    pthread_mutex_unlock(&run->lock);
    if (matched != 1)
        return matched == -TP_ELIMIT ? 0 : matched;
    return half.is_end ? deliver_async(run, &r->source, r->consumer, &other, &half, 0)
                       : deliver_async(run, &r->source, r->consumer, &half, &other, 0);
}

static int take_cuda(void *context, const uint64_t *record, uint64_t ticks)
{
    struct tptrace_reading *r = context;

    bool framework = tp_slot_kind(record) == TP_EVENT_MEMORY;

    if (!r->consumer->cuda || (!framework && !r->run->process->meta.cuda.is_known))
        return 0; /* nobody knows what its times are */
    return r->consumer->cuda(r->consumer->context, &r->source, record, ticks, &r->stream);
}

static int take_alloc(void *context, const uint64_t *record, uint64_t ticks)
{
    struct tptrace_reading *r = context;

    if (!r->consumer->alloc)
        return 0;
    return r->consumer->alloc(r->consumer->context, &r->source, record, ticks, &r->stream);
}

/* ---- watching ---- */

static void watch_ended(void *context, const struct tp_stream_range *range)
{
    struct tptrace_reading *r = context;

    r->consumer->watcher->ended(r->consumer->context, &r->source, range);
}

static void watch_folded(void *context, const struct tp_stream_range *range,
                         const struct tp_stream_range *parent)
{
    struct tptrace_reading *r = context;

    r->consumer->watcher->folded(r->consumer->context, &r->source, range, parent);
}

static void watch_merge(void *context, const struct tp_stream_range *into, void **into_note,
                        void *note, bool fold)
{
    struct tptrace_reading *r = context;

    r->failed |=
        r->consumer->watcher->merge(r->consumer->context, into, into_note, note, fold) != 0;
}

static const struct tp_stream_watcher stream_watcher = {
    .ended = watch_ended, .folded = watch_folded, .merge = watch_merge};

static void begin_watch(const struct tptrace_reading *r)
{
    if (r->is_watched)
        r->consumer->watcher->begin_piece(r->consumer->context);
}

static int end_watch(struct tptrace_reading *r, int error)
{
    int ended = r->is_watched
                    ? r->consumer->watcher->end_piece(r->consumer->context, &r->source, &r->stream)
                    : 0;

    if (!error && r->failed)
        error = -ENOMEM;
    return error ? error : ended;
}

static int drop_range(void *context, const struct tp_stream_range *range)
{
    (void)context;
    (void)range;
    return 0;
}

/* ---- which threads ---- */

bool tptrace_thread_is(const struct tptrace_meta *meta, const char *wanted, uint32_t tid)
{
    char *end;

    if (!wanted)
        return true;
    unsigned long number = strtoul(wanted, &end, 10);
    if (end != wanted && !*end && number == tid)
        return true;
    for (size_t i = 0; i < meta->track_count; i++) {
        const struct tptrace_meta_track *track = &meta->tracks[i];
        if (track->tid == tid && track->name && !strcmp(track->name, wanted))
            return true;
    }
    return false;
}

static bool thread_is_wanted(const struct tptrace_stream_run *run,
                             const struct tptrace_track *track)
{
    return tptrace_thread_is(&run->process->meta, run->options->thread, track->tid);
}

/* Device work is recorded by other threads than those that launched it, and a block may be freed by
 * another thread than the one that allocated it. */
static bool track_is_read(const struct tptrace_stream_run *run, const struct tptrace_track *track)
{
    return run->options->in_time || tptrace_cuda_is(&run->process->meta.cuda, "cupti") ||
           thread_is_wanted(run, track);
}

/* ---- one piece ---- */

/* Who reads a track, made with its first piece; under the lock. */
struct tptrace_reading *tptrace_stream_reading(struct tptrace_stream_run *run,
                                               const struct tptrace_piece *piece)
{
    struct tptrace_reading *r = piece->track->reading;

    if (r)
        return r;
    r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->run = run;
    r->source = (struct tptrace_source){
        .process = run->process,
        .track = piece->track,
        .names = run->names,
        .ordinal = run->options->first_ordinal + piece->track->ordinal,
        .user = run->options->user,
        .is_muted = !thread_is_wanted(run, piece->track),
        .options = run->options,
        .cuda_totals = &run->process->totals.cuda,
        .note = &r->note,
    };
    r->is_watched =
        run->consumers[0].watcher && !r->source.is_muted && run->process->meta.cuda.is_known;
    struct tp_stream_config config = {
        .clock = &run->process->clock,
        .names = tptrace_names_stream(run->names),
        .fold = run->options->fold,
        .windows = run->options->windows,
        .window_count = run->options->window_count,
        .context = r,
        .range = r->source.is_muted ? drop_range : take_range,
        .point = r->source.is_muted ? NULL : take_point,
        .cuda = take_cuda,
        .alloc = take_alloc,
        .watcher = r->is_watched ? &stream_watcher : NULL,
    };
    tp_stream_init(&r->stream, &config, piece->first_ticks);
    piece->track->reading = r;
    return r;
}

/* Without the records that another piece has: those of the first @skip slots of the ring, which end
 * with a record. */
static bool skip_records(struct tp_block *block, uint32_t skip)
{
    uint32_t in_ring = 0;

    while (in_ring < skip && block->slot_count) {
        unsigned slots = tp_kind_slots(tp_slot_kind(block->slots));
        in_ring += tp_ring_slots(block->slots);
        block->slots += (size_t)slots * TP_SLOT_WORDS;
        block->slot_count -= slots;
    }
    return in_ring == skip;
}

static void lose_piece(struct tptrace_stream_run *run, const struct tptrace_piece *piece,
                       struct tp_diag *diag)
{
    struct tptrace_process *process = run->process;
    char path[TPTRACE_PATH_MAX];

    tptrace_segment_path(path, process, &process->segments[piece->segment]);
    tptrace_trouble(process, diag, path);
    pthread_mutex_lock(&run->lock);
    process->totals.damaged_blocks++;
    process->totals.damaged_slots += piece->slots - piece->skip;
    process->totals.block_slots -= piece->slots - piece->skip;
    pthread_mutex_unlock(&run->lock);
}

/* Return: 1 with what no other piece has of a block, 0 when it is damaged (noted), negative to
 * stop. */
int tptrace_stream_decode(struct tptrace_stream_worker *w, const struct tptrace_piece *piece,
                          struct tp_block *ret_block)
{
    struct tptrace_stream_run *run = w->run;
    struct tp_diag diag;
    int64_t n = tptrace_process_read_piece(run->process, piece, &w->bytes, &w->capacity, &diag);

    int error =
        n < 0 ? (int)n
              : tp_block_decode(w->decoder, w->bytes, (uint64_t)n, piece->offset, ret_block, &diag);
    if (!error && piece->skip &&
        (ret_block->unknown_records || !skip_records(ret_block, piece->skip)))
        error = tp_diag_fail(
            &diag, -TP_ECORRUPT, piece->offset + 24,
            "block from slot %llu overlaps the one before it by %u slots, which end in a record",
            (unsigned long long)piece->first_slot, piece->skip);
    if (!error)
        return 1;
    lose_piece(run, piece, &diag);
    return error == -ENOMEM ? error : 0;
}

static void note_difference(struct tptrace_stream_run *run, const struct tptrace_piece *piece,
                            const char *what, uint64_t found, uint64_t expected)
{
    char path[TPTRACE_PATH_MAX];
    struct tp_diag diag;

    tp_diag_fail(&diag, -TP_ECORRUPT, piece->offset,
                 "block of track %u from slot %llu: %s %llu, expected %llu", piece->track->number,
                 (unsigned long long)piece->first_slot, what, (unsigned long long)found,
                 (unsigned long long)expected);
    tptrace_segment_path(path, run->process, &run->process->segments[piece->segment]);
    tptrace_trouble(run->process, &diag, path);
}

/* @lost_before, @open_fits: before the block was fed, unless it begins anew. */
static void verify_block(struct tptrace_stream_run *run, const struct tptrace_reading *r,
                         const struct tptrace_piece *piece, const struct tp_block *block,
                         uint64_t lost_before, bool open_fits)
{
    uint64_t lost = r->stream.counts.lost_records - lost_before;

    if (!open_fits)
        note_difference(run, piece,
                        "ranges open at its start are not those of the records before; open slots",
                        block->open_slots, r->stream.depth);
    if (block->unknown_records || piece->skip)
        return;
    if (r->stream.ticks != block->header.last_ticks)
        note_difference(run, piece, "last time", block->header.last_ticks, r->stream.ticks);
    if ((lost < UINT32_MAX ? lost : UINT32_MAX) != block->header.lost)
        note_difference(run, piece, "records lost", block->header.lost, lost);
}

/* Before the first record of a block. */
int tptrace_stream_begin_block(struct tptrace_stream_run *run, struct tptrace_reading *r,
                               const struct tptrace_piece *piece, const struct tp_block *block,
                               bool *ret_open_fits)
{
    int error = 0;

    if (piece->gap || r->broken)
        error = tp_stream_restart(&r->stream, block->open, block->open_slots,
                                  block->header.first_ticks);
    else if (run->options->verify)
        *ret_open_fits = tp_stream_has_open(&r->stream, block->open, block->open_slots);
    r->broken = false;
    if (block->unknown_records) {
        pthread_mutex_lock(&run->lock);
        run->process->totals.unknown_records += block->unknown_records;
        pthread_mutex_unlock(&run->lock);
    }
    return error;
}

static int feed_block(struct tptrace_stream_run *run, struct tptrace_reading *r,
                      const struct tptrace_piece *piece, const struct tp_block *block)
{
    uint64_t lost = r->stream.counts.lost_records;
    bool verify = run->options->verify, open_fits = true;
    int error = tptrace_stream_begin_block(run, r, piece, block, &open_fits);

    if (error)
        return error;
    error = tp_stream_feed(&r->stream, block->slots, block->slot_count);
    if (verify && !error)
        verify_block(run, r, piece, block, lost, open_fits);
    return error;
}

const uint64_t *tptrace_stream_ring_slots(const struct tptrace_stream_run *run,
                                          const struct tptrace_piece *piece)
{
    return run->process->ring_slots + piece->offset * TP_SLOT_WORDS;
}

int tptrace_stream_begin_ring(struct tptrace_reading *r, const struct tptrace_piece *piece)
{
    bool goes_on = piece->first_slot && !piece->gap && !r->broken;
    uint64_t before[TP_SLOT_WORDS];
    int error = 0;

    if (piece->gap || r->broken)
        error = tp_stream_restart(&r->stream, NULL, 0, piece->first_ticks);
    if (!goes_on && tp_brief_before(tptrace_stream_ring_slots(r->run, piece), piece->slots, before))
        memcpy(r->stream.counters, before + 1, sizeof(r->stream.counters));
    r->broken = false;
    return error;
}

static int feed_ring(struct tptrace_stream_run *run, struct tptrace_reading *r,
                     const struct tptrace_piece *piece)
{
    int error = tptrace_stream_begin_ring(r, piece);

    return error ? error
                 : tp_stream_feed(&r->stream, tptrace_stream_ring_slots(run, piece), piece->slots);
}

/* Wait until all pieces before this one on its track are done. Return: false when the run failed.
 */
static bool wait_for_turn(struct tptrace_stream_run *run, const struct job *job)
{
    pthread_mutex_lock(&run->lock);
    while (job->reading->done != job->turn && !run->error)
        pthread_cond_wait(&run->turn, &run->lock);
    bool go = !run->error;
    pthread_mutex_unlock(&run->lock);
    return go;
}

static void end_turn(struct tptrace_stream_run *run, const struct job *job, int error)
{
    pthread_mutex_lock(&run->lock);
    job->reading->done++;
    if (error && !run->error)
        run->error = error;
    pthread_cond_broadcast(&run->turn);
    pthread_mutex_unlock(&run->lock);
}

static int read_piece(struct tptrace_stream_worker *w, const struct job *job)
{
    struct tptrace_stream_run *run = w->run;
    struct tptrace_reading *r = job->reading;
    struct tp_block block;
    bool ring = job->piece.segment == TPTRACE_RING;
    int decoded = ring ? 1 : tptrace_stream_decode(w, &job->piece, &block);
    int error = decoded < 0 ? decoded : 0;

    if (!wait_for_turn(run, job))
        return -ECANCELED;
    r->consumer = w->consumer;
    r->broken |= !decoded;
    begin_watch(r);
    if (ring)
        error = feed_ring(run, r, &job->piece);
    else if (decoded > 0)
        error = feed_block(run, r, &job->piece, &block);
    if (error == -TP_ECORRUPT) /* records that a decoder lets pass and no ring check does */
        error = 0;
    error = end_watch(r, error);
    tp_stream_rest(&r->stream);
    end_turn(run, job, error);
    return error;
}

/* ---- all pieces ---- */

/* The next piece. Return: false when there is none, or the run has failed. */
static bool take_next(struct tptrace_stream_run *run, struct job *job)
{
    int found = 0;

    pthread_mutex_lock(&run->lock);
    while (!run->error && (found = tptrace_blocks_next(&run->blocks, &job->piece)) > 0 &&
           !track_is_read(run, job->piece.track))
        found = 0;
    if (found > 0) {
        job->reading = tptrace_stream_reading(run, &job->piece);
        if (job->reading)
            job->turn = job->reading->given++;
        else
            found = -ENOMEM;
    }
    if (found < 0)
        run->error = found;
    if (found > 0 && run->options->progress)
        job->done_bytes = run->options->progress->done += job->piece.bytes;
    pthread_mutex_unlock(&run->lock);
    return found > 0;
}

/* One thread shows what all have read. */
static void show_progress(const struct tptrace_stream_worker *w, const struct job *job)
{
    const struct tp_progress_part *progress = w->run->options->progress;

    if (progress && w->consumer == &w->run->consumers[0])
        tp_progress_part_step(progress, job->done_bytes);
}

static void *work(void *argument)
{
    struct tptrace_stream_worker *w = argument;
    struct job job;

    while (take_next(w->run, &job)) {
        show_progress(w, &job);
        if (read_piece(w, &job))
            break;
    }
    return NULL;
}

/* ---- the end ---- */

static void free_readings(struct tptrace_stream_run *run)
{
    const struct tptrace_tracks *tracks = &run->process->tracks;

    for (size_t i = 0; i < tracks->count; i++) {
        if (tracks->items[i]->reading)
            tp_stream_fini(&tracks->items[i]->reading->stream);
        free(tracks->items[i]->reading);
        tracks->items[i]->reading = NULL;
    }
}

static void add_counts(struct tptrace_totals *totals, const struct tptrace_reading *r)
{
    if (!r->source.is_muted) {
        tp_stream_add_counts(&totals->stream, &r->stream.counts);
        return;
    }
    for (unsigned k = TP_EVENT_CUDA_CALL; k <= TP_EVENT_CUDA_NODE; k++)
        totals->stream.kinds[k] += r->stream.counts.kinds[k];
}

/* All records have been read: what is still open is unfinished. */
static int finish_tracks(struct tptrace_stream_run *run)
{
    const struct tptrace_tracks *tracks = &run->process->tracks;
    struct tptrace_totals *totals = &run->process->totals;
    uint64_t told = 0; /* of threads that are gone */
    int error = 0;

    for (size_t i = 0; i < tracks->count && !error; i++) {
        const struct tptrace_track *track = tracks->items[i];
        struct tptrace_reading *r = track->reading;
        uint64_t lost = 0;
        if (r) {
            r->consumer = &run->consumers[0];
            begin_watch(r);
            if (track->join.begins_at && !r->given) /* what ended where nobody counted: unknown */
                error = tp_stream_restart(&r->stream, NULL, 0, r->stream.ticks);
            if (!error)
                error = tp_stream_finish(&r->stream, run->process->last_ticks);
            error = end_watch(r, error);
            if (!error && r->consumer->end_track && !r->source.is_muted)
                error = r->consumer->end_track(r->consumer->context, &r->source, &r->stream);
            add_counts(totals, r);
            lost = r->stream.counts.lost_records;
        }
        if (lost < track->dropped)
            lost = track->dropped;
        if (thread_is_wanted(run, track))
            totals->lost_records += lost;
        told += track->has_ring ? 0 : lost;
    }
    if (!run->options->thread && run->process->losses.counts[TP_LOSS_RING_FULL] > told)
        totals->lost_records += run->process->losses.counts[TP_LOSS_RING_FULL] - told;
    return error;
}

static int finish_async(struct tptrace_stream_run *run)
{
    struct tptrace_process *p = run->process;
    const struct tptrace_async_half *half;
    size_t cursor = 0, at = 0;
    int error = 0;

    if (!run->async.used)
        return 0;
    int64_t last_ns = tp_clock_ns(&p->clock, &cursor, p->last_ticks);
    while (!error && (half = tptrace_async_next(&run->async, &at))) {
        if (half->is_end) {
            p->totals.async_without_begin++;
            continue;
        }
        struct tptrace_source source = {.process = p,
                                        .track = p->tracks.items[half->ordinal],
                                        .names = run->names,
                                        .ordinal = run->options->first_ordinal + half->ordinal,
                                        .user = run->options->user};
        struct tptrace_unfinished item = {.name = async_name(run, half->record)->name,
                                          .tid = source.track->tid,
                                          .start_ns = half->ns};
        p->totals.async_unfinished++;
        keep_open(run->open, &item);
        error = deliver_async(run, &source, &run->consumers[0], half, NULL, last_ns);
    }
    return error;
}

/* Workers beyond what there is to do would only cost their start. */
static unsigned count_workers(const struct tptrace_stream_run *run)
{
    uint64_t bytes = 0, wanted = run->options->workers;

    for (size_t i = 0; i < run->process->segment_count; i++)
        bytes += run->process->segments[i].size;
    if (wanted > 1 + bytes / WORTH_A_WORKER)
        wanted = 1 + bytes / WORTH_A_WORKER;
    return wanted > 64 ? 64 : (unsigned)wanted;
}

static int run_workers(struct tptrace_stream_run *run)
{
    unsigned wanted = count_workers(run), started = 0;
    struct tptrace_stream_worker workers[64] = {0};

    for (unsigned i = 0; i < wanted; i++) {
        struct tptrace_stream_worker *w = &workers[i];
        *w = (struct tptrace_stream_worker){
            .run = run, .consumer = &run->consumers[i], .decoder = tp_block_decoder_create()};
        if (!w->decoder)
            break;
        started++;
    }
    unsigned threads = 0;
    for (unsigned i = 1;
         i < started && !pthread_create(&workers[i].thread, NULL, work, &workers[i]); i++)
        threads = i;
    if (started)
        work(&workers[0]);
    for (unsigned i = 1; i <= threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < wanted; i++) {
        tp_block_decoder_destroy(workers[i].decoder);
        free(workers[i].bytes);
    }
    return started ? run->error : -ENOMEM;
}

/* ---- the whole ---- */

int tptrace_stream_process(struct tptrace_process *process, struct tptrace_names *names,
                           const struct tptrace_stream_options *options,
                           const struct tptrace_consumer *consumers,
                           struct tptrace_open_ranges *ret_open)
{
    struct tptrace_stream_run run = {.process = process,
                                     .names = names,
                                     .options = options,
                                     .consumers = consumers,
                                     .open = ret_open};

    *ret_open = (struct tptrace_open_ranges){0};
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.turn, NULL);
    tptrace_blocks_begin(&run.blocks, process, options->verify);
    process->summary.is_used = tptrace_stream_wants_summary(&run);
    int error = process->summary.is_used ? tptrace_stream_begin_evicted(&run) : 0;
    if (!error)
        error = options->in_time ? tptrace_stream_in_time(&run) : run_workers(&run);
    if (!error)
        error = finish_tracks(&run);
    if (!error)
        error = finish_async(&run);
    for (unsigned i = 0; i < options->workers && !error; i++) {
        if (consumers[i].end_process)
            error = consumers[i].end_process(consumers[i].context);
    }
    free_readings(&run);
    tptrace_blocks_end(&run.blocks);
    tptrace_async_fini(&run.async);
    pthread_cond_destroy(&run.turn);
    pthread_mutex_destroy(&run.lock);
    return error;
}
