/* SPDX-License-Identifier: MIT */
#include "input/tptrace_join.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int tptrace_pieces_add(struct tptrace_pieces *pieces, const struct tptrace_piece *piece)
{
    if (pieces->count >= UINT32_MAX)
        return -TP_ELIMIT;
    if (pieces->count == pieces->capacity) {
        size_t capacity = pieces->capacity ? pieces->capacity * 2 : 64;
        struct tptrace_piece *items = realloc(pieces->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        pieces->items = items;
        pieces->capacity = capacity;
    }
    pieces->items[pieces->count++] = *piece;
    return 0;
}

int tptrace_piece_compare(const void *a, const void *b)
{
    const struct tptrace_piece *left = a, *right = b;

    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    if (left->first_slot != right->first_slot)
        return left->first_slot < right->first_slot ? -1 : 1;
    if ((left->segment == TPTRACE_RING) != (right->segment == TPTRACE_RING))
        return left->segment == TPTRACE_RING ? 1 : -1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static int append(struct tptrace_pieces *joined, struct tptrace_join *join, struct tptrace_piece piece)
{
    piece.gap = 0;
    if (piece.first_slot > join->next) {
        piece.gap = piece.first_slot - join->next;
        if (join->next)
            join->gap_slots += piece.gap;
        else
            join->first_gap = piece.gap;
        join->gaps++;
    }
    join->next = piece.first_slot + piece.slots;
    return tptrace_pieces_add(joined, &piece);
}

/* What rings have of [join->next, @end). @rings: from here on in @pieces, blocks among them are passed over. */
static int fill_from_rings(const struct tptrace_piece *pieces, size_t count, uint64_t end,
                           struct tptrace_pieces *joined, struct tptrace_join *join)
{
    int error = 0;

    for (size_t i = 0; i < count && pieces[i].first_slot < end && !error; i++) {
        struct tptrace_piece part = pieces[i];
        uint64_t ring_end = part.first_slot + part.slots;
        if (part.segment != TPTRACE_RING || ring_end <= join->next)
            continue;
        uint64_t from = part.first_slot > join->next ? part.first_slot : join->next;
        uint64_t to = ring_end < end ? ring_end : end;
        if (from >= to)
            continue;
        part.offset += from - part.first_slot;
        part.first_slot = from;
        part.slots = (uint32_t)(to - from);
        error = append(joined, join, part);
    }
    return error;
}

int tptrace_join_track(const struct tptrace_piece *pieces, size_t count, struct tptrace_pieces *joined,
                       struct tptrace_join *ret_join)
{
    struct tptrace_join join = {0};
    size_t ring = count; /* the first ring: rings are few and stand near the end */
    int error = 0;

    for (size_t i = count; i-- > 0;)
        ring = pieces[i].segment == TPTRACE_RING ? i : ring;
    for (size_t i = 0; i < count && !error; i++) {
        struct tptrace_piece block = pieces[i];
        if (block.segment == TPTRACE_RING)
            continue;
        if (block.first_slot > join.next)
            error = fill_from_rings(pieces + ring, count - ring, block.first_slot, joined, &join);
        uint64_t end = block.first_slot + block.slots;
        uint64_t twice = block.first_slot < join.next ? (end < join.next ? end : join.next) - block.first_slot : 0;
        join.double_slots += twice;
        block.skip = (uint32_t)twice;
        if (!error && twice < block.slots)
            error = append(joined, &join, block);
    }
    if (!error)
        error = fill_from_rings(pieces + ring, count - ring, UINT64_MAX, joined, &join);
    *ret_join = join;
    return error;
}
