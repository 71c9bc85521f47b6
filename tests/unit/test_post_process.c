/* SPDX-License-Identifier: MIT
 * From raw records to the list of events, before any tree: against the reference's own lists. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/event_list_json.h"
#include "input/raw_records_json.h"
#include "model/post_process.h"

static char *read_file(const char *folder, const char *name, size_t *ret_size)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/kineto/%s/%s", TP_GOLDEN, folder, name);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    char *text = malloc(1 << 20);
    *ret_size = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

static void assert_number(const struct tp_function_event *a, const struct tp_function_event *b,
                          enum tp_event_number n)
{
    struct tp_number left = tp_event_get(a, n), right = tp_event_get(b, n);

    ck_assert_msg(left.is_real == right.is_real && !tp_number_compare(left, right), "number %d", n);
}

static void assert_kernels(const struct tp_event_list *mine, const struct tp_event_list *wanted,
                           uint32_t i)
{
    const struct tp_function_event *a = &mine->events[i], *b = &wanted->events[i];

    ck_assert_uint_eq(a->kernel_count, b->kernel_count);
    for (uint32_t k = 0; k < a->kernel_count; k++) {
        const struct tp_kernel *left = &mine->kernels[a->first_kernel + k];
        const struct tp_kernel *right = &wanted->kernels[b->first_kernel + k];
        ck_assert_uint_eq(left->name, right->name);
        ck_assert_int_eq(left->device, right->device);
        ck_assert_int_eq(left->duration.is_real, right->duration.is_real);
        ck_assert_int_eq(tp_number_compare(left->duration, right->duration), 0);
    }
}

/* Both lists share their pools, so that equal texts are equal ids. */
static void assert_event(const struct tp_event_list *mine, const struct tp_event_list *wanted,
                         uint32_t i)
{
    const uint16_t internal = TP_EVENT_NO_LAUNCH | TP_EVENT_CALL;
    const struct tp_function_event *a = &mine->events[i], *b = &wanted->events[i];

    ck_assert_int_eq(a->id, b->id);
    ck_assert_str_eq(tp_strings_get(mine->strings, a->name)->bytes,
                     tp_strings_get(mine->strings, b->name)->bytes);
    ck_assert_uint_eq(a->trace_name, b->trace_name);
    ck_assert_uint_eq(a->overload_name, b->overload_name);
    ck_assert_uint_eq(a->input_shapes, b->input_shapes);
    ck_assert_uint_eq(a->stack, b->stack);
    ck_assert_uint_eq(a->use_device, b->use_device);
    ck_assert_int_eq(a->thread, b->thread);
    ck_assert_int_eq(a->fwd_thread, b->fwd_thread);
    ck_assert_int_eq(a->sequence_nr, b->sequence_nr);
    ck_assert_int_eq(a->device_resource_id, b->device_resource_id);
    ck_assert_int_eq(a->node_id, b->node_id);
    ck_assert_int_eq(a->device_index, b->device_index);
    ck_assert_int_eq(a->device_type, b->device_type);
    ck_assert_int_eq(a->scope, b->scope);
    ck_assert_int_eq(a->flags & ~internal, b->flags);
    assert_number(a, b, TP_EVENT_START);
    assert_number(a, b, TP_EVENT_END);
    assert_number(a, b, TP_EVENT_CPU_MEMORY);
    assert_number(a, b, TP_EVENT_DEVICE_MEMORY);
    assert_number(a, b, TP_EVENT_FLOPS);
    assert_kernels(mine, wanted, i);
    ck_assert_uint_eq(mine->details[i].activity_type, wanted->details[i].activity_type);
    ck_assert_int_eq(mine->details[i].linked_correlation_id,
                     wanted->details[i].linked_correlation_id);
}

static void assert_parsed(const char *folder)
{
    struct fixture f;
    struct tp_event_list wanted;
    size_t size;

    ck_assert_int_eq(fixture_parse(&f, "[]"), 0);
    f.list.keeps_details = true;
    char *text = read_file(folder, "case.json", &size);
    ck_assert_msg(tp_raw_records_json_parse(text, size, &f.list, &f.diag) == 0, "%s", f.diag.text);
    free(text);
    tp_event_list_init(&wanted, &f.strings, &f.stacks);
    wanted.keeps_details = true;
    text = read_file(folder, "parsed.json", &size);
    ck_assert_int_eq(tp_event_list_json_parse(text, size, NULL, &wanted, &f.diag), 0);
    free(text);
    ck_assert_uint_eq(f.list.count, wanted.count);
    for (uint32_t i = 0; i < wanted.count; i++)
        assert_event(&f.list, &wanted, i);
    tp_event_list_fini(&wanted);
    fixture_fini(&f);
}

