/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_PROCESS_H
#define TP_SOURCE_PROCESS_H

/** tp_process_look - tell which modules are mapped, if that was not told a moment ago: for a process
 * in which the agent has no thread yet, and which may be killed. Context: hook, armed or about to
 * be. */
void tp_process_look(void);

#endif
