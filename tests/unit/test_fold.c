/* SPDX-License-Identifier: MIT
 * What finds no room in the memory of the running summary is counted; blocks that are missing do no
 * harm to others. That its sums are those of tpreport is tested on whole recordings. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "credit.h"
#include "fold.h"

#define OUT_BYTES (16u << 20)
#define RECORDS 8192u

static struct tp_fold *fold;
static char no_names[64] = {[12] = 64};
static _Atomic uint64_t names_used = TP_FILE_HEADER_BYTES;
static uint64_t slots[RECORDS * 3 * TP_SLOT_WORDS];
static struct tp_block block;
static struct tp_summary summary;
static uint64_t ticks;

static void setup(void)
{
    fold = tp_fold_open(calloc(1, tp_fold_size()), no_names, &names_used);
    ticks = 1000;
    memset(&block, 0, sizeof(block));
    block.slots = slots;
    block.header.first_ticks = ticks;
}

static void teardown(void)
{
    tp_summary_free(&summary);
    free(fold);
}

static void begin_block(uint32_t track, uint64_t first_slot)
{
    memset(slots, 0, sizeof(slots));
    block.slot_count = 0;
    block.header.track = track;
    block.header.first_slot = first_slot;
    block.header.first_ticks = ticks;
}

static void put(unsigned kind, uint32_t argument, uint64_t word4)
{
    uint64_t *record = slots + (size_t)block.slot_count * TP_SLOT_WORDS;

    record[0] = (uint64_t)kind << 56 | ++ticks;
    record[1] = argument;
    if (tp_kind_slots(kind) > 1)
        record[4] = word4;
    block.slot_count += tp_kind_slots(kind);
}

static void end_block(void)
{
    block.header.slots = block.slot_count;
    block.header.last_ticks = ticks;
    tp_fold_block(fold, &block);
}

static void read_back(void)
{
    uint8_t *bytes = malloc(OUT_BYTES + TP_SUMMARY_HEAD_BYTES + 8);
    struct tp_wire_out out = {bytes + TP_SUMMARY_HEAD_BYTES, bytes + OUT_BYTES, false};
    struct tp_diag diag;
    const uint8_t uuid[16] = {1};

    tp_fold_put(fold, &out);
    ck_assert(!out.full);
    size_t size = tp_summary_seal(bytes, (size_t)(out.at - bytes) - TP_SUMMARY_HEAD_BYTES, uuid,
                                  tp_fold_totals(fold));
    int error = tp_summary_read(&summary, bytes, size, uuid, &diag);
    ck_assert_msg(!error, "%s", diag.text);
    free(bytes);
}

static uint64_t all_counts(void)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < summary.row_count; i++)
        sum += summary.rows[i].sums.count;
    return sum;
}

START_TEST(nothing_is_an_empty_summary)
{
    read_back();
    ck_assert_uint_eq(summary.row_count, 0);
    ck_assert_uint_eq(summary.track_count, 0);
    ck_assert_uint_eq(summary.half_count, 0);
}
END_TEST

START_TEST(more_names_than_rows_are_in_one_row)
{
    uint32_t names = 2 * TP_FOLD_ROWS;

    for (uint32_t name = 0; name < names;) {
        begin_block(1, (uint64_t)name * 2);
        for (uint32_t i = 0; i < RECORDS / 2; i++, name++) {
            put(TP_EVENT_API_BEGIN, 16 + name, 0);
            put(TP_EVENT_API_END, 0, 0);
        }
        end_block();
    }
    read_back();
    ck_assert_uint_eq(summary.row_count, TP_FOLD_ROWS);
    ck_assert_uint_eq(tp_slot_argument(summary.rows[0].record), TP_NAME_TOO_MANY);
    ck_assert_uint_eq(summary.rows[0].sums.count, names - TP_FOLD_ROWS + 1);
    ck_assert_uint_eq(summary.totals.crowded, names - TP_FOLD_ROWS + 1);
    ck_assert_uint_eq(all_counts(), names);
}
END_TEST

START_TEST(sketches_have_as_many_as_their_row)
{
    uint64_t there = 0, more = 40;

    for (uint64_t turn = 0; turn < more; turn++) {
        begin_block(1, turn * RECORDS);
        for (uint32_t i = 0; i < RECORDS / 2; i++) {
            put(TP_EVENT_API_BEGIN, 16 + i % 3, 0);
            ticks += (turn * RECORDS + i) * 977 % 100000;
            put(TP_EVENT_API_END, 0, 0);
        }
        end_block();
    }
    read_back();
    for (uint32_t i = 0; i < summary.row_count; i++)
        for (uint32_t b = 0; b < summary.rows[i].bucket_count; b++)
            there += summary.rows[i].buckets[b].count;
    ck_assert_uint_eq(there, more * RECORDS / 2);
    ck_assert_uint_eq(there + summary.totals.without_sketch, all_counts());
}
END_TEST

START_TEST(deeper_than_there_is_room_is_counted)
{
    uint32_t wanted = TP_FOLD_FRAMES + 1000, per_block = RECORDS;
    uint64_t slot = 0;

    for (uint32_t done = 0; done < wanted; done += per_block, slot += per_block) {
        begin_block(1 + done / per_block % 2, slot / 2 / per_block * per_block);
        for (uint32_t i = 0; i < per_block; i++)
            put(TP_EVENT_API_BEGIN, 16, 0);
        end_block();
    }
    read_back();
    ck_assert_uint_eq(summary.row_count, 0);
    ck_assert_uint_eq(summary.frame_count, TP_FOLD_FRAMES);
    ck_assert_uint_eq(summary.totals.too_deep, slot - TP_FOLD_FRAMES);
}
END_TEST

/* Each leaves a range open. */
START_TEST(more_tracks_than_there_is_room_for_are_missing)
{
    for (uint32_t track = 0; track < TP_FOLD_TRACKS + 100; track++) {
        begin_block(track, 0);
        put(TP_EVENT_API_BEGIN, 16, 0);
        put(TP_EVENT_API_BEGIN, 17, 0);
        put(TP_EVENT_API_END, 0, 0);
        end_block();
    }
    read_back();
    ck_assert_uint_eq(summary.track_count, TP_FOLD_TRACKS);
    ck_assert_uint_eq(summary.totals.missing_blocks, 100);
    ck_assert_uint_eq(summary.totals.missing_slots, 300);
    ck_assert_uint_eq(all_counts(), TP_FOLD_TRACKS);
}
END_TEST

