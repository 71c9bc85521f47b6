/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_SUMMARY_H
#define TP_AGENT_SUMMARY_H

/*
 * The running summary: what segments came to that are deleted to stay under the limit. The oldest
 * segment is read while the newest one fills, a few blocks at a time, so that the drain never stops
 * for long; when it is to go, the rest of it is read and the file is written anew, beside the old
 * one and then into its place. One drainer at a time.
 */

#include "agent.h"
#include "base/text.h"

struct tp_summary_work; /* memory, made when the first segment is to go */

struct tp_summary_state {
    struct tp_summary_work *work;
    int fd;            /* of the segment that is being read, -1 closed */
    uint32_t segment;  /* its number */
    uint64_t at, size; /* how far it has been read, how long it is; at 0: not begun */
    int error;         /* of the last try to write, or to get memory; 0 none */
    bool told;         /* of the error */
    uint32_t written;  /* first segment that the file does not count */
};

/** tp_summary_ahead - read on in segment @number, which is the oldest; about @bytes of it */
void tp_summary_ahead(struct tp_summary_state *s, struct tp_live *live, int dir, uint32_t number,
                      uint64_t bytes);

/**
 * tp_summary_before_eviction - count all of segment @number and write the file
 *
 * What cannot be counted is told in the file, and that the file cannot be written in a line of
 * meta.jsonl. Context: drainer.
 */
void tp_summary_before_eviction(struct tp_summary_state *s, struct tp_live *live, int dir,
                                uint32_t number, struct tp_text *ret_meta);

/** tp_summary_close - @final: write what could not be written before; else only give descriptors
 * back. Context: drainer. */
void tp_summary_close(struct tp_summary_state *s, struct tp_live *live, bool final,
                      struct tp_text *ret_meta);

#endif
