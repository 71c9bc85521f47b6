/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/tptrace_json.h"
#include "input/tptrace_meta.h"

#define START                                                                                      \
    "{\"t\":\"start\",\"format\":[1,0],\"uuid\":\"00112233445566778899aabbccddeeff\",\"pid\":7,"   \
    "\"ppid\":1,\"start_ns\":5,\"host\":\"h\"}\n"

static void parse(struct tptrace_meta *meta, const char *text)
{
    ck_assert_int_eq(tptrace_meta_parse(meta, text, strlen(text), NULL), 0);
}

START_TEST(cuda_lines_become_fields)
{
    struct tptrace_meta meta;

    parse(&meta,
          START "{\"t\":\"cuda\",\"mode\":\"hooks\",\"why\":\"held\"}\n"
                "{\"t\":\"cuda\",\"mode\":\"cupti\",\"library\":\"/l\",\"api\":130001,"
                "\"clock\":\"ticks\",\"graphs\":\"node\"}\n"
                "{\"t\":\"cuda_clock\",\"ticks\":7,\"cupti_ns\":8,\"width\":2}\n"
                "{\"t\":\"cuda_clock\",\"ticks\":7}\n"
                "{\"t\":\"cuda_device\",\"device\":1,\"name\":\"old\"}\n"
                "{\"t\":\"cuda_device\",\"device\":1,\"name\":\"X\",\"memory\":5,\"sms\":132,"
                "\"capability\":[9,0]}\n"
                "{\"t\":\"cuda_context\",\"context\":3,\"device\":1,\"null_stream\":7}\n"
                "{\"t\":\"cuda_stream\",\"context\":3,\"stream\":13,\"priority\":-1}\n"
                "{\"t\":\"cuda_name\",\"object\":\"stream\",\"context\":3,\"id\":13,"
                "\"name\":\"copies\"}\n"
                "{\"t\":\"cuda_lost\",\"dropped\":4,\"unknown\":{\"99\":2,\"98\":3}}\n"
                "{\"t\":\"cuda_lost\",\"dropped\":5,\"no_room\":1,\"unknown\":{\"99\":2,"
                "\"98\":4},\"until\":77}\n");
    ck_assert_uint_eq(meta.unknown_lines, 0);
    ck_assert_uint_eq(meta.damaged_lines, 1);
    ck_assert(tptrace_cuda_is(&meta.cuda, "cupti"));
    ck_assert_ptr_null(meta.cuda.why);
    ck_assert_str_eq(meta.cuda.library, "/l");
    ck_assert_uint_eq(meta.cuda.api, 130001);
    ck_assert_uint_eq(meta.cuda.pair_count, 1);
    ck_assert_uint_eq(meta.cuda.pairs[0].cupti_ns, 8);
    ck_assert_uint_eq(meta.cuda.device_count, 1);
    ck_assert_str_eq(tptrace_cuda_find_device(&meta.cuda, 1)->name, "X");
    ck_assert_uint_eq(meta.cuda.devices[0].major, 9);
    ck_assert_ptr_null(tptrace_cuda_find_device(&meta.cuda, 0));
    ck_assert_uint_eq(meta.cuda.contexts[0].null_stream, 7);
    ck_assert_int_eq(meta.cuda.streams[0].priority, -1);
    ck_assert_str_eq(meta.cuda.names[0].name, "copies");
    ck_assert_uint_eq(meta.cuda.dropped, 5);
    ck_assert_uint_eq(meta.cuda.no_room, 1);
    ck_assert_uint_eq(meta.cuda.unknown, 6);
    ck_assert_uint_eq(meta.cuda.until, 77);
    tptrace_meta_fini(&meta);
}
END_TEST

