/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "host.h"
#include "open_stack.h"

static struct tp_ring_entry entry;
static uint64_t records[64 * 2 * TP_SLOT_WORDS], open[TP_THREADS_MAX * TP_SLOT_WORDS];
static uint32_t used;

static void clear(void)
{
    memset(&entry, 0, sizeof(entry));
    used = 0;
}

static void add(unsigned kind, uint32_t argument)
{
    records[used * TP_SLOT_WORDS] = (uint64_t)kind << 56 | used;
    records[used * TP_SLOT_WORDS + 1] = argument;
    used += tp_kind_slots(kind);
}

static void replay(void)
{
    tp_open_stack_replay(&entry, records, used);
    used = 0;
}

static void check_names(const uint32_t *names, uint32_t count)
{
    uint32_t slots = tp_open_stack_compact(&entry, open, TP_THREADS_MAX), at = 0;

    for (uint32_t i = 0; i < count; i++) {
        ck_assert_uint_lt(at, slots);
        ck_assert_uint_eq(tp_slot_argument(open + at * TP_SLOT_WORDS), names[i]);
        at += tp_kind_slots(tp_slot_kind(open + at * TP_SLOT_WORDS));
    }
    ck_assert_uint_eq(at, slots);
}

START_TEST(begins_stay_until_their_end)
{
    add(TP_EVENT_OP_BEGIN, 1);
    add(TP_EVENT_NVTX_PUSH, 2);
    add(TP_EVENT_OP_BEGIN, 3);
    add(TP_EVENT_OP_END, 0);
    replay();
    check_names((const uint32_t[]){1, 2}, 2);
    add(TP_EVENT_NVTX_POP, 0);
    add(TP_EVENT_OP_END, 0);
    replay();
    check_names(NULL, 0);
}
END_TEST

START_TEST(an_end_closes_its_own_class)
{
    add(TP_EVENT_NVTX_PUSH, 1);
    add(TP_EVENT_OP_BEGIN, 2);
    add(TP_EVENT_NVTX_POP, 0); /* crosses the operator */
    replay();
    check_names((const uint32_t[]){2}, 1);
}
END_TEST

START_TEST(ends_without_begin_change_nothing)
{
    add(TP_EVENT_OP_END, 0);
    add(TP_EVENT_API_BEGIN, 5);
    add(TP_EVENT_ITT_END, 0);
    replay();
    check_names((const uint32_t[]){5}, 1);
}
END_TEST

START_TEST(deeper_than_fits_still_pairs)
{
    const uint32_t deep = 9000;

    for (uint32_t i = 0; i < deep; i++) {
        add(TP_EVENT_NVTX_PUSH, i + 1);
        replay();
    }
    for (uint32_t i = 0; i < deep - 2; i++) {
        add(TP_EVENT_NVTX_POP, 0);
        replay();
    }
    check_names((const uint32_t[]){1, 2}, 2);
}
END_TEST

START_TEST(a_move_takes_all)
{
    struct tp_ring_entry other = {0};

    add(TP_EVENT_NVTX_PUSH, 7);
    replay();
    tp_open_stack_move(&other, &entry);
    ck_assert_uint_eq(other.open_count, 1);
    ck_assert_uint_eq(tp_open_stack_compact(&entry, open, 16), 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("open_stack");

    tcase_add_checked_fixture(tests, clear, NULL);
    tcase_add_test(tests, begins_stay_until_their_end);
    tcase_add_test(tests, an_end_closes_its_own_class);
    tcase_add_test(tests, ends_without_begin_change_nothing);
    tcase_add_test(tests, deeper_than_fits_still_pairs);
    tcase_add_test(tests, a_move_takes_all);
    return host_run(tests, "open_stack");
}
