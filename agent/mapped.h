/* SPDX-License-Identifier: MIT */
#ifndef TP_AGENT_MAPPED_H
#define TP_AGENT_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_map;

/* glibc's answer about an address, whose layout it promises; from 2.35 on, and not in the headers
 * of older ones. */
struct tp_mapped_object {
    unsigned long long flags;
    void *start, *end;
    const struct link_map *map;
    const uint8_t *eh_frame_header;
    unsigned long long reserved[7];
};

/** tp_mapped_has_index - whether tp_mapped_object can answer: _dl_find_object is there. Context:
 * any; the first call takes the loader's lock, later ones none. */
bool tp_mapped_has_index(void);

/** tp_mapped_object - what the loader has at @address. Context: as tp_mapped_has_index. Return:
 * false: nothing, or nobody knows. */
bool tp_mapped_object(uintptr_t address, struct tp_mapped_object *ret_object);

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
