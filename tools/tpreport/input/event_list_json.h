/* SPDX-License-Identifier: MIT */
#ifndef TP_INPUT_EVENT_LIST_JSON_H
#define TP_INPUT_EVENT_LIST_JSON_H

#include "input/input.h"

/* An event list in JSON: an object with "events" (and "list" for its settings), or a bare array. */
extern const struct tp_input_kind tp_input_event_list_json;

/**
 * tp_event_list_json_parse - the same from memory, for tests and fuzzing
 * @list: events are appended; settings are set when the text has them
 * Return: 0 or negative with an explained @diag; events before an error stay in @list.
 */
int tp_event_list_json_parse(const char *text, size_t size, const struct tp_selection *selection,
                             struct tp_event_list *list, struct tp_diag *diag);

#endif
