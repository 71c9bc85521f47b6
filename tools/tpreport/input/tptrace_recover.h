/* SPDX-License-Identifier: MIT
 * What a dead process left in its rings, written into a segment. */
#ifndef TP_INPUT_TPTRACE_RECOVER_H
#define TP_INPUT_TPTRACE_RECOVER_H

#include <stdbool.h>

#include "base/error.h"
#include "input/selection.h"
#include "model/buffer.h"

/**
 * tptrace_recover - turn the rings of all processes of a recording that are gone into blocks
 * @path: as tptrace_find
 * @out: a line for each process that had rings, or cannot be done
 * @ret_partial: something was left as it is: a process of another host, a damaged ring
 *
 * May be killed at any moment and run again: the segment appears whole, then meta.jsonl says so,
 * then the rings go; whatever is there twice meanwhile counts once for every reader. Processes that
 * run are left alone.
 *
 * Context: offline; another one at the same time is refused for each process (flock of meta.jsonl).
 * Return: 0 or negative with @diag.
 */
int tptrace_recover(const char *path, const struct tp_selection *selection, struct tp_buffer *out,
                    bool *ret_partial, struct tp_diag *diag);

#endif