/* Which are found again when most of those around them are gone. */
START_TEST(tracks_come_and_go)
{
    for (uint32_t track = 0; track < 4000; track++) {
        begin_block(track, 0);
        put(TP_EVENT_API_BEGIN, 16, 0);
        end_block();
    }
    for (uint32_t track = 0; track < 4000; track += track % 7 ? 1 : 2) {
        begin_block(track, 1);
        put(TP_EVENT_API_END, 0, 0);
        end_block();
    }
    read_back();
    ck_assert_uint_eq(summary.totals.ends_without_begin, 0);
    ck_assert_uint_eq(all_counts() + summary.track_count, 4000);
    for (uint32_t i = 0; i < summary.track_count; i++)
        ck_assert_uint_eq(summary.tracks[i].next_slot, 1);
}
END_TEST

START_TEST(halves_come_and_go)
{
    uint64_t ranges = 100000, pending = 0;

    for (uint64_t id = 1; id <= ranges;) {
        begin_block(1, id * 4);
        for (uint32_t i = 0; i < 100 && id <= ranges; i++, id++) {
            bool stays = id % 13 == 0 && pending < 3000;
            put(id % 2 ? TP_EVENT_ASYNC_BEGIN : TP_EVENT_ASYNC_END, 16, id);
            if (!stays)
                put(id % 2 ? TP_EVENT_ASYNC_END : TP_EVENT_ASYNC_BEGIN, 16, id);
            pending += stays;
        }
        end_block();
    }
    read_back();
    ck_assert_uint_eq(summary.half_count, pending);
    ck_assert_uint_eq(all_counts(), ranges - pending);
    ck_assert_uint_eq(summary.totals.missing_ranges, 0);
}
END_TEST

