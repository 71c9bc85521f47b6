/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "event/brief.h"
#include "records.h"
#include "unit.h"

#define SLOTS 400u

static uint64_t slots[SLOTS * TP_SLOT_WORDS];
static uint64_t before[TP_SLOT_WORDS], record[2 * TP_SLOT_WORDS];

static void put(uint32_t at, unsigned kind, uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3)
{
    const uint64_t words[TP_SLOT_WORDS] = {(uint64_t)kind << 56 | w0, w1, w2, w3};

    memcpy(slots + (size_t)at * TP_SLOT_WORDS, words, sizeof(words));
}

START_TEST(an_allocation_goes_on_from_the_record_before)
{
    static const uint64_t earlier[TP_SLOT_WORDS] = {UINT64_C(3) << 56 | 1000,
                                                    UINT64_C(7) << 32 | 99, 5000, 4000};
    static const uint64_t expected[2 * TP_SLOT_WORDS] = {
        UINT64_C(30) << 56 | 1000, UINT64_C(8) << 32 | 17, 5040, 4000, 0x7f00, 40,
        UINT64_C(5) << 48 | 3};

    put(0, TP_EVENT_ALLOC_BRIEF, 40, 17, 0x7f00, UINT64_C(1) << 48 | 3);
    tp_brief_expand(slots, earlier, record);
    ck_assert_mem_eq(record, expected, sizeof(expected));
}
END_TEST

START_TEST(a_free_goes_on_from_the_record_before)
{
    static const uint64_t earlier[TP_SLOT_WORDS] = {UINT64_C(3) << 56 | 1000,
                                                    UINT64_C(7) << 32 | 99, 5000, 4000};
    static const uint64_t expected[2 * TP_SLOT_WORDS] = {
        UINT64_C(31) << 56 | 1000, UINT64_C(7) << 32, 5000, 4040, 0x7f00, 5};

    put(0, TP_EVENT_FREE_BRIEF, 40, 0, 0x7f00, UINT64_C(1) << 48);
    tp_brief_expand(slots, earlier, record);
    ck_assert_mem_eq(record, expected, sizeof(expected));
}
END_TEST

START_TEST(counters_wrap_and_bits_without_a_meaning_go)
{
    static const uint64_t earlier[TP_SLOT_WORDS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    static const uint64_t alloc[2 * TP_SLOT_WORDS] = {UINT64_C(30) << 56 | TP_TICKS_MASK,
                                                      UINT32_MAX,
                                                      TP_BRIEF_BYTES_MAX - 1,
                                                      UINT64_MAX,
                                                      UINT64_MAX,
                                                      TP_BRIEF_BYTES_MAX,
                                                      TP_ALLOC_WORD_MASK};
    static const uint64_t free[2 * TP_SLOT_WORDS] = {UINT64_C(31) << 56 | TP_TICKS_MASK,
                                                     UINT64_C(0xffffffff) << 32,
                                                     UINT64_MAX,
                                                     TP_BRIEF_BYTES_MAX - 1,
                                                     UINT64_MAX,
                                                     255};

    put(0, TP_EVENT_ALLOC_BRIEF, TP_BRIEF_BYTES_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    tp_brief_expand(slots, earlier, record);
    ck_assert_mem_eq(record, alloc, sizeof(alloc));
    put(0, TP_EVENT_FREE_BRIEF, TP_BRIEF_BYTES_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    tp_brief_expand(slots, earlier, record);
    ck_assert_mem_eq(record, free, sizeof(free));
}
END_TEST

START_TEST(the_first_whole_record_tells_what_was_before)
{
    static const uint64_t expected[TP_SLOT_WORDS] = {2000, UINT64_C(0xffffffff) << 32, 1000, 900};

    put(0, TP_EVENT_ALLOC_BRIEF, 100, 0, 1, 0);
    put(1, TP_EVENT_FREE_BRIEF, 70, 0, 2, 0);
    put(2, TP_EVENT_ALLOC_BRIEF, 10, 0, 3, 0);
    put(3, TP_EVENT_OP_END, 2000, UINT64_C(1) << 32, 1110, 970);
    ck_assert(tp_brief_before(slots, 4, before));
    ck_assert_mem_eq(before, expected, sizeof(expected));
    put(3, TP_EVENT_ALLOC, 2000, UINT64_C(2) << 32, 1115, 970);
    put(4, 0, 4, 5, 0, 0);
    ck_assert(tp_brief_before(slots, 5, before));
    ck_assert_mem_eq(before, expected, sizeof(expected));
    ck_assert(tp_brief_before(slots + 3 * TP_SLOT_WORDS, 2, before)); /* at once */
    ck_assert_uint_eq(before[1], UINT64_C(1) << 32);
    ck_assert_uint_eq(before[2], 1110);
}
END_TEST

START_TEST(brief_records_alone_tell_nothing)
{
    static const uint64_t zeros[TP_SLOT_WORDS];

    put(0, TP_EVENT_ALLOC_BRIEF, 100, 0, 1, 0);
    put(1, TP_EVENT_FREE_BRIEF, 70, 0, 2, 0);
    for (uint32_t count = 0; count <= 2; count++) {
        memset(before, 1, sizeof(before));
        ck_assert(!tp_brief_before(slots, count, before));
        ck_assert_mem_eq(before, zeros, sizeof(zeros));
    }
    put(2, TP_EVENT_ALLOC, 2000, 0, 0, 0); /* of which only the first slot is there */
    ck_assert(!tp_brief_before(slots, 3, before));
    put(2, 255, 2000, 0, 0, 0);
    ck_assert(!tp_brief_before(slots, 3, before));
    ck_assert_mem_eq(before, zeros, sizeof(zeros));
}
END_TEST

/* Cut anywhere, what is behind comes to the same as with what was before, but for times; and what
 * the first whole record itself freed. */
START_TEST(what_is_behind_a_cut_comes_to_the_same)
{
    struct random random = {random_seed("cut")};
    static uint64_t all[2 * SLOTS * TP_SLOT_WORDS], behind[2 * SLOTS * TP_SLOT_WORDS];

    for (unsigned round = 0; round < 100; round++) {
        uint32_t count = records_heap(&random, slots, SLOTS, 0);
        count = records_shorten(&random, slots, count, 9);
        memset(before, 0, sizeof(before));
        uint32_t whole = records_expand(slots, count, before, all), step;
        for (uint32_t at = 0; at < count; at += step) {
            const uint64_t *first = slots + (size_t)at * TP_SLOT_WORDS;
            step = tp_kind_slots(tp_slot_kind(first));
            if (!tp_is_brief(tp_slot_kind(first)) || !tp_brief_before(first, count - at, before))
                continue;
            uint32_t left = records_expand(first, count - at, before, behind);
            const uint64_t *same = all + (size_t)(whole - left) * TP_SLOT_WORDS;
            ck_assert_uint_eq(behind[1], same[1]);
            ck_assert_uint_eq(behind[2], same[2]);
            ck_assert_uint_ge(behind[3], same[3]);
            ck_assert_uint_le(behind[3], same[3] + 600);
        }
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_allocation_goes_on_from_the_record_before,
        a_free_goes_on_from_the_record_before,
        counters_wrap_and_bits_without_a_meaning_go,
        the_first_whole_record_tells_what_was_before,
        brief_records_alone_tell_nothing,
        what_is_behind_a_cut_comes_to_the_same,
    };

    return unit_run("brief", NULL, NULL, tests, UNIT_COUNT(tests));
}
