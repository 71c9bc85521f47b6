/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>

#include "model/alloc_profile.h"

static struct tp_alloc_profile profile;

static void begin(void)
{
    tp_alloc_profile_init(&profile);
}

static void end(void)
{
    tp_alloc_profile_fini(&profile);
}

/* Thread 0, range 7, unless said otherwise. */
static void take(uint64_t address, uint64_t bytes, uint32_t stack)
{
    const struct tp_alloc_event event = {.address = address,
                                         .bytes = bytes,
                                         .ns = profile.process_records * 1000,
                                         .range = 7,
                                         .stack = stack,
                                         .thread = 3,
                                         .is_selected = true};

    ck_assert_int_eq(tp_alloc_profile_allocated(&profile, &event, 0), 0);
}

static void give_at(uint64_t address, int64_t ns, uint32_t thread)
{
    const struct tp_alloc_event event = {.address = address, .ns = ns};

    ck_assert_int_eq(tp_alloc_profile_freed(&profile, &event, thread), 0);
}

static void give(uint64_t address)
{
    give_at(address, profile.process_records * 1000, 0);
}

static void finish(void)
{
    ck_assert_int_eq(tp_alloc_profile_end_process(&profile, profile.process_records * 1000), 0);
}

static const struct tp_alloc_sums *row_of(const struct tp_alloc_report *report,
                                          enum tp_alloc_group group, uint32_t key)
{
    for (size_t i = 0; i < report->row_count[group]; i++) {
        if (report->rows[group][i].key == key)
            return &report->rows[group][i].sums;
    }
    ck_abort_msg("no row of key %u", key);
    return NULL;
}

static void expect(double found, double expected, const char *what)
{
    ck_assert_msg(fabs(found - expected) < 1e-6 * (1 + fabs(expected)), "%s: %f, expected %f", what,
                  found, expected);
}

START_TEST(rows_say_what_was_live_at_the_peak)
{
    begin();
    struct tp_alloc_report report;

    take(0x100, 100, 1);
    take(0x200, 50, 2);
    give(0x100); /* 50 live */
    take(0x300, 80, 2);
    take(0x400, 30, 1); /* 160: the peak */
    give(0x200);
    take(0x500, 20, 3); /* 130 */
    finish();
    ck_assert_int_eq(tp_alloc_report_init(&report, &profile, TP_ALLOC_PEAK_BYTES), 0);
    expect(profile.peak_bytes, 160, "peak");
    expect(row_of(&report, TP_ALLOC_BY_STACK, 1)->peak_bytes, 30, "stack 1 at the peak");
    expect(row_of(&report, TP_ALLOC_BY_STACK, 2)->peak_bytes, 130, "stack 2 at the peak");
    expect(row_of(&report, TP_ALLOC_BY_STACK, 3)->peak_bytes, 0, "stack 3 at the peak");
    expect(row_of(&report, TP_ALLOC_BY_RANGE, 7)->peak_bytes, 160, "the range at the peak");
    expect(row_of(&report, TP_ALLOC_BY_STACK, 2)->live_bytes, 80, "stack 2 at the end");
    expect(row_of(&report, TP_ALLOC_BY_THREAD, 3)->live_blocks, 3, "blocks at the end");
    ck_assert_uint_eq(report.rows[TP_ALLOC_BY_STACK][0].key, 2);
    ck_assert_int_eq(profile.peak_ns, 3000);
    tp_alloc_report_fini(&report);
    end();
}
END_TEST

START_TEST(temporary_is_what_nothing_comes_between)
{
    begin();
    take(0x100, 10, 1);
    give(0x100); /* temporary */
    take(0x100, 10, 1);
    take(0x200, 10, 1);
    give(0x200); /* temporary */
    give(0x100); /* not: another allocation came between */
    take(0x300, 10, 1);
    give_at(0x300, 0, 1); /* not: by another thread */
    finish();
    expect(profile.total.temporary, 2, "temporary");
    expect(profile.total.frees, 4, "frees");
    end();
}
END_TEST

START_TEST(what_is_not_known_is_counted_apart)
{
    begin();
    give(0x100); /* from before */
    take(0x200, 10, 1);
    take(0x200, 20, 1); /* its free was lost */
    const struct tp_alloc_event unwatched = {
        .address = 0x300, .bytes = 40, .is_unwatched = true, .is_selected = true};
    ck_assert_int_eq(tp_alloc_profile_allocated(&profile, &unwatched, 0), 0);
    const struct tp_alloc_event hidden = {.address = 0x400, .bytes = 1000};
    ck_assert_int_eq(tp_alloc_profile_allocated(&profile, &hidden, 0), 0);
    give(0x400);
    finish();
    ck_assert_uint_eq(profile.unknown_frees, 1);
    ck_assert_uint_eq(profile.unseen_frees, 1);
    ck_assert_uint_eq(profile.unwatched, 1);
    expect(profile.total.allocated_bytes, 70, "allocated");
    expect(profile.total.live_bytes, 20, "live");
    expect(profile.total.freed_bytes, 10, "freed");
    end();
}
END_TEST

