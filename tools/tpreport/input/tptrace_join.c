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
        size_t capacity = pieces->capacity ? pieces->capacity * 2 : 16;
        struct tptrace_piece *items = realloc(pieces->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        pieces->items = items;
        pieces->capacity = capacity;
    }
    pieces->items[pieces->count++] = *piece;
    return 0;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct tptrace_piece *left = a, *right = b;

    if (left->first_slot != right->first_slot)
        return left->first_slot < right->first_slot ? -1 : 1;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

void tptrace_rings_sort(struct tptrace_pieces *rings)
{
    if (rings->count > 1)
        qsort(rings->items, rings->count, sizeof(*rings->items), compare_pieces);
}

static int append(struct tptrace_join *join, struct tptrace_pieces *joined,
                  struct tptrace_piece piece)
{
    piece.gap = 0;
    if (piece.first_slot > join->next) {
        piece.gap = piece.first_slot - join->next;
        if (join->next != join->begins_at)
            join->gap_slots += piece.gap;
        else
            join->first_gap += piece.gap;
        join->gaps++;
    }
    join->next = piece.first_slot + piece.slots;
    return tptrace_pieces_add(joined, &piece);
}

/* What rings have of [join->next, @end). */
static int fill_from_rings(struct tptrace_join *join, const struct tptrace_pieces *rings,
                           uint64_t end, struct tptrace_pieces *joined)
{
    int error = 0;

    for (size_t i = join->ring; i < rings->count && rings->items[i].first_slot < end && !error;
         i++) {
        struct tptrace_piece part = rings->items[i];
        uint64_t ring_end = part.first_slot + part.slots;
        uint64_t from = part.first_slot > join->next ? part.first_slot : join->next;
        uint64_t to = ring_end < end ? ring_end : end;
        if (ring_end <= join->next && i == join->ring)
            join->ring++;
        if (from >= to)
            continue;
        part.offset += from - part.first_slot;
        part.first_slot = from;
        part.slots = (uint32_t)(to - from);
        error = append(join, joined, part);
    }
    return error;
}

int tptrace_join_block(struct tptrace_join *join, const struct tptrace_pieces *rings,
                       const struct tptrace_piece *found, struct tptrace_pieces *joined)
{
    struct tptrace_piece block = *found;
    uint64_t end = block.first_slot + block.slots, twice = 0;
    int error = 0;

    if (block.first_slot > join->next)
        error = fill_from_rings(join, rings, block.first_slot, joined);
    if (block.first_slot < join->next)
        twice = (end < join->next ? end : join->next) - block.first_slot;
    join->double_slots += twice;
    block.skip = (uint32_t)twice;
    return error || twice == block.slots ? error : append(join, joined, block);
}

int tptrace_join_end(struct tptrace_join *join, const struct tptrace_pieces *rings,
                     struct tptrace_pieces *joined)
{
    return fill_from_rings(join, rings, UINT64_MAX, joined);
}
