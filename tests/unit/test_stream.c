/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/stream.h"

/*
 * Small records as text: a token is a record, 10 ticks (1 tick = 1 ns) after the one before it.
 *   (a operator a begins    ) operator ends        <a NVTX push  > pop
 *   [a ITT begins           ] ITT ends             {a API begins } API ends
 *   !7 seven records were lost                     @a async begin  $ async end
 *   *64 changes the allocated bytes by 64 from here on; no record and no time
 *   /64 the same for freed bytes                   | a gap of 100 ticks; what follows up to ; is
 * open behind it, each with the ticks of its begin, as in (a30 Capital names are filtered.
 */
struct machine {
    struct tp_stream stream;
    struct tp_clock clock;
    struct tp_stream_names names;
    struct tp_stream_name meanings[26 * 2];
    const struct tp_stream_name *by_id[128];
    uint64_t allocated, freed, ticks;
    char out[64][128];
    size_t out_count, point_count;
};

static const char *const how_marks[] = {"", "?", "!"};

static int note_range(void *context, const struct tp_stream_range *range)
{
    struct machine *m = context;
    char memory[64] = "";

    if (range->memory_bytes || range->self_memory_bytes)
        snprintf(memory, sizeof(memory), " mem %lld/%lld", (long long)range->memory_bytes,
                 (long long)range->self_memory_bytes);
    ck_assert_uint_lt(m->out_count, 64);
    snprintf(m->out[m->out_count++], sizeof(m->out[0]), "%03lld-%lld %c%s self %lld%s",
             (long long)range->start_ns, (long long)range->end_ns, (char)range->name->name,
             how_marks[range->how], (long long)range->self_ns, memory);
    return 0;
}

static int note_point(void *context, const uint64_t *record, int64_t ns, uint64_t sequence)
{
    struct machine *m = context;

    (void)record;
    (void)ns;
    (void)sequence;
    m->point_count++;
    return 0;
}

static const struct tp_stream_name *unknown_name(void *context, uint32_t id)
{
    static const struct tp_stream_name unknown = {.name = '?'};

    (void)context;
    (void)id;
    return &unknown;
}

static void machine_init(struct machine *m, bool fold)
{
    struct tp_clock_pair pair = {.ticks = 0, .monotonic_ns = 0};

    memset(m, 0, sizeof(*m));
    ck_assert_int_eq(tp_clock_fit(&m->clock, &pair, 1, 0, 1e9), 0);
    for (unsigned c = 0; c < 26; c++) {
        m->meanings[c] = (struct tp_stream_name){.name = 'a' + c};
        m->meanings[26 + c] = (struct tp_stream_name){.name = 'A' + c, .filtered = 1};
        m->by_id['a' + c] = &m->meanings[c];
        m->by_id['A' + c] = &m->meanings[26 + c];
    }
    m->names = (struct tp_stream_names){
        .plain = m->by_id, .nvtx = m->by_id, .count = 128, .unknown = unknown_name};
    struct tp_stream_config config = {
        .clock = &m->clock,
        .names = &m->names,
        .fold = fold,
        .context = m,
        .range = note_range,
        .point = note_point,
    };
    tp_stream_init(&m->stream, &config, 0);
}

static void machine_fini(struct machine *m)
{
    tp_stream_fini(&m->stream);
    tp_clock_fini(&m->clock);
}

static unsigned kind_of(char c)
{
    switch (c) {
    case '(':
        return TP_EVENT_OP_BEGIN;
    case ')':
        return TP_EVENT_OP_END;
    case '<':
        return TP_EVENT_NVTX_PUSH;
    case '>':
        return TP_EVENT_NVTX_POP;
    case '[':
        return TP_EVENT_ITT_BEGIN;
    case ']':
        return TP_EVENT_ITT_END;
    case '{':
        return TP_EVENT_API_BEGIN;
    case '}':
        return TP_EVENT_API_END;
    case '@':
        return TP_EVENT_ASYNC_BEGIN;
    case '$':
        return TP_EVENT_ASYNC_END;
    case '!':
        return TP_EVENT_LOST;
    }
    ck_abort_msg("no record: %c", c);
}

static size_t make_record(const struct machine *m, const char *token, uint64_t ticks,
                          uint64_t *slot)
{
    unsigned kind = kind_of(*token);
    unsigned slots = tp_kind_slots(kind);

    memset(slot, 0, slots * TP_SLOT_BYTES);
    slot[0] = (uint64_t)kind << 56 | ticks;
    slot[1] = (unsigned char)token[1];
    slot[2] = m->allocated;
    slot[3] = m->freed;
    if (kind == TP_EVENT_LOST)
        slot[4] = strtoull(token + 1, NULL, 10);
    return slots;
}

