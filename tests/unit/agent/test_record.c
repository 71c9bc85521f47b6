/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "intern.h"
#include "points.h"

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

static atomic_int handled;

static void on_signal(int number)
{
    (void)number;
    begin(TP_CLASS_NVTX);
    end(TP_CLASS_NVTX);
    handled++;
}

/* Signals that are sent while one is pending are one signal: so not a number of them. */
static void *send_signals(void *argument)
{
    pthread_t *target = argument;

    while (handled < 1000) {
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
    ck_assert_uint_eq((rounds - found.begins[TP_CLASS_OP] + (uint64_t)atomic_load(&handled) -
                       found.begins[TP_CLASS_NVTX]) *
                          2,
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

/* Ranges around, across and inside of a window; only those that begin inside are written. */
START_TEST(capture_window_leaves_out_without_mispairing)
{
    ck_assert(tp_agent_arm());
    begin(TP_CLASS_NVTX); /* before: written */
    tp_capture_close();
    begin(TP_CLASS_NVTX);
    begin(TP_CLASS_API);
    ck_assert_uint_eq(tp_record_depth(TP_CLASS_NVTX), 2);
    ck_assert(!tp_record_is_open(TP_CLASS_API));
    tp_record_short(TP_EVENT_CUDA_CALL, 1); /* left out */
    tp_capture_open();
    tp_record_short(TP_EVENT_CUDA_CALL, 2);
    begin(TP_CLASS_NVTX); /* inside of one that was left out */
    ck_assert(end(TP_CLASS_NVTX));
    tp_capture_close();
    ck_assert(end(TP_CLASS_API));  /* begun outside */
    ck_assert(end(TP_CLASS_NVTX)); /* begun outside */
    ck_assert(end(TP_CLASS_NVTX)); /* the first one's: written, though outside */
    ck_assert(!end(TP_CLASS_NVTX));
    tp_capture_open();
    begin(TP_CLASS_OP);
    ck_assert(end(TP_CLASS_OP));
    ck_assert(!tp_is_careful(tp_tls.thread));
    uint32_t track = tp_tls.thread->track;
    ck_assert_uint_eq(tp_tls.thread->dropped, 0);
    host_end_keep();
    struct found found = read_track(track);
    ck_assert_uint_eq(found.begins[TP_CLASS_NVTX], 2);
    ck_assert_uint_eq(found.ends[TP_CLASS_NVTX], 2);
    ck_assert_uint_eq(found.begins[TP_CLASS_API], 0);
    ck_assert_uint_eq(found.ends[TP_CLASS_API], 0);
    ck_assert_uint_eq(found.begins[TP_CLASS_OP], 1);
    ck_assert_uint_eq(found.points, 1);
    ck_assert_uint_eq(found.lost, 0);
    ck_assert_int_eq(found.least_depth, 0);
}
END_TEST

START_TEST(thread_born_outside_of_the_window_is_left_out)
{
    tp_capture_close();
    begin(TP_CLASS_NVTX);
    ck_assert_ptr_null(tp_tls.thread); /* nothing is made for it */
    ck_assert(!end(TP_CLASS_NVTX));
    ck_assert(tp_names_ready());
    begin(TP_CLASS_NVTX);
    ck_assert(end(TP_CLASS_NVTX));
    tp_capture_open();
    begin(TP_CLASS_API);
    ck_assert(end(TP_CLASS_API));
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    struct found found = read_track(track);
    ck_assert_uint_eq(found.begins[TP_CLASS_NVTX], 0);
    ck_assert_uint_eq(found.begins[TP_CLASS_API], 1);
}
END_TEST

static void write_long(unsigned kind, unsigned slots, uint64_t mark)
{
    uint64_t more[8];

    for (unsigned i = 0; i < 8; i++)
        more[i] = mark + 4 + i;
    const struct tp_record record = {
        .kind = (uint8_t)kind,
        .role = TP_ROLE_POINT,
        .slots = (uint8_t)slots,
        .argument = (uint32_t)mark,
        .words = {mark, mark + 1, mark + 2, mark + 3},
        .more = more,
    };
    ck_assert(tp_record_write(&record));
}

/* Over the ring's end and through the slow way, too. */
START_TEST(records_of_three_and_four_slots_are_whole)
{
    uint64_t count, mark = 0;

    for (; mark < 20000; mark++) {
        ck_assert(tp_record_room(7, 2000000000));
        write_long(TP_EVENT_GPU_KERNEL, 3, mark * 100);
        write_long(TP_EVENT_CUDA_MEMORY, 4, mark * 100 + 50);
    }
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    uint64_t *slots = host_collect(track, 0, &count);
    ck_assert_uint_eq(count, 7 * mark);
    for (uint64_t i = 0; i < mark; i++) {
        const uint64_t *kernel = slots + i * 7 * TP_SLOT_WORDS, *memory = kernel + 12;
        ck_assert_uint_eq(tp_slot_kind(kernel), TP_EVENT_GPU_KERNEL);
        ck_assert_uint_eq(tp_slot_argument(kernel), (uint32_t)(i * 100));
        ck_assert_uint_eq(kernel[4], i * 100);
        ck_assert_uint_eq(kernel[8], i * 100 + 4);
        ck_assert_uint_eq(tp_slot_kind(memory), TP_EVENT_CUDA_MEMORY);
        ck_assert_uint_eq(memory[5], i * 100 + 51);
        ck_assert_uint_eq(memory[8], i * 100 + 54);
        ck_assert_uint_eq(memory[11], i * 100 + 57);
    }
    free(slots);
}
END_TEST

START_TEST(room_is_made_or_refused_and_nothing_is_counted)
{
    uint64_t written = 0;

    ck_assert(tp_agent_arm());
    atomic_store(&tp_agent.live->drain_lock, 1); /* nobody drains */
    while (tp_record_room(3, 0)) {
        write_long(TP_EVENT_GPU_KERNEL, 3, written);
        written++;
    }
    ck_assert_uint_gt(written, 2000);
    ck_assert(!tp_record_room(3, 2000000));
    ck_assert_uint_eq(tp_tls.thread->dropped, 0);
    atomic_store(&tp_agent.live->drain_lock, 0);
    ck_assert(tp_record_room(3, 2000000000));
    write_long(TP_EVENT_GPU_KERNEL, 3, written);
    written++;
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    ck_assert(!tp_record_room(3, 0));
    ck_assert_uint_eq(read_track(track).points, written);
}
END_TEST

static void window_begin(void)
{
    host_begin();
    tp_agent.config.capture.by = TP_CAPTURE_CUDA_PROFILER_API;
    tp_capture_start(&tp_agent.config);
    tp_capture_open();
}

static void window_end(void)
{
    tp_capture_open();
    host_end();
}

int main(void)
{
    TCase *tests = tcase_create("record");

    tcase_add_checked_fixture(tests, window_begin, window_end);
    tcase_add_test(tests, armed_process_drains_itself_and_loses_nothing);
    tcase_add_loop_test(tests, full_ring_drops_and_counts_and_never_mispairs, 0, 8);
    tcase_add_test(tests, ends_without_begin_are_refused);
    tcase_add_test(tests, deep_nesting_keeps_room_for_every_end);
    tcase_add_test(tests, records_from_signal_handlers_are_whole_or_counted);
    tcase_add_test(tests, drain_thread_takes_all_of_several_writers);
    tcase_add_test(tests, counters_travel_in_every_record);
    tcase_add_test(tests, capture_window_leaves_out_without_mispairing);
    tcase_add_test(tests, thread_born_outside_of_the_window_is_left_out);
    tcase_add_test(tests, records_of_three_and_four_slots_are_whole);
    tcase_add_test(tests, room_is_made_or_refused_and_nothing_is_counted);
    return host_run(tests, "record");
}
