/* SPDX-License-Identifier: MIT */
#include "model/decimal.h"

#include <errno.h>

#include "base/error.h"
#include "model/number.h"

enum { MAX_DIGITS = 36 }; /* significant ones that are kept; 128 bits hold 38 */

/* digits * 10^exponent, and whether anything but zeros was cut off behind them */
struct decimal {
    tp_wide digits;
    int64_t exponent;
    bool is_negative, is_cut;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits from @at on. @fraction: they stand behind the point. Return: how many there were. */
static size_t take_digits(struct decimal *d, const char **at, const char *end, int *kept,
                          bool fraction)
{
    const char *begin = *at;

    for (; *at < end && is_digit(**at); ++*at) {
        if (*kept < MAX_DIGITS) {
            d->digits = d->digits * 10 + (**at - '0');
            *kept += d->digits != 0;
            d->exponent -= fraction;
        } else {
            d->is_cut |= **at != '0';
            d->exponent += !fraction;
        }
    }
    return (size_t)(*at - begin);
}

static bool take_exponent(struct decimal *d, const char **at, const char *end)
{
    bool negative = false;
    int64_t value = 0;

    if (*at == end || (**at != 'e' && **at != 'E'))
        return true;
    ++*at;
    if (*at < end && (**at == '-' || **at == '+'))
        negative = *(*at)++ == '-';
    if (*at == end)
        return false;
    for (; *at < end && is_digit(**at); ++*at)
        value = value < 100000 ? value * 10 + (**at - '0') : value;
    d->exponent += negative ? -value : value;
    return true;
}

static bool read_decimal(const char *text, size_t size, struct decimal *d)
{
    const char *at = text, *end = text + size;
    int kept = 0;

    *d = (struct decimal){0};
    if (at < end && (*at == '-' || *at == '+'))
        d->is_negative = *at++ == '-';
    size_t count = take_digits(d, &at, end, &kept, false);
    if (at < end && *at == '.') {
        at++;
        count += take_digits(d, &at, end, &kept, true);
    }
    return count && take_exponent(d, &at, end) && at == end;
}

/* value / 10^places, half to even */
static tp_wide shift_down(tp_wide value, int64_t places, bool is_cut)
{
    tp_wide power = 1;

    if (places > 37)
        return 0;
    while (places-- > 0)
        power *= 10;
    tp_wide whole = value / power, rest = value % power;
    tp_wide half = power / 2;
    if (rest > half || (rest == half && power > 1 && (is_cut || whole & 1)))
        whole++;
    return whole;
}

static int to_integer(const struct decimal *d, int64_t shift, int64_t *ret)
{
    tp_wide value = d->digits;
    int64_t exponent = d->exponent + shift;

    if (exponent < 0)
        value = shift_down(value, -exponent, d->is_cut);
    for (; exponent > 0 && value; exponent--) {
        if (value > INT64_MAX)
            return -TP_EVALUE;
        value *= 10;
    }
    if (value > INT64_MAX)
        return -TP_EVALUE;
    *ret = (int64_t)(d->is_negative ? -value : value);
    return 0;
}

/* Up to @fraction digits behind the point, and all within 19, as nearly all numbers are. */
static bool read_usual(const char *text, size_t size, unsigned fraction, int64_t *ret)
{
    static const int64_t powers[] = {1, 10, 100, 1000};
    uint64_t value = 0;
    size_t point = size;

    if (!size || size > 20)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (is_digit(text[i]))
            value = value * 10 + (uint64_t)(text[i] - '0');
        else if (text[i] == '.' && point == size && i)
            point = i;
        else
            return false;
    }
    size_t places = point == size ? 0 : size - point - 1;
    if (places > fraction || (point < size && !places) || size - (point < size) > 19 ||
        value > (uint64_t)(INT64_MAX / powers[fraction - places]))
        return false;
    *ret = (int64_t)value * powers[fraction - places];
    return true;
}

int tp_decimal_to_ns(const char *text, size_t size, int64_t *ret_ns)
{
    struct decimal d;

    if (read_usual(text, size, 3, ret_ns))
        return 0;
    return read_decimal(text, size, &d) ? to_integer(&d, 3, ret_ns) : -TP_ESYNTAX;
}

int tp_decimal_to_integer(const char *text, size_t size, int64_t *ret)
{
    struct decimal d;

    if (read_usual(text, size, 0, ret))
        return 0;
    if (!read_decimal(text, size, &d))
        return -TP_ESYNTAX;
    if (!d.exponent && !d.is_negative && d.digits <= UINT64_MAX) {
        *ret = (int64_t)(uint64_t)d.digits;
        return 0;
    }
    for (; d.exponent < 0 && d.digits; d.exponent++)
        d.digits /= 10;
    d.is_cut = false;
    return to_integer(&d, 0, ret);
}
