/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/kineto_json.h"
#include "model/tree.h"

/* clang-format off: traces as text, an entry a line */

/* Traces are written with ' for ". */
struct loaded {
    struct fixture f;
    struct tp_input input;
    int result;
};

static const struct tp_selection everything;

static void load_as(struct loaded *l, const char *json, const struct tp_selection *selection,
                    enum tp_stacks_wanted stacks)
{
    char *text = strdup(json);

    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    ck_assert_int_eq(fixture_parse(&l->f, "[]"), 0);
    l->f.list.keeps_details = true;
    l->f.list.stacks_wanted = stacks;
    l->input = (struct tp_input){.selection = selection ? selection : &everything, .fd = -1};
    l->result = tp_kineto_json_parse(&l->input, text, strlen(text), &l->f.list, &l->f.diag);
    free(text);
}

static void load(struct loaded *l, const char *json, const struct tp_selection *selection)
{
    load_as(l, json, selection, TP_STACKS_AS_RECORDED);
}

static struct loaded good(const char *json)
{
    struct loaded l;

    load(&l, json, NULL);
    ck_assert_msg(l.result == 0, "%s", l.f.diag.text);
    return l;
}

static const char *name_of(const struct loaded *l, uint32_t i)
{
    return tp_strings_get(&l->f.strings, l->f.list.events[i].name)->bytes;
}

static void assert_names(struct loaded *l, const char *expected)
{
    struct tp_buffer names = {0};

    for (uint32_t i = 0; i < l->f.list.count; i++)
        tp_buffer_format(&names, "%s%s", i ? " " : "", name_of(l, i));
    tp_buffer_char(&names, '\0');
    ck_assert_str_eq(names.bytes, expected);
    tp_buffer_fini(&names);
}

#define X(cat, name, ts, dur, rest)                                                                \
    "{'ph':'X','cat':'" cat "','name':'" name "','pid':1,'tid':2,'ts':" ts ",'dur':" dur rest "}"
#define ARGS(args) ",'args':{" args "}"
#define TRACE(entries) "{'traceEvents':[" entries "]}"
#define EXACT(entries) "{'baseTimeNanoseconds':1000,'traceEvents':[" entries "]}"

/* ---- what counts ---- */

START_TEST(old_and_new_categories_count_and_others_do_not)
{
    struct loaded l = good(TRACE(
        X("cpu_op", "a", "1", "1", "") "," X("Operator", "b", "2", "1", "") "," X("user_annotation", "c", "3", "1", "") "," X(
            "python_function",
            "d", "4",
            "1",
            "") "," X("Runtime", "e", "5", "1",
                      "") "," X("cuda_driver", "f", "6", "1",
                                "") "," X("Kernel", "g", "7", "1",
                                          "") "," X("gpu_memcpy", "h", "8", "1",
                                                    "") "," X("Memset", "i", "9", "1",
                                                              "") "," X("gpu_user_annotation", "j",
                                                                        "10", "1",
                                                                        "") "," X("cuda_sync", "k",
                                                                                  "11", "1",
                                                                                  "") "," X("overhe"
                                                                                            "ad",
                                                                                            "l",
                                                                                            "12",
                                                                                            "1",
                                                                                            "") "," X("Trace",
                                                                                                      "m",
                                                                                                      "0",
                                                                                                      "1",
                                                                                                      "") "," X("ac2g",
                                                                                                                "n",
                                                                                                                "14",
                                                                                                                "1",
                                                                                                                "") ",{'ph':'s','cat':'cpu_op','name':'o','ts':1},"
                                                                                                                    "{'ph':'i','name':'p','ts':1},{},null"));

    assert_names(&l, "a b c d e f g h i j k l");
    ck_assert_str_eq(tp_strings_get(&l.f.strings, l.f.list.use_device)->bytes, "cuda");
    ck_assert_int_eq(l.f.list.events[3].flags & TP_EVENT_PYTHON_FUNCTION, TP_EVENT_PYTHON_FUNCTION);
    ck_assert_int_eq(l.f.list.events[2].scope, 7);
    fixture_fini(&l.f);
}
END_TEST

START_TEST(without_any_known_category_all_complete_entries_are_operators)
{
    struct loaded l = good(
        "[" X("ipc", "a", "5", "1", "") ",{'ph':'X','name':'b','ts':7,'tid':'main','pid':'p'}]");

    assert_names(&l, "a b");
    ck_assert_int_eq(l.f.list.use_device, TP_STRING_NONE);
    ck_assert_int_lt(l.f.list.events[1].thread, 0); /* a thread with a name only */
    fixture_fini(&l.f);
    l = good("[" X("ipc", "a", "1", "1", "") "," X("cpu_op", "b", "7", "1",
                                                   "") "," X("ipc", "c", "8", "1", "") "]");
    assert_names(&l, "b"); /* ... but not beside one that has it, whichever comes first */
    ck_assert(tp_event_get(&l.f.list.events[0], TP_EVENT_START).bits.real == 0.0);
    fixture_fini(&l.f);
}
END_TEST

