/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "columns.h"
#include "model/tree.h"

static const struct {
    int (*function)(struct tp_run *run, struct tp_diag *diag);
    enum tp_view_subject subject;
} commands[] = {
#define TP_COMMAND(id, name, function, subject, help) {function, TP_VIEW_##subject},
#include "commands.def"
#undef TP_COMMAND
};

#define TRACE_LARGE (500ull << 20)

/* ---- before and after ---- */

static bool rows_are_events(const struct tp_options *options)
{
    return options->command == TP_COMMAND_EVENTS ||
           (options->command != TP_COMMAND_AVERAGES && !options->of_averages);
}

static int choose_view(struct tp_run *run, struct tp_diag *diag)
{
    const struct tp_options *options = run->options;
    enum tp_view_subject subject = commands[options->command].subject;
    const char *format = options->format;

    if (subject == TP_VIEW_NOTHING)
        return 0;
    if (subject == TP_VIEW_TREE && options->compact)
        subject = TP_VIEW_TREE_COMPACT;
    if (subject == TP_VIEW_TRACE && options->style)
        format = options->style;
    run->view = tp_view_find(subject, format, diag);
    return run->view ? 0 : -TP_EUNSUPPORTED;
}

static int check_by(const struct tp_options *options, struct tp_diag *diag)
{
    if (options->selection.by == TP_BY_NOTHING)
        return 0;
    switch (options->command) {
    case TP_COMMAND_AVERAGES:
    case TP_COMMAND_EVENTS:
    case TP_COMMAND_TREE:
        return 0;
    default:
        return tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
                            "--by is for averages, events and tree; --rank and --pid select");
    }
}

int tp_run_init(struct tp_run *run, const struct tp_options *options, struct tp_diag *diag)
{
    memset(run, 0, sizeof(*run));
    run->options = options;
    run->sort_column = -1;
    int result = choose_view(run, diag);
    if (!result && options->now && options->command != TP_COMMAND_TREE)
        result = tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET, "--now is for tree");
    if (!result && options->group.percentiles && options->command != TP_COMMAND_AVERAGES)
        result = tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET, "--percentiles is for averages");
    if (!result)
        result = check_by(options, diag);
    if (!result && options->command == TP_COMMAND_KERNELS)
        result = tp_kernels_check(run, diag);
    else if (!result && options->command == TP_COMMAND_MEMORY)
        result = tp_memory_check(run, diag);
    else if (!result && options->sort_by && options->command == TP_COMMAND_GPU)
        result = tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                              "--sort-by: gpu has no rows to sort");
    else if (!result && options->sort_by) {
        run->sort_column = tp_column_find(options->sort_by, rows_are_events(options), diag);
        result = run->sort_column < 0 ? run->sort_column : 0;
        if (!result && !options->group.percentiles &&
            tp_column_get(run->sort_column)->where == TP_WHERE_SPREAD)
            result = tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
                                  "rows have %s with --percentiles only", options->sort_by);
    }
    if (!result && options->command == TP_COMMAND_STACKS && run->view->write == tp_stacks_write)
        result = tp_options_check_metric(options, diag);
    if (result < 0)
        return result;
    result = tp_strings_init(&run->strings);
    if (!result)
        result = tp_stacks_init(&run->stacks);
    tp_event_list_init(&run->list, &run->strings, &run->stacks);
    return result < 0 ? tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory to start with")
                      : 0;
}

void tp_run_fini(struct tp_run *run)
{
    for (int i = 0; i < run->input_count; i++)
        tp_input_close(&run->inputs[i]);
    free(run->inputs);
    tp_event_list_fini(&run->list);
    tp_trace_context_fini(&run->trace);
    tp_stacks_fini(&run->stacks);
    tp_strings_fini(&run->strings);
    tp_buffer_fini(&run->notes);
    tp_buffer_fini(&run->recording);
    memset(run, 0, sizeof(*run));
}

/* ---- inputs ---- */

