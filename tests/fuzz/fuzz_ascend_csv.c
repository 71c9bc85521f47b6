/* SPDX-License-Identifier: MIT
 * Any bytes as one of Ascend's CSV files: summed, shown in every format of the kernels report, as
 * averages and as a list of events. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "input/ascend_csv.h"
#include "input/ascend_events.h"
#include "kernel_columns.h"
#include "model/tree.h"
#include "view/view.h"

static struct tp_output output;

static const struct tp_view_options options = {
    .row_limit = 20, .row_limit_given = true, .max_name_width = 9, .header = "x"};

/* The same bytes, read once for each thing that is made of them. */
struct fuzz_source {
    struct tp_work_source source; /* first */
    const char *text;
    size_t size;
    struct tp_strings strings;
    struct tp_stacks stacks;
};

static int read_source(struct tp_work_source *source, struct tp_work_sink *sink,
                       struct tp_diag *diag)
{
    struct fuzz_source *s = (struct fuzz_source *)source;

    return tp_ascend_csv_parse(s->text, s->size, NULL, &s->strings, sink, diag);
}

static void show(const struct tp_report *report, const char *format)
{
    struct tp_diag diag;

    output.used = 0;
    tp_view_find(TP_VIEW_KERNELS, format, &diag)->write(report, &options, &output, &diag);
}

static void show_sums(struct fuzz_source *s)
{
    struct tp_diag diag;
    struct tp_kernels kernels;
    struct tp_kernel_report sums = {.kernels = &kernels, .repeat = 3};
    struct tp_report report = {.strings = &s->strings, .stacks = &s->stacks, .kernels = &sums};

    tp_kernels_init(&kernels);
    int result = read_source(&s->source, &kernels.sink, &diag);
    kernels.is_ascend = true;
    tp_kernels_end_input(&kernels, &(struct tp_work_span){0});
    for (int profiler = 0; !result && profiler < TP_PROFILERS; profiler++) {
        if (tp_kernels_choose(&kernels, profiler, &sums.profiler, &diag) < 0)
            continue;
        sums.shown = tp_kernels_class(&kernels, sums.profiler);
        tp_kernels_finish(&kernels, sums.shown, profiler & 1, &s->strings);
        tp_kernel_column_sort(&sums, TP_KERNEL_COLUMN_MEDIAN, &s->strings);
        show(&report, "text");
        show(&report, "json");
        show(&report, "csv");
        show(&report, "nsys-kernels");
    }
    tp_kernels_fini(&kernels);
}

static void show_pieces(struct fuzz_source *s)
{
    struct tp_report report = {.strings = &s->strings, .stacks = &s->stacks, .work = &s->source};

    show(&report, "ascend-kernel_details");
    show(&report, "ascend-operator_details");
}

static void make_averages(struct fuzz_source *s)
{
    struct tp_averages_options group = {.group_by_stack_n = 2, .group_by_input_shapes = true};
    struct tp_ascend_averages sums;
    struct tp_average *rows;
    struct tp_diag diag;
    size_t count;

    if (!tp_ascend_averages_init(&sums, &s->strings, &s->stacks, &group, &diag) &&
        !read_source(&s->source, &sums.sink, &diag) &&
        !tp_averages_finish(sums.averages, &rows, &count))
        free(rows);
    tp_averages_destroy(sums.averages);
    tp_ascend_averages_fini(&sums);
}

static void make_list(struct fuzz_source *s)
{
    struct tp_ascend_list events;
    struct tp_event_list list;
    struct tp_diag diag;

    tp_event_list_init(&list, &s->strings, &s->stacks);
    int result = tp_ascend_list_init(&events, &list, &diag);
    if (!result)
        result = read_source(&s->source, &events.sink, &diag);
    tp_ascend_list_finish(&events);
    if (!result)
        result = tp_tree_build(&list, &diag);
    if (!result)
        tp_tree_times(&list, &diag);
    tp_event_list_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_source s = {
        .source = {.read = read_source}, .text = (const char *)data, .size = size};
    struct tp_input input = {.fd = -1, .head = data, .head_size = size};

    if (!output.fd)
        output.fd = open("/dev/null", O_WRONLY);
    if (tp_strings_init(&s.strings) < 0 || tp_stacks_init(&s.stacks) < 0)
        return 0;
    tp_input_ascend_csv.probe(&input);
    show_sums(&s);
    show_pieces(&s);
    make_averages(&s);
    make_list(&s);
    tp_stacks_fini(&s.stacks);
    tp_strings_fini(&s.strings);
    return 0;
}
