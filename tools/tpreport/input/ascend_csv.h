/* SPDX-License-Identifier: MIT */
#ifndef TP_INPUT_ASCEND_CSV_H
#define TP_INPUT_ASCEND_CSV_H

#include "input/input.h"

/* Ascend's kernel_details.csv or operator_details.csv, or a directory that has some below it. */
extern const struct tp_input_kind tp_input_ascend_csv;

/**
 * tp_ascend_csv_parse - one file from memory, for tests and fuzzing
 * Return: 0 or negative with an explained @diag.
 */
int tp_ascend_csv_parse(const char *text, size_t size, const struct tp_selection *selection,
                        struct tp_strings *strings, struct tp_work_sink *sink,
                        struct tp_diag *diag);

#endif
