/* SPDX-License-Identifier: MIT */
#include "input/tptrace_tracks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

static uint32_t *find_slot(const struct tptrace_tracks *tracks, uint32_t number)
{
    for (uint32_t at = number * 0x9e3779b1u;; at++) {
        uint32_t *slot = &tracks->slots[at & tracks->mask];
        if (!*slot || tracks->items[*slot - 1]->number == number)
            return slot;
    }
}

static int grow(struct tptrace_tracks *tracks)
{
    size_t capacity = tracks->capacity ? tracks->capacity * 2 : 16;

    struct tptrace_track **items = realloc(tracks->items, capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    tracks->items = items;
    uint32_t *slots = calloc(capacity * 2, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(tracks->slots);
    tracks->slots = slots;
    tracks->mask = (uint32_t)(capacity * 2 - 1);
    tracks->capacity = capacity;
    for (size_t i = 0; i < tracks->count; i++)
        *find_slot(tracks, items[i]->number) = (uint32_t)(i + 1);
    return 0;
}

int tptrace_tracks_find(struct tptrace_tracks *tracks, uint32_t number,
                        struct tptrace_track **ret_track)
{
    if (tracks->count == tracks->capacity) {
        int error = tracks->count < TPTRACE_TRACKS_MAX ? grow(tracks) : -TP_ELIMIT;
        if (error)
            return error;
    }
    uint32_t *slot = find_slot(tracks, number);
    if (*slot) {
        *ret_track = tracks->items[*slot - 1];
        return 0;
    }
    struct tptrace_track *track = calloc(1, sizeof(*track));
    if (!track)
        return -ENOMEM;
    track->number = number;
    track->ordinal = (uint32_t)tracks->count;
    tracks->items[tracks->count++] = track;
    *slot = (uint32_t)tracks->count;
    *ret_track = track;
    return 1;
}

void tptrace_tracks_fini(struct tptrace_tracks *tracks)
{
    for (size_t i = 0; i < tracks->count; i++) {
        free(tracks->items[i]->rings.items);
        free(tracks->items[i]);
    }
    free(tracks->items);
    free(tracks->slots);
    *tracks = (struct tptrace_tracks){0};
}