START_TEST(lines_become_fields)
{
    struct tptrace_meta meta;

    parse(&meta,
          START "{\"t\":\"dist\",\"rank\":3,\"local_rank\":1,\"world_size\":8,\"job\":\"42\","
                "\"from\":{\"rank\":\"RANK\"}}\n"
                "{\"t\":\"clock\",\"ticks\":18446744073709551615,\"monotonic_ns\":10,\"realtime_"
                "ns\":20,\"width\":3}\n"
                "{\"t\":\"track\",\"track\":2,\"tid\":102,\"name\":\"b\"}\n"
                "{\"t\":\"track\",\"track\":1,\"tid\":101,\"name\":\"a\"}\n"
                "{\"t\":\"track\",\"track\":2,\"tid\":102,\"name\":\"renamed\"}\n"
                "{\"t\":\"source\",\"name\":\"cuda\",\"state\":\"failed\",\"why\":\"none here\"}\n"
                "{\"t\":\"source\",\"name\":\"nvtx\",\"state\":\"off\",\"why\":\"asked\"}\n"
                "{\"t\":\"source\",\"name\":\"nvtx\",\"state\":\"started\"}\n"
                "{\"t\":\"note\",\"text\":\"rings are not safe\"}\n"
                "{\"t\":\"drop\",\"track\":1,\"count\":9,\"reason\":\"x\"}\n"
                "{\"t\":\"evict\",\"segment\":1,\"first_ticks\":5,\"last_ticks\":6,\"blocks\":2,"
                "\"slots\":{\"1\":[0,9]}}\n"
                "{\"t\":\"end\",\"reason\":\"exit\",\"ticks\":77,\"tracks\":[{\"track\":2,"
                "\"slots\":5,\"dropped\":1},{\"track\":1,\"slots\":4}]}\n");
    ck_assert_uint_eq(meta.pid, 7);
    ck_assert_uint_eq(meta.uuid[15], 0xff);
    ck_assert_str_eq(meta.host, "h");
    ck_assert_int_eq(meta.rank, 3);
    ck_assert_str_eq(meta.job, "42");
    ck_assert_uint_eq(meta.pair_count, 1);
    ck_assert(meta.pairs[0].ticks == UINT64_MAX);
    ck_assert_uint_eq(meta.track_count, 2);
    ck_assert_str_eq(tptrace_meta_find_track(&meta, 2)->name, "renamed");
    ck_assert_uint_eq(tptrace_meta_find_track(&meta, 1)->tid, 101);
    ck_assert_ptr_null(tptrace_meta_find_track(&meta, 3));
    ck_assert_uint_eq(meta.source_count, 2);
    ck_assert_str_eq(meta.sources[1].state, "started");
    ck_assert_ptr_null(meta.sources[1].why);
    ck_assert_uint_eq(meta.note_count, 1);
    ck_assert_uint_eq(meta.drops[0].count, 9);
    ck_assert_uint_eq(meta.evictions[0].blocks, 2);
    ck_assert(meta.ended);
    ck_assert_uint_eq(meta.end_ticks, 77);
    ck_assert_uint_eq(tptrace_meta_find_total(&meta, 2)->dropped, 1);
    ck_assert_uint_eq(meta.damaged_lines, 0);
    ck_assert(!meta.torn);
    tptrace_meta_fini(&meta);
}
END_TEST

START_TEST(torn_last_line_is_ignored)
{
    struct tptrace_meta meta;

    parse(&meta, START "{\"t\":\"end\",\"reason\":\"exit\"}");
    ck_assert(meta.torn);
    ck_assert(!meta.ended);
    ck_assert_uint_eq(meta.damaged_lines, 0);
    tptrace_meta_fini(&meta);
}
END_TEST

START_TEST(what_is_unknown_is_ignored)
{
    struct tptrace_meta meta;

    parse(&meta, START "{\"t\":\"telepathy\",\"x\":[1]}\n{\"t\":\"schema\",\"kinds\":[]}\n\n");
    ck_assert_uint_eq(meta.unknown_lines, 1);
    ck_assert_uint_eq(meta.damaged_lines, 0);
    ck_assert_uint_eq(meta.lines, 4);
    tptrace_meta_fini(&meta);
}
END_TEST

