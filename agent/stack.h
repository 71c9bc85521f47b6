/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_STACK_H
#define TP_AGENT_STACK_H

/*
 * Call stacks, as ids of names: native frames (unwind.h), and outside of them, from the
 * interpreter's loop on, those of Python. Only the calling thread's own stack is read, so what is
 * wrongly unwound ends the stack and never faults; where a stack is met for the first time, the
 * instruction before each return address must be a call, or the stack is cut there. When half of
 * the room for names is used the whole stack is told only where it is met again, or of a large
 * block: a program's start has hundreds of thousands of stacks that are met once. Of others the
 * innermost frames are.
 */

#include <stdint.h>

#define TP_STACK_FRAMES_MAX 64u

/** tp_stack_start - learn where the first thread's stack lies. Context: start. */
void tp_stack_start(void);

/** tp_stack_start_frames - what tp_stack_id needs besides. Context: start. Return: NULL, or what
 * stacks will lack. */
const char *tp_stack_start_frames(void);

/**
 * tp_stack_id - the id of the stack of who called the function whose frame @frame is
 * @frame:  __builtin_frame_address(0) of one of our functions that the program has called
 * @depth:  frames at most, of each of the two
 * @weight: bytes that the allocation stands for
 *
 * The calling thread has its control block and the process its names. At most 5 KiB of stack;
 * system calls where a stack is new to the thread. Context: hook. Return: id of a name of kind
 * TP_NAME_STACK, or one that says why there is none; TP_NAME_NONE where nothing is known.
 */
uint32_t tp_stack_id(const void *frame, unsigned depth, uint64_t weight);

/** tp_stack_is_roomy - whether the calling thread runs on the process's first stack, with room left
 * for the drain. Context: hook. */
int tp_stack_is_roomy(void);

/** tp_stack_first_end - where the first thread's stack ends: above its first frame */
uintptr_t tp_stack_first_end(void);

/**
 * tp_stack_is_after_call - whether the 8 bytes before an address end with a call
 * @before: those bytes, as they lie in memory
 */
int tp_stack_is_after_call(uint64_t before);

#endif
