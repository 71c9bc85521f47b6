/* SPDX-License-Identifier: MIT */
/* The slow ways of writing a record: see record.h for the rules. */
#include "record.h"

#include "agent.h"
#include "base/os.h"
#include "capture_range.h"
#include "drain.h"
#include "points.h"
#include "stack.h"

/* So many records refused in a row because `busy` was set: a handler has jumped away in the midst
 * of one. */
#define BUSY_IS_STALE 1024

static bool is_over(void)
{
    return atomic_load_explicit(&tp_agent.live->state, memory_order_seq_cst) >= TP_ENDED;
}

/*
 * `careful` from what it stands for. A signal handler in between can only set it; and whoever ends
 * the process sets the state first and then every `careful`, so that one of the two is seen here.
 */
static void set_careful(struct tp_thread *t)
{
    uint32_t skipped = 0;

    atomic_store_explicit(&t->careful, 0, memory_order_seq_cst);
    for (unsigned i = 0; i < TP_CLASS_END; i++)
        skipped |= t->skip[i] | t->unwanted[i];
    if (skipped || atomic_load_explicit(&t->lost_count, memory_order_relaxed) || is_over() ||
        !tp_capture_is_open() || tp_capture_watches)
        atomic_store_explicit(&t->careful, 1, memory_order_relaxed);
}

/* Atomic: a signal handler may lose records while its thread is counting some. */
static void count_lost(struct tp_thread *t, const struct tp_record *record, uint64_t ticks)
{
    uint64_t kind = record->kind < 64 ? UINT64_C(1) << record->kind : 0;

    if (!atomic_fetch_add_explicit(&t->lost_count, 1, memory_order_relaxed))
        t->lost_first_ticks = ticks;
    atomic_fetch_or_explicit(&t->lost_kinds, kind, memory_order_relaxed);
    uint64_t dropped = 1 + atomic_fetch_add_explicit(&t->dropped, 1, memory_order_relaxed);
    if (t->ring)
        atomic_store_explicit(&t->ring->dropped, dropped, memory_order_relaxed);
    atomic_store_explicit(&t->careful, 1, memory_order_relaxed);
}

/* What a thread may do for room in its ring. */
enum may_drain {
    MAY_NOT,
    MAY_HERE, /* write the ring out itself, but start no thread: inside of malloc */
    MAY_ANYHOW,
};

static enum may_drain may_drain_at(const struct tp_record *record)
{
    return record->role == TP_ROLE_BEGIN           ? MAY_ANYHOW
           : record->drains && tp_stack_is_roomy() ? MAY_HERE
                                                   : MAY_NOT;
}

/* Whether @slots more fit and every open range still finds room for its end, the new one's too. */
static bool room_for(const struct tp_thread *t, unsigned slots)
{
    uint64_t hard = atomic_load_explicit(&t->ring->tail, memory_order_acquire) + t->mask + 1;

    return t->cursor + t->open + slots + TP_RECORD_RESERVE < hard;
}

/* Go on in the larger ring that the drain has offered. */
static void change_ring(struct tp_thread *t)
{
    struct tp_live *live = tp_agent.live;
    uint32_t next = atomic_exchange_explicit(&t->next_entry, 0, memory_order_acquire);

    if (!next)
        return;
    struct tp_ring_header *old = t->ring;
    tp_thread_take_ring(live, t, next - 1);
    atomic_store_explicit(&old->closed, 1, memory_order_release);
}

/*
 * An armed process: with threads of its own it gets the drain thread now, else this thread drains.
 * While one thread drains no other can start the drain thread: the one that has drained tries
 * again.
 */
static void drain_somewhere(struct tp_live *live, enum may_drain may)
{
    if (may == MAY_NOT)
        return;
    if (may == MAY_HERE) {
        if (atomic_load_explicit(&live->state, memory_order_relaxed) == TP_ARMED) {
            live->drains_in_malloc++;
            tp_drain_here(live);
        }
        return;
    }
    if (live->has_threads)
        tp_agent_go_live();
    if (atomic_load_explicit(&live->state, memory_order_relaxed) != TP_ARMED)
        return;
    tp_drain_here(live);
    if (live->has_threads)
        tp_agent_go_live();
}

/* At the fast path's limit: look at the tail again, ring the bell or drain, set the next limit. */
static void look_again(struct tp_thread *t, enum may_drain may)
{
    struct tp_live *live = tp_agent.live;

    if (atomic_load_explicit(&t->next_entry, memory_order_relaxed))
        change_ring(t);
    uint64_t count = t->mask + 1;
    uint64_t tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
    bool full = t->cursor + t->open + 2 * TP_RECORD_RESERVE >= tail + count;
    if (full || (t->cursor - tail >= count / 2 && t->cursor >= t->wake_at)) {
        if (atomic_load_explicit(&live->state, memory_order_relaxed) == TP_LIVE)
            tp_drain_wake(live);
        else
            drain_somewhere(live, may);
        t->wake_at = t->cursor + count / 8;
        tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
    }
    uint64_t hard = tail + count, soft = tail + count / 2;
    if (soft < t->wake_at)
        soft = t->wake_at;
    t->limit = soft < hard ? soft + t->open + 2 * TP_RECORD_RESERVE + 1 : hard;
    if (t->limit > hard)
        t->limit = hard;
}

