/* SPDX-License-Identifier: MIT */
#include "trace/alloc_pack.h"

#include <string.h>

#define AGO_MAX 63u                   /* of what was allocated longer ago the seat is shorter */
#define STEP_MAX 0xffffu              /* longer ones stay in the column of ticks */
#define BYTES_MAX (UINT64_C(1) << 32) /* a free of more is not told its size */
#define BYTES_UNKNOWN 24u             /* a usual size, so that the others stay short */

size_t tp_packer_lay(struct tp_packer *packer, void *base, uint32_t records)
{
    uint8_t *at = base;
    size_t used = tp_allocations_lay(&packer->lists, base, records);

    for (unsigned i = 0; i < sizeof(packer->arrays) / sizeof(*packer->arrays); i++) {
        packer->arrays[i] = at ? (uint64_t *)(void *)(at + used) : NULL;
        used += ((records + 1) * sizeof(uint64_t) + 15) & ~(size_t)15;
    }
    packer->by_address = at ? (uint32_t *)(void *)(at + used) : NULL;
    return used + tp_allocations_table(records) * sizeof(uint32_t);
}

size_t tp_packer_worst(unsigned kind)
{
    /* step, place, address, distance, brief ones before; and bytes */
    return kind == TP_EVENT_ALLOC  ? 2 + 1 + 8 + 4 + 3
           : kind == TP_EVENT_FREE ? 2 + 1 + 8 + 4 + 3 + 5
                                   : 0;
}

void tp_packer_begin(struct tp_packer *packer, uint32_t allocs, uint32_t frees,
                     const uint64_t first[TP_SLOT_WORDS], bool has_brief)
{
    uint32_t size = tp_allocations_table(allocs + frees);

    tp_allocations_begin(&packer->lists, allocs + frees);
    memset(packer->by_address, 0, size * sizeof(uint32_t));
    packer->by_address_mask = size - 1;
    tp_packed_lay(packer->columns, packer->arrays, allocs);
    memset(packer->counts, 0, sizeof(packer->counts));
    memset(packer->sums, 0, sizeof(packer->sums));
    packer->has_brief = has_brief;
    packer->brief = 0;
    packer->before[0] = first[0] & TP_TICKS_MASK;
    packer->before[1] = first[3];
}

static void put(struct tp_packer *packer, enum tp_packed column, uint64_t value)
{
    packer->columns[column][packer->counts[column]++] = value;
}

/* The place in the table of what is at @address, or where it would be. */
static uint32_t *find(struct tp_packer *packer, uint64_t address)
{
    const struct tp_allocations *lists = &packer->lists;
    uint32_t mask = packer->by_address_mask;
    uint32_t at = tp_packer_at(packer, address);

    for (;; at = (at + 1) & mask) {
        uint32_t entry = packer->by_address[at];
        if (!entry)
            break;
        uint32_t number = (entry - 1) >> 1;
        if ((entry & 1 ? lists->allocated[number].address : lists->freed[number].address) ==
            address)
            break;
    }
    return &packer->by_address[at];
}

/* An allocation at the place of a freed block: the last few of the same size have short names. */
static void put_reuse(struct tp_packer *packer, uint32_t number, uint32_t pool)
{
    struct tp_allocations *lists = &packer->lists;
    unsigned place = TP_ALLOC_POOL_END;

    if (lists->freed[number].pool == pool) {
        uint32_t at = lists->pools[pool].latest;
        for (place = TP_ALLOC_POOL; place < TP_ALLOC_POOL_END && at != number + 1; place++)
            at = lists->freed[at - 1].older;
    }
    if (place == TP_ALLOC_POOL_END) {
        put(packer, TP_PACKED_ALLOC_DISTANCE, lists->freed_count - number);
        place = TP_ALLOC_FREED;
    }
    put(packer, TP_PACKED_ALLOC_PLACE, place);
    tp_allocations_take(lists, number);
}

static void put_new(struct tp_packer *packer, uint64_t address, uint32_t pool)
{
    const struct tp_allocations *lists = &packer->lists;
    unsigned place = address == lists->behind             ? TP_ALLOC_BEHIND
                     : address == lists->pools[pool].next ? TP_ALLOC_NEXT
                                                          : TP_ALLOC_ELSEWHERE;

    put(packer, TP_PACKED_ALLOC_PLACE, place);
    if (place == TP_ALLOC_ELSEWHERE)
        put(packer, TP_PACKED_ALLOC_ADDRESS, address);
}

