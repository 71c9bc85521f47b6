/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <string.h>

#include "input/ascend_csv.h"
#include "input/ascend_rows.h"

/* What comes out of a file, the last row in full. */
struct reader {
    struct tp_work_sink sink;
    struct tp_strings strings;
    struct tp_diag diag;
    int count;
    struct tp_work last;
    struct tp_work_details details;
};

static int take(struct tp_work_sink *sink, const struct tp_work *work)
{
    struct reader *r = (struct reader *)sink;

    r->count++;
    r->last = *work;
    r->details = *work->details;
    return 0;
}

static int read_rows(struct reader *r, const char *text, const struct tp_selection *selection)
{
    memset(r, 0, sizeof(*r));
    r->sink.take = take;
    ck_assert_int_eq(tp_strings_init(&r->strings), 0);
    return tp_ascend_csv_parse(text, strlen(text), selection, &r->strings, &r->sink, &r->diag);
}

static const char *text_of(const struct reader *r, uint32_t id)
{
    return id == TP_STRING_NONE ? NULL : tp_strings_get(&r->strings, id)->bytes;
}

static int64_t integer(struct tp_number n)
{
    ck_assert(!n.is_real);
    return (int64_t)n.bits.low;
}

START_TEST(microseconds_are_exact_to_the_nanosecond)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"1736413971558972.912", 1736413971558972912},
        {"1736413971420248.800", 1736413971420248800},
        {"1736413971420248.9996", 1736413971420249000},
        {"185.504", 185504},
        {"2.2", 2200},
        {"16", 16000},
        {"0", 0},
        {"0.0010000", 1},
        {"-1.5", -1500},
        {"1e3", 1000000},
        {"12.5E-1", 1250},
    };
    static const char *const bad[] = {"",      "x",    "1,5", "1.5us", "nan", "inf",
                                      "1e999", "0x10", "1 2", "--1",   "-",   "1.5.5"};
    struct tp_number ns;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ck_assert_int_eq(tp_ascend_ns(good[i].text, strlen(good[i].text), &ns), 0);
        ck_assert_msg(integer(ns) == good[i].ns, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(tp_ascend_ns(bad[i], strlen(bad[i]), &ns) < 0, "%s", bad[i]);
    ck_assert_int_eq(tp_ascend_ns("1.23456", 7, &ns), 0);
    ck_assert(ns.is_real);
    ck_assert_double_eq_tol(ns.bits.real, 1234.56, 1e-9);
    ck_assert_int_eq(tp_ascend_ns("99999999999999999999", 20, &ns), 0);
}
END_TEST

#define TAIL "Start Time(us),Duration(us),Wait Time(us),"
static const struct {
    const char *header, *row;
    bool has_step, has_shapes;
    int64_t device, blocks;
} generations[] = {
    {"Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core," TAIL "Block Dim",
     "3,1,2,7,op,T,AI_CORE,10.5,2.25,0.5,16", true, false, 0, 16},
    {"Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core," TAIL
     "Block Dim,Mix Block Dim,Input Shapes",
     "3,5,1,2,7,op,T,dynamic,AI_CORE,10.5,2.25,0.5,16,99,\"\"\"1,2;3\"\"\"", true, true, 5, 16},
    {"Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core," TAIL
     "Block Num,Input Shapes",
     "5,1,2,7,op,T,static,AI_CORE,10.5,2.25,0.5,24,\"\"\"1,2;3\"\"\"", false, true, 5, 24},
};

START_TEST(all_generations_of_kernel_details_are_read)
{
    char text[1024];
    struct reader r;

    for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
        snprintf(text, sizeof(text), "%s\n%s\n", generations[i].header, generations[i].row);
        ck_assert_int_eq(read_rows(&r, text, NULL), 0);
        ck_assert_int_eq(r.count, 1);
        ck_assert_int_eq(r.last.kind, TP_WORK_KERNEL);
        ck_assert_str_eq(text_of(&r, r.last.name), "op");
        ck_assert_str_eq(text_of(&r, r.details.type), "T");
        ck_assert_str_eq(text_of(&r, r.details.core), "AI_CORE");
        ck_assert_int_eq(integer(r.last.start_ns), 10500);
        ck_assert_int_eq(integer(r.last.end_ns), 12750);
        ck_assert_int_eq(integer(r.last.ns[TP_MEASURE_SELF_DEVICE_TIME]), 2250);
        ck_assert_int_eq(integer(r.details.wait_ns), 500);
        ck_assert_int_eq(r.details.has_step, generations[i].has_step);
        ck_assert_int_eq(r.details.has_shapes, generations[i].has_shapes);
        ck_assert_int_eq(r.last.device, generations[i].device);
        ck_assert_int_eq(r.last.stream, 7);
        ck_assert_int_eq(r.details.blocks, generations[i].blocks);
        if (r.details.has_shapes)
            ck_assert_str_eq(text_of(&r, r.details.input_shapes), "\"1,2;3\"");
        tp_strings_fini(&r.strings);
    }
}
END_TEST