START_TEST(more_halves_than_there_is_room_for_are_missing)
{
    for (uint32_t id = 1; id <= 2 * TP_FOLD_HALVES;) {
        begin_block(1, (uint64_t)id * 2);
        for (uint32_t i = 0; i < 1024; i++, id++)
            put(TP_EVENT_ASYNC_BEGIN, 16, id);
        end_block();
    }
    read_back();
    ck_assert_uint_gt(summary.half_count, TP_FOLD_HALVES / 2);
    ck_assert_uint_eq(summary.half_count + summary.totals.missing_ranges, 2 * TP_FOLD_HALVES);
}
END_TEST

/* A block is not there: what was open before it may have ended in it. */
START_TEST(a_gap_ends_what_was_open)
{
    uint64_t open[TP_SLOT_WORDS] = {(uint64_t)TP_EVENT_API_BEGIN << 56 | 1500, 18};

    begin_block(1, 0);
    put(TP_EVENT_API_BEGIN, 16, 0);
    put(TP_EVENT_API_BEGIN, 17, 0);
    end_block();
    ticks = 2000;
    begin_block(1, 10);
    block.open = open;
    block.open_slots = 1;
    put(TP_EVENT_API_END, 0, 0);
    end_block();
    read_back();
    ck_assert_uint_eq(summary.totals.missing_ranges, 2);
    ck_assert_uint_eq(summary.track_count, 0);
    ck_assert_uint_eq(summary.row_count, 1);
    ck_assert_uint_eq(tp_slot_argument(summary.rows[0].record), 18);
    ck_assert_uint_eq(summary.rows[0].sums.ticks, 501);
}
END_TEST

/* ---- who is credited with the work of a device ---- */

static void put_work(uint32_t id, uint64_t length)
{
    uint64_t *record = slots + (size_t)block.slot_count * TP_SLOT_WORDS;

    put(TP_EVENT_GPU_KERNEL, 16, 5);
    record[5] = 5 + length;
    record[6] = id;
}

/* Everything that work is counted as: by whom it is, or why by nobody. */
static uint64_t all_work(void)
{
    uint64_t sum = summary.without_launch_ticks;

    for (uint32_t i = 0; i < summary.row_count; i++)
        sum += summary.rows[i].sums.own_work_ticks;
    for (uint32_t i = 0; i < summary.path_count; i++)
        sum += summary.paths[i].own_ticks;
    for (uint32_t i = 0; i < summary.work_count; i++)
        sum += summary.works[i].ticks;
    return sum;
}

static const struct tp_summary_row *row_named(uint32_t name, unsigned kind)
{
    for (uint32_t i = 0; i < summary.row_count; i++)
        if (tp_slot_argument(summary.rows[i].record) == name &&
            tp_slot_kind(summary.rows[i].record) == kind)
            return &summary.rows[i];
    ck_abort_msg("no row of name %u", name);
}

static void expect_credit(uint32_t name, uint64_t own, uint64_t all)
{
    const struct tp_summary_row *row = row_named(name, TP_EVENT_API_BEGIN);

    ck_assert_uint_eq(row->sums.own_work_ticks, own);
    ck_assert_uint_eq(row->sums.work_ticks, all);
}

/* A call and its work, in either order, in different blocks, while the range is open and after. */
START_TEST(work_goes_where_its_call_was_made)
{
    begin_block(2, 0);
    put_work(1, 1);
    put_work(5, 10000);
    end_block();
    begin_block(1, 0);
    put(TP_EVENT_API_BEGIN, 16, 0);
    put(TP_EVENT_API_BEGIN, 17, 0);
    put(TP_EVENT_CUDA_CALL, 1, 0);
    put(TP_EVENT_CUDA_CALL, 2, 0);
    end_block();
    begin_block(2, 6);
    put_work(2, 10);
    end_block();
    begin_block(1, 4);
    put(TP_EVENT_API_END, 0, 0);
    put(TP_EVENT_CUDA_CALL, 3, 0);
    put(TP_EVENT_API_END, 0, 0);
    put(TP_EVENT_CUDA_CALL, 4, 0);
    end_block();
    begin_block(2, 9);
    put_work(2, 100);
    put_work(3, 1000);
    put_work(4, 77); /* in no range */
    end_block();
    read_back();
    expect_credit(17, 111, 111);
    expect_credit(16, 1000, 1111);
    ck_assert(summary.has_credits);
    ck_assert_uint_eq(summary.work_count, 1);
    ck_assert_uint_eq(summary.works[0].id, 5);
    ck_assert_uint_eq(summary.works[0].ticks, 10000);
    ck_assert_uint_eq(summary.without_launch, 0);
}
END_TEST

