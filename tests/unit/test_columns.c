/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "columns.h"

START_TEST(device_aliases_name_the_same_column)
{
    static const struct {
        const char *name;
        enum tp_column_id id;
    } cases[] = {
        {"self_cuda_time_total", TP_COLUMN_SELF_DEVICE_TIME},
        {"xpu_time", TP_COLUMN_DEVICE_TIME},
        {"cuda_memory_usage", TP_COLUMN_DEVICE_MEMORY},
        {"self_privateuse1_memory_usage", TP_COLUMN_SELF_DEVICE_MEMORY},
        {"cpu_time_total", TP_COLUMN_CPU_TIME_TOTAL},
        {"key", TP_COLUMN_KEY},
        {"count", TP_COLUMN_COUNT},
    };
    struct tp_diag diag;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_int_eq(tp_column_find(cases[i].name, false, &diag), (int)cases[i].id);
}
END_TEST

START_TEST(an_unknown_key_is_told_as_the_reference_does)
{
    struct tp_diag diag;

    ck_assert_int_eq(tp_column_find("self_cuda_time_totl", false, &diag), -TP_ENOTFOUND);
    static const char told[] =
        "'FunctionEventAvg' object has no attribute 'self_device_time_totl'; sort keys, the "
        "nearest first: self_device_time_total device_time_total ";
    ck_assert(!strncmp(diag.text, told, sizeof(told) - 1));
    ck_assert_int_eq(tp_column_find("nonsense", true, &diag), -TP_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(diag.text, "'FunctionEvent' object has no attribute 'nonsense'"));
}
END_TEST

START_TEST(an_unknown_key_gets_the_list_of_those_that_are)
{
    struct tp_diag diag;

    for (int events = 0; events < 2; events++) {
        tp_column_find("privateuse1_nonsense_of_some_length", events, &diag);
        for (int i = 0; i < TP_COLUMNS; i++) {
            if (tp_column_get(i)->unit == TP_UNIT_FLAG)
                continue;
            const char *at = strstr(diag.text, " first:");
            ck_assert_ptr_nonnull(at);
            char word[64];
            snprintf(word, sizeof(word), " %s", tp_column_get(i)->name);
            bool listed = false;
            for (; (at = strstr(at, word)); at++)
                listed |= at[strlen(word)] == ' ' || !at[strlen(word)];
            ck_assert_msg(!at && listed == tp_column_is_sortable(i, events), "%s", word);
        }
    }
}
END_TEST

START_TEST(event_columns_are_for_events_and_lists_have_no_order)
{
    struct tp_diag diag;

    ck_assert_int_eq(tp_column_find("start_us", true, &diag), TP_COLUMN_START);
    ck_assert_int_eq(tp_column_find("start_us", false, &diag), -TP_ENOTFOUND);
    ck_assert_int_eq(tp_column_find("stack", false, &diag), -TP_ETYPE);
}
END_TEST

START_TEST(a_key_of_any_length_is_refused_safely)
{
    char name[2000];
    struct tp_diag diag;

    for (size_t i = 0; i + 4 < sizeof(name); i += 4)
        memcpy(name + i, "cuda", 5);
    ck_assert_int_eq(tp_column_find(name, false, &diag), -TP_ENOTFOUND);
}
END_TEST

START_TEST(every_column_has_its_words)
{
    for (int i = 0; i < TP_COLUMNS; i++) {
        const struct tp_column *column = tp_column_get(i);
        ck_assert(*column->name && *column->heading && *column->help);
        for (int other = 0; other < i; other++)
            ck_assert_str_ne(column->name, tp_column_get(other)->name);
    }
}
END_TEST

static void assert_order(const char *json, const char *key, const char *expected)
{
    struct fixture f;
    struct tp_report report;
    struct tp_average scratch;
    char order[16] = "";

    fixture_load(&f, json);
    ck_assert_int_eq(tp_report_init_events(&report, &f.list), 0);
    ck_assert_int_eq(tp_column_sort(&report, tp_column_find(key, true, NULL)), 0);
    for (size_t i = 0; i < report.count; i++)
        strncat(order, tp_strings_get(&f.strings, tp_report_row(&report, i, &scratch)->key)->bytes,
                1);
    ck_assert_str_eq(order, expected);
    tp_report_fini(&report);
    fixture_fini(&f);
}

START_TEST(sorting_is_descending_and_stable)
{
    const char *json = "[" EV(1, "a", 0, 5, ",'node_id':1") "," EV(2, "b", 10, 19, "") "," EV(
        3, "c", 20, 25.0, "") "," EV(4, "d", 30, 35, ",'node_id':1") "]";

    assert_order(json, "cpu_time_total", "bacd");
    assert_order(json, "node_id", "adbc");
    assert_order(json, "name", "dcba");
    assert_order(json, "is_async", "abcd");
}
END_TEST

START_TEST(none_sorts_last)
{
    assert_order("[" EV(1, "a", 0, 5, ",'trace_name':null") "," EV(2, "b", 10, 19, "") "," EV(
                     3, "c", 20, 25, ",'flops':null") "]",
                 "trace_name", "cba");
}
END_TEST

RUN_TESTS("columns", device_aliases_name_the_same_column,
          an_unknown_key_is_told_as_the_reference_does,
          an_unknown_key_gets_the_list_of_those_that_are,
          event_columns_are_for_events_and_lists_have_no_order,
          a_key_of_any_length_is_refused_safely, every_column_has_its_words,
          sorting_is_descending_and_stable, none_sorts_last)
