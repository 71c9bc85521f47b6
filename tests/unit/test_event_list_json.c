/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "input/event_list_json.h"
#include "model/tree.h"

#define EVENT1 "{'id':1,'name':'a','start_us':0,'end_us':1"

START_TEST(absent_fields_have_defaults)
{
    struct fixture f;

    fixture_load(&f, "[" EVENT1 "}]");
    const struct tp_function_event *e = f.list.events;
    ck_assert_uint_eq(e->trace_name, e->name);
    ck_assert_int_eq(e->device_resource_id, 1);
    ck_assert_uint_eq(e->overload_name, TP_STRING_EMPTY);
    ck_assert_uint_eq(e->input_shapes, TP_STRING_LIST);
    ck_assert_uint_eq(e->use_device, TP_STRING_NONE);
    ck_assert_uint_eq(f.list.use_device, TP_STRING_NONE);
    fixture_fini(&f);
}
END_TEST

START_TEST(every_field_is_read)
{
    struct fixture f;

    fixture_load(
        &f,
        "{'list':{'use_device':'cuda','profile_memory':true,'with_flops':true},'events':[" EVENT1
        ",'trace_name':null,'overload_name':'out','node_id':3,'thread':-4,'fwd_thread':5,'input_"
        "shapes':[[1,-2],[],null,true,"
        "'x',2.5],'stack':['f','g'],'use_device':'cuda','cpu_memory_usage':6,'device_memory_usage':"
        "-7,'device_type':'CUDA',"
        "'device_index':8,'device_resource_id':9,'is_async':true,'is_remote':true,'is_legacy':true,"
        "'is_user_annotation':true,"
        "'is_python_function':true,'sequence_nr':10,'scope':11,'flops':12,'kernels':[]}]}");
    const struct tp_function_event *e = f.list.events;
    ck_assert(f.list.profile_memory && f.list.with_flops);
    ck_assert_uint_eq(f.list.use_device, e->use_device);
    ck_assert_uint_eq(e->trace_name, TP_STRING_NONE);
    ck_assert_str_eq(tp_strings_get(&f.strings, e->overload_name)->bytes, "out");
    ck_assert_int_eq(e->node_id, 3);
    ck_assert_int_eq(e->thread, -4);
    ck_assert_int_eq(e->fwd_thread, 5);
    ck_assert(e->flags & TP_EVENT_HAS_FWD_THREAD);
    ck_assert_str_eq(tp_strings_get(&f.strings, e->input_shapes)->bytes,
                     "[[1, -2], [], None, True, 'x', 2.5]");
    ck_assert_uint_eq(tp_stacks_count(&f.stacks, e->stack), 2);
    ck_assert_int_eq(tp_number_truncate(tp_event_get(e, TP_EVENT_CPU_MEMORY)), 6);
    ck_assert_int_eq(tp_number_truncate(tp_event_get(e, TP_EVENT_DEVICE_MEMORY)), -7);
    ck_assert_int_eq(e->device_type, TP_DEVICE_CUDA);
    ck_assert_int_eq(e->device_index, 8);
    ck_assert_int_eq(e->device_resource_id, 9);
    ck_assert_uint_eq(e->flags & 31, 31);
    ck_assert_int_eq(e->sequence_nr, 10);
    ck_assert_int_eq(e->scope, 11);
    ck_assert_int_eq(tp_number_truncate(tp_event_get(e, TP_EVENT_FLOPS)), 12);
    fixture_fini(&f);
}
END_TEST

START_TEST(unknown_keys_are_stepped_over)
{
    struct fixture f;

    fixture_load(
        &f,
        "{'x':[[{'events':[1]}]],'list':{'y':{'with_flops':3},'with_flops':true},'events':[" EVENT1
        ",'z':{'name':4,'a':[[],{}]},'kernels':[{'name':'k','w':[1,{}],'device':0,'duration':1}]}],"
        "'name':null}");
    ck_assert_uint_eq(f.list.count, 1);
    ck_assert(f.list.with_flops);
    ck_assert_uint_eq(f.list.kernel_count, 1);
    fixture_fini(&f);
}
END_TEST

