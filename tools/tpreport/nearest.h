/* SPDX-License-Identifier: MIT */
#ifndef TP_NEAREST_H
#define TP_NEAREST_H

#include <stddef.h>

#include "base/text.h"

/** tp_put_nearest_first - @names with @between in between, those that @word may mean first: those
 * that hold it, then by their distance; equal ones keep their order */
void tp_put_nearest_first(struct tp_text *out, const char *word, const char **names, size_t count,
                          const char *between);

#endif
