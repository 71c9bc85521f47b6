/* SPDX-License-Identifier: MIT
 * Work of a device that is not there piece by piece any more: what pieces of one name came to. */
#ifndef TP_MODEL_SUMMED_WORK_H
#define TP_MODEL_SUMMED_WORK_H

#include <stdint.h>

struct tp_summed_lengths {
    double ns; /* about: how far off is the maker's to say */
    uint64_t count;
};

enum tp_summed_kind { TP_SUMMED_KERNELS, TP_SUMMED_COPIES, TP_SUMMED_WAITS };

struct tp_summed_work {
    enum tp_summed_kind kind;
    uint32_t name; /* string id */
    uint64_t count;
    int64_t total_ns, least_ns, most_ns;     /* exact */
    const struct tp_summed_lengths *lengths; /* of at most @count pieces */
    uint32_t length_count;
};

/* Whoever takes it. Return: 0, or negative to stop with that result. */
struct tp_summed_sink {
    int (*take)(struct tp_summed_sink *sink, const struct tp_summed_work *work);
};

#endif
