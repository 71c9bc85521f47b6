/* SPDX-License-Identifier: MIT
 * The reference's folded stacks: each row's own, outermost frame first; equal stacks are not
 * merged. */
#include "view/view.h"

static void put_frame(struct tp_buffer *out, const struct tp_string *frame)
{
    for (uint32_t i = 0; i < frame->size; i++) {
        char c = frame->bytes[i];
        tp_buffer_char(out, c == ' ' || c == ';' || c == '\t' || c == '\n' ? '_' : c);
    }
}

int tp_stacks_write(const struct tp_report *report, const struct tp_view_options *options,
                    struct tp_output *output, struct tp_diag *diag)
{
    struct tp_buffer line = {0};
    struct tp_average scratch;
    uint64_t stacks = 0, lines = 0;

    (void)diag;
    for (size_t i = 0; i < report->count && !tp_output_failed(output); i++) {
        const struct tp_average *row = tp_report_row(report, i, &scratch);
        int64_t weight = tp_number_truncate(row->sums[options->metric]);
        stacks += row->stack_count != 0;
        if (weight <= 0 || !row->stack_count)
            continue;
        const uint32_t *frames = tp_stacks_frames(report->stacks, row->stack);
        tp_buffer_reset(&line);
        for (uint32_t frame = row->stack_count; frame-- > 0;) {
            put_frame(&line, tp_strings_get(report->strings, frames[frame]));
            tp_buffer_char(&line, frame ? ';' : ' ');
        }
        tp_buffer_format(&line, "%lld\n", (long long)weight);
        tp_output_buffer(output, &line);
        lines++;
    }
    if (report->count && !stacks)
        tp_output_note(output, "the input has no stacks of Python; --format folded and pprof take "
                               "the ranges around each event instead");
    else if (report->count && !lines)
        tp_output_note(output, "no row that has a stack has a whole unit of that metric");
    tp_buffer_fini(&line);
    return 0;
}
