/* SPDX-License-Identifier: MIT
 * Any bytes as a Kineto trace, or, behind a first byte of 'r', as raw records: read, selected,
 * nested, averaged, shown in every form that it has. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "input/kineto_json.h"
#include "input/raw_records_json.h"
#include "model/tree.h"
#include "view/view.h"

static struct tp_output output;

static const struct tp_view_options options = {
    .row_limit = 30, .row_limit_given = true, .max_name_width = 20, .max_shapes_width = 20};

static void show(const struct tp_report *report, enum tp_view_subject subject, const char *format)
{
    struct tp_diag diag;

    output.used = 0;
    tp_view_find(subject, format, &diag)->write(report, &options, &output, &diag);
}

static void show_events(const struct tp_event_list *list)
{
    struct tp_report report;

    if (tp_report_init_events(&report, list) < 0)
        return;
    show(&report, TP_VIEW_ROWS, "text");
    show(&report, TP_VIEW_ROWS, "json");
    show(&report, TP_VIEW_TREE, "text");
    show(&report, TP_VIEW_TREE_COMPACT, "text");
    show(&report, TP_VIEW_STACKS, "folded");
    tp_report_fini(&report);
}

static void show_averages(const struct tp_event_list *list)
{
    struct tp_averages_options group = {
        .group_by_input_shapes = true, .group_by_stack_n = 3, .include_python_functions = true};
    struct tp_average *rows;
    struct tp_report report;
    size_t count;

    if (tp_key_averages(list, &group, &rows, &count) < 0)
        return;
    if (!tp_report_init_averages(&report, list->strings, list->stacks, rows, count)) {
        report.profile_memory = report.with_flops = true;
        show(&report, TP_VIEW_ROWS, "text");
        tp_report_fini(&report);
    }
    free(rows);
}

static int parse(const uint8_t *data, size_t size, struct tp_event_list *list, struct tp_diag *diag)
{
    static const struct tp_selection all,
        some = {.has_step = true, .first_step = 1, .last_step = 1};
    struct tp_input input = {.selection = size % 7 ? &all : &some, .fd = -1};

    if (size && *data == 'r')
        return tp_raw_records_json_parse((const char *)data + 1, size - 1, list, diag);
    return tp_kineto_json_parse(&input, (const char *)data, size, list, diag);
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
    list.keeps_details = size % 3 == 0;
    list.with_flops = size % 2;
    list.stacks_wanted = size % 5 ? TP_STACKS_DERIVED : TP_STACKS_AS_RECORDED;
    int result = parse(data, size, &list, &diag);
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
