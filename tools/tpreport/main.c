/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "completion.h"
#include "help.h"
#include "options.h"

enum exit_status { EXIT_WHOLE = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_PARTIAL = 3 };

static int complain(const struct tp_diag *diag, int status)
{
    char line[1024];

    tp_diag_print(diag, line, sizeof(line));
    fprintf(stderr, "tpreport: %s\n", line);
    return status;
}

static int complain_options(const struct tp_diag *diag, int result)
{
    struct tp_buffer line = {0};

    if (result != -TP_ENOTFOUND)
        return complain(diag, EXIT_USAGE);
    tp_buffer_format(&line, "tpreport: %s; options:", diag->text);
    tp_options_names(&line);
    tp_buffer_char(&line, '\n');
    fwrite(line.bytes, 1, line.size, stderr);
    tp_buffer_fini(&line);
    return EXIT_USAGE;
}

static int print_text(const struct tp_options *options, struct tp_output *output,
                      struct tp_diag *diag)
{
    struct tp_buffer text = {0};

    if (options->print_completion) {
        if (tp_completion_write(&text, options->print_completion, diag) < 0)
            return complain(diag, EXIT_USAGE);
    } else if (options->help)
        tp_help_write(&text, options);
    else
        tp_buffer_string(&text, "tpreport " TP_VERSION "\n");
    tp_output_open(output, NULL, diag); /* standard output: can't fail */
    tp_output_buffer(output, &text);
    tp_buffer_fini(&text);
    int result = tp_output_close(output, true, diag);
    return result && result != -EPIPE ? complain(diag, EXIT_ERROR) : EXIT_WHOLE;
}

/* A reader that has seen enough (head, less) is no failure. */
static int close_output(struct tp_output *output, int result, struct tp_diag *diag)
{
    struct tp_diag closing = {0};
    int closed = tp_output_close(output, !result, &closing);

    if (result || !closed || closed == -EPIPE)
        return result;
    *diag = closing;
    return closed;
}

static int run_command(struct tp_run *run, struct tp_output *output, struct tp_diag *diag)
{
    int result = tp_run_init(run, run->options, diag);

    if (result < 0)
        return complain(diag, result == -ENOMEM ? EXIT_ERROR : EXIT_USAGE);
    if (tp_output_open(output, run->options->output_path, diag) < 0)
        return complain(diag, EXIT_ERROR);
    result = close_output(output, tp_run_execute(run, output, diag), diag);
    if (run->notes.size)
        fwrite(run->notes.bytes, 1, run->notes.size, stderr);
    if (result < 0)
        return complain(diag, EXIT_ERROR);
    return run->is_partial ? EXIT_PARTIAL : EXIT_WHOLE;
}

int main(int argc, char **argv)
{
    static struct tp_output output;
    struct tp_options options;
    struct tp_run run = {.options = &options};
    struct tp_diag diag = {0};

    signal(SIGPIPE, SIG_IGN); /* EPIPE tells as well */
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    int result = words ? tp_options_parse(argc, argv, words, &options, &diag) : -ENOMEM;
    if (result < 0) {
        free(words);
        return complain_options(&diag, result);
    }
    if (options.note[0])
        fprintf(stderr, "tpreport: %s\n", options.note);
    bool is_text = options.help || options.version || options.print_completion;
    int status = is_text ? print_text(&options, &output, &diag) : run_command(&run, &output, &diag);
    tp_run_fini(&run);
    free(words);
    return status;
}
