/* SPDX-License-Identifier: MIT */
#include "trace/alloc_pack.h"

#include <string.h>

#include "event/brief.h"
#include "trace/room.h"

#define AHEAD 8u                      /* slots whose places in the table are fetched before */
#define FAR_AHEAD 64u                 /* slots that are fetched before */
#define AGO_MAX 63u                   /* of what was allocated longer ago the seat is shorter */
#define STEP_MAX 0xffffu              /* longer ones stay in the column of ticks */
#define BYTES_MAX (UINT64_C(1) << 32) /* a free of more is not told its size */
#define BYTES_UNKNOWN 24u             /* a usual size, so that the others stay short */
#define ADDRESS_SHIFT 3               /* no allocator has blocks nearer to each other */
#define SMALL_SHIFT 3                 /* nor of other sizes, mostly */
#define TAKEN (UINT32_C(1) << 31)

static const uint8_t value_sizes[TP_PACKED_END] = {
    [TP_PACKED_ALLOC_STEP] = 2,     [TP_PACKED_FREE_STEP] = 2,     [TP_PACKED_ALLOC_PLACE] = 1,
    [TP_PACKED_FREE_PLACE] = 1,     [TP_PACKED_ALLOC_ADDRESS] = 8, [TP_PACKED_FREE_ADDRESS] = 8,
    [TP_PACKED_ALLOC_DISTANCE] = 2, [TP_PACKED_FREE_SEAT] = 2,     [TP_PACKED_ALLOC_ASKED] = 4,
    [TP_PACKED_FREE_BYTES] = 4,     [TP_PACKED_ALLOC_SLACK] = 0,   [TP_PACKED_BRIEF] = 4,
};

size_t tp_packer_lay(struct tp_packer *packer, void *base, uint32_t records)
{
    struct tp_room room = {base, 0};

    room.used += tp_key_table_lay(&packer->addresses, tp_room_next(&room), records);
    room.used += tp_key_table_lay(&packer->sizes, tp_room_next(&room), records);
    packer->pools = tp_room_take(&room, records * sizeof(*packer->pools));
    packer->seats = tp_room_take(&room, records * sizeof(*packer->seats));
    packer->freed = tp_room_take(&room, records * sizeof(*packer->freed));
    packer->empty = tp_room_take(&room, records * sizeof(*packer->empty));
    for (unsigned column = 1; column < TP_PACKED_END; column++)
        packer->columns[column].values =
            tp_room_take(&room, (records + 1) * (size_t)value_sizes[column]);
    packer->narrow_asked = packer->columns[TP_PACKED_ALLOC_ASKED].values;
    packer->wide_asked = tp_room_take(&room, records * sizeof(uint64_t));
    packer->stacks.values = tp_room_take(&room, records * sizeof(uint32_t));
    for (unsigned i = 0; i < TP_SERIES_END; i++)
        room.used += tp_series_lay(&packer->series[i], tp_room_next(&room), records + 1);
    packer->kinds = tp_room_take(&room, records);
    packer->other_slots = tp_room_take(&room, (size_t)records * TP_SLOT_BYTES);
    packer->other_at = tp_room_take(&room, (records + 1) * sizeof(*packer->other_at));
    packer->other_kinds = tp_room_take(&room, records);
    return room.used;
}

size_t tp_packer_worst(unsigned kind)
{
    /* step, place, address, distance, brief ones before; and bytes */
    return kind == TP_EVENT_ALLOC  ? 2 + 1 + 8 + 4 + 3
           : kind == TP_EVENT_FREE ? 2 + 1 + 8 + 4 + 3 + 5
                                   : 0;
}

