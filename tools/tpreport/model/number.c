/* SPDX-License-Identifier: MIT */
#include "model/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

_Static_assert(sizeof(struct tp_number) == 16, "numbers are kept by the million");

struct tp_number tp_number_wide(tp_wide integer)
{
    tp_wide high = integer >> 64;

    if (high < INT32_MIN || high > INT32_MAX)
        return tp_number_real((double)integer);
    return (struct tp_number){.bits = {.low = (uint64_t)integer}, .high = (int32_t)high};
}

struct tp_number tp_number_add(struct tp_number a, struct tp_number b)
{
    if (!a.is_real && !b.is_real)
        return tp_number_wide(tp_number_to_wide(a) + tp_number_to_wide(b));
    return tp_number_real(tp_number_to_double(a) + tp_number_to_double(b));
}

struct tp_number tp_number_subtract(struct tp_number a, struct tp_number b)
{
    if (!a.is_real && !b.is_real)
        return tp_number_wide(tp_number_to_wide(a) - tp_number_to_wide(b));
    return tp_number_real(tp_number_to_double(a) - tp_number_to_double(b));
}

double tp_number_divide(struct tp_number a, struct tp_number b)
{
    if (!tp_number_sign(b))
        return 0.0;
    if (!a.is_real && !b.is_real) /* 64 bits of mantissa: one rounding for all but huge ones */
        return (double)((long double)tp_number_to_wide(a) / (long double)tp_number_to_wide(b));
    return tp_number_to_double(a) / tp_number_to_double(b);
}

static int compare_wide(tp_wide a, tp_wide b)
{
    return (a > b) - (a < b);
}

static int compare_double(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(b) - isnan(a);
    return (a > b) - (a < b);
}

/* The double's integer part fits 128 bits here, so that nothing is rounded. */
static int compare_wide_double(tp_wide a, double b)
{
    if (isnan(b))
        return 1;
    if (b >= 0x1p96)
        return -1;
    if (b < -0x1p96)
        return 1;
    double whole = trunc(b);
    int order = compare_wide(a, (tp_wide)whole);
    return order ? order : compare_double(whole, b);
}

int tp_number_compare(struct tp_number a, struct tp_number b)
{
    if (!a.is_real && !b.is_real)
        return compare_wide(tp_number_to_wide(a), tp_number_to_wide(b));
    if (a.is_real && b.is_real)
        return compare_double(a.bits.real, b.bits.real);
    if (b.is_real)
        return compare_wide_double(tp_number_to_wide(a), b.bits.real);
    return -compare_wide_double(tp_number_to_wide(b), a.bits.real);
}

int tp_number_sign(struct tp_number n)
{
    if (n.is_real)
        return (n.bits.real > 0) - (n.bits.real < 0);
    return n.high < 0 ? -1 : n.high > 0 || n.bits.low > 0;
}

int64_t tp_number_truncate(struct tp_number n)
{
    tp_wide wide;

    if (n.is_real && isnan(n.bits.real))
        return 0;
    if (n.is_real && fabs(n.bits.real) >= 0x1p64)
        return n.bits.real < 0 ? INT64_MIN : INT64_MAX;
    wide = n.is_real ? (tp_wide)n.bits.real : tp_number_to_wide(n);
    return wide > INT64_MAX ? INT64_MAX : wide < INT64_MIN ? INT64_MIN : (int64_t)wide;
}

/* ---- the fewest digits ---- */

struct decimal {
    char digits[20]; /* without leading or trailing zeros */
    int count;
    int exponent; /* of the first digit */
};

static double decimal_value(const struct decimal *d)
{
    char text[40];

    snprintf(text, sizeof(text), "%.*se%d", d->count, d->digits, d->exponent - d->count + 1);
    return strtod(text, NULL);
}

static void decimal_trim(struct decimal *d)
{
    while (d->count > 1 && d->digits[d->count - 1] == '0')
        d->count--;
}

/* @value finite and positive, correctly rounded to @count digits */
static void decimal_round(double value, int count, struct decimal *ret)
{
    char text[40]; /* d.ddde-xxx */

    snprintf(text, sizeof(text), "%.*e", count - 1, value);
    char *mark = strchr(text, 'e');
    ret->exponent = atoi(mark + 1);
    ret->digits[0] = text[0];
    if (count > 1)
        memcpy(ret->digits + 1, text + 2, (size_t)count - 1);
    ret->count = count;
}

static void decimal_step_up(struct decimal *d)
{
    int i = d->count - 1;

    while (i >= 0 && d->digits[i] == '9')
        d->digits[i--] = '0';
    if (i >= 0) {
        d->digits[i]++;
        return;
    }
    d->digits[0] = '1';
    d->exponent++;
}

/* At a power of two the gap above is twice the gap below: the nearest 16 digits may read back as
 * the number below although the next 16 digits up read back right. */