/* A word that is no file may be meant as a command. */
static void tell_nearest_command(const char *word, struct tp_diag *diag)
{
    const char *nearest = tp_command_nearest(word);

    if (!nearest)
        return;
    *diag = (struct tp_diag){0};
    tp_diag_fail(diag, -ENOENT, TP_DIAG_NO_OFFSET, "no such file, and no such command; nearest: %s",
                 nearest);
    tp_diag_at(diag, word);
}

static int open_inputs(struct tp_run *run, struct tp_diag *diag)
{
    const char *here = getenv("TPAGENT_OUT");
    const char *const *paths = run->options->inputs;
    int count = run->options->input_count;

    if (!here || !*here)
        here = ".";
    if (!count) {
        paths = &here;
        count = 1;
    }
    run->inputs = calloc((size_t)count, sizeof(*run->inputs));
    if (!run->inputs)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for %d inputs", count);
    for (int i = 0; i < count; i++) {
        int result = tp_input_open(&run->inputs[i], paths[i], &run->options->selection, diag);
        if (result == -ENOENT && !i && run->options->first_is_word)
            tell_nearest_command(paths[i], diag);
        if (result < 0)
            return result;
        run->inputs[i].progress = &run->progress;
        run->input_count++;
    }
    return 0;
}

/* What an input lacks is said after the report. */
static void collect_losses(struct tp_run *run)
{
    for (int i = 0; i < run->input_count; i++) {
        const struct tp_input *input = &run->inputs[i];
        tp_buffer_bytes(&run->notes, input->notes.bytes, input->notes.size);
        run->is_partial |= input->lost_count != 0;
        if (!input->lost_count || input->notes.size)
            continue;
        tp_buffer_format(&run->notes, "tpreport: %s: %s\n", input->path,
                         input->lost_text[0] ? input->lost_text : "something was lost");
    }
}

/* ---- settings: what the inputs say, unless the command line says something else ---- */

/* Before reading: some inputs work out what is wanted only. */
static void ask_for_settings(struct tp_run *run)
{
    run->list.with_flops = run->options->flops == TP_SWITCH_ON;
    tp_view_write *write = run->view ? run->view->write : NULL;
    bool wants_trace =
        write == tp_kineto_write || write == tp_folded_write || write == tp_pprof_write;

    if (run->options->stacks == TP_SWITCH_OFF)
        run->list.stacks_wanted = TP_STACKS_DROPPED;
    else if (run->options->stacks == TP_SWITCH_ON || run->options->group.group_by_stack_n > 0 ||
             run->options->command == TP_COMMAND_STACKS || write == tp_kineto_write)
        run->list.stacks_wanted = TP_STACKS_DERIVED;
    run->list.keeps_details =
        wants_trace || (run->options->command == TP_COMMAND_EVENTS && write &&
                        (!strcmp(run->view->format, "json") || !strcmp(run->view->format, "csv")));
    if (wants_trace)
        run->list.trace = &run->trace;
}

static int set_device(struct tp_run *run, const char *device)
{
    struct tp_event_list *list = &run->list;
    int result = 0;

    list->use_device = TP_STRING_NONE;
    if (strcmp(device, "none") != 0)
        result = tp_strings_put(&run->strings, device, strlen(device), &list->use_device);
    for (uint32_t i = 0; i < list->count; i++)
        list->events[i].use_device = list->use_device;
    return result;
}

static int override_settings(struct tp_run *run, struct tp_diag *diag)
{
    const struct tp_options *options = run->options;

    if (options->memory != TP_SWITCH_UNSET)
        run->list.profile_memory = options->memory == TP_SWITCH_ON;
    if (options->flops != TP_SWITCH_UNSET)
        run->list.with_flops = options->flops == TP_SWITCH_ON;
    for (uint32_t i = 0; options->stacks == TP_SWITCH_OFF && i < run->list.count; i++)
        run->list.events[i].stack = TP_STACK_NONE;
    if (options->device && set_device(run, options->device) < 0)
        return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for a device's name");
    return 0;
}

/* A file of a directory was named by who read it. */
static void name_input(const struct tp_input *input, struct tp_diag *diag)
{
    if (!diag->file[0])
        tp_diag_at(diag, input->path);
}