static void begin(struct tp_packer *packer, const uint64_t before[TP_SLOT_WORDS])
{
    tp_key_table_begin(&packer->addresses);
    tp_key_table_begin(&packer->sizes);
    memset(packer->small_pools, 0, sizeof(packer->small_pools));
    packer->pool_count = packer->seat_count = packer->empty_count = 0;
    packer->behind = 0;
    for (unsigned column = 1; column < TP_PACKED_END; column++) {
        packer->columns[column].count = 0;
        packer->columns[column].size = value_sizes[column];
    }
    for (unsigned i = 0; i < TP_SERIES_END; i++)
        tp_series_begin(&packer->series[i]);
    packer->columns[TP_PACKED_ALLOC_ASKED].values = packer->narrow_asked;
    packer->records = packer->allocs = packer->frees = packer->others = 0;
    packer->other_slot_count = packer->briefs = packer->counted = 0;
    packer->since = packer->latest = 0;
    packer->first_ticks = before[0] & TP_TICKS_MASK;
    memset(packer->sums, 0, sizeof(packer->sums));
    memcpy(packer->last, before, sizeof(packer->last));
    tp_series_put(&packer->series[TP_SERIES_TICKS], 0, before[0] & TP_TICKS_MASK);
    tp_series_put(&packer->series[TP_SERIES_CALLS], 0, before[1] >> 32);
    tp_series_put(&packer->series[TP_SERIES_ALLOCATED], 0, before[2]);
    tp_series_put(&packer->series[TP_SERIES_FREED], 0, before[3]);
}

#define PUT(packer, column, type, value)                                                           \
    ((type *)(packer)->columns[column].values)[(packer)->columns[column].count++] = (type)(value)

/* Too large for a key where the address is odd. */
static inline uint64_t key_of(uint64_t address)
{
    return address >> ADDRESS_SHIFT | address << (64 - ADDRESS_SHIFT);
}

static inline bool is_odd_size(uint64_t bytes)
{
    return bytes >> TP_TABLE_KEY_BITS;
}

/* What is known of an address: an entry of the table. Of an odd one that is always an empty one. */
static inline uint64_t *find(struct tp_packer *packer, uint64_t address)
{
    return tp_key_table_find(&packer->addresses, key_of(address));
}

/* @is_new: nothing was known of the address, and @entry is empty. */
static inline void know(struct tp_packer *packer, uint64_t *entry, bool is_new, uint64_t address,
                        uint32_t value)
{
    uint64_t key = key_of(address);

    if (!is_new)
        *entry = key << TP_TABLE_VALUE_BITS | value;
    else if (__builtin_expect(!(key >> TP_TABLE_KEY_BITS), 1))
        tp_key_table_add(&packer->addresses, entry, key, value);
}

static uint32_t new_pool(struct tp_packer *packer, uint64_t bytes)
{
    packer->pools[packer->pool_count] = (struct tp_pool){.bytes = bytes};
    return packer->pool_count++;
}

/* Odd sizes have a pool for each block: what is said of one pool in the format holds for none of
 * them. */
static __attribute__((noinline)) uint32_t large_pool_of(struct tp_packer *packer, uint64_t bytes)
{
    if (is_odd_size(bytes))
        return new_pool(packer, bytes);
    uint64_t *entry = tp_key_table_find(&packer->sizes, bytes);
    uint32_t value = tp_key_table_value(entry);
    if (value)
        return value - 1;
    uint32_t pool = new_pool(packer, bytes);
    tp_key_table_add(&packer->sizes, entry, bytes, pool + 1);
    return pool;
}

static inline uint32_t pool_of(struct tp_packer *packer, uint64_t bytes)
{
    uint64_t small = bytes >> SMALL_SHIFT | bytes << (64 - SMALL_SHIFT);

    if (small >= TP_PACKER_SMALL)
        return large_pool_of(packer, bytes);
    if (__builtin_expect(!packer->small_pools[small], 0))
        packer->small_pools[small] = new_pool(packer, bytes) + 1;
    return packer->small_pools[small] - 1;
}

/* The first of freed block @at and older ones that is not taken. */
static inline uint32_t pass_taken(const struct tp_packer *packer, uint32_t at)
{
    while (at && packer->freed[at - 1].pool & TAKEN)
        at = packer->freed[at - 1].older;
    return at;
}

/* The place of a block below the latest one of its pool, and takes it off the list. */
static unsigned find_place(struct tp_packer *packer, uint32_t number, const struct tp_pool *pool)
{
    uint32_t at = pool->latest;

    for (unsigned place = TP_ALLOC_POOL + 1; place < TP_ALLOC_POOL_END; place++) {
        struct tp_pack_freed *newer = &packer->freed[at - 1];
        at = newer->older = pass_taken(packer, newer->older);
        if (!at)
            break;
        if (at == number + 1) {
            newer->older = packer->freed[number].older;
            return place;
        }
    }
    return TP_ALLOC_POOL_END;
}

