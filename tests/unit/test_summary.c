/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "trace/summary.h"

#define ROWS 40u
#define ROOM (64u << 10)

static const uint8_t uuid[16] = {9, 8, 7};

struct made {
    uint8_t bytes[ROOM];
    size_t size, payload;
    struct tp_summary_totals totals;
};

static void put_some_rows(struct tp_wire_out *out)
{
    tp_wire_put_varint(out, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint64_t record[TP_SUMMARY_RECORD_WORDS] = {
            (uint64_t)(i % 2 ? TP_EVENT_API_BEGIN : TP_EVENT_GPU_KERNEL) << 56, 16 + i, 3, 4};
        struct tp_summary_sums sums = {.count = 10 + i,
                                       .ticks = UINT64_C(1) << (i + 10),
                                       .self_ticks = -(int64_t)i,
                                       .memory = INT64_MIN,
                                       .device = INT64_MAX,
                                       .least = i,
                                       .most = i + 5,
                                       .first_start = 7,
                                       .first_end = 9 + i,
                                       .has_parent = i % 3 == 0};
        tp_summary_put_row(out, record, &sums, 2);
        tp_summary_put_bucket(out, i, 4);
        tp_summary_put_bucket(out, 1000, 5);
    }
}

static void put_some_tracks(struct tp_wire_out *out)
{
    struct tp_summary_track track = {.track = 5,
                                     .frame_count = 2,
                                     .next_slot = 77,
                                     .ticks = 99,
                                     .counters = {1, 2, 3},
                                     .device_bytes = -5,
                                     .skipped = {0, 1}};
    struct tp_summary_frame frame = {
        .record = {(uint64_t)TP_EVENT_OP_BEGIN << 56, 16, 1, 2, 3, 4, 5, 6},
        .start = 11,
        .device_start = -4,
        .kids = {.ticks = 12, .memory = -1, .device = 2, .count = 1},
        .has_held = true,
        .held = {.record = {(uint64_t)TP_EVENT_NVTX_PUSH << 56, 17},
                 .start = 12,
                 .end = 20,
                 .memory = 8,
                 .device = -9,
                 .kids = {.ticks = 3, .count = 2}}};

    tp_wire_put_varint(out, 1);
    tp_summary_put_track(out, &track);
    tp_summary_put_frame(out, &frame);
    frame.has_held = false;
    frame.start = 12;
    tp_summary_put_frame(out, &frame);
    tp_wire_put_varint(out, 1);
    tp_summary_put_half(
        out, &(struct tp_summary_half){.record = {(uint64_t)TP_EVENT_ASYNC_END << 56, 0, 0, 0, 88},
                                       .ticks = 4,
                                       .track = 5});
}

static void put_some_launches(struct tp_wire_out *out)
{
    struct tp_summary_sums credited = {.work_ticks = 90, .own_work_ticks = 40};
    struct tp_summary_path open = {
        .of = TP_SUMMARY_HELD, .track = 0, .frame = 0, .own_ticks = 6, .below_ticks = 7};
    struct tp_summary_path ended = {.of = TP_SUMMARY_ENDED, .parent = 1, .row = 2};

    tp_wire_put_varint(out, 1);
    tp_summary_put_credit(out, 2, &credited);
    tp_wire_put_varint(out, 2);
    tp_summary_put_path(out, &open);
    tp_summary_put_path(out, &ended);
    tp_wire_put_varint(out, 2);
    tp_summary_put_call(out, UINT32_MAX, 2, true);
    tp_summary_put_call(out, 3, 0, false);
    tp_wire_put_varint(out, 1);
    tp_summary_put_waiting(out, 77, 5, 500);
    tp_wire_put_varint(out, 11);
    tp_wire_put_varint(out, 1100);
}

static void make_by(struct made *m, bool credits)
{
    struct tp_wire_out out = {m->bytes + TP_SUMMARY_HEAD_BYTES, m->bytes + ROOM - 8, false};

    memset(m, 0, sizeof(*m));
    m->totals = (struct tp_summary_totals){.first_segment = 4,
                                           .segments = 3,
                                           .slots = 1000,
                                           .missing_ranges = 2,
                                           .first_ticks = 5,
                                           .last_ticks = 500,
                                           .ranges = 123};
    m->totals.kinds[TP_EVENT_API_BEGIN] = 17;
    m->totals.last = (struct tp_summary_last){.row = 3, .start = 1, .end = 2, .has_parent = true};
    tp_summary_put_totals(&out, &m->totals);
    put_some_rows(&out);
    put_some_tracks(&out);
    if (credits)
        put_some_launches(&out);
    ck_assert(!out.full);
    m->payload = (size_t)(out.at - m->bytes) - TP_SUMMARY_HEAD_BYTES;
    m->size = tp_summary_seal(m->bytes, m->payload, uuid, &m->totals);
}