START_TEST(operator_details_have_host_and_device_times)
{
    struct reader r;

    ck_assert_int_eq(
        read_rows(&r,
                  "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),"
                  "Device Self Duration(us),Device Total Duration(us),"
                  "Device Self Duration With AICore(us),Device Total Duration With AICore(us)\n"
                  "aten::mm,\"2,3\",\"a.py(1): f;\nb.py(2): g\",1.5,2.5,3.5,4.5,0.25,0.75\n",
                  NULL),
        0);
    ck_assert_int_eq(r.last.kind, TP_WORK_OPERATOR);
    ck_assert(!r.last.has_span);
    ck_assert_uint_eq(r.last.known, 15);
    ck_assert_int_eq(integer(r.last.ns[TP_MEASURE_SELF_CPU_TIME]), 1500);
    ck_assert_int_eq(integer(r.last.ns[TP_MEASURE_CPU_TIME]), 2500);
    ck_assert_int_eq(integer(r.last.ns[TP_MEASURE_SELF_DEVICE_TIME]), 3500);
    ck_assert_int_eq(integer(r.last.ns[TP_MEASURE_DEVICE_TIME]), 4500);
    ck_assert(r.details.has_aicore);
    ck_assert_int_eq(integer(r.details.aicore_self_ns), 250);
    ck_assert_int_eq(integer(r.details.aicore_total_ns), 750);
    ck_assert_str_eq(text_of(&r, r.details.call_stack), "a.py(1): f;\nb.py(2): g");
    tp_strings_fini(&r.strings);
}
END_TEST

#define HEAD "Name,Type,Start Time(us),Duration(us),Wait Time(us),Block Num,Step Id\n"

START_TEST(cells_may_be_empty_or_not_available)
{
    struct reader r;

    ck_assert_int_eq(read_rows(&r, "\xef\xbb\xbf" HEAD "k,N/A,N/A,N/A,, N/A ,\r\n", NULL), 0);
    ck_assert_int_eq(r.count, 1);
    ck_assert(!r.last.has_span && !r.last.known && !r.details.has_wait && !r.details.has_blocks);
    ck_assert_ptr_null(text_of(&r, r.details.type));
    ck_assert_int_eq(r.details.step, -1);
    tp_strings_fini(&r.strings);
    ck_assert_int_eq(read_rows(&r, HEAD "N/A,T,\"1\t\", 2\t,3,4,5", NULL), 0);
    ck_assert_str_eq(text_of(&r, r.last.name), "N/A");
    ck_assert_int_eq(integer(r.last.start_ns), 1000);
    ck_assert_int_eq(integer(r.last.end_ns), 3000);
    tp_strings_fini(&r.strings);
}
END_TEST

START_TEST(columns_stand_in_any_order_and_unknown_ones_are_passed_over)
{
    struct reader r;

    ck_assert_int_eq(read_rows(&r, "New,Duration(us), Type ,Name\nx,7,T,k\n", NULL), 0);
    ck_assert_str_eq(text_of(&r, r.last.name), "k");
    ck_assert_int_eq(integer(r.last.ns[TP_MEASURE_DEVICE_TIME]), 7000);
    tp_strings_fini(&r.strings);
}
END_TEST

START_TEST(errors_name_place_found_and_expected)
{
    static const struct {
        const char *text;
        int code;
        uint64_t offset;
        const char *message;
    } cases[] = {
        {HEAD "k,T,1,2,3,4,5\nk,T,1,abc,3,4,5\n", -TP_EVALUE, 90,
         "line 3, column 'Duration(us)': found \"abc\", expected microseconds or N/A"},
        {HEAD "k,T,1,2,3,x,5\n", -TP_EVALUE, 80,
         "line 2, column 'Block Num': found \"x\", expected a number or N/A"},
        {HEAD "k,T\nk,T,1,2,3,4,5\n", -TP_ESYNTAX, 70,
         "line 2: found 2 columns, expected 7 as in the header"},
        {HEAD "k,T,1,2,3,4,5,6", -TP_ESYNTAX, 70,
         "line 2: found 8 columns, expected 7 as in the header"},
        {"a,b\n", -TP_EFOREIGN, 0,
         "line 1: found other column names, expected those of kernel_details.csv (Name, Type, "
         "Duration(us)) or operator_details.csv (Name, Host Self Duration(us))"},
        {HEAD "\"k\"x,T,1,2,3,4,5\n", -TP_ESYNTAX, 73,
         "line 2: found 'x' behind a closing quote, expected a comma or the line's end"},
    };
    struct reader r;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(read_rows(&r, cases[i].text, NULL), cases[i].code);
        ck_assert_str_eq(r.diag.text, cases[i].message);
        ck_assert_uint_eq(r.diag.offset, cases[i].offset);
        tp_strings_fini(&r.strings);
    }
}
END_TEST

