/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_AGENT_H
#define TP_AGENT_AGENT_H

/*
 * The agent's state. Two parts:
 *   tp_agent  set by the constructor, constant afterwards, copied by fork like everything else;
 *   tp_live   all that belongs to this process: in memory that reads 0 in a forked child.
 *
 * States of a process: ASLEEP (nothing made yet) -> ARMED (directory, names and rings exist;
 * whoever fills half a ring drains it) -> LIVE (a drain thread runs) -> ENDED. FAILED and ENDED
 * record nothing more.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "config.h"
#include "event/names.h"
#include "ring/ring.h"
#include "thread.h"

#define TP_RINGS_MAX 8192u
#define TP_STOCK 64u     /* rings ready to be claimed */
#define TP_STOCK_MADE 4u /* of them are made ahead; more come from threads that are gone */
#define TP_PATH_MAX 1024u
#define TP_NAME_TABLE (2u << 20)
#define TP_CAPTURE_ASYNC_MAX 256u

enum tp_state { TP_ASLEEP, TP_ARMING, TP_ARMED, TP_LIVE, TP_ENDED, TP_FAILED };

enum tp_ring_state { TP_RING_NONE, TP_RING_MAKING, TP_RING_STOCK, TP_RING_USED, TP_RING_GONE };

/* The registry's entry of a ring; fields below the line are the drainer's. */
struct tp_ring_entry {
    _Atomic uint32_t state; /* enum tp_ring_state */
    uint32_t number;        /* of the file; 0: memory, not crash-safe */
    struct tp_ring_header *header;
    uint64_t *slots;
    void *map; /* what holds the slots, and the header where that is not in names.tpn */
    uint64_t map_bytes;
    uint32_t thread; /* index of the control block */
    uint32_t slot_count;

    uint32_t track_told;  /* its `track` line was written */
    uint32_t open_count;  /* ranges open at tail */
    uint32_t open_room;   /* entries that fit in open */
    uint32_t successor;   /* entry + 1 of the larger ring that was offered to the thread, 0 none */
    uint32_t predecessor; /* entry + 1 of the ring that must be empty before this one is drained, 0
                             none */
    uint32_t over[TP_CLASS_END]; /* begins deeper than open can hold */
    uint64_t *open; /* their begin records, outermost first, two slots each; mapped at first need */
    uint64_t near_ticks;            /* full ticks of the first record drained */
    uint64_t before[TP_SLOT_WORDS]; /* first slot of the last one, whole; zeros for none */
    uint64_t waiting_since_ns;      /* records have waited since; 0 none */
    char name[16];
};

struct tp_live {
    _Atomic uint32_t state; /* enum tp_state */
    uint32_t pid;
    uint8_t uuid[16];
    uint64_t start_ns;
    bool has_threads;           /* the program has made a thread: a drain of our own may run */
    uint32_t drains_in_malloc;  /* by a thread of the program, in the midst of its allocations */
    char dir[TP_PATH_MAX];      /* of this instance, absolute */
    char ring_dir[TP_PATH_MAX]; /* absolute; usually dir/ring */

    /* names.tpn */
    struct {
        char *map;
        _Atomic uint64_t *table;    /* open addressing: hash's high half << 32 | offset / 8 */
        _Atomic uint64_t used;      /* bytes of the file claimed */
        _Atomic uint64_t allocated; /* bytes of the file that are real */
        _Atomic uint32_t next_id;
        _Atomic uint32_t extending;
        _Atomic uint64_t retry_ns; /* of the disk that refused the next step; 0 it did not */
        _Atomic uint64_t refused;  /* names that found no room or were too many */
        uint64_t final_bytes;      /* of the file, once it is closed */
    } names;
    struct tp_name_cache *name_caches; /* TP_NAME_CACHE per control block */

    /* ranges and steps that turn the capture window (capture_range.c) */
    struct {
        _Atomic uint64_t units; /* steps begun << 32 | counted by optimizer << 31 | ranges open */
        _Atomic uint32_t async_open;
        _Atomic uint32_t optimizer; /* name id of the one whose steps count; 0 none yet */
        _Atomic uint64_t async[TP_CAPTURE_ASYNC_MAX]; /* ids of start/end ranges; 0 free */
        _Atomic uint8_t watched[(TP_NAME_FIRST + TP_NAME_LIMIT) / 4]; /* two bits per name id */
    } capture;

