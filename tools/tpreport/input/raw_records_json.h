/* SPDX-License-Identifier: MIT */
#ifndef TP_INPUT_RAW_RECORDS_JSON_H
#define TP_INPUT_RAW_RECORDS_JSON_H

#include "input/input.h"

/* Raw records in JSON: an object with "raw", "trace_start_ns" and "list" for the settings. */
extern const struct tp_input_kind tp_input_raw_records_json;

/**
 * tp_raw_records_json_parse - the same from memory, for tests and fuzzing
 * @list: events are appended in the reference's order; the tree is not built
 * Return: 0 or negative with an explained @diag.
 */
int tp_raw_records_json_parse(const char *text, size_t size, struct tp_event_list *list,
                              struct tp_diag *diag);

#endif
