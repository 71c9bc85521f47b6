/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_FLOPS_H
#define TP_MODEL_FLOPS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * tp_flops_of - floating-point operations of one call by the reference's formulas
 * @name:     operator without overload
 * @shapes:   sizes of the inputs as a list in text, "[[8, 16], [16, 32]]"; tensor lists nest deeper
 * @concrete: values of the inputs as a list in text, "['', '', '', '[1, 1]', '[0, 0]', ...]" with
 *            either kind of quotes; needed for convolutions only, may be ""
 *
 * Unsigned 64 bits, wrapping.
 *
 * Context: offline, any thread.
 * Return: the number; 0 for an operator without a formula or inputs that it does not fit.
 */
uint64_t tp_flops_of(const char *name, const char *shapes, const char *concrete);

/** tp_flops_has_formula - is it one of the operators that are counted? */
bool tp_flops_has_formula(const char *name);

#endif
