/* SPDX-License-Identifier: MIT
 * Begins and ends that find each other by number, on whatever thread and in whatever order they are
 * read. */
#ifndef TP_INPUT_TPTRACE_ASYNC_H
#define TP_INPUT_TPTRACE_ASYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TPTRACE_ASYNC_MAX (1u << 20) /* halves that wait at a time */

/* Half of a pair, as the caller needs it. */
struct tptrace_async_half {
    uint64_t id;
    bool is_end;
    uint64_t record[8];
    int64_t ns;
    uint64_t sequence;
    uint32_t tid, ordinal; /* of the track */
};

struct tptrace_async_table {
    struct tptrace_async_half *halves; /* open addressing; id 0 in a slot that was never used */
    uint8_t *states;                   /* 0 free, 1 used, 2 was used */
    size_t capacity, used, gone;
};

void tptrace_async_fini(struct tptrace_async_table *table);

/**
 * tptrace_async_match - take the other half of @half out, or keep @half until it comes
 * Return: 1 with the other half, 0 kept, -ENOMEM, or -TP_ELIMIT (not kept).
 */
int tptrace_async_match(struct tptrace_async_table *table, const struct tptrace_async_half *half,
                        struct tptrace_async_half *ret_other);

/** tptrace_async_next - the waiting half at or behind *@at, which moves behind it. Return: NULL at
 * the end. */
const struct tptrace_async_half *tptrace_async_next(const struct tptrace_async_table *table,
                                                    size_t *at);

#endif