static const char *const folders[] = {"parse_cpu",          "parse_cuda",   "parse_fallback",
                                      "parse_id_collision", "parse_memory", "parse_stacks"};

START_TEST(lists_are_the_references)
{
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        assert_parsed(folders[i]);
}
END_TEST

/* ---- what the goldens don't show ---- */

struct records {
    struct fixture f;
    struct tp_raw_records raw;
};

static void begin(struct records *r, const char *use_device)
{
    ck_assert_int_eq(fixture_parse(&r->f, "[]"), 0);
    if (use_device)
        r->f.list.use_device = fixture_string(&r->f, use_device);
    tp_raw_records_init(&r->raw, &r->f.list);
}

static struct tp_raw_record record(struct records *r, const char *name, int64_t start, int64_t end,
                                   int64_t id, int64_t linked)
{
    struct tp_raw_record record;

    tp_raw_record_init(&record);
    record.name = fixture_string(&r->f, name);
    record.start_ns = start;
    record.end_ns = end;
    record.correlation_id = id;
    record.linked_correlation_id = linked;
    return record;
}

static void add(struct records *r, const struct tp_raw_record *record)
{
    ck_assert_msg(tp_raw_records_add(&r->raw, record, &r->f.diag) == 0, "%s", r->f.diag.text);
}

static void finish_at(struct records *r, int64_t trace_start_ns)
{
    ck_assert_int_eq(tp_post_process(&r->raw, trace_start_ns, &r->f.diag), 0);
    tp_raw_records_fini(&r->raw);
}

static void finish(struct records *r)
{
    finish_at(r, 0);
}

static const struct tp_function_event *find(const struct records *r, const char *name)
{
    for (uint32_t i = 0; i < r->f.list.count; i++) {
        if (!strcmp(tp_strings_get(&r->f.strings, r->f.list.events[i].name)->bytes, name))
            return &r->f.list.events[i];
    }
    ck_abort_msg("no %s", name);
    return NULL;
}

START_TEST(a_negative_link_is_refused_in_the_references_words)
{
    struct records r;

    begin(&r, NULL);
    struct tp_raw_record bad = record(&r, "k", 0, 1, 3, -4);
    ck_assert_int_eq(tp_raw_records_add(&r.raw, &bad, &r.f.diag), -TP_EVALUE);
    ck_assert_str_eq(r.f.diag.text, "Got negative correlation id -4 in profiler post processing");
    tp_raw_records_fini(&r.raw);
    fixture_fini(&r.f);
}
END_TEST

START_TEST(equal_ids_share_kernels_and_the_last_takes_the_calls)
{
    struct records r;

    begin(&r, "cuda");
    for (int i = 0; i < 3; i++) {
        struct tp_raw_record op = record(&r, i == 2 ? "last" : "op", i * 100, i * 100 + 50, 7, 0);
        op.start_thread = op.end_thread = 40 + i;
        add(&r, &op);
    }
    struct tp_raw_record call = record(&r, "launch", 10, 20, 90, 7);
    call.start_thread = call.end_thread = 99;
    add(&r, &call);
    struct tp_raw_record kernel = record(&r, "kernel", 300, 400, 90, 7);
    kernel.device_type = TP_DEVICE_CUDA;
    add(&r, &kernel);
    finish(&r);
    ck_assert_uint_eq(r.f.list.kernel_count, 1);
    ck_assert_uint_eq(find(&r, "op")->kernel_count, 1);
    ck_assert_uint_eq(find(&r, "last")->first_kernel, find(&r, "op")->first_kernel);
    ck_assert_int_eq(find(&r, "launch")->thread, 42);
    fixture_fini(&r.f);
}
END_TEST

/* As many operators as kernels, all with one id. */
static void add_equal_ids(struct records *r, int count, bool measured)
{
    for (int i = 0; i < count; i++) {
        struct tp_raw_record op = record(r, "op", i, i + 1, 7, 0);
        if (measured)
            op.cuda_elapsed_us = tp_number_integer(1);
        add(r, &op);
        struct tp_raw_record kernel = record(r, "kernel", i, i + 1, 90, 7);
        kernel.device_type = TP_DEVICE_CUDA;
        add(r, &kernel);
    }
}

