/* SPDX-License-Identifier: MIT */
#include "input/tptrace_async.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

enum { FREE, USED, GONE };

void tptrace_async_fini(struct tptrace_async_table *table)
{
    free(table->halves);
    free(table->states);
    *table = (struct tptrace_async_table){0};
}

static size_t hash(uint64_t id)
{
    id *= 0x9e3779b97f4a7c15u;
    return (size_t)(id ^ id >> 32);
}

static void put(struct tptrace_async_table *table, const struct tptrace_async_half *half)
{
    size_t at = hash(half->id);

    while (table->states[at & (table->capacity - 1)] == USED)
        at++;
    at &= table->capacity - 1;
    table->gone -= table->states[at] == GONE;
    table->states[at] = USED;
    table->halves[at] = *half;
    table->used++;
}

/* A table with room for at least one more, and not too many places that were used. */
static int make_room(struct tptrace_async_table *table)
{
    if ((table->used + table->gone + 1) * 2 <= table->capacity)
        return 0;
    struct tptrace_async_table old = *table;
    size_t capacity = 64;
    while (capacity < (old.used + 1) * 4)
        capacity *= 2;
    *table = (struct tptrace_async_table){.halves = malloc(capacity * sizeof(*table->halves)),
                                          .states = calloc(capacity, 1),
                                          .capacity = capacity};
    if (!table->halves || !table->states) {
        tptrace_async_fini(table);
        *table = old;
        return -ENOMEM;
    }
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.states[i] == USED)
            put(table, &old.halves[i]);
    }
    tptrace_async_fini(&old);
    return 0;
}

int tptrace_async_match(struct tptrace_async_table *table, const struct tptrace_async_half *half,
                        struct tptrace_async_half *ret_other)
{
    size_t mask = table->capacity - 1;

    for (size_t at = hash(half->id); table->capacity && table->states[at & mask]; at++) {
        struct tptrace_async_half *other = &table->halves[at & mask];
        if (table->states[at & mask] != USED || other->id != half->id ||
            other->is_end == half->is_end)
            continue;
        *ret_other = *other;
        table->states[at & mask] = GONE;
        table->used--;
        table->gone++;
        return 1;
    }
    if (table->used >= TPTRACE_ASYNC_MAX)
        return -TP_ELIMIT;
    int error = make_room(table);
    if (!error)
        put(table, half);
    return error;
}

const struct tptrace_async_half *tptrace_async_next(const struct tptrace_async_table *table,
                                                    size_t *at)
{
    while (*at < table->capacity) {
        size_t i = (*at)++;
        if (table->states[i] == USED)
            return &table->halves[i];
    }
    return NULL;
}