/* ---- nothing is selected ---- */

static void tell_choice(struct tp_buffer *out, const struct tp_selection *s)
{
    if (s->has_pid)
        tp_buffer_format(out, " --pid %lld", (long long)s->pid);
    if (s->has_rank)
        tp_buffer_format(out, " --rank %lld", (long long)s->rank);
    if (s->thread)
        tp_buffer_format(out, " --thread %.60s", s->thread);
    if (s->has_step && s->first_step == s->last_step)
        tp_buffer_format(out, " --step %lld", (long long)s->first_step);
    else if (s->has_step)
        tp_buffer_format(out, " --step %lld-%lld", (long long)s->first_step,
                         (long long)s->last_step);
    if (s->from.kind != TP_INSTANT_UNSET)
        tp_buffer_string(out, " --from");
    if (s->to.kind != TP_INSTANT_UNSET)
        tp_buffer_string(out, " --to");
}

/* " there are threads 7 (main), 8; ..." */
static void tell_extent(struct tp_buffer *out, const struct tp_extent *extent)
{
    const char *between = "; there are";

    if (extent->thread_count) {
        tp_buffer_format(out, "%s threads %s%s", between, extent->threads,
                         extent->threads_shown < extent->thread_count ? ", ..." : "");
        between = ",";
    }
    if (extent->has_steps) {
        tp_buffer_format(out, "%s steps %lld to %lld", between, (long long)extent->first_step,
                         (long long)extent->last_step);
        between = ",";
    }
    if (extent->has_time)
        tp_buffer_format(out, "%s times from %.3f to %.3f s", between,
                         (double)extent->first_ns / 1e9, (double)extent->last_ns / 1e9);
}

/* An empty report is no answer to a mistyped number: say so, and what there is. */
static void tell_empty_selection(struct tp_run *run)
{
    const struct tp_selection *selection = &run->options->selection;

    if (run->event_count || !tp_selects(selection))
        return;
    for (int i = 0; i < run->input_count; i++) {
        const struct tp_extent *extent = &run->inputs[i].extent;
        tp_buffer_format(&run->notes, "tpreport: %s: no event is selected by", run->inputs[i].path);
        tell_choice(&run->notes, selection);
        tell_extent(&run->notes, extent);
        if (selection->has_step && !extent->has_steps)
            tp_buffer_string(&run->notes, ", no steps (ProfilerStep#N)");
        tp_buffer_char(&run->notes, '\n');
    }
}

static int begin_source(struct tp_run *run, struct tp_diag *diag)
{
    if (!run->list.trace || !tp_trace_context_begin(run->list.trace, run->list.count))
        return 0;
    return tp_diag_fail(diag, -ENOMEM, TP_DIAG_NO_OFFSET, "no memory for a trace");
}

int tp_run_load_list(struct tp_run *run, struct tp_diag *diag)
{
    ask_for_settings(run);
    for (int i = 0; i < run->input_count; i++) {
        struct tp_input *input = &run->inputs[i];
        int result = begin_source(run, diag);
        if (!result)
            result = input->kind->read_list(input, &run->list, diag);
        if (!result && run->list.trace)
            tp_trace_context_source(run->list.trace)->is_nested = run->list.is_nested;
        if (!result)
            result = tp_tree_build(&run->list, diag);
        if (result < 0) {
            tp_progress_end(&run->progress);
            name_input(input, diag);
            return result;
        }
    }
    tp_progress_end(&run->progress);
    run->event_count = run->list.count;
    return override_settings(run, diag);
}

static int load_list_with_times(struct tp_run *run, struct tp_diag *diag)
{
    int result = tp_run_load_list(run, diag);

    return result < 0 ? result : tp_tree_times(&run->list, diag);
}

static bool all_inputs_stream(const struct tp_run *run)
{
    for (int i = 0; i < run->input_count; i++) {
        const struct tp_input_kind *kind = run->inputs[i].kind;
        if (!kind->read_averages || (kind->can_average && !kind->can_average(&run->inputs[i])))
            return false;
    }
    return true;
}

