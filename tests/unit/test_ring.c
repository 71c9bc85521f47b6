/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "records.h"
#include "ring/ring.h"
#include "unit.h"

#define SLOTS 256u
#define SIZE (TP_RING_HEADER_BYTES + SLOTS * TP_SLOT_BYTES)

static const uint8_t uuid[16] = {1, 2, 3, 4};
static struct tp_ring_header *ring;
static struct tp_ring_view view;
static struct tp_diag diag;

static uint64_t *slot_at(uint64_t number)
{
    return (uint64_t *)((char *)ring + TP_RING_HEADER_BYTES) + number % SLOTS * TP_SLOT_WORDS;
}

/* A ring that has gone around: slots 900..1100 are left, each with its number in word 2. */
static void setup(void)
{
    ring = calloc(1, SIZE);
    ck_assert_ptr_nonnull(ring);
    tp_ring_header_init(ring, uuid, 4711, 5, SLOTS);
    ring->track = 3;
    ring->tid = 4712;
    ring->first = 100;
    atomic_store(&ring->head, 1100);
    atomic_store(&ring->tail, 900);
    atomic_store(&ring->dropped, 17);
    for (uint64_t number = 1100 - SLOTS; number < 1100; number++) {
        slot_at(number)[0] = (uint64_t)TP_EVENT_OP_END << 56;
        slot_at(number)[2] = number;
    }
}

static void teardown(void)
{
    free(ring);
}

static int open_ring(size_t size)
{
    return tp_ring_view_open(&view, ring, size, uuid, &diag);
}

START_TEST(ring_view_says_what_is_left)
{
    ck_assert_int_eq(open_ring(SIZE), 0);
    ck_assert_uint_eq(view.slot_count, SLOTS);
    ck_assert_uint_eq(view.track, 3);
    ck_assert_uint_eq(view.tid, 4712);
    ck_assert_uint_eq(view.first, 100);
    ck_assert_uint_eq(view.tail, 900);
    ck_assert_uint_eq(view.head, 1100);
    ck_assert_uint_eq(view.dropped, 17);
}
END_TEST

START_TEST(slot_numbers_go_around_the_ring)
{
    ck_assert_int_eq(open_ring(SIZE), 0);
    for (uint64_t number = view.tail; number < view.head; number++)
        ck_assert_uint_eq(tp_ring_view_slot(&view, number)[2], number);
}
END_TEST

START_TEST(unclaimed_ring_has_no_slots)
{
    tp_ring_header_init(ring, uuid, 4711, 5, SLOTS);
    ck_assert_uint_eq(ring->track, TP_RING_UNCLAIMED);
    ck_assert_int_eq(open_ring(SIZE), 0);
    ck_assert_uint_eq(view.head, view.tail);
}
END_TEST

START_TEST(ring_cut_anywhere_is_truncated)
{
    for (size_t size = 0; size < SIZE; size++) {
        void *copy = malloc(size ? size : 1);
        memcpy(copy, ring, size);
        if (tp_ring_view_open(&view, copy, size, uuid, &diag) != -TP_ETRUNCATED)
            ck_abort_msg("cut at %zu", size);
        free(copy);
    }
    ck_assert_int_eq(open_ring(SIZE), 0);
}
END_TEST

START_TEST(flipped_bit_in_the_sealed_part_is_an_error)
{
    uint8_t *bytes = (uint8_t *)ring;

    for (size_t at = 0; at < 128; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1u << bit);
            int error = open_ring(SIZE);
            bytes[at] ^= (uint8_t)(1u << bit);
            int expected = at < 8 ? -TP_EFOREIGN : at < 10 ? -TP_EVERSION : -TP_ECORRUPT;
            if (error != expected)
                ck_abort_msg("byte %zu, bit %u: %s", at, bit, tp_error_name(error));
        }
}
END_TEST

START_TEST(flipped_bit_in_the_open_part_never_gives_more_than_the_ring)
{
    uint8_t *bytes = (uint8_t *)ring;

    for (size_t at = 128; at < TP_RING_HEADER_BYTES; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1u << bit);
            if (!open_ring(SIZE) &&
                (view.tail > view.head || view.head - view.tail > SLOTS || view.tail < view.first))
                ck_abort_msg("byte %zu, bit %u", at, bit);
            bytes[at] ^= (uint8_t)(1u << bit);
        }
}
END_TEST

START_TEST(impossible_positions_are_damage)
{
    static const struct {
        uint64_t first, tail, head;
    } bad[] = {
        {0, 5, 4}, {0, 0, SLOTS + 1}, {10, 9, 20}, {0, UINT64_MAX, 0}, {0, 0, UINT64_MAX},
    };

    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        ring->first = bad[i].first;
        atomic_store(&ring->tail, bad[i].tail);
        atomic_store(&ring->head, bad[i].head);
        ck_assert_int_eq(open_ring(SIZE), -TP_ECORRUPT);
    }
    ring->first = 0;
    atomic_store(&ring->tail, UINT64_MAX - SLOTS);
    atomic_store(&ring->head, UINT64_MAX);
    ck_assert_int_eq(open_ring(SIZE), 0);
}
END_TEST

START_TEST(ring_of_another_process_is_foreign)
{
    static const uint8_t other[16] = {9};

    ck_assert_int_eq(tp_ring_view_open(&view, ring, SIZE, other, &diag), -TP_EFOREIGN);
    ck_assert_int_eq(tp_ring_view_open(&view, ring, SIZE, NULL, &diag), 0);
}
END_TEST

START_TEST(odd_slot_counts_are_damage)
{
    static const uint32_t bad[] = {
        0, 1, SLOTS - 1, SLOTS + 1, TP_RING_SLOTS_MIN / 2, TP_RING_SLOTS_MAX * 2, UINT32_MAX};

    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        tp_ring_header_init(ring, uuid, 1, 1, bad[i]);
        ck_assert_int_eq(open_ring(SIZE), -TP_ECORRUPT);
    }
    tp_ring_header_init(ring, uuid, 1, 1, SLOTS * 2);
    ck_assert_int_eq(open_ring(SIZE), -TP_ETRUNCATED);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        ring_view_says_what_is_left,
        slot_numbers_go_around_the_ring,
        unclaimed_ring_has_no_slots,
        ring_cut_anywhere_is_truncated,
        flipped_bit_in_the_sealed_part_is_an_error,
        flipped_bit_in_the_open_part_never_gives_more_than_the_ring,
        impossible_positions_are_damage,
        ring_of_another_process_is_foreign,
        odd_slot_counts_are_damage,
    };

    return unit_run("ring", setup, teardown, tests, UNIT_COUNT(tests));
}