static void make(struct made *m)
{
    make_by(m, true);
}

START_TEST(what_is_put_is_read)
{
    struct made *m = malloc(sizeof(*m));
    struct tp_summary s;
    struct tp_diag diag;

    make(m);
    ck_assert_int_eq(tp_summary_read(&s, m->bytes, m->size, uuid, &diag), 0);
    ck_assert(!memcmp(&s.totals, &m->totals, sizeof(m->totals)));
    ck_assert_uint_eq(s.row_count, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        const struct tp_summary_row *row = &s.rows[i];
        ck_assert_uint_eq(tp_slot_argument(row->record), 16 + i);
        ck_assert_uint_eq(row->sums.count, 10 + i);
        ck_assert_uint_eq(row->sums.ticks, UINT64_C(1) << (i + 10));
        ck_assert_int_eq(row->sums.self_ticks, -(int64_t)i);
        ck_assert_int_eq(row->sums.memory, INT64_MIN);
        ck_assert_int_eq(row->sums.device, INT64_MAX);
        ck_assert_uint_eq(row->sums.most, i + 5);
        ck_assert_uint_eq(row->sums.first_end, 9 + i);
        ck_assert_int_eq(row->sums.has_parent, i % 3 == 0);
        ck_assert_uint_eq(row->bucket_count, 2);
        ck_assert_uint_eq(row->buckets[0].bucket, i);
        ck_assert_uint_eq(row->buckets[1].bucket, i + 1000);
        ck_assert_uint_eq(row->buckets[1].count, 5);
    }
    ck_assert_uint_eq(s.track_count, 1);
    ck_assert_uint_eq(s.tracks[0].next_slot, 77);
    ck_assert_int_eq(s.tracks[0].device_bytes, -5);
    ck_assert_uint_eq(s.tracks[0].skipped[1], 1);
    ck_assert_uint_eq(s.frame_count, 2);
    ck_assert_uint_eq(s.frames[0].record[7], 6);
    ck_assert_int_eq(s.frames[0].device_start, -4);
    ck_assert_uint_eq(s.frames[0].held.end, 20);
    ck_assert_int_eq(s.frames[0].held.device, -9);
    ck_assert_uint_eq(s.frames[0].held.kids.count, 2);
    ck_assert(!s.frames[1].has_held);
    ck_assert_uint_eq(s.half_count, 1);
    ck_assert_uint_eq(s.halves[0].record[4], 88);
    ck_assert(s.has_credits);
    ck_assert_uint_eq(s.rows[1].sums.work_ticks, 90);
    ck_assert_uint_eq(s.rows[1].sums.own_work_ticks, 40);
    ck_assert_uint_eq(s.path_count, 2);
    ck_assert_uint_eq(s.paths[0].of, TP_SUMMARY_HELD);
    ck_assert_uint_eq(s.paths[0].own_ticks, 6);
    ck_assert_uint_eq(s.paths[0].below_ticks, 7);
    ck_assert_uint_eq(s.paths[1].parent, 1);
    ck_assert_uint_eq(s.paths[1].row, 2);
    ck_assert_uint_eq(s.call_count, 2);
    ck_assert_uint_eq(s.calls[0].id, UINT32_MAX);
    ck_assert_uint_eq(s.calls[0].path, 2);
    ck_assert(s.calls[0].saw_work);
    ck_assert_uint_eq(s.calls[1].id, 2); /* behind the last number there is the first one */
    ck_assert_uint_eq(s.calls[1].path, 0);
    ck_assert(!s.calls[1].saw_work);
    ck_assert_uint_eq(s.work_count, 1);
    ck_assert_uint_eq(s.works[0].id, 77);
    ck_assert_uint_eq(s.works[0].count, 5);
    ck_assert_uint_eq(s.works[0].ticks, 500);
    ck_assert_uint_eq(s.without_launch, 11);
    ck_assert_uint_eq(s.without_launch_ticks, 1100);
    tp_summary_free(&s);
    free(m);
}
END_TEST

