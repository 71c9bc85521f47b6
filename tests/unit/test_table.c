/* SPDX-License-Identifier: MIT
 * What the golden tables do not reach: odd names, tiny widths, our answers where the reference
 * fails. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* Line @number of a text, without its end; freed with the next call. */
static const char *line_of(const char *text, int number)
{
    static char line[70000];

    while (number--)
        text = strchr(text, '\n') + 1;
    size_t size = strcspn(text, "\n");
    ck_assert_uint_lt(size, sizeof(line));
    memcpy(line, text, size);
    line[size] = '\0';
    return line;
}

static int line_count(const char *text)
{
    int count = 0;

    for (; (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

START_TEST(an_empty_list_prints_nothing)
{
    ASSERT_PRINTS("[]", "", "averages", "--header=x");
    ASSERT_PRINTS("[]", "", "events");
    ASSERT_PRINTS("[]", "", "tree");
}
END_TEST

START_TEST(control_characters_do_not_break_lines)
{
    struct outcome o =
        OUTCOME("[" EV(1, "a\\nb\\u001b[31m", 0, 1, ",'stack':['x\\ny','z']") "]", "events");

    ck_assert_int_eq(o.result, 0);
    ck_assert_int_eq(line_count(o.text), 8);
    ck_assert_ptr_nonnull(strstr(line_of(o.text, 3), "a\\nb\\x1b[31m "));
    ck_assert_ptr_nonnull(strstr(line_of(o.text, 3), "  x\\ny"));
    ck_assert_ptr_null(strchr(o.text, '\x1b'));
    outcome_fini(&o);
}
END_TEST

START_TEST(names_of_ten_thousand_bytes_are_whole_without_a_limit)
{
    static char json[12000], name[10001];

    memset(name, 'n', 10000);
    sprintf(json, "[{'id':1,'name':'%s','start_us':0,'end_us':1}]", name);
    struct outcome o = OUTCOME(json, "averages", "--max-name-column-width=none");
    ck_assert_ptr_nonnull(strstr(o.text, name));
    ck_assert_uint_eq(strlen(line_of(o.text, 0)), 10004 + 2 + 6 * 14);
    outcome_fini(&o);
    o = OUTCOME(json, "averages");
    ck_assert_uint_eq(strlen(line_of(o.text, 3)), 55 + 2 + 6 * 14);
    outcome_fini(&o);
}
END_TEST

START_TEST(tiny_widths_cut_like_slices)
{
    static const struct {
        const char *option, *start;
    } cases[] = {
        {"--max-name-column-width=1", "abcdef...  "},
        {"--max-name-column-width=2", "abcdefg...  "},
        {"--max-name-column-width=3", "...  "},
        {"--max-name-column-width=4", "a...  "},
        {"--max-name-column-width=11", "abcdefgh...  "},
        {"--max-name-column-width=12", "    abcdefgh  "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o =
            OUTCOME("[" EV(1, "abcdefgh", 0, 1, "") "]", "averages", cases[i].option);
        ck_assert_int_eq(strncmp(line_of(o.text, 3), cases[i].start, strlen(cases[i].start)), 0);
        outcome_fini(&o);
    }
}
END_TEST

START_TEST(tiny_source_widths_keep_the_end)
{
    static const struct {
        const char *option, *end;
    } cases[] = {
        {"--max-src-column-width=1", "  h  "},
        {"--max-src-column-width=3", "  fgh  "},
        {"--max-src-column-width=4", "  ...h  "},
        {"--max-src-column-width=7", "  ...efgh  "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o =
            OUTCOME("[" EV(1, "n", 0, 1, ",'stack':['abcdefgh']") "]", "events", cases[i].option);
        const char *line = line_of(o.text, 3), *end = cases[i].end;
        ck_assert_str_eq(line + strlen(line) - strlen(end), end);
        outcome_fini(&o);
    }
}
END_TEST

START_TEST(a_share_of_nothing_is_nan)
{
    struct outcome o = OUTCOME(
        "[" EV(1, "a", 0, 10,
               ",'use_device':'cuda','kernels':[{'name':'k','device':0,'duration':5.0}]") "]",
        "averages");

    ck_assert_int_eq(o.result, 0);
    ck_assert_ptr_nonnull(strstr(o.text, " NaN  "));
    outcome_fini(&o);
}
END_TEST

START_TEST(hpu_rows_count_as_device_rows)
{
    struct outcome o =
        OUTCOME("[" EV(1, "k", 0, 10, ",'use_device':'hpu','device_type':'HPU'") "]", "events");

    ck_assert_ptr_nonnull(strstr(o.text, "Self HPU time total: 10.000us\n"));
    ck_assert_ptr_nonnull(strstr(o.text, "100.00%"));
    outcome_fini(&o);
}
END_TEST

START_TEST(the_device_is_found_wherever_it_is_named)
{
    const char *unnamed = "'events':[" EV(1, "a", 0, 1, "") "," EV(
        2, "k", 2, 3, ",'use_device':'xpu','device_type':'XPU'") "]}";
    char json[512];

    sprintf(json, "{%s", unnamed);
    struct outcome o = OUTCOME(json, "events");
    ck_assert_ptr_nonnull(strstr(o.text, "Self XPU time total"));
    outcome_fini(&o);
    sprintf(json, "{'list':{'use_device':'cuda'},%s", unnamed);
    o = OUTCOME(json, "events");
    ck_assert_ptr_nonnull(strstr(o.text, "Self CUDA time total"));
    outcome_fini(&o);
}
END_TEST

START_TEST(none_is_printed_where_the_reference_prints_it)
{
    struct outcome o = OUTCOME(
        "[" EV(1, "a", 0, 1, ",'input_shapes':null,'overload_name':null,'flops':null") "," EV(
            2, "b", 2, 3, ",'input_shapes':[[1]],'overload_name':'out','flops':2000") "]",
        "events");

    ck_assert_ptr_nonnull(strstr(line_of(o.text, 3), " None  "));
    ck_assert_ptr_null(strstr(line_of(o.text, 4), "None"));
    outcome_fini(&o);
}
END_TEST

START_TEST(a_total_is_one_value_per_line)
{
    struct outcome o =
        OUTCOME("[" EV(1, "a", 0.0, 1290.0, ",'cpu_memory_usage':2048") "]", "total");

    ck_assert_ptr_nonnull(strstr(o.text, "self_cpu_time_total       1290.0 us  1.290ms\n"));
    ck_assert_ptr_nonnull(strstr(o.text, "cpu_memory_usage          2048 B  2.00 KB\n"));
    ck_assert_ptr_nonnull(strstr(o.text, "count                     1\n"));
    outcome_fini(&o);
}
END_TEST

START_TEST(time_stays_linear_in_the_rows)
{
    enum { ROWS = 200000 };
    struct tp_buffer json = {0};

    for (int i = 0; i < ROWS; i++)
        tp_buffer_format(&json, "%s{'id':1,'name':'n%d','start_us':%d,'end_us':%d}", i ? "," : "[",
                         i % 5000, i, i + 1);
    tp_buffer_bytes(&json, "]", 2);
    struct outcome o =
        OUTCOME(json.bytes, "events", "--sort-by=cpu_time_total", "--row-limit=none");
    ck_assert_int_eq(line_count(o.text), ROWS + 5);
    outcome_fini(&o);
    tp_buffer_fini(&json);
}
END_TEST

RUN_TESTS("table", an_empty_list_prints_nothing, control_characters_do_not_break_lines,
          names_of_ten_thousand_bytes_are_whole_without_a_limit, tiny_widths_cut_like_slices,
          tiny_source_widths_keep_the_end, a_share_of_nothing_is_nan, hpu_rows_count_as_device_rows,
          the_device_is_found_wherever_it_is_named, none_is_printed_where_the_reference_prints_it,
          a_total_is_one_value_per_line, time_stays_linear_in_the_rows)