/* All inputs into one aggregator. The list stays empty but carries the settings. */
static int stream_averages(struct tp_run *run, struct tp_averages **ret_averages,
                           struct tp_diag *diag)
{
    const struct tp_averages_options *group = &run->options->group;
    int result = tp_averages_create(&run->stacks, group, ret_averages);

    if (result < 0)
        return tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for averages");
    for (int i = 0; !result && i < run->input_count; i++) {
        struct tp_input *input = &run->inputs[i];
        struct tp_input_averages part = {0};
        result = input->kind->read_averages(input, &run->strings, &run->stacks, group, &part, diag);
        if (!result)
            result = tp_averages_merge(*ret_averages, part.averages);
        if (!result)
            run->event_count += tp_averages_event_count(part.averages);
        tp_averages_destroy(part.averages);
        if (run->list.use_device == TP_STRING_NONE)
            run->list.use_device = part.use_device;
        run->list.profile_memory |= part.profile_memory;
        run->list.with_flops |= part.with_flops;
        if (result < 0)
            name_input(input, diag);
    }
    tp_progress_end(&run->progress);
    if (!result)
        result = override_settings(run, diag);
    if (result < 0) {
        tp_averages_destroy(*ret_averages);
        *ret_averages = NULL;
    }
    return result;
}

/* ---- reports ---- */

static int fail_memory(struct tp_diag *diag, int code)
{
    return tp_diag_fail(diag, code, TP_DIAG_NO_OFFSET, "no memory for the report");
}

/* One object, or a list of them when there are several inputs. */
static void collect_recordings(struct tp_run *run)
{
    tp_buffer_reset(&run->recording);
    for (int i = 0; i < run->input_count; i++) {
        const struct tp_buffer *part = &run->inputs[i].recording;
        if (!part->size)
            continue;
        if (run->input_count > 1)
            tp_buffer_char(&run->recording, run->recording.size ? ',' : '[');
        tp_buffer_bytes(&run->recording, part->bytes, part->size);
    }
    if (run->recording.size && run->input_count > 1)
        tp_buffer_char(&run->recording, ']');
}

int tp_run_write(struct tp_run *run, struct tp_report *report, struct tp_diag *diag)
{
    collect_recordings(run);
    report->recording = run->recording.size ? &run->recording : NULL;
    if (run->sort_column >= 0 && tp_column_sort(report, run->sort_column) < 0)
        return fail_memory(diag, -ENOMEM);
    return run->view->write(report, &run->options->view, run->output, diag);
}

static int report_events(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_report report;

    if (tp_report_init_events(&report, &run->list) < 0)
        return fail_memory(diag, -ENOMEM);
    int result = tp_run_write(run, &report, diag);
    tp_report_fini(&report);
    return result;
}

static int report_rows(struct tp_run *run, const struct tp_average *rows, size_t count,
                       struct tp_diag *diag)
{
    struct tp_report report;

    if (tp_report_init_averages(&report, &run->strings, &run->stacks, rows, count) < 0)
        return fail_memory(diag, -ENOMEM);
    report.list = &run->list;
    report.use_device = run->list.use_device;
    report.profile_memory = run->list.profile_memory;
    report.with_flops = run->list.with_flops;
    report.percentiles = run->options->group.percentiles;
    int result = tp_run_write(run, &report, diag);
    tp_report_fini(&report);
    return result;
}

/* The groups of all inputs; @ret_rows for free(). */
static int load_averages(struct tp_run *run, struct tp_average **ret_rows, size_t *ret_count,
                         struct tp_diag *diag)
{
    struct tp_averages *averages;
    int result;

    if (!all_inputs_stream(run)) {
        result = load_list_with_times(run, diag);
        if (!result && tp_key_averages(&run->list, &run->options->group, ret_rows, ret_count) < 0)
            result = fail_memory(diag, -ENOMEM);
        return result;
    }
    result = stream_averages(run, &averages, diag);
    if (result < 0)
        return result;
    if (tp_averages_finish(averages, ret_rows, ret_count) < 0)
        result = fail_memory(diag, -ENOMEM);
    tp_averages_destroy(averages);
    return result;
}

