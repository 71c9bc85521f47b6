/* SPDX-License-Identifier: MIT */
#include "input/tptrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_kernels.h"
#include "model/function_event.h"

#define TROUBLES_KEPT 8 /* texts per process that a report's head may show */
#define NOTES_MAX 40    /* lines of a report's head */

/* ---- ranges as events ---- */

int32_t tptrace_node_of(const struct tptrace_process *process, enum tp_by by)
{
    if (by == TP_BY_RANK)
        return (int32_t)process->meta.rank;
    return by == TP_BY_PROCESS ? (int32_t)process->meta.pid : -1;
}

void tptrace_event_of(struct tptrace_event *event, const struct tptrace_names *names,
                      const struct tp_stream_name *name, const uint64_t *record)
{
    bool op = tp_slot_kind(record) == TP_EVENT_OP_BEGIN;
    bool call = tp_slot_kind(record) == TP_EVENT_CUDA_BEGIN;
    uint8_t scope = op ? (uint8_t)record[7] : name->annotation && !call ? TP_SCOPE_USER : 0;
    uint32_t told = name->input_shapes == TP_STRING_NONE ? TP_STRING_LIST : name->input_shapes;

    *event = (struct tptrace_event){
        .name = name->name,
        .trace_name = name->trace_name,
        .overload_name = name->overload_name,
        .input_shapes = op ? tptrace_names_shapes(names, (uint32_t)record[6]) : told,
        .sequence_nr = op && !name->step ? (int64_t)record[4] : name->sequence_nr,
        .step = op && name->step ? (int64_t)record[4] : -1,
        .fwd_thread = op ? (uint32_t)record[5] : 0,
        .flags = TP_EVENT_NO_FLOPS | (scope == TP_SCOPE_USER ? TP_EVENT_USER_ANNOTATION : 0) |
                 (call ? TP_EVENT_CALL : 0),
        .scope = scope,
    };
}

/* ---- the input ---- */

static int probe(const struct tp_input *input)
{
    return input->is_directory && tptrace_is_recording(input->path) ? 100 : 0;
}

/* What there is, for who has selected nothing of it. */
static void tell_extent(struct tp_input *input, const struct tptrace_run *run)
{
    tp_extent_time(&input->extent, 0);
    tp_extent_time(&input->extent, run->end_ns - run->start_ns);
    if (run->has_steps) {
        tp_extent_step(&input->extent, run->first_step);
        tp_extent_step(&input->extent, run->last_step);
    }
    for (size_t i = 0; i < run->count; i++) {
        const struct tptrace_process *process = &run->members[i].process;
        for (size_t t = 0; run->members[i].was_read && t < process->tracks.count; t++) {
            const struct tptrace_track *track = process->tracks.items[t];
            const struct tptrace_meta_track *said =
                tptrace_meta_find_track(&process->meta, track->number);
            tp_extent_thread(&input->extent, track->tid, said ? said->name : NULL);
        }
    }
}

/* The report's head, and whether anything is missing. */
static void tell(struct tp_input *input, const struct tptrace_run *run,
                 const struct tp_strings *strings)
{
    tptrace_head_lines(run, strings, "tpreport: ", NOTES_MAX, &input->notes);
    tptrace_head_json(run, strings, false, &input->recording);
    if (tptrace_run_was_cut(run))
        input->lost_count++;
    tell_extent(input, run);
    input->has_span = true;
    input->start_ns = run->start_ns;
    input->end_ns = run->end_ns;
}

static int fail_memory(struct tp_diag *diag, int error)
{
    return error ? tp_diag_fail(diag, error, TP_DIAG_NO_OFFSET, "%s", tp_error_text(error)) : 0;
}

static int set_device(const struct tptrace_run *run, struct tp_strings *strings,
                      struct tp_input_averages *ret)
{
    ret->use_device = TP_STRING_NONE;
    if (!tptrace_run_uses_cuda(run))
        return 0;
    int error = tp_strings_put(strings, "cuda", 4, &ret->use_device);
    tp_averages_set_device(ret->averages, ret->use_device);
    return error;
}

static int read_averages(struct tp_input *input, struct tp_strings *strings,
                         struct tp_stacks *stacks, const struct tp_averages_options *options,
                         struct tp_input_averages *ret, struct tp_diag *diag)
{
    struct tptrace_sums *sums = NULL;
    struct tptrace_run run;
    struct tptrace_run_options how = {.selection = input->selection,
                                      .progress = input->progress,
                                      .fold = true,
                                      .want_shapes = options->group_by_input_shapes,
                                      .trouble_limit = TROUBLES_KEPT};

    int error = tptrace_run_open(&run, input->path, input->selection, diag);
    if (!error)
        error = fail_memory(diag, tptrace_sums_create(&sums, tptrace_run_workers(&how), stacks,
                                                      options, input->selection->by));
    if (!error)
        error = tptrace_run_read(&run, &how, strings, tptrace_sums_consumers(sums), diag);
    if (!error)
        error = fail_memory(diag, tptrace_sums_finish(sums, &ret->averages));
    if (!error) {
        tell(input, &run, strings);
        error = set_device(&run, strings, ret);
        ret->profile_memory = tptrace_run_counts_memory(&run);
        ret->with_flops = false;
    }
    tptrace_sums_destroy(sums);
    tptrace_run_close(&run);
    return error;
}

