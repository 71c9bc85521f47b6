/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* What a reader finds on a track. */
struct found {
    uint64_t begins[TP_CLASS_END], ends[TP_CLASS_END], points, lost;
    int64_t least_depth; /* of any class, at any moment */
    uint64_t ticks_back;
};

static struct found read_track(uint32_t track)
{
    struct found found = {0};
    int64_t depth[TP_CLASS_END] = {0};
    uint64_t count, last = 0, *slots = host_collect(track, 0, &count);

    for (uint64_t i = 0; i < count;) {
        const uint64_t *record = slots + i * TP_SLOT_WORDS;
        const struct tp_kind_info *kind = &tp_kinds[tp_slot_kind(record)];
        if (kind->role == TP_ROLE_BEGIN) {
            found.begins[kind->class_]++;
            depth[kind->class_]++;
        } else if (kind->role == TP_ROLE_END) {
            found.ends[kind->class_]++;
            if (--depth[kind->class_] < found.least_depth)
                found.least_depth = depth[kind->class_];
        } else if (kind->role == TP_ROLE_LOST) {
            found.lost += record[4];
        } else {
            found.points++;
        }
        found.ticks_back += tp_slot_ticks(record) < last;
        last = tp_slot_ticks(record);
        i += kind->slots;
    }
    free(slots);
    return found;
}

static void begin(unsigned class_)
{
    static const unsigned kinds[TP_CLASS_END] = {
        0, 0, TP_EVENT_NVTX_PUSH, TP_EVENT_ITT_BEGIN, TP_EVENT_API_BEGIN, TP_EVENT_CUDA_BEGIN};
    const struct tp_op_details details = {.sequence_nr = -1};

    if (class_ == TP_CLASS_OP)
        tp_record_op_begin(20, &details);
    else
        tp_record_begin(kinds[class_], class_, 21);
}

static bool end(unsigned class_)
{
    static const unsigned kinds[TP_CLASS_END] = {0,
                                                 TP_EVENT_OP_END,
                                                 TP_EVENT_NVTX_POP,
                                                 TP_EVENT_ITT_END,
                                                 TP_EVENT_API_END,
                                                 TP_EVENT_CUDA_END};

    return tp_record_end(kinds[class_], class_);
}

START_TEST(armed_process_drains_itself_and_loses_nothing)
{
    for (int i = 0; i < 50000; i++) {
        begin(TP_CLASS_OP);
        begin(TP_CLASS_NVTX);
        ck_assert(end(TP_CLASS_NVTX));
        ck_assert(end(TP_CLASS_OP));
    }
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    struct found found = read_track(track);
    ck_assert_uint_eq(found.begins[TP_CLASS_OP], 50000);
    ck_assert_uint_eq(found.ends[TP_CLASS_OP], 50000);
    ck_assert_uint_eq(found.begins[TP_CLASS_NVTX], 50000);
    ck_assert_uint_eq(found.lost, 0);
    ck_assert_uint_eq(found.ticks_back, 0);
}
END_TEST

START_TEST(full_ring_drops_and_counts_and_never_mispairs)
{
    unsigned seed = (unsigned)_i * 7919u + 1;
    int64_t depth[TP_CLASS_END] = {0};
    uint64_t emitted_begins = 0, emitted_points = 0;

    ck_assert(tp_agent_arm());
    for (int i = 0; i < 60000; i++) {
        /* nobody drains for long stretches */
        atomic_store(&tp_agent.live->drain_lock, i / 10000 % 2 == 0);
        unsigned class_ = TP_CLASS_OP + (unsigned)rand_r(&seed) % 4,
                 what = (unsigned)rand_r(&seed) % 9;
        if (what < 4 && depth[class_] < 100) {
            begin(class_);
            depth[class_]++;
            emitted_begins++;
        } else if (what < 8 && depth[class_]) {
            ck_assert(end(class_));
            depth[class_]--;
        } else {
            const struct tp_record mark = {
                .kind = TP_EVENT_MARK, .role = TP_ROLE_POINT, .slots = 2, .argument = 22};
            tp_record_write(&mark);
            emitted_points++;
        }
    }
    atomic_store(&tp_agent.live->drain_lock, 0);
    for (unsigned c = TP_CLASS_OP; c < TP_CLASS_END; c++)
        for (; depth[c]; depth[c]--)
            ck_assert(end(c));
    tp_drain_here(tp_agent.live);
    begin(TP_CLASS_API); /* the record after a loss says it */
    end(TP_CLASS_API);
    uint32_t track = tp_tls.thread->track;
    uint64_t dropped = tp_tls.thread->dropped;
    host_end_keep();
    struct found found = read_track(track);
    uint64_t begins = 0;
    for (unsigned c = 0; c < TP_CLASS_END; c++) {
        ck_assert_uint_eq(found.begins[c], found.ends[c]);
        begins += found.begins[c];
    }
    ck_assert_int_eq(found.least_depth, 0);
    ck_assert_uint_gt(found.lost, 1000);
    ck_assert_uint_eq(found.lost, dropped);
    /* a dropped begin takes its end with it */
    ck_assert_uint_eq((emitted_begins + 1 - begins) * 2 + emitted_points - found.points,
                      found.lost);
}
END_TEST

