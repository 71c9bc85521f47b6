/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define GPU(name, start, end)                                                                      \
    "{'id':0,'name':'" name "','start_us':" #start ",'end_us':" #end                               \
    ",'device_type':'CUDA','use_device':'cuda'}"
#define MIXED                                                                                      \
    "[" EV(1, "aten::mm", 0, 100, ",'use_device':'cuda'") "," EV(                                  \
        2, "cudaLaunchKernel", 10, 30,                                                             \
        "") "," GPU("mm_1", 40,                                                                    \
                    60) "," GPU("mm_2", 60,                                                        \
                                62.5) "," GPU("mm_1", 70,                                          \
                                              70) "," GPU("mm_1", 80,                              \
                                                          75) "," GPU("Memcpy DtoH", 90,           \
                                                                      94) "," GPU("mm_1", 100,     \
                                                                                  110) "]"
#define HEAD                                                                                       \
    "name,total_us,per_repeat_us,share_percent,count,average_us,median_us,minimum_us,maximum_us,"  \
    "stddev_us,median_is_exact\r\n"

START_TEST(kernels_are_summed_by_name)
{
    ASSERT_PRINTS(MIXED,
                  HEAD "mm_1,30.0,10.0,92.3076923076923,2,15.0,15.0,10.0,20.0,7.071067811865475,"
                       "true\r\nmm_2,2.5,0.8333333333333334,7.6923076923076925,1,2.5,2.5,2.5,2.5,"
                       "0.0,true\r\n",
                  "kernels", "-f", "csv", "--repeat=3");
    ASSERT_PRINTS(MIXED,
                  HEAD "mm_*,32.5,32.5,100.0,3,10.833333333333334,10.0,2.5,20.0,8.779711460710615,"
                       "true\r\n",
                  "kernels", "-f", "csv", "--merge-numbered");
}
END_TEST

START_TEST(text_says_what_was_measured_left_out_and_skipped)
{
    struct outcome o = OUTCOME(MIXED, "kernels", "--repeat=2");

    ck_assert_ptr_nonnull(
        strstr(o.text, "Profiler: device (device time of kernels, else of operators); rows: "
                       "kernels\n"
                       "Device time total: 32.500us in 3 calls; per repeat: 16.250us\n"
                       "Copies and fills (not in the rows): 4.000us in 1 call; with them 36.500us; "
                       "per repeat: 18.250us\n"
                       "Host time total: 100.000us self CPU time, 120.000us CPU time total; per "
                       "repeat: 50.000us\n"
                       "Elapsed: 110.000us; per repeat: 55.000us\n"
                       "Skipped: 1 without a duration, 1 with a negative one (-5.000us)\n"
                       "Repeats: 2\n"));
    outcome_fini(&o);
}
END_TEST

START_TEST(json_has_the_same_in_fields)
{
    struct outcome o = OUTCOME(MIXED, "kernels", "--repeat=2", "-f", "json", "-n1");

    ck_assert_ptr_nonnull(strstr(
        o.text,
        "\"profiler\": \"device\", \"rows_are\": \"kernels\", \"repeat\": 2,\n"
        "\"totals\": {\"device_time_us\": 32.5, \"copy_time_us\": 4.0, \"self_cpu_time_total\": "
        "100.0, \"cpu_time_total\": 120.0, \"elapsed_us\": 110.0, \"calls\": 3, \"copies\": 1, "
        "\"waits\": 0},\n"
        "\"per_repeat\": {\"device_time_us\": 16.25, \"copy_time_us\": 2.0, "
        "\"self_cpu_time_total\": 50.0, \"cpu_time_total\": 60.0, \"elapsed_us\": 55.0},\n"
        "\"skipped\": {\"without_duration\": 1, \"negative_duration\": 1, \"negative_us\": -5.0},\n"
        "\"rows\": [\n{\"name\": \"mm_1\", \"total_us\": 30.0,"));
    ck_assert_ptr_null(strstr(o.text, "mm_2"));
    outcome_fini(&o);
}
END_TEST

START_TEST(the_other_profilers_can_be_demanded)
{
    struct outcome o = OUTCOME(MIXED, "kernels", "--profiler=framework", "-f", "csv");

    ck_assert_ptr_nonnull(strstr(o.text, "\r\naten::mm,80.0,"));
    ck_assert_ptr_nonnull(strstr(o.text, "\r\ncudaLaunchKernel,20.0,"));
    ck_assert_ptr_null(strstr(o.text, "mm_1"));
    outcome_fini(&o);
    ASSERT_PRINTS(MIXED,
                  "Profiler: wallclock (wall time from the input's start to its end); rows: none\n"
                  "Host time total: 100.000us self CPU time, 120.000us CPU time total\n"
                  "Elapsed: 110.000us\n",
                  "kernels", "--profiler=wallclock");
    o = OUTCOME(MIXED, "kernels", "--profiler=ascend");
    ck_assert_int_eq(o.result, -TP_EUNSUPPORTED);
    ck_assert(!o.is_usage);
    ck_assert_ptr_nonnull(strstr(o.diag.text, "it can serve device, framework, wallclock"));
    ck_assert_uint_eq(o.size, 0);
    outcome_fini(&o);
}
END_TEST

