/* SPDX-License-Identifier: MIT
 * What the files that read a process's records share. */
#ifndef TP_INPUT_TPTRACE_STREAM_RUN_H
#define TP_INPUT_TPTRACE_STREAM_RUN_H

#include <pthread.h>

#include "input/tptrace_async.h"
#include "input/tptrace_blocks.h"
#include "input/tptrace_stream.h"
#include "trace/block.h"

struct tptrace_stream_run;

/* A track that is being read. */
struct tptrace_reading {
    struct tptrace_stream_run *run;
    struct tptrace_source source;
    const struct tptrace_consumer *consumer; /* of the worker at it */
    struct tp_stream stream;
    void *note; /* the consumers' */
    bool is_watched, failed;
    bool broken;    /* a piece could not be read: the next one starts anew */
    uint32_t given; /* pieces that workers took */
    uint32_t done;
};

struct tptrace_stream_run {
    struct tptrace_process *process;
    struct tptrace_names *names;
    const struct tptrace_stream_options *options;
    const struct tptrace_consumer *consumers;

    pthread_mutex_t lock; /* what is below, the process's totals, `given` and `done` */
    pthread_cond_t turn;
    struct tptrace_blocks blocks;
    int error;
    struct tptrace_async_table async;
    struct tptrace_open_ranges *open;
};

struct tptrace_stream_worker {
    struct tptrace_stream_run *run;
    const struct tptrace_consumer *consumer;
    struct tp_block_decoder *decoder;
    void *bytes;
    size_t capacity;
    pthread_t thread;
};

/** tptrace_stream_reading - who reads a track, made with its first piece; under the lock, or where
 * there are no workers. Return: NULL: no memory. */
struct tptrace_reading *tptrace_stream_reading(struct tptrace_stream_run *run,
                                               const struct tptrace_piece *piece);

/** tptrace_stream_decode - what no other piece has of a block, in the worker's memory. Return: 1; 0
 * when it is damaged, which is noted; negative to stop. */
int tptrace_stream_decode(struct tptrace_stream_worker *w, const struct tptrace_piece *piece,
                          struct tp_block *ret_block);

/**
 * tptrace_stream_begin_block, _begin_ring - before the first record of a piece
 * @ret_open_fits: set where blocks are verified: are the ranges that are open those that it says?
 * Return: 0 or -ENOMEM.
 */
int tptrace_stream_begin_block(struct tptrace_stream_run *run, struct tptrace_reading *r,
                               const struct tptrace_piece *piece, const struct tp_block *block,
                               bool *ret_open_fits);
int tptrace_stream_begin_ring(struct tptrace_reading *r, const struct tptrace_piece *piece);

/** tptrace_stream_ring_slots - where a ring's piece lies in memory */
const uint64_t *tptrace_stream_ring_slots(const struct tptrace_stream_run *run,
                                          const struct tptrace_piece *piece);

/** tptrace_stream_in_time - all records in the order of time (tptrace_stream_lanes.c). Return: 0 or
 * negative. */
int tptrace_stream_in_time(struct tptrace_stream_run *run);

/** tptrace_stream_wants_summary - whether what was evicted is to be told
 * (tptrace_stream_evicted.c) */
bool tptrace_stream_wants_summary(const struct tptrace_stream_run *run);

/** tptrace_stream_begin_evicted - tell it, and begin the tracks as it leaves them. Return: 0 or
 * negative. */
int tptrace_stream_begin_evicted(struct tptrace_stream_run *run);

#endif
