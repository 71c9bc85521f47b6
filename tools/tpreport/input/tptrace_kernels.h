/* SPDX-License-Identifier: MIT
 * Kernels and other work of devices as pieces of work while records stream by, for who sums them.
 */
#ifndef TP_INPUT_TPTRACE_KERNELS_H
#define TP_INPUT_TPTRACE_KERNELS_H

#include "input/tptrace_cuda.h"
#include "input/tptrace_stream.h"
#include "model/kernels.h"

/* Of one process after the other. One thread at a time. */
struct tptrace_kernels;

/** tptrace_kernels_create - @strings: of the names; @into: takes the pieces, in any order
 * Return: NULL without memory. */
struct tptrace_kernels *tptrace_kernels_create(const struct tp_strings *strings,
                                               struct tp_kernels *into);
void tptrace_kernels_destroy(struct tptrace_kernels *kernels);

/** tptrace_kernels_take - an activity with times; calls and overhead are passed over.
 * Return: 0 or -ENOMEM. */
int tptrace_kernels_take(struct tptrace_kernels *kernels, const struct tptrace_source *source,
                         const struct tptrace_activity *activity);

/** tptrace_kernels_summed - who takes work that is there in sums only */
struct tp_summed_sink *tptrace_kernels_summed(struct tptrace_kernels *kernels);

/** tptrace_kernels_node - a CUDA_NODE record. Return: 0 or -ENOMEM. */
int tptrace_kernels_node(struct tptrace_kernels *kernels, const struct tptrace_source *source,
                         const uint64_t *record, const struct tp_stream *stream);

/** tptrace_kernels_end - all of a process was read. Return: 0 or -ENOMEM. */
int tptrace_kernels_end(struct tptrace_kernels *kernels);

#endif
