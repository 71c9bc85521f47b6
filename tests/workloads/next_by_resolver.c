/* SPDX-License-Identifier: MIT
 * Preloaded behind the agent: an allocator's function that a resolver finds, which allocates. It
 * runs while the agent looks for the next functions. */
#include <stdlib.h>
#include <string.h>

void free_sized(void *pointer, size_t size);

static void free_any(void *pointer, size_t size)
{
    (void)size;
    free(pointer);
}

/* named below in a text */
__attribute__((used)) static void (*find_free(void))(void *, size_t)
{
    static const char text[] = "what was written before is still there";
    char *copy = calloc(1, sizeof(text));

    if (!copy)
        abort();
    memcpy(copy, text, sizeof(text));
    for (size_t size = sizeof(text); size < 10000; size *= 3)
        if (!(copy = realloc(copy, size)) || memcmp(copy, text, sizeof(text)) != 0)
            abort();
    free(copy);
    return free_any;
}

void free_sized(void *pointer, size_t size) __attribute__((ifunc("find_free")));
