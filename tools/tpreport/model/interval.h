/* SPDX-License-Identifier: MIT */
#ifndef TP_MODEL_INTERVAL_H
#define TP_MODEL_INTERVAL_H

#include "model/number.h"

/* A stretch of time in microseconds; with a skewed clock the end may lie before the start. */
struct tp_interval {
    struct tp_number start, end;
};

/** tp_interval_elapsed_us - end - start; an integer when both are */
static inline struct tp_number tp_interval_elapsed_us(struct tp_interval interval)
{
    return tp_number_subtract(interval.end, interval.start);
}

#endif