START_TEST(errors_say_where_what_and_what_else)
{
    static const struct {
        const char *json;
        int code;
        uint64_t offset;
        const char *text;
    } cases[] = {
        {"3", -TP_ETYPE, 1,
         "found the number 3, expected an object with \"events\", or a list of events"},
        {"{}", -TP_ESYNTAX, 2, "found an object without \"events\", expected that list"},
        {"{'events':3}", -TP_ETYPE, 11, "found the number 3, expected a list of events"},
        {"{'list':[]}", -TP_ETYPE, 9, "found a list, expected an object of settings"},
        {"{'list':{'with_flops':1}}", -TP_ETYPE, 23, "found the number 1, expected true or false"},
        {"[1]", -TP_ETYPE, 2, "event 0: found the number 1, expected an event (an object)"},
        {"[{'id':'x'}]", -TP_ETYPE, 10, "event 0, id: found the string \"x\", expected an integer"},
        {"[{'id':1.5}]", -TP_ETYPE, 10, "event 0, id: found the number 1.5, expected an integer"},
        {"[{'id':99999999999999999999}]", -TP_ETYPE, 27,
         "event 0, id: found the number 99999999999999999999, expected an integer"},
        {"[{'id':1}]", -TP_ESYNTAX, 9, "event 0: found none, expected name"},
        {"[" EVENT1 "},{'id':2,'name':null}]", -TP_ETYPE, 64,
         "event 1, name: found null, expected a string"},
        {"[{'start_us':'0'}]", -TP_ETYPE, 16,
         "event 0, start_us: found the string \"0\", expected a number"},
        {"[{'start_us':1e999}]", -TP_ETYPE, 18,
         "event 0, start_us: found the number 1e999, expected a finite number"},
        {"[{'device_type':'cuda'}]", -TP_ETYPE, 22,
         "event 0, device_type: found the string \"cuda\", expected a device type such as \"CPU\" "
         "or \"CUDA\""},
        {"[{'scope':256}]", -TP_ETYPE, 13,
         "event 0, scope: found the number 256, expected an integer from 0 to 255"},
        {"[{'node_id':4294967296}]", -TP_ETYPE, 22,
         "event 0, node_id: found the number 4294967296, expected an integer of 32 bits"},
        {"[{'is_async':0}]", -TP_ETYPE, 14,
         "event 0, is_async: found the number 0, expected true or false"},
        {"[{'stack':[1]}]", -TP_ETYPE, 12, "event 0, stack: found the number 1, expected a string"},
        {"[{'stack':'x'}]", -TP_ETYPE, 13,
         "event 0, stack: found the string \"x\", expected a list"},
        {"[{'input_shapes':[{}]}]", -TP_ETYPE, 19,
         "event 0, input_shapes: found an object, expected a list, number, string or null"},
        {"[{'kernels':[1]}]", -TP_ETYPE, 14,
         "event 0, kernels: found the number 1, expected an object with name, device and duration"},
        {"[{'kernels':[{'name':'k'}]}]", -TP_ESYNTAX, 25,
         "event 0, kernels: found a kernel without one of them, expected name, device, duration"},
        {"[{'kernels':[{'device':'k'}]}]", -TP_ETYPE, 26,
         "event 0, kernels: found the string \"k\", expected a device number"},
        {"[}", -TP_ESYNTAX, 2,
         "found \"}\", expected JSON (parse error: unallowed token at this point in JSON text)"},
        {"[1 nul]", -TP_ETYPE, 2, "event 0: found the number 1, expected an event (an object)"},
        {"[nul]", -TP_ESYNTAX, 4,
         "found \"l]\", expected JSON (lexical error: invalid string in json text)"},
        {"[", -TP_ETRUNCATED, 1, "found the end of the text, expected the rest of the document"},
        {"[] 1", -TP_ESYNTAX, 4, "found more text behind the document, expected its end"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        ck_assert_msg(fixture_parse(&f, cases[i].json) == cases[i].code, "%s: %s", cases[i].json,
                      f.diag.text);
        ck_assert_int_eq(strncmp(f.diag.text, "line 1: ", 8), 0);
        ck_assert_str_eq(f.diag.text + 8, cases[i].text);
        ck_assert_msg(f.diag.offset == cases[i].offset, "%s: at %lu", cases[i].json, f.diag.offset);
        fixture_fini(&f);
    }
}
END_TEST

START_TEST(depth_and_sizes_are_limited)
{
    struct tp_buffer json = {0};
    struct fixture f;

    for (int i = 0; i < 100; i++)
        tp_buffer_char(&json, '[');
    tp_buffer_char(&json, '\0');
    char *deep = malloc(json.size + 64);
    sprintf(deep, "{'x':%s", json.bytes);
    ck_assert_int_eq(fixture_parse(&f, deep), -TP_ELIMIT);
    fixture_fini(&f);
    free(deep);
    tp_buffer_reset(&json);
    tp_buffer_string(&json, "[{'start_us':");
    for (int i = 0; i < 600; i++)
        tp_buffer_char(&json, '1');
    tp_buffer_bytes(&json, "}]", 3);
    ck_assert_int_eq(fixture_parse(&f, json.bytes), -TP_ELIMIT);
    fixture_fini(&f);
    tp_buffer_reset(&json);
    tp_buffer_string(&json, "[{'name':'");
    for (int i = 0; i < (16 << 20) + 1; i++)
        tp_buffer_char(&json, 'x');
    tp_buffer_bytes(&json, "'}]", 4);
    ck_assert_int_eq(fixture_parse(&f, json.bytes), -TP_ELIMIT);
    fixture_fini(&f);
    tp_buffer_fini(&json);
}
END_TEST

static const char rich[] =
    "{'list':{'use_device':'cuda'},'events':[" EVENT1
    ",'input_shapes':[[1,2],[]],'stack':['f'],'kernels':[{'name':'k\\u00e9','device':0,'duration':"
    "1.5}],'flops':null},"
    "{'id':2,'name':'b','start_us':0.5,'end_us':0.75,'fwd_thread':2,'is_async':false}]}";

START_TEST(cut_anywhere_it_is_an_error)
{
    char text[sizeof(rich)];
    struct fixture f;

    for (size_t size = 0; size + 1 < sizeof(rich); size++) {
        memcpy(text, rich, size);
        text[size] = '\0';
        ck_assert_msg(fixture_parse(&f, text) < 0, "cut at %zu", size);
        ck_assert(f.diag.text[0]);
        fixture_fini(&f);
    }
    ck_assert_int_eq(fixture_parse(&f, rich), 0);
    fixture_fini(&f);
}
END_TEST

START_TEST(no_changed_byte_crashes_it)
{
    char text[sizeof(rich)];
    struct fixture f;

    for (size_t i = 0; i + 1 < sizeof(rich); i++) {
        for (int value = 1; value < 256; value += 7) {
            memcpy(text, rich, sizeof(rich));
            text[i] = (char)value;
            int result = fixture_parse(&f, text);
            if (!result)
                result = tp_tree_build(&f.list, &f.diag);
            if (!result)
                result = tp_tree_times(&f.list, &f.diag);
            ck_assert(!result || f.diag.text[0]);
            fixture_fini(&f);
        }
    }
}
END_TEST

START_TEST(a_selection_keeps_whole_events)
{
    const char *json = "[" EV(1, "a", 0, 1500000, "") "," EV(2, "b", 1000000, 1600000, "") "," EV(
        3, "c", 1200000, 1300000, ",'thread':2") "," EV(4, "d", 2000000, 2100000, "") "]";
    struct outcome o = OUTCOME(json, "events", "-f", "csv", "--from=1", "--to=2");

    ck_assert_ptr_null(strstr(o.text, "\na,"));
    ck_assert_ptr_nonnull(strstr(o.text, "\nb,"));
    ck_assert_ptr_nonnull(strstr(o.text, "\nc,"));
    ck_assert_ptr_null(strstr(o.text, "\nd,"));
    outcome_fini(&o);
    o = OUTCOME(json, "events", "-f", "csv", "--thread=2");
    ck_assert_ptr_null(strstr(o.text, "\nb,"));
    ck_assert_ptr_nonnull(strstr(o.text, "\nc,"));
    outcome_fini(&o);
    o = OUTCOME(json, "events", "--rank=2");
    ck_assert_int_eq(o.result, -TP_EUNSUPPORTED);
    ck_assert_str_eq(o.diag.text, "--rank: an event list has no ranks");
    outcome_fini(&o);
}
END_TEST

START_TEST(numbers_keep_their_kind)
{
    struct fixture f;

    fixture_load(&f,
                 "[{'id':1,'name':'a','start_us':0,'end_us':1.0,'flops':18446744073709551615}]");
    ck_assert(!tp_event_get(f.list.events, TP_EVENT_START).is_real);
    ck_assert(tp_event_get(f.list.events, TP_EVENT_END).is_real);
    ck_assert(!tp_event_get(f.list.events, TP_EVENT_FLOPS).is_real);
    fixture_fini(&f);
}
END_TEST

RUN_TESTS("event_list_json", absent_fields_have_defaults, every_field_is_read,
          unknown_keys_are_stepped_over, errors_say_where_what_and_what_else,
          depth_and_sizes_are_limited, cut_anywhere_it_is_an_error, no_changed_byte_crashes_it,
          a_selection_keeps_whole_events, numbers_keep_their_kind)
