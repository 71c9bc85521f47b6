/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_MAKE_RECORDING_H
#define TESTS_UNIT_MAKE_RECORDING_H

/* Recordings made to order, through the runtime's own encoder: no agent, no threads, chosen ticks.
 * A test that cannot write its files aborts. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "event/event.h"
#include "event/names.h"
#include "trace/file.h"

#define RECORDING_SLOTS 8192u /* a block is written when so many have come together */

struct recording_options {
    const char *run_dir; /* made if it is missing, with run.json */
    const char *host;    /* "host" if NULL */
    const char *program; /* "program" if NULL */
    uint32_t pid;
    int rank;         /* -1: no dist line */
    int64_t start_ns; /* REALTIME of tick 0 */
    unsigned kernel_start;
    double ticks_per_ns; /* 1 if 0 */
    bool counts_memory;
    uint64_t segment_bytes; /* TP_SEGMENT_BYTES if 0 */
};

struct recording {
    struct recording_options options;
    char dir[512];
    uint8_t uuid[16];
    uint32_t uuid_low;
    FILE *meta;
    int segment;
    uint32_t segment_number;
    uint64_t segment_size;
    struct tp_index_entry *entries;
    uint32_t entry_count;
    uint8_t *names;
    uint64_t names_size, names_capacity;
    uint32_t next_name, next_ring;
    void *workspace;
    struct tp_block_encoder *encoder;
    uint64_t last_ticks;
};

struct recording_track {
    struct recording *recording;
    uint32_t track, tid;
    uint64_t *slots; /* not in a block yet */
    uint32_t slot_count, slot_capacity;
    uint64_t first_slot, ticks;
    uint64_t *open; /* begin records open now, outermost first, 2 slots each */
    uint32_t open_count, open_capacity;
    uint64_t *open_before; /* the same before the first of @slots */
    uint32_t open_before_count;
    uint64_t allocated, freed;
    uint32_t alloc_calls;
    uint64_t before[TP_SLOT_WORDS]; /* first slot of the record before the first of @slots, whole */
    uint64_t dropped;
};

void recording_begin(struct recording *recording, const struct recording_options *options);

/* A clock line for @ticks, and the time that goes with it. */
void recording_clock(struct recording *recording, uint64_t ticks);
int64_t recording_ns(const struct recording *recording, uint64_t ticks);

/* One line of meta.jsonl as it is. */
void recording_meta(struct recording *recording, const char *line);

uint32_t recording_name(struct recording *recording, enum tp_name_kind kind, const void *bytes,
                        size_t size);
uint32_t recording_text(struct recording *recording, enum tp_name_kind kind, const char *text);

/* The process ends: names, index and trailer, an end line with @reason. NULL: it is killed, there
 * is only what there is. */
void recording_end(struct recording *recording, const char *reason);

void track_begin(struct recording_track *track, struct recording *recording, uint32_t number,
                 uint32_t tid);

/* One record; @words of the slots behind the first, NULL zeros. Writes a block when there are
 * enough. */
void track_put(struct recording_track *track, unsigned kind, uint64_t ticks, uint32_t argument,
               const uint64_t *words);

/* An allocation (a free) of TP_EVENT_ALLOC (TP_EVENT_FREE), or in short, of the brief kinds, which
 * have no time. It counts. */
void track_put_alloc(struct recording_track *track, unsigned kind, uint64_t ticks, uint64_t address,
                     uint64_t bytes);

/* What has come together, as a block; as nothing (a gap); as a ring's remains, its tail @back slots
 * before them. */
void track_flush(struct recording_track *track);
void track_lose(struct recording_track *track);
void track_leave_in_ring(struct recording_track *track, uint64_t back);

void track_end(struct recording_track *track);

/* A fresh directory below TMPDIR or /tmp, for remove_tree. */
void make_temporary(char path[256]);
void remove_tree(const char *path);

#endif
