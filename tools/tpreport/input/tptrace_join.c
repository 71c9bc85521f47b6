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

static int append(struct tptrace_pieces *joined, struct tptrace_join *join,
                  struct tptrace_piece piece)
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

/* Rings of a track by their first slot; those before @first have nothing more to give. */
struct rings {
    struct tptrace_piece *items;
    size_t first, count;
};

/* What rings have of [join->next, @end). */
static int fill_from_rings(struct rings *rings, uint64_t end, struct tptrace_pieces *joined,
                           struct tptrace_join *join)
{
    int error = 0;

    for (size_t i = rings->first; i < rings->count && rings->items[i].first_slot < end && !error;
         i++) {
        struct tptrace_piece part = rings->items[i];
        uint64_t ring_end = part.first_slot + part.slots;
        uint64_t from = part.first_slot > join->next ? part.first_slot : join->next;
        uint64_t to = ring_end < end ? ring_end : end;
        if (ring_end <= join->next && i == rings->first)
            rings->first++;
        if (from >= to)
            continue;
        part.offset += from - part.first_slot;
        part.first_slot = from;
        part.slots = (uint32_t)(to - from);
        error = append(joined, join, part);
    }
    return error;
}

static int take_block(struct tptrace_piece block, struct rings *rings,
                      struct tptrace_pieces *joined, struct tptrace_join *join)
{
    int error = 0;

    if (block.first_slot > join->next)
        error = fill_from_rings(rings, block.first_slot, joined, join);
    uint64_t end = block.first_slot + block.slots;
    uint64_t twice = block.first_slot < join->next
                         ? (end < join->next ? end : join->next) - block.first_slot
                         : 0;
    join->double_slots += twice;
    block.skip = (uint32_t)twice;
    return error || twice == block.slots ? error : append(joined, join, block);
}

int tptrace_join_track(const struct tptrace_piece *pieces, size_t count,
                       struct tptrace_pieces *joined, struct tptrace_join *ret_join)
{
    struct tptrace_join join = {0};
    struct rings rings = {0};
    int error = 0;

    for (size_t i = 0; i < count; i++)
        rings.count += pieces[i].segment == TPTRACE_RING;
    rings.items = malloc((rings.count + 1) * sizeof(*rings.items));
    if (!rings.items)
        return -ENOMEM;
    for (size_t i = 0, n = 0; i < count; i++) {
        if (pieces[i].segment == TPTRACE_RING)
            rings.items[n++] = pieces[i];
    }
    for (size_t i = 0; i < count && !error; i++) {
        if (pieces[i].segment != TPTRACE_RING)
            error = take_block(pieces[i], &rings, joined, &join);
    }
    if (!error)
        error = fill_from_rings(&rings, UINT64_MAX, joined, &join);
    free(rings.items);
    *ret_join = join;
    return error;
}
