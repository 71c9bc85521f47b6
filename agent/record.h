/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_RECORD_H
#define TP_AGENT_RECORD_H

/*
 * Writing records. Everything here is Context: hook: any thread, inside any libc call, in a signal
 * handler; no lock, no allocation, no system call on the fast path; errno is kept.
 *
 * Room: every open begin keeps one slot in reserve for its end, so the end of a begin that was
 * written is never dropped. When a begin finds no room, it and all begins of its class until its
 * end are dropped (skip[]), ends included: a loss never mispairs what is above it.
 */

#include "capture.h"
#include "clock.h"
#include "event/names.h"
#include "thread.h"

/* Room that a record leaves: a `lost` record (2 slots). */
#define TP_RECORD_RESERVE 2u

struct tp_op_details {       /* all zero = unknown, but for sequence_nr */
    int64_t sequence_nr;     /* -1 outside autograd; the step of a ProfilerStep* */
    uint64_t forward_thread; /* framework's number of the forward op's thread, 0 none */
    uint32_t torch_thread;   /* framework's number of this thread */
    uint32_t shapes;         /* name id, 0 none */
    uint32_t inputs;         /* name id, 0 none */
    uint8_t scope;           /* RecordScope */
    uint8_t flags;
};
#define TP_OP_NO_DETAILS 1 /* seen before calibration, or a field could not be read */

/* A record as the slow path takes it: words 1.. as in event.h; the low half of word1 is the
 * argument. */
struct tp_record {
    uint8_t kind, class_, role, slots;
    uint8_t drains; /* a point record at which this thread, the program's only one, may drain */
    uint32_t argument;
    uint64_t words[4];    /* of slot 1 */
    const uint64_t *more; /* of slots 2 and on; NULL where there are none */
};

#define TP_RECORD_SLOTS_MAX 4u

/* The slow ways: no control block, no room, something skipped, nested in a signal handler. */
bool tp_record_slow(const struct tp_record *record, uint64_t ticks);

/**
 * tp_record_room - make sure that a record of @slots slots finds room in the calling thread's ring
 * @wait_ns: how long the thread may wait for the drain; 0 on a thread of the program, always
 *
 * Context: hook; a thread that may wait: not in a signal handler, no lock held that the drain
 * takes. Return: false: the record would be lost. Nothing is counted.
 */
bool tp_record_room(unsigned slots, uint64_t wait_ns);

/** tp_intern - the id of a name, made at first sight. Return: an id; TP_NAME_NO_ROOM or
 * TP_NAME_TOO_MANY when there is no room. */
uint32_t tp_intern(enum tp_name_kind kind, const void *bytes, size_t size);

/** tp_intern_text - the id of a terminated text, through the thread's cache keyed by address with a
 * check of the content */
uint32_t tp_intern_text(enum tp_name_kind kind, const char *text);

/** tp_recording - cheap: false while nothing can be recorded (sources off, agent off, ended) */
bool tp_recording(void);

static inline __attribute__((always_inline)) void tp_slot0(const struct tp_thread *t,
                                                           uint64_t number, unsigned kind,
                                                           uint64_t ticks, uint32_t argument)
{
    uint64_t *slot = t->slots + (number & t->mask) * TP_SLOT_WORDS;

    slot[0] = (uint64_t)kind << 56 | (ticks & TP_TICKS_MASK);
    slot[1] = tp_tls.alloc_calls << 32 | argument;
    slot[2] = tp_tls.allocated_bytes;
    slot[3] = tp_tls.freed_bytes;
}

static inline __attribute__((always_inline)) void tp_slot(const struct tp_thread *t,
                                                          uint64_t number, const uint64_t *words)
{
    uint64_t *slot = t->slots + (number & t->mask) * TP_SLOT_WORDS;

    /* one by one, as they were stored a moment ago: a wider load would wait for those stores */
    slot[0] = words[0];
    slot[1] = words[1];
    slot[2] = words[2];
    slot[3] = words[3];
}

