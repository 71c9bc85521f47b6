/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_SEQLOCK_H
#define TP_AGENT_SEQLOCK_H

/*
 * A few words that are read without waiting while they may be changed: a number stands in front of
 * them, odd while somebody writes. Who reads and sees it change has read a mixture; who wants to
 * write and finds another at it goes without. All of it is Context: hook.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** tp_seq_read_begin - Return: false: somebody writes, read nothing. *ret_number is set always. */
static inline bool tp_seq_read_begin(const _Atomic uint32_t *number, uint32_t *ret_number)
{
    *ret_number = atomic_load_explicit(number, memory_order_acquire);
    return !(*ret_number & 1);
}

/** tp_seq_read_end - whether all that was read since tp_seq_read_begin belongs together */
static inline bool tp_seq_read_end(const _Atomic uint32_t *number, uint32_t before)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(number, memory_order_relaxed) == before;
}

/** tp_seq_write_begin - Return: whether the words, as they were at number @before, are the caller's
 * to change until tp_seq_write_end */
static inline bool tp_seq_write_begin(_Atomic uint32_t *number, uint32_t before)
{
    if (before & 1 || !atomic_compare_exchange_strong(number, &before, before + 1))
        return false;
    atomic_thread_fence(memory_order_release); /* no word is seen before the odd number */
    return true;
}

static inline void tp_seq_write_end(_Atomic uint32_t *number, uint32_t before)
{
    atomic_store_explicit(number, before + 2, memory_order_release);
}

#endif