START_TEST(without_device_records_host_time_counts)
{
    struct outcome o = OUTCOME("[" EV(1, "a", 0, 10, "") "," EV(2, "b", 2, 5, "") "]", "kernels");

    ck_assert_ptr_nonnull(strstr(o.text, "Profiler: framework (host time: self CPU time of "
                                         "operators); rows: operators on the host\n"));
    ck_assert_ptr_null(strstr(o.text, "Device time"));
    outcome_fini(&o);
    o = OUTCOME("[]", "kernels");
    ck_assert_int_eq(o.result, -TP_ENOTFOUND);
    outcome_fini(&o);
}
END_TEST

START_TEST(without_kernel_records_operators_have_the_device_time)
{
    const char *json = "[" EV(1, "a", 0, 10,
                              ",'use_device':'cuda','kernels':[{'name':'k','device':0,'duration':7}"
                              "]") "," EV(2, "b", 20, 30, ",'use_device':'cuda'") "]";

    ASSERT_PRINTS(json, HEAD "a,7.0,7.0,100.0,1,7.0,7.0,7.0,7.0,0.0,true\r\n", "kernels", "-f",
                  "csv");
    struct outcome o = OUTCOME(json, "kernels");
    ck_assert_ptr_nonnull(strstr(o.text, "rows: operators; there are no kernel records\n"));
    ck_assert_ptr_nonnull(strstr(o.text, "Skipped: 1 without a duration"));
    outcome_fini(&o);
}
END_TEST

START_TEST(device_time_is_the_named_column)
{
    struct outcome o = OUTCOME(MIXED, "kernels", "-f", "csv", "--device-time-attr=cpu_time_total");

    ck_assert_str_eq(o.text, HEAD);
    outcome_fini(&o);
    ASSERT_PRINTS(MIXED, HEAD "mm_2,2.5,2.5,7.6923076923076925,1,2.5,2.5,2.5,2.5,0.0,true\r\n",
                  "kernels", "-f", "csv", "--device-time-attr=cuda_time_total", "--sort-by=name",
                  "-n1");
    o = OUTCOME(MIXED, "kernels", "--device-time-attr=count");
    ck_assert(o.is_usage);
    ck_assert_str_eq(o.diag.text,
                     "--device-time-attr: found 'count', expected one of self_device_time_total, "
                     "device_time_total, device_time, self_cpu_time_total, cpu_time_total, "
                     "cpu_time");
    outcome_fini(&o);
}
END_TEST

