/* SPDX-License-Identifier: MIT
 * Commands over a kind of input that can stream: the same output as over a list. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Three events of two names, read either way. The times differ by input, told by its path. */
static struct tp_average_event plain_event(struct tp_strings *strings, const struct tp_input *input,
                                           int i)
{
    int64_t start = (input->path[0] - '0') * 1000000 + i * 1000;
    struct tp_average_event event = {
        .overload_name = TP_STRING_EMPTY,
        .input_shapes = TP_STRING_LIST,
        .stack = TP_STACK_EMPTY,
        .node_id = -1,
        .start_ns = start,
        .end_ns = start + 500,
        .sequence = (uint64_t)i,
        .cpu_total_ns = 500,
        .cpu_self_ns = 500,
        .cpu_memory = 10 * i,
        .cpu_memory_self = 10 * i,
        .count = 1,
    };

    ck_assert_int_eq(tp_strings_put(strings, i == 1 ? "b" : "a", 1, &event.name), 0);
    return event;
}

static int read_list(struct tp_input *input, struct tp_event_list *list, struct tp_diag *diag)
{
    (void)diag;
    for (int i = 0; i < 3; i++) {
        struct tp_average_event plain = plain_event(list->strings, input, i);
        struct tp_function_event event;
        tp_function_event_init(&event);
        event.name = plain.name;
        tp_event_set(&event, TP_EVENT_START, tp_number_real((double)plain.start_ns / 1000));
        tp_event_set(&event, TP_EVENT_END, tp_number_real((double)plain.end_ns / 1000));
        tp_event_set(&event, TP_EVENT_CPU_MEMORY, tp_number_integer(plain.cpu_memory));
        ck_assert_int_eq(tp_event_list_append(list, &event), 0);
    }
    list->profile_memory = true;
    return 0;
}

static int read_averages(struct tp_input *input, struct tp_strings *strings,
                         struct tp_stacks *stacks, const struct tp_averages_options *options,
                         struct tp_input_averages *ret, struct tp_diag *diag)
{
    (void)diag;
    int result = tp_averages_create(stacks, options, &ret->averages);
    for (int i = 2; !result && i >= 0; i--) {
        struct tp_average_event plain = plain_event(strings, input, i);
        result = tp_averages_add(ret->averages, &plain);
    }
    ret->profile_memory = true;
    tp_input_lost(input, 1, "one event lost");
    return result;
}

static const struct tp_input_kind listing = {.name = "listing", .read_list = read_list};
static const struct tp_input_kind streaming = {
    .name = "streaming", .read_list = read_list, .read_averages = read_averages};

typedef int command(struct tp_run *run, struct tp_diag *diag);

static void run_command(command *function, const char *const *words,
                        const struct tp_input_kind *kind, char *text, size_t size)
{
    static struct tp_output output;
    const char *inputs[8];
    char *argv[8] = {(char *)(uintptr_t) "tpreport"};
    struct tp_options options;
    struct tp_diag diag = {0};
    struct tp_run run = {0};
    int argc = 1, fd = memfd_create("out", 0);

    while (*words)
        argv[argc++] = (char *)(uintptr_t)*words++;
    ck_assert_int_eq(tp_options_parse(argc, argv, inputs, &options, &diag), 0);
    ck_assert_int_eq(tp_run_init(&run, &options, &diag), 0);
    tp_output_open(&output, NULL, &diag);
    output.fd = fd;
    run.output = &output;
    tp_progress_init(&run.progress, fd);
    run.inputs = calloc(2, sizeof(*run.inputs));
    run.input_count = 2;
    run.inputs[0] = (struct tp_input){.kind = kind, .path = "0", .fd = -1};
    run.inputs[1] = (struct tp_input){.kind = kind, .path = "1", .fd = -1};
    ck_assert_msg(!function(&run, &diag), "%s", diag.text);
    ck_assert_int_eq(tp_output_close(&output, true, &diag), 0);
    ssize_t got = pread(fd, text, size - 1, 0);
    text[got] = '\0';
    close(fd);
    tp_run_fini(&run);
}

START_TEST(streams_print_what_lists_print)
{
    static const struct {
        command *function;
        const char *words[4];
    } cases[] = {
        {tp_command_averages, {"averages"}},
        {tp_command_averages, {"averages", "--sort-by=count"}},
        {tp_command_averages, {"averages", "--format=repr"}},
        {tp_command_total, {"total"}},
        {tp_command_total, {"total", "--of=averages"}},
        {tp_command_events, {"events"}},
        {tp_command_tree, {"tree"}},
    };
    char list[8192], stream[8192];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run_command(cases[i].function, cases[i].words, &listing, list, sizeof(list));
        run_command(cases[i].function, cases[i].words, &streaming, stream, sizeof(stream));
        /* integer zeros of lists are doubles in streams; the tables show no difference */
        if (cases[i].function != tp_command_total)
            ck_assert_str_eq(stream, list);
        else
            ck_assert_ptr_nonnull(strstr(stream, "cpu_time_total            3.0 us  3.000us\n"));
        ck_assert_uint_gt(strlen(list), 50);
    }
}
END_TEST

START_TEST(a_trace_is_not_made_of_averages)
{
    struct outcome o = OUTCOME("[]", "trace", "--of=averages");

    ck_assert_int_eq(o.result, -TP_EVALUE);
    ck_assert(!o.is_usage);
    ck_assert_ptr_nonnull(
        strstr(o.diag.text, "'FunctionEventAvg' object has no attribute 'trace_name'"));
    outcome_fini(&o);
}
END_TEST

START_TEST(formats_and_sort_keys_are_checked_before_reading)
{
    struct outcome o = OUTCOME("broken", "--format=xml");

    ck_assert(o.is_usage);
    outcome_fini(&o);
    o = OUTCOME("broken", "--sort-by=start_us");
    ck_assert(o.is_usage);
    outcome_fini(&o);
    o = OUTCOME("broken", "events", "--sort-by=start_us");
    ck_assert(!o.is_usage && o.result == -TP_EFOREIGN);
    outcome_fini(&o);
}
END_TEST

START_TEST(traces_need_no_device_times)
{
    const char *json = "[" EV(1, "a", 0, 1, ",'device_type':'HIP','use_device':'hip'") "]";
    struct outcome o = OUTCOME(json, "trace");

    ck_assert_int_eq(o.result, 0);
    outcome_fini(&o);
    o = OUTCOME(json, "events");
    ck_assert_int_eq(o.result, -TP_EVALUE);
    outcome_fini(&o);
}
END_TEST

RUN_TESTS("command", streams_print_what_lists_print, a_trace_is_not_made_of_averages,
          formats_and_sort_keys_are_checked_before_reading, traces_need_no_device_times)