/* ---- commands ---- */

int tp_command_averages(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_average *rows = NULL;
    size_t count = 0;

    int result = load_averages(run, &rows, &count, diag);
    if (!result)
        result = report_rows(run, rows, count, diag);
    free(rows);
    return result;
}

int tp_command_events(struct tp_run *run, struct tp_diag *diag)
{
    int result = load_list_with_times(run, diag);

    return result < 0 ? result : report_events(run, diag);
}

static int total_of_rows(struct tp_run *run, struct tp_average *ret_total, struct tp_diag *diag)
{
    struct tp_average *rows = NULL;
    size_t count = 0;

    int result = load_averages(run, &rows, &count, diag);
    tp_average_start(ret_total);
    for (size_t i = 0; !result && i < count; i++)
        tp_average_total(ret_total, &rows[i]);
    free(rows);
    return result;
}

static int total_of_events(struct tp_run *run, struct tp_average *ret_total, struct tp_diag *diag)
{
    struct tp_averages *averages;
    struct tp_average row;
    int result;

    if (all_inputs_stream(run)) {
        result = stream_averages(run, &averages, diag);
        if (!result) {
            tp_averages_total(averages, TP_STRING_NONE, ret_total);
            tp_averages_destroy(averages);
        }
        return result;
    }
    result = load_list_with_times(run, diag);
    tp_average_start(ret_total);
    for (uint32_t i = tp_event_list_next(&run->list, 0); !result && i < run->list.count;
         i = tp_event_list_next(&run->list, i + 1)) {
        tp_average_of_event(&run->list, &run->list.events[i], &row);
        tp_average_total(ret_total, &row);
    }
    return result;
}

int tp_command_total(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_average total;

    int result = run->options->of_averages ? total_of_rows(run, &total, diag)
                                           : total_of_events(run, &total, diag);
    if (!result && tp_strings_put(&run->strings, "Total", 5, &total.key) < 0)
        result = fail_memory(diag, -ENOMEM);
    return result < 0 ? result : report_rows(run, &total, 1, diag);
}

int tp_command_tree(struct tp_run *run, struct tp_diag *diag)
{
    return run->options->now ? tp_command_now(run, diag) : tp_command_events(run, diag);
}

int tp_command_stacks(struct tp_run *run, struct tp_diag *diag)
{
    if (run->options->of_averages && run->view->write != tp_stacks_write)
        return tp_diag_fail(diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
                            "--of averages: format '%s' is made of events, whose ranges it shows",
                            run->view->format);
    return run->options->of_averages ? tp_command_averages(run, diag)
                                     : tp_command_events(run, diag);
}

int tp_command_trace(struct tp_run *run, struct tp_diag *diag)
{
    if (run->options->of_averages)
        return tp_diag_fail(
            diag, -TP_EVALUE, TP_DIAG_NO_OFFSET,
            "'FunctionEventAvg' object has no attribute 'trace_name'; a trace is made of "
            "events, not of averages");
    int result = tp_run_load_list(run, diag); /* needs no times, so any device type will do */
    if (!result)
        result = report_events(run, diag);
    if (!result && run->output->total > TRACE_LARGE)
        tp_output_note(
            run->output,
            "%llu MB of JSON: browsers give up near 500; --from, --to, --thread and --rank "
            "choose a part",
            (unsigned long long)(run->output->total >> 20));
    return result;
}

int tp_run_execute(struct tp_run *run, struct tp_output *output, struct tp_diag *diag)
{
    run->output = output;
    tp_progress_init(&run->progress, STDERR_FILENO);
    int result = open_inputs(run, diag);
    if (!result)
        result = commands[run->options->command].function(run, diag);
    collect_losses(run);
    if (run->view && (!result || (run->input_count && run->inputs[0].extent.has_time)))
        tell_empty_selection(run);
    if (output->note[0])
        tp_buffer_format(&run->notes, "tpreport: %s\n", output->note);
    return result;
}
