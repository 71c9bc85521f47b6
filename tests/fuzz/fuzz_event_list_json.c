/* SPDX-License-Identifier: MIT
 * Any bytes as an event list: read, nested, averaged, and shown in every format there is. */
#include <fcntl.h>
#include <stdlib.h>

#include "columns.h"
#include "fuzz.h"
#include "input/event_list_json.h"
#include "model/tree.h"
#include "view/view.h"

static struct tp_output output;

static const struct tp_view_options narrow = {
    .row_limit = 20,
    .row_limit_given = true,
    .max_name_width = 2,
    .max_shapes_width = 5,
    .max_src_width = 3,
    .header = "x",
};

static const struct tp_view_options wide = {.row_limit = -1, .top_level_events_only = true};

static void show(const struct tp_report *report, enum tp_view_subject subject, const char *format)
{
    struct tp_diag diag;

    output.used = 0;
    tp_view_find(subject, format, &diag)->write(report, &narrow, &output, &diag);
    tp_view_find(subject, format, &diag)->write(report, &wide, &output, &diag);
}

static void show_rows(struct tp_report *report, int sort_column)
{
    show(report, TP_VIEW_ROWS, "text");
    tp_column_sort(report, sort_column);
    show(report, TP_VIEW_ROWS, "json");
    show(report, TP_VIEW_ROWS, "csv");
    show(report, TP_VIEW_ROWS, "repr");
    show(report, TP_VIEW_STACKS, "reference");
}

static void show_events(const struct tp_event_list *list)
{
    struct tp_report report;

    if (tp_report_init_events(&report, list) < 0)
        return;
    show(&report, TP_VIEW_TREE, "text");
    show(&report, TP_VIEW_TREE, "json");
    show(&report, TP_VIEW_TREE_COMPACT, "text");
    show(&report, TP_VIEW_TRACE, "list");
    show_rows(&report, TP_COLUMN_START);
    tp_report_fini(&report);
}

static void show_averages(const struct tp_event_list *list)
{
    struct tp_averages_options group = {
        .group_by_stack_n = 2, .group_by_input_shapes = true, .group_by_overload_name = true};
    struct tp_average *rows;
    struct tp_report report;
    size_t count;

    if (tp_key_averages(list, &group, &rows, &count) < 0)
        return;
    if (!tp_report_init_averages(&report, list->strings, list->stacks, rows, count)) {
        report.profile_memory = report.with_flops = true;
        show_rows(&report, TP_COLUMN_SELF_CPU_TIME);
        tp_report_fini(&report);
    }
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_strings strings;
    struct tp_stacks stacks;
    struct tp_event_list list;
    struct tp_diag diag;

    if (!output.fd)
        output.fd = open("/dev/null", O_WRONLY);
    if (tp_strings_init(&strings) < 0 || tp_stacks_init(&stacks) < 0)
        return 0;
    tp_event_list_init(&list, &strings, &stacks);
    int result = tp_event_list_json_parse((const char *)data, size, NULL, &list, &diag);
    if (!result)
        result = tp_tree_build(&list, &diag);
    if (!result)
        result = tp_tree_times(&list, &diag);
    if (!result) {
        show_events(&list);
        show_averages(&list);
    }
    tp_event_list_fini(&list);
    tp_stacks_fini(&stacks);
    tp_strings_fini(&strings);
    return 0;
}