/* So many slots ahead the ring's memory is asked for: the drain has read it since, on another core
 * or long ago, and the stores of a record would wait for it one after another. */
#define TP_RECORD_AHEAD 16u

static inline __attribute__((always_inline)) void tp_publish(struct tp_thread *t, uint64_t cursor)
{
    t->cursor = cursor;
    __builtin_prefetch(t->slots + ((cursor + TP_RECORD_AHEAD) & t->mask) * TP_SLOT_WORDS, 1);
    atomic_store_explicit(&t->ring->head, cursor, memory_order_release);
}

/* Skipped or lost something, or nothing more is to be written: the slow way knows. */
static inline __attribute__((always_inline)) bool tp_is_careful(const struct tp_thread *t)
{
    return atomic_load_explicit(&t->careful, memory_order_relaxed);
}

/* Whether the calling thread may write @slots slots the fast way; sets *ret_thread. */
static inline __attribute__((always_inline)) bool tp_fast(struct tp_thread **ret_thread,
                                                          unsigned slots)
{
    struct tp_thread *t = tp_tls.thread;

    *ret_thread = t;
    return tp_likely(t && t->slots && !t->busy && !tp_is_careful(t) &&
                     t->cursor + t->open + slots + TP_RECORD_RESERVE < t->limit);
}

/** tp_record_begin - a one-slot begin: @kind of @class_ with @name. Return: whether it was written.
 */
static inline __attribute__((always_inline)) bool tp_record_begin(unsigned kind, unsigned class_,
                                                                  uint32_t name)
{
    struct tp_thread *t;

    if (!tp_fast(&t, 1)) {
        struct tp_record record = {.kind = (uint8_t)kind,
                                   .class_ = (uint8_t)class_,
                                   .role = TP_ROLE_BEGIN,
                                   .slots = 1,
                                   .argument = name};
        return tp_record_slow(&record, tp_ticks());
    }
    t->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    t->open++;
    t->depth[class_]++;
    tp_slot0(t, t->cursor, kind, tp_ticks(), name);
    tp_publish(t, t->cursor + 1);
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return true;
}

/** tp_record_short - a one-slot point record: @kind with @argument. Return: whether it was written.
 */
static inline __attribute__((always_inline)) bool tp_record_short(unsigned kind, uint32_t argument)
{
    struct tp_thread *t;

    if (!tp_fast(&t, 1)) {
        const struct tp_record record = {
            .kind = (uint8_t)kind, .role = TP_ROLE_POINT, .slots = 1, .argument = argument};
        return tp_record_slow(&record, tp_ticks());
    }
    t->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    tp_slot0(t, t->cursor, kind, tp_ticks(), argument);
    tp_publish(t, t->cursor + 1);
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return true;
}

/** tp_record_end_with - the end of the innermost open range of @class_, with @argument. Return:
 * false when none is open. */
static inline __attribute__((always_inline)) bool tp_record_end_with(unsigned kind, unsigned class_,
                                                                     uint32_t argument)
{
    uint64_t ticks = tp_ticks();
    struct tp_thread *t = tp_tls.thread;

    if (tp_unlikely(!t || !t->slots || t->busy || tp_is_careful(t) || !t->depth[class_])) {
        struct tp_record record = {.kind = (uint8_t)kind,
                                   .class_ = (uint8_t)class_,
                                   .role = TP_ROLE_END,
                                   .slots = 1,
                                   .argument = argument};
        return tp_record_slow(&record, ticks);
    }
    t->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    tp_slot0(t, t->cursor, kind, ticks, argument);
    t->open--;
    t->depth[class_]--;
    tp_publish(t, t->cursor + 1);
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return true;
}

static inline __attribute__((always_inline)) bool tp_record_end(unsigned kind, unsigned class_)
{
    return tp_record_end_with(kind, class_, 0);
}

/**
 * tp_record_write_at - any record of two slots or more
 * @ticks: its time; not before that of the thread's last record
 * Return: whether it was written.
 */