/* An allocation at the place of a freed block: the last few of the same size have short names. */
static inline unsigned put_reuse(struct tp_packer *packer, uint32_t number, struct tp_pool *pool)
{
    struct tp_pack_freed *freed = &packer->freed[number];
    struct tp_pool *its_pool = &packer->pools[freed->pool];
    bool is_latest = its_pool->latest == number + 1;
    unsigned place = TP_ALLOC_POOL_END;

    if (is_latest)
        its_pool->latest = pass_taken(packer, freed->older);
    if (its_pool == pool && !is_odd_size(pool->bytes)) {
        if (is_latest)
            return TP_ALLOC_POOL;
        place = find_place(packer, number, pool);
    }
    if (place < TP_ALLOC_POOL_END)
        return place;
    freed->pool |= TAKEN;
    PUT(packer, TP_PACKED_ALLOC_DISTANCE, uint16_t, packer->frees - number);
    return TP_ALLOC_FREED;
}

static inline unsigned put_new(struct tp_packer *packer, uint64_t address, struct tp_pool *pool)
{
    bool is_behind = address == packer->behind;
    bool is_next = address == pool->next && !is_odd_size(pool->bytes);

    pool->next = address + pool->bytes;
    packer->behind = pool->next + 8;
    if (is_behind)
        return TP_ALLOC_BEHIND;
    if (is_next)
        return TP_ALLOC_NEXT;
    PUT(packer, TP_PACKED_ALLOC_ADDRESS, uint64_t, address);
    return TP_ALLOC_ELSEWHERE;
}

static uint64_t zigzag_slack(uint64_t beyond)
{
    beyond &= TP_SLACK_MASK;
    return (beyond << 1 ^ (0 - (beyond >> (TP_SLACK_BITS - 1)))) & TP_SLACK_MASK;
}

static inline void put_size(struct tp_packer *packer, uint64_t bytes, uint64_t slack)
{
    uint64_t asked = bytes - slack, beyond = slack - tp_allocations_usual_slack(asked);
    uint32_t number = packer->allocs;

    tp_series_put(&packer->series[TP_SERIES_SLACK], number, beyond ? zigzag_slack(beyond) : 0);
    tp_series_put(&packer->series[TP_SERIES_ASKED_HIGH], number, asked >> 32);
    packer->narrow_asked[number] = (uint32_t)asked;
}

static inline __attribute__((always_inline)) void put_alloc(struct tp_packer *packer,
                                                            uint64_t address, uint64_t bytes,
                                                            uint64_t slack_and_flags,
                                                            uint32_t stack)
{
    uint32_t pool = pool_of(packer, bytes), number = packer->allocs;
    uint64_t *entry = find(packer, address);
    uint32_t known = tp_key_table_value(entry);
    struct tp_pool *of = &packer->pools[pool];
    unsigned place =
        known && !(known & 1) ? put_reuse(packer, known / 2 - 1, of) : put_new(packer, address, of);
    uint32_t seat =
        packer->empty_count ? packer->empty[--packer->empty_count] : packer->seat_count++;

    ((uint8_t *)packer->columns[TP_PACKED_ALLOC_PLACE].values)[number] = (uint8_t)place;
    ((uint32_t *)packer->stacks.values)[number] = stack;
    tp_series_put(&packer->series[TP_SERIES_ALLOC_FLAGS], number,
                  slack_and_flags >> TP_ALLOC_FLAGS_SHIFT & 0xff);
    put_size(packer, bytes, slack_and_flags & TP_SLACK_MASK);
    packer->seats[seat] = (struct tp_pack_seat){number, pool};
    packer->allocs = number + 1;
    packer->sums[2] += bytes;
    know(packer, entry, !known, address, 1 + 2 * seat);
}

/* Returns the pool of the block that is given back. */
static inline uint32_t put_allocated(struct tp_packer *packer, uint32_t seat)
{
    struct tp_pack_seat had = packer->seats[seat];
    struct tp_packed_values *seats = &packer->columns[TP_PACKED_FREE_SEAT];
    uint32_t ago = packer->allocs - had.number;
    bool is_long_ago = ago > AGO_MAX;

    ((uint8_t *)packer->columns[TP_PACKED_FREE_PLACE].values)[packer->frees] =
        (uint8_t)(is_long_ago ? TP_FREE_SEAT : ago);
    ((uint16_t *)seats->values)[seats->count] = (uint16_t)seat;
    seats->count += is_long_ago;
    packer->empty[packer->empty_count++] = seat;
    return had.pool;
}