/* "(a30 <b50" : a began at 30, b at 50. */
static void restart(struct machine *m, char *open)
{
    uint64_t slots[64 * TP_SLOT_WORDS];
    size_t count = 0;
    char *rest;

    for (char *t = strtok_r(open, " ", &rest); t; t = strtok_r(NULL, " ", &rest)) {
        struct machine then = *m;
        then.allocated = then.freed = 0;
        count += make_record(&then, t, strtoull(t + 2, NULL, 10), slots + count * TP_SLOT_WORDS);
    }
    ck_assert_int_eq(tp_stream_restart(&m->stream, slots, count, m->ticks), 0);
}

static void feed(struct machine *m, const char *text)
{
    char copy[512];
    char *at = copy;

    snprintf(copy, sizeof(copy), "%s", text);
    while (*at) {
        uint64_t slot[2 * TP_SLOT_WORDS];
        size_t length = strcspn(at, " ");
        char next = at[length];
        if (*at == '|') {
            char *end = strchr(at, ';');
            *end = '\0';
            m->ticks += 100;
            restart(m, at + 1);
            at = end + 1 + (end[1] == ' ');
            continue;
        }
        at[length] = '\0';
        if (*at == '*') {
            m->allocated += strtoull(at + 1, NULL, 10);
        } else if (*at == '/') {
            m->freed += strtoull(at + 1, NULL, 10);
        } else {
            size_t slots = make_record(m, at, m->ticks, slot);
            ck_assert_int_eq(tp_stream_feed(&m->stream, slot, slots), 0);
            m->ticks += 10;
        }
        at += length + (next == ' ');
    }
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void expect(struct machine *m, const char *expected)
{
    char got[4096] = "";

    qsort(m->out, m->out_count, sizeof(m->out[0]), compare_lines);
    for (size_t i = 0; i < m->out_count; i++) {
        if (i)
            strcat(got, "; ");
        strcat(got, m->out[i]);
    }
    ck_assert_str_eq(got, expected);
}

struct stream_case {
    const char *claim, *records, *expected;
    uint64_t finish; /* 0: not finished */
};

static const struct stream_case folded_cases[] = {
    {"one range", "(a )", "000-10 a self 10", 0},
    {"children take their time out of self", "(a (b ) (c ) )",
     "000-50 a self 30; 010-20 b self 10; 030-40 c self 10", 0},
    {"classes nest in each other", "<n (a [i ] ) >",
     "000-50 n self 20; 010-40 a self 20; 020-30 i self 10", 0},
    {"a crossing range belongs to neither", "<n (a > )", "000-20 n self 20; 010-30 a self 20", 0},
    {"a crossing range belongs to what encloses both", "{p <n (a > ) }",
     "000-50 p self 10; 010-30 n self 20; 020-40 a self 20", 0},
    {"a child of a crossing range stays its child", "<n (a [i ] > )",
     "000-40 n self 40; 010-50 a self 30; 020-30 i self 10", 0},
    {"Y lies in X that overlaps P", "<p (x [y ] > )",
     "000-40 p self 40; 010-50 x self 30; 020-30 y self 10", 0},
    {"an only child of the same name is merged", "(a (a (b ) ) )",
     "000-50 a self 40; 020-30 b self 10", 0},
    {"a chain of one name collapses", "(a (a (a ) ) )", "000-50 a self 50", 0},
    {"one of two children of the same name stays", "(a (a ) (b ) )",
     "000-50 a self 30; 010-20 a self 10; 030-40 b self 10", 0},
    {"the second child frees the first", "(a (a ) (a ) )",
     "000-50 a self 30; 010-20 a self 10; 030-40 a self 10", 0},
    {"another name first, then the same one", "(a (b ) (a ) )",
     "000-50 a self 30; 010-20 b self 10; 030-40 a self 10", 0},
    {"merged children bring their children", "(a (a (b ) (c ) ) )",
     "000-70 a self 50; 020-30 b self 10; 040-50 c self 10", 0},
    {"merging crosses classes", "<a (a ) >", "000-30 a self 30", 0},
    {"grandchildren fold after their parent did", "(a (a (c (c ) ) ) )",
     "000-70 a self 40; 020-50 c self 30", 0},
    {"a filtered range is not there", "(a (B (c ) ) )", "000-50 a self 40; 020-30 c self 10", 0},
    {"a filtered range does not count as a child", "(a (B (a ) ) )", "000-50 a self 50", 0},
    {"an end without begin is passed over", ") (a > )", "010-30 a self 20", 0},
    {"memory is what the thread allocated and freed", "(a *100 (b *30 /10 ) /50 )",
     "000-30 a self 20 mem 70/50; 010-20 b self 10 mem 20/20", 0},
    {"memory of merged children stays in the parent", "(a *8 (a *30 (b *2 ) ) )",
     "000-50 a self 40 mem 40/38; 020-30 b self 10 mem 2/2", 0},
    {"freed more than allocated", "(a /64 )", "000-10 a self 10 mem -64/-64", 0},
    {"unfinished ranges end with the process", "(a (b ) (c",
     "000-500 a? self 20; 010-20 b self 10; 030-500 c? self 470", 500},
    {"unfinished ranges of two classes nest", "<n (a", "000-500 n? self 10; 010-500 a? self 490",
     500},
    {"unfinished ranges fold as others", "(a (a", "000-500 a? self 500", 500},
    {"the process's last record is never before the track's own", "(a (b ) (c",
     "000-30 a? self 20; 010-20 b self 10; 030-30 c? self 0", 5},
    {"an unfinished filtered range is not there", "(B (a (C", "010-500 a? self 490", 500},
    {"lost records leave the nesting alone", "(a !9 (b ) )", "000-40 a self 30; 020-30 b self 10",
     0},
    {"a range open across a gap keeps its begin", "(a (b |(a0 ; (c ) )",
     "000-140 a self 130; 010-10 b! self 0; 120-130 c self 10", 0},
    {"a range begun in a gap keeps its begin", "(a |(a0 (b50 ; ) )",
     "000-120 a self 60; 050-110 b self 60", 0},
    {"nothing is open behind the gap", "(a <n |; (b )",
     "000-10 a! self 10; 010-10 n! self 0; 120-130 b self 10", 0},
    {"a begin of another time is another range", "(a |(a50 ; )",
     "000-0 a! self 0; 050-110 a self 60", 0},
    {"filtered ranges go through a gap", "(a (B |(a0 (B10 ; (c ) ) )",
     "000-150 a self 140; 120-130 c self 10", 0},
    {"classes are matched one by one", "<n (a |<n0 ; (b ) >",
     "000-140 n self 130; 010-10 a! self 0; 120-130 b self 10", 0},
    {"a recording that begins in the middle", "|(a3 (b5 ; ) )",
     "003-110 a self 12; 005-100 b self 95", 0},
};

START_TEST(records_become_ranges)
{
    const struct stream_case *c = &folded_cases[_i];
    struct machine m;

    machine_init(&m, true);
    feed(&m, c->records);
    if (c->finish)
        ck_assert_int_eq(tp_stream_finish(&m.stream, c->finish), 0);
    expect(&m, c->expected);
    machine_fini(&m);
}
END_TEST

START_TEST(without_folding_all_ranges_come_out)
{
    struct machine m;

    machine_init(&m, false);
    feed(&m, "(a (a (a ) ) )");
    expect(&m, "000-50 a self 20; 010-40 a self 20; 020-30 a self 10");
    ck_assert_uint_eq(m.stream.counts.folded, 0);
    machine_fini(&m);
}
END_TEST

START_TEST(everything_odd_is_counted)
{
    struct machine m;

    machine_init(&m, true);
    feed(&m, ") > !7 (a (B ) (a !5 ) ) (c |; (d @x $ (e");
    ck_assert_int_eq(tp_stream_finish(&m.stream, 1000), 0);
    const struct tp_stream_counts *counts = &m.stream.counts;
    ck_assert_uint_eq(counts->ends_without_begin, 2);
    ck_assert_uint_eq(counts->lost_records, 12);
    ck_assert_uint_eq(counts->filtered, 1);
    ck_assert_uint_eq(counts->folded, 1);
    ck_assert_uint_eq(counts->cut_by_gap, 1);
    ck_assert_uint_eq(counts->unfinished, 2);
    ck_assert_uint_eq(counts->ranges, 4);
    ck_assert_uint_eq(counts->kinds[TP_EVENT_OP_BEGIN], 6);
    ck_assert_uint_eq(counts->kinds[TP_EVENT_LOST], 2);
    ck_assert_uint_eq(m.point_count, 2);
    struct tp_stream_counts sum = *counts;
    tp_stream_add_counts(&sum, counts);
    ck_assert_uint_eq(sum.ranges, 8);
    ck_assert_uint_eq(sum.kinds[TP_EVENT_OP_BEGIN], 12);
    machine_fini(&m);
}
END_TEST

START_TEST(depth_has_a_limit_and_ends_still_pair)
{
    struct machine m;
    uint64_t slot[2 * TP_SLOT_WORDS];

    machine_init(&m, true);
    feed(&m, "(a <n");
    for (unsigned i = 0; i < TP_STREAM_DEPTH_MAX; i++) {
        size_t slots = make_record(&m, "[i", m.ticks++, slot);
        ck_assert_int_eq(tp_stream_feed(&m.stream, slot, slots), 0);
    }
    ck_assert_uint_eq(m.stream.counts.too_deep, 2);
    feed(&m, "> <m > [j ] ] ]"); /* j lies in one that was left out, and is left out as well */
    ck_assert_uint_eq(m.stream.counts.too_deep, 3);
    ck_assert_uint_eq(m.out_count, 2);
    ck_assert_uint_eq(m.stream.depth, TP_STREAM_DEPTH_MAX - 1);
    feed(&m, "]");
    ck_assert_uint_eq(m.out_count, 2);
    ck_assert_uint_eq(m.stream.depth, TP_STREAM_DEPTH_MAX - 2);
    machine_fini(&m);
}
END_TEST

START_TEST(times_wrap_at_56_bits)
{
    struct machine m;
    uint64_t slot[2 * TP_SLOT_WORDS], start = TP_TICKS_MASK - 4;

    machine_init(&m, true);
    m.stream.ticks = start;
    tp_stream_feed(&m.stream, slot, make_record(&m, "(a", start, slot));
    tp_stream_feed(&m.stream, slot, make_record(&m, ")", (start + 10) & TP_TICKS_MASK, slot));
    char text[64];
    snprintf(text, sizeof(text), "%llu-%llu a self 10", (unsigned long long)start,
             (unsigned long long)start + 10);
    expect(&m, text);
    machine_fini(&m);
}
END_TEST

START_TEST(damaged_records_are_refused)
{
    struct machine m;
    uint64_t slots[2 * TP_SLOT_WORDS] = {(uint64_t)255 << 56};

    machine_init(&m, true);
    ck_assert_int_eq(tp_stream_feed(&m.stream, slots, 1), -TP_ECORRUPT);
    slots[0] = 0;
    ck_assert_int_eq(tp_stream_feed(&m.stream, slots, 1), -TP_ECORRUPT);
    slots[0] = (uint64_t)TP_EVENT_OP_BEGIN << 56;
    ck_assert_int_eq(tp_stream_feed(&m.stream, slots, 1), -TP_ECORRUPT);
    ck_assert_int_eq(tp_stream_restart(&m.stream, slots, 1, 0), -TP_ECORRUPT);
    slots[0] = (uint64_t)TP_EVENT_OP_END << 56;
    ck_assert_int_eq(tp_stream_restart(&m.stream, slots, 1, 0), -TP_ECORRUPT);
    ck_assert_uint_eq(m.out_count, 0);
    machine_fini(&m);
}
END_TEST

START_TEST(begin_records_fit_a_frame)
{
    for (unsigned k = 0; k < TP_EVENT_KIND_END; k++) {
        if (tp_kinds[k].role == TP_ROLE_BEGIN)
            ck_assert_uint_le(tp_kinds[k].slots * TP_SLOT_WORDS, TP_STREAM_WORDS);
    }
}
END_TEST

START_TEST(device_memory_belongs_to_the_open_ranges)
{
    struct machine m;
    uint64_t memory[2 * TP_SLOT_WORDS] = {
        (uint64_t)TP_EVENT_MEMORY << 56 | 15, 1, 0, 0, 0x1000, 512};

    machine_init(&m, true);
    feed(&m, "(a (b");
    ck_assert_int_eq(tp_stream_feed(&m.stream, memory, 2), 0);
    memory[1] = 0; /* the host's: counted elsewhere */
    ck_assert_int_eq(tp_stream_feed(&m.stream, memory, 2), 0);
    ck_assert_int_eq(m.stream.device_bytes, 512);
    feed(&m, ") )");
    ck_assert_uint_eq(m.point_count, 0);
    memory[1] = 1;
    ck_assert_int_eq(tp_stream_feed(&m.stream, memory, 2), 0);
    ck_assert_uint_eq(m.point_count, 1);
    machine_fini(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream");
    TCase *tcase = tcase_create("stream");

    tcase_add_loop_test(tcase, records_become_ranges, 0,
                        sizeof(folded_cases) / sizeof(folded_cases[0]));
    tcase_add_test(tcase, without_folding_all_ranges_come_out);
    tcase_add_test(tcase, everything_odd_is_counted);
    tcase_add_test(tcase, depth_has_a_limit_and_ends_still_pair);
    tcase_add_test(tcase, times_wrap_at_56_bits);
    tcase_add_test(tcase, damaged_records_are_refused);
    tcase_add_test(tcase, begin_records_fit_a_frame);
    tcase_add_test(tcase, device_memory_belongs_to_the_open_ranges);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
