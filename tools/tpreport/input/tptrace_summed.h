/* SPDX-License-Identifier: MIT
 * Device work of the running summary, row by row. */
#ifndef TP_INPUT_TPTRACE_SUMMED_H
#define TP_INPUT_TPTRACE_SUMMED_H

#include "input/tptrace_stream.h"
#include "model/summed_work.h"

/* All borrowed. */
struct tptrace_summed_reading {
    struct tp_summed_sink *sink;
    struct tptrace_cuda_cursor *cursor;
    struct tptrace_activity_names *made;
};

/** tptrace_summed_read - the rows of a process's summary, which is used. Return: 0, -ENOMEM or what
 * the sink stopped with. */
int tptrace_summed_read(const struct tptrace_summed_reading *reading,
                        const struct tptrace_source *source);

#endif
