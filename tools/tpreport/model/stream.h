/* SPDX-License-Identifier: MIT
 * The stack machine of one track: records in order in, finished ranges out. Memory grows with the
 * depth of nesting, not with the number of records.
 *
 * Every open range is a frame. Frames of one class form a stack, because an end closes the
 * innermost begin of its own class; frames of all classes form one list in the order of their
 * begins. When a range ends, its parent is the frame just below it in the list, whatever is above
 * stays: of two ranges that cross, the one that ends first is taken out of the middle. That is the
 * reference's rule (a range is no parent of one that ends after it) decided at the ends instead of
 * after a sort by begins.
 *
 * Folding: a range whose only child bears its own name is that child as far as a reader cares, and
 * the reference merges them. Whether a child stays alone is known when its parent ends, so an only
 * child of the same name waits in its parent's frame until then, or until a second one comes. */
#ifndef TP_MODEL_STREAM_H
#define TP_MODEL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "model/clock.h"

#define TP_STREAM_WORDS 8u              /* of a begin record at most */
#define TP_STREAM_DEPTH_MAX (16u << 10) /* open ranges of a track; no writer has more */

/* What a name id of a process means in the report. */
struct tp_stream_name {
    uint32_t name; /* string ids of the report */
    uint32_t trace_name;
    uint32_t overload_name;
    uint32_t input_shapes; /* that the name itself told; TP_STRING_NONE: it told none */
    uint32_t domain;
    int64_t sequence_nr; /* likewise; -1 */
    uint8_t filtered;    /* the reference makes no event of it */
    uint8_t step;        /* ProfilerStep*: the record's sequence number is the step */
    uint8_t annotation;  /* a range of the user's */
    uint8_t launches;    /* a call that has a device do something */
};

/* The meanings of a process's names by id. */
struct tp_stream_names {
    const struct tp_stream_name *const *plain; /* NULL entries are unknown */
    const struct tp_stream_name *const
        *nvtx; /* as NVTX ranges, whose texts may carry more than a name */
    uint32_t count;
    /* an id that the tables do not have: never NULL, stays put; from any thread */
    const struct tp_stream_name *(*unknown)(void *context, uint32_t id);
    void *context;
};

enum tp_stream_end {
    TP_STREAM_ENDED,
    TP_STREAM_UNFINISHED, /* still open at the end of the recording */
    TP_STREAM_CUT,        /* its end lies in a gap: it counts up to where the gap begins */
};

/* A finished range. */
struct tp_stream_range {
    uint64_t record[TP_STREAM_WORDS]; /* its begin record; zeros behind a shorter one */
    const struct tp_stream_name *name;
    int64_t start_ns, end_ns, self_ns;
    int64_t memory_bytes, self_memory_bytes; /* allocated minus freed by the thread */
    int64_t device_bytes, self_device_bytes; /* told by the framework */
    uint64_t allocated_bytes;                /* without what was freed */
    uint32_t alloc_calls;
    uint64_t sequence; /* number of its begin on the track, from 1 */
    uint64_t parent;   /* sequence of its parent, 0 none */
    uint8_t class_;    /* enum tp_range_class */
    uint8_t how;       /* enum tp_stream_end */
};

/* A stretch of time [from_ns, to_ns). */
struct tp_stream_window {
    int64_t from_ns, to_ns;
};

/** tp_stream_in_windows - is a time in one of @count windows, which are ascending and apart? */
bool tp_stream_in_windows(const struct tp_stream_window *windows, size_t count, int64_t ns);

struct tp_stream_config {
    const struct tp_clock *clock;
    const struct tp_stream_names *names;
    bool fold;                              /* merge only children that bear their parent's name */
    const struct tp_stream_window *windows; /* ascending; ranges that begin in none are not there */
    size_t window_count;                    /* 0: all are wanted */
    void *context;
    /* @range: valid during the call. Return: 0, or negative to end the track. */
    int (*range)(void *context, const struct tp_stream_range *range);
    /* records of the kinds ASYNC_BEGIN and ASYNC_END, MEMORY outside of all ranges; NULL: nobody
     * wants them */
    int (*point)(void *context, const uint64_t *record, int64_t ns, uint64_t sequence);
    /* records of CUDA that are no ranges, MEMORY of a device, and of single allocations, by their
     * ticks; NULL: nobody wants them */
    int (*cuda)(void *context, const uint64_t *record, uint64_t ticks);
    int (*alloc)(void *context, const uint64_t *record, uint64_t ticks);
    const struct tp_stream_watcher *watcher; /* NULL: nobody watches */
};

/* Who keeps a note with ranges that are open (tp_stream_top), and follows what becomes of ranges.
 * Called with the config's context. */
struct tp_stream_watcher {
    /* a range has ended, and its parent is known */
    void (*ended)(void *context, const struct tp_stream_range *range);
    /* it turned out to be the same as its parent */
    void (*folded)(void *context, const struct tp_stream_range *range,
                   const struct tp_stream_range *parent);
    /* a range that has a note ended below @into, or (@fold) is the same as it; NULL and NULL: it
     * had no parent */
    void (*merge)(void *context, const struct tp_stream_range *into, void **into_note, void *note,
                  bool fold);
};

