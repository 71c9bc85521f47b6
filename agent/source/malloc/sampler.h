/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_SAMPLER_H
#define TP_SOURCE_MALLOC_SAMPLER_H

/*
 * How far apart samples lie: exponential, so that an allocation of n bytes is sampled with the
 * probability 1 - exp(-n / period), whatever was allocated before. In integers: a hook must not
 * touch the program's floating-point flags.
 */

#include <stdbool.h>
#include <stdint.h>

#define TP_SAMPLER_PERIOD_MAX (UINT64_C(1) << 40)

/** tp_sampler_random - the next number of a sequence; @state must not be 0 */
static inline uint64_t tp_sampler_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/** tp_sampler_seed - a state from any numbers, never 0 */
static inline uint64_t tp_sampler_seed(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b << 32 ^ b >> 32) + UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x ? x : 1;
}

/* The product of two fractions of 2^64. */
static inline uint64_t tp_sampler_times(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

/*
 * The fraction of the binary logarithm of x / 2^63, 1 <= that < 2, times 2^32.
 *
 * Of m, or of m / 2 where m is above the root of 2, which is nearer to 1: log2(m) = 2 / ln(2) *
 * (s + s^3 / 3 + s^5 / 5 + ...), s = (m - 1) / (m + 1), within 0.172: what is left out is below
 * 2^-34, and what is lost of the quotient below 2^-31.
 */
static inline uint64_t tp_sampler_log2(uint64_t x)
{
    static const uint64_t parts[] = {UINT64_MAX / 11, UINT64_MAX / 9, UINT64_MAX / 7,
                                     UINT64_MAX / 5, UINT64_MAX / 3};
    const uint64_t one = UINT64_C(1) << 63;
    bool is_above = x >= UINT64_C(0xb504f333f9de6484);
    /* |m - 1| and m + 1, times 2^62, or where m is halved 2^63 */
    uint64_t difference = (is_above ? 0 - x : x - one) / 2;
    uint64_t total = x / 2 + (is_above ? one : one / 2);
    uint64_t s = (difference << 2) / (total >> 32) << 30;
    uint64_t square = tp_sampler_times(s, s), sum = 0;

    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        sum = parts[i] + tp_sampler_times(sum, square);
    sum = s + tp_sampler_times(s, tp_sampler_times(sum, square));
    /* 2 / ln(2) times 2^62 */
    uint64_t log = (uint64_t)((unsigned __int128)sum * UINT64_C(0xb8aa3b295c17f0bc) >> 94);
    return is_above ? (UINT64_C(1) << 32) - log : log;
}

/**
 * tp_sampler_draw - bytes to the next sample
 * @period: mean of them, 1 to TP_SAMPLER_PERIOD_MAX
 * Return: at least 1; the allocation that brings what is left to 0 or below is sampled.
 */
static inline int64_t tp_sampler_draw(uint64_t *state, uint64_t period)
{
    uint64_t random = tp_sampler_random(state) | 1;
    unsigned zeros = (unsigned)__builtin_clzll(random);
    /* -log2(random / 2^64) in 1/2^32, then times the natural logarithm of 2 */
    uint64_t halvings = ((uint64_t)(1 + zeros) << 32) - tp_sampler_log2(random << zeros);
    uint64_t gap = (uint64_t)((unsigned __int128)halvings * UINT64_C(0xb17217f7d1cf79ac) >> 64);

    return (int64_t)((unsigned __int128)gap * period >> 32) + 1;
}

#endif
