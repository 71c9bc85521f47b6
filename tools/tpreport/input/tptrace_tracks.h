/* SPDX-License-Identifier: MIT
 * The tracks of a process, found by number; each stays where it is while more are found. */
#ifndef TP_INPUT_TPTRACE_TRACKS_H
#define TP_INPUT_TPTRACE_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/tptrace_join.h"

#define TPTRACE_TRACKS_MAX (1u << 20)

struct tptrace_reading;

struct tptrace_track {
    uint32_t number, tid;
    uint32_t ordinal;            /* 0, 1, ... as found */
    struct tptrace_pieces rings; /* what is left in them, by first slot */
    struct tptrace_join join;
    uint64_t dropped;                /* records that found no room, as ring or end line say */
    bool has_ring;                   /* which says so */
    char name[16];                   /* of its thread, as its last ring says; "" nothing */
    uint64_t named_at;               /* the first slot in that ring */
    uint64_t gap_in_memory;          /* of the join's gap_slots: of rings that were no file */
    uint64_t last_ticks;             /* 0: it has no records */
    uint64_t ordered_ticks;          /* of the first record of its last block so far */
    struct tptrace_reading *reading; /* who reads it; NULL nobody */
};

struct tptrace_tracks {
    struct tptrace_track **items;
    size_t count, capacity;
    uint32_t *slots; /* number to ordinal + 1; open addressing */
    uint32_t mask;
};

/**
 * tptrace_tracks_find - the track of a number, made if it is new
 * Return: 0, 1 when it is new, -ENOMEM or -TP_ELIMIT.
 */
int tptrace_tracks_find(struct tptrace_tracks *tracks, uint32_t number,
                        struct tptrace_track **ret_track);
void tptrace_tracks_fini(struct tptrace_tracks *tracks);

#endif