START_TEST(the_list_export_keeps_remote_threads)
{
    struct loaded l = good("[{'name':'a','ph':'X','ts':1,'dur':2,'tid':' node_id:3, thread_id:44 ',"
                           "'pid':'CPU functions','args':{}}]");

    ck_assert_int_eq(l.f.list.events[0].thread, 44);
    ck_assert_int_eq(l.f.list.events[0].node_id, 3);
    ck_assert_int_ne(l.f.list.events[0].flags & TP_EVENT_REMOTE, 0);
    fixture_fini(&l.f);
}
END_TEST

/* ---- times ---- */

START_TEST(times_may_be_text_and_keep_all_their_digits)
{
    struct loaded l = good(TRACE(X("cpu_op", "a", "'4203669604595.407'", "'0.002'", "") "," X(
        "cpu_op", "b", "4203669604595.4095", "1e1", "") ",{'ph':'X','cat':'cpu_op','name':'c',"
                                                        "'ts':4203669604596.407}"));
    static const double starts[] = {0.0, 0.003, 1.0}, ends[] = {0.002, 10.003, 1.0};

    for (uint32_t i = 0; i < 3; i++) {
        ck_assert(tp_event_get(&l.f.list.events[i], TP_EVENT_START).bits.real == starts[i]);
        ck_assert(tp_event_get(&l.f.list.events[i], TP_EVENT_END).bits.real == ends[i]);
    }
    fixture_fini(&l.f);
}
END_TEST

START_TEST(new_files_count_from_the_profilers_start)
{
    static const char mark[] = "{'ph':'i','name':'Iteration Start: PyTorch Profiler','ts':10},";
    char json[512];

    for (int has_id = 0; has_id < 2; has_id++) {
        snprintf(json, sizeof(json), "{'traceEvents':[%s%s]%s}", mark,
                 X("cpu_op", "a", "15", "1", ""), has_id ? ",'trace_id':'x'" : "");
        struct loaded l = good(json);
        ck_assert(tp_event_get(&l.f.list.events[0], TP_EVENT_START).bits.real == (has_id ? 5 : 0));
        fixture_fini(&l.f);
    }
}
END_TEST

START_TEST(entries_without_a_time_are_left_out_and_said)
{
    struct loaded l = good("[{'ph':'X','cat':'cpu_op','name':'a'},{'ph':'i','name':'[memory]'}," X(
        "cpu_op", "b", "1", "1", "") "]");

    assert_names(&l, "b");
    ck_assert_uint_eq(l.input.lost_count, 2);
    fixture_fini(&l.f);
}
END_TEST

/* ---- links ---- */

START_TEST(work_is_linked_by_external_id)
{
    static const char entries[] =
        X("cuda_runtime", "launch", "12", "1", ARGS("'External id':7,'correlation':50")) "," X(
            "kernel", "k", "20", "5",
            ARGS(
                "'External "
                "id':7,'correlation':50,'device':3,'"
                "stream':9")) "," X("cuda_runtime", "own", "30", "1",
                                    ARGS("'External "
                                         "id':8,'"
                                         "correlation':"
                                         "8")) "," X("cpu"
                                                     "_o"
                                                     "p",
                                                     "op", "10", "9",
                                                     ARGS("'External id':7")) "," X("cpu_op",
                                                                                    "eight", "40",
                                                                                    "9",
                                                                                    ARGS("'External"
                                                                                         " id':8"));

    for (int exact = 0; exact < 2; exact++) {
        struct loaded l = good(exact ? EXACT("{'ph':'M'}") : TRACE("{'ph':'M'}"));
        fixture_fini(&l.f);
        char json[1024];
        snprintf(json, sizeof(json), "{%s'traceEvents':[%s]}",
                 exact ? "'baseTimeNanoseconds':0," : "", entries);
        l = good(json);
        assert_names(&l, "op launch k own eight");
        ck_assert_uint_eq(l.f.list.events[0].kernel_count, 1);
        ck_assert_int_eq(l.f.list.events[2].device_index, 3);
        ck_assert_int_eq(l.f.list.events[2].device_resource_id, 9);
        /* an old file gives unlinked work its own correlation */
        ck_assert_int_eq(l.f.list.details[3].linked_correlation_id, exact ? 8 : 0);
        fixture_fini(&l.f);
    }
}
END_TEST