START_TEST(equal_ids_take_no_more_room_than_others)
{
    enum { COUNT = 20000 };
    struct records r;

    begin(&r, "cuda");
    add_equal_ids(&r, COUNT, false);
    finish(&r);
    ck_assert_uint_eq(r.f.list.kernel_count, COUNT);
    ck_assert_uint_eq(find(&r, "op")->kernel_count, COUNT);
    fixture_fini(&r.f);
}
END_TEST

START_TEST(kernels_that_cannot_be_shared_are_limited)
{
    struct records r;

    begin(&r, "cuda");
    add_equal_ids(&r, 100, true); /* 100 x 100 copies, 64 x 200 are fine */
    finish(&r);
    ck_assert_uint_eq(find(&r, "op")->kernel_count, 101);
    fixture_fini(&r.f);
    begin(&r, "cuda");
    add_equal_ids(&r, 1000, true);
    ck_assert_int_eq(tp_post_process(&r.raw, 0, &r.f.diag), -TP_ELIMIT);
    ck_assert_ptr_nonnull(strstr(r.f.diag.text, "too many events with a measured time"));
    ck_assert_uint_le(r.f.list.kernel_count, 64 * 2000 + 1000);
    tp_raw_records_fini(&r.raw);
    fixture_fini(&r.f);
}
END_TEST

