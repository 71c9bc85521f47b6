/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "input/raw_records_json.h"

static int parse(struct fixture *f, const char *json)
{
    char *text = strdup(json);

    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    ck_assert_int_eq(fixture_parse(f, "[]"), 0);
    int result = tp_raw_records_json_parse(text, strlen(text), &f->list, &f->diag);
    free(text);
    return result;
}

START_TEST(settings_count_wherever_they_stand)
{
    struct fixture f;

    ck_assert_int_eq(parse(&f, "{'x':[{'raw':1}],'raw':[{'name':'a','start_ns':1500,'end_ns':2500,"
                               "'y':{'z':[1]}}],'trace_start_ns':500,'list':{'use_device':'xpu',"
                               "'profile_memory':true,'with_flops':true}}"),
                     0);
    ck_assert_uint_eq(f.list.count, 1);
    ck_assert(tp_event_get(&f.list.events[0], TP_EVENT_START).bits.real == 1.0);
    ck_assert_str_eq(tp_strings_get(&f.strings, f.list.events[0].use_device)->bytes, "xpu");
    ck_assert(f.list.profile_memory && f.list.with_flops);
    fixture_fini(&f);
}
END_TEST

START_TEST(a_bare_list_begins_at_its_first_record)
{
    struct fixture f;

    ck_assert_int_eq(parse(&f, "[{'name':'a','start_ns':2000,'end_ns':2500},"
                               "{'name':'[memory]','start_ns':1000,'end_ns':1000,'nbytes':3}]"),
                     0);
    ck_assert_uint_eq(f.list.count, 2);
    ck_assert(tp_event_get(&f.list.events[1], TP_EVENT_START).bits.real == 1.0);
    fixture_fini(&f);
}
END_TEST

START_TEST(errors_say_where_and_what)
{
    static const struct {
        const char *json;
        int code;
        const char *text;
    } cases[] = {
        {"{}", -TP_ESYNTAX, "line 1: found an object without \"raw\", expected that list"},
        {"{'raw':[{'name':'a','start_ns':1}]}", -TP_ESYNTAX,
         "record 0: found none, expected end_ns"},
        {"{'raw':[\n{'name':1}]}", -TP_ETYPE, "line 2: record 0, name: found a number"},
        {"{'raw':[{'start_ns':1.5}]}", -TP_ETYPE, "expected an integer of 64 bits"},
        {"{'raw':[{'start_ns':'1'}]}", -TP_ETYPE, "start_ns: found \"1\""},
        {"{'raw':[{'scope':256}]}", -TP_ETYPE, "an integer from 0 to 255"},
        {"{'raw':[{'device_index':3000000000}]}", -TP_ETYPE, "an integer of 32 bits"},
        {"{'raw':[{'device_type':'GPU'}]}", -TP_ETYPE, "a device type such as"},
        {"{'raw':[{'is_async':1}]}", -TP_ETYPE, "is_async: found a number"},
        {"{'raw':[{'flops':true}]}", -TP_ETYPE, "flops: found true"},
        {"{'raw':[{'shapes':[null]}]}", -TP_ETYPE, "shapes: found null, expected a size"},
        {"{'raw':[{'shapes':['x']}]}", -TP_ETYPE, "expected a size"},
        {"{'raw':[{'shapes':[{}]}]}", -TP_ETYPE, "expected a size"},
        {"{'raw':[{'stack':[[]]}]}", -TP_ETYPE, "expected a frame"},
        {"{'raw':[{'name':[]}]}", -TP_ETYPE, "name: found a list"},
        {"{'raw':[{'name':{}}]}", -TP_ETYPE, "name: found an object"},
        {"{'raw':['x']}", -TP_ETYPE, "expected a record (an object)"},
        {"{'raw':[[]]}", -TP_ETYPE, "expected a record (an object)"},
        {"{'raw':[{'name':'a','start_ns':1,'end_ns':2,'linked_correlation_id':-3}]}", -TP_EVALUE,
         "record 0: Got negative correlation id -3 in profiler post processing"},
        {"{'raw':[", -TP_ETRUNCATED, "found the end of the text"},
        {"{'raw':[}", -TP_ESYNTAX, "expected JSON"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        int result = parse(&f, cases[i].json);
        ck_assert_msg(result == cases[i].code, "%s: %d %s", cases[i].json, result, f.diag.text);
        ck_assert_msg(strstr(f.diag.text, cases[i].text) != NULL, "%s: %s", cases[i].json,
                      f.diag.text);
        ck_assert_uint_eq(f.list.count, 0);
        fixture_fini(&f);
    }
}
END_TEST

START_TEST(no_changed_byte_crashes_it)
{
    static const char rich[] =
        "{'list':{'use_device':'cuda'},'raw':[{'name':'a','start_ns':1,'end_ns':9,'shapes':[[1],[["
        "2]]],"
        "'stack':['f','g'],'flops':18446744073709551615,'cuda_elapsed_us':2.5,'scope':1},"
        "{'name':'k','start_ns':10,'end_ns':12,'linked_correlation_id':3,'device_type':'CUDA'}]}";
    char text[sizeof(rich)];

    for (size_t i = 0; i + 1 < sizeof(rich); i++) {
        for (int value = 1; value < 256; value += 3) {
            struct fixture f;
            memcpy(text, rich, sizeof(rich));
            text[i] = (char)value;
            int result = parse(&f, text);
            ck_assert(!result || f.diag.text[0]);
            fixture_fini(&f);
        }
    }
}
END_TEST

RUN_TESTS("raw_records_json", settings_count_wherever_they_stand,
          a_bare_list_begins_at_its_first_record, errors_say_where_and_what,
          no_changed_byte_crashes_it)
