/* SPDX-License-Identifier: MIT
 * The running summary of a process: sums of what was deleted to stay under a limit, and how they go
 * on in what is left. */
#ifndef TP_INPUT_TPTRACE_SUMMARY_H
#define TP_INPUT_TPTRACE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/clock.h"
#include "model/stream.h"
#include "trace/summary.h"

struct tptrace_summary {
    bool is_there;  /* the file could be read: what follows is set */
    bool is_used;   /* what was read last counts it */
    bool work_only; /* ... its device work alone */
    struct tp_summary file;
    uint32_t row_count, open_count; /* of it */
    uint64_t bytes;
};

/** tptrace_summary_open - @ret_summary is for tptrace_summary_close, whatever is returned.
 * Return: 0 (also where there is none), or negative with @diag. */
int tptrace_summary_open(struct tptrace_summary *ret_summary, const char *dir,
                         const uint8_t *expect_uuid, struct tp_diag *diag);
void tptrace_summary_close(struct tptrace_summary *summary);

/** tptrace_summary_release - all but totals and counts */
void tptrace_summary_release(struct tptrace_summary *summary);

/** tptrace_summary_adopt - a track's open ranges and counters go on in @stream
 * @notes: two for each of the summary's frames; NULL none. Return: 0 or -ENOMEM. */
int tptrace_summary_adopt(const struct tptrace_summary *summary,
                          const struct tp_summary_track *track, const struct tp_clock *clock,
                          void *const *notes, struct tp_stream *stream);

/** tptrace_summary_has_work - did a device do any of what is counted? */
bool tptrace_summary_has_work(const struct tptrace_summary *summary);

/** tptrace_summary_ns - so many ticks in the time that it counts */
int64_t tptrace_summary_ns(const struct tptrace_summary *summary, const struct tp_clock *clock,
                           int64_t ticks);

#endif
