/* SPDX-License-Identifier: MIT */
#include "trace/alloc_unpack.h"

#include "event/brief.h"
#include "trace/wire.h"

static bool get(struct tp_unpacker *unpacker, enum tp_packed column, uint64_t *ret_value)
{
    if (!unpacker->counts[column])
        return false;
    unpacker->counts[column]--;
    *ret_value = *unpacker->columns[column]++;
    return true;
}

/* Where an allocation of @pool is that reuses a freed block. */
static const char *get_reuse(struct tp_unpacker *unpacker, uint64_t place, uint32_t pool,
                             uint64_t *ret_address)
{
    struct tp_allocations *lists = &unpacker->lists;
    uint64_t distance;
    uint32_t number;

    if (place == TP_ALLOC_FREED) {
        if (!get(unpacker, TP_PACKED_ALLOC_DISTANCE, &distance))
            return "fewer distances than allocations";
        if (!distance || distance > lists->freed_count)
            return "allocation's distance";
        number = lists->freed_count - (uint32_t)distance;
        if (lists->freed[number].is_taken)
            return "freed block taken twice";
    } else {
        uint32_t at = lists->pools[pool].latest;
        for (; at && place > TP_ALLOC_POOL; place--)
            at = lists->freed[at - 1].older;
        if (!at)
            return "allocation's place";
        number = at - 1;
    }
    tp_allocations_take(lists, number);
    *ret_address = lists->freed[number].address;
    return NULL;
}

static const char *get_place(struct tp_unpacker *unpacker, uint64_t place, uint32_t pool,
                             uint64_t *ret_address)
{
    const struct tp_allocations *lists = &unpacker->lists;

    switch (place) {
    case TP_ALLOC_ELSEWHERE:
        return get(unpacker, TP_PACKED_ALLOC_ADDRESS, ret_address)
                   ? NULL
                   : "fewer addresses than allocations";
    case TP_ALLOC_BEHIND:
        *ret_address = lists->behind;
        return NULL;
    case TP_ALLOC_NEXT:
        *ret_address = lists->pools[pool].next;
        return NULL;
    default:
        return place < TP_ALLOC_POOL_END ? get_reuse(unpacker, place, pool, ret_address)
                                         : "allocation's place";
    }
}

static const char *get_alloc(struct tp_unpacker *unpacker, uint64_t *more, uint64_t *bytes_sum)
{
    struct tp_allocations *lists = &unpacker->lists;
    uint64_t asked, zigzag, place, address;

    if (!get(unpacker, TP_PACKED_ALLOC_PLACE, &place) ||
        !get(unpacker, TP_PACKED_ALLOC_ASKED, &asked) ||
        !get(unpacker, TP_PACKED_ALLOC_SLACK, &zigzag))
        return "fewer places or sizes than allocations";
    if (zigzag & ~TP_SLACK_MASK)
        return "slack too wide";
    uint64_t slack = (tp_wire_unzigzag(zigzag) + tp_allocations_usual_slack(asked)) & TP_SLACK_MASK;
    uint64_t bytes = asked + slack;
    uint32_t pool = tp_allocations_pool(lists, bytes);
    const char *wrong = get_place(unpacker, place, pool, &address);
    if (wrong)
        return wrong;
    bool is_new = place == TP_ALLOC_ELSEWHERE || place == TP_ALLOC_BEHIND || place == TP_ALLOC_NEXT;
    tp_allocations_put(lists, address, pool, is_new);
    more[0] = address;
    more[1] = bytes;
    more[2] |= slack;
    *bytes_sum += bytes;
    return NULL;
}

/* Which allocation a free gives back. */
static const char *get_allocated(struct tp_unpacker *unpacker, uint64_t ago, uint32_t *ret_number)
{
    const struct tp_allocations *lists = &unpacker->lists;
    uint64_t seat;

    if (ago == TP_FREE_SEAT) {
        if (!get(unpacker, TP_PACKED_FREE_SEAT, &seat))
            return "fewer seats than frees";
        if (seat >= lists->seat_count)
            return "free's seat";
        *ret_number = lists->seats[seat];
        return NULL;
    }
    if (ago > TP_FREE_SEAT || ago > lists->allocated_count)
        return "free's place";
    *ret_number = lists->allocated_count - (uint32_t)ago;
    return NULL;
}