START_TEST(one_that_credits_nobody_is_read)
{
    struct made *m = malloc(sizeof(*m));
    struct tp_summary s;
    struct tp_diag diag;

    make_by(m, false);
    ck_assert_int_eq(tp_summary_read(&s, m->bytes, m->size, uuid, &diag), 0);
    ck_assert(!s.has_credits);
    ck_assert_uint_eq(s.row_count, ROWS);
    ck_assert_uint_eq(s.half_count, 1);
    tp_summary_free(&s);
    free(m);
}
END_TEST

static int read_copy(const struct made *m, size_t size, const uint8_t *expect)
{
    uint8_t *copy = malloc(size + 1);
    struct tp_diag diag;
    struct tp_summary s;

    memcpy(copy, m->bytes, size);
    int error = tp_summary_read(&s, copy, size, expect, &diag);
    tp_summary_free(&s);
    free(copy);
    return error;
}

START_TEST(cut_or_changed_anywhere_is_refused)
{
    struct made *m = malloc(sizeof(*m));
    uint8_t other[16] = {1};

    make(m);
    for (size_t size = 0; size < m->size; size++)
        ck_assert_msg(read_copy(m, size, uuid) < 0, "cut at %zu", size);
    for (size_t at = 0; at < m->size; at++) {
        m->bytes[at] ^= 0x10;
        ck_assert_msg(read_copy(m, m->size, uuid) < 0, "byte %zu", at);
        m->bytes[at] ^= 0x10;
    }
    ck_assert_int_eq(read_copy(m, m->size, uuid), 0);
    ck_assert_int_eq(read_copy(m, m->size, NULL), 0);
    ck_assert_int_eq(read_copy(m, m->size, other), -TP_EFOREIGN);
    free(m);
}
END_TEST

/* As a hostile writer could make it: behind good checksums. */
START_TEST(a_changed_payload_with_a_good_checksum_does_no_harm)
{
    struct made *m = malloc(sizeof(*m));
    struct random random = {random_seed("changed payload")};
    unsigned refused = 0;

    make(m);
    tp_summary_seal(m->bytes, m->payload, uuid, &m->totals);
    ck_assert_int_eq(read_copy(m, m->size, uuid), 0);
    for (unsigned turn = 0; turn < 20000; turn++) {
        size_t at = TP_SUMMARY_HEAD_BYTES + random_below(&random, m->payload);
        uint8_t kept = m->bytes[at];
        m->bytes[at] = (uint8_t)random_u64(&random);
        tp_summary_seal(m->bytes, m->payload, uuid, &m->totals);
        refused += read_copy(m, m->size, uuid) != 0;
        m->bytes[at] = kept;
    }
    ck_assert_uint_gt(refused, 100);
    ck_assert_uint_lt(refused, 19900);
    free(m);
}
END_TEST

START_TEST(no_memory_is_told)
{
    struct made *m = malloc(sizeof(*m));
    struct tp_summary s;
    struct tp_diag diag;

    make(m);
    for (unsigned n = 1;; n++) {
        unit_fail_allocation(n);
        int error = tp_summary_read(&s, m->bytes, m->size, uuid, &diag);
        unsigned made = unit_allocations();
        unit_fail_allocation(0);
        tp_summary_free(&s);
        if (!error) {
            ck_assert_uint_lt(made, n);
            break;
        }
        ck_assert_int_eq(error, -ENOMEM);
    }
    free(m);
}
END_TEST

START_TEST(a_bucket_is_within_a_128th_of_its_values)
{
    struct random random = {random_seed("buckets")};
    uint32_t before = 0;

    for (uint64_t value = 0; value < 100000; value++) {
        uint32_t bucket = tp_sketch_bucket(value);
        ck_assert(bucket == before || bucket == before + 1);
        before = bucket;
    }
    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t value = random_u64(&random) >> random_below(&random, 64);
        uint32_t bucket = tp_sketch_bucket(value);
        ck_assert_uint_lt(bucket, TP_SKETCH_BUCKETS);
        uint64_t middle = tp_sketch_value(bucket);
        uint64_t apart = middle > value ? middle - value : value - middle;
        ck_assert_msg(apart <= value / 128, "%llu is in the bucket of %llu",
                      (unsigned long long)value, (unsigned long long)middle);
    }
    ck_assert_uint_lt(tp_sketch_bucket(UINT64_MAX), TP_SKETCH_BUCKETS);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_is_put_is_read,
        one_that_credits_nobody_is_read,
        cut_or_changed_anywhere_is_refused,
        a_changed_payload_with_a_good_checksum_does_no_harm,
        no_memory_is_told,
        a_bucket_is_within_a_128th_of_its_values,
    };

    return unit_run("summary", NULL, NULL, tests, UNIT_COUNT(tests));
}
