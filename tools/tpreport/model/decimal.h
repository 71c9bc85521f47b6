/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_DECIMAL_H
#define TP_MODEL_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * tp_decimal_to_ns - microseconds in decimal, as nanoseconds
 * @text: "1695835542514261", "4203669604595.407", "-1.5e3"; not terminated
 *
 * Worked out on the digits, because a double holds too few of them; what is finer than a nanosecond
 * is rounded half to even.
 *
 * Context: any thread.
 * Return: 0, -TP_ESYNTAX, or -TP_EVALUE beyond 63 bits (292 years).
 */
int tp_decimal_to_ns(const char *text, size_t size, int64_t *ret_ns);

/**
 * tp_decimal_to_integer - a whole number
 * A number up to 2^64 - 1 is taken as its 64 bits; one with a fraction or exponent is cut towards
 * 0. Return: 0, -TP_ESYNTAX or -TP_EVALUE.
 */
int tp_decimal_to_integer(const char *text, size_t size, int64_t *ret);

#endif