/* What is open has what came so far; the reader goes on with it. */
START_TEST(open_ranges_keep_what_they_have)
{
    begin_block(1, 0);
    put(TP_EVENT_API_BEGIN, 16, 0);
    put(TP_EVENT_CUDA_CALL, 1, 0);
    put(TP_EVENT_API_BEGIN, 17, 0);
    put(TP_EVENT_CUDA_CALL, 2, 0);
    put(TP_EVENT_API_END, 0, 0);
    put_work(1, 3);
    put_work(2, 40);
    end_block();
    read_back();
    expect_credit(17, 40, 40);
    ck_assert_uint_eq(summary.path_count, 2);
    ck_assert_uint_eq(summary.paths[0].of, TP_SUMMARY_OPEN);
    ck_assert_uint_eq(summary.paths[0].own_ticks, 3);
    ck_assert_uint_eq(summary.paths[0].below_ticks, 40);
    ck_assert_uint_eq(summary.paths[1].of, TP_SUMMARY_ENDED);
    ck_assert_uint_eq(summary.paths[1].parent, 1);
    ck_assert_uint_eq(summary.call_count, 2);
    ck_assert_uint_eq(summary.calls[1].id, 2);
    ck_assert_uint_eq(summary.calls[1].path, 2);
    ck_assert(summary.calls[1].saw_work);
}
END_TEST

static void put_work_of_all(uint32_t count)
{
    for (uint32_t id = 1; id <= count;) {
        begin_block(2, (uint64_t)id * 3);
        for (uint32_t i = 0; i < RECORDS / 2 && id <= count; i++, id++)
            put_work(id, 7);
        end_block();
    }
}

/* Calls of @count ids, then their work, by blocks. */
static void call_and_work(uint32_t count)
{
    for (uint32_t id = 1; id <= count;) {
        begin_block(1, (uint64_t)id * 4);
        put(TP_EVENT_API_BEGIN, 16, 0);
        for (uint32_t i = 0; i < RECORDS && id <= count; i++, id++)
            put(TP_EVENT_CUDA_CALL, id, 0);
        put(TP_EVENT_API_END, 0, 0);
        end_block();
    }
    put_work_of_all(count);
}

START_TEST(a_million_calls_wait_for_their_work)
{
    call_and_work(TP_CREDIT_IDS);
    read_back();
    expect_credit(16, UINT64_C(7) * TP_CREDIT_IDS, UINT64_C(7) * TP_CREDIT_IDS);
    ck_assert_uint_eq(summary.work_count + summary.without_launch, 0);
    ck_assert_uint_eq(summary.path_count, 1);
    ck_assert_uint_le(summary.call_count, TP_CREDIT_DONE_IDS + 1);
}
END_TEST

START_TEST(more_calls_than_can_wait_are_counted)
{
    uint32_t more = 1000, count = TP_CREDIT_IDS + more;

    call_and_work(count);
    read_back();
    expect_credit(16, UINT64_C(7) * TP_CREDIT_IDS, UINT64_C(7) * TP_CREDIT_IDS);
    ck_assert_uint_eq(summary.work_count + summary.without_launch, more);
    ck_assert_uint_eq(all_work(), UINT64_C(7) * count);
}
END_TEST

START_TEST(more_work_than_can_wait_is_counted)
{
    uint32_t count = TP_CREDIT_WORKS + 5000;

    put_work_of_all(count);
    read_back();
    ck_assert_uint_eq(summary.work_count, TP_CREDIT_WORKS);
    ck_assert_uint_eq(summary.without_launch, 5000);
    ck_assert_uint_eq(all_work(), UINT64_C(7) * count);
}
END_TEST