START_TEST(some_devices_are_never_credited)
{
    static const struct {
        uint8_t type;
        bool credited;
    } cases[] = {{TP_DEVICE_CUDA, true},
                 {TP_DEVICE_XPU, true},
                 {TP_DEVICE_PRIVATEUSE1, true},
                 {TP_DEVICE_MTIA, false},
                 {TP_DEVICE_HPU, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct records r;
        begin(&r, "cuda");
        struct tp_raw_record op = record(&r, "op", 0, 10, 1, 0);
        add(&r, &op);
        struct tp_raw_record work = record(&r, "work", 20, 30, 2, 1);
        work.device_type = cases[i].type;
        add(&r, &work);
        finish(&r);
        ck_assert_uint_eq(find(&r, "op")->kernel_count, cases[i].credited);
        fixture_fini(&r.f);
    }
}
END_TEST

START_TEST(measured_times_count_for_their_device_only)
{
    static const struct {
        const char *device;
        int64_t expected; /* 0: no kernel */
    } cases[] = {{"cuda", 5}, {"npu", 6}, {"privateuseone", 6}, {"xpu", 0}, {NULL, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct records r;
        begin(&r, cases[i].device);
        struct tp_raw_record op = record(&r, "op", 0, 10, 1, 0);
        op.cuda_elapsed_us = tp_number_integer(5);
        op.privateuse1_elapsed_us = tp_number_integer(6);
        add(&r, &op);
        finish(&r);
        const struct tp_function_event *event = find(&r, "op");
        ck_assert_int_eq((event->flags & TP_EVENT_LEGACY) != 0, cases[i].expected != 0);
        ck_assert_uint_eq(event->kernel_count, cases[i].expected != 0);
        if (cases[i].expected)
            ck_assert_int_eq((int64_t)r.f.list.kernels[0].duration.bits.low, cases[i].expected);
        fixture_fini(&r.f);
    }
}
END_TEST

/* An operator, a call that launched it, or neither. */
START_TEST(work_without_a_launch_is_marked)
{
    struct records r;

    begin(&r, "cuda");
    struct tp_raw_record op = record(&r, "op", 0, 10, 1, 0);
    add(&r, &op);
    struct tp_raw_record call = record(&r, "launch", 20, 30, 50, 0);
    call.is_call = true;
    add(&r, &call);
    static const struct {
        const char *name;
        int64_t id, linked;
        bool is_annotation, marked;
    } work[] = {{"of_op", 70, 1, false, false}, {"of_call", 50, 0, false, false},
                {"orphan", 71, 0, false, true}, {"of_lost_op", 72, 9, false, true},
                {"range", 73, 0, true, false},  {"op's id, but no call", 1, 0, false, true}};
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++) {
        struct tp_raw_record w = record(&r, work[i].name, 100, 110, work[i].id, work[i].linked);
        w.device_type = TP_DEVICE_CUDA;
        w.is_user_annotation = work[i].is_annotation;
        add(&r, &w);
    }
    finish(&r);
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
        ck_assert_msg(((find(&r, work[i].name)->flags & TP_EVENT_NO_LAUNCH) != 0) == work[i].marked,
                      "%s", work[i].name);
    fixture_fini(&r.f);
}
END_TEST

START_TEST(the_order_is_by_start_then_longest_then_capture)
{
    struct records r;
    static const struct {
        const char *name;
        int64_t start, end;
    } given[] = {{"e", 20, 30}, {"c", 10, 20}, {"a", 0, 5},
                 {"d", 10, 20}, {"b", 10, 25}, {"f", 20, 10}};

    begin(&r, NULL);
    r.f.list.keeps_details = true;
    for (size_t i = 0; i < 6; i++) {
        struct tp_event_details details = tp_event_details_none();
        struct tp_raw_record one = record(&r, given[i].name, given[i].start, given[i].end, 0, 0);
        details.python_id = given[i].name[0];
        one.details = &details;
        add(&r, &one);
    }
    finish(&r);
    for (uint32_t i = 0; i < 6; i++) {
        ck_assert_int_eq(tp_strings_get(&r.f.strings, r.f.list.events[i].name)->bytes[0],
                         (int)('a' + i));
        ck_assert_int_eq(r.f.list.details[i].python_id, (int)('a' + i)); /* go with their events */
    }
    fixture_fini(&r.f);
}
END_TEST

static bool keep_even(void *context, const struct tp_function_event *event, int64_t linked_id,
                      const struct tp_memory_record *memory)
{
    (void)context;
    (void)linked_id;
    return memory ? memory->bytes % 2 == 0 : event->id % 2 == 0;
}

START_TEST(what_is_not_retained_leaves_no_trace)
{
    struct records r;

    begin(&r, "cuda");
    for (int i = 0; i < 6; i++) {
        struct tp_raw_record op = record(&r, "op", i * 10, i * 10 + 5, i, 0);
        op.cuda_elapsed_us = tp_number_integer(100 + i);
        add(&r, &op);
        struct tp_raw_record memory = record(&r, "[memory]", 1000 + i, 1000 + i, 0, 0);
        memory.bytes = i;
        add(&r, &memory);
    }
    struct tp_raw_record call = record(&r, "call", 41, 42, 8, 4);
    call.start_thread = call.end_thread = 9;
    add(&r, &call);
    tp_raw_records_retain(&r.raw, keep_even, NULL);
    finish(&r);
    ck_assert_uint_eq(r.f.list.count, 7);
    ck_assert_int_eq(find(&r, "call")->thread, 1); /* still linked to the third */
    for (uint32_t i = 0; i < 3; i++) {
        const struct tp_function_event *event = &r.f.list.events[i];
        ck_assert_int_eq(event->id, 2 * i);
        ck_assert_int_eq((int64_t)r.f.list.kernels[event->first_kernel].duration.bits.low,
                         100 + 2 * i);
    }
    fixture_fini(&r.f);
}
END_TEST

START_TEST(times_far_apart_are_rounded_once)
{
    struct records r;

    begin(&r, NULL);
    struct tp_raw_record op = record(&r, "op", INT64_MIN, INT64_MAX, 1, 0);
    add(&r, &op);
    finish(&r);
    ck_assert(tp_event_get(&r.f.list.events[0], TP_EVENT_START).bits.real == -9223372036854775.808);
    ck_assert(tp_event_get(&r.f.list.events[0], TP_EVENT_END).bits.real == 9223372036854775.807);
    fixture_fini(&r.f);
    begin(&r, NULL);
    op = record(&r, "op", INT64_MIN, INT64_MIN, 1, 0);
    add(&r, &op);
    finish_at(&r, INT64_MAX); /* further than 64 bits */
    ck_assert(tp_event_get(&r.f.list.events[0], TP_EVENT_START).bits.real ==
              -18446744073709551.615);
    fixture_fini(&r.f);
}
END_TEST

RUN_TESTS("post_process", lists_are_the_references,
          a_negative_link_is_refused_in_the_references_words,
          equal_ids_share_kernels_and_the_last_takes_the_calls,
          equal_ids_take_no_more_room_than_others, kernels_that_cannot_be_shared_are_limited,
          some_devices_are_never_credited, measured_times_count_for_their_device_only,
          work_without_a_launch_is_marked, the_order_is_by_start_then_longest_then_capture,
          what_is_not_retained_leaves_no_trace, times_far_apart_are_rounded_once)
