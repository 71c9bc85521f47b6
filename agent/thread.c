/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include <pthread.h>
#include <string.h>

#include "agent.h"
#include "base/os.h"
#include "capture.h"
#include "drain.h"
#include "losses.h"
#include "recording.h"

__thread struct tp_tls tp_tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Slots of the ring that a thread gets first, and of one that a thread had to make itself. */
#define FIRST_SLOTS (8u << 10)
#define OWN_SLOTS (2u << 10)
/* The same where every allocation is recorded. */
#define FIRST_BURST_SLOTS (64u << 10)
#define OWN_BURST_SLOTS (8u << 10)

/*
 * Behind the last control block that this process or one that it was forked from ever handed out.
 * Not wiped by fork: a child's one surviving thread may still point to its parent's block, so a
 * child must not hand that index to another thread; its own begin here.
 */
static _Atomic uint32_t blocks_behind;

static uint32_t first_block(struct tp_live *live)
{
    uint32_t first = 0;
    uint32_t ours = atomic_load(&blocks_behind) % TP_THREADS_MAX + 1;

    return (atomic_compare_exchange_strong(&live->first_block, &first, ours) ? ours : first) - 1;
}

/* The first free one: its pages, and those of its caches, may be there already. */
static struct tp_thread *claim_block(struct tp_live *live)
{
    uint32_t first = first_block(live);

    for (uint32_t i = 0; i < TP_THREADS_MAX; i++) {
        uint32_t index = (first + i) % TP_THREADS_MAX, free = TP_THREAD_FREE;
        struct tp_thread *t = &live->threads[index];
        if (atomic_load_explicit(&t->state, memory_order_relaxed) != free ||
            !atomic_compare_exchange_strong(&t->state, &free, TP_THREAD_USED))
            continue;
        uint32_t behind = atomic_load(&blocks_behind);
        while (behind <= index && !atomic_compare_exchange_weak(&blocks_behind, &behind, index + 1))
            ;
        atomic_store(&t->careful, !tp_capture_is_open() || tp_capture_watches);
        t->index = index;
        t->tid = tp_os_tid();
        atomic_store(&t->handle, (uintptr_t)pthread_self());
        tp_thread_read_name(t); /* not before: who names it now looks for the handle */
        t->track = 1 + atomic_fetch_add(&live->next_track, 1);
        t->names = live->name_caches + (uint64_t)index * TP_NAME_CACHE;
        return t;
    }
    return NULL;
}

/* The name's bytes as words; that of a ring is read when the process is gone. */
static void put_name(_Atomic uint64_t to[2], const uint64_t name[2])
{
    for (unsigned i = 0; i < 2; i++)
        atomic_store_explicit(&to[i], name[i], memory_order_relaxed);
}

void tp_thread_set_name(struct tp_thread *t, const char *name)
{
    uint64_t words[2] = {0};

    memcpy(words, name, strnlen(name, sizeof(words) - 1));
    put_name(t->name, words);
    atomic_store_explicit(&t->renamed, 1, memory_order_release);
}

void tp_thread_name(const struct tp_thread *t, char name[16])
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t word = atomic_load_explicit(&t->name[i], memory_order_relaxed);
        memcpy(name + i * sizeof(word), &word, sizeof(word));
    }
}

static void name_ring(struct tp_thread *t)
{
    uint64_t words[2];

    tp_thread_name(t, (char *)words);
    put_name(t->ring->name, words);
}

void tp_thread_read_name(struct tp_thread *t)
{
    char name[16];

    tp_os_own_name(name);
    tp_thread_set_name(t, name);
    if (t->ring && !t->busy)
        name_ring(t);
}

static int claim_ring(struct tp_live *live)
{
    for (unsigned i = 0; i < TP_STOCK; i++) {
        uint32_t entry = atomic_exchange_explicit(&live->stock[i], 0, memory_order_acquire);
        if (entry) {
            tp_drain_wake(live); /* to fill the stock again */
            return (int)entry - 1;
        }
    }
    bool first = !atomic_load(&live->ring_count);
    bool all = tp_agent.config.alloc.choice == TP_ALLOC_ALL;
    uint32_t slots =
        first ? (all ? FIRST_BURST_SLOTS : FIRST_SLOTS) : (all ? OWN_BURST_SLOTS : OWN_SLOTS);
    int entry = tp_recording_make_ring(live, TP_OS_NO_DIR, slots, TP_RING_SLOTS_MIN);
    return entry < 0 ? tp_recording_make_memory_ring(live, slots) : entry;
}

void tp_thread_take_ring(struct tp_live *live, struct tp_thread *t, uint32_t entry)
{
    struct tp_ring_entry *e = &live->rings[entry];
    struct tp_ring_header *ring = e->header;

    tp_ring_claim(ring, t->track, t->tid, t->cursor, t->dropped);
    e->thread = t->index;
    t->ring = ring;
    name_ring(t);
    t->entry = entry;
    t->mask = e->slot_count - 1;
    t->wake_at = 0;
    atomic_store_explicit(&t->brief_limit, 0, memory_order_relaxed);
    t->limit = t->cursor + e->slot_count / 2;
    t->slots = e->slots;
    atomic_store_explicit(&e->state, TP_RING_USED, memory_order_release);
}

void tp_threads_make_careful(struct tp_live *live)
{
    for (uint32_t i = 0; i < TP_THREADS_MAX; i++)
        if (atomic_load_explicit(&live->threads[i].state, memory_order_relaxed) == TP_THREAD_USED)
            atomic_store_explicit(&live->threads[i].careful, 1, memory_order_relaxed);
}

static struct tp_thread *no_ring(struct tp_live *live)
{
    tp_loss_raise(live, TP_LOSS_NO_RING,
                  1 + atomic_fetch_add_explicit(&live->early_drops, 1, memory_order_relaxed));
    return NULL;
}

/* This thread's block with a ring in it. */
static struct tp_thread *attach(struct tp_live *live)
{
    struct tp_thread *t = tp_tls.thread;

    if (!tp_agent_arm())
        return NULL;
    if (!t || atomic_load_explicit(&t->state, memory_order_relaxed) != TP_THREAD_USED)
        t = claim_block(live);
    if (!t)
        return no_ring(live);
    tp_tls.thread = t;
    t->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    int entry = claim_ring(live);
    if (entry >= 0)
        tp_thread_take_ring(live, t, (uint32_t)entry);
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = 0;
    return entry >= 0 ? t : no_ring(live);
}

struct tp_thread *tp_thread_attach(void)
{
    struct tp_live *live = tp_agent.live;

    if (!live || tp_tls.ours)
        return NULL;
    if (tp_tls.attaching) { /* a handler; one that has jumped out of here is forgotten after a while
                             */
        if (++tp_tls.attaching > 250)
            tp_tls.attaching = 0;
        return no_ring(live);
    }
    tp_tls.attaching = 1;
    atomic_signal_fence(memory_order_seq_cst);
    struct tp_thread *t = attach(live);
    atomic_signal_fence(memory_order_seq_cst);
    tp_tls.attaching = 0;
    return t;
}
