/* SPDX-License-Identifier: MIT
 * Texts of --help, made from the tables. */
#include "help.h"

#include <string.h>

#include "base/text.h"
#include "columns.h"
#include "kernel_columns.h"
#include "model/alloc_profile.h"
#include "view/view.h"

static const enum tp_view_subject subjects[] = {
#define TP_COMMAND(id, name, function, subject, help) TP_VIEW_##subject,
#include "commands.def"
#undef TP_COMMAND
};

/* ---- options ---- */

/* What an option's help says of the command alone: "kernels: ..." without the command. */
static const char *help_for(const char *help, const char *command)
{
    size_t length = strlen(command);

    return !strncmp(help, command, length) && !strncmp(help + length, ": ", 2) ? help + length + 2
                                                                               : help;
}

static void put_option(struct tp_buffer *out, const struct tp_option_text *option)
{
    char left[64];
    struct tp_text text;

    tp_text_init(&text, left, sizeof(left));
    if (option->letter)
        tp_text_format(&text, "  -%c, ", option->letter);
    else
        tp_text_string(&text, "      ");
    tp_text_format(&text, "--%s%s%s", option->name, option->value ? " " : "",
                   option->value ? option->value : "");
    tp_buffer_format(out, "%-36s ", left);
}

/* Which formats there are depends on the command. */
static void put_option_of(struct tp_buffer *out, const struct tp_option_text *option,
                          enum tp_command_id command)
{
    put_option(out, option);
    if (strcmp(option->name, "format") != 0)
        tp_buffer_string(out, help_for(option->help, tp_command_name(command)));
    else if (subjects[command] == TP_VIEW_NOTHING)
        tp_buffer_string(out, "text, json");
    else
        tp_view_put_formats(subjects[command], ", ", out);
    tp_buffer_char(out, '\n');
}

/* ---- what a command's rows have ---- */

static void put_name(struct tp_buffer *out, const char *name, const char *help)
{
    tp_buffer_format(out, "  %-33s  %s\n", name, help);
}

static void put_columns(struct tp_buffer *out, bool rows_are_events)
{
    tp_buffer_string(out, "\nsort keys (--sort-by), columns:\n");
    for (int i = 0; i < TP_COLUMNS; i++)
        if (tp_column_is_sortable(i, rows_are_events))
            put_name(out, tp_column_get(i)->name, tp_column_get(i)->help);
    tp_buffer_string(out, "\nmore columns:\n");
    for (int i = 0; i < TP_COLUMNS; i++) {
        const struct tp_column *column = tp_column_get(i);
        if (!tp_column_is_sortable(i, rows_are_events) &&
            (column->where != TP_WHERE_EVENTS || rows_are_events))
            put_name(out, column->name, column->help);
    }
}

static void put_kernel_columns(struct tp_buffer *out)
{
    tp_buffer_string(out, "\nsort keys (--sort-by), columns:\n");
    for (int i = 0; i < TP_KERNEL_COLUMNS; i++)
        put_name(out, tp_kernel_column_get(i)->name, tp_kernel_column_get(i)->help);
}

static void put_alloc_keys(struct tp_buffer *out)
{
    tp_buffer_string(out, "\nsort keys (--sort-by), columns:\n");
    for (int i = 0; i < TP_ALLOC_KEYS; i++)
        put_name(out, tp_alloc_key_name((enum tp_alloc_key)i),
                 tp_alloc_key_help((enum tp_alloc_key)i));
}

static void put_keys(struct tp_buffer *out, enum tp_command_id command)
{
    if (command == TP_COMMAND_AVERAGES || command == TP_COMMAND_EVENTS)
        put_columns(out, command == TP_COMMAND_EVENTS);
    else if (command == TP_COMMAND_KERNELS)
        put_kernel_columns(out);
    else if (command == TP_COMMAND_MEMORY)
        put_alloc_keys(out);
}

/* ---- the whole ---- */

static void put_end(struct tp_buffer *out)
{
    tp_buffer_string(
        out, "\nExit status: 0 whole; 3 printed, but something was lost or unreadable; 1 error;\n"
             "2 usage. See tpreport(1).\n");
}

static void put_command(struct tp_buffer *out, enum tp_command_id command)
{
    struct tp_option_text option;

    tp_buffer_format(out, "usage: tpreport %s [OPTION]... [INPUT]...\n\n%s\n",
                     tp_command_name(command), tp_command_help(command));
    tp_buffer_format(out, "\nexample:\n  %s\n\noptions:\n", tp_command_example(command));
    for (int i = 0; tp_option_text(i, &option); i++)
        if (option.help && option.commands >> command & 1)
            put_option_of(out, &option, command);
    put_keys(out, command);
    put_end(out);
}

static void put_all(struct tp_buffer *out)
{
    struct tp_option_text option;

    tp_buffer_string(
        out,
        "usage: tpreport [COMMAND] [OPTION]... [INPUT]...\n\n"
        "Reports from recordings of tpagent, from Kineto and Chrome traces and event lists in "
        "JSON,\n"
        "plain or compressed (gzip, zstd). INPUT is a file, a directory, or - for standard input;\n"
        "without one, the newest recording in TPAGENT_OUT, else here.\n\ncommands:\n");
    for (int i = 0; i < TP_COMMANDS; i++)
        tp_buffer_format(out, "  %-10s %s%s\n", tp_command_name((enum tp_command_id)i),
                         tp_command_help((enum tp_command_id)i), i ? "" : "; the default");
    tp_buffer_string(out, "\ntpreport COMMAND --help prints its options, sort keys and columns.\n"
                          "\nexamples:\n");
    for (int i = 0; i < TP_COMMANDS; i++)
        tp_buffer_format(out, "  %s\n", tp_command_example((enum tp_command_id)i));
    tp_buffer_string(out, "\noptions:\n");
    for (int i = 0; tp_option_text(i, &option); i++) {
        if (!option.help)
            continue;
        put_option(out, &option);
        tp_buffer_format(out, "%s\n", option.help);
    }
    put_end(out);
}

void tp_help_write(struct tp_buffer *out, const struct tp_options *options)
{
    if (options->has_command)
        put_command(out, options->command);
    else
        put_all(out);
}
