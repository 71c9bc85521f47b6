/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_MAPPED_H
#define TP_AGENT_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

/**
 * tp_mapped_path - where the loader has an object whose file name begins with @begins
 * @ret_path: @size bytes; changed only where there is one whose path fits
 *
 * Context: any thread that may take the loader's locks.
 * Return: whether there is one; of several, the first that was loaded.
 */
bool tp_mapped_path(const char *begins, char *ret_path, size_t size);

/**
 * tp_mapped_listed - whether the path of a mapped file holds @part (at most 63 bytes), as the
 * kernel lists them
 *
 * Context: any; takes no lock.
 */
bool tp_mapped_listed(const char *part);

#endif