struct tp_stream_counts {
    uint64_t kinds[TP_EVENT_KIND_END];
    uint64_t ranges; /* finished, in whatever way */
    uint64_t folded;
    uint64_t filtered; /* by name or by window */
    uint64_t unfinished;
    uint64_t cut_by_gap;
    uint64_t gaps; /* behind which it went on */
    uint64_t ends_without_begin;
    uint64_t too_deep;     /* begins beyond the depth limit, left out with their ends */
    uint64_t lost_records; /* that found no room */
    uint64_t lost_name_bytes;
    uint64_t without_details; /* operators whose details could not be read */
    uint64_t device_memory;   /* records of a framework about memory of a device */
};

/* What the children of a range add up to. */
struct tp_stream_kids {
    int64_t ns, memory, device;
    uint32_t count; /* 0, 1 or 2, which stands for more */
};

/* A range that somebody else has followed so far. */
struct tp_stream_adopted {
    uint64_t record[TP_STREAM_WORDS];
    uint64_t ticks;       /* of its begin, all 64 bits */
    int64_t device_start; /* the track's device bytes then */
    struct tp_stream_kids kids;
    void *note;    /* the watcher's; NULL: none so far */
    bool has_held; /* an only child of the same name, which may turn out to be the same range */
    struct {
        uint64_t record[TP_STREAM_WORDS];
        void *note;
        uint64_t ticks, end_ticks;
        int64_t memory, device;
        struct tp_stream_kids kids;
    } held;
};

struct tp_stream_frame;

struct tp_stream {
    struct tp_stream_config config;
    struct tp_stream_frame *top; /* of all classes; filtered ranges are not in this list */
    struct tp_stream_frame *class_top[TP_CLASS_END];
    struct tp_stream_frame *spare;
    uint32_t depth;
    uint32_t skipped[TP_CLASS_END]; /* begins beyond the limit whose ends are to come */
    uint64_t ticks;                 /* of the last record, all 64 bits */
    uint64_t counters[3];           /* words 1 to 3 of the last record */
    uint64_t sequence;
    int64_t device_bytes;
    size_t clock_cursor;
    struct tp_stream_counts counts;
};

/**
 * tp_stream_init - a stream at the start of its track
 * @config: copied; what it points to outlives the stream
 * @near_ticks: a full tick count within 2^55 of the first record
 */
void tp_stream_init(struct tp_stream *stream, const struct tp_stream_config *config,
                    uint64_t near_ticks);

/** tp_stream_fini - free the frames; ranges still open are forgotten */
void tp_stream_fini(struct tp_stream *stream);

/** tp_stream_rest - give back memory if no range is open */
void tp_stream_rest(struct tp_stream *stream);

/**
 * tp_stream_feed - the next records of the track
 * @slots: @count slots; records of known kinds, none of them cut. Of brief ones, as they stand in
 *   rings, whole ones are made: they go on from the record before.
 *
 * Context: offline; one thread at a time.
 * Return: 0; -TP_ECORRUPT for an unknown kind or a cut record (what is before it counts, the rest
 * is left); -ENOMEM; or what the callbacks returned.
 */
int tp_stream_feed(struct tp_stream *stream, const uint64_t *slots, size_t count);

/**
 * tp_stream_restart - go on behind a gap
 * @open: begin records of the ranges open there, outermost first, @open_slots slots
 * @near_ticks: a full tick count within 2^55 of the next record
 *
 * Ranges that were open before the gap and are in @open go on; others are cut at the last record;
 * those that began in the gap are opened with their own begin. Return: as tp_stream_feed.
 */
int tp_stream_restart(struct tp_stream *stream, const uint64_t *open, size_t open_slots,
                      uint64_t near_ticks);

/** tp_stream_adopt - one more open range, inside of all that are; before the first record. Return:
 * 0 or -ENOMEM. */
int tp_stream_adopt(struct tp_stream *stream, const struct tp_stream_adopted *range);

/**
 * tp_stream_top - the innermost range that is open and not hidden
 * @ret_note: its note, which may be set; NULL at first
 * Return: false for none.
 */
bool tp_stream_top(const struct tp_stream *stream, const struct tp_stream_range **ret_range,
                   void ***ret_note);

/** tp_stream_add_call - the innermost range has a child that is no range: it is not the same as an
 * only child of its name. Return: 0 or what a callback returned. */
int tp_stream_add_call(struct tp_stream *stream);

/** tp_stream_last_open - number of the innermost open range that began by then; 0 none */
uint64_t tp_stream_last_open(const struct tp_stream *stream, int64_t ns);

/**
 * tp_stream_find - the range with a number, if it is open or its parent is and may turn out to be
 *   the same as it
 * Return: false: it has ended, and there is no more to be known about it.
 */
bool tp_stream_find(struct tp_stream *stream, uint64_t sequence,
                    const struct tp_stream_range **ret_range, void ***ret_note);

/** tp_stream_innermost - sequence of the innermost range that is open and not hidden; 0 none */
uint64_t tp_stream_innermost(const struct tp_stream *stream);

/** tp_stream_has_open - are exactly the ranges of @open open? @open: as in tp_stream_restart */
bool tp_stream_has_open(const struct tp_stream *stream, const uint64_t *open, size_t open_slots);

/**
 * tp_stream_finish - the track ends; ranges still open are unfinished and end at @ticks
 * @ticks: the process's last record; never taken before the track's own
 */
int tp_stream_finish(struct tp_stream *stream, uint64_t ticks);

/** tp_stream_add_counts - @into += @from */
void tp_stream_add_counts(struct tp_stream_counts *into, const struct tp_stream_counts *from);

#endif