static inline uint32_t put_elsewhere(struct tp_packer *packer, uint64_t address, uint64_t counted)
{
    uint64_t bytes = counted && counted < BYTES_MAX ? counted : BYTES_UNKNOWN;

    ((uint8_t *)packer->columns[TP_PACKED_FREE_PLACE].values)[packer->frees] = TP_FREE_ELSEWHERE;
    PUT(packer, TP_PACKED_FREE_ADDRESS, uint64_t, address);
    PUT(packer, TP_PACKED_FREE_BYTES, uint32_t, bytes);
    return pool_of(packer, bytes);
}

/* @counted: what the counter of freed bytes says of it. Returns what is foretold of that. */
static inline uint64_t put_free(struct tp_packer *packer, uint64_t address, uint64_t counted,
                                uint64_t flags)
{
    uint64_t *entry = find(packer, address);
    uint32_t known = tp_key_table_value(entry), number = packer->frees;
    uint32_t pool =
        known & 1 ? put_allocated(packer, known / 2) : put_elsewhere(packer, address, counted);
    struct tp_pool *of = &packer->pools[pool];

    tp_series_put(&packer->series[TP_SERIES_FREE_FLAGS], number, flags & 0xff);
    packer->freed[number] = (struct tp_pack_freed){of->latest, pool};
    of->latest = number + 1;
    packer->frees = number + 1;
    packer->sums[3] += of->bytes;
    know(packer, entry, !known, address, 2 + 2 * number);
    return of->bytes;
}

/* How many brief ones there are since the last whole one. */
static inline void put_brief_count(struct tp_packer *packer)
{
    uint32_t count = packer->allocs + packer->frees - packer->counted;

    PUT(packer, TP_PACKED_BRIEF, uint32_t, count);
    packer->briefs += count;
    packer->counted += count;
}

/* A step that a brief one has not. */
static inline void put_step(struct tp_packer *packer, enum tp_packed column, uint64_t ticks)
{
    const struct tp_series *left = &packer->series[TP_SERIES_TICKS];
    uint64_t step = (ticks - packer->sums[0] - left->now) & TP_TICKS_MASK;

    step = step <= STEP_MAX ? step : 0;
    packer->sums[0] += step;
    PUT(packer, column, uint16_t, step);
    put_brief_count(packer);
    packer->counted++;
}

static inline void put_common(struct tp_packer *packer, const uint64_t record[TP_SLOT_WORDS])
{
    struct tp_series *series = packer->series;
    const uint64_t *sums = packer->sums;
    uint32_t index = packer->records;

    tp_series_put(&series[TP_SERIES_TICKS], index, (record[0] - sums[0]) & TP_TICKS_MASK);
    tp_series_put(&series[TP_SERIES_CALLS], index, (uint32_t)((record[1] >> 32) - packer->allocs));
    tp_series_put(&series[TP_SERIES_ALLOCATED], index, record[2] - sums[2]);
    tp_series_put(&series[TP_SERIES_FREED], index, record[3] - sums[3]);
}

static inline void put_time(struct tp_packer *packer, uint64_t ticks)
{
    if (!packer->records)
        packer->first_ticks = packer->last[0] = ticks & TP_TICKS_MASK;
    packer->since += (int64_t)((ticks - packer->last[0]) << 8) >> 8;
    packer->latest = packer->since > packer->latest ? packer->since : packer->latest;
    packer->last[0] = ticks;
}

static inline void put_other(struct tp_packer *packer, const uint64_t *record, unsigned kind,
                             unsigned slots)
{
    uint64_t *copy = packer->other_slots + (size_t)packer->other_slot_count * TP_SLOT_WORDS;

    memcpy(copy, record, slots * (size_t)TP_SLOT_BYTES);
    copy[0] = (uint64_t)kind << 56 | (copy[0] & TP_TICKS_MASK); /* whoever writes there meanwhile */
    packer->other_at[packer->others] = packer->other_slot_count;
    packer->other_kinds[packer->others++] = (uint8_t)kind;
    packer->other_slot_count += slots;
}

