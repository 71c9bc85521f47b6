/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "columns.h"
#include "completion.h"

START_TEST(scripts_name_every_option_command_and_sort_key)
{
    static const char *const shells[] = {"bash", "zsh"};
    struct tp_diag diag;

    for (int i = 0; i < 2; i++) {
        struct tp_buffer out = {0};
        struct tp_option_text option;
        ck_assert_int_eq(tp_completion_write(&out, shells[i], &diag), 0);
        tp_buffer_char(&out, '\0');
        for (int n = 0; tp_option_text(n, &option); n++) {
            char word[64];
            snprintf(word, sizeof(word), "--%s", option.name);
            ck_assert_msg((strstr(out.bytes, word) != NULL) == (option.help != NULL), "%s", word);
        }
        for (int n = 0; n < TP_COMMANDS; n++)
            ck_assert_ptr_nonnull(strstr(out.bytes, tp_command_name((enum tp_command_id)n)));
        for (int n = 0; n < TP_COLUMNS; n++)
            ck_assert(!tp_column_is_sortable(n, true) || strstr(out.bytes, tp_column_get(n)->name));
        tp_buffer_fini(&out);
    }
}
END_TEST

START_TEST(other_shells_are_refused)
{
    struct tp_buffer out = {0};
    struct tp_diag diag;

    ck_assert_int_eq(tp_completion_write(&out, "csh", &diag), -TP_EUNSUPPORTED);
    ck_assert_str_eq(diag.text, "--print-completion: found 'csh', expected bash or zsh");
}
END_TEST

RUN_TESTS("completion", scripts_name_every_option_command_and_sort_key, other_shells_are_refused)
