/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_PLAIN_H
#define TP_AGENT_PLAIN_H

#include <stdbool.h>

/**
 * tp_plain_start - make ready for tp_plain_is_here. Context: start.
 */
void tp_plain_start(void);

/**
 * tp_plain_is_here - whether the first thread is in the program's ordinary course: what called us
 * is known up to the program's own start, and neither the loader nor a signal handler is on the way
 *
 * Then a thread can be made, whatever function of the program's calls us: no lock of the loader is
 * held, and of libc's none that making a thread takes is held around an allocation.
 *
 * Context: hook, on the process's first stack.
 */
bool tp_plain_is_here(void);

#endif
