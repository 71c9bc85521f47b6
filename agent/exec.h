/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_EXEC_H
#define TP_AGENT_EXEC_H

#include <stdint.h>

/* What was done to the recording before a call of exec. */
struct tp_exec {
    enum { TP_EXEC_UNNOTICED, TP_EXEC_COUNTED, TP_EXEC_ENDED } how;
    uint64_t meta_bytes; /* TP_EXEC_ENDED: size of meta.jsonl before its end */
};

/**
 * tp_exec_set_out - the calling thread is about to make another program of this process
 *
 * Nothing happens in a child that is not recorded yet, or that has its parent's memory (vfork).
 * Context: hook, in front of the system call. Keeps errno.
 */
struct tp_exec tp_exec_set_out(void);

/** tp_exec_failed - it came back: all is as before. Context: hook. Keeps errno. */
void tp_exec_failed(struct tp_exec call);

#endif
