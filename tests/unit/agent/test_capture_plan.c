/* SPDX-License-Identifier: MIT */
#include "capture_plan.h"

#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "host.h"

static const char *said(void (*put)(const void *, struct tp_text *), const void *value)
{
    static char buffer[512];
    struct tp_text text;

    tp_text_init(&text, buffer, sizeof(buffer));
    put(value, &text);
    return buffer;
}

static void put_by(const void *value, struct tp_text *text)
{
    tp_capture_by_text(value, text);
}

static void put_time(const void *value, struct tp_text *text)
{
    tp_time_text(*(const uint64_t *)value, text);
}

static void put_schedule(const void *value, struct tp_text *text)
{
    tp_schedule_text(value, text);
}

START_TEST(windows_are_read_and_said)
{
    static const char *const same[] = {"always",      "range:a b:c*", "cuda-profiler-api",
                                       "signal:USR1", "signal:USR2",  "signal:RTMIN+0"};
    static const char *const wrong[] = {
        "",           "Always",      "range",          "range:",
        "signal:",    "signal:HUP",  "signal:usr1",    "signal:USR3",
        "signal:-10", "signal:010x", "signal:RTMIN-1", "signal:RTMAX+1",
        "cuda"};
    struct tp_capture_by_what what = {.by = 77};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!tp_capture_by_parse(wrong[i], &what), "%s", wrong[i]);
    ck_assert_uint_eq(what.by, 77);
    for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        ck_assert_msg(tp_capture_by_parse(same[i], &what), "%s", same[i]);
        ck_assert_str_eq(said(put_by, &what), same[i]);
    }
    char longest[TP_CAPTURE_NAME_MAX + 6] = "range:";
    memset(longest + 6, 'x', TP_CAPTURE_NAME_MAX - 1);
    ck_assert(tp_capture_by_parse(longest, &what));
    ck_assert_str_eq(said(put_by, &what), longest);
}
END_TEST

START_TEST(signals_have_names_and_numbers)
{
    ck_assert_int_eq(tp_capture_signal_parse("SIGUSR1"), SIGUSR1);
    ck_assert_int_eq(tp_capture_signal_parse("12"), SIGUSR2);
    ck_assert_int_eq(tp_capture_signal_parse("RTMIN"), SIGRTMIN);
    ck_assert_int_eq(tp_capture_signal_parse("SIGRTMIN+2"), SIGRTMIN + 2);
    ck_assert_int_eq(tp_capture_signal_parse("RTMAX-0"), SIGRTMAX);
    ck_assert_int_eq(tp_capture_signal_parse("RTMAX-64"), 0);
    for (int i = 0; i < SIGRTMIN; i++) { /* 32 and 33 are libc's own */
        char number[4] = {(char)('0' + i / 10), (char)('0' + i % 10)};
        int wanted = i == SIGUSR1 || i == SIGUSR2 ? i : 0;
        ck_assert_int_eq(tp_capture_signal_parse(number), wanted);
    }
}
END_TEST

START_TEST(times_have_units)
{
    static const struct {
        const char *text, *said;
        uint64_t ns;
    } times[] = {{"0", "0s", 0},
                 {"10", "10s", 10000000000u},
                 {"1500ms", "1500ms", 1500000000},
                 {"90s", "90s", 90000000000u},
                 {"120s", "2m", 120000000000u},
                 {"7us", "7us", 7000},
                 {"48h", "48h", 172800000000000u},
                 {"9223372036s", "9223372036s", 9223372036000000000u}};
    static const char *const wrong[] = {"",     "s",    "1 s",  "-1s", "1.5s",
                                        "1min", "10ns", "0x1s", "1S",  "9223372037s"};
    uint64_t ns = 5;

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!tp_time_parse(wrong[i], &ns), "%s", wrong[i]);
    ck_assert_uint_eq(ns, 5);
    for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        ck_assert_msg(tp_time_parse(times[i].text, &ns), "%s", times[i].text);
        ck_assert_uint_eq(ns, times[i].ns);
        ck_assert_str_eq(said(put_time, &ns), times[i].said);
    }
}
END_TEST

/* Which of the first 16 steps are recorded, as bits. */
static unsigned active(const char *text)
{
    struct tp_schedule schedule;
    unsigned bits = 0;

    ck_assert_msg(tp_schedule_parse(text, &schedule), "%s", text);
    for (uint32_t i = 0; i < 16; i++)
        bits |= (unsigned)tp_schedule_is_active(&schedule, i) << i;
    return bits;
}

START_TEST(schedules_are_those_of_torch)
{
    static const char *const wrong[] = {
        "1",      "1,1",    "1,1,0", "1,1,1,",         ",1,1,1", "1,1,1,1,1,1",
        "1, 1,1", "1,-1,1", "a",     "1,1,1000000001", "1;1;1"};
    struct tp_schedule schedule = {.active = 3};

    ck_assert_uint_eq(active("1,1,2"), 0xcccc);
    ck_assert_uint_eq(active("1,1,2,0"), 0xcccc);
    ck_assert_uint_eq(active("1,1,2,1"), 0x000c);
    ck_assert_uint_eq(active("1,1,2,2"), 0x00cc);
    ck_assert_uint_eq(active("0,0,1"), 0xffff);
    ck_assert_uint_eq(active("0,2,1,0,3"), 0x4920);
    ck_assert_uint_eq(active("1000000000,1000000000,1000000000,1000000000,0"), 0);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!tp_schedule_parse(wrong[i], &schedule), "%s", wrong[i]);
    ck_assert_uint_eq(schedule.active, 3);
    ck_assert(tp_schedule_parse("1,2,3,4,5", &schedule));
    ck_assert_str_eq(said(put_schedule, &schedule), "1,2,3,4,5");
    ck_assert(tp_schedule_parse("", &schedule));
    ck_assert_str_eq(said(put_schedule, &schedule), "");
}
END_TEST

START_TEST(names_match_whole_or_by_their_beginning)
{
    struct tp_capture_by_what what;

    ck_assert(tp_capture_by_parse("range:ab", &what));
    ck_assert(tp_capture_name_matches(&what, "abc", 2));
    ck_assert(!tp_capture_name_matches(&what, "abc", 3));
    ck_assert(!tp_capture_name_matches(&what, "abc", 1));
    ck_assert(tp_capture_by_parse("range:ab*", &what));
    ck_assert(tp_capture_name_matches(&what, "abc", 3));
    ck_assert(tp_capture_name_matches(&what, "ab", 2));
    ck_assert(!tp_capture_name_matches(&what, "ab", 1));
    ck_assert(tp_capture_by_parse("range:*", &what));
    ck_assert(tp_capture_name_matches(&what, "", 0));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("capture_plan");

    tcase_add_test(tests, windows_are_read_and_said);
    tcase_add_test(tests, signals_have_names_and_numbers);
    tcase_add_test(tests, times_have_units);
    tcase_add_test(tests, schedules_are_those_of_torch);
    tcase_add_test(tests, names_match_whole_or_by_their_beginning);
    return host_run(tests, "capture_plan");
}
