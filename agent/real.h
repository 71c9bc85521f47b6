/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_REAL_H
#define TP_AGENT_REAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>

#include "guard.h"

struct sigaction;
typedef void tp_signal_handler(int);

struct tp_real {
#define TP_REAL(result, name, parameters) result(*name) parameters;
#include "real_symbols.def"
#undef TP_REAL
};

/* Filled by the first call of any interposed function, constant afterwards. */
extern struct tp_real tp_real;

/**
 * tp_real_find - look up the next definition of every interposed function
 *
 * dlsym may itself call malloc (its error text does): meanwhile the arena below serves this thread.
 * Context: hook.
 */
void tp_real_find(void);

/** tp_real_is_sanitized - whether malloc is a sanitizer's: it is called before its blocks have a
 * size that could be asked for. Context: hook. */
bool tp_real_is_sanitized(void);

/**
 * tp_arena_allocate - a zeroed block of the start-up arena, for the time in which the real
 * functions are being looked up; never given back Return: NULL when the arena is used up or
 * @alignment is above 4096.
 */
void *tp_arena_allocate(size_t alignment, size_t size);

#define TP_ARENA_BYTES (64u << 10)

extern char tp_arena[TP_ARENA_BYTES] __attribute__((visibility("hidden")));

/** tp_arena_owns - whether @pointer lies in the arena; *ret_size its size */
static inline bool tp_arena_owns(const void *pointer, size_t *ret_size)
{
    if (tp_likely((uintptr_t)pointer - (uintptr_t)tp_arena >= TP_ARENA_BYTES))
        return false;
    *ret_size = ((const size_t *)pointer)[-1];
    return true;
}

#endif
