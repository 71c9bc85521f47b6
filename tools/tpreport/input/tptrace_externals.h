/* SPDX-License-Identifier: MIT
 * External correlation ids while records stream by: a program gives all that a thread calls between
 * a push and its pop one id. Work whose call and place are not recorded is offered the range of the
 * other calls of its id, if it is one and the same. The last ids are kept; one of which something
 * was forgotten offers nothing. */
#ifndef TP_INPUT_TPTRACE_EXTERNALS_H
#define TP_INPUT_TPTRACE_EXTERNALS_H

#include "input/tptrace_launch_ids.h"

#define TPTRACE_EXTERNAL_SLOTS (1u << 12)
#define TPTRACE_EXTERNALS_MAX ((size_t)1 << 16)
#define TPTRACE_EXTERNAL_CALLS_MAX ((size_t)1 << 18) /* whose place is not known yet */

struct tptrace_externals {
    struct tptrace_launch_ids *ids; /* borrowed */
    struct tptrace_external *slots[TPTRACE_EXTERNAL_SLOTS];
    struct tptrace_external *oldest, *newest, *last; /* @last: that was found last */
    size_t count, call_count;
};

/** tptrace_externals_add - a call has an external id. Return: 0 or -ENOMEM. */
int tptrace_externals_add(struct tptrace_externals *externals, uint32_t correlation, uint8_t type,
                          uint64_t id);

/** tptrace_externals_settle - all is known: what waits without a call is offered its range, and the
 * ids are forgotten */
void tptrace_externals_settle(struct tptrace_externals *externals);

/** tptrace_externals_fini - forget all; references are dropped: the tree goes with them */
void tptrace_externals_fini(struct tptrace_externals *externals);

#endif
