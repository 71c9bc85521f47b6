/* SPDX-License-Identifier: MIT
 * How long something took, over and over: a count per distinct value, so that the median is exact.
 * Beyond 64 Ki distinct values they are rounded to 10 significant bits (0.1 %), and it is known. */
#ifndef TP_MODEL_DURATIONS_H
#define TP_MODEL_DURATIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_DURATIONS_EXACT = 64 << 10 };

/* Start from zeros. */
struct tp_durations {
    uint64_t *slots; /* pairs: bits of the double (0: free), how often; open addressing */
    uint32_t slot_count, used;
    struct tp_durations_few *few; /* whole values below 2^16; NULL: slots have all */
    uint32_t few_used;
    bool is_rounded; /* there were too many distinct values */
    uint64_t count;
    double mean, squares; /* of all values as given: the mean, the sum of squares around it */
    bool has_fractions;   /* or values above 2^32; without, these are exact in any order: */
    unsigned __int128 whole_sum, whole_squares;
};

void tp_durations_fini(struct tp_durations *durations);

/**
 * tp_durations_add   - one more value, above 0 and finite
 * tp_durations_add_many - about the same value @count times: from then on all are rounded
 * tp_durations_merge - all of @from as well, which keeps them
 * Context: offline, one thread.
 * Return: 0 or -ENOMEM.
 */
int tp_durations_add(struct tp_durations *durations, double value);
int tp_durations_add_many(struct tp_durations *durations, double value, uint64_t count);
int tp_durations_merge(struct tp_durations *durations, struct tp_durations *from);

/**
 * tp_durations_median - the middle value, or the mean of the two middle ones; 0 without values
 * Return: 0 or -ENOMEM.
 */
int tp_durations_median(struct tp_durations *durations, double *ret_median);

/**
 * tp_durations_percentiles - for each of @wanted (ascending or not, 1 to 99) the shortest value
 * that as many percent of all are not above; of 50 the median as told above. 0 without values.
 * Return: 0 or -ENOMEM.
 */
int tp_durations_percentiles(struct tp_durations *durations, const unsigned *wanted, unsigned count,
                             double *ret_values);

/** tp_durations_deviation - sample standard deviation (over count - 1), 0 for fewer than two */
double tp_durations_deviation(const struct tp_durations *durations);

#endif
