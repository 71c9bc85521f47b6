/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/ascend_csv.h"
#include "input/ascend_events.h"

#define KERNELS                                                                                    \
    "Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes\n"                        \
    "mm,MatMul,AI_CORE,1000.5,2.5,\"\"\"2,3;4\"\"\"\n"                                             \
    "add,Add,AI_VECTOR_CORE,990,1.5,N/A\n"                                                         \
    "mm,MatMul,AI_CORE,1010,3.5,\"\"\"2,3;4\"\"\"\n"
#define OPERATORS                                                                                  \
    "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),"                 \
    "Device Self Duration(us),Device Total Duration(us),Device Self Duration With AICore(us),"     \
    "Device Total Duration With AICore(us)\n"                                                      \
    "aten::mm,\"\"\"2,3;3,4\"\"\",\"a.py(1): f;\r\nb.py(2): g;\",10.5,12,7,7,6,6\n"                \
    "aten::t,,,1.25,1.25,0,0,0,0\n"

static const struct tp_selection all;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static int probe_text(const char *text, size_t size)
{
    struct tp_input input = {.fd = -1, .head = (const unsigned char *)text, .head_size = size};

    return tp_input_ascend_csv.probe(&input);
}

START_TEST(files_are_known_by_their_header)
{
    static const char *const ours[] = {KERNELS,
                                       OPERATORS,
                                       "\xef\xbb\xbf" KERNELS,
                                       "\r\n" OPERATORS,
                                       "\"Duration(us)\",\"Name\",\"Accelerator Core\"",
                                       "Name,Host Self Duration(us)"};
    static const char *const others[] = {"",
                                         "{}",
                                         "[]",
                                         "Name,Type\n",
                                         "Name,Duration(us)\n",
                                         "Type,Duration(us)\n",
                                         "x\n" KERNELS,
                                         "\"Name,Type"};

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        ck_assert_msg(probe_text(ours[i], strlen(ours[i])) > 50, "%s", ours[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_msg(!probe_text(others[i], strlen(others[i])), "%s", others[i]);
}
END_TEST

START_TEST(too_many_columns_are_recognised_and_refused)
{
    struct outcome o;
    char text[40000] = "Name,Type,Duration(us)";

    for (int i = 0; i < 3000; i++)
        sprintf(text + strlen(text), ",c%d", i);
    strcat(text, "\nk,T,1\n");
    o = OUTCOME(text, "kernels");
    ck_assert_int_eq(o.result, -TP_ELIMIT);
    ck_assert_str_eq(o.diag.text, "line 1: more than 1024 columns, expected fewer");
    outcome_fini(&o);
}
END_TEST

START_TEST(kernels_are_events_of_a_device_since_the_first_start)
{
    ASSERT_PRINTS(
        KERNELS,
        "ix,id,name,parent,cpu_time_total,self_cpu_time_total,device_time_total,"
        "self_device_time_total,self_cpu_memory_usage,self_device_memory_usage\r\n"
        "0,0,mm,,0,0,2.5,2.5,0,0\r\n1,1,add,,0,0,1.5,1.5,0,0\r\n2,2,mm,,0,0,3.5,3.5,0,0\r\n",
        "tree", "-f", "csv");
    struct outcome o = OUTCOME(KERNELS, "events", "-f", "json");
    ck_assert_ptr_nonnull(strstr(o.text, "\"start_us\":10.5,\"end_us\":13.0"));
    ck_assert_ptr_nonnull(strstr(o.text, "\"input_shapes\":[[2,3],[4]]"));
    ck_assert_ptr_nonnull(strstr(o.text, "\"device_type\":\"PrivateUse1\""));
    ck_assert_ptr_nonnull(strstr(o.text, "\"use_device\":\"npu\""));
    outcome_fini(&o);
}
END_TEST

START_TEST(averages_of_kernels_are_the_lists)
{
    struct outcome o = OUTCOME(KERNELS, "averages", "-f", "csv", "--group-by-input-shapes");

    ck_assert_ptr_nonnull(strstr(o.text, "\r\nadd,,0.0,0.0,0.0,1.5,1.5,1.5,"));
    ck_assert_ptr_nonnull(strstr(o.text, "\r\nmm,,0.0,0.0,0.0,6.0,6.0,3.0,"));
    ck_assert_ptr_nonnull(strstr(o.text, "\"[[2, 3], [4]]\""));
    outcome_fini(&o);
}
END_TEST

START_TEST(averages_of_operators_have_both_times_and_stacks)
{
    struct outcome o = OUTCOME(OPERATORS, "averages", "-f", "csv", "--group-by-stack-n=5",
                               "--group-by-input-shapes");

    ck_assert_ptr_nonnull(strstr(o.text, "\r\naten::mm,,10.5,12.0,12.0,7.0,7.0,7.0,"));
    ck_assert_ptr_nonnull(
        strstr(o.text, "\"[[2, 3], [3, 4]]\",\"[\"\"a.py(1): f\"\", \"\"b.py(2): g\"\"]\""));
    outcome_fini(&o);
}
END_TEST

START_TEST(operators_have_no_list_of_events)
{
    struct outcome o = OUTCOME(OPERATORS, "events");

    ck_assert_int_eq(o.result, -TP_EUNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(o.diag.text, "averages, total and kernels"));
    outcome_fini(&o);
}
END_TEST

START_TEST(kernels_without_a_start_are_lost_from_lists_only)
{
    const char *text = "Name,Type,Start Time(us),Duration(us)\na,T,5,1\nb,T,N/A,2\n";
    struct outcome o = OUTCOME(text, "tree", "-f", "csv");

    ck_assert_int_eq(o.result, 0);
    ck_assert_ptr_null(strstr(o.text, ",b,"));
    outcome_fini(&o);
    ASSERT_PRINTS(text,
                  "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev "
                  "(ns),Name\n66.7,2000,1,2000.0,2000.0,2000,2000,0.0,b\n"
                  "33.3,1000,1,1000.0,1000.0,1000,1000,0.0,a\n",
                  "kernels", "-f", "nsys-kernels");
}
END_TEST

START_TEST(relative_times_count_from_the_first_start)
{
    ASSERT_PRINTS(KERNELS,
                  "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev "
                  "(ns),Name\n100.0,2500,1,2500.0,2500.0,2500,2500,0.0,mm\n",
                  "kernels", "-f", "nsys-kernels", "--from=0.00001", "--to=0.00002");
}
END_TEST

START_TEST(shapes_become_lists)
{
    static const struct {
        const char *raw, *list;
    } cases[] = {
        {"\"2,3;4\"", "[[2, 3], [4]]"},
        {"2,3", "[[2, 3]]"},
        {"7", "[[7]]"},
        {"", "[]"},
        {"\"\"", "[]"},
        {";", "[[], []]"},
        {"-1, 2", "[[-1, 2]]"},
        {"N x M", "N x M"},
    };
    struct tp_buffer out = {0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tp_ascend_shapes(&out, cases[i].raw, strlen(cases[i].raw));
        tp_buffer_char(&out, '\0');
        ck_assert_str_eq(out.bytes, cases[i].list);
    }
    tp_buffer_fini(&out);
}
END_TEST

/* ---- directories ---- */

static int count_work(struct tp_work_sink *sink, const struct tp_work *work)
{
    (void)work;
    ((int *)(sink + 1))[0]++;
    return 0;
}

static int count_below(const char *path, struct tp_input *input, struct tp_diag *diag)
{
    struct {
        struct tp_work_sink sink;
        int count;
    } counter = {{count_work}, 0};
    struct tp_strings strings;

    int result = tp_input_open(input, path, &all, diag);
    if (result < 0)
        return result;
    tp_strings_init(&strings);
    result = input->kind->read_work(input, &strings, &counter.sink, diag);
    tp_strings_fini(&strings);
    return result < 0 ? result : counter.count;
}

START_TEST(directories_are_searched)
{
    char root[] = "/tmp/test_ascend.XXXXXX", path[256];
    struct tp_input input;
    struct tp_diag diag;

    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_int_eq(count_below(root, &input, &diag), -TP_ENOTFOUND);
    snprintf(path, sizeof(path), "%s/w_ascend_pt", root);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/w_ascend_pt/ASCEND_PROFILER_OUTPUT", root);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    strcat(path, "/kernel_details.csv");
    write_file(path, KERNELS);
    strcpy(strrchr(path, '/'), "/operator_details.csv");
    write_file(path, OPERATORS);
    strcpy(strrchr(path, '/'), "/step_trace_time.csv");
    write_file(path, "Device_id,Step\n0,1\n");
    ck_assert_int_eq(count_below(root, &input, &diag), 5);
    ck_assert_str_eq(input.kind->name, "ascend-csv");
    tp_input_close(&input);

    strcpy(strrchr(path, '/'), "/kernel_details_2.csv");
    write_file(path, KERNELS "x,T,AI_CORE,1,");
    ck_assert_int_eq(count_below(root, &input, &diag), 8);
    ck_assert_uint_eq(input.lost_count, 1);
    ck_assert_ptr_nonnull(strstr(input.lost_text, "kernel_details_2.csv: at byte 183: line 5 is"));
    tp_input_close(&input);

    write_file(path, KERNELS "x,T,AI_CORE,1,?,\n");
    ck_assert_int_eq(count_below(root, &input, &diag), -TP_EVALUE);
    ck_assert_str_eq(diag.file, path);
    tp_input_close(&input);
    snprintf(path, sizeof(path), "rm -r %s", root);
    ck_assert_int_eq(system(path), 0);
}
END_TEST

RUN_TESTS("ascend_csv", files_are_known_by_their_header,
          too_many_columns_are_recognised_and_refused,
          kernels_are_events_of_a_device_since_the_first_start, averages_of_kernels_are_the_lists,
          averages_of_operators_have_both_times_and_stacks, operators_have_no_list_of_events,
          kernels_without_a_start_are_lost_from_lists_only,
          relative_times_count_from_the_first_start, shapes_become_lists, directories_are_searched)
