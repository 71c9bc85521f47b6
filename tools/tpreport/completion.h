/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPLETION_H
#define TP_COMPLETION_H

#include "base/error.h"
#include "model/buffer.h"

/**
 * tp_completion_write - a script that completes tpreport's command line, from the option table
 * @shell: "bash" or "zsh"
 * Return: 0, or -TP_EUNSUPPORTED explained in @diag.
 */
int tp_completion_write(struct tp_buffer *out, const char *shell, struct tp_diag *diag);

#endif