static uint64_t put_alloc(struct tp_packer *packer, const uint64_t *more)
{
    struct tp_allocations *lists = &packer->lists;
    uint64_t address = more[0], bytes = more[1], slack = more[2] & TP_SLACK_MASK;
    uint64_t asked = bytes - slack;
    uint64_t beyond = (slack - tp_allocations_usual_slack(asked)) & TP_SLACK_MASK;
    uint64_t zigzag = (beyond << 1 ^ (0 - (beyond >> (TP_SLACK_BITS - 1)))) & TP_SLACK_MASK;
    uint32_t pool = tp_allocations_pool(lists, bytes), number = lists->allocated_count;
    uint32_t *entry = find(packer, address);
    bool is_reuse = *entry && !(*entry & 1);

    put(packer, TP_PACKED_ALLOC_ASKED, asked);
    put(packer, TP_PACKED_ALLOC_SLACK, zigzag);
    if (is_reuse)
        put_reuse(packer, (*entry - 1) >> 1, pool);
    else
        put_new(packer, address, pool);
    tp_allocations_put(lists, address, pool, !is_reuse);
    *entry = 1 + 2 * number;
    return bytes;
}

/* @counted: what the counter of freed bytes says of it. */
static uint64_t put_free(struct tp_packer *packer, uint64_t address, uint64_t counted)
{
    struct tp_allocations *lists = &packer->lists;
    uint32_t *entry = find(packer, address), pool;

    if (*entry & 1) {
        uint32_t number = (*entry - 1) >> 1, ago = lists->allocated_count - number;
        put(packer, TP_PACKED_FREE_PLACE, ago <= AGO_MAX ? ago : TP_FREE_SEAT);
        if (ago > AGO_MAX)
            put(packer, TP_PACKED_FREE_SEAT, lists->allocated[number].seat);
        pool = tp_allocations_leave(lists, number);
    } else {
        uint64_t bytes = counted && counted < BYTES_MAX ? counted : BYTES_UNKNOWN;
        put(packer, TP_PACKED_FREE_PLACE, TP_FREE_ELSEWHERE);
        put(packer, TP_PACKED_FREE_ADDRESS, address);
        put(packer, TP_PACKED_FREE_BYTES, bytes);
        pool = tp_allocations_pool(lists, bytes);
    }
    *entry = 2 + 2 * lists->freed_count;
    tp_allocations_free(lists, address, pool);
    return lists->pools[pool].bytes;
}

/* The step of an allocation or a free, which a brief one has not. */
static uint64_t put_step(struct tp_packer *packer, unsigned kind, uint64_t step)
{
    step = step <= STEP_MAX ? step : 0;
    put(packer, kind == TP_EVENT_ALLOC ? TP_PACKED_ALLOC_STEP : TP_PACKED_FREE_STEP, step);
    if (packer->has_brief)
        put(packer, TP_PACKED_BRIEF, packer->brief);
    packer->brief = 0;
    return step;
}

void tp_packer_end(struct tp_packer *packer)
{
    if (packer->has_brief)
        put(packer, TP_PACKED_BRIEF, packer->brief);
}

void tp_packer_put(struct tp_packer *packer, unsigned kind, bool is_brief,
                   uint64_t common[TP_SLOT_WORDS], const uint64_t *more)
{
    uint64_t ticks = common[0] & TP_TICKS_MASK, freed = common[3], *sums = packer->sums;

    if (kind == TP_EVENT_ALLOC || kind == TP_EVENT_FREE) {
        if (is_brief)
            packer->brief++;
        else
            sums[0] += put_step(packer, kind, (ticks - packer->before[0]) & TP_TICKS_MASK);
        if (kind == TP_EVENT_ALLOC) {
            sums[1] += UINT64_C(1) << 32;
            sums[2] += put_alloc(packer, more);
        } else {
            sums[3] += put_free(packer, more[0], freed - packer->before[1]);
        }
    }
    packer->before[0] = ticks;
    packer->before[1] = freed;
    common[0] = (common[0] & ~TP_TICKS_MASK) | ((ticks - sums[0]) & TP_TICKS_MASK);
    common[1] -= sums[1];
    common[2] -= sums[2];
    common[3] -= sums[3];
}
