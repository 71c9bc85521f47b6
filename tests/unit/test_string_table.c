/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "model/string_table.h"

static const char *text(struct tp_strings *strings, uint32_t id)
{
    return tp_strings_get(strings, id)->bytes;
}

START_TEST(names_are_told_apart_and_rewritten)
{
    static const struct {
        const char *name, *key, *trace_name;
        enum tp_name_kind kind;
    } cases[] = {
        {"aten::mm", "aten::mm", "aten::mm", TP_NAME_EVENT},
        {"ProfilerStep#12", "ProfilerStep*", "ProfilerStep#12", TP_NAME_EVENT},
        {"ProfilerStep", "ProfilerStep", "ProfilerStep", TP_NAME_EVENT},
        {"xProfilerStep#1", "xProfilerStep#1", "xProfilerStep#1", TP_NAME_EVENT},
        {"t", "t", "t", TP_NAME_EVENT},
        {"", "", "", TP_NAME_EVENT},
        {"Pi", "Pi", "Pi", TP_NAME_EVENT}, /* would be types */
        {"3abc", "3abc", "3abc", TP_NAME_EVENT},
        {"_Z", "_Z", "_Z", TP_NAME_EVENT},
        {"_Znonsense", "_Znonsense", "_Znonsense", TP_NAME_EVENT},
        {"_Z6kernelPfi", "kernel(float*, int)", "kernel(float*, int)", TP_NAME_EVENT},
        {"aten::is_leaf", "aten::is_leaf", "aten::is_leaf", TP_NAME_FILTERED},
        {"aten::_version", "aten::_version", "aten::_version", TP_NAME_FILTERED},
        {"aten::_version2", "aten::_version2", "aten::_version2", TP_NAME_EVENT},
        {"profiler::_record_function_exit", "profiler::_record_function_exit",
         "profiler::_record_function_exit", TP_NAME_FILTERED},
        {"[memory]", "[memory]", "[memory]", TP_NAME_MEMORY},
        {"[OutOfMemory]", "[OutOfMemory]", "[OutOfMemory]", TP_NAME_OUT_OF_MEMORY},
    };
    struct tp_strings strings;
    struct tp_string_table table = {.strings = &strings};
    const struct tp_name *name;
    uint32_t id;

    ck_assert_int_eq(tp_strings_init(&strings), 0);
    for (int round = 0; round < 2; round++) { /* worked out, then remembered */
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            ck_assert_int_eq(tp_strings_put(&strings, cases[i].name, strlen(cases[i].name), &id),
                             0);
            ck_assert_int_eq(tp_string_table_name(&table, id, &name), 0);
            ck_assert_str_eq(text(&strings, name->key), cases[i].key);
            ck_assert_str_eq(text(&strings, name->trace_name), cases[i].trace_name);
            ck_assert_int_eq(name->kind, cases[i].kind);
        }
    }
    tp_string_table_fini(&table);
    tp_strings_fini(&strings);
}
END_TEST

START_TEST(a_name_is_demangled_once)
{
    struct tp_strings strings;
    struct tp_string_table table = {.strings = &strings};
    uint32_t id, plain, again;

    ck_assert_int_eq(tp_strings_init(&strings), 0);
    ck_assert_int_eq(tp_strings_put(&strings, "_ZN2at6native3addEd", 19, &id), 0);
    ck_assert_int_eq(tp_string_table_demangle(&table, id, &plain), 0);
    ck_assert_str_eq(text(&strings, plain), "at::native::add(double)");
    table.names[id].trace_name = TP_STRING_EMPTY; /* what is remembered counts */
    ck_assert_int_eq(tp_string_table_demangle(&table, id, &again), 0);
    ck_assert_uint_eq(again, TP_STRING_EMPTY);
    tp_string_table_fini(&table);
    tp_strings_fini(&strings);
}
END_TEST

RUN_TESTS("string_table", names_are_told_apart_and_rewritten, a_name_is_demangled_once)