static const char *const damaged[] = {
    "{\"t\":\"clock\"",
    "nonsense",
    "[1]",
    "{}",
    "{\"t\":5}",
    "{\"t\":\"clock\",\"ticks\":1,\"monotonic_ns\":-1,\"realtime_ns\":0}",
    "{\"t\":\"clock\",\"ticks\":99999999999999999999999,\"monotonic_ns\":1,\"realtime_ns\":0}",
    "{\"t\":\"clock\",\"ticks\":1.5,\"monotonic_ns\":1,\"realtime_ns\":0}",
    "{\"t\":\"clock\",\"ticks\":1,\"monotonic_ns\":1,\"realtime_ns\":9223372036854775807}",
    "{\"t\":\"track\",\"track\":\"x\"}",
    "{\"t\":\"note\"}",
    "{\"t\":\"note\",\"text\":\"a\"} trailing",
    "/* \" */ [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    ("{\"t\":\"note\",\"text\":\"a\",\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]"
     "]"
     "]]]]]]]]]]]]]]]"
     "]]]]}"),
};

START_TEST(damaged_lines_are_counted_and_passed_over)
{
    char text[1024];
    struct tptrace_meta meta;

    snprintf(text, sizeof(text), START "%s\n{\"t\":\"end\",\"reason\":\"exit\"}\n", damaged[_i]);
    parse(&meta, text);
    ck_assert_uint_eq(meta.damaged_lines, 1);
    ck_assert_uint_eq(meta.first_damaged, 2);
    ck_assert_uint_eq(meta.first_damaged_at, strlen(START));
    ck_assert(meta.ended);
    tptrace_meta_fini(&meta);
}
END_TEST

START_TEST(endless_lines_are_damage)
{
    size_t size = TPTRACE_META_LINE_MAX + 100;
    char *text = malloc(size + 200);
    struct tptrace_meta meta;

    memset(text, ' ', size);
    strcpy(text + size, "{}\n{\"t\":\"end\",\"reason\":\"exit\"}\n");
    parse(&meta, text);
    ck_assert_uint_eq(meta.damaged_lines, 1);
    ck_assert(meta.ended);
    tptrace_meta_fini(&meta);
    free(text);
}
END_TEST

START_TEST(newer_majors_are_refused)
{
    struct tptrace_meta meta;
    struct tp_diag diag;
    const char *text = "{\"t\":\"start\",\"format\":[2,3],\"pid\":7}\n";

    ck_assert_int_eq(tptrace_meta_parse(&meta, text, strlen(text), &diag), -TP_EVERSION);
    ck_assert_str_eq(diag.text, "format version 2.3, this reader knows 1.x");
    tptrace_meta_fini(&meta);
}
END_TEST

START_TEST(missing_memory_is_an_error_at_any_place)
{
    struct tptrace_meta meta;
    struct tp_diag diag;
    int error;

    for (unsigned i = 1;; i++) {
        const char *text = START
            "{\"t\":\"track\",\"track\":2,\"tid\":102,\"name\":\"b\"}\n"
            "{\"t\":\"source\",\"name\":\"cuda\",\"state\":\"failed\",\"why\":\"none here\"}\n"
            "{\"t\":\"note\",\"text\":\"n\"}\n";
        unit_fail_allocation(i);
        error = tptrace_meta_parse(&meta, text, strlen(text), &diag);
        unit_fail_allocation(0);
        ck_assert(!error || error == -ENOMEM);
        tptrace_meta_fini(&meta);
        if (!error)
            break;
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        cuda_lines_become_fields,
        lines_become_fields,
        torn_last_line_is_ignored,
        what_is_unknown_is_ignored,
        endless_lines_are_damage,
        newer_majors_are_refused,
        missing_memory_is_an_error_at_any_place,
    };
    Suite *suite = suite_create("tptrace_meta");
    TCase *tcase = tcase_create("meta");
    for (size_t i = 0; i < UNIT_COUNT(tests); i++)
        tcase_add_test(tcase, tests[i]);
    tcase_add_loop_test(tcase, damaged_lines_are_counted_and_passed_over, 0, UNIT_COUNT(damaged));
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
