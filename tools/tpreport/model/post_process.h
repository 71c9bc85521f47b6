/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_POST_PROCESS_H
#define TP_MODEL_POST_PROCESS_H

#include "base/error.h"
#include "model/raw_record.h"

/**
 * tp_post_process - the reference's step from raw records to a list of events
 * @records:        all added; used up, for tp_raw_records_fini
 * @trace_start_ns: where the events' clock begins
 *
 * Credits memory by time and device work by linked ids, makes events of memory that nobody is
 * credited with, and sorts by start, longer first. The list's use_device is set before; the tree is
 * built afterwards (tp_tree_build).
 *
 * Context: offline, the list's thread.
 * Return: 0, -ENOMEM or -TP_ELIMIT, explained in @diag.
 */
int tp_post_process(struct tp_raw_records *records, int64_t trace_start_ns, struct tp_diag *diag);

#endif
