/* SPDX-License-Identifier: MIT
 * All records of a process in the order of time, by one worker. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/brief.h"
#include "input/tptrace_stream_run.h"

/* A track on its way: one piece of it is in memory, from its first record's time on. */
struct lane {
    struct tptrace_reading *reading;
    const struct tptrace_piece *next, *end; /* pieces to come */
    uint64_t *copy;                         /* slots of a block; NULL: of a ring, or none */
    const uint64_t *slots;
    size_t at, count;
    uint64_t ticks; /* of the next record, or of the next piece; never goes back */
};

struct lanes {
    struct tptrace_pieces pieces;
    struct lane *items;
    struct lane **heap; /* the earliest one on top */
    size_t count;       /* in the heap */
};

static int compare_pieces(const void *a, const void *b)
{
    const struct tptrace_piece *left = a, *right = b;
    uint32_t l = left->track->ordinal, r = right->track->ordinal;

    if (l != r)
        return l < r ? -1 : 1;
    return (left->first_slot > right->first_slot) - (left->first_slot < right->first_slot);
}

static int collect_pieces(struct tptrace_stream_run *run, struct lanes *lanes)
{
    struct tptrace_piece piece;
    int found, error = 0;

    while (!error && (found = tptrace_blocks_next(&run->blocks, &piece)) != 0)
        error = found < 0 ? found : tptrace_pieces_add(&lanes->pieces, &piece);
    if (lanes->pieces.count)
        qsort(lanes->pieces.items, lanes->pieces.count, sizeof(piece), compare_pieces);
    return error;
}

static void sift_down(struct lanes *lanes, size_t at)
{
    struct lane *lane = lanes->heap[at];

    for (size_t child; (child = 2 * at + 1) < lanes->count; at = child) {
        if (child + 1 < lanes->count && lanes->heap[child + 1]->ticks < lanes->heap[child]->ticks)
            child++;
        if (lanes->heap[child]->ticks >= lane->ticks)
            break;
        lanes->heap[at] = lanes->heap[child];
    }
    lanes->heap[at] = lane;
}

static int make_lanes(struct tptrace_stream_run *run, struct lanes *lanes)
{
    const struct tptrace_piece *piece = lanes->pieces.items, *end = piece + lanes->pieces.count;

    lanes->items = calloc(run->process->tracks.count + 1, sizeof(*lanes->items));
    lanes->heap = calloc(run->process->tracks.count + 1, sizeof(struct lane *));
    if (!lanes->items || !lanes->heap)
        return -ENOMEM;
    while (piece < end) {
        struct lane *lane = &lanes->items[lanes->count];
        *lane = (struct lane){.reading = tptrace_stream_reading(run, piece),
                              .next = piece,
                              .ticks = piece->first_ticks};
        if (!lane->reading)
            return -ENOMEM;
        while (piece < end && piece->track == lane->next->track)
            piece++;
        lane->end = piece;
        lanes->heap[lanes->count++] = lane;
    }
    for (size_t i = lanes->count / 2; i-- > 0;)
        sift_down(lanes, i);
    return 0;
}

/* The lane's next piece into memory; a damaged one has no records. */
static int load_piece(struct tptrace_stream_worker *w, struct lane *lane)
{
    struct tp_progress_part *progress = w->run->options->progress;
    const struct tptrace_piece *piece = lane->next++;
    bool open_fits;
    struct tp_block block;

    free(lane->copy);
    lane->copy = NULL;
    lane->at = lane->count = 0;
    if (progress)
        tp_progress_part_step(progress, progress->done += piece->bytes);
    if (piece->segment == TPTRACE_RING) {
        lane->slots = tptrace_stream_ring_slots(w->run, piece);
        lane->count = piece->slots;
        return tptrace_stream_begin_ring(lane->reading, piece);
    }
    int decoded = tptrace_stream_decode(w, piece, &block);
    lane->reading->broken |= !decoded;
    if (decoded <= 0)
        return decoded;
    lane->count = block.slot_count;
    lane->slots = lane->copy = malloc((lane->count + 1) * TP_SLOT_BYTES);
    if (!lane->copy)
        return -ENOMEM;
    memcpy(lane->copy, block.slots, lane->count * TP_SLOT_BYTES);
    return tptrace_stream_begin_block(w->run, lane->reading, piece, &block, &open_fits);
}

/* Of a brief record, as of the first one of a ring that goes on, it is that of the record before.
 */
static uint64_t next_time(const struct lane *lane)
{
    const struct tptrace_piece *next = lane->next;

    if (lane->at < lane->count) {
        const uint64_t *record = lane->slots + lane->at * TP_SLOT_WORDS;
        return tp_is_brief(tp_slot_kind(record))
                   ? lane->ticks
                   : tp_ticks_unwrap(tp_slot_ticks(record), lane->reading->stream.ticks);
    }
    if (next == lane->end || (next->segment == TPTRACE_RING && !next->gap))
        return lane->ticks;
    return next->first_ticks;
}

static void keep_time(struct lane *lane)
{
    uint64_t ticks = next_time(lane);

    if ((int64_t)(ticks - lane->ticks) > 0)
        lane->ticks = ticks;
}

/* Records up to @until. */
static int feed_lane(struct lane *lane, uint64_t until)
{
    struct tp_stream *stream = &lane->reading->stream;
    int error = 0;

    while (lane->at < lane->count && lane->ticks <= until && !error) {
        const uint64_t *record = lane->slots + lane->at * TP_SLOT_WORDS;
        unsigned slots = tp_kind_slots(tp_slot_kind(record));
        if (!slots || slots > lane->count - lane->at) /* what no ring check refuses */
            slots = (unsigned)(lane->count - lane->at);
        else
            error = tp_stream_feed(stream, record, slots);
        lane->at += slots;
        keep_time(lane);
    }
    return error;
}

static int run_lanes(struct tptrace_stream_worker *w, struct lanes *lanes)
{
    int error = 0;

    while (lanes->count && !error) {
        struct lane *lane = lanes->heap[0];
        uint64_t until = UINT64_MAX;
        for (size_t i = 1; i < 3 && i < lanes->count; i++)
            until = lanes->heap[i]->ticks < until ? lanes->heap[i]->ticks : until;
        lane->reading->consumer = w->consumer;
        if (lane->at < lane->count)
            error = feed_lane(lane, until);
        else if (lane->next < lane->end)
            error = load_piece(w, lane);
        else
            lanes->heap[0] = lanes->heap[--lanes->count];
        error = error == -TP_ECORRUPT ? 0 : error;
        keep_time(lane);
        if (lanes->count)
            sift_down(lanes, 0);
    }
    return error;
}

int tptrace_stream_in_time(struct tptrace_stream_run *run)
{
    struct tptrace_stream_worker w = {
        .run = run, .consumer = &run->consumers[0], .decoder = tp_block_decoder_create()};
    struct lanes lanes = {0};
    int error = w.decoder ? collect_pieces(run, &lanes) : -ENOMEM;

    if (!error)
        error = make_lanes(run, &lanes);
    if (!error)
        error = run_lanes(&w, &lanes);
    for (size_t i = 0; lanes.items && i < run->process->tracks.count; i++)
        free(lanes.items[i].copy);
    free(lanes.items);
    free(lanes.heap);
    free(lanes.pieces.items);
    free(w.bytes);
    tp_block_decoder_destroy(w.decoder);
    return error;
}