/* Returns its slots; 0: it is cut or unknown. */
static uint32_t put_whole(struct tp_packer *packer, const uint64_t *record, const uint64_t *end)
{
    unsigned kind = tp_slot_kind(record), step = tp_kind_slots(kind);

    if (!step || (ptrdiff_t)step * TP_SLOT_WORDS > end - record)
        return 0;
    if (kind == TP_EVENT_ALLOC) {
        put_step(packer, TP_PACKED_ALLOC_STEP, record[0]);
        tp_series_put(&packer->series[TP_SERIES_ALLOC_PERIOD], packer->allocs, record[7]);
        put_alloc(packer, record[4], record[5], record[6], (uint32_t)record[1]);
    } else if (kind == TP_EVENT_FREE) {
        uint64_t counted = record[3] - packer->sums[3] - packer->series[TP_SERIES_FREED].now;
        put_step(packer, TP_PACKED_FREE_STEP, record[0]);
        put_free(packer, record[4], counted, record[5]);
    } else {
        put_other(packer, record, kind, step);
    }
    put_common(packer, record);
    put_time(packer, record[0]);
    packer->kinds[packer->records++] = (uint8_t)kind;
    return step;
}

static inline void put_brief(struct tp_packer *packer, const uint64_t *record)
{
    const uint64_t untimed = (uint64_t)TP_ALLOC_UNTIMED << TP_ALLOC_FLAGS_SHIFT;
    uint64_t bytes = record[0] & TP_BRIEF_BYTES_MAX, more = record[3] & ~untimed;
    uint8_t kind = TP_EVENT_ALLOC;

    if (tp_slot_kind(record) == TP_EVENT_ALLOC_BRIEF) {
        tp_series_put(&packer->series[TP_SERIES_ALLOC_PERIOD], packer->allocs, 0);
        put_alloc(packer, record[2], bytes, more, (uint32_t)record[1]);
    } else {
        struct tp_series *freed = &packer->series[TP_SERIES_FREED];
        uint64_t foretold = put_free(packer, record[2], bytes, more >> TP_ALLOC_FLAGS_SHIFT);
        tp_series_put(freed, packer->records, freed->now + bytes - foretold);
        kind = TP_EVENT_FREE;
    }
    packer->kinds[packer->records++] = kind;
}

/* What is read soon: slots, and of a near one the place in the table, as if its address were in
 * that word. Always inline: apart from the loop it would have no effect that a compiler knows. */
static inline __attribute__((always_inline)) void
expect(const struct tp_packer *packer, const uint64_t *now, const uint64_t *end, unsigned word)
{
    uint64_t address;

    if (end - now <= (ptrdiff_t)FAR_AHEAD * TP_SLOT_WORDS)
        return;
    address = now[AHEAD * TP_SLOT_WORDS + word];
    __builtin_prefetch(now + (size_t)FAR_AHEAD * TP_SLOT_WORDS);
    __builtin_prefetch(
        &packer->addresses.entries[tp_key_table_at(&packer->addresses, key_of(address))]);
}

static void widen_asked(struct tp_packer *packer)
{
    uint64_t *wide = packer->wide_asked;

    tp_series_expand(&packer->series[TP_SERIES_ASKED_HIGH], packer->allocs, wide);
    for (uint32_t i = 0; i < packer->allocs; i++)
        wide[i] = wide[i] << 32 | packer->narrow_asked[i];
    packer->columns[TP_PACKED_ALLOC_ASKED] =
        (struct tp_packed_values){wide, packer->allocs, sizeof(*wide)};
}

static void finish(struct tp_packer *packer)
{
    put_brief_count(packer);
    if (!packer->briefs)
        packer->columns[TP_PACKED_BRIEF].count = 0;
    packer->columns[TP_PACKED_ALLOC_PLACE].count = packer->allocs;
    packer->columns[TP_PACKED_ALLOC_ASKED].count = packer->allocs;
    packer->columns[TP_PACKED_FREE_PLACE].count = packer->frees;
    packer->stacks = (struct tp_packed_values){packer->stacks.values, packer->allocs, 4};
    if (packer->series[TP_SERIES_ASKED_HIGH].changes)
        widen_asked(packer);
}

