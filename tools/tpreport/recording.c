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

/* What is told of one recording. @ret_partial: something is lost or unreadable. */
typedef int tell_one(const char *path, const struct tp_selection *selection, bool json,
                     struct tp_buffer *out, bool *ret_partial, struct tp_diag *diag);

/* Of a packed recording the reader knows the folder that it has been unpacked to. */
static void put_as_named(struct tp_buffer *out, const struct tp_input *input,
                         const struct tp_buffer *text)
{
    const char *at = text->bytes, *end = at + text->size, *next;
    size_t size = input->unpacked ? strlen(input->unpacked) : 0;

    while (size && (next = memmem(at, (size_t)(end - at), input->unpacked, size))) {
        tp_buffer_bytes(out, at, (size_t)(next - at));
        tp_buffer_string(out, input->archive);
        at = next + size;
    }
    tp_buffer_bytes(out, at, (size_t)(end - at));
    out->failed |= text->failed;
}

static int tell_of_each(struct tp_run *run, const char *formats, const char *between,
                        tell_one *tell, struct tp_diag *diag)
{
    struct tp_buffer out = {0}, text = {0};
    bool json, partial;
    int result = check_inputs(run, diag);

    if (!result)
        result = read_format(run->options, formats, &json, diag);
    for (int i = 0; i < run->input_count && !result; i++) {
        if (i)
            tp_buffer_string(&out, between);
        tp_buffer_reset(&text);
        result = tell(run->inputs[i].path, &run->options->selection, json, &text, &partial, diag);
        put_as_named(&out, &run->inputs[i], &text);
        run->is_partial |= !result && partial;
    }
    tp_output_buffer(run->output, &out);
    tp_buffer_fini(&text);
    tp_buffer_fini(&out);
    return result;
}

int tp_command_info(struct tp_run *run, struct tp_diag *diag)
{
    return tell_of_each(run, "text or json", "\n", tptrace_info, diag);
}

int tp_command_now(struct tp_run *run, struct tp_diag *diag)
{
    return tell_of_each(run, "text or json", "", tptrace_now, diag);
}

static int check(const char *path, const struct tp_selection *selection, bool json,
                 struct tp_buffer *out, bool *ret_partial, struct tp_diag *diag)
{
    (void)json;
    return tptrace_check(path, selection, out, ret_partial, diag);
}

int tp_command_check(struct tp_run *run, struct tp_diag *diag)
{
    return tell_of_each(run, "text", "", check, diag);
}

static int recover(const char *path, const struct tp_selection *selection, bool json,
                   struct tp_buffer *out, bool *ret_partial, struct tp_diag *diag)
{
    (void)json;
    return tptrace_recover(path, selection, out, ret_partial, diag);
}

int tp_command_recover(struct tp_run *run, struct tp_diag *diag)
{
    for (int i = 0; i < run->input_count; i++)
        if (run->inputs[i].unpacked)
            return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                                "a packed recording stays as it is: unpack it, recover, pack");
    return tell_of_each(run, "text", "", recover, diag);
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
    if (!result)
        result = tp_output_hide(run->output, diag); /* as the recording's own files are */
    return result ? result : tptrace_pack(run->inputs[0].path, write_packed, run->output, diag);
}
