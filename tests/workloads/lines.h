/* SPDX-License-Identifier: MIT */
#ifndef LINES_H
#define LINES_H

#include <stddef.h>

#define INLINED static inline __attribute__((always_inline))
#define OWN static __attribute__((noinline))

void *take(size_t size);

INLINED void *from_header(size_t size)
{
    return take(size);
}

#endif
