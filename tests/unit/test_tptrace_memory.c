/* SPDX-License-Identifier: MIT
 * Single allocations of whole recordings, the brief records of rings above all. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "input/tptrace.h"
#include "input/tptrace_recover.h"
#include "input/tptrace_run.h"
#include "read_recording.h"
#include "view/view.h"

struct profiling {
    struct tp_alloc_profile profile;
    struct tp_strings strings;
    struct tp_stacks stacks;
    struct tp_buffer notes, recording;
    bool cut;
};

static struct recording rec;
static struct recording_track track;

/* On this host, where a process that is gone can be recovered. */
static void begin(void)
{
    static struct utsname names;
    static char path[512];
    const struct recording_options options = {.run_dir = path,
                                              .host = names.nodename,
                                              .pid = 11,
                                              .start_ns = 1700000000000000000,
                                              .counts_memory = true};

    uname(&names);
    snprintf(path, sizeof(path), "%s/run", recording_folder);
    recording_begin(&rec, &options);
    recording_clock(&rec, 0);
    recording_clock(&rec, 1000000000);
    name_letters(&rec);
    track_begin(&track, &rec, 1, 101);
}

static void alloc(uint64_t ticks, uint64_t address, uint64_t bytes)
{
    track_put_alloc(&track, TP_EVENT_ALLOC, ticks, address, bytes);
}

static void brief_alloc(uint64_t address, uint64_t bytes)
{
    track_put_alloc(&track, TP_EVENT_ALLOC_BRIEF, 0, address, bytes);
}

static void brief_free(uint64_t address, uint64_t bytes)
{
    track_put_alloc(&track, TP_EVENT_FREE_BRIEF, 0, address, bytes);
}

static void read_again(struct profiling *p)
{
    struct tp_diag diag;
    char path[512];

    memset(p, 0, sizeof(*p));
    snprintf(path, sizeof(path), "%s/run", recording_folder);
    ck_assert_int_eq(tp_strings_init(&p->strings), 0);
    ck_assert_int_eq(tp_stacks_init(&p->stacks), 0);
    tp_alloc_profile_init(&p->profile);
    ck_assert_int_eq(tptrace_memory(path, &everything, &(struct tptrace_frames_wanted){0},
                                    &p->profile, &p->strings, &p->stacks, &p->notes, &p->recording,
                                    &p->cut, &diag),
                     0);
}

/* The process was killed, and this is what there is to see. */
static void read_profile(struct profiling *p)
{
    recording_end(&rec, NULL);
    track_end(&track);
    read_again(p);
}

static void close_profile(struct profiling *p)
{
    tp_alloc_profile_fini(&p->profile);
    tp_stacks_fini(&p->stacks);
    tp_strings_fini(&p->strings);
    tp_buffer_fini(&p->notes);
    tp_buffer_fini(&p->recording);
}

/* "allocations/bytes, frees/bytes, live blocks/bytes; unknown unseen untimed" */
static void put_total(const struct profiling *p, char *got, size_t size)
{
    const struct tp_alloc_sums *s = &p->profile.total;

    snprintf(got, size, "%.0f/%.0f, %.0f/%.0f, %.0f/%.0f; %llu %llu %llu", s->allocations,
             s->allocated_bytes, s->frees, s->freed_bytes, s->live_blocks, s->live_bytes,
             (unsigned long long)p->profile.unknown_frees,
             (unsigned long long)p->profile.unseen_frees, (unsigned long long)p->profile.untimed);
}

static void expect_total(const struct profiling *p, const char *expected)
{
    char got[256];

    put_total(p, got, sizeof(got));
    ck_assert_str_eq(got, expected);
}

/* What the counters of the only thread say. */
static void expect_counters(const struct profiling *p, uint64_t calls, uint64_t bytes, int64_t net)
{
    const struct tp_alloc_counters *c = &p->profile.threads.items[0];

    ck_assert_uint_eq(p->profile.threads.count, 1);
    ck_assert_uint_eq(c->allocations, calls);
    ck_assert_uint_eq(c->allocated_bytes, bytes);
    ck_assert_int_eq(c->net_bytes, net);
}

/* Nothing but where they lie changes when a ring's records become blocks. */
static void expect_same_recovered(const struct profiling *p)
{
    const struct tp_alloc_counters *c = &p->profile.threads.items[0];
    struct tp_buffer out = {0};
    struct profiling again;
    struct tp_diag diag;
    bool partial;
    char path[512], total[256];

    put_total(p, total, sizeof(total));
    snprintf(path, sizeof(path), "%s/run", recording_folder);
    ck_assert_int_eq(tptrace_recover(path, &everything, &out, &partial, &diag), 0);
    ck_assert(!partial);
    read_again(&again);
    ck_assert(strstr(out.bytes, " now 0"));
    expect_total(&again, total);
    expect_counters(&again, c->allocations, c->allocated_bytes, c->net_bytes);
    ck_assert_int_eq(again.profile.peak_ns, p->profile.peak_ns);
    ck_assert_int_eq(again.cut, p->cut);
    close_profile(&again);
    tp_buffer_fini(&out);
}

