/* SPDX-License-Identifier: MIT */
#ifndef TP_OPTIONS_H
#define TP_OPTIONS_H

#include "base/error.h"
#include "input/selection.h"
#include "model/averages.h"
#include "model/buffer.h"
#include "model/kernels.h"
#include "view/view.h"

enum tp_command_id {
#define TP_COMMAND(id, name, function, subject, help) TP_COMMAND_##id,
#include "commands.def"
#undef TP_COMMAND
    TP_COMMANDS
};

/* What an input says, or the command line says instead. */
enum tp_switch { TP_SWITCH_UNSET, TP_SWITCH_ON, TP_SWITCH_OFF };

/* The command line, read. Strings point into argv. */
struct tp_options {
    enum tp_command_id command;
    const char *const *inputs; /* points into the array given to tp_options_parse */
    int input_count;
    bool first_is_word;  /* the first input stood where a command may */
    const char *sort_by; /* NULL: list order */
    const char *format;  /* NULL: the command's default; these two likewise */
    const char *style;
    const char *output_path; /* NULL: standard output */
    uint32_t repeat;         /* this and the next three: of the kernels command; at least 1 */
    enum tp_profiler profiler;
    const char *device_time_attr; /* NULL: not given */
    bool merge_numbered;
    bool of_averages;
    bool compact;
    bool no_symbols, no_lines;
    const char *debug_folder; /* NULL: the system's */
    bool now;
    bool help, version;
    const char *device; /* "none": no device; NULL: as the input says */
    enum tp_switch memory, flops, stacks;
    const char *print_completion; /* a shell's name; NULL: no */
    struct tp_averages_options group;
    struct tp_selection selection;
    struct tp_view_options view;
    char note[160]; /* something to say on stderr that is no error; "" none */
};

/**
 * tp_options_parse - read the command line
 * @argv:  argv[0] is not looked at; the pointers are kept, in their given order
 * @words: room for @argc pointers, for the inputs; lives as long as @ret_options
 *
 * The first word that is no option is a command if it is one's name; behind "--" all are inputs.
 *
 * Context: offline, one thread (getopt has globals).
 * Return: 0, or negative with one explained line in @diag (usage).
 */
int tp_options_parse(int argc, char **argv, const char **words, struct tp_options *ret_options,
                     struct tp_diag *diag);

/** tp_options_help - the text of --help */
void tp_options_help(struct tp_buffer *out);

/** tp_options_names - " --sort-by --row-limit" and so on, for who has named one that there is not
 */
void tp_options_names(struct tp_buffer *out);

/* One row of the table of options, for who makes texts of it. */
struct tp_option_text {
    const char *name;  /* long, without dashes */
    int letter;        /* 0: none */
    const char *value; /* NULL: takes none */
    const char *help;  /* NULL: hidden */
};

/** tp_option_text - row @number of the table; false behind its end */
bool tp_option_text(int number, struct tp_option_text *ret_text);

/** tp_options_check_metric - is the metric one that the reference has for stacks? Return: 0, or
 * negative with its sentence in @diag. */
int tp_options_check_metric(const struct tp_options *options, struct tp_diag *diag);

/** tp_command_nearest - the command that a mistyped word may mean, or NULL */
const char *tp_command_nearest(const char *word);

/** tp_command_name, _help, _example - as written on the command line; one clause; a whole line */
const char *tp_command_name(enum tp_command_id id);
const char *tp_command_help(enum tp_command_id id);
const char *tp_command_example(enum tp_command_id id);

#endif
