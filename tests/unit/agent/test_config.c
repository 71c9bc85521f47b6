/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "host.h"
#include "sources.h"

static struct tp_config config;

static void read_one(const char *entry)
{
    char *environment[] = {(char *)entry, NULL};

    tp_config_read(&config, environment);
}

START_TEST(sizes_take_suffixes)
{
    static const struct {
        const char *entry;
        uint64_t bytes;
    } cases[] = {
        {"TPAGENT_MAX_SIZE=12345678", 12345678},
        {"TPAGENT_MAX_SIZE=2048k", 2048 << 10},
        {"TPAGENT_MAX_SIZE=2048K", 2048 << 10},
        /* below the least: the least */
        {"TPAGENT_MAX_SIZE=0", 1 << 20},
        {"TPAGENT_MAX_SIZE=1k", 1 << 20},
        {"TPAGENT_MAX_SIZE=3m", 3u << 20},
        {"TPAGENT_MAX_SIZE=5g", UINT64_C(5) << 30},
        {"TPAGENT_MAX_SIZE=2t", UINT64_C(2) << 40},
        /* not sizes: the default stands */
        {"TPAGENT_MAX_SIZE=", UINT64_C(2) << 30},
        {"TPAGENT_MAX_SIZE=g", UINT64_C(2) << 30},
        {"TPAGENT_MAX_SIZE=1gb", UINT64_C(2) << 30},
        {"TPAGENT_MAX_SIZE=-1", UINT64_C(2) << 30},
        {"TPAGENT_MAX_SIZE=99999999999999999999", UINT64_C(2) << 30},
        {"TPAGENT_MAX_SIZE=99999999999t", UINT64_C(2) << 30},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_one(cases[i].entry);
        ck_assert_msg(config.max_size == cases[i].bytes, "%s gave %llu", cases[i].entry,
                      (unsigned long long)config.max_size);
    }
}
END_TEST

START_TEST(choices_are_whole_words)
{
    read_one("TPAGENT_SHAPES=all");
    ck_assert_uint_eq(config.shapes, TP_SHAPES_ALL);
    read_one("TPAGENT_SHAPES=off");
    ck_assert_uint_eq(config.shapes, TP_SHAPES_OFF);
    read_one("TPAGENT_SHAPES=al");
    ck_assert_uint_eq(config.shapes, TP_SHAPES_ON);
    read_one("TPAGENT_WHEN_BIG=keep-first");
    ck_assert_uint_eq(config.when_big, TP_BIG_KEEP_FIRST);
}
END_TEST

START_TEST(sources_apply_left_to_right)
{
    uint32_t all = (1u << TP_SOURCE_END) - 1, malloc_bit = 1u << TP_SOURCE_MALLOC,
             process = 1u << TP_SOURCE_PROCESS;

    ck_assert_uint_eq(tp_sources_mask("none"), 0);
    ck_assert_uint_eq(tp_sources_mask("all"), all);
    ck_assert_uint_eq(tp_sources_mask("none,malloc"), malloc_bit);
    ck_assert_uint_eq(tp_sources_mask("malloc,none,process"), process);
    ck_assert_uint_eq(tp_sources_mask("all,-malloc"), all & ~malloc_bit);
    ck_assert_uint_eq(tp_sources_mask("default,-malloc,-process,malloc") & (malloc_bit | process),
                      malloc_bit);
    ck_assert_uint_eq(tp_sources_mask("nonsense"), tp_sources_mask("default"));
    ck_assert_uint_eq(tp_sources_mask(""), tp_sources_mask("default"));
}
END_TEST

START_TEST(alloc_off_takes_the_malloc_source_out)
{
    read_one("TPAGENT_ALLOC=off");
    ck_assert_uint_eq(config.source_mask >> TP_SOURCE_MALLOC & 1, 0);
}
END_TEST

START_TEST(choices_may_bear_a_size)
{
    static const struct {
        const char *entry;
        unsigned choice;
        uint64_t bytes;
    } cases[] = {
        {"TPAGENT_ALLOC=all", TP_ALLOC_ALL, 0},
        {"TPAGENT_ALLOC=sample:512k", TP_ALLOC_SAMPLE, 512 << 10},
        {"TPAGENT_ALLOC=sample:1", TP_ALLOC_SAMPLE, 1},
        {"TPAGENT_ALLOC=count+sample:64k", TP_ALLOC_COUNT_SAMPLE, 64 << 10},
        /* none of them: the default stands */
        {"TPAGENT_ALLOC=sample", TP_ALLOC_COUNT, 0},
        {"TPAGENT_ALLOC=sample:", TP_ALLOC_COUNT, 0},
        {"TPAGENT_ALLOC=sample:0", TP_ALLOC_COUNT, 0},
        {"TPAGENT_ALLOC=sample:x", TP_ALLOC_COUNT, 0},
        {"TPAGENT_ALLOC=count+sample", TP_ALLOC_COUNT, 0},
        {"TPAGENT_ALLOC=all:5", TP_ALLOC_COUNT, 0},
        {"TPAGENT_ALLOC=sample:BYTES", TP_ALLOC_COUNT, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_one(cases[i].entry);
        ck_assert_msg(config.alloc.choice == cases[i].choice &&
                          config.alloc.bytes == cases[i].bytes,
                      "%s gave %u, %llu", cases[i].entry, config.alloc.choice,
                      (unsigned long long)config.alloc.bytes);
    }
}
END_TEST

START_TEST(run_dir_means_inherited)
{
    read_one("TPAGENT_RUN_DIR=/x");
    ck_assert(config.inherited);
    read_one("TPAGENT_RUN_DIR=");
    ck_assert(!config.inherited);
}
END_TEST

START_TEST(resolved_configuration_is_json)
{
    char buffer[8192];
    struct tp_text text;

    read_one("TPAGENT_OUT=a\"b\n");
    tp_text_init(&text, buffer, sizeof(buffer));
    tp_config_json(&config, &text);
    ck_assert_ptr_nonnull(
        strstr(buffer, "{\"TPAGENT_OUT\":\"a\\\"b\\u000a\",\"TPAGENT_RUN_DIR\":\"\""));
    ck_assert_ptr_nonnull(strstr(buffer, "\"TPAGENT_WHEN_BIG\":\"keep-last\""));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("config");

    tcase_add_test(tests, sizes_take_suffixes);
    tcase_add_test(tests, choices_are_whole_words);
    tcase_add_test(tests, sources_apply_left_to_right);
    tcase_add_test(tests, alloc_off_takes_the_malloc_source_out);
    tcase_add_test(tests, choices_may_bear_a_size);
    tcase_add_test(tests, run_dir_means_inherited);
    tcase_add_test(tests, resolved_configuration_is_json);
    return host_run(tests, "config");
}