/* Each of a row below each of a row, and a call in it that waits. */
START_TEST(more_paths_than_there_is_room_for)
{
    uint32_t outer = 400, inner = 400, id = 0;

    for (uint32_t o = 0; o < outer; o++) {
        begin_block(1, (uint64_t)o * 4 * inner);
        put(TP_EVENT_API_BEGIN, 16 + o, 0);
        for (uint32_t i = 0; i < inner; i++) {
            put(TP_EVENT_API_BEGIN, 1000 + i, 0);
            put(TP_EVENT_CUDA_CALL, ++id, 0);
            put(TP_EVENT_API_END, 0, 0);
        }
        put(TP_EVENT_API_END, 0, 0);
        end_block();
    }
    put_work_of_all(id);
    read_back();
    ck_assert_uint_gt(summary.work_count + summary.without_launch, 0);
    ck_assert_uint_gt(row_named(16, TP_EVENT_API_BEGIN)->sums.work_ticks, 0);
    ck_assert_uint_eq(row_named(16, TP_EVENT_API_BEGIN)->sums.own_work_ticks, 0);
    ck_assert_uint_eq(all_work(), UINT64_C(7) * id);
}
END_TEST

/* Calls of an old range do not hold its path for ever, whatever waits. */
START_TEST(paths_come_and_go)
{
    uint32_t id = 0;

    for (uint32_t turn = 0; turn < 3000; turn++) {
        begin_block(1, (uint64_t)turn * RECORDS);
        for (uint32_t i = 0; i < 100; i++) {
            put(TP_EVENT_API_BEGIN, 16 + turn, 0);
            put(TP_EVENT_API_BEGIN, 4000 + i, 0);
            put(TP_EVENT_CUDA_CALL, ++id, 0);
            put_work(id, 7);
            put(TP_EVENT_API_END, 0, 0);
            put(TP_EVENT_API_END, 0, 0);
        }
        end_block();
    }
    read_back();
    ck_assert_uint_eq(summary.work_count + summary.without_launch, 0);
    ck_assert_uint_eq(all_work(), UINT64_C(7) * id);
    expect_credit(16, 0, 700);
    expect_credit(4000, 3000 * 7, 3000 * 7);
}
END_TEST

/* What a range called that is in no total is credited to nobody; those below it keep theirs. */
START_TEST(a_gap_takes_the_calls_of_what_was_open)
{
    begin_block(1, 0);
    put(TP_EVENT_API_BEGIN, 16, 0);
    put(TP_EVENT_CUDA_CALL, 1, 0);
    put(TP_EVENT_API_BEGIN, 17, 0);
    put(TP_EVENT_CUDA_CALL, 2, 0);
    put(TP_EVENT_API_END, 0, 0);
    put(TP_EVENT_API_BEGIN, 16, 0);
    end_block();
    begin_block(1, 100);
    put(TP_EVENT_API_BEGIN, 18, 0);
    put(TP_EVENT_API_END, 0, 0);
    put_work(1, 7);
    put_work(2, 70);
    end_block();
    read_back();
    ck_assert_uint_eq(summary.totals.missing_ranges, 2);
    expect_credit(17, 70, 70);
    ck_assert_uint_eq(all_work(), 70);
    ck_assert_uint_eq(summary.path_count, 1);
    ck_assert_uint_eq(summary.calls[0].path, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        nothing_is_an_empty_summary,
        more_names_than_rows_are_in_one_row,
        sketches_have_as_many_as_their_row,
        deeper_than_there_is_room_is_counted,
        more_tracks_than_there_is_room_for_are_missing,
        tracks_come_and_go,
        halves_come_and_go,
        more_halves_than_there_is_room_for_are_missing,
        a_gap_ends_what_was_open,
        work_goes_where_its_call_was_made,
        open_ranges_keep_what_they_have,
        a_million_calls_wait_for_their_work,
        more_calls_than_can_wait_are_counted,
        more_work_than_can_wait_is_counted,
        more_paths_than_there_is_room_for,
        paths_come_and_go,
        a_gap_takes_the_calls_of_what_was_open,
    };

    return unit_run("fold", setup, teardown, tests, UNIT_COUNT(tests));
}
