/* SPDX-License-Identifier: MIT
 * Recorded addresses as functions, with source lines and what was inlined where that is to be had.
 */
#ifndef TP_INPUT_TPTRACE_FRAMES_H
#define TP_INPUT_TPTRACE_FRAMES_H

#include "input/tptrace.h"
#include "input/tptrace_meta.h"
#include "model/frames.h"

struct tptrace_frames;

/**
 * tptrace_frames_create - nothing is opened yet
 * @strings, @frames: the report's; changed here
 *
 * Return: 0 and something for tptrace_frames_destroy (which takes NULL), or -ENOMEM.
 */
int tptrace_frames_create(struct tptrace_frames **ret, const struct tptrace_frames_wanted *wanted,
                          struct tp_strings *strings, struct tp_frames *frames);
void tptrace_frames_destroy(struct tptrace_frames *f);

/**
 * tptrace_frames_find - the functions that an address returns to
 * @meta: of its process, until tptrace_frames_end_process
 * @ret_ids: of frames, innermost first, at least one; borrowed until the next call
 *
 * Context: offline. Return: 0, -ENOMEM or -TP_ELIMIT.
 */
int tptrace_frames_find(struct tptrace_frames *f, const struct tptrace_meta *meta, uint64_t address,
                        const uint32_t **ret_ids, uint32_t *ret_count);
void tptrace_frames_end_process(struct tptrace_frames *f);

/** tptrace_frames_put_notes - lines about files that could not be read */
void tptrace_frames_put_notes(const struct tptrace_frames *f, struct tp_buffer *notes);

#endif
