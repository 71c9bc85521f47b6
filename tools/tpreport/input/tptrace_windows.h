/* SPDX-License-Identifier: MIT
 * The capture windows of a process: how much of its time a recording covers. */
#ifndef TP_INPUT_TPTRACE_WINDOWS_H
#define TP_INPUT_TPTRACE_WINDOWS_H

#include "input/tptrace_run.h"
#include "model/buffer.h"

/** tptrace_windows_line - what a report's head says of them, without the line's end */
void tptrace_windows_line(struct tp_buffer *out, const struct tptrace_member *member);

/** tptrace_windows_text - what `info` says of them: the same, and when the first of them were */
void tptrace_windows_text(struct tp_buffer *out, const struct tptrace_member *member);

/** tptrace_windows_json - {"plan":..., "count":..., ..., "windows":[{"start_ns":...,
 * "end_ns":...}]}, all of them when @all */
void tptrace_windows_json(struct tp_buffer *out, const struct tptrace_member *member, bool all);

#endif