START_TEST(rows_are_ordered_and_limited)
{
    static const struct {
        const char *sort, *first;
    } cases[] = {
        {"--sort-by=none", "mm_1"},
        {"--sort-by=name", "mm_2"},
        {"--sort-by=count", "mm_1"},
        {"--sort-by=minimum_us", "mm_1"},
        {"--sort-by=self_cuda_time_total", "mm_1"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o = OUTCOME(MIXED, "kernels", "-f", "csv", cases[i].sort, "-n1");
        ck_assert_int_eq(strncmp(o.text + strlen(HEAD), cases[i].first, 4), 0);
        ck_assert_ptr_eq(strstr(o.text + strlen(HEAD), "\r\n")[2] ? NULL : o.text, o.text);
        outcome_fini(&o);
    }
    struct outcome o = OUTCOME(MIXED, "kernels", "-n1");
    ck_assert_ptr_nonnull(strstr(o.text, "1 more row (--row-limit)\n"));
    outcome_fini(&o);
    o = OUTCOME(MIXED, "kernels", "--sort-by=cpu_memory_usage");
    ck_assert(o.is_usage);
    ck_assert_str_eq(o.diag.text,
                     "--sort-by: kernels have no column 'cpu_memory_usage'; the nearest first: "
                     "per_repeat_us, median_us, minimum_us, maximum_us, average_us, stddev_us, "
                     "total_us, count, name, share_percent");
    outcome_fini(&o);
}
END_TEST

START_TEST(medians_beyond_64_ki_values_are_marked)
{
    size_t room = 70000 * 128;
    char *json = malloc(room), *end = json;

    end += sprintf(end, "[");
    for (int i = 0; i < 70000; i++)
        end += sprintf(end,
                       "%s{'id':1,'name':'k','start_us':0,'end_us':%d.5,'device_type':'CUDA',"
                       "'use_device':'cuda'}",
                       i ? "," : "", i + 1000000);
    strcpy(end, "]");
    struct outcome text = OUTCOME(json, "kernels");
    struct outcome csv = OUTCOME(json, "kernels", "-f", "csv");
    struct outcome nsys = OUTCOME(json, "kernels", "-f", "nsys-kernels");
    struct outcome object = OUTCOME(json, "kernels", "-f", "json");
    ck_assert_ptr_nonnull(strstr(text.text, " ~1.03"));
    ck_assert_ptr_nonnull(strstr(csv.text, ",false\r\n"));
    ck_assert_ptr_nonnull(strstr(nsys.text, ",~103"));
    ck_assert_ptr_nonnull(strstr(object.text, "\"median_is_exact\": false"));
    outcome_fini(&text);
    outcome_fini(&csv);
    outcome_fini(&nsys);
    outcome_fini(&object);
    free(json);
}
END_TEST

START_TEST(api_rows_are_calls_else_operators)
{
    static const char head[] = "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max "
                               "(ns),StdDev (ns),Name\n";
    char expected[512];

    snprintf(expected, sizeof(expected),
             "%s100.0,20000,1,20000.0,20000.0,20000,20000,0.0,cudaLaunchKernel\n", head);
    ASSERT_PRINTS(MIXED, expected, "kernels", "-f", "nsys-api");
    snprintf(expected, sizeof(expected), "%s100.0,5000,1,5000.0,5000.0,5000,5000,0.0,\"a,b\"\n",
             head);
    ASSERT_PRINTS("[" EV(1, "a,b", 0, 5, "") "]", expected, "kernels", "-f", "nsys-api");
    struct outcome o = OUTCOME(MIXED, "kernels", "-f", "nsys-api", "--profiler=device");
    ck_assert_int_eq(o.result, -TP_EUNSUPPORTED);
    outcome_fini(&o);
}
END_TEST

START_TEST(details_list_single_pieces)
{
    ASSERT_PRINTS(MIXED,
                  "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
                  "Block Num\n0,mm_1,N/A,N/A,40.000,20.000,N/A,N/A\n"
                  "0,mm_2,N/A,N/A,60.000,2.500,N/A,N/A\n0,mm_1,N/A,N/A,100.000,10.000,N/A,N/A\n",
                  "kernels", "-f", "ascend-kernel_details");
    ASSERT_PRINTS("[" EV(1, "a", 0, 5, ",'stack':['x','y'],'input_shapes':[[1,2]]") "]",
                  "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),"
                  "Device Self Duration(us),Device Total Duration(us),"
                  "Device Self Duration With AICore(us),Device Total Duration With AICore(us)\n"
                  "a,\"[[1, 2]]\",\"x;\ny\",5.000,5.000,0.000,0.000,N/A,N/A\n",
                  "kernels", "-f", "ascend-operator_details");
    ASSERT_PRINTS(MIXED,
                  "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
                  "Block Num\n",
                  "kernels", "-f", "ascend-kernel_details", "-n0");
}
END_TEST

START_TEST(ascend_details_come_back_as_they_were)
{
    const char *text =
        "Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
        "Block Num,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,"
        "Output Formats\n"
        "3,1,mm,MatMul,AI_CORE,1736413971558972.912,185.504,1.087,16,\"\"\"81920,4096;8192,"
        "512\"\"\""
        ",DT_BF16;DT_BF16,ND;ND,\"\"\"4096,512\"\"\",DT_BF16,ND\n"
        "N/A,0,\"a,b\",N/A,N/A,N/A,2.200,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A\n";

    ASSERT_PRINTS(text, text, "kernels", "-f", "ascend-kernel_details");
    text = "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),"
           "Device Self Duration(us),Device Total Duration(us),"
           "Device Self Duration With AICore(us),Device Total Duration With AICore(us)\n"
           "aten::mm,\"\"\"2,3;3,4\"\"\",\"a.py(1): f;\nb.py(2): g\",10.500,12.000,7.000,7.000,6."
           "000,6.000\naten::t,,,1.250,1.250,N/A,0.000,N/A,N/A\n";
    ASSERT_PRINTS(text, text, "kernels", "-f", "ascend-operator_details");
}
END_TEST

RUN_TESTS("command_kernels", kernels_are_summed_by_name,
          text_says_what_was_measured_left_out_and_skipped, json_has_the_same_in_fields,
          the_other_profilers_can_be_demanded, without_device_records_host_time_counts,
          without_kernel_records_operators_have_the_device_time, device_time_is_the_named_column,
          rows_are_ordered_and_limited, medians_beyond_64_ki_values_are_marked,
          api_rows_are_calls_else_operators, details_list_single_pieces,
          ascend_details_come_back_as_they_were)
