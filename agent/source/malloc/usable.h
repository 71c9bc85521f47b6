/* SPDX-License-Identifier: MIT */
#ifndef TP_SOURCE_MALLOC_USABLE_H
#define TP_SOURCE_MALLOC_USABLE_H

/*
 * What a block holds. glibc's malloc_usable_size looks at the block and at the one behind it, whose
 * line of the cache is often far away; that one's answer is only whether the block is in use, which
 * those that we ask about are. The size alone is in the word below the block, as it has been in all
 * versions that this runs on: its lowest three bits are flags, of which the second says that the
 * block has a mapping of its own.
 */

#include <stdbool.h>
#include <stddef.h>

/* So many of a program's blocks must say what malloc_usable_size says before it is believed. */
#define TP_USABLE_TRIALS 256

/**
 * tp_usable_start - whether blocks may tell what they hold: x86-64, and all functions of the family
 * are glibc's
 *
 * Context: start. Not where a debugger of memory has put functions of its own in glibc's place, to
 * which that word is no block's.
 */
bool tp_usable_start(void);

/** tp_usable_told - bytes that a block of glibc's holds, where tp_usable_start says so; -1 of one
 * with a mapping of its own, to be asked for */
static inline size_t tp_usable_told(const void *block)
{
    const size_t *words = block;

    __asm__("" : "+r"(words)); /* to a compiler that knows the block nothing is below it */
    size_t told = words[-1];

    return told & 2 ? (size_t)-1 : (told & ~(size_t)7) - sizeof(told);
}

#endif
