/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/os.h"

#define CHUNK_BYTES (64u << 10)
#define LARGEST_BYTES (1u << 20)
#define SCRATCHES 8u

/* A chunk begins with how much of it is used. A full one is left behind with its rest. */
struct chunk {
    _Atomic size_t used;
};

static struct chunk *_Atomic current;
static char *_Atomic scratches[SCRATCHES];

static void *claim(struct chunk *chunk, size_t size)
{
    size_t used = atomic_load_explicit(&chunk->used, memory_order_relaxed);

    do {
        if (used + size > CHUNK_BYTES)
            return NULL;
    } while (!atomic_compare_exchange_weak(&chunk->used, &used, used + size));
    return (char *)chunk + used;
}

void *tp_pool_get(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > LARGEST_BYTES)
        return NULL;
    if (size > CHUNK_BYTES / 4)
        return tp_os_map(size);
    for (;;) {
        struct chunk *chunk = atomic_load(&current);
        void *memory = chunk ? claim(chunk, size) : NULL;
        if (memory)
            return memory;
        struct chunk *made = tp_os_map(CHUNK_BYTES);
        if (!made)
            return NULL;
        atomic_store(&made->used, 16);
        if (!atomic_compare_exchange_strong(&current, &chunk, made))
            tp_os_unmap(made, CHUNK_BYTES);
    }
}

char *tp_pool_copy(const char *bytes, size_t size)
{
    char *copy = tp_pool_get(size + 1);

    if (copy)
        memcpy(copy, bytes, size);
    return copy;
}

char *tp_scratch_take(void)
{
    for (unsigned i = 0; i < SCRATCHES; i++) {
        char *scratch = atomic_exchange(&scratches[i], NULL);
        if (scratch)
            return scratch;
    }
    return tp_os_map(TP_SCRATCH_BYTES);
}

void tp_scratch_give(char *scratch)
{
    for (unsigned i = 0; scratch && i < SCRATCHES; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&scratches[i], &none, scratch))
            return;
    }
    if (scratch)
        tp_os_unmap(scratch, TP_SCRATCH_BYTES);
}
