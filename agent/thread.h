/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_THREAD_H
#define TP_AGENT_THREAD_H

/*
 * A thread's control block. It lies in memory that the kernel wipes on fork, whatever call makes
 * the child: there every field reads 0, `slots` too, and the next event takes the slow path, which
 * finds out. The fast path pays nothing for it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "event/names.h"
#include "guard.h"
#include "ring/ring.h"

#define TP_THREADS_MAX 4096u
#define TP_NAME_CACHE 512u
#define TP_UNWANTED_RUNS 8u

/* So many brief records (brief.h) follow a whole one at most. Then the time is told again: reading
 * it costs more than all else. */
#define TP_BRIEF_RUN 31u

/* A name seen before, found again by the address of the caller's text and then compared: a stale
 * line, or one of a thread that had the block before, is only slow. */
struct tp_name_cache {
    const struct tp_name_record *_Atomic record; /* NULL: empty */
};

struct tp_thread_stacks;

struct tp_thread {
    uint64_t *slots; /* of the current ring; NULL = go the slow way */
    uint64_t mask;
    uint64_t cursor; /* number of the next slot */
    uint64_t limit;  /* numbers below it may be written without asking the reader's side */
    struct tp_ring_header *ring;
    uint32_t open; /* begins written and not ended, all classes: each has one slot in reserve */
    uint8_t busy;  /* between the first and the last store of a record */
    _Atomic uint8_t
        careful; /* skip or lost is not zero, or no ring: every record goes the slow way */
    volatile uint16_t nested_in_a_row; /* records refused because busy was set */
    _Atomic uint32_t brief_run;        /* brief records after a whole one; the drain sets it */
    _Atomic uint64_t brief_limit; /* allocations at numbers below it may be brief; the drain may set
                                     it to 0: the next one tells the time */
    uint32_t depth[TP_CLASS_END]; /* open by class */
    uint32_t skip[TP_CLASS_END];  /* begins dropped and not yet ended, by class */
    uint32_t unwanted[TP_CLASS_END]; /* begins outside of the capture window and not yet ended */

    /* what the next `lost` record says */
    _Atomic uint64_t lost_count, lost_kinds, lost_name_bytes;
    uint64_t lost_first_ticks;
    _Atomic uint64_t dropped;
    uint32_t track, tid, index, entry; /* entry: of the current ring in the registry */
    uint64_t wake_at;                  /* cursor at which the drain is woken once */
    bool waited_in_vain;               /* for room: no record waits again until there is some */
    /* the capture window */
    struct tp_unwanted {
        uint32_t at, count; /* depth at which they stand, and how many: 0 where there are none */
    } runs[TP_CLASS_END][TP_UNWANTED_RUNS]; /* outermost first */
    uint32_t unit_at[TP_CLASS_END]; /* where the outermost range stands that holds it open, from 1
                                       and with all that was left out; 0 none */
    uint32_t optimizer_at;          /* the same of an optimizer's step, of class OP */

    /* what the kernel calls it, terminated; by the thread itself, or by who has just named it */
    _Atomic uint64_t name[2];
    _Atomic uint8_t renamed;  /* since the drain has looked */
    _Atomic uintptr_t handle; /* libc's */

    _Atomic uint32_t next_entry; /* a larger ring that the drain offers, + 1; 0 none */
    _Atomic uint32_t state;      /* enum tp_thread_state */
    struct tp_name_cache *names;
    /* stacks seen before (stack.h): stays when the block is taken back, since ids are the
     * process's; NULL: not made yet */
    struct tp_thread_stacks *stacks;
} __attribute__((aligned(64)));

/** tp_thread_is_unwanted - whether the innermost range of @class_ was left out by the capture
 * window
 */
static inline bool tp_thread_is_unwanted(const struct tp_thread *t, unsigned class_)
{
    const struct tp_unwanted *run = t->runs[class_];

    if (!t->unwanted[class_])
        return false;
    for (unsigned i = 0; i < TP_UNWANTED_RUNS && run[i].count; i++)
        if (run[i].at == t->depth[class_])
            return true;
    return false;
}

enum tp_thread_state { TP_THREAD_FREE, TP_THREAD_USED };

/**
 * tp_thread_attach - the slow path to a control block with a ring: first event of the process, of
 * the thread, or after a fork
 *
 * May arm the process (make its directory and first ring, with raw system calls). Keeps errno.
 * Context: hook.
 * Return: a block whose slots are set, or NULL: nothing is recorded here and now.
 */
struct tp_thread *tp_thread_attach(void);

/** tp_thread_set_name - it has the name @name; cut at 15 bytes. Context: any thread of the process.
 */
void tp_thread_set_name(struct tp_thread *thread, const char *name);

/** tp_thread_read_name - the calling thread, whose block it is, asks the kernel. Context: hook. */
void tp_thread_read_name(struct tp_thread *thread);

/** tp_thread_name - the name as it was set last. Context: any thread. */
void tp_thread_name(const struct tp_thread *thread, char name[16]);

/** tp_thread_was_named - the calling thread has given itself a name. Context: hook. */
void tp_thread_was_named(void);

struct tp_live;

/**
 * tp_thread_take_ring - go on writing in the ring of registry entry @entry, from the thread's
 * cursor Context: hook, by the thread itself, busy set.
 */
void tp_thread_take_ring(struct tp_live *live, struct tp_thread *thread, uint32_t entry);

/**
 * tp_threads_make_careful - from here on every record takes the slow way, which looks at what was
 * stored before. Context: hook.
 */
void tp_threads_make_careful(struct tp_live *live);

#endif
