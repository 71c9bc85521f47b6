/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_POOL_H
#define TP_AGENT_POOL_H

/*
 * Memory for hooks, which must not allocate. Handles that are given to the program live for ever,
 * and in its forked children too; long texts are put together in scratch room that is borrowed for
 * a moment.
 */

#include <stddef.h>

#include "event/names.h"

/* Room for the longest name, and for what is cut off it to be seen. */
#define TP_SCRATCH_BYTES (TP_NAME_LENGTH_LIMIT + 4096u)

/**
 * tp_pool_get - @size bytes, zero, 16-byte aligned, never given back
 * Context: hook. A system call per 64 KiB.
 * Return: NULL without memory, or for more than 1 MiB.
 */
void *tp_pool_get(size_t size);

/** tp_pool_copy - a terminated copy of @size bytes. Context: hook. Return: NULL without memory. */
char *tp_pool_copy(const char *bytes, size_t size);

/** tp_scratch_take - TP_SCRATCH_BYTES of the caller's own until they are given back. Context: hook.
 * Return: NULL without memory. */
char *tp_scratch_take(void);
void tp_scratch_give(char *scratch);

#endif