START_TEST(equal_ids_are_joined_without_comparing_all_with_all)
{
    enum { COUNT = 20000 };
    struct tp_buffer json = {0};
    struct loaded l;

    tp_buffer_char(&json, '[');
    for (int i = 0; i < COUNT; i++) {
        tp_buffer_format(&json,
                         "{'ph':'X','cat':'cpu_op','name':'op','tid':1,'ts':%d,'dur':1,'args':"
                         "{'External id':7,'Sequence number':3,'Fwd thread id':1,'Call stack':'f'}}"
                         ",{'ph':'X','cat':'kernel','name':'k','ts':%d,'dur':1,'args':"
                         "{'External id':7,'correlation':8}},",
                         i, i);
        tp_buffer_format(&json,
                         "{'ph':'s','id':1,'name':'fwdbwd','tid':1,'ts':%d},"
                         "{'ph':'f','id':1,'name':'fwdbwd','tid':1,'ts':%d},",
                         i, i);
    }
    tp_buffer_string(&json, "{'ph':'M'}]");
    tp_buffer_char(&json, '\0');
    load(&l, json.bytes, NULL);
    ck_assert_msg(l.result == 0, "%s", l.f.diag.text);
    ck_assert_int_eq(tp_tree_build(&l.f.list, &l.f.diag), 0);
    ck_assert_int_eq(tp_tree_times(&l.f.list, &l.f.diag), 0);
    ck_assert_uint_eq(l.f.list.count, 2 * COUNT);
    ck_assert_uint_eq(l.f.list.kernel_count, COUNT); /* all operators share them */
    ck_assert_double_eq(
        tp_number_to_double(tp_event_get(&l.f.list.events[0], TP_EVENT_SELF_DEVICE_TIME)), COUNT);
    tp_buffer_fini(&json);
    fixture_fini(&l.f);
}
END_TEST

START_TEST(calls_move_to_their_operators_thread_and_filtered_operators_count)
{
    struct loaded l = good(TRACE(
        "{'ph':'X','cat':'cpu_op','name':'aten::is_leaf','tid':77,'ts':1,'dur':9,'args':{'External "
        "id':5}}," X("cuda_runtime", "launch", "2", "1", ARGS("'External id':5,'correlation':6"))));

    assert_names(&l, "launch");
    ck_assert_int_eq(l.f.list.events[0].thread, 77);
    ck_assert_int_eq(l.f.list.details[0].linked_correlation_id, 5);
    fixture_fini(&l.f);
}
END_TEST

START_TEST(annotations_on_the_device_lose_their_widening_in_exact_files)
{
    struct loaded l =
        good(EXACT(X("gpu_user_annotation", "a", "1.000", "2.000",
                     ARGS("'External id':4")) "," X("gpu_user_annotation", "b", "5", "0.001", "")));

    ck_assert(tp_event_get(&l.f.list.events[0], TP_EVENT_START).bits.real == 0.0);
    ck_assert(tp_event_get(&l.f.list.events[0], TP_EVENT_END).bits.real == 1.998);
    ck_assert_int_eq(l.f.list.events[0].id, 4);
    ck_assert(tp_number_sign(tp_event_elapsed(&l.f.list.events[1])) == 0);
    fixture_fini(&l.f);
}
END_TEST

START_TEST(memory_is_credited_and_the_columns_shown)
{
    struct loaded l = good(TRACE(
        X("cpu_op", "a", "10", "10", "") ",{'ph':'i','name':'[memory]','tid':2,'ts':15,'args':{"
                                         "'Bytes':-64,'Device Type':0}},"
                                         "{'ph':'i','name':'[memory]','tid':2,'ts':20,'args':{"
                                         "'Bytes':32,'Device Type':1}},"
                                         "{'ph':'i','name':'[memory]','tid':2,'ts':21,'args':{"
                                         "'Bytes':7,'Device Type':5}}"));

    assert_names(&l, "a [memory]");
    ck_assert_int_eq((int64_t)l.f.list.events[0].numbers[TP_EVENT_CPU_MEMORY].low, -64);
    ck_assert_int_eq((int64_t)l.f.list.events[0].numbers[TP_EVENT_DEVICE_MEMORY].low, 32);
    ck_assert(l.f.list.profile_memory);
    fixture_fini(&l.f);
}
END_TEST

