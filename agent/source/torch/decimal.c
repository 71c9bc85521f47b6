/* SPDX-License-Identifier: MIT */
#include "source/torch/internal.h"

#include <math.h>
#include <string.h>

/*
 * Doubles as text without stdio, which may take memory and follows the user's locale. The value is
 * mantissa * 2^power exactly; as an integer of at most 770 decimal digits it is written out in full
 * and then rounded to 17 digits, ties to even. Slow, exact, and only for values not seen before.
 */

enum {
    DIGITS = 17,
    LIMBS = 88, /* of 9 decimal digits, least first: 53 bits times 5^1074 has 767 digits */
    LIMB = 1000000000,
};

struct natural {
    uint32_t limbs[LIMBS];
    size_t count;
};

static void multiply(struct natural *number, uint32_t factor)
{
    uint64_t carry = 0;

    for (size_t i = 0; i < number->count; i++) {
        carry += (uint64_t)number->limbs[i] * factor;
        number->limbs[i] = (uint32_t)(carry % LIMB);
        carry /= LIMB;
    }
    if (carry != 0)
        number->limbs[number->count++] = (uint32_t)carry;
}

static size_t write_digits(const struct natural *number, char *digits)
{
    size_t count = 0;

    for (size_t i = number->count; i-- > 0;) {
        uint32_t limb = number->limbs[i];
        for (uint32_t unit = LIMB / 10; unit != 0; unit /= 10) {
            if (count != 0 || limb / unit != 0)
                digits[count++] = (char)('0' + limb / unit);
            limb %= unit;
        }
    }
    return count;
}

/* Keeps DIGITS of @count digits. Returns 1 when rounding up made one more digit before the point.
 */
static int round_digits(char *digits, size_t count)
{
    bool up, exact = true;

    for (size_t i = DIGITS + 1; i < count; i++)
        exact = exact && digits[i] == '0';
    up = digits[DIGITS] > '5' || (digits[DIGITS] == '5' && (!exact || (digits[DIGITS - 1] & 1)));
    for (size_t i = DIGITS; up && i-- > 0;) {
        up = digits[i] == '9';
        digits[i] = up ? '0' : (char)(digits[i] + 1);
    }
    if (!up)
        return 0;
    digits[0] = '1';
    return 1;
}

static size_t write_scientific(const char *digits, size_t count, int exponent, char *out)
{
    size_t used = 0;
    int size = exponent < 0 ? -exponent : exponent;

    out[used++] = digits[0];
    if (count > 1) {
        out[used++] = '.';
        memcpy(out + used, digits + 1, count - 1);
        used += count - 1;
    }
    out[used++] = 'e';
    out[used++] = exponent < 0 ? '-' : '+';
    if (size >= 100)
        out[used++] = (char)('0' + size / 100);
    out[used++] = (char)('0' + size / 10 % 10);
    out[used++] = (char)('0' + size % 10);
    return used;
}

static size_t write_plain(const char *digits, size_t count, int exponent, char *out)
{
    size_t used = 0;

    if (exponent < 0) {
        memcpy(out, "0.", 2);
        used = 2;
        for (int i = -1; i > exponent; i--)
            out[used++] = '0';
        memcpy(out + used, digits, count);
        return used + count;
    }
    for (size_t i = 0; i < count || (int)i <= exponent; i++) {
        if ((int)i == exponent + 1)
            out[used++] = '.';
        out[used++] = i < count ? digits[i] : '0';
    }
    return used;
}

size_t tp_torch_decimal(double value, char *buffer)
{
    struct natural number = {.count = 0};
    char digits[LIMBS * 9 + 1];
    size_t count, used = 0;
    int power, exponent;
    uint64_t mantissa;

    if (signbit(value))
        buffer[used++] = '-';
    if (!isfinite(value)) {
        memcpy(buffer + used, isnan(value) ? "nan" : "inf", 3);
        return used + 3;
    }
    if (value == 0) {
        buffer[used++] = '0';
        return used;
    }
    mantissa = (uint64_t)ldexp(frexp(fabs(value), &power), 53);
    power -= 53;
    for (; (mantissa & 1) == 0; power++)
        mantissa >>= 1;
    for (; mantissa != 0; mantissa /= LIMB)
        number.limbs[number.count++] = (uint32_t)(mantissa % LIMB);
    for (int i = power; i > 0; i--)
        multiply(&number, 2);
    for (int i = power; i < 0; i++)
        multiply(&number, 5);
    count = write_digits(&number, digits);
    exponent = (int)count - 1 + (power < 0 ? power : 0);
    if (count > DIGITS) {
        exponent += round_digits(digits, count);
        count = DIGITS;
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    if (exponent < -4 || exponent >= DIGITS)
        return used + write_scientific(digits, count, exponent, buffer + used);
    return used + write_plain(digits, count, exponent, buffer + used);
}
