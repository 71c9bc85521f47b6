/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

START_TEST(the_first_format_of_a_subject_is_its_default)
{
    ck_assert_str_eq(tp_view_find(TP_VIEW_ROWS, NULL, NULL)->format, "text");
    ck_assert_str_eq(tp_view_find(TP_VIEW_STACKS, NULL, NULL)->format, "reference");
    ck_assert_str_eq(tp_view_find(TP_VIEW_ROWS, "csv", NULL)->format, "csv");
}
END_TEST

START_TEST(an_unknown_format_is_answered_with_the_known_ones)
{
    struct tp_diag diag;

    ck_assert_ptr_null(tp_view_find(TP_VIEW_ROWS, "xml", &diag));
    ck_assert_str_eq(diag.text, "no format 'xml' here; there is text, json, csv, repr");
}
END_TEST

START_TEST(row_limits_count_what_is_let_through)
{
    const char *json = "[" EV(1, "p", 0, 10, "") "," EV(2, "c", 1, 2, "") "," EV(
        3, "q", 20, 30, "") "," EV(4, "r", 40, 50, "") "]";
    struct outcome two =
        OUTCOME(json, "events", "--format=csv", "--top-level-events-only", "--row-limit=2");
    struct outcome none = OUTCOME(json, "events", "--format=csv", "--row-limit=0");

    ck_assert_ptr_nonnull(strstr(two.text, "\r\np,"));
    ck_assert_ptr_nonnull(strstr(two.text, "\r\nq,"));
    ck_assert_ptr_null(strstr(two.text, "\r\nc,"));
    ck_assert_ptr_null(strstr(two.text, "\r\nr,"));
    ck_assert_ptr_eq(strchr(none.text, '\n')[1] ? NULL : none.text, none.text);
    outcome_fini(&two);
    outcome_fini(&none);
}
END_TEST

START_TEST(machine_formats_have_no_default_limit)
{
    char json[32 << 10] = "[";
    int lines = 0;

    for (int i = 0; i < 150; i++)
        sprintf(json + strlen(json),
                "%s"
                "{'id':1,'name':'n%d','start_us':0,'end_us':1}",
                i ? "," : "", i);
    strcat(json, "]");
    struct outcome csv = OUTCOME(json, "events", "-f", "csv");
    for (char *p = csv.text; (p = strchr(p, '\n')); p++)
        lines++;
    ck_assert_int_eq(lines, 151);
    struct outcome text = OUTCOME(json, "events");
    lines = 0;
    for (char *p = text.text; (p = strchr(p, '\n')); p++)
        lines++;
    ck_assert_int_eq(lines, 105);
    outcome_fini(&csv);
    outcome_fini(&text);
}
END_TEST

RUN_TESTS("view", the_first_format_of_a_subject_is_its_default,
          an_unknown_format_is_answered_with_the_known_ones, row_limits_count_what_is_let_through,
          machine_formats_have_no_default_limit)
