/* SPDX-License-Identifier: MIT
 * Single kernels and single operators in the form of Ascend's kernel_details.csv and
 * operator_details.csv: microseconds with three decimals, N/A for what the input doesn't know. */
#include "view/view.h"

#include <string.h>

#include "model/work.h"
#include "view/csv_line.h"

struct ascend {
    struct tp_work_sink sink; /* first */
    const struct tp_report *report;
    struct tp_csv_line line;
    int64_t left; /* rows; below 0: no limit */
    bool is_begun, has_step, has_shapes;
};

static const struct tp_work_details no_details;

/* Whole nanoseconds keep all their digits: times since 1970 don't fit a double. */
static void put_us(struct tp_csv_line *line, bool is_known, struct tp_number ns)
{
    if (!is_known) {
        tp_csv_line_text(line, "N/A");
    } else if (!tp_number_fits(ns)) {
        tp_csv_line_format(line, "%.3f", tp_number_to_double(ns) / 1000.0);
    } else {
        int64_t value = (int64_t)ns.bits.low;
        uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        tp_csv_line_format(line, "%s%llu.%03u", value < 0 ? "-" : "",
                           (unsigned long long)(size / 1000), (unsigned)(size % 1000));
    }
}

static void put_string(struct ascend *a, uint32_t id, const char *none)
{
    const struct tp_string *text = tp_strings_get(a->report->strings, id);

    if (id == TP_STRING_NONE)
        tp_csv_line_text(&a->line, none);
    else
        tp_csv_line_field(&a->line, text->bytes, text->size);
}

static void put_count(struct tp_csv_line *line, bool is_known, int64_t count)
{
    if (is_known)
        tp_csv_line_number(line, tp_number_integer(count));
    else
        tp_csv_line_text(line, "N/A");
}

static void put_head(struct ascend *a, const char *columns)
{
    tp_buffer_string(&a->line.text, columns);
    tp_csv_line_end(&a->line);
    a->is_begun = true;
}

/* ---- kernels ---- */

static void put_kernel_head(struct ascend *a)
{
    if (a->has_step)
        tp_buffer_string(&a->line.text, "Step Id,");
    tp_buffer_string(&a->line.text, "Device_id,Name,Type,Accelerator Core,Start Time(us),"
                                    "Duration(us),Wait Time(us),Block Num");
    put_head(a, a->has_shapes ? ",Input Shapes,Input Data Types,Input Formats,Output Shapes,"
                                "Output Data Types,Output Formats"
                              : "");
}

static void put_kernel_shapes(struct ascend *a, const struct tp_work_details *details)
{
    put_string(a, details->input_shapes, "N/A");
    put_string(a, details->input_dtypes, "N/A");
    put_string(a, details->input_formats, "N/A");
    put_string(a, details->output_shapes, "N/A");
    put_string(a, details->output_dtypes, "N/A");
    put_string(a, details->output_formats, "N/A");
}

static int take_kernel(struct tp_work_sink *sink, const struct tp_work *work)
{
    struct ascend *a = (struct ascend *)sink;
    const struct tp_work_details *details = work->details ? work->details : &no_details;

    if (!a->is_begun) { /* the first kernel tells what is known */
        a->has_step = details->has_step;
        a->has_shapes = details->has_shapes;
        put_kernel_head(a);
    }
    if (!a->left)
        return 0;
    a->left--;
    if (a->has_step)
        put_count(&a->line, details->has_step && details->step >= 0, details->step);
    put_count(&a->line, true, work->device);
    put_string(a, work->name, "N/A");
    put_string(a, details->type, "N/A");
    put_string(a, details->core, "N/A");
    put_us(&a->line, work->has_span, work->start_ns);
    put_us(&a->line, tp_work_knows(work, TP_MEASURE_SELF_DEVICE_TIME),
           work->ns[TP_MEASURE_SELF_DEVICE_TIME]);
    put_us(&a->line, details->has_wait, details->wait_ns);
    put_count(&a->line, details->has_blocks, details->blocks);
    if (a->has_shapes)
        put_kernel_shapes(a, details);
    tp_csv_line_end(&a->line);
    return 0;
}

/* ---- operators ---- */

static void put_call_stack(struct ascend *a, const struct tp_work *work, uint32_t text)
{
    const struct tp_stacks *stacks = a->report->stacks;
    struct tp_buffer stack = {0};

    if (!work->event) {
        put_string(a, text, "");
        return;
    }
    for (uint32_t i = 0; i < tp_stacks_count(stacks, work->event->stack); i++) {
        const struct tp_string *frame =
            tp_strings_get(a->report->strings, tp_stacks_frames(stacks, work->event->stack)[i]);
        tp_buffer_string(&stack, i ? ";\n" : "");
        tp_buffer_bytes(&stack, frame->bytes, frame->size);
    }
    tp_csv_line_field(&a->line, stack.bytes, stack.size);
    tp_buffer_fini(&stack);
}

static void put_operator_head(struct ascend *a)
{
    put_head(a, "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),"
                "Device Self Duration(us),Device Total Duration(us),"
                "Device Self Duration With AICore(us),Device Total Duration With AICore(us)");
}

static int take_operator(struct tp_work_sink *sink, const struct tp_work *work)
{
    static const enum tp_measure times[] = {TP_MEASURE_SELF_CPU_TIME, TP_MEASURE_CPU_TIME,
                                            TP_MEASURE_SELF_DEVICE_TIME, TP_MEASURE_DEVICE_TIME};
    struct ascend *a = (struct ascend *)sink;
    const struct tp_work_details *details = work->details ? work->details : &no_details;

    if (!a->left)
        return 0;
    a->left--;
    put_string(a, work->name, "N/A");
    uint32_t shapes = work->event ? work->event->input_shapes : details->input_shapes;
    put_string(a, shapes == TP_STRING_LIST ? TP_STRING_NONE : shapes, "");
    put_call_stack(a, work, details->call_stack);
    for (int i = 0; i < 4; i++)
        put_us(&a->line, tp_work_knows(work, times[i]), work->ns[times[i]]);
    put_us(&a->line, details->has_aicore, details->aicore_self_ns);
    put_us(&a->line, details->has_aicore, details->aicore_total_ns);
    tp_csv_line_end(&a->line);
    return 0;
}

/* ---- views ---- */

static int write_work(struct ascend *a, const struct tp_report *report,
                      const struct tp_view_options *options, struct tp_output *output,
                      struct tp_diag *diag)
{
    a->report = report;
    a->line = (struct tp_csv_line){.output = output, .end = "\n"};
    a->left = tp_view_row_limit(options, -1);
    if (a->sink.take == take_operator)
        put_operator_head(a);
    int result = report->work->read(report->work, &a->sink, diag);
    if (!result && !a->is_begun)
        put_kernel_head(a);
    tp_csv_line_fini(&a->line);
    return result;
}

int tp_ascend_write_kernels(const struct tp_report *report, const struct tp_view_options *options,
                            struct tp_output *output, struct tp_diag *diag)
{
    struct ascend a = {.sink = {.take = take_kernel}};

    return write_work(&a, report, options, output, diag);
}

int tp_ascend_write_operators(const struct tp_report *report, const struct tp_view_options *options,
                              struct tp_output *output, struct tp_diag *diag)
{
    struct ascend a = {.sink = {.take = take_operator}};

    return write_work(&a, report, options, output, diag);
}
