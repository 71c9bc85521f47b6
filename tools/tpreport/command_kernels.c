/* SPDX-License-Identifier: MIT
 * tpreport kernels: all inputs as pieces of work, into sums or straight into a list of them. */
#include "command.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "columns.h"
#include "input/ascend_csv.h"
#include "kernel_columns.h"
#include "model/tree.h"
#include "model/work.h"

/* ---- before reading ---- */

static const struct {
    enum tp_column_id column;
    enum tp_measure measure;
} attributes[] = {
    {TP_COLUMN_SELF_DEVICE_TIME, TP_MEASURE_SELF_DEVICE_TIME},
    {TP_COLUMN_DEVICE_TIME_TOTAL, TP_MEASURE_DEVICE_TIME},
    {TP_COLUMN_DEVICE_TIME, TP_MEASURE_DEVICE_TIME}, /* of one call: the same */
    {TP_COLUMN_SELF_CPU_TIME, TP_MEASURE_SELF_CPU_TIME},
    {TP_COLUMN_CPU_TIME_TOTAL, TP_MEASURE_CPU_TIME},
    {TP_COLUMN_CPU_TIME, TP_MEASURE_CPU_TIME},
};

enum { ATTRIBUTE_COUNT = sizeof(attributes) / sizeof(attributes[0]) };

static int find_measure(const char *name, enum tp_measure *ret_measure, struct tp_diag *diag)
{
    char known[192];
    struct tp_text text;

    int column = tp_column_find(name, false, NULL);
    tp_text_init(&text, known, sizeof(known));
    for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
        if ((int)attributes[i].column == column) {
            *ret_measure = attributes[i].measure;
            return 0;
        }
        tp_text_format(&text, "%s%s", i ? ", " : "", tp_column_get(attributes[i].column)->name);
    }
    return tp_diag_fail(diag, -TP_ENOTFOUND, TP_DIAG_NO_OFFSET,
                        "--device-time-attr: found '%.*s', expected one of %s", 60, name, known);
}

int tp_kernels_check(struct tp_run *run, struct tp_diag *diag)
{
    const struct tp_options *options = run->options;
    int result = 0;

    run->device_measure = TP_MEASURE_SELF_DEVICE_TIME;
    if (options->device_time_attr)
        result = find_measure(options->device_time_attr, &run->device_measure, diag);
    if (!result && options->sort_by) {
        run->sort_column = tp_kernel_column_find(options->sort_by, diag);
        result = run->sort_column < 0 ? run->sort_column : 0;
    }
    return result;
}

/* ---- reading ---- */

static int read_list(struct tp_run *run, struct tp_input *input, struct tp_work_sink *sink,
                     struct tp_diag *diag)
{
    run->list.summed = run->summed;
    int result = input->kind->read_list(input, &run->list, diag);

    if (!result)
        result = tp_tree_build(&run->list, diag);
    if (!result)
        result = tp_tree_times(&run->list, diag);
    if (!result)
        result = tp_work_of_list(&run->list, 0, run->list.count, sink);
    run->event_count += run->list.count;
    tp_event_list_fini(&run->list); /* the next input starts anew */
    tp_event_list_init(&run->list, &run->strings, &run->stacks);
    return result;
}

static int end_reading(const struct tp_input *input, int result, struct tp_diag *diag)
{
    if (result == -ENOMEM && !diag->code)
        tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for the report");
    if (result < 0 && !diag->file[0])
        tp_diag_at(diag, input->path);
    return result;
}

static int read_input(struct tp_run *run, struct tp_input *input, struct tp_work_sink *sink,
                      struct tp_diag *diag)
{
    int result = input->kind->read_work ? input->kind->read_work(input, &run->strings, sink, diag)
                                        : read_list(run, input, sink, diag);

    run->event_count += input->kind->read_work != NULL; /* selects nothing, or fails */
    tp_progress_end(&run->progress);
    return end_reading(input, result, diag);
}

/* ---- sums ---- */

