/* SPDX-License-Identifier: MIT */
#include "input/tptrace_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/tptrace_file.h"
#include "input/tptrace_segment.h"

void tptrace_blocks_begin(struct tptrace_blocks *blocks, struct tptrace_process *process,
                          bool verify)
{
    *blocks = (struct tptrace_blocks){.process = process, .verify = verify};
    process->last_ticks = 0;
    for (size_t i = 0; i < process->tracks.count; i++) {
        process->tracks.items[i]->join = (struct tptrace_join){0};
        process->tracks.items[i]->last_ticks = process->tracks.items[i]->ordered_ticks = 0;
        process->tracks.items[i]->gap_in_memory = 0;
    }
}

void tptrace_blocks_end(struct tptrace_blocks *blocks)
{
    free(blocks->found.items);
    free(blocks->ready.items);
    *blocks = (struct tptrace_blocks){0};
}

/* ---- one segment ---- */

static void note_trouble(void *context, struct tp_diag *diag)
{
    struct tptrace_blocks *blocks = context;
    char path[TPTRACE_PATH_MAX];

    tptrace_segment_path(path, blocks->process, &blocks->process->segments[blocks->segment]);
    tptrace_trouble(blocks->process, diag, path);
}

static int take_block(void *context, const struct tp_block_header *header, uint64_t offset)
{
    struct tptrace_blocks *blocks = context;
    struct tptrace_process *p = blocks->process;

    if (header->type != TP_BLOCK_EVENTS)
        return 0;
    p->totals.blocks++;
    p->totals.block_bytes += tp_block_stride(header);
    struct tptrace_piece piece = {
        .first_slot = header->first_slot,
        .first_ticks = header->first_ticks,
        .last_ticks = header->last_ticks,
        .offset = offset,
        .slots = header->slots,
        .bytes = header->header_size + header->stored_bytes,
        .segment = (uint32_t)blocks->segment,
    };
    int error = header->first_slot > TPTRACE_SLOT_MAX
                    ? -TP_ECORRUPT
                    : tptrace_process_find_track(p, header->track, &piece.track);
    if (error && error != -ENOMEM) {
        struct tp_diag diag;
        p->totals.damaged_blocks++;
        tp_diag_fail(&diag, error, offset + 20, "block of track %u from slot %llu", header->track,
                     (unsigned long long)header->first_slot);
        note_trouble(blocks, &diag);
        return 0;
    }
    return error ? error : tptrace_pieces_add(&blocks->found, &piece);
}

/* What a scan came to. A block cut at the very end is what a killed writer leaves, and only there.
 */
static void note_scanned(struct tptrace_blocks *blocks, const struct tptrace_scanned *scanned)
{
    struct tptrace_process *p = blocks->process;
    struct tp_diag diag;

    p->totals.damaged_bytes += scanned->skipped_bytes;
    if (!scanned->torn)
        return;
    p->totals.torn_tails++;
    if (p->state == TPTRACE_ENDED || blocks->segment + 1 < p->segment_count) {
        tp_diag_fail(&diag, -TP_ETRUNCATED, p->segments[blocks->segment].size,
                     "the last block is cut");
        note_trouble(blocks, &diag);
    }
}

static int scan_open(struct tptrace_blocks *blocks, int fd, struct tp_diag *diag)
{
    struct tptrace_process *p = blocks->process;
    const struct tptrace_scan scan = {
        .context = blocks, .block = take_block, .trouble = note_trouble};
    struct tptrace_scanned scanned;
    uint64_t size = p->segments[blocks->segment].size;

    int error = tptrace_segment_scan(fd, size, p->meta.has_uuid ? p->meta.uuid : NULL, &scan,
                                     &scanned, diag);
    if (error)
        return error;
    p->totals.disk_bytes += size;
    note_scanned(blocks, &scanned);
    return 0;
}

