/* SPDX-License-Identifier: MIT */
#include "read_recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace.h"
#include "model/tree.h"
#include "unit.h"

char recording_folder[256];

void recording_setup(void)
{
    make_temporary(recording_folder);
}

void recording_teardown(void)
{
    remove_tree(recording_folder);
}

void begin_recording(struct recording *r, const char *run, uint32_t pid, int64_t start_ns)
{
    begin_recording_since(r, run, pid, start_ns, 0);
}

void begin_recording_since(struct recording *r, const char *run, uint32_t pid, int64_t start_ns,
                           unsigned kernel_start)
{
    static char path[512];
    struct recording_options options = {.run_dir = path,
                                        .pid = pid,
                                        .rank = (int)pid % 10,
                                        .start_ns = start_ns,
                                        .kernel_start = kernel_start,
                                        .counts_memory = true};

    snprintf(path, sizeof(path), "%s/%s", recording_folder, run);
    recording_begin(r, &options);
    recording_clock(r, 0);
    recording_clock(r, 1000000000);
}

uint32_t operator_name(struct recording *r, const char *name)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "%s%c", name, 0);

    return recording_name(r, TP_NAME_OPERATOR, text, (size_t)n);
}

uint64_t put_records(struct recording_track *t, uint64_t ticks, const char *text)
{
    static uint32_t no_words_needed;
    uint64_t words[4] = {UINT64_MAX, 0, 0, 0};
    uint32_t first = TP_NAME_FIRST + no_words_needed;

    for (; *text; text++) {
        static const char signs[] = "()<>[]{}";
        static const unsigned kinds[] = {TP_EVENT_OP_BEGIN,  TP_EVENT_OP_END,    TP_EVENT_NVTX_PUSH,
                                         TP_EVENT_NVTX_POP,  TP_EVENT_ITT_BEGIN, TP_EVENT_ITT_END,
                                         TP_EVENT_API_BEGIN, TP_EVENT_API_END};
        const char *sign = strchr(signs, *text);
        if (*text == ' ')
            continue;
        if (*text == '|') {
            track_flush(t);
            continue;
        }
        ck_assert_ptr_nonnull(sign);
        unsigned kind = kinds[sign - signs];
        uint32_t name =
            tp_kinds[kind].role == TP_ROLE_BEGIN ? first + (uint32_t)(*++text - 'a') : 0;
        track_put(t, kind, ticks, name, words);
        ticks += 10;
    }
    return ticks;
}

void name_letters(struct recording *r)
{
    for (char c = 'a'; c <= 'h'; c++)
        operator_name(r, (char[]){c, '\0'});
}

const struct tp_selection everything;

void open_reading(struct reading *r, const char *run, const struct tp_selection *selection)
{
    static char path[512];

    memset(r, 0, sizeof(*r));
    snprintf(path, sizeof(path), "%s/%s", recording_folder, run);
    ck_assert_int_eq(tp_strings_init(&r->strings), 0);
    ck_assert_int_eq(tp_stacks_init(&r->stacks), 0);
    tp_event_list_init(&r->list, &r->strings, &r->stacks);
    r->list.keeps_details = true;
    int error = tp_input_open(&r->input, path, selection, &r->diag);
    ck_assert_msg(!error, "%s", r->diag.text);
}

int read_averages(struct reading *r, const char *run, const struct tp_averages_options *options)
{
    struct tp_input_averages part = {0};

    open_reading(r, run, &everything);
    int error = tp_input_tptrace.read_averages(&r->input, &r->strings, &r->stacks, options, &part,
                                               &r->diag);
    if (error)
        return error;
    ck_assert_int_eq(tp_averages_finish(part.averages, &r->rows, &r->count), 0);
    tp_averages_destroy(part.averages);
    return 0;
}

void read_events(struct reading *r, const char *run, const struct tp_selection *selection)
{
    open_reading(r, run, selection);
    int error = tp_input_tptrace.read_list(&r->input, &r->list, &r->diag);
    ck_assert_msg(!error, "%s", r->diag.text);
    ck_assert_int_eq(tp_tree_build(&r->list, &r->diag), 0);
    ck_assert_int_eq(tp_tree_times(&r->list, &r->diag), 0);
}

void close_reading(struct reading *r)
{
    free(r->rows);
    tp_input_close(&r->input);
    tp_event_list_fini(&r->list);
    tp_stacks_fini(&r->stacks);
    tp_strings_fini(&r->strings);
}

void expect_notes(const struct reading *r, const char *expected)
{
    char notes[4096];

    snprintf(notes, sizeof(notes), "%.*s", (int)r->input.notes.size,
             r->input.notes.size ? r->input.notes.bytes : "");
    if (!*expected)
        ck_assert_str_eq(notes, "");
    else
        ck_assert_msg(strstr(notes, expected) != NULL, "%s is not in: %s", expected, notes);
}