/* Where kernels will be the rows, with times of their own: the input itself may sum them up. */
static bool counts_kernels(const struct tp_run *run)
{
    return run->input_count == 1 && run->inputs[0].kind->read_kernels &&
           run->view->subject != TP_VIEW_CALLS &&
           (run->options->profiler == TP_PROFILER_AUTO ||
            run->options->profiler == TP_PROFILER_DEVICE) &&
           (run->device_measure == TP_MEASURE_SELF_DEVICE_TIME ||
            run->device_measure == TP_MEASURE_DEVICE_TIME);
}

/* Return: 1 done, 0 it cannot, or negative. */
static int let_input_sum(struct tp_run *run, struct tp_kernels *kernels, struct tp_diag *diag)
{
    struct tp_input *input = &run->inputs[0];
    int result = input->kind->read_kernels(input, &run->strings, &run->stacks, kernels, diag);

    if (!result) { /* it may have begun */
        tp_kernels_fini(kernels);
        tp_kernels_init(kernels);
        kernels->device_measure = run->device_measure;
        return 0;
    }
    tp_progress_end(&run->progress);
    run->event_count++;
    return result < 0 ? end_reading(input, result, diag) : result;
}

static int sum_inputs(struct tp_run *run, struct tp_kernels *kernels, struct tp_diag *diag)
{
    int result = 0;

    if (counts_kernels(run))
        result = let_input_sum(run, kernels, diag);
    bool is_read = result > 0;
    for (int i = 0; result >= 0 && i < run->input_count; i++) {
        struct tp_input *input = &run->inputs[i];
        result = is_read ? 0 : read_input(run, input, &kernels->sink, diag);
        kernels->is_ascend |= input->kind == &tp_input_ascend_csv;
        struct tp_work_span own = {.is_known = input->has_span,
                                   .start_ns = tp_number_integer(input->start_ns),
                                   .end_ns = tp_number_integer(input->end_ns)};
        tp_kernels_end_input(kernels, &own);
    }
    return result;
}

/* Calls are the host's: rows of the runtime's calls when there are any, else of all operators. */
static int choose_calls(struct tp_run *run, struct tp_kernel_report *report, struct tp_diag *diag)
{
    if (run->options->profiler != TP_PROFILER_AUTO &&
        run->options->profiler != TP_PROFILER_FRAMEWORK)
        return tp_diag_fail(diag, -TP_EUNSUPPORTED, TP_DIAG_NO_OFFSET,
                            "format nsys-api lists calls on the host; it can serve --profiler "
                            "framework");
    int result = tp_kernels_choose(report->kernels, TP_PROFILER_FRAMEWORK, &report->profiler, diag);
    report->shown = report->kernels->classes[TP_CLASS_CALLS].count ? TP_CLASS_CALLS : TP_CLASS_HOST;
    return result;
}

static int choose(struct tp_run *run, struct tp_kernel_report *report, struct tp_diag *diag)
{
    if (run->view->subject == TP_VIEW_CALLS)
        return choose_calls(run, report, diag);
    int result =
        tp_kernels_choose(report->kernels, run->options->profiler, &report->profiler, diag);
    if (!result)
        report->shown = tp_kernels_class(report->kernels, report->profiler);
    return result;
}

static void note_skipped(struct tp_run *run, uint64_t without_time, uint64_t negative)
{
    if (without_time || negative)
        tp_buffer_format(&run->notes,
                         "tpreport: skipped: %llu without a duration, %llu with a negative one\n",
                         (unsigned long long)without_time, (unsigned long long)negative);
}

/* Text and JSON say it themselves. */
static void note_choice(struct tp_run *run, const struct tp_kernel_report *report)
{
    const struct tp_kernel_rows *rows = tp_kernel_report_rows(report);

    if (!strcmp(run->view->format, "text") || !strcmp(run->view->format, "json"))
        return;
    tp_buffer_format(&run->notes, "tpreport: profiler: %s; rows: %s\n",
                     tp_profiler_name(report->profiler), tp_work_class_name(report->shown));
    if (rows)
        note_skipped(run, rows->without_time, rows->negative);
}