    _Atomic uint32_t first_block; /* control block that is handed out first, + 1; 0 not set yet */
    _Atomic uint32_t next_track;
    _Atomic uint32_t next_ring;              /* number of the next ring file */
    _Atomic uint32_t ring_count;             /* registry entries ever used */
    _Atomic uint64_t ring_bytes;             /* of all rings mapped */
    _Atomic uint32_t stock[TP_STOCK];        /* entry + 1 of a ring ready to be claimed, 0 none */
    _Atomic uint64_t early_drops;            /* events of threads that got no ring at all */
    _Atomic uint32_t unrecorded_allocations; /* of a process without a recording yet */
    _Atomic uint32_t memory_rings;           /* made so far: their slots are in no file */
    _Atomic uint64_t memory_headers;         /* bit n: header n in names.tpn is in use */

    _Atomic uint32_t drain_lock; /* whoever drains holds it */
    _Atomic uint32_t drain_bell; /* futex: the drain sleeps here */
    _Atomic uint32_t tell_now;   /* a source's lines shall not wait for the second */
    _Atomic uint32_t drain_done; /* futex: 1 = it wrote everything and is gone */
    _Atomic uint32_t want;       /* enum tp_drain_want */
    _Atomic uint32_t said_full;  /* a line about the disk is due at exit: -errno */

    struct tp_drain *drain; /* drain.c's own */
    uint32_t drain_tid;     /* of the drain thread; 0 there is none */

    struct tp_ring_entry rings[TP_RINGS_MAX];
    struct tp_thread threads[TP_THREADS_MAX];
};

struct tp_agent {
    struct tp_config config;
    struct tp_live *live; /* NULL: the agent is off in this image */
    char run_dir[TP_PATH_MAX];
    char host[65];
    char program[256];     /* of /proc/self/exe */
    bool root;             /* the process that the user started */
    bool has_started;      /* the constructor is over */
    uint32_t own_pid;      /* of this process; another one's in the memory of a vfork child */
    _Atomic bool filtered; /* it has installed a seccomp filter, or the process that forked it */
    struct tp_clock_pair first_pair; /* in the constructor: the far end of the first rate */
    uint8_t last_uuid[16]; /* of the instance that this process was forked from; zero none */
    uint32_t armed_pid;    /* pid for which last_uuid was set */
};

extern struct tp_agent tp_agent;

/**
 * tp_agent_arm - make this process's directory, names and registry, once
 *
 * Context: hook; raw system calls; other threads that come meanwhile get false and their events are
 * counted. Return: whether events can be recorded now.
 */
bool tp_agent_arm(void);

/** tp_agent_live - start the drain thread, once. Context: the host's thread that has just made a
 * thread. */
void tp_agent_go_live(void);

/**
 * tp_agent_go_live_if_busy - start the drain thread of a program without threads that has allocated
 * so much that its own thread had to drain again and again
 *
 * Context: hook, behind an allocation or before a free: it is left for the next time where this is
 * not the program's ordinary course. What that allocates counts for nobody.
 */
void tp_agent_go_live_if_busy(void);

/** tp_agent_end - last drain and the `end` line. @reason as in format.md. Context: exit path or
 * _exit. */
void tp_agent_end(const char *reason, uint64_t wait_ns);

/**
 * tp_agent_leave_alone - let the drain thread go, so that the program has no more threads than it
 * has made
 *
 * Context: a thread of the host that is about to ask for what the kernel allows to a process of one
 * thread only. Return: whether there was one: then tp_agent_come_back is due.
 */
bool tp_agent_leave_alone(void);

/** tp_agent_come_back - the drain thread of a program that has made threads; that of another one
 * comes when it is busy again. Context: behind tp_agent_leave_alone. */
void tp_agent_come_back(void);

/**
 * tp_agent_before_filter - end this process's recording, for good: its next system call may be
 * forbidden
 *
 * Context: a thread of the host that is about to install a seccomp filter. Not in a vfork child's
 * name.
 */
void tp_agent_before_filter(void);

/** tp_agent_here - whether the live state belongs to the calling process (false in a vfork child
 * and before arming). */
bool tp_agent_here(void);

#endif
