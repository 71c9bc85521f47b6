/* SPDX-License-Identifier: MIT */
#ifndef TP_HELP_H
#define TP_HELP_H

#include "model/buffer.h"
#include "options.h"

/** tp_help_write - the text of --help: of the command that was named, with its own options, sort
 * keys, columns and formats; of all where none was */
void tp_help_write(struct tp_buffer *out, const struct tp_options *options);

#endif
