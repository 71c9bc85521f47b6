/* SPDX-License-Identifier: MIT
 * The order in which allocations and frees at one address happened, as far as it is told: each one
 * between two times, those of a thread one behind the other. At one address they take turns. */
#ifndef TP_MODEL_ALLOC_ORDER_H
#define TP_MODEL_ALLOC_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_ALLOC_ORDER_MAX 64u

/* It happened at @from or later, and before @to or at it where they are the same. */
struct tp_alloc_turn {
    uint64_t from, to;
    uint32_t thread;
    bool is_free;
    bool is_wanted;
};

/**
 * tp_alloc_order - an order in which @count events (at most TP_ALLOC_ORDER_MAX) can have happened
 * @turns:     by @from, those of a thread in its order
 * @is_live:   is there a block at the address before all of them?
 * @steps:     that may still be taken in search of one; those that are taken are subtracted
 * @ret_order: the events' indices
 *
 * All events that are wanted, and others as they are needed between them; the rest follows as it
 * is. Where several orders can be, one of them; where none can, as when records were lost, one in
 * which few blocks are allocated or freed twice.
 *
 * Return: how many are in order, up to the last one that is wanted.
 */
unsigned tp_alloc_order(const struct tp_alloc_turn *turns, size_t count, bool is_live,
                        uint32_t *steps, uint8_t ret_order[TP_ALLOC_ORDER_MAX]);

#endif