START_TEST(suspects_grow_in_every_quarter)
{
    begin();
    struct tp_alloc_report report;

    for (uint64_t i = 0; i < 100; i++) {
        take(0x1000 + i * 16, 16, 1); /* stays */
        take(0x9000, 16, 2);          /* goes */
        give(0x9000);
        if (i < 50)
            take(0x20000 + i * 16, 16, 3); /* stays, but only of the first part */
        if (i >= 60)
            take(0x30000 + i * 16, 16, 4); /* stays, and began late */
        if (i % 10 == 0)
            take(0x40000 + i * 16, 16, 5); /* stays, and is little */
    }
    finish();
    ck_assert_int_eq(tp_alloc_report_init(&report, &profile, TP_ALLOC_LIVE_BYTES), 0);
    ck_assert(tp_alloc_is_suspect(row_of(&report, TP_ALLOC_BY_STACK, 1)));
    ck_assert(!tp_alloc_is_suspect(row_of(&report, TP_ALLOC_BY_STACK, 2)));
    ck_assert(!tp_alloc_is_suspect(row_of(&report, TP_ALLOC_BY_STACK, 3)));
    ck_assert(tp_alloc_is_suspect(row_of(&report, TP_ALLOC_BY_STACK, 4)));
    ck_assert(!tp_alloc_is_suspect(row_of(&report, TP_ALLOC_BY_STACK, 5)));
    tp_alloc_report_fini(&report);
    end();
}
END_TEST

START_TEST(samples_stand_for_what_was_not_recorded)
{
    begin();
    const struct tp_alloc_event event = {
        .address = 0x100, .bytes = 1000, .drawn_bytes = 2000, .period = 1000, .is_selected = true};
    double weight = 1 / (1 - exp(-2));

    ck_assert_int_eq(tp_alloc_profile_allocated(&profile, &event, 0), 0);
    finish();
    expect(profile.total.allocations, weight, "allocations");
    expect(profile.total.allocated_bytes, 1000 * weight, "bytes");
    expect(profile.total.live_bytes, 1000 * weight, "live");
    expect(profile.total.bytes_variance, 1e6 * exp(-2) * weight * weight, "variance");
    expect(tp_alloc_error95(4), 3.92, "95 %");
    end();
}
END_TEST

START_TEST(processes_do_not_share_addresses)
{
    begin();
    take(0x100, 10, 1);
    finish();
    give(0x100); /* of another process */
    take(0x100, 30, 1);
    finish();
    ck_assert_uint_eq(profile.unknown_frees, 1);
    ck_assert_uint_eq(profile.unseen_frees, 0);
    expect(profile.total.live_bytes, 40, "live");
    expect(profile.peak_bytes, 40, "sum of the peaks");
    ck_assert_uint_eq(profile.processes, 2);
    end();
}
END_TEST

START_TEST(curve_keeps_the_most_of_each_stretch)
{
    begin();
    for (int64_t i = 0; i < 1000; i++) {
        const struct tp_alloc_event event = {
            .address = 0x100, .bytes = 10, .ns = i * 10000000, .is_selected = true};
        ck_assert_int_eq(tp_alloc_profile_allocated(&profile, &event, 0), 0);
        give_at(0x100, i * 10000000 + 1, 0);
    }
    ck_assert_int_eq(tp_alloc_profile_end_process(&profile, INT64_C(20000000000)), 0);
    ck_assert_uint_le(profile.curve.count, TP_ALLOC_CURVE);
    int64_t covered = (int64_t)profile.curve.count * profile.curve.width_ns;
    ck_assert_int_ge(covered, INT64_C(20000000000));
    for (size_t i = 0; i < profile.curve.count; i++) {
        int64_t from = (int64_t)i * profile.curve.width_ns;
        expect(profile.curve.most[i], from < INT64_C(10000000000) ? 10 : 0, "live");
    }
    end();
}
END_TEST

START_TEST(counters_are_summed_by_name)
{
    struct tp_alloc_counter_table table = {0};

    for (uint32_t i = 0; i < 3000; i++) {
        const struct tp_alloc_counters one = {.name = i % 1000,
                                              .calls = 1,
                                              .allocations = 2,
                                              .allocated_bytes = 3,
                                              .net_bytes = -1,
                                              .self_net_bytes = 4};
        ck_assert_int_eq(tp_alloc_count(&table, &one), 0);
    }
    ck_assert_uint_eq(table.count, 1000);
    for (size_t i = 0; i < table.count; i++) {
        ck_assert_uint_eq(table.items[i].calls, 3);
        ck_assert_uint_eq(table.items[i].allocated_bytes, 9);
        ck_assert_int_eq(table.items[i].net_bytes, -3);
    }
    free(table.items);
    tp_id_index_fini(&table.names);
}
END_TEST

START_TEST(keys_have_names)
{
    for (int i = 0; i < TP_ALLOC_KEYS; i++)
        ck_assert_int_eq((int)tp_alloc_key_find(tp_alloc_key_name((enum tp_alloc_key)i)), i);
    ck_assert_int_eq((int)tp_alloc_key_find("nonsense"), TP_ALLOC_KEYS);
}
END_TEST

RUN_TESTS("alloc_profile", rows_say_what_was_live_at_the_peak,
          temporary_is_what_nothing_comes_between, what_is_not_known_is_counted_apart,
          suspects_grow_in_every_quarter, samples_stand_for_what_was_not_recorded,
          processes_do_not_share_addresses, curve_keeps_the_most_of_each_stretch,
          counters_are_summed_by_name, keys_have_names)