static const char *get_free(struct tp_unpacker *unpacker, uint64_t *more, uint64_t *bytes_sum)
{
    struct tp_allocations *lists = &unpacker->lists;
    uint64_t ago, address, bytes;
    uint32_t pool, number;

    if (!get(unpacker, TP_PACKED_FREE_PLACE, &ago))
        return "fewer places than frees";
    if (ago == TP_FREE_ELSEWHERE) {
        if (!get(unpacker, TP_PACKED_FREE_ADDRESS, &address) ||
            !get(unpacker, TP_PACKED_FREE_BYTES, &bytes))
            return "fewer addresses than frees";
        pool = tp_allocations_pool(lists, bytes);
    } else {
        const char *wrong = get_allocated(unpacker, ago, &number);
        if (wrong)
            return wrong;
        address = lists->allocated[number].address;
        pool = tp_allocations_leave(lists, number);
        bytes = lists->pools[pool].bytes;
    }
    tp_allocations_free(lists, address, pool);
    more[0] = address;
    *bytes_sum += bytes;
    return NULL;
}

/* A brief record has a flag instead of a step. */
static const char *get_step(struct tp_unpacker *unpacker, bool is_alloc, uint64_t *more,
                            uint64_t *ticks_sum)
{
    uint64_t step;

    if (unpacker->brief_left) {
        unpacker->brief_left--;
        unpacker->brief_count++;
        if (is_alloc)
            more[2] |= (uint64_t)TP_ALLOC_UNTIMED << TP_ALLOC_FLAGS_SHIFT;
        else
            more[1] |= TP_ALLOC_UNTIMED;
        return NULL;
    }
    if (!get(unpacker, is_alloc ? TP_PACKED_ALLOC_STEP : TP_PACKED_FREE_STEP, &step))
        return "fewer steps than records";
    if (unpacker->has_brief && !get(unpacker, TP_PACKED_BRIEF, &unpacker->brief_left))
        return "brief records";
    *ticks_sum += step;
    return NULL;
}

static const char *get_record(struct tp_unpacker *unpacker, uint64_t *record, uint64_t sums[4])
{
    bool is_alloc = tp_slot_kind(record) == TP_EVENT_ALLOC;
    uint64_t *more = record + TP_SLOT_WORDS;

    if (more[0] || (is_alloc && (more[1] || more[2] & TP_SLACK_MASK)))
        return "address or size twice";
    const char *wrong = get_step(unpacker, is_alloc, more, &sums[0]);
    if (wrong)
        return wrong;
    if (!is_alloc)
        return get_free(unpacker, more, &sums[3]);
    sums[1] += UINT64_C(1) << 32;
    return get_alloc(unpacker, more, &sums[2]);
}

const char *tp_alloc_unpack(struct tp_unpacker *unpacker, uint64_t *slots, uint32_t slot_count,
                            bool has_brief)
{
    uint64_t sums[TP_SLOT_WORDS] = {0}, left = 0;

    unpacker->has_brief = has_brief;
    unpacker->brief_left = unpacker->brief_count = 0;
    if (has_brief && !get(unpacker, TP_PACKED_BRIEF, &unpacker->brief_left))
        return "brief records";
    for (uint32_t at = 0, step; at < slot_count; at += step) {
        uint64_t *record = slots + (size_t)at * TP_SLOT_WORDS;
        unsigned kind = tp_slot_kind(record);
        step = tp_kind_slots(kind);
        const char *wrong = kind == TP_EVENT_ALLOC || kind == TP_EVENT_FREE
                                ? get_record(unpacker, record, sums)
                                : NULL;
        if (wrong)
            return wrong;
        record[0] = (record[0] & ~TP_TICKS_MASK) | ((record[0] + sums[0]) & TP_TICKS_MASK);
        record[1] += sums[1];
        record[2] += sums[2];
        record[3] += sums[3];
    }
    for (unsigned i = 0; i < TP_PACKED_END; i++)
        left |= unpacker->counts[i];
    return left | unpacker->brief_left ? "values left over" : NULL;
}
