/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "model/work.h"

START_TEST(whole_nanoseconds_become_integers)
{
    static const struct {
        double us;
        bool is_whole;
        int64_t ns;
    } cases[] = {
        {400.125, true, 400125},
        {1234567.891 - 1234567.0, true, 891}, /* what a subtraction leaves of it */
        {0.0004, false, 0},
        {0.0005, false, 0},
        {-3.25, true, -3250},
        {1e300, false, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tp_number ns = tp_work_ns(tp_number_real(cases[i].us));
        ck_assert_int_eq(!ns.is_real, cases[i].is_whole);
        if (!ns.is_real)
            ck_assert_int_eq((int64_t)ns.bits.low, cases[i].ns);
    }
    ck_assert_int_eq((int64_t)tp_work_ns(tp_number_integer(7)).bits.low, 7000);
}
END_TEST

static enum tp_work_kind kind_of(const char *name, const char *rest)
{
    struct fixture f;
    char json[256];

    snprintf(json, sizeof(json), "[{'id':1,'name':'%s','start_us':0,'end_us':1%s}]", name, rest);
    fixture_load(&f, json);
    enum tp_work_kind kind = tp_work_kind_of_event(&f.list, &f.list.events[0]);
    fixture_fini(&f);
    return kind;
}

START_TEST(kinds_follow_device_and_name)
{
    static const char cuda[] = ",'device_type':'CUDA','use_device':'cuda'";
    static const char note[] =
        ",'device_type':'CUDA','use_device':'cuda','is_user_annotation':true";
    static const struct {
        const char *name, *rest;
        enum tp_work_kind kind;
    } cases[] = {
        {"sgemm", cuda, TP_WORK_KERNEL},
        {"Memcpy HtoD (Pageable -> Device)", cuda, TP_WORK_COPY},
        {"Memset (Device)", cuda, TP_WORK_COPY},
        {"memcpy_kernel", cuda, TP_WORK_KERNEL},
        {"ProfilerStep*", note, TP_WORK_WAIT},
        {"Stream Sync", cuda, TP_WORK_WAIT},
        {"k", ",'device_type':'XPU','use_device':'xpu'", TP_WORK_KERNEL},
        {"k", ",'device_type':'HPU','use_device':'hpu'", TP_WORK_KERNEL},
        {"cudaLaunchKernel", "", TP_WORK_CALL},
        {"cuLaunchKernel", "", TP_WORK_CALL},
        {"hipLaunchKernel", "", TP_WORK_CALL},
        {"cudagraph", "", TP_WORK_OPERATOR},
        {"custom", "", TP_WORK_OPERATOR},
        {"cu", "", TP_WORK_OPERATOR},
        {"aten::add", "", TP_WORK_OPERATOR},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(kind_of(cases[i].name, cases[i].rest) == cases[i].kind, "%s", cases[i].name);
}
END_TEST

struct collector {
    struct tp_work_sink sink;
    struct tp_work works[4];
    int count, stop_at;
};

static int collect(struct tp_work_sink *sink, const struct tp_work *work)
{
    struct collector *c = (struct collector *)sink;

    c->works[c->count++] = *work;
    return c->count == c->stop_at ? -TP_ESTATE : 0;
}

START_TEST(work_of_a_list_has_its_times_and_places)
{
    struct collector c = {.sink = {.take = collect}};
    struct fixture f;

    fixture_load(&f, "[" EV(1, "op", 1, 9,
                            ",'use_device':'cuda','kernels':[{'name':'k','device':0,"
                            "'duration':2.5}]") "," EV(2, "in", 2, 5,
                                                       "") ","
                                                           "{'id':3,'name':'k','start_us':3,'end_"
                                                           "us':5.5,'device_type':'CUDA',"
                                                           "'use_device':'cuda','device_index':2,'"
                                                           "device_resource_id':7}]");
    ck_assert_int_eq(tp_work_of_list(&f.list, 0, f.list.count, &c.sink), 0);
    ck_assert_int_eq(c.count, 3);
    ck_assert_uint_eq(c.works[0].ns[TP_MEASURE_SELF_CPU_TIME].bits.low, 5000);
    ck_assert_uint_eq(c.works[0].ns[TP_MEASURE_CPU_TIME].bits.low, 8000);
    ck_assert_uint_eq(c.works[0].ns[TP_MEASURE_SELF_DEVICE_TIME].bits.low, 2500);
    ck_assert_uint_eq(c.works[2].ns[TP_MEASURE_DEVICE_TIME].bits.low, 2500);
    ck_assert(c.works[2].has_span && tp_work_knows(&c.works[2], TP_MEASURE_DEVICE_TIME));
    ck_assert_uint_eq(c.works[2].start_ns.bits.low, 3000);
    ck_assert_uint_eq(c.works[2].end_ns.bits.low, 5500);
    ck_assert_int_eq(c.works[2].device, 2);
    ck_assert_int_eq(c.works[2].stream, 7);
    fixture_fini(&f);
}
END_TEST

START_TEST(a_sink_can_stop)
{
    struct collector c = {.sink = {.take = collect}, .stop_at = 2};
    struct fixture f;

    fixture_load(&f,
                 "[" EV(1, "a", 0, 1, "") "," EV(2, "b", 2, 3, "") "," EV(3, "c", 4, 5, "") "]");
    ck_assert_int_eq(tp_work_of_list(&f.list, 0, f.list.count, &c.sink), -TP_ESTATE);
    ck_assert_int_eq(c.count, 2);
    fixture_fini(&f);
}
END_TEST

START_TEST(folded_events_are_no_work)
{
    struct collector c = {.sink = {.take = collect}};
    struct fixture f;

    fixture_load(&f, "[" EV(1, "a", 0, 10, "") "," EV(2, "a", 1, 9, "") "]");
    ck_assert_int_eq(tp_work_of_list(&f.list, 0, f.list.count, &c.sink), 0);
    ck_assert_int_eq(c.count, 1);
    fixture_fini(&f);
}
END_TEST

RUN_TESTS("work", whole_nanoseconds_become_integers, kinds_follow_device_and_name,
          work_of_a_list_has_its_times_and_places, a_sink_can_stop, folded_events_are_no_work)