static int write_sums(struct tp_run *run, struct tp_kernels *kernels, struct tp_diag *diag)
{
    struct tp_kernel_report sums = {.kernels = kernels, .repeat = run->options->repeat};
    struct tp_report report = {.strings = &run->strings, .stacks = &run->stacks, .kernels = &sums};

    int result = choose(run, &sums, diag);
    if (result < 0)
        return result;
    result = tp_kernels_finish(kernels, sums.shown, run->options->merge_numbered, &run->strings);
    if (!result && run->sort_column >= 0)
        result = tp_kernel_column_sort(&sums, run->sort_column, &run->strings);
    if (result < 0)
        return tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for the report");
    note_choice(run, &sums);
    return run->view->write(&report, &run->options->view, run->output, diag);
}

static int report_sums(struct tp_run *run, struct tp_diag *diag)
{
    struct tp_kernels kernels;

    tp_kernels_init(&kernels);
    kernels.device_measure = run->device_measure;
    run->summed = &kernels.summed;
    int result = sum_inputs(run, &kernels, diag);
    if (!result)
        result = write_sums(run, &kernels, diag);
    run->summed = NULL;
    tp_kernels_fini(&kernels);
    return result;
}

/* ---- single pieces ---- */

/* Lets through what a format lists, and counts what it leaves out. */
struct filter {
    struct tp_work_source source; /* first */
    struct tp_work_sink sink;
    struct tp_run *run;
    struct tp_work_sink *target;
    uint64_t passed, copies, without_time, negative;
};

static struct filter *filter_of_sink(struct tp_work_sink *sink)
{
    return (struct filter *)((char *)sink - offsetof(struct filter, sink));
}

static int pass(struct filter *filter, const struct tp_work *work)
{
    filter->passed++;
    return filter->target->take(filter->target, work);
}

static int take_kernel(struct tp_work_sink *sink, const struct tp_work *work)
{
    struct filter *filter = filter_of_sink(sink);
    enum tp_measure measure = filter->run->device_measure;
    int sign = tp_work_knows(work, measure) ? tp_number_sign(work->ns[measure]) : 0;

    if (work->kind == TP_WORK_COPY)
        filter->copies++;
    if (work->kind != TP_WORK_KERNEL)
        return 0;
    filter->without_time += !sign;
    filter->negative += sign < 0;
    return sign > 0 ? pass(filter, work) : 0;
}

static int take_operator(struct tp_work_sink *sink, const struct tp_work *work)
{
    if (work->kind != TP_WORK_CALL && work->kind != TP_WORK_OPERATOR)
        return 0;
    return pass(filter_of_sink(sink), work);
}

static int read_filtered(struct tp_work_source *source, struct tp_work_sink *sink,
                         struct tp_diag *diag)
{
    struct filter *filter = (struct filter *)source;
    int result = 0;

    filter->target = sink;
    for (int i = 0; !result && i < filter->run->input_count; i++)
        result = read_input(filter->run, &filter->run->inputs[i], &filter->sink, diag);
    return result;
}

static void note_copies(struct tp_run *run, uint64_t count)
{
    tp_buffer_string(&run->notes, "tpreport: ");
    tp_buffer_count(&run->notes, count, "{copy or fill is|copies and fills are} not listed\n");
}

static void note_filtered(struct tp_run *run, const struct filter *filter)
{
    if (!filter->passed)
        tp_buffer_format(&run->notes, "tpreport: there are no %s in the input\n",
                         run->view->subject == TP_VIEW_KERNEL_WORK ? "kernels"
                                                                   : "operators of the host");
    if (filter->copies)
        note_copies(run, filter->copies);
    note_skipped(run, filter->without_time, filter->negative);
}

static int list_work(struct tp_run *run, struct tp_diag *diag)
{
    struct filter filter = {
        .source = {.read = read_filtered},
        .sink = {.take = run->view->subject == TP_VIEW_KERNEL_WORK ? take_kernel : take_operator},
        .run = run,
    };
    struct tp_report report = {
        .strings = &run->strings, .stacks = &run->stacks, .work = &filter.source};

    int result = run->view->write(&report, &run->options->view, run->output, diag);
    if (!result)
        note_filtered(run, &filter);
    return result;
}

int tp_command_kernels(struct tp_run *run, struct tp_diag *diag)
{
    if (run->view->subject == TP_VIEW_KERNEL_WORK || run->view->subject == TP_VIEW_OPERATOR_WORK)
        return list_work(run, diag);
    return report_sums(run, diag);
}