START_TEST(ends_without_begin_are_refused)
{
    ck_assert(!end(TP_CLASS_NVTX));
    begin(TP_CLASS_NVTX);
    ck_assert(!end(TP_CLASS_API));
    ck_assert(end(TP_CLASS_NVTX));
    ck_assert(!end(TP_CLASS_NVTX));
}
END_TEST

START_TEST(deep_nesting_keeps_room_for_every_end)
{
    /* more begins than the ring can hold with their ends: the rest are dropped, none mispaired */
    ck_assert(tp_agent_arm());
    atomic_store(&tp_agent.live->drain_lock, 1);
    for (int i = 0; i < 20000; i++)
        begin(TP_CLASS_NVTX);
    for (int i = 0; i < 20000; i++)
        ck_assert(end(TP_CLASS_NVTX));
    atomic_store(&tp_agent.live->drain_lock, 0);
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    struct found found = read_track(track);
    ck_assert_uint_eq(found.begins[TP_CLASS_NVTX], found.ends[TP_CLASS_NVTX]);
    ck_assert_uint_gt(found.begins[TP_CLASS_NVTX], 4000);
    ck_assert_int_eq(found.least_depth, 0);
}
END_TEST

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
    (void)number;
    begin(TP_CLASS_NVTX);
    end(TP_CLASS_NVTX);
    handled++;
}

static void *send_signals(void *argument)
{
    pthread_t *target = argument;

    for (int i = 0; i < 3000; i++) {
        pthread_kill(*target, SIGUSR1);
        struct timespec nap = {0, 20000};
        nanosleep(&nap, NULL);
    }
    return NULL;
}

START_TEST(records_from_signal_handlers_are_whole_or_counted)
{
    pthread_t sender, self = pthread_self();
    uint64_t rounds = 0;

    signal(SIGUSR1, on_signal);
    begin(TP_CLASS_API);
    ck_assert_int_eq(pthread_create(&sender, NULL, send_signals, &self), 0);
    while (handled < 1000 || rounds < 100000) {
        begin(TP_CLASS_OP);
        end(TP_CLASS_OP);
        rounds++;
    }
    pthread_join(sender, NULL);
    end(TP_CLASS_API);
    signal(SIGUSR1, SIG_DFL);
    begin(TP_CLASS_API);
    end(TP_CLASS_API);
    uint32_t track = tp_tls.thread->track;
    uint64_t dropped = tp_tls.thread->dropped;
    host_end_keep();
    struct found found = read_track(track);
    ck_assert_int_eq(found.least_depth, 0);
    ck_assert_uint_eq(found.lost, dropped);
    for (unsigned c = 0; c < TP_CLASS_END; c++)
        ck_assert_uint_eq(found.begins[c], found.ends[c]);
    ck_assert_uint_eq(
        (rounds - found.begins[TP_CLASS_OP] + (uint64_t)handled - found.begins[TP_CLASS_NVTX]) * 2,
        found.lost);
}
END_TEST

#define WRITERS 3
#define PAIRS 200000

static uint32_t tracks[WRITERS];

static void *write_pairs(void *argument)
{
    for (int i = 0; i < PAIRS; i++) {
        begin(TP_CLASS_ITT);
        end(TP_CLASS_ITT);
    }
    tracks[(long)argument] = tp_tls.thread->track;
    return NULL;
}

START_TEST(drain_thread_takes_all_of_several_writers)
{
    pthread_t threads[WRITERS];

    tp_agent.config.when_full = TP_FULL_WAIT;
    host_live();
    for (long i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_pairs, (void *)i), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    host_end_keep();
    for (int i = 0; i < WRITERS; i++) {
        struct found found = read_track(tracks[i]);
        ck_assert_uint_eq(found.begins[TP_CLASS_ITT], PAIRS);
        ck_assert_uint_eq(found.ends[TP_CLASS_ITT], PAIRS);
        ck_assert_uint_eq(found.lost, 0);
    }
}
END_TEST

START_TEST(counters_travel_in_every_record)
{
    uint64_t count;

    tp_tls.alloc_calls = 5;
    tp_tls.allocated_bytes = 1000;
    tp_tls.freed_bytes = 300;
    begin(TP_CLASS_OP);
    tp_tls.alloc_calls = 7;
    tp_tls.allocated_bytes = 1500;
    end(TP_CLASS_OP);
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    uint64_t *slots = host_collect(track, 0, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(slots[1] >> 32, 5);
    ck_assert_uint_eq(slots[2], 1000);
    ck_assert_uint_eq(slots[3], 300);
    ck_assert_uint_eq(slots[9] >> 32, 7);
    ck_assert_uint_eq(slots[10], 1500);
    free(slots);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("record");

    tcase_add_checked_fixture(tests, host_begin, host_end);
    tcase_add_test(tests, armed_process_drains_itself_and_loses_nothing);
    tcase_add_loop_test(tests, full_ring_drops_and_counts_and_never_mispairs, 0, 8);
    tcase_add_test(tests, ends_without_begin_are_refused);
    tcase_add_test(tests, deep_nesting_keeps_room_for_every_end);
    tcase_add_test(tests, records_from_signal_handlers_are_whole_or_counted);
    tcase_add_test(tests, drain_thread_takes_all_of_several_writers);
    tcase_add_test(tests, counters_travel_in_every_record);
    return host_run(tests, "record");
}
