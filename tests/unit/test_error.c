/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "unit.h"

START_TEST(every_code_has_a_name_and_a_text_of_its_own)
{
    for (int code = TP_ERROR_FIRST + 1; code < TP_ERROR_END; code++) {
        ck_assert_int_eq(strncmp(tp_error_name(-code), "TP_E", 4), 0);
        ck_assert_uint_gt(strlen(tp_error_text(-code)), 3);
        ck_assert_int_ne(tp_error_text(-code)[strlen(tp_error_text(-code)) - 1], '.');
        for (int other = TP_ERROR_FIRST + 1; other < code; other++) {
            ck_assert_str_ne(tp_error_name(-code), tp_error_name(-other));
            ck_assert_str_ne(tp_error_text(-code), tp_error_text(-other));
        }
        ck_assert_str_eq(tp_error_name(code), tp_error_name(-code));
    }
    ck_assert_str_eq(tp_error_name(-TP_EFULL), "TP_EFULL");
    ck_assert_int_eq(TP_EFULL, 4096);
}
END_TEST

START_TEST(codes_of_the_system_are_told_by_number_and_in_its_words)
{
    ck_assert_str_eq(tp_error_name(-ENOSPC), "errno 28");
    ck_assert_str_eq(tp_error_text(-ENOSPC), strerror(ENOSPC));
    ck_assert_ptr_nonnull(tp_error_text(-3000));
    ck_assert_str_eq(tp_error_name(-TP_ERROR_END), "errno 4109");
}
END_TEST

START_TEST(diag_keeps_code_place_and_text)
{
    struct tp_diag diag;
    char text[100];

    ck_assert_int_eq(tp_diag_fail(&diag, -TP_ECORRUPT, 40, "%u of %s", 3u, "four"), -TP_ECORRUPT);
    ck_assert_int_eq(diag.code, -TP_ECORRUPT);
    ck_assert_uint_eq(diag.offset, 40);
    ck_assert_int_eq(tp_diag_at(&diag, "a/b.tpt"), -TP_ECORRUPT);
    diag.block = 12;
    size_t used = tp_diag_print(&diag, text, sizeof(text));
    ck_assert_str_eq(text, "a/b.tpt: block 12 at byte 40: 3 of four");
    ck_assert_uint_eq(used, strlen(text));
}
END_TEST

START_TEST(diag_prints_what_it_knows)
{
    struct tp_diag diag;
    char text[100];

    tp_diag_fail(&diag, -TP_EFULL, TP_DIAG_NO_OFFSET, "%s", "");
    tp_diag_print(&diag, text, sizeof(text));
    ck_assert_str_eq(text, tp_error_text(-TP_EFULL));
    tp_diag_fail(&diag, -TP_EFULL, 7, "x");
    tp_diag_print(&diag, text, sizeof(text));
    ck_assert_str_eq(text, "at byte 7: x");
}
END_TEST

START_TEST(diag_is_optional)
{
    ck_assert_int_eq(tp_diag_fail(NULL, -TP_ELIMIT, 0, "%d", 1), -TP_ELIMIT);
    ck_assert_int_eq(tp_diag_at(NULL, "x"), 0);
}
END_TEST

START_TEST(long_paths_are_cut_at_their_front_and_long_texts_at_their_end)
{
    struct tp_diag diag;
    char path[600], text[2000];

    memset(path, 'd', sizeof(path));
    memcpy(path + 590, "/last.tpt", 10);
    tp_diag_fail(&diag, -TP_EFULL, 0, "%s%s", path, path);
    ck_assert_uint_eq(strlen(diag.text), sizeof(diag.text) - 1);
    tp_diag_at(&diag, path);
    ck_assert_uint_eq(strlen(diag.file), sizeof(diag.file) - 1);
    ck_assert_str_eq(diag.file + strlen(diag.file) - 9, "/last.tpt");
    for (size_t size = 1; size < sizeof(text); size += 7) {
        memset(text, 'x', sizeof(text));
        ck_assert_uint_lt(tp_diag_print(&diag, text, size), size);
        ck_assert_uint_lt(strlen(text), size);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_code_has_a_name_and_a_text_of_its_own,
        codes_of_the_system_are_told_by_number_and_in_its_words,
        diag_keeps_code_place_and_text,
        diag_prints_what_it_knows,
        diag_is_optional,
        long_paths_are_cut_at_their_front_and_long_texts_at_their_end,
    };

    return unit_run("error", NULL, NULL, tests, UNIT_COUNT(tests));
}
