/* SPDX-License-Identifier: MIT
 * tpreport(1) keeps up with the tables: every option, command, column and format is in it. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

/* The page without the escapes of '-'. */
static char *read_manual(void)
{
    FILE *file = fopen(TP_MANUAL, "r");
    char *text = calloc(1, 1 << 18);

    ck_assert_ptr_nonnull(file);
    size_t size = fread(text, 1, (1 << 18) - 1, file), used = 0;
    fclose(file);
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\\' || text[i + 1] != '-')
            text[used++] = text[i];
    }
    text[used] = '\0';
    return text;
}

START_TEST(every_option_is_explained)
{
    char *text = read_manual();

#define TP_OPTION(field, name, letter, kind, commands, value, help)                                \
    ck_assert_msg((help) == NULL || strstr(text, "--" name) != NULL, name);
#include "options.def"
#undef TP_OPTION
    free(text);
}
END_TEST

START_TEST(every_command_is_explained)
{
    char *text = read_manual();

#define TP_COMMAND(id, name, function, subject, help)                                              \
    ck_assert_msg(strstr(text, "\n.B " name "\n") != NULL, name);
#include "commands.def"
#undef TP_COMMAND
    free(text);
}
END_TEST

START_TEST(every_column_is_explained)
{
    char *text = read_manual();

#define TP_COLUMN(id, name, heading, unit, where, value, help)                                     \
    ck_assert_msg(strstr(text, "\n\\fB" name "\\fR\t") != NULL, name);
#include "columns.def"
#undef TP_COLUMN
    free(text);
}
END_TEST

START_TEST(every_column_and_format_of_kernels_is_explained)
{
    char *text = read_manual();

#define TP_KERNEL_COLUMN(id, name, heading, unit, value, help)                                     \
    ck_assert_msg(strstr(text, "\n\\fB" name "\\fR\t") != NULL, name);
#include "kernel_columns.def"
#undef TP_KERNEL_COLUMN
#define TP_PROFILER(id, name, help) ck_assert_msg(strstr(text, "\n.B " name "\n") != NULL, name);
#include "model/profilers.def"
#undef TP_PROFILER
    ck_assert_ptr_nonnull(strstr(text, "\n.B nsys-kernels\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n.B nsys-api\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n.B ascend-kernel_details\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n.B ascend-operator_details\n"));
    free(text);
}
END_TEST

RUN_TESTS("manual", every_option_is_explained, every_command_is_explained,
          every_column_is_explained, every_column_and_format_of_kernels_is_explained)
