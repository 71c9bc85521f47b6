/* SPDX-License-Identifier: MIT
 * A number as the reference has it: an exact integer or a double. Integers stay integers through
 * additions and subtractions until a double joins or 96 bits are not enough; then it is a double.
 * (64 bits are not: FLOPs of one event may need all of an unsigned 64-bit number, and are summed.)
 */
#ifndef TP_MODEL_NUMBER_H
#define TP_MODEL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef __int128 tp_wide;

union tp_number_bits {
    uint64_t low; /* of an integer in two's complement */
    double real;
};

struct tp_number {
    union tp_number_bits bits;
    int32_t high; /* the integer is high * 2^64 + low; 0 for a double */
    bool is_real;
};

static inline tp_wide tp_number_to_wide(struct tp_number n)
{
    return (tp_wide)n.high * ((tp_wide)1 << 64) + n.bits.low;
}

static inline struct tp_number tp_number_integer(int64_t integer)
{
    return (struct tp_number){.bits = {.low = (uint64_t)integer}, .high = integer < 0 ? -1 : 0};
}

static inline struct tp_number tp_number_real(double real)
{
    return (struct tp_number){.bits = {.real = real}, .is_real = true};
}

static inline double tp_number_to_double(struct tp_number n)
{
    return n.is_real ? n.bits.real : (double)tp_number_to_wide(n);
}

/** tp_number_fits - is it an integer of signed 64 bits? */
static inline bool tp_number_fits(struct tp_number n)
{
    return !n.is_real && n.high == ((int64_t)n.bits.low < 0 ? -1 : 0);
}

/*
 * All of them: any thread, no allocation.
 *
 * tp_number_wide - an integer, or a double beyond 96 bits
 * tp_number_add, _subtract - integer while both are and it fits 96 bits, else double
 * tp_number_divide  - always a double; 0.0 when the divisor is 0
 * tp_number_compare - by exact value, -1 0 1; a NaN is below everything and equal to itself
 */
struct tp_number tp_number_wide(tp_wide integer);
struct tp_number tp_number_add(struct tp_number a, struct tp_number b);
struct tp_number tp_number_subtract(struct tp_number a, struct tp_number b);
double tp_number_divide(struct tp_number a, struct tp_number b);
int tp_number_compare(struct tp_number a, struct tp_number b);

/** tp_number_sign - -1, 0 or 1; 0 for a NaN */
int tp_number_sign(struct tp_number n);

/**
 * tp_number_truncate - towards zero, as int() of the reference
 * Return: the integer; saturates at the ends of 64 bits, 0 for a NaN.
 */
int64_t tp_number_truncate(struct tp_number n);

#define TP_NUMBER_TEXT_MAX 40

/**
 * tp_number_print - an integer in decimal, a double in the fewest digits that read back equal
 * @buffer: at least TP_NUMBER_TEXT_MAX bytes
 *
 * Doubles always have ".0", a fraction or an exponent: 286.0, 0.1, 1e+16, 5e-324.
 *
 * Context: offline; "C" numeric locale.
 * Return: bytes written, without the terminator.
 */
size_t tp_number_print(struct tp_number n, char *buffer);

/**
 * tp_number_parse - JSON number text; an integer when it has neither '.' nor exponent and fits
 * Return: 0, -TP_ESYNTAX, or -TP_EVALUE for one that is not finite as a double.
 */
int tp_number_parse(const char *text, size_t size, struct tp_number *ret_number);

#endif
