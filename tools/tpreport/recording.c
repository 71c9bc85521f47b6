/* SPDX-License-Identifier: MIT
 * The commands about recordings themselves: info, check, recover, pack, and tree --now. */
#include <string.h>

#include "command.h"
#include "input/tptrace.h"
#include "input/tptrace_pack.h"
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

int tp_command_now(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_buffer out = {0};
    bool json, cut;
    int result = check_inputs(run, diag);

    if (!result)
        result = read_format(run->options, "text or json", &json, diag);
    for (int i = 0; i < run->input_count && !result; i++) {
        result = tptrace_now(run->inputs[i].path, &run->options->selection, json, &out, &cut, diag);
        run->is_partial |= !result && cut;
    }
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

    for (int i = 0; i < run->input_count && !result; i++)
        if (run->inputs[i].unpacked)
            result = tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                                  "a packed recording stays as it is: unpack it, recover, pack");
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

static void write_packed(void *context, const void *bytes, size_t size)
{
    tp_output_bytes(context, bytes, size);
}

int tp_command_pack(struct tp_run *run, struct tp_diag *diag)
{
    int result = check_inputs(run, diag);

    if (!result && run->input_count > 1)
        result = tp_diag_fail(diag, -TP_ELIMIT, TP_DIAG_NO_OFFSET, "%d inputs, expected one",
                              run->input_count);
    if (!result && !run->options->output_path)
        result = tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
                              "an archive is not for the terminal: name it with -o FILE.tar.zst");
    return result ? result : tptrace_pack(run->inputs[0].path, write_packed, run->output, diag);
}