/* Whether device work is selected is known from its launch, which may come later. */
static bool can_average(const struct tp_input *input)
{
    const struct tp_selection *selection = input->selection;
    struct tptrace_run run;
    bool uses_cuda = false;

    if (!selection || !tp_selects_in_process(selection))
        return true;
    if (!tptrace_run_open(&run, input->path, selection, NULL)) {
        for (size_t i = 0; i < run.count; i++)
            uses_cuda |= run.members[i].uses_cuda;
    }
    tptrace_run_close(&run);
    return !uses_cuda;
}

/* Work of devices, and nothing that stands for it. */
static bool has_kernels(const struct tptrace_run *run)
{
    bool found = false;

    for (size_t i = 0; i < run->count; i++) {
        if (run->members[i].uses_cuda && !run->members[i].uses_cupti)
            return false;
        found |= run->members[i].uses_cupti;
    }
    return found;
}

static int sum_kernels(struct tp_input *input, struct tptrace_run *run, struct tp_strings *strings,
                       struct tptrace_sums *sums, struct tp_kernels *kernels, struct tp_diag *diag)
{
    struct tptrace_run_options how = {.progress = input->progress,
                                      .selection = input->selection,
                                      .fold = true,
                                      .trouble_limit = TROUBLES_KEPT};
    struct tptrace_kernels *takers = tptrace_kernels_create(strings, kernels);
    struct tp_averages *averages = NULL;
    int64_t cpu_ns, self_ns;

    int error = takers ? 0 : fail_memory(diag, -ENOMEM);
    tptrace_sums_set_kernels(sums, takers);
    if (!error)
        error = tptrace_run_read(run, &how, strings, tptrace_sums_consumers(sums), diag);
    if (!error)
        error = fail_memory(diag, tptrace_sums_finish(sums, &averages));
    if (!error && kernels->saw_device) {
        kernels->saw_host = tp_averages_host_times(averages, &cpu_ns, &self_ns);
        kernels->cpu_ns = tp_number_integer(cpu_ns);
        kernels->self_cpu_ns = tp_number_integer(self_ns);
        tell(input, run, strings);
    }
    tp_averages_destroy(averages);
    tptrace_kernels_destroy(takers);
    return error ? error : kernels->saw_device;
}

static int read_kernels(struct tp_input *input, struct tp_strings *strings,
                        struct tp_stacks *stacks, struct tp_kernels *kernels, struct tp_diag *diag)
{
    struct tp_averages_options options = {0};
    struct tptrace_run_options how = {.fold = true};
    struct tptrace_sums *sums = NULL;
    struct tptrace_run run;

    if (!can_average(input))
        return 0;
    int result = tptrace_run_open(&run, input->path, input->selection, diag);
    if (!result && has_kernels(&run)) {
        result = fail_memory(diag, tptrace_sums_create(&sums, tptrace_run_workers(&how), stacks,
                                                       &options, input->selection->by));
        if (!result)
            result = sum_kernels(input, &run, strings, sums, kernels, diag);
    }
    tptrace_sums_destroy(sums);
    tptrace_run_close(&run);
    return result;
}

static int read_into_lists(struct tp_input *input, struct tptrace_run *run,
                           struct tptrace_list **lists, unsigned count,
                           struct tp_event_list *events, struct tp_diag *diag)
{
    struct tptrace_run_options how = {.selection = input->selection,
                                      .progress = input->progress,
                                      .want_shapes = true,
                                      .workers = count,
                                      .trouble_limit = TROUBLES_KEPT};
    struct tptrace_consumer consumers[64] = {{0}};

    tptrace_list_want_summed(lists[0], events->summed);
    for (unsigned i = 0; i < count; i++)
        tptrace_list_consumer(lists[i], &consumers[i]);
    int error = tptrace_run_read(run, &how, events->strings, consumers, diag);
    if (error)
        return error;
    for (unsigned i = 1; i < count && !error; i++)
        error = tptrace_list_add(lists[0], lists[i]);
    if (!error)
        error = tptrace_list_finish(lists[0], run, events);
    if (!error)
        error = tptrace_marks(run, events);
    return fail_memory(diag, error);
}

static int read_list(struct tp_input *input, struct tp_event_list *events, struct tp_diag *diag)
{
    struct tptrace_list *lists[64] = {NULL};
    unsigned count = tptrace_worker_count(), made = 0;
    struct tptrace_run run;

    int error = tptrace_run_open(&run, input->path, input->selection, diag);
    while (!error && made < count && (lists[made] = tptrace_list_create(input->selection->by)))
        made++;
    if (!error && made < count)
        error = fail_memory(diag, -ENOMEM);
    if (!error)
        error = read_into_lists(input, &run, lists, count, events, diag);
    if (!error) {
        tell(input, &run, events->strings);
        events->profile_memory |= tptrace_run_counts_memory(&run);
    }
    for (unsigned i = 0; i < made; i++)
        tptrace_list_destroy(lists[i]);
    tptrace_run_close(&run);
    return error;
}

const struct tp_input_kind tp_input_tptrace = {
    .name = "tptrace",
    .help = "a recording of tpagent",
    .probe = probe,
    .find_below = tptrace_find_below,
    .read_list = read_list,
    .read_averages = read_averages,
    .can_average = can_average,
    .read_kernels = read_kernels,
};
