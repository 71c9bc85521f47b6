/* SPDX-License-Identifier: MIT
 * Folded stacks for flame graphs: a line for each path that has a value, nanoseconds, bytes or
 * calls. */
#include <errno.h>

#include "model/call_paths.h"
#include "view/view.h"

static enum tp_path_value value_of(enum tp_measure metric)
{
    switch (metric) {
    case TP_MEASURE_CPU_TIME:
        return TP_PATH_CPU_NS;
    case TP_MEASURE_SELF_DEVICE_TIME:
        return TP_PATH_DEVICE_NS;
    case TP_MEASURE_SELF_CPU_MEMORY:
        return TP_PATH_HOST_BYTES;
    case TP_MEASURE_SELF_DEVICE_MEMORY:
        return TP_PATH_DEVICE_BYTES;
    case TP_MEASURE_COUNT:
        return TP_PATH_COUNT;
    default:
        return TP_PATH_SELF_CPU_NS;
    }
}

static void put_frame(struct tp_buffer *out, const struct tp_string *frame)
{
    for (uint32_t i = 0; i < frame->size; i++) {
        char c = frame->bytes[i];
        tp_buffer_char(out, c == ';' || (unsigned char)c < ' ' ? '_' : c);
    }
}

/* Outermost first. @chain: room that is grown as needed. */
static int put_path(struct tp_buffer *line, struct tp_buffer *chain,
                    const struct tp_call_paths *paths, uint32_t number)
{
    tp_buffer_reset(chain);
    for (uint32_t at = number; at != TP_NO_PATH; at = paths->items[at].parent)
        tp_buffer_bytes(chain, &paths->items[at].frame, sizeof(uint32_t));
    if (chain->failed)
        return -ENOMEM;
    const uint32_t *frames = (const uint32_t *)(const void *)chain->bytes;
    for (size_t i = chain->size / sizeof(*frames); i-- > 0;) {
        put_frame(line, tp_call_paths_frame(paths, frames[i]));
        tp_buffer_char(line, i ? ';' : ' ');
    }
    return 0;
}

int tp_folded_write(const struct tp_report *report, const struct tp_view_options *options,
                    struct tp_output *output, struct tp_diag *diag)
{
    enum tp_path_value value = value_of(options->metric);
    struct tp_buffer line = {0}, chain = {0};
    struct tp_call_paths paths;
    uint64_t negative = 0, lines = 0;
    int64_t negative_sum = 0;

    int result = tp_call_paths_init(&paths, report->list, false);
    for (uint32_t i = 0; !result && i < paths.count && !tp_output_failed(output); i++) {
        int64_t weight = paths.items[i].values[value];
        negative += weight < 0;
        negative_sum += weight < 0 ? weight : 0;
        if (weight <= 0)
            continue;
        tp_buffer_reset(&line);
        result = put_path(&line, &chain, &paths, i);
        tp_buffer_format(&line, "%lld\n", (long long)weight);
        tp_output_buffer(output, &line);
        lines++;
    }
    if (negative)
        tp_output_note(output, "%llu path%s whose sum is below zero left out, %lld in all",
                       (unsigned long long)negative, negative == 1 ? "" : "s",
                       (long long)negative_sum);
    else if (!result && !lines && report->count)
        tp_output_note(output, "no event has any of that metric, so there are no stacks");
    tp_call_paths_fini(&paths);
    tp_buffer_fini(&line);
    tp_buffer_fini(&chain);
    return result < 0 ? tp_diag_fail(diag, result, TP_DIAG_NO_OFFSET, "no memory for the stacks")
                      : 0;
}