START_TEST(memory_belongs_to_the_device_of_its_number)
{
    static const struct {
        int number;
        int64_t cpu, device;
    } cases[] = {{0, 9, 0}, {1, 0, 9}, {6, 0, 9}, {12, 0, 9}, {20, 0, 9}, {2, 0, 0}, {99, 0, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char json[256];
        snprintf(json, sizeof(json),
                 "[{'ph':'i','name':'[memory]','ts':1,'args':{'Bytes':9,'Device Type':%d}}]",
                 cases[i].number);
        struct loaded l = good(json);
        ck_assert_int_eq((int64_t)l.f.list.events[0].numbers[TP_EVENT_CPU_MEMORY].low,
                         cases[i].cpu);
        ck_assert_int_eq((int64_t)l.f.list.events[0].numbers[TP_EVENT_DEVICE_MEMORY].low,
                         cases[i].device);
        fixture_fini(&l.f);
    }
}
END_TEST

/* ---- operators ---- */

START_TEST(backward_scope_follows_from_the_forward_thread)
{
    struct loaded l = good(TRACE(
        X("cpu_op", "MulBackward0", "1", "9", ARGS("'Fwd thread id':1,'Sequence number':5")) "," X(
            "cpu_op", "autograd::engine::evaluate_function: Mul", "0", "20",
            ARGS("'Fwd thread id':1,'Sequence number':5")) "," X("cpu_op", "x", "30", "1",
                                                                 ARGS("'Fwd thread id':0"))));

    ck_assert_int_eq(l.f.list.events[0].scope, 0);
    ck_assert_int_eq(l.f.list.events[1].scope, 1);
    ck_assert_int_eq(l.f.list.events[1].sequence_nr, 5);
    ck_assert_int_eq(l.f.list.events[1].fwd_thread, 1);
    ck_assert_int_eq(l.f.list.events[2].scope, 0);
    ck_assert_int_eq(l.f.list.events[2].sequence_nr, -1);
    fixture_fini(&l.f);
}
END_TEST

/* ---- stacks ---- */

static void load_deriving(struct loaded *l, const char *json)
{
    load_as(l, json, NULL, TP_STACKS_DERIVED);
    ck_assert_msg(l->result == 0, "%s", l->f.diag.text);
}

/* Of each event in list order: its name and its frames, innermost first. */
static void assert_stacks(struct loaded *l, const char *expected)
{
    struct tp_buffer text = {0};

    for (uint32_t i = 0; i < l->f.list.count; i++) {
        uint32_t stack = l->f.list.events[i].stack;
        tp_buffer_format(&text, "%s%s[", i ? " " : "", name_of(l, i));
        for (uint32_t n = 0; n < tp_stacks_count(&l->f.stacks, stack); n++)
            tp_buffer_format(
                &text, "%s%s", n ? "," : "",
                tp_strings_get(&l->f.strings, tp_stacks_frames(&l->f.stacks, stack)[n])->bytes);
        tp_buffer_char(&text, ']');
    }
    tp_buffer_char(&text, '\0');
    ck_assert_str_eq(text.bytes, expected);
    tp_buffer_fini(&text);
}

START_TEST(call_stacks_are_lists_of_frames)
{
    struct loaded l = good(TRACE(X("cpu_op", "new", "1", "9", ARGS("'Call stack':'g;f;'")) "," X(
        "cpu_op", "old", "20", "9",
        ARGS("'Call stack':'torch/autograd/__init__(9): "
             "backward;f'")) "," X("python_function", "none", "30", "1",
                                   ARGS("'Call stack':''")) "," X("python_function", "odd", "40",
                                                                  "1", ARGS("'Call stack':7"))));

    assert_stacks(&l, "new[g,f] old[f] none[] odd[]"); /* less the profiler's own frames */
    fixture_fini(&l.f);
}
END_TEST

#define NESTED                                                                                     \
    TRACE(X("python_function", "f", "0", "100",                                                    \
            "") "," X("python_function", "g", "10", "50",                                          \
                      "") "," X("cpu_op", "op", "20", "10",                                        \
                                "") "," X("cpu_op", "late", "60", "10",                            \
                                          "") "," X("python_function", "f", "80", "10",            \
                                                    "") "," X("cpu_op", "deep", "81", "2", ""))

START_TEST(nested_python_calls_are_stacks_on_demand)
{
    struct loaded l = good(NESTED);

    assert_stacks(&l, "f[] g[] op[] late[] f[] deep[]");
    fixture_fini(&l.f);
    load_deriving(&l, NESTED); /* an event at the end of another is outside */
    assert_stacks(&l, "f[] g[f] op[g,f] late[f] f[f] deep[f,f]");
    fixture_fini(&l.f);
}
END_TEST

#define OP(tid, name, ts, args)                                                                    \
    "{'ph':'X','cat':'cpu_op','name':'" name "','tid':" tid ",'ts':" ts ",'dur':5,'args':{" args   \
    "}},"
#define FLOW(phase, id, tid, ts)                                                                   \
    "{'ph':'" phase "','id':" id ",'name':'fwdbwd','cat':'fwdbwd','tid':" tid ",'ts':" ts "},"

START_TEST(arrows_tell_the_forward_thread)
{
    struct loaded l = good(TRACE(
        OP("70", "A", "0", "'Sequence number':1,'Call stack':'a'")
            OP("80", "B", "1", "'Sequence number':1,'Call stack':'b'")
                OP("90", "ABackward", "20", "'Sequence number':1,'Fwd thread id':2")
                    OP("90", "BBackward", "30", "'Sequence number':1,'Fwd thread id':1")
                        OP("90", "torch::autograd::AccumulateGrad", "40", "'Call stack':'engine'")
                            FLOW("s", "5", "70", "0") FLOW("f", "5", "90", "20")
                                FLOW("f", "6", "90", "30") FLOW("s", "6", "80", "1") "{}"));

    ck_assert_int_eq(tp_tree_build(&l.f.list, &l.f.diag), 0);
    assert_stacks(&l, "A[a] B[b] ABackward[a] BBackward[b] torch::autograd::AccumulateGrad[]");
    fixture_fini(&l.f);
}
END_TEST

START_TEST(without_arrows_one_forward_thread_is_the_one)
{
    struct loaded l = good(TRACE(OP("70", "A", "0", "'Sequence number':1,'Call stack':'a'") OP(
        "90", "ABackward", "20", "'Sequence number':1,'Fwd thread id':1") "{}"));

    ck_assert_int_eq(tp_tree_build(&l.f.list, &l.f.diag), 0);
    assert_stacks(&l, "A[a] ABackward[a]");
    fixture_fini(&l.f);
}
END_TEST

START_TEST(very_deep_stacks_are_cut_and_counted)
{
    enum { DEPTH = 3000 };
    struct tp_buffer json = {0};
    struct loaded l;

    tp_buffer_char(&json, '[');
    for (int i = 0; i < DEPTH; i++)
        tp_buffer_format(&json, "{'ph':'X','cat':'python_function','name':'f%d','ts':%d,'dur':%d},",
                         i, i, 10000 - 2 * i);
    tp_buffer_string(&json, X("cpu_op", "op", "4000", "1", "") "]");
    tp_buffer_char(&json, '\0');
    load_deriving(&l, json.bytes);
    uint32_t stack = 0, most = 0;
    for (uint32_t i = 0; i < l.f.list.count; i++) {
        uint32_t count = tp_stacks_count(&l.f.stacks, l.f.list.events[i].stack);
        most = count > most ? count : most;
        stack = count == most ? l.f.list.events[i].stack : stack;
    }
    ck_assert_uint_eq(most, 1024);
    ck_assert_str_eq(tp_strings_get(&l.f.strings, tp_stacks_frames(&l.f.stacks, stack)[0])->bytes,
                     "f2998");
    ck_assert_uint_gt(l.input.lost_count, 0);
    ck_assert_ptr_nonnull(strstr(l.input.lost_text, "cut at 1024 frames"));
    fixture_fini(&l.f);
    tp_buffer_fini(&json);
}
END_TEST

START_TEST(overloads_are_told_from_names)
{
    static const struct {
        const char *name, *key, *overload;
    } cases[] = {
        {"aten::add.Tensor", "aten::add", "Tensor"},
        {"aten::add", "aten::add", ""},
        {"a::b::c.d_1", "a::b::c", "d_1"},
        {"enumerate(DataLoader)#It.__next__", "enumerate(DataLoader)#It.__next__", ""},
        {"Optimizer.step", "Optimizer.step", ""},
        {"aten::add.", "aten::add.", ""},
        {"aten::add.a.b", "aten::add.a.b", ""},
        {"::add.x", "::add.x", ""},
        {"f(x): aten::add.x", "f(x): aten::add.x", ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char json[256];
        snprintf(json, sizeof(json), "[{'ph':'X','cat':'cpu_op','ts':1,'name':'%s'}]",
                 cases[i].name);
        struct loaded l = good(json);
        ck_assert_str_eq(name_of(&l, 0), cases[i].key);
        ck_assert_str_eq(tp_strings_get(&l.f.strings, l.f.list.events[0].overload_name)->bytes,
                         cases[i].overload);
        fixture_fini(&l.f);
    }
}
END_TEST

START_TEST(flops_are_counted_when_the_file_or_the_user_wants)
{
    static const char entry[] =
        X("cpu_op", "aten::mm.out", "1", "1", ARGS("'Input Dims':[[2,3],[3,5]]"));
    char json[512];

    for (int how = 0; how < 3; how++) { /* nobody, the file, the user */
        struct fixture f;
        struct tp_input input = {.selection = &everything, .fd = -1};
        snprintf(json, sizeof(json), "{%s'traceEvents':[%s]}", how == 1 ? "'with_flops':1," : "",
                 entry);
        for (char *p = json; *p; p++)
            *p = *p == '\'' ? '"' : *p;
        ck_assert_int_eq(fixture_parse(&f, "[]"), 0);
        f.list.with_flops = how == 2;
        ck_assert_int_eq(tp_kineto_json_parse(&input, json, strlen(json), &f.list, &f.diag), 0);
        ck_assert_uint_eq(f.list.events[0].numbers[TP_EVENT_FLOPS].low, how ? 60 : 0);
        ck_assert_int_eq(f.list.with_flops, how > 0);
        fixture_fini(&f);
    }
}
END_TEST

START_TEST(details_hold_what_no_report_shows)
{
    struct loaded l = good(
        TRACE(X("cpu_op", "a", "1", "1",
                ARGS("'External id':3,'Input Dims':[[[2],[3]],[4]],'Input "
                     "Strides':[[[1],[1]],[1]],"
                     "'Input type':['TensorList','float'],'Concrete Inputs':['','2'],'Ev "
                     "Idx':7")) "," X("kernel", "k", "2", "1",
                                      ARGS("'stream':7,'grid':[1,2,3],'occupancy':{'x':null}"))));
    const struct tp_event_details *a = &l.f.list.details[0], *k = &l.f.list.details[1];

#define TEXT(id) tp_strings_get(&l.f.strings, id)->bytes
    ck_assert_str_eq(TEXT(l.f.list.events[0].input_shapes), "[[], [4]]");
    ck_assert_str_eq(TEXT(a->structured_input_shapes), "[[[2], [3]], [4]]");
    ck_assert_str_eq(TEXT(a->structured_input_strides), "[[[1], [1]], [1]]");
    ck_assert_str_eq(TEXT(a->input_dtypes), "[\"TensorList\", \"float\"]");
    ck_assert_str_eq(TEXT(a->concrete_inputs), "[\"\", \"2\"]");
    ck_assert_str_eq(TEXT(a->activity_type), "cpu_op");
    ck_assert_int_eq(a->external_id, 3);
    ck_assert_uint_eq(a->event_metadata, TP_STRING_NONE);
    ck_assert_str_eq(TEXT(k->metadata),
                     "{\"stream\": 7, \"grid\": [1, 2, 3], \"occupancy\": {\"x\": null}}");
    ck_assert_ptr_nonnull(strstr(TEXT(k->event_metadata), "\"grid\": [1, 2, 3]"));
    fixture_fini(&l.f);
}
END_TEST

/* ---- selection ---- */

START_TEST(work_goes_with_its_operator_when_selected)
{
    static const char json[] =
        TRACE(X("user_annotation", "ProfilerStep#1", "0", "100", ARGS("'External id':1")) "," X(
            "user_annotation", "ProfilerStep#2", "100", "100",
            ARGS(
                "'External id':2")) "," X("cpu_op", "one", "10", "5",
                                          ARGS(
                                              "'External id':3")) "," X("cpu_op", "two", "110", "5",
                                                                        ARGS(
                                                                            "'External "
                                                                            "id':4")) "," X("kerne"
                                                                                            "l",
                                                                                            "k1",
                                                                                            "120",
                                                                                            "5",
                                                                                            ARGS(
                                                                                                "'E"
                                                                                                "xt"
                                                                                                "er"
                                                                                                "na"
                                                                                                "l "
                                                                                                "id"
                                                                                                "':"
                                                                                                "3")) "," X("kernel",
                                                                                                            "k2",
                                                                                                            "210",
                                                                                                            "5",
                                                                                                            ARGS(
                                                                                                                "'External id':4")) ","
                                                                                                                                    "{'ph':'X','cat':'cpu_op','name':'other','pid':9,'tid':9,'ts':120,'dur':1},"
                                                                                                                                    "{'ph':'M','name':'thread_name','pid':9,'tid':9,'args':{'name':'worker'}}");
    static const struct {
        struct tp_selection selection;
        const char *names;
    } cases[] = {
        {{.has_step = true, .first_step = 1, .last_step = 1}, "ProfilerStep* one k1"},
        {{.has_step = true, .first_step = 2, .last_step = 9}, "ProfilerStep* two other k2"},
        {{.thread = "worker"}, "other"},
        {{.thread = "2"}, "ProfilerStep* one ProfilerStep* two k1 k2"},
        {{.has_pid = true, .pid = 9}, "other"},
        {{.from = {TP_INSTANT_RELATIVE, 105000}}, "two other k2"},
        {{.to = {TP_INSTANT_RELATIVE, 20000}}, "ProfilerStep* one k1"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loaded l;
        load(&l, json, &cases[i].selection);
        ck_assert_msg(l.result == 0, "%s", l.f.diag.text);
        assert_names(&l, cases[i].names);
        fixture_fini(&l.f);
    }
}
END_TEST

START_TEST(a_selection_that_the_file_cannot_serve_is_an_error)
{
    static const char json[] = TRACE(X("cpu_op", "a", "10", "5", ""));
    static const struct {
        struct tp_selection selection;
        int code;
    } cases[] = {
        {{.has_step = true, .first_step = 1, .last_step = 1}, -TP_ENOTFOUND},
        {{.thread = "worker"}, -TP_ENOTFOUND},
        {{.has_rank = true}, -TP_EUNSUPPORTED},
        {{.from = {TP_INSTANT_WALL, 5}}, -TP_EUNSUPPORTED},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loaded l;
        load(&l, json, &cases[i].selection);
        ck_assert_int_eq(l.result, cases[i].code);
        ck_assert_uint_eq(l.f.list.count, 0);
        fixture_fini(&l.f);
    }
    struct tp_selection wall = {.from = {TP_INSTANT_WALL, 16000}};
    struct loaded l;
    load(&l, EXACT(X("cpu_op", "a", "10", "5", "") "," X("cpu_op", "b", "15", "5", "")), &wall);
    assert_names(&l, "b");
    fixture_fini(&l.f);
    struct tp_selection rank = {.has_rank = true, .rank = 3};
    load(&l, "{'distributedInfo':{'rank':2},'traceEvents':[" X("cpu_op", "a", "1", "1", "") "]}",
         &rank);
    ck_assert_uint_eq(l.f.list.count, 0);
    fixture_fini(&l.f);
}
END_TEST

/* ---- writers that were killed, and worse ---- */

START_TEST(a_comma_too_many_is_forgiven)
{
    static const char *const texts[] = {
        "[" X("cpu_op", "a", "1", "1", "") ",]",
        "[" X("cpu_op", "a", "1", "1", "") ",\n ]\n",
        "{'traceEvents':[" X("cpu_op", "a", "1", "1", "") ",]}",
        "{'traceEvents':[" X("cpu_op", "a", "1", "1", "") ",],'traceName':'x',}",
    };

    for (size_t i = 0; i < 4; i++) {
        struct loaded l = good(texts[i]);
        assert_names(&l, "a");
        ck_assert_uint_eq(l.input.lost_count, 0);
        fixture_fini(&l.f);
    }
}
END_TEST

START_TEST(a_cut_file_counts_as_far_as_it_goes_and_says_so)
{
    static const char whole[] = "{'schemaVersion':1,'traceEvents':[" X(
        "cpu_op", "a", "1", "1",
        ARGS("'x':[1,{'y':2}]")) ",\n" X("cpu_op", "b", "5", "1",
                                         ARGS("'Input Dims':[[1]]")) ",\n" X("cpu_op", "c", "9",
                                                                             "1",
                                                                             "") "],'z':[1,2]}";
    const char *first = strstr(whole, "},\n"), *second = strstr(first + 1, "},\n");
    size_t ends[] = {(size_t)(first - whole) + 1, (size_t)(second - whole) + 1,
                     (size_t)(strstr(whole, "}],'z'") - whole) + 1};
    char text[sizeof(whole)];

    for (size_t size = 0; size + 1 < sizeof(whole); size++) {
        struct loaded l;
        memcpy(text, whole, size);
        text[size] = '\0';
        load(&l, text, NULL);
        if (size < 34) { /* before the list of entries begins */
            ck_assert_int_lt(l.result, 0);
        } else {
            ck_assert_msg(l.result == 0, "%zu: %s", size, l.f.diag.text);
            ck_assert_uint_eq(l.input.lost_count, 1);
            ck_assert_ptr_nonnull(strstr(l.input.lost_text, " whole"));
            uint32_t entries = 0;
            for (int i = 0; i < 3; i++)
                entries += size >= ends[i];
            ck_assert_msg(l.f.list.count == entries, "%s: %u", text, l.f.list.count);
        }
        fixture_fini(&l.f);
    }
}
END_TEST

START_TEST(errors_say_where_and_what)
{
    static const struct {
        const char *json;
        int code;
        uint64_t offset;
        const char *text;
    } cases[] = {
        {"3", -TP_ETYPE, 1, "line 1: found the number \"3\", expected a trace"},
        {"{}", -TP_ESYNTAX, 2, "line 1: found an object without \"traceEvents\", expected that"},
        {"{'traceEvents':{}}", -TP_ETYPE, 16,
         "line 1: found an object, expected a list of entries"},
        {"[\n\n5]", -TP_ETYPE, 4, "line 3: entry 0: found the number \"5\", expected an entry"},
        {"[{},[]]", -TP_ETYPE, 5, "line 1: entry 1: found a list, expected an entry"},
        {"[{'ts':'soon'}]", -TP_ETYPE, 13,
         "entry 0: found the string \"soon\", expected a time in"},
        {"[{'ts':[1]}]", -TP_ETYPE, 8, "entry 0: found a list or an object, expected a time in"},
        {"[{'ts':true}]", -TP_ETYPE, 11, "entry 0: found true, expected a time in"},
        {"[{'dur':1e30}]", -TP_EVALUE, 12,
         "found the time \"1e30\", expected one within 292 years"},
        {"[{'ph':'X' 'ts':1}]", -TP_ESYNTAX, 13, "expected JSON ("},
        {"[\n{'name':'a\nb'}]", -TP_ESYNTAX, 12,
         "line 2: found \"a\\u000ab\\\"}]\", expected JSON (lexical error"},
        {"[{'name':'\\x'}]", -TP_ESYNTAX, 11, "expected JSON ("},
        {"[,]", -TP_ESYNTAX, 2, "expected JSON ("},
        {"[{'a':1,}]", -TP_ESYNTAX, 9, "expected JSON ("},
        {"[] []", -TP_ESYNTAX, 4, "expected JSON (parse error: trailing garbage"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loaded l;
        load(&l, cases[i].json, NULL);
        ck_assert_msg(l.result == cases[i].code, "%s: %d %s", cases[i].json, l.result,
                      l.f.diag.text);
        ck_assert_msg(strstr(l.f.diag.text, cases[i].text) != NULL, "%s: %s", cases[i].json,
                      l.f.diag.text);
        ck_assert_msg(l.f.diag.offset == cases[i].offset, "%s: at %" PRIu64, cases[i].json,
                      l.f.diag.offset);
        ck_assert_uint_eq(l.f.list.count, 0);
        fixture_fini(&l.f);
    }
}
END_TEST

START_TEST(no_changed_byte_crashes_it)
{
    static const char rich[] = EXACT(X(
        "cpu_op", "aten::conv2d.x", "1.5", "9",
        ARGS(
            "'External id':3,'Input Dims':[[1,2,3,4],[1,2,3,4]],'Concrete "
            "Inputs':['','','','[1, 1]','[0, 0]','[1, 1]','1']")) "," X("kernel", "_Z1kv", "20",
                                                                        "5",
                                                                        ARGS(
                                                                            "'External id':3,'"
                                                                            "correlation':8,'"
                                                                            "stream':7")) ","
                                                                                          "{'ph':'"
                                                                                          "i','"
                                                                                          "name':'["
                                                                                          "memory]'"
                                                                                          ",'tid':"
                                                                                          "2,'ts':"
                                                                                          "5,'args'"
                                                                                          ":{'"
                                                                                          "Bytes':"
                                                                                          "64}}");
    char text[sizeof(rich)];

    for (size_t i = 0; i + 1 < sizeof(rich); i++) {
        for (int value = 1; value < 256; value += 5) {
            struct loaded l;
            memcpy(text, rich, sizeof(rich));
            text[i] = (char)value;
            load(&l, text, NULL);
            if (!l.result)
                l.result = tp_tree_build(&l.f.list, &l.f.diag);
            if (!l.result)
                l.result = tp_tree_times(&l.f.list, &l.f.diag);
            ck_assert(!l.result || l.f.diag.text[0]);
            fixture_fini(&l.f);
        }
    }
}
END_TEST

START_TEST(depth_and_odd_types_do_no_harm)
{
    struct tp_buffer json = {0};
    struct loaded l;

    tp_buffer_string(&json, "[{'x':");
    for (int i = 0; i < 600; i++)
        tp_buffer_char(&json, '[');
    tp_buffer_char(&json, '\0');
    load(&l, json.bytes, NULL);
    ck_assert_int_eq(l.result, -TP_ELIMIT);
    fixture_fini(&l.f);
    tp_buffer_fini(&json);
    l = good(
        "[{'ph':['X'],'cat':['a'],'name':{'n':1},'pid':null,'tid':[2],'args':[3],'ts':null},"
        "{'ph':1,'cat':2,'name':3,'pid':4.5,'tid':1e3,'args':null},"
        "{'ph':'X','cat':'kernel','ts':1,'args':{'External id':'x','device':[1],'stream':null}}]");
    assert_names(&l, "");
    ck_assert_uint_eq(l.f.list.count, 1);
    fixture_fini(&l.f);
}
END_TEST

RUN_TESTS("kineto_json", old_and_new_categories_count_and_others_do_not,
          without_any_known_category_all_complete_entries_are_operators,
          the_list_export_keeps_remote_threads, times_may_be_text_and_keep_all_their_digits,
          new_files_count_from_the_profilers_start, entries_without_a_time_are_left_out_and_said,
          work_is_linked_by_external_id, equal_ids_are_joined_without_comparing_all_with_all,
          calls_move_to_their_operators_thread_and_filtered_operators_count,
          annotations_on_the_device_lose_their_widening_in_exact_files,
          memory_is_credited_and_the_columns_shown, memory_belongs_to_the_device_of_its_number,
          backward_scope_follows_from_the_forward_thread, call_stacks_are_lists_of_frames,
          nested_python_calls_are_stacks_on_demand, arrows_tell_the_forward_thread,
          without_arrows_one_forward_thread_is_the_one, very_deep_stacks_are_cut_and_counted,
          overloads_are_told_from_names, flops_are_counted_when_the_file_or_the_user_wants,
          details_hold_what_no_report_shows, work_goes_with_its_operator_when_selected,
          a_selection_that_the_file_cannot_serve_is_an_error, a_comma_too_many_is_forgiven,
          a_cut_file_counts_as_far_as_it_goes_and_says_so, errors_say_where_and_what,
          no_changed_byte_crashes_it, depth_and_odd_types_do_no_harm)