static int select_rows(const struct tp_selection *selection)
{
    struct reader r;

    ck_assert_int_eq(
        read_rows(&r,
                  "Name,Type,Stream ID,Step Id,Start Time(us),Duration(us)\n"
                  "a,T,1,1,1000,1\nb,T,2,2,2000,1\nc,T,2,3,3000,1\nd,T,N/A,N/A,N/A,1\n",
                  selection),
        0);
    tp_strings_fini(&r.strings);
    return r.count;
}

START_TEST(rows_are_selected_by_step_stream_and_time)
{
    struct tp_selection all = {0}, steps = {.has_step = true, .first_step = 2, .last_step = 3};
    struct tp_selection stream = {.thread = "2"};
    struct tp_selection window = {.from = {TP_INSTANT_WALL, 2000000},
                                  .to = {TP_INSTANT_WALL, 3000000}};

    ck_assert_int_eq(select_rows(&all), 4);
    ck_assert_int_eq(select_rows(&steps), 2);
    ck_assert_int_eq(select_rows(&stream), 2);
    ck_assert_int_eq(select_rows(&window), 1);
}
END_TEST

START_TEST(a_selection_by_what_the_file_lacks_is_refused)
{
    static const struct tp_selection selections[] = {
        {.has_pid = true}, {.has_rank = true},           {.has_step = true, .last_step = 1},
        {.thread = "1"},   {.to = {TP_INSTANT_WALL, 1}},
    };
    static const char *const lacks[] = {"process or rank", "process or rank", "step", "stream",
                                        "time"};
    struct reader r;

    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(read_rows(&r, "Name,Type,Duration(us)\nk,T,1\n", &selections[i]),
                         -TP_EUNSUPPORTED);
        ck_assert_ptr_nonnull(strstr(r.diag.text, lacks[i]));
        tp_strings_fini(&r.strings);
    }
}
END_TEST

/* Cut anywhere: rows before the cut are there, one row at most is lost, nothing is made up. */
START_TEST(a_file_cut_anywhere_loses_its_last_row_only)
{
    static const char text[] =
        HEAD "k,T,1.25,20.5,3,4,5\n\"k,\"\"2\",T,1,20,3,4,5\nk3,T,1,2,3,4,5\n";
    struct reader r;

    for (size_t cut = sizeof(HEAD) - 1; cut < sizeof(text); cut++) {
        struct tp_ascend_rows rows;
        memset(&r, 0, sizeof(r));
        r.sink.take = take;
        tp_strings_init(&r.strings);
        tp_ascend_rows_init(&rows, &r.strings, NULL, 0, &r.sink, &r.diag);
        int result = tp_csv_feed(&rows.csv, text, cut);
        ck_assert_int_eq(result ? result : tp_csv_end(&rows.csv), 0);
        int whole = 0;
        for (size_t i = sizeof(HEAD) - 1; i < cut; i++)
            whole += text[i] == '\n';
        ck_assert_int_ge(r.count, whole);
        ck_assert_int_le(r.count, whole + 1);
        ck_assert_uint_eq(rows.lost_count, text[cut - 1] != '\n' && r.count == whole ? 1 : 0);
        tp_ascend_rows_fini(&rows);
        tp_strings_fini(&r.strings);
    }
}
END_TEST

RUN_TESTS("ascend_rows", microseconds_are_exact_to_the_nanosecond,
          all_generations_of_kernel_details_are_read, operator_details_have_host_and_device_times,
          cells_may_be_empty_or_not_available,
          columns_stand_in_any_order_and_unknown_ones_are_passed_over,
          errors_name_place_found_and_expected, rows_are_selected_by_step_stream_and_time,
          a_selection_by_what_the_file_lacks_is_refused,
          a_file_cut_anywhere_loses_its_last_row_only)
