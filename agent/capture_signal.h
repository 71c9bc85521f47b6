/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_CAPTURE_SIGNAL_H
#define TP_AGENT_CAPTURE_SIGNAL_H

#include <stdbool.h>

/**
 * tp_capture_signal_start - from now on @signal turns the capture window
 * @ret_why: where it cannot: why not
 *
 * Only where the signal has its default action, which would end the process. Context: start.
 */
bool tp_capture_signal_start(int signal, const char **ret_why);

#endif
