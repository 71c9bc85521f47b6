/* SPDX-License-Identifier: MIT */
#include "input/tptrace_join.h"

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

void tptrace_join_track(struct tptrace_piece *pieces, size_t count, struct tptrace_join *ret_join)
{
    struct tptrace_join join = {0};

    for (size_t i = 0; i < count; i++) {
        struct tptrace_piece *piece = &pieces[i];
        uint64_t end = piece->first_slot + piece->slots;
        piece->gap = piece->skip = 0;
        if (piece->first_slot > join.next) {
            piece->gap = piece->first_slot - join.next;
            if (join.next)
                join.gap_slots += piece->gap;
            else
                join.first_gap = piece->gap;
            join.gaps++;
        } else {
            uint64_t covered = join.next - piece->first_slot;
            piece->skip = covered < piece->slots ? (uint32_t)covered : piece->slots;
            if (piece->segment != TPTRACE_RING)
                join.double_slots += piece->skip;
        }
        if (end > join.next)
            join.next = end;
    }
    *ret_join = join;
}
