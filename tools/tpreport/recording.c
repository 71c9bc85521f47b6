/* SPDX-License-Identifier: MIT
 * The commands about recordings themselves: info, check, recover. */
#include <string.h>

#include "command.h"
#include "input/tptrace.h"
#include "input/tptrace_recover.h"

/* The recordings among the inputs; anything else is refused. */
static int check_inputs(const struct tp_run *run, struct tp_diag *diag)
{
    for (int i = 0; i < run->input_count; i++) {
        if (run->inputs[i].kind == &tp_input_tptrace)
            continue;
        tp_diag_fail(diag, -TP_EFOREIGN, TP_DIAG_NO_OFFSET, "this is %s; expected %s",
                     run->inputs[i].kind->help, tp_input_tptrace.help);
        return tp_diag_at(diag, run->inputs[i].path);
    }
    return 0;
}

static int read_format(const struct tp_options *options, const char *expected, bool *ret_json,
                       struct tp_diag *diag)
{
    const char *format = options->format ? options->format : "text";

    *ret_json = !strcmp(format, "json");
    if (!strcmp(format, "text") || (*ret_json && strstr(expected, "json")))
        return 0;
    return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET, "format '%.40s': expected %s",
                        format, expected);
}

int tp_command_info(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_buffer out = {0};
    bool json, cut;
    int result = check_inputs(run, diag);

    if (!result)
        result = read_format(run->options, "text or json", &json, diag);
    for (int i = 0; i < run->input_count && !result; i++) {
        if (i)
            tp_buffer_char(&out, '\n');
        result =
            tptrace_info(run->inputs[i].path, &run->options->selection, json, &out, &cut, diag);
        run->is_partial |= !result && cut;
    }
    if (!result)
        tp_output_buffer(run->output, &out);
    tp_buffer_fini(&out);
    return result;
}

int tp_command_check(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_buffer out = {0};
    bool json, cut;
    int result = check_inputs(run, diag);

    if (!result)
        result = read_format(run->options, "text", &json, diag);
    for (int i = 0; i < run->input_count && !result; i++) {
        result = tptrace_check(run->inputs[i].path, &run->options->selection, &out, &cut, diag);
        run->is_partial |= !result && cut;
    }
    tp_output_buffer(run->output, &out);
    tp_buffer_fini(&out);
    return result;
}

int tp_command_recover(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_buffer out = {0};
    bool json, partial;
    int result = check_inputs(run, diag);

    if (!result)
        result = read_format(run->options, "text", &json, diag);
    for (int i = 0; i < run->input_count && !result; i++) {
        result =
            tptrace_recover(run->inputs[i].path, &run->options->selection, &out, &partial, diag);
        run->is_partial |= !result && partial;
    }
    tp_output_buffer(run->output, &out);
    tp_buffer_fini(&out);
    return result;
}
