/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_RECORDING_H
#define TP_AGENT_RECORDING_H

/* The recording's directory and files: where they are, how they are made, what is said in
 * meta.jsonl. */

#include "agent.h"
#include "base/text.h"

/**
 * tp_recording_begin_run - decide the run's directory; the first process of a run makes it and
 * run.json Context: start. Return: 0, or -errno after one line on stderr.
 */
int tp_recording_begin_run(void);

/**
 * tp_recording_open - make this instance's directory and write the start of its meta.jsonl
 * Context: arming thread. Return: 0 or -errno.
 */
int tp_recording_open(struct tp_live *live);

/** tp_recording_counts - whether records carry counters of allocations. Context: any. */
bool tp_recording_counts(void);

/** tp_recording_fail_at - keep what could not be made. Context: arming thread. Return: @error. */
int tp_recording_fail_at(const char *path, int error);

/** tp_recording_failed_at - the file or folder that could not be made. Context: arming thread. */
const char *tp_recording_failed_at(void);

/**
 * tp_recording_tell_children - descendants join this recording, or none where @recorded is false
 * Context: start.
 */
void tp_recording_tell_children(bool recorded);

/** tp_recording_is_none - whether TPAGENT_RUN_DIR is what tells that there is none to join */
bool tp_recording_is_none(const char *run_dir);

/**
 * tp_recording_refuse_early - where the recording was found to be another user's already: a shell
 * that takes its variables from @environment finds it there, too
 * Context: start.
 */
void tp_recording_refuse_early(char **environment);

/**
 * tp_recording_may_complain - whether the one line of this run about its disk is still to be said,
 * and the caller says it
 *
 * An empty file `.said` in the recording tells the others; of a recording that is not this user's
 * the processes forked from the same one, and later descendants, are told in another way.
 * Context: as tp_log_warn.
 */
bool tp_recording_may_complain(void);

/**
 * tp_recording_has_room - whether the process has addresses to spare (RLIMIT_AS)
 *
 * Names, rings and workspace take some 150 MiB of them, though little memory: under a limit near
 * that the program's next thread would find none. Context: arming thread. Return: 0 or -ENOMEM.
 */
int tp_recording_has_room(void);

/**
 * tp_recording_tell_filtered - this process will record nothing, and has no folder to say so in: a
 * line in the recording's `filtered`
 * Context: a thread of the host.
 */
void tp_recording_tell_filtered(void);

/** tp_recording_tell_unrecorded - this process ends and has recorded nothing: a line in the
 * recording's `unrecorded`, with what the calling thread has counted. Context: as
 * tp_recording_tell_filtered. */
void tp_recording_tell_unrecorded(void);

/** tp_recording_open_names - names.tpn, its first step, its table. Context: arming thread. Return:
 * 0 or -errno. */
int tp_recording_open_names(struct tp_live *live);

/** tp_recording_unmap_names - give back the memory of names, and their file, when arming fails: the
 * program may need it. Context: arming thread. */
void tp_recording_unmap_names(struct tp_live *live);

/**
 * tp_recording_extend_names - make the next step of names.tpn real
 * @need: bytes that must fit; somebody else extending is waited for a few milliseconds
 * Context: hook (raw system calls). Return: 0 (look again), or negative: no room.
 */
int tp_recording_extend_names(struct tp_live *live, uint64_t need);

/** tp_recording_close_names - no more names; the room that was made ahead goes. Context: exit path
 * or drain. */
void tp_recording_close_names(struct tp_live *live);

/**
 * tp_recording_make_ring - a new ring, in a file that is real to the last byte, else smaller
 * @dir: descriptor of the ring directory, or TP_OS_NO_DIR to go by its absolute path
 * @least: slots that it has at least
 * Context: hook or drain. Return: index of its registry entry in state MAKING, or -errno.
 */
int tp_recording_make_ring(struct tp_live *live, int dir, uint32_t slot_count, uint32_t least);

/**
 * tp_recording_make_memory_ring - a small ring for a thread that gets no other: its header is in
 * names.tpn, so that what goes with the process is counted
 * Context: hook. Return: as of tp_recording_make_ring.
 */
int tp_recording_make_memory_ring(struct tp_live *live, uint32_t slot_count);

/** tp_recording_ring_fits - slots of the largest ring up to @slot_count for which
 * TPAGENT_RING_TOTAL has room; 0 none */
uint32_t tp_recording_ring_fits(struct tp_live *live, uint32_t slot_count);

/** tp_recording_recycle_ring - a ring that is empty and whose thread is gone becomes as new, in the
 * stock, if that has a place for it. Context: drain thread. Return: whether it did. */
bool tp_recording_recycle_ring(struct tp_live *live, uint32_t entry);

/** tp_recording_drop_ring - unmap and unlink; the entry becomes free. Context: drainer. */
void tp_recording_drop_ring(struct tp_live *live, int dir, uint32_t entry);

/** tp_recording_meta - append whole lines to meta.jsonl. Context: arming thread or drainer. Return:
 * 0 or -errno. */
int tp_recording_meta(struct tp_live *live, const char *bytes, size_t size);

/** tp_recording_meta_text - the same of @lines, which is then empty; what cannot be written stays
 * for the next time while it is less than half of the buffer. Context: drainer. */
void tp_recording_meta_text(struct tp_live *live, struct tp_text *lines);

/** tp_recording_meta_bytes - the size of meta.jsonl; 0 unknown. Context: any thread. */
uint64_t tp_recording_meta_bytes(const struct tp_live *live);

/**
 * tp_recording_resume - a recording without events that has ended goes on
 * @meta_bytes: size of meta.jsonl before the end
 * Context: the thread that ended it, while the state is ARMING.
 */
void tp_recording_resume(const struct tp_live *live, uint64_t meta_bytes);

/** tp_recording_clock_line - append a `clock` line */
void tp_recording_clock_line(struct tp_text *text);

/**
 * tp_recording_second_clock - a `clock` line at the first event, where the constructor's is long
 * enough ago
 *
 * So even a process that dies in its first milliseconds has two readings, and with them a rate.
 * Context: arming thread.
 */
void tp_recording_second_clock(struct tp_live *live);

/** tp_recording_read_environment - what is read of the environment for the manifest: rank
 * variables. Context: start. */
void tp_recording_read_environment(char *const *environment, int argc, char *const *argv);

#endif
