/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_DRAIN_H
#define TP_AGENT_DRAIN_H

/*
 * Rings -> blocks -> file. One drainer at a time (drain_lock): the drain thread of a live process,
 * or a thread of the host in an armed one, or whoever ends the process. Takes no libc lock: no
 * malloc, stdio, dl*.
 */

#include "agent.h"
#include "own_thread.h"

/** tp_drain_open - workspace for this process. Context: arming thread. Return: 0 or -ENOMEM. */
int tp_drain_open(struct tp_live *live);

/** tp_drain_block_slots - slots of the largest block that is made. Context: any. */
uint32_t tp_drain_block_slots(void);

/** tp_drain_wake - ring the drain thread's bell; nothing where there is none. Context: hook. */
void tp_drain_wake(struct tp_live *live);

/** tp_drain_tell - what the sources have to tell is written now, for without it records behind it
 * cannot be read. Context: hook. */
void tp_drain_tell(struct tp_live *live);

/** tp_drain_here - one pass on the calling thread, unless somebody else drains. Context: hook,
 * never in malloc or a signal handler. */
void tp_drain_here(struct tp_live *live);

/**
 * tp_drain_start - start the drain thread
 * @make_thread: the host libc's pthread_create
 * Context: a thread of the host, just after it made a thread. Return: 0 or -errno: then the process
 * stays armed.
 */
int tp_drain_start(struct tp_live *live, tp_make_thread *make_thread);

/**
 * tp_drain_pause - let the drain thread go: then the process is armed, and may start another one
 * @wait_ns: how long to wait for it
 * Context: a thread of the host. Return: whether it is on its way out.
 */
bool tp_drain_pause(struct tp_live *live, uint64_t wait_ns);

/** tp_drain_retry_now - forget that the disk refused a block a moment ago. Context: drainer. */
void tp_drain_retry_now(struct tp_live *live);

/** tp_drain_end_idle - the `end` line of a process that has a directory and no event. Context: exit
 * path. Return: whether it is written. */
bool tp_drain_end_idle(struct tp_live *live, const char *reason);

/**
 * tp_drain_end - take everything, write the `end` line, remove the rings
 * @wait_ns: how long to wait for the drain thread
 * Context: exit path. Return: whether it was done.
 */
bool tp_drain_end(struct tp_live *live, const char *reason, uint64_t wait_ns);

#endif
