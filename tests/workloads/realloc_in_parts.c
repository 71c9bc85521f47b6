/* SPDX-License-Identifier: MIT
 * Preloaded behind the agent: an allocator whose realloc calls the others of the family. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *realloc(void *pointer, size_t size)
{
    size_t old = pointer ? malloc_usable_size(pointer) : 0;
    void *moved = malloc(size);

    if (moved && pointer) {
        memcpy(moved, pointer, old < size ? old : size);
        free(pointer);
    }
    return moved;
}