static inline __attribute__((always_inline)) bool tp_record_write_at(const struct tp_record *record,
                                                                     uint64_t ticks)
{
    struct tp_thread *t;

    if (!tp_fast(&t, record->slots))
        return tp_record_slow(record, ticks);
    t->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    tp_slot(t, t->cursor + 1, record->words);
    for (unsigned i = 2; i < record->slots; i++)
        tp_slot(t, t->cursor + i, record->more + (i - 2) * TP_SLOT_WORDS);
    if (record->role == TP_ROLE_BEGIN) {
        t->open++;
        t->depth[record->class_]++;
    }
    tp_slot0(t, t->cursor, record->kind, ticks, record->argument);
    tp_publish(t, t->cursor + record->slots);
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return true;
}

/** tp_record_write - the same, now. Return: whether it was written. */
static inline __attribute__((always_inline)) bool tp_record_write(const struct tp_record *record)
{
    return tp_record_write_at(record, tp_ticks());
}

/**
 * tp_record_allow_brief - behind a whole record of an allocation, on its thread: the next ones may
 * be brief
 *
 * There must be room for twice as many: ranges that begin meanwhile take a slot and reserve one.
 */
static inline __attribute__((always_inline)) void tp_record_allow_brief(struct tp_thread *t)
{
    uint32_t run = atomic_load_explicit(&t->brief_run, memory_order_relaxed);
    bool is_roomy = t->cursor + t->open + 2 * (uint64_t)TP_BRIEF_RUN + TP_RECORD_RESERVE < t->limit;

    atomic_store_explicit(&t->brief_limit, is_roomy ? t->cursor + run : 0, memory_order_relaxed);
}

/** tp_record_may_be_brief - whether a brief record is allowed here */
static inline bool tp_record_may_be_brief(void)
{
    const struct tp_thread *t = tp_tls.thread;

    return t && t->cursor < atomic_load_explicit(&t->brief_limit, memory_order_relaxed) &&
           !tp_is_careful(t);
}

/** tp_record_brief - a brief record, if one is allowed here. Return: whether it was written. */
static inline __attribute__((always_inline)) bool tp_record_brief(uint64_t word0, uint64_t word1,
                                                                  uint64_t word2, uint64_t word3)
{
    struct tp_thread *t = tp_tls.thread;

    if (tp_unlikely(!t || t->busy))
        return false;
    t->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t cursor = t->cursor;
    bool is_allowed =
        cursor < atomic_load_explicit(&t->brief_limit, memory_order_relaxed) && !tp_is_careful(t);
    if (tp_likely(is_allowed)) {
        uint64_t *slot = t->slots + (cursor & t->mask) * TP_SLOT_WORDS;
        slot[0] = word0;
        slot[1] = word1;
        slot[2] = word2;
        slot[3] = word3;
        tp_publish(t, cursor + 1);
    }
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return is_allowed;
}

/** tp_record_op_begin, tp_record_op_end - a framework's operator; @name is of kind TP_NAME_OPERATOR
 */
static inline void tp_record_op_begin(uint32_t name, const struct tp_op_details *details)
{
    const struct tp_record record = {
        .kind = TP_EVENT_OP_BEGIN,
        .class_ = TP_CLASS_OP,
        .role = TP_ROLE_BEGIN,
        .slots = 2,
        .argument = name,
        .words = {(uint64_t)details->sequence_nr,
                  (uint64_t)details->torch_thread << 32 | (uint32_t)details->forward_thread,
                  (uint64_t)details->inputs << 32 | details->shapes,
                  (uint64_t)details->flags << 8 | details->scope},
    };
    tp_record_write(&record);
}

static inline void tp_record_op_end(void)
{
    tp_record_end(TP_EVENT_OP_END, TP_CLASS_OP);
}

/** tp_record_depth - ranges of @class_ open on this thread, dropped ones included (what
 * nvtxRangePush answers) */
static inline uint32_t tp_record_depth(unsigned class_)
{
    const struct tp_thread *t = tp_tls.thread;

    return t ? t->depth[class_] + t->skip[class_] + t->unwanted[class_] : 0;
}

#endif