#define TURN_NS 100000u /* of waiting; the kernel makes it more */
#define WAIT_OF_TESTS_NS UINT64_C(20000000000)
#define WAIT_AT_MOST_NS UINT64_C(100000000)

/*
 * How long a record waits for room. Tests must see every one. Where all allocations are recorded a
 * program makes them faster than they can be written for long; then it is slowed down, as it would
 * be if it wrote them itself, but not by a disk that stands still.
 */
static uint64_t ns_to_wait(const struct tp_thread *t)
{
    const struct tp_config *config = &tp_agent.config;

    if (config->when_full == TP_FULL_WAIT)
        return WAIT_OF_TESTS_NS;
    bool is_slowed = config->when_full == TP_FULL_AUTO && config->alloc.choice == TP_ALLOC_ALL &&
                     atomic_load_explicit(&tp_agent.live->state, memory_order_relaxed) == TP_LIVE;
    return is_slowed && !t->waited_in_vain ? WAIT_AT_MOST_NS : 0;
}

static void wait_for_room(struct tp_thread *t, unsigned slots, enum may_drain may)
{
    struct tp_live *live = tp_agent.live;
    uint64_t wait_ns = room_for(t, slots) ? 0 : ns_to_wait(t);

    if (!wait_ns)
        return;
    uint64_t until_ns = tp_os_monotonic_ns() + wait_ns;
    while (!room_for(t, slots) && tp_os_monotonic_ns() < until_ns) {
        uint32_t state = atomic_load(&live->state);
        if (state >= TP_ENDED)
            return;
        if (state == TP_LIVE)
            tp_drain_wake(live);
        else
            drain_somewhere(live, may);
        if (room_for(t, slots))
            return;
        _Atomic uint32_t never = 0;
        tp_os_wait(&never, 0, TURN_NS);
    }
}

static void write_slots(struct tp_thread *t, const struct tp_record *record, uint64_t ticks)
{
    if (record->slots >= 2)
        tp_slot(t, t->cursor + 1, record->words);
    for (unsigned i = 2; i < record->slots; i++)
        tp_slot(t, t->cursor + i, record->more + (i - 2) * TP_SLOT_WORDS);
    tp_slot0(t, t->cursor, record->kind, ticks, record->argument);
    tp_publish(t, t->cursor + record->slots);
}

static void write_lost(struct tp_thread *t, uint64_t ticks)
{
    uint64_t count = atomic_load_explicit(&t->lost_count, memory_order_relaxed);
    uint64_t kinds = atomic_exchange_explicit(&t->lost_kinds, 0, memory_order_relaxed);
    uint64_t names = atomic_exchange_explicit(&t->lost_name_bytes, 0, memory_order_relaxed);
    const struct tp_record lost = {
        .kind = TP_EVENT_LOST,
        .slots = 2,
        .words = {count, t->lost_first_ticks, kinds, names},
    };

    write_slots(t, &lost, ticks);
    atomic_fetch_sub_explicit(&t->lost_count, count, memory_order_relaxed);
}

/*
 * Outside of the capture window: not wanted, so not lost. Ranges that began in the window end as
 * usual. What is left out is a run of ranges at one depth; when the window has opened and closed
 * again inside of it, another run begins at another depth. Where there are too many of them open at
 * a time the range is written all the same.
 */
static bool leave_out(struct tp_thread *t, const struct tp_record *record)
{
    unsigned class_ = record->class_, last = 0;
    struct tp_unwanted *runs = t->runs[class_];

    if (record->role != TP_ROLE_BEGIN)
        return true;
    while (last < TP_UNWANTED_RUNS && runs[last].count && runs[last].at != t->depth[class_])
        last++;
    if (last == TP_UNWANTED_RUNS)
        return false;
    runs[last].at = t->depth[class_];
    runs[last].count++;
    t->unwanted[class_]++;
    return true;
}

static void end_unwanted(struct tp_thread *t, unsigned class_)
{
    struct tp_unwanted *runs = t->runs[class_];

    for (unsigned i = 0; i < TP_UNWANTED_RUNS; i++)
        runs[i].count -= runs[i].count && runs[i].at == t->depth[class_];
    t->unwanted[class_]--;
}

