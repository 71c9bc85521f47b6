/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_OPEN_STACK_H
#define TP_AGENT_OPEN_STACK_H

/* The begin records of the ranges that are open at a ring's tail: what every block begins with.
 * Drainer only. */

#include "agent.h"

/** tp_open_stack_replay - @slots slots of whole records have been taken */
void tp_open_stack_replay(struct tp_ring_entry *entry, const uint64_t *records, uint32_t slots);

/** tp_open_stack_compact - the begin records one behind the other. Return: slots, at most @room. */
uint32_t tp_open_stack_compact(const struct tp_ring_entry *entry, uint64_t *ret_slots,
                               uint32_t room);

/** tp_open_stack_move - @to, which has none, takes over @from's */
void tp_open_stack_move(struct tp_ring_entry *to, struct tp_ring_entry *from);

#endif