/* @last: the last record as it stands in the ring. */
static void keep_last(struct tp_packer *packer, const uint64_t *last)
{
    const struct tp_series *series = packer->series;
    const uint64_t *sums = packer->sums;

    if (!tp_is_brief(tp_slot_kind(last))) {
        memcpy(packer->last, last, sizeof(packer->last));
        return;
    }
    bool is_alloc = tp_slot_kind(last) == TP_EVENT_ALLOC_BRIEF;
    uint64_t kind = is_alloc ? TP_EVENT_ALLOC : TP_EVENT_FREE;
    packer->last[0] = kind << 56 | ((series[TP_SERIES_TICKS].now + sums[0]) & TP_TICKS_MASK);
    packer->last[1] = (series[TP_SERIES_CALLS].now + packer->allocs) << 32 |
                      (is_alloc ? tp_slot_argument(last) : 0);
    packer->last[2] = series[TP_SERIES_ALLOCATED].now + sums[2];
    packer->last[3] = series[TP_SERIES_FREED].now + sums[3];
}

/* Takes records up to @end. Returns where the first one is that was not. @last: the last record. */
static const uint64_t *take_stretch(struct tp_packer *packer, const uint64_t *record,
                                    const uint64_t *end, const uint64_t **last)
{
    const uint64_t *before = *last;

    for (uint32_t step; record < end; record += (size_t)step * TP_SLOT_WORDS) {
        if (tp_is_brief(tp_slot_kind(record))) {
            expect(packer, record, end, 2);
            put_brief(packer, record);
            step = 1;
        } else {
            expect(packer, record, end, 4);
            step = put_whole(packer, record, end);
            if (!step)
                break;
        }
        before = record;
    }
    *last = before;
    return record;
}

/* The record that begins in the last @left slots of the first stretch and goes on in the second.
 * Returns its slots in the second. */
static uint32_t take_seam(struct tp_packer *packer, const struct tp_block_source *source,
                          uint32_t left, uint64_t seam[TP_KIND_SLOTS_MAX * TP_SLOT_WORDS],
                          const uint64_t **last)
{
    uint32_t first = source->slot_count - left, step;

    if (left >= TP_KIND_SLOTS_MAX)
        return 0;
    memcpy(seam, source->slots + (size_t)first * TP_SLOT_WORDS, left * TP_SLOT_BYTES);
    step = tp_kind_slots(tp_slot_kind(seam));
    if (step <= left || step - left > source->more_count)
        return 0;
    memcpy(seam + (size_t)left * TP_SLOT_WORDS, source->more, (step - left) * TP_SLOT_BYTES);
    put_whole(packer, seam, seam + (size_t)step * TP_SLOT_WORDS);
    *last = seam;
    return step - left;
}

uint32_t tp_packer_take(struct tp_packer *packer, const struct tp_block_source *source)
{
    const uint64_t *slots = source->slots, *last = NULL, *at;
    const uint64_t *end = slots + (size_t)source->slot_count * TP_SLOT_WORDS;
    uint64_t seam[TP_KIND_SLOTS_MAX * TP_SLOT_WORDS];

    begin(packer, source->before);
    at = take_stretch(packer, slots, end, &last);
    uint32_t taken = (uint32_t)((at - slots) / TP_SLOT_WORDS);
    uint32_t left = source->slot_count - taken, in_more = 0;
    if (left && source->more_count)
        in_more = take_seam(packer, source, left, seam, &last);
    if (source->more_count && (in_more || !left)) {
        end = source->more + (size_t)source->more_count * TP_SLOT_WORDS;
        at = take_stretch(packer, source->more + (size_t)in_more * TP_SLOT_WORDS, end, &last);
        taken = source->slot_count + (uint32_t)((at - source->more) / TP_SLOT_WORDS);
    }
    finish(packer);
    if (last)
        keep_last(packer, last);
    return taken;
}

uint64_t tp_packer_first_period(const struct tp_packer *packer)
{
    const struct tp_series *periods = &packer->series[TP_SERIES_ALLOC_PERIOD];

    return periods->changes && !periods->at[0] ? periods->values[0] : 0;
}
