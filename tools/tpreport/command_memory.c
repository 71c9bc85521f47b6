/* SPDX-License-Identifier: MIT
 * tpreport memory: the allocation profile of recordings. */
#include <string.h>

#include "base/text.h"
#include "command.h"
#include "input/lines.h"
#include "input/tptrace.h"
#include "model/alloc_profile.h"

#define DEBUG_FOLDER "/usr/lib/debug"

int tp_memory_check(struct tp_run *run, struct tp_diag *diag)
{
    const char *name = run->options->sort_by;
    char known[192];
    struct tp_text text;

    if (run->options->debug_folder && !tptrace_lines_are_read())
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                            "--debug-dir: this tpreport was built without libdw, which reads "
                            "debug information");
    run->sort_column = name ? (int)tp_alloc_key_find(name) : (int)TP_ALLOC_PEAK_BYTES;
    if (run->sort_column < TP_ALLOC_KEYS)
        return 0;
    tp_text_init(&text, known, sizeof(known));
    for (int i = 0; i < TP_ALLOC_KEYS; i++)
        tp_text_format(&text, "%s%s", i ? ", " : "", tp_alloc_key_name((enum tp_alloc_key)i));
    return tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                        "--sort-by: found '%.40s', expected one of %s", name, known);
}

static int read_inputs(struct tp_run *run, struct tp_alloc_profile *profile, struct tp_diag *diag)
{
    const struct tp_options *options = run->options;
    const struct tptrace_frames_wanted wanted = {
        .symbols = !options->no_symbols,
        .lines = !options->no_lines,
        .debug_folder = options->debug_folder ? options->debug_folder : DEBUG_FOLDER};
    int result = 0;

    for (int i = 0; !result && i < run->input_count; i++) {
        struct tp_input *input = &run->inputs[i];
        bool cut = false;
        if (input->kind != &tp_input_tptrace) {
            tp_diag_fail(diag, -TP_EFOREIGN, TP_DIAG_NO_OFFSET, "this is %s; expected %s",
                         input->kind->help, tp_input_tptrace.help);
            return tp_diag_at(diag, input->path);
        }
        result = tptrace_memory(input->path, &options->selection, &wanted, profile, &run->strings,
                                &run->stacks, &input->notes, &input->recording, &cut, diag);
        run->is_partial |= !result && cut;
    }
    tp_progress_end(&run->progress);
    return result;
}

/* What a selection leaves. Threads are told whole, whatever times are selected. */
static size_t count_selected(const struct tp_run *run, const struct tp_alloc_profile *profile)
{
    const struct tp_selection *s = &run->options->selection;
    bool is_whole =
        !s->has_step && s->from.kind == TP_INSTANT_UNSET && s->to.kind == TP_INSTANT_UNSET;

    return profile->records + profile->ranges.count + (is_whole ? profile->threads.count : 0);
}

static int write_report(struct tp_run *run, const struct tp_alloc_profile *profile,
                        struct tp_diag *diag)
{
    struct tp_alloc_report rows;
    struct tp_report report = {.strings = &run->strings, .stacks = &run->stacks, .memory = &rows};

    int result = tp_alloc_report_init(&rows, profile, (enum tp_alloc_key)run->sort_column);
    run->sort_column = -1; /* its rows are in order */
    if (result < 0)
        tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for the report");
    else
        result = tp_run_write(run, &report, diag);
    tp_alloc_report_fini(&rows);
    return result;
}

int tp_command_memory(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_alloc_profile profile;

    tp_alloc_profile_init(&profile);
    int result = read_inputs(run, &profile, diag);
    run->event_count = count_selected(run, &profile);
    if (!result)
        result = write_report(run, &profile, diag);
    tp_alloc_profile_fini(&profile);
    return result;
}
