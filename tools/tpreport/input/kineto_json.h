/* SPDX-License-Identifier: MIT */
#ifndef TP_INPUT_KINETO_JSON_H
#define TP_INPUT_KINETO_JSON_H

#include "input/input.h"

/* A trace of Kineto or for Chrome in JSON: an object with "traceEvents", or a bare array. */
extern const struct tp_input_kind tp_input_kineto_json;

/**
 * tp_kineto_json_parse - the same from memory, for tests and fuzzing
 * @input: its selection counts, and it is told what is lost; zeroed otherwise
 * @list:  with_flops and keeps_details may be set; events are appended in the reference's order,
 *         the tree is not built
 * Return: 0 or negative with an explained @diag; @list keeps nothing of a document that failed.
 */
int tp_kineto_json_parse(struct tp_input *input, const char *text, size_t size,
                         struct tp_event_list *list, struct tp_diag *diag);

extern const struct tp_input_kind tp_input_exported_recording; /* kineto_own.c */

#endif