/* A begin or a point record. */
static bool write_or_drop(struct tp_thread *t, const struct tp_record *record, uint64_t ticks)
{
    unsigned need = record->slots + (t->lost_count ? 2u : 0u);
    bool begin = record->role == TP_ROLE_BEGIN;

    if (begin && t->skip[record->class_]) {
        t->skip[record->class_]++;
        count_lost(t, record, ticks);
        return false;
    }
    if (!tp_capture_is_open() && !tp_tls.any_window && leave_out(t, record)) {
        atomic_store_explicit(&t->brief_limit, 0,
                              memory_order_relaxed); /* what it counted is gone */
        set_careful(t);
        return false;
    }
    if (t->cursor + t->open + need + TP_RECORD_RESERVE >= t->limit) {
        look_again(t, may_drain_at(record));
        wait_for_room(t, need, may_drain_at(record));
        t->waited_in_vain = !room_for(t, need);
    }
    if (!room_for(t, need)) {
        if (begin)
            t->skip[record->class_]++;
        count_lost(t, record, ticks);
        return false;
    }
    if (t->lost_count)
        write_lost(t, ticks);
    if (begin) {
        t->open++;
        t->depth[record->class_]++;
    }
    write_slots(t, record, ticks);
    set_careful(t);
    return true;
}

static bool write_end(struct tp_thread *t, const struct tp_record *record, uint64_t ticks)
{
    if (t->skip[record->class_]) {
        t->skip[record->class_]--;
        count_lost(t, record, ticks);
        return true;
    }
    if (tp_thread_is_unwanted(t, record->class_)) {
        end_unwanted(t, record->class_);
        set_careful(t);
        return true;
    }
    if (!t->depth[record->class_])
        return false;
    if (t->lost_count && room_for(t, 2))
        write_lost(t, ticks);
    t->open--;
    t->depth[record->class_]--;
    write_slots(t, record, ticks);
    set_careful(t);
    return true;
}

/* In a signal handler that interrupted a record of the same thread. */
static bool refuse_nested(struct tp_thread *t, const struct tp_record *record, uint64_t ticks)
{
    bool result = false;

    count_lost(t, record, ticks);
    if (record->role == TP_ROLE_BEGIN) {
        t->skip[record->class_]++;
    } else if (record->role == TP_ROLE_END && t->skip[record->class_]) {
        t->skip[record->class_]--;
        result = true;
    }
    if (++t->nested_in_a_row >= BUSY_IS_STALE) {
        t->nested_in_a_row = 0;
        t->busy = 0;
    }
    return result;
}

/* Outside of the capture window a thread needs no ring, unless it opens the window. */
static bool may_attach(const struct tp_record *record)
{
    return tp_capture_is_open() || (tp_capture_watches && tp_capture_is_unit(record));
}

bool tp_record_slow(const struct tp_record *record, uint64_t ticks)
{
    struct tp_thread *t = tp_tls.thread;
    bool result, turns = false;

    tp_capture_tick(ticks);
    if ((!t || !t->slots) &&
        (record->role == TP_ROLE_END || !may_attach(record) || !(t = tp_thread_attach())))
        return false;
    if (t->busy)
        return refuse_nested(t, record, ticks);
    t->busy = 1;
    t->nested_in_a_row = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (tp_capture_watches)
        turns = tp_capture_before(t, record, ticks);
    if (record->role == TP_ROLE_END)
        result = write_end(t, record, ticks);
    else if (is_over())
        result = false;
    else
        result = write_or_drop(t, record, ticks);
    if (turns)
        tp_capture_after(t, record, ticks);
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return result;
}

static bool wait_for(struct tp_thread *t, unsigned slots, uint64_t wait_ns)
{
    struct tp_live *live = tp_agent.live;
    uint64_t until_ns = wait_ns ? tp_os_monotonic_ns() + wait_ns : 0;

    while (!is_over()) {
        look_again(t, wait_ns ? MAY_ANYHOW : MAY_NOT);
        if (room_for(t, slots))
            return true;
        if (!wait_ns || tp_os_monotonic_ns() >= until_ns)
            return false;
        if (atomic_load(&live->state) == TP_LIVE)
            tp_drain_wake(live);
        else
            drain_somewhere(live, MAY_ANYHOW);
        if (room_for(t, slots))
            return true;
        _Atomic uint32_t never = 0;
        tp_os_wait(&never, 0, 1000000);
    }
    return false;
}

bool tp_record_room(unsigned slots, uint64_t wait_ns)
{
    struct tp_thread *t;

    if (tp_fast(&t, slots))
        return true;
    if ((!t || !t->slots) && !(t = tp_thread_attach()))
        return false;
    if (t->busy || is_over())
        return false;
    t->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    slots += 2; /* a `lost` record may be due before it */
    bool result = room_for(t, slots) || wait_for(t, slots, wait_ns);
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return result;
}

uint64_t tp_next_range_id(void)
{
    static _Atomic uint64_t last;

    return 1 + atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
}