static void expect_checked(const char *expected)
{
    struct tp_buffer out = {0};
    struct tp_diag diag;
    char path[512];
    bool cut;

    snprintf(path, sizeof(path), "%s/run", recording_folder);
    ck_assert_int_eq(tptrace_check(path, &everything, &out, &cut, &diag), 0);
    ck_assert_msg(strstr(out.bytes, expected) != NULL, "%s", out.bytes);
    tp_buffer_fini(&out);
}

START_TEST(brief_records_go_on_from_the_block_before)
{
    struct profiling p;

    begin();
    put_records(&track, 0, "(a");
    alloc(1000, 0x1000, 64);
    track_flush(&track);
    brief_alloc(0x2000, 32);
    brief_free(0x1000, 64);
    alloc(5000, 0x3000, 16);
    brief_free(0x3000, 16);
    track_leave_in_ring(&track, 2);
    read_profile(&p);
    expect_total(&p, "3/112, 2/80, 1/32; 0 0 1");
    expect_counters(&p, 3, 112, 32);
    ck_assert_uint_eq(p.profile.count, 1); /* all of them in range a, which is open */
    ck_assert_str_eq(tp_strings_get(&p.strings, p.profile.sites[0].range)->bytes, "a");
    ck_assert_int_eq(p.profile.peak_ns, 1000);
    ck_assert(!p.cut);
    expect_same_recovered(&p);
    expect_checked(": whole\n");
    close_profile(&p);
}
END_TEST

START_TEST(a_ring_alone_tells_what_was_before)
{
    struct profiling p;

    begin();
    track.allocated = 1000;
    track.alloc_calls = 7;
    brief_alloc(0x2000, 32);
    brief_free(0x2000, 32);
    alloc(5000, 0x3000, 16);
    brief_alloc(0x4000, 8);
    track_leave_in_ring(&track, 0);
    read_profile(&p);
    expect_total(&p, "3/56, 1/32, 2/24; 0 0 2");
    expect_counters(&p, 10, 1056, 1024);
    ck_assert_int_eq(p.profile.peak_ns, 5000); /* the only time there is */
    ck_assert(!p.cut);
    expect_same_recovered(&p);
    expect_checked(": whole\n");
    close_profile(&p);
}
END_TEST

/* Two allocations, of which the second is in no block. */
static void lose_second(void)
{
    alloc(1000, 0x1000, 64);
    track_flush(&track);
    alloc(2000, 0x2000, 100);
    track_lose(&track);
}

START_TEST(behind_a_gap_counters_are_those_of_the_ring)
{
    struct profiling p;

    begin();
    lose_second();
    brief_alloc(0x3000, 8);
    put_records(&track, 7000, "<a >");
    track_leave_in_ring(&track, 0);
    read_profile(&p);
    expect_total(&p, "2/72, 0/0, 2/72; 0 0 1");
    expect_counters(&p, 3, 172, 172);
    ck_assert_int_eq(p.profile.ranges.items[0].allocated_bytes, 0);
    ck_assert_int_eq(p.profile.peak_ns, 7000);
    ck_assert(p.cut);
    expect_same_recovered(&p);
    close_profile(&p);
}
END_TEST

START_TEST(what_tells_no_counters_goes_on_from_those_before_the_gap)
{
    struct profiling p;

    begin();
    lose_second();
    brief_alloc(0x3000, 8);
    brief_free(0x1000, 64);
    track_leave_in_ring(&track, 0);
    read_profile(&p);
    expect_total(&p, "2/72, 1/64, 1/8; 0 0 1");
    expect_counters(&p, 2, 72, 8);
    ck_assert(p.cut);
    expect_same_recovered(&p);
    close_profile(&p);
}
END_TEST

START_TEST(brief_records_of_blocks_count_as_in_their_ring)
{
    struct recording_track then;
    struct profiling p;

    begin();
    alloc(1000, 0x1000, 64);
    then = track;
    then.slots = NULL;
    brief_alloc(0x2000, 32);
    brief_free(0x1000, 64);
    track_flush(&track);
    brief_alloc(0x3000, 8);
    track_leave_in_ring(&track, 3);
    /* and once more, as no writer does: two slots that a block has already */
    track.first_slot = 2;
    track.before[2] = track.allocated = then.allocated;
    track.before[3] = track.freed = then.freed;
    track.alloc_calls = then.alloc_calls;
    track.before[1] = (uint64_t)then.alloc_calls << 32;
    brief_alloc(0x2000, 32);
    brief_free(0x1000, 64);
    brief_alloc(0x3000, 8);
    brief_alloc(0x4000, 4);
    track_flush(&track);
    read_profile(&p);
    expect_total(&p, "4/108, 1/64, 3/44; 0 0 3");
    expect_counters(&p, 4, 108, 44);
    close_profile(&p);
}
END_TEST