static bool decimal_above_fits(double value, struct decimal *ret)
{
    int exponent;

    if (frexp(value, &exponent) != 0.5)
        return false;
    decimal_round(value, 16, ret);
    decimal_step_up(ret);
    return decimal_value(ret) == value;
}

static void decimal_shortest(double value, struct decimal *ret)
{
    /* up to 15 digits survive a round trip, so 15 rounded ones hold any shorter answer as well,
     * except among the subnormals, which have fewer */
    for (int count = value < 0x1p-1022 ? 1 : 15; count <= 16; count++) {
        decimal_round(value, count, ret);
        if (decimal_value(ret) == value) {
            decimal_trim(ret);
            return;
        }
    }
    if (!decimal_above_fits(value, ret))
        decimal_round(value, 17, ret);
    decimal_trim(ret);
}

static size_t print_scientific(const struct decimal *d, char *out)
{
    size_t used = 0;

    out[used++] = d->digits[0];
    if (d->count > 1) {
        out[used++] = '.';
        memcpy(out + used, d->digits + 1, (size_t)d->count - 1);
        used += (size_t)d->count - 1;
    }
    return used +
           (size_t)sprintf(out + used, "e%c%02d", d->exponent < 0 ? '-' : '+', abs(d->exponent));
}

/* 0.00012345 */
static size_t print_fraction(const struct decimal *d, char *out)
{
    size_t used = 2;

    memcpy(out, "0.", 2);
    for (int zeros = -1 - d->exponent; zeros > 0; zeros--)
        out[used++] = '0';
    memcpy(out + used, d->digits, (size_t)d->count);
    return used + (size_t)d->count;
}

/* 286.0, 0.1 */
static size_t print_positional(const struct decimal *d, char *out)
{
    size_t used = 0;

    if (d->exponent < 0)
        return print_fraction(d, out);
    for (int i = 0; i <= d->exponent; i++)
        out[used++] = i < d->count ? d->digits[i] : '0';
    out[used++] = '.';
    for (int i = d->exponent + 1; i < d->count; i++)
        out[used++] = d->digits[i];
    if (d->count <= d->exponent + 1)
        out[used++] = '0';
    return used;
}

static size_t print_double(double value, char *buffer)
{
    size_t used = 0;
    struct decimal d;

    if (isnan(value))
        return (size_t)sprintf(buffer, "nan");
    if (signbit(value))
        buffer[used++] = '-';
    value = fabs(value);
    if (isinf(value))
        return used + (size_t)sprintf(buffer + used, "inf");
    if (value == 0)
        return used + (size_t)sprintf(buffer + used, "0.0");
    decimal_shortest(value, &d);
    if (d.exponent < -4 || d.exponent >= 16)
        used += print_scientific(&d, buffer + used);
    else
        used += print_positional(&d, buffer + used);
    buffer[used] = '\0';
    return used;
}

static size_t print_wide(tp_wide value, char *buffer)
{
    char digits[TP_NUMBER_TEXT_MAX];
    size_t count = 0, used = 0;
    bool negative = value < 0;

    do { /* digit by digit without negating, which the lowest one would not survive */
        int digit = (int)(value % 10);
        digits[count++] = (char)('0' + (digit < 0 ? -digit : digit));
        value /= 10;
    } while (value);
    if (negative)
        buffer[used++] = '-';
    while (count)
        buffer[used++] = digits[--count];
    buffer[used] = '\0';
    return used;
}

size_t tp_number_print(struct tp_number n, char *buffer)
{
    if (n.is_real)
        return print_double(n.bits.real, buffer);
    if (tp_number_fits(n))
        return (size_t)sprintf(buffer, "%lld", (long long)n.bits.low);
    return print_wide(tp_number_to_wide(n), buffer);
}

/* Decimal digits with an optional minus; false for anything else and beyond 96 bits. */
static bool parse_integer(const char *text, size_t size, struct tp_number *ret)
{
    bool negative = *text == '-';
    tp_wide value = 0;

    if (size > 32 || size == negative)
        return false;
    for (size_t i = negative; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *ret = tp_number_wide(negative ? -value : value);
    return !ret->is_real;
}

int tp_number_parse(const char *text, size_t size, struct tp_number *ret_number)
{
    char stack[128], *copy = stack, *end;

    if (!size)
        return -TP_ESYNTAX;
    if (parse_integer(text, size, ret_number))
        return 0;
    if (size >= sizeof(stack)) {
        copy = malloc(size + 1);
        if (!copy)
            return -TP_ELIMIT;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    double real = strtod(copy, &end);
    int result = end != copy + size ? -TP_ESYNTAX : isfinite(real) ? 0 : -TP_EVALUE;
    if (copy != stack)
        free(copy);
    if (!result)
        *ret_number = tp_number_real(real);
    return result;
}
