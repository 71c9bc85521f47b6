/* SPDX-License-Identifier: MIT
 * What stands above the tables of the allocation profile: sums, and what is not in them. */
#ifndef TP_VIEW_MEMORY_HEAD_H
#define TP_VIEW_MEMORY_HEAD_H

#include "model/alloc_profile.h"
#include "model/report.h"

/** tp_memory_put_head - for people */
void tp_memory_put_head(struct tp_buffer *out, const struct tp_report *report);

/** tp_memory_put_coverage - as a member of a JSON object */
void tp_memory_put_coverage(struct tp_buffer *out, const struct tp_report *report);

/** tp_memory_put_bytes - as PyTorch's tables tell it: "1.50 KB" */
void tp_memory_put_bytes(struct tp_buffer *out, double bytes);

#endif
