/* SPDX-License-Identifier: MIT */
#include "model/alloc_interval.h"

#include <math.h>
#include <stdbool.h>

#define TAIL 0.025 /* on each side */
#define TAIL_NORMAL                                                                                \
    1.9599639845400545      /* quantile of the normal distribution beyond which it lies */
#define SHAPE_IS_LARGE 2000 /* the cube root is normal, as far as four digits tell */
#define TERMS_MAX 2000
#define STEPS_MAX 100

/* The probability below @x, by the series, which converges fast there. */
static double below_by_series(double shape, double x)
{
    double term = 1 / shape, sum = term;

    for (int i = 1; i < TERMS_MAX && term > sum * 1e-15; i++) {
        term *= x / (shape + i);
        sum += term;
    }
    return sum * exp(shape * log(x) - x - lgamma(shape));
}

/* The probability above @x, by the continued fraction (Lentz's way). */
static double above_by_fraction(double shape, double x)
{
    const double tiny = 1e-300;
    double b = x + 1 - shape, c = 1 / tiny, d = 1 / b, product = d;

    for (int i = 1; i < TERMS_MAX; i++) {
        double a = -i * (i - shape);
        b += 2;
        d = a * d + b;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + a / c;
        c = fabs(c) < tiny ? tiny : c;
        product *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return product * exp(shape * log(x) - x - lgamma(shape));
}

static double probability_below(double shape, double x)
{
    if (x <= 0)
        return 0;
    return x < shape + 1 ? below_by_series(shape, x) : 1 - above_by_fraction(shape, x);
}

/* The cube root is nearly normal (Wilson and Hilferty). @normal: the normal quantile. */
static double guess(double shape, double normal)
{
    double root = 1 - 1 / (9 * shape) + normal / (3 * sqrt(shape));

    return root > 0 ? shape * root * root * root : 0;
}

double tp_gamma_quantile(double shape, double p)
{
    double low = 0, high = shape + 1;

    while (probability_below(shape, high) < p)
        high *= 2;
    for (int i = 0; i < STEPS_MAX && high - low > 1e-9 * high; i++) {
        double middle = (low + high) / 2;
        if (probability_below(shape, middle) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Of what was not seen: that of a gamma distribution with this mean and variance. */
static double tail(double mean, double variance, bool is_upper)
{
    if (mean <= 0 || variance <= 0)
        return 0;
    double shape = mean * mean / variance, scale = variance / mean;
    double quantile = shape > SHAPE_IS_LARGE ? guess(shape, is_upper ? TAIL_NORMAL : -TAIL_NORMAL)
                                             : tp_gamma_quantile(shape, is_upper ? 1 - TAIL : TAIL);
    return scale * quantile;
}

struct tp_alloc_interval tp_alloc_interval95(const struct tp_alloc_estimate *e)
{
    double unseen = e->value - e->seen;
    double low = unseen > 0 ? tail(unseen, e->variance, false) - e->grain / unseen : 0;

    return (struct tp_alloc_interval){
        .low = e->seen + (low > 0 ? low : 0),
        .high = e->seen + tail(unseen + e->most, e->variance + e->most_variance, true)};
}