/* The ring's first record that has a time is later than the free, the allocation is not. */
START_TEST(a_ring_begins_when_its_block_ended)
{
    struct recording_track other;
    struct profiling p;

    begin();
    alloc(1000, 0x1000, 64);
    track_flush(&track);
    brief_alloc(0x2000, 32);
    alloc(9000, 0x3000, 8);
    track_leave_in_ring(&track, 0);
    track_begin(&other, &rec, 2, 102);
    track_put_alloc(&other, TP_EVENT_FREE, 5000, 0x2000, 32);
    track_leave_in_ring(&other, 0);
    track_end(&other);
    read_profile(&p);
    expect_total(&p, "3/104, 1/32, 2/72; 0 0 1");
    close_profile(&p);
}
END_TEST

static int put_counters(void *context, const struct tptrace_source *source, const uint64_t *record,
                        uint64_t ticks, const struct tp_stream *stream)
{
    char *got = context;
    size_t n = strlen(got);

    (void)source;
    (void)stream;
    snprintf(got + n, 256 - n, "%llu %llu %llu-%llu; ", (unsigned long long)ticks,
             (unsigned long long)(record[1] >> 32), (unsigned long long)record[2],
             (unsigned long long)record[3]);
    return 0;
}

START_TEST(whole_records_bear_their_counters)
{
    char got[256] = "", path[512];
    const struct tptrace_consumer consumer = {.context = got, .alloc = put_counters};
    const struct tptrace_run_options how = {.selection = &everything, .in_time = true};
    struct tptrace_run run;
    struct tp_strings strings;
    struct tp_diag diag;

    begin();
    track.allocated = 1000;
    track.freed = 500;
    track.alloc_calls = 7;
    brief_alloc(0x2000, 32);
    brief_free(0x2000, 32);
    alloc(5000, 0x3000, 16);
    brief_alloc(0x4000, 8);
    track_leave_in_ring(&track, 0);
    recording_end(&rec, NULL);
    track_end(&track);
    snprintf(path, sizeof(path), "%s/run", recording_folder);
    ck_assert_int_eq(tp_strings_init(&strings), 0);
    ck_assert_int_eq(tptrace_run_open(&run, path, &everything, &diag), 0);
    ck_assert_int_eq(tptrace_run_read(&run, &how, &strings, &consumer, &diag), 0);
    ck_assert_str_eq(got, "5000 8 1032-500; 5000 8 1032-532; 5000 9 1048-532; 5000 10 1056-532; ");
    tptrace_run_close(&run);
    tp_strings_fini(&strings);
}
END_TEST

/* Behind what makes no record nothing is read, as ever. */
START_TEST(unknown_kinds_end_a_ring)
{
    struct profiling p;

    begin();
    alloc(1000, 0x1000, 64);
    brief_alloc(0x2000, 32);
    brief_alloc(0x3000, 32);
    track.slots[3 * TP_SLOT_WORDS] = UINT64_C(250) << 56;
    track_leave_in_ring(&track, 0);
    read_profile(&p);
    expect_total(&p, "2/96, 0/0, 2/96; 0 0 1");
    ck_assert(p.cut);
    close_profile(&p);
}
END_TEST

/* What a view of the profile is, as far as @size. */
static void write_view(const struct profiling *p, tp_view_write *write, char *text, size_t size)
{
    const struct tp_view_options options = {.row_limit = -1};
    struct tp_alloc_report rows;
    const struct tp_report report = {
        .strings = &p->strings, .stacks = &p->stacks, .recording = &p->recording, .memory = &rows};
    struct tp_output output;
    struct tp_diag diag;
    char path[512];

    snprintf(path, sizeof(path), "%s/view", recording_folder);
    ck_assert_int_eq(tp_alloc_report_init(&rows, &p->profile, TP_ALLOC_PEAK_BYTES), 0);
    ck_assert_int_eq(tp_output_open(&output, path, &diag), 0);
    ck_assert_int_eq(write(&report, &options, &output, &diag), 0);
    ck_assert_int_eq(tp_output_close(&output, true, &diag), 0);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    tp_alloc_report_fini(&rows);
}

START_TEST(views_say_how_many_have_no_time)
{
    struct profiling p;
    char text[4096];

    begin();
    alloc(1000, 0x1000, 64);
    brief_alloc(0x2000, 32);
    brief_free(0x2000, 32);
    track_leave_in_ring(&track, 0);
    read_profile(&p);
    write_view(&p, tp_memory_write_text, text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    ck_assert_str_eq(text, "recorded    every allocation, 2 of them; 1 has no time of its own and "
                           "counts as at its thread's record before");
    write_view(&p, tp_memory_write_json, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "\"records\": 2, \"untimed\": 1, \"period_bytes\": 0"));
    close_profile(&p);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {brief_records_go_on_from_the_block_before,
                                  a_ring_alone_tells_what_was_before,
                                  behind_a_gap_counters_are_those_of_the_ring,
                                  what_tells_no_counters_goes_on_from_those_before_the_gap,
                                  brief_records_of_blocks_count_as_in_their_ring,
                                  a_ring_begins_when_its_block_ended,
                                  whole_records_bear_their_counters,
                                  unknown_kinds_end_a_ring,
                                  views_say_how_many_have_no_time};

    return unit_run("tptrace_memory", recording_setup, recording_teardown, tests,
                    UNIT_COUNT(tests));
}