static int scan_segment(struct tptrace_blocks *blocks)
{
    struct tptrace_process *p = blocks->process;
    struct tptrace_segment *segment = &p->segments[blocks->segment];
    bool last = blocks->segment + 1 == p->segment_count;
    struct tp_diag diag;

    if (segment->number < blocks->first_segment) {
        p->totals.disk_bytes += segment->size;
        return 0;
    }
    int fd = tptrace_segment_open(p, segment, &diag);
    if (fd == -ENOENT)
        return 0; /* evicted since we listed it */
    int error = fd < 0 ? fd : scan_open(blocks, fd, &diag);
    if (fd >= 0 && fd != segment->fd)
        close(fd);
    if (!error || error == -ENOMEM)
        return error;
    /* Just begun: the last one, or the last that the process itself made. */
    if (error == -TP_ETRUNCATED && p->state != TPTRACE_ENDED && (last || p->meta.recovered))
        return 0;
    p->totals.unreadable_files++;
    note_trouble(blocks, &diag);
    return 0;
}

/* ---- the order of threads ---- */

static int compare_beginnings(const void *a, const void *b)
{
    const struct tptrace_piece *left = a, *right = b;

    if (left->first_ticks != right->first_ticks)
        return left->first_ticks < right->first_ticks ? -1 : 1;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

/* What CUDA did is told after the thread that had it do so tells of the call, but stands before it
 * in the file if that thread's ring was emptied later. In the order of their first records what
 * waits for what is little. A track's own blocks stay in order, or all stay where they are. */
static void order_threads(struct tptrace_blocks *blocks)
{
    struct tptrace_process *p = blocks->process;

    if (!p->meta.cuda.is_known || blocks->verify || !blocks->found.count)
        return;
    for (size_t i = 0; i < blocks->found.count; i++) {
        const struct tptrace_piece *piece = &blocks->found.items[i];
        if (piece->first_ticks < piece->track->ordered_ticks)
            return;
        piece->track->ordered_ticks = piece->first_ticks;
    }
    qsort(blocks->found.items, blocks->found.count, sizeof(*blocks->found.items),
          compare_beginnings);
}

/* ---- joined ---- */

/* What was before a track's first slots was deleted to stay under a limit. */
static bool may_begin_late(const struct tptrace_process *p)
{
    return tptrace_process_evicted(p) || p->summary.is_used;
}

/* Slots that came when the recording might not grow any more: in no block, and told as dropped. */
static uint64_t count_discarded(const struct tptrace_process *p)
{
    const char *reason = tptrace_loss_reason(TP_LOSS_DISCARDED);
    uint64_t told = 0;

    for (size_t i = 0; i < p->meta.drop_count; i++)
        if (p->meta.drops[i].reason && !strcmp(p->meta.drops[i].reason, reason))
            told += p->meta.drops[i].count;
    return told + p->losses.untold[TP_LOSS_DISCARDED];
}

/* Slots that are not there, from @from on. */
static void note_gap(struct tptrace_blocks *blocks, struct tptrace_track *track, uint64_t from,
                     uint64_t slots)
{
    struct tptrace_process *p = blocks->process;
    struct tp_diag diag;

    uint64_t in_memory = tptrace_losses_in_memory(&p->losses, track, from, slots);
    p->totals.memory_slots += in_memory;
    if (from != track->join.begins_at)
        track->gap_in_memory += in_memory;
    if (!blocks->verify || in_memory == slots ||
        (from == track->join.begins_at && may_begin_late(p)) || count_discarded(p))
        return;
    tp_diag_fail(&diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                 "track %u: slots %llu to %llu are missing", track->number,
                 (unsigned long long)from, (unsigned long long)(from + slots - 1));
    tptrace_trouble(p, &diag, p->dir);
}

static void count_piece(struct tptrace_blocks *blocks, const struct tptrace_piece *piece)
{
    struct tptrace_process *p = blocks->process;
    struct tptrace_track *track = piece->track;

    if (piece->gap)
        note_gap(blocks, track, piece->first_slot - piece->gap, piece->gap);
    if (piece->segment == TPTRACE_RING)
        p->totals.ring_slots += piece->slots;
    else
        p->totals.block_slots += piece->slots - piece->skip;
    if (piece->last_ticks > track->last_ticks)
        track->last_ticks = piece->last_ticks;
    if (piece->last_ticks > p->last_ticks)
        p->last_ticks = piece->last_ticks;
}

/* All of a track has been read: what is missing? */
static void count_missing(struct tptrace_blocks *blocks, struct tptrace_track *track)
{
    struct tptrace_process *p = blocks->process;
    const struct tptrace_meta_total *said = tptrace_meta_find_total(&p->meta, track->number);
    uint64_t end = tptrace_losses_memory_end(&p->losses, track);
    struct tptrace_totals *totals = &p->totals;
    struct tptrace_join *join = &track->join;

    if (said)
        tptrace_track_dropped(p, track, said->dropped, NULL);
    if (said && said->slots > end && said->slots < TPTRACE_SLOT_MAX)
        end = said->slots;
    if (end > join->next) {
        note_gap(blocks, track, join->next, end - join->next);
        if (join->next != join->begins_at)
            join->gap_slots += end - join->next;
        else
            join->first_gap = end; /* nothing of it is left */
        join->gaps++;
    }
    uint64_t first_gap =
        join->first_gap - tptrace_losses_in_memory(&p->losses, track, 0, join->first_gap);
    if (may_begin_late(p))
        totals->evicted_slots += first_gap;
    else
        totals->missing_slots += first_gap;
    totals->missing_slots += join->gap_slots - track->gap_in_memory;
    totals->gaps += join->gaps;
    totals->double_slots += join->double_slots;
}

/* All tracks have been read: of evictions and of what was discarded the process knows all. */
static void settle_losses(struct tptrace_process *p)
{
    struct tptrace_totals *totals = &p->totals;
    uint64_t discarded = count_discarded(p);

    if (p->losses.counts[TP_LOSS_EVICTED_SLOTS] > totals->evicted_slots)
        totals->evicted_slots = p->losses.counts[TP_LOSS_EVICTED_SLOTS];
    totals->missing_slots -= discarded < totals->missing_slots ? discarded : totals->missing_slots;
}

/* Make the next pieces ready. Return: 1 when there may be some, 0 at the end, negative. */
static int make_ready(struct tptrace_blocks *blocks)
{
    struct tptrace_process *p = blocks->process;
    int error;

    blocks->ready.count = blocks->ready_at = 0;
    if (blocks->found_at < blocks->found.count) {
        const struct tptrace_piece *block = &blocks->found.items[blocks->found_at++];
        error =
            tptrace_join_block(&block->track->join, &block->track->rings, block, &blocks->ready);
    } else if (blocks->segment < p->segment_count) {
        blocks->found.count = blocks->found_at = 0;
        error = scan_segment(blocks);
        order_threads(blocks);
        blocks->segment++;
    } else if (blocks->track < p->tracks.count) {
        struct tptrace_track *track = p->tracks.items[blocks->track++];
        error = tptrace_join_end(&track->join, &track->rings, &blocks->ready);
        if (!error)
            count_missing(blocks, track);
        if (!error && blocks->track == p->tracks.count)
            settle_losses(p);
    } else {
        return 0;
    }
    return error ? error : 1;
}

int tptrace_blocks_next(struct tptrace_blocks *blocks, struct tptrace_piece *ret_piece)
{
    while (blocks->ready_at == blocks->ready.count) {
        int more = make_ready(blocks);
        if (more <= 0)
            return more;
    }
    *ret_piece = blocks->ready.items[blocks->ready_at++];
    count_piece(blocks, ret_piece);
    return 1;
}
