/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_LOG_H
#define TP_AGENT_LOG_H

#include <stdbool.h>

/**
 * tp_log_warn, tp_log_info - one line "tpagent: ..." on stderr
 *
 * At most 16 lines a process, then one that says so. Before the configuration is known only
 * warnings pass. Context: start or the exit path of a thread of the host; never the drain (its
 * descriptor 2 is /dev/null).
 */
void tp_log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tp_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** tp_log_open - remember what descriptor 2 is. Context: start. */
void tp_log_open(int level);

/** tp_log_same - whether descriptor 2 still is what it was at start: else the exit path keeps
 * silent */
bool tp_log_same(void);

#endif
