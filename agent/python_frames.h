/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_PYTHON_FRAMES_H
#define TP_AGENT_PYTHON_FRAMES_H

/*
 * The Python frames that a thread is in, read as the interpreter keeps them: CPython's own calls
 * would allocate, which a hook of malloc must not, and most of what PyTorch allocates is allocated
 * while its thread does not hold the interpreter's lock. A thread's frames change by the thread
 * itself alone, so they stand still while it is in a hook, with the lock or without.
 *
 * Layouts of CPython 3.8 to 3.13 are known. A layout is believed where what should be a code object
 * is one; where the first frame has none, Python's frames are left out from then on, and the
 * recording says so.
 */

#include <stdbool.h>
#include <stdint.h>

struct tp_python_frame {
    uintptr_t code;
    int32_t at; /* byte of the instruction in it, below 0 before the first */
};

/** tp_python_frames_start - find the interpreter. Context: start. Return: NULL, or why its frames
 * cannot be read. */
const char *tp_python_frames_start(void);

/** tp_python_frames_meet - look whether these instructions are in an interpreter that the program
 * has loaded since the start. Context: hook, while they run. */
void tp_python_frames_meet(const uintptr_t *addresses, unsigned count);

/**
 * tp_python_frames - the Python frames that the calling thread is in, innermost first
 * @frames:   room for @depth
 * @ret_hash: of what tells this stack from any other; unchanged where there is none
 *
 * At most one system call. Context: hook. Return: how many; 0 where the thread is in none.
 */
unsigned tp_python_frames(struct tp_python_frame *frames, unsigned depth, uint64_t *ret_hash);

/**
 * tp_python_frame_id - the id of a frame's file, line and function, a name of kind TP_NAME_CODE
 * Context: hook, before the thread runs on. Return: as tp_intern.
 */
uint32_t tp_python_frame_id(const struct tp_python_frame *frame);

/**
 * tp_python_frames_unload, _unloaded - around a call that may unload an interpreter
 *
 * Until the latter no thread is asked for the frames of one that was loaded after the start.
 * Context: hook; the former waits for those that are being asked.
 */
void tp_python_frames_unload(void);
void tp_python_frames_unloaded(void);

/** tp_python_frames_fork_child - no thread of the parent's asks here. Context: fork child. */
void tp_python_frames_fork_child(void);

/** tp_python_frame_key - what tells a frame from any other */
uint64_t tp_python_frame_key(const struct tp_python_frame *frame);

/** tp_python_runs_at - whether @address is in the interpreter's loop, which runs such frames */
bool tp_python_runs_at(uintptr_t address);

#endif
