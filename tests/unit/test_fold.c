/* SPDX-License-Identifier: MIT
 * What finds no room in the memory of the running summary is counted; blocks that are missing do no
 * harm to others. That its sums are those of tpreport is tested on whole recordings. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "fold.h"

#define OUT_BYTES (16u << 20)
#define RECORDS 8192u

static struct tp_fold *fold;
static char no_names[64] = {[12] = 64};
static _Atomic uint64_t names_used = TP_FILE_HEADER_BYTES;
static uint64_t slots[RECORDS * 2 * TP_SLOT_WORDS];
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
    };

    return unit_run("fold", setup, teardown, tests, UNIT_COUNT(tests));
}
