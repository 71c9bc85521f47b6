/* SPDX-License-Identifier: MIT
 * One process's records through the stack machines, on all cores.
 *
 * Workers take pieces (blocks, ring remains) in the order of the files, which is about the order of
 * time, each decodes its piece and then waits for its turn on the piece's track. Nobody waits for a
 * piece that was taken later, so there is no deadlock; no more pieces are in memory than there are
 * workers. */
#ifndef TP_INPUT_TPTRACE_STREAM_H
#define TP_INPUT_TPTRACE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "input/progress.h"
#include "input/tptrace_names.h"
#include "input/tptrace_process.h"
#include "model/stream.h"

struct tptrace_stream_options {
    bool fold;
    const struct tp_stream_window *windows;
    size_t window_count;
    const char *thread;     /* a tid in decimal or a thread's name; NULL all */
    uint64_t first_ordinal; /* of the process's first track */
    uint64_t user;
    unsigned workers;                  /* at least 1 */
    bool kept_only;                    /* nothing of what was evicted */
    bool in_time;                      /* all tracks' records in the order of time, by one worker */
    struct tp_progress_part *progress; /* steps with each piece; NULL: nothing is shown */
    bool verify; /* what blocks say of themselves against what is in them: differences are troubles
                  */
};

/* Where a range comes from. */
struct tptrace_source {
    const struct tptrace_process *process;
    const struct tptrace_track *track;
    struct tptrace_names *names;
    uint64_t ordinal; /* of the track in the whole run */
    uint64_t user;    /* of the process: what the caller gave */
    bool is_muted;    /* a thread that is not selected: its records of CUDA alone are told */
    const struct tptrace_stream_options *options;
    struct tptrace_cuda_totals *cuda_totals; /* of the process, to be added to */
    void **note;                             /* the consumers' own, of the track; NULL at first */
};

/* A range that may have ended on another thread. */
struct tptrace_async {
    uint64_t record[TP_STREAM_WORDS]; /* its begin */
    const struct tp_stream_name *name;
    int64_t start_ns, end_ns;
    uint64_t sequence;
    uint32_t tid, end_tid;
    uint8_t how; /* enum tp_stream_end */
};

/* Who follows the ranges of processes that use CUDA; see struct tp_stream_watcher. Called with the
 * consumer's context. */
struct tptrace_watcher {
    void (*begin_piece)(
        void *context); /* around all that follows; and the consumer's other calls */
    int (*end_piece)(void *context, const struct tptrace_source *source, struct tp_stream *stream);
    void (*ended)(void *context, const struct tptrace_source *source,
                  const struct tp_stream_range *range);
    void (*folded)(void *context, const struct tptrace_source *source,
                   const struct tp_stream_range *range, const struct tp_stream_range *parent);
    int (*merge)(void *context, const struct tp_stream_range *into, void **into_note, void *note,
                 bool fold);
};

/* Who takes what comes out; one per worker. Any of the functions may be NULL. Return: 0, or
 * negative to stop. */
struct tptrace_consumer {
    void *context;
    int (*range)(void *context, const struct tptrace_source *source,
                 const struct tp_stream_range *range);
    int (*async)(void *context, const struct tptrace_source *source,
                 const struct tptrace_async *async);
    /* a record of CUDA that is no range; the stream tells where it stands */
    int (*cuda)(void *context, const struct tptrace_source *source, const uint64_t *record,
                uint64_t ticks, struct tp_stream *stream);
    /* a record of a single allocation or free */
    int (*alloc)(void *context, const struct tptrace_source *source, const uint64_t *record,
                 uint64_t ticks, const struct tp_stream *stream);
    /* a track has ended; its counters are those of its last record */
    int (*end_track)(void *context, const struct tptrace_source *source,
                     const struct tp_stream *stream);
    const struct tptrace_watcher *watcher;
    /* what segments came to that are gone, of which the stream tells no more; by the first
     * worker's, before all else. NULL: it is not wanted, and what is kept of them is told.
     * @notes: of the watcher's ranges that go on: two for each of the summary's frames, of itself
     * and of its only child that has ended; NULL and NULL at first. None without a watcher. */
    int (*evicted)(void *context, const struct tptrace_source *source, void **notes);
    int (*end_process)(
        void *context); /* the process and its names go away; by one thread for all workers */
};

struct tptrace_unfinished {
    uint32_t name; /* string id */
    uint32_t tid;
    int64_t start_ns;
    uint8_t class_;
};

#define TPTRACE_UNFINISHED_KEPT 32

/* The outermost ranges that were open at the end, earliest first. */
struct tptrace_open_ranges {
    struct tptrace_unfinished items[TPTRACE_UNFINISHED_KEPT];
    size_t kept;
};

/**
 * tptrace_stream_process - all records of a process, once
 * @process: its clock is fitted; totals and troubles are added to
 * @consumers: options->workers of them
 * @ret_open: ranges that were open at the end
 *
 * Context: offline.
 * Return: 0 (damage is noted in the process), -ENOMEM, or what a consumer returned.
 */
int tptrace_stream_process(struct tptrace_process *process, struct tptrace_names *names,
                           const struct tptrace_stream_options *options,
                           const struct tptrace_consumer *consumers,
                           struct tptrace_open_ranges *ret_open);

/** tptrace_thread_is - is @wanted (NULL: any) the number or the name of thread @tid? */
bool tptrace_thread_is(const struct tptrace_meta *meta, const char *wanted, uint32_t tid);

/** tptrace_in_windows - is a time selected? */
static inline bool tptrace_in_windows(const struct tptrace_stream_options *options, int64_t ns)
{
    return !options->window_count ||
           tp_stream_in_windows(options->windows, options->window_count, ns);
}

/** tptrace_worker_count - one per core that we may use, at most 64 */
unsigned tptrace_worker_count(void);

#endif
