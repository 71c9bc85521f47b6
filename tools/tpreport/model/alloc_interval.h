/* SPDX-License-Identifier: MIT
 * How far off sums of samples may be. What was sampled is known; what was not is estimated by what
 * the samples stand for beyond themselves, and bounded by quantiles of gamma distributions with the
 * same mean and variance, above with one more sample of the greatest weight (Fay and Feuer, 1997);
 * below one block is taken off, since blocks are whole.
 * Of samples that all have the same small probability that is the exact interval of a Poisson count
 * (Garwood, 1936); of mixed ones an approximation, which errs to the safe side. */
#ifndef TP_MODEL_ALLOC_INTERVAL_H
#define TP_MODEL_ALLOC_INTERVAL_H

/* Of samples with the values x and the probabilities p. */
struct tp_alloc_estimate {
    double seen;          /* the sum of x */
    double value;         /* of x / p */
    double variance;      /* of x^2 (1 - p) / p^2 */
    double grain;         /* of x^2 (1 - p) / p: by it the mean block of what was not sampled */
    double most;          /* the greatest x (1 - p) / p that a sample may have */
    double most_variance; /* x^2 (1 - p) / p^2 of that one */
};

struct tp_alloc_interval {
    double low, high;
};

/** tp_alloc_interval95 - in which the true sum lies with 95 %, or more */
struct tp_alloc_interval tp_alloc_interval95(const struct tp_alloc_estimate *estimate);

/** tp_gamma_quantile - what a gamma distribution of the scale 1 is below with the probability @p
 * @shape: above 0
 * @p:     above 0, below 1
 */
double tp_gamma_quantile(double shape, double p);

#endif
