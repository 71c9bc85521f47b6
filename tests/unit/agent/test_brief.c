/* SPDX-License-Identifier: MIT */
/* Records in short: where they are allowed, what room they leave; waiting for room; where a thread
 * may be made. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "event/brief.h"
#include "host.h"
#include "plain.h"
#include "stack.h"

static uint64_t seed;

static bool write_whole(uint64_t address)
{
    const struct tp_record record = {
        .kind = TP_EVENT_FREE, .role = TP_ROLE_POINT, .slots = 2, .words = {address, 0, 0, 0}};
    bool fits =
        tp_tls.thread && !tp_is_careful(tp_tls.thread) &&
        tp_tls.thread->cursor + tp_tls.thread->open + 2 + TP_RECORD_RESERVE < tp_tls.thread->limit;
    bool result = tp_record_write(&record);

    if (fits && result)
        tp_record_allow_brief(tp_tls.thread);
    return result;
}

static bool write_brief(uint64_t address)
{
    tp_tls.freed_bytes += 16;
    return tp_record_brief((uint64_t)TP_EVENT_FREE_BRIEF << 56 | 16, 0, address, 0);
}

static void allow(uint32_t run)
{
    atomic_store(&tp_tls.thread->brief_run, run);
}

START_TEST(brief_ones_follow_a_whole_one)
{
    ck_assert(!write_brief(1)); /* no thread yet */
    ck_assert(write_whole(2));
    ck_assert(!write_brief(3)); /* the drain has allowed none */
    allow(TP_BRIEF_RUN);
    ck_assert(!write_brief(4)); /* not behind a whole one that was allowed them */
    for (int i = 0; i < 3; i++) {
        ck_assert(write_whole(5));
        for (unsigned n = 0; n < TP_BRIEF_RUN; n++)
            ck_assert(write_brief(6));
        ck_assert(!write_brief(7));
    }
}
END_TEST

START_TEST(somebody_else_ends_a_run)
{
    ck_assert(write_whole(1));
    allow(TP_BRIEF_RUN);
    ck_assert(write_whole(2));
    ck_assert(write_brief(3));
    atomic_store(&tp_tls.thread->brief_limit, 0); /* the drain wants to know the time */
    ck_assert(!write_brief(4));
    ck_assert(write_whole(5));
    ck_assert(write_brief(6));
    atomic_store(&tp_tls.thread->careful, 1);
    ck_assert(!write_brief(7));
    atomic_store(&tp_tls.thread->careful, 0);
    ck_assert(write_brief(8));
    tp_tls.thread->busy = 1; /* in a signal handler in the midst of a record */
    ck_assert(!write_brief(9));
    tp_tls.thread->busy = 0;
    ck_assert(write_brief(10));
}
END_TEST

/* What was allocated outside of it counts, and took its time. */
START_TEST(a_window_begins_with_a_whole_one)
{
    ck_assert(write_whole(1));
    allow(TP_BRIEF_RUN);
    ck_assert(write_whole(2));
    ck_assert(write_brief(3));
    atomic_fetch_add(&tp_capture_closed, 1);
    tp_threads_make_careful(tp_agent.live);
    ck_assert(!tp_record_begin(TP_EVENT_API_BEGIN, TP_CLASS_API, 20));
    ck_assert(!write_brief(4));
    atomic_fetch_add(&tp_capture_closed, 1);
    ck_assert(tp_record_end(TP_EVENT_API_END, TP_CLASS_API));
    ck_assert(!tp_is_careful(tp_tls.thread));
    ck_assert(!write_brief(5));
    ck_assert(write_whole(6));
    ck_assert(write_brief(7));
}
END_TEST

START_TEST(a_new_ring_begins_with_a_whole_one)
{
    struct tp_live *live = tp_agent.live;

    ck_assert(write_whole(1));
    allow(TP_BRIEF_RUN);
    ck_assert(write_whole(2));
    ck_assert(write_brief(3));
    int next = tp_recording_make_ring(live, TP_OS_NO_DIR, 1 << 12, 1 << 12);
    ck_assert_int_ge(next, 0);
    tp_thread_take_ring(live, tp_tls.thread, (uint32_t)next);
    ck_assert(!write_brief(4));
}
END_TEST

/* Whatever is open and however full the ring is, brief ones leave each end its slot. */
START_TEST(brief_ones_leave_room_for_every_end)
{
    unsigned state = (unsigned)seed + (unsigned)_i;
    uint64_t briefs = 0, depth = 0;

    ck_assert(tp_agent_arm());
    atomic_store(&tp_agent.live->drain_lock, 1); /* nobody drains */
    for (int i = 0; i < 200000; i++) {
        unsigned what = (unsigned)rand_r(&state) % 16;
        if (tp_tls.thread)
            allow(rand_r(&state) % 64 ? TP_BRIEF_RUN : 0);
        if (what < 5) {
            depth += tp_record_begin(TP_EVENT_API_BEGIN, TP_CLASS_API, 20);
        } else if (what < 8 && depth) {
            ck_assert(tp_record_end(TP_EVENT_API_END, TP_CLASS_API));
            depth -= !tp_tls.thread->skip[TP_CLASS_API] && depth > tp_tls.thread->open;
        } else {
            bool is_brief = write_brief((uint64_t)i);
            briefs += is_brief;
            if (!is_brief)
                write_whole((uint64_t)i);
        }
        if (!tp_tls.thread)
            continue;
        const struct tp_thread *t = tp_tls.thread;
        ck_assert_msg(t->cursor + t->open <= atomic_load(&t->ring->tail) + t->mask + 1,
                      "seed %llu: slot %llu and %u ends do not fit",
                      (unsigned long long)seed + (unsigned)_i, (unsigned long long)t->cursor,
                      t->open);
    }
    ck_assert_uint_gt(briefs, 1000);
    ck_assert_uint_gt(tp_tls.thread->dropped, 1000);
    atomic_store(&tp_agent.live->drain_lock, 0);
}
END_TEST

#define MANY 400000u

/* Faster than they are written: the thread waits, and none is lost. */
START_TEST(where_all_is_recorded_a_full_ring_is_waited_for)
{
    tp_agent.config.alloc.choice = TP_ALLOC_ALL;
    host_live();
    for (uint64_t i = 1; i <= MANY; i++)
        if (!write_brief(i))
            write_whole(i);
    ck_assert_uint_eq(tp_tls.thread->dropped, 0);
    uint32_t track = tp_tls.thread->track;
    host_end_keep();
    uint64_t count, found = 0, *slots = host_collect(track, 0, &count);
    for (uint64_t i = 0; i < count; i += 2, found++) {
        ck_assert_uint_eq(tp_slot_kind(slots + i * TP_SLOT_WORDS), TP_EVENT_FREE);
        ck_assert_uint_eq(slots[i * TP_SLOT_WORDS + 4], found + 1);
        if (slots[i * TP_SLOT_WORDS + 5])
            ck_assert_uint_eq(slots[i * TP_SLOT_WORDS + 3], 16 * (found + 1));
    }
    ck_assert_uint_eq(found, MANY);
    free(slots);
}
END_TEST

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A disk that stands still: one record waits, not each. */
START_TEST(in_vain_is_waited_once)
{
    tp_agent.config.alloc.choice = TP_ALLOC_ALL;
    ck_assert(tp_agent_arm());
    ck_assert(write_whole(1));
    atomic_store(&tp_agent.live->state, TP_LIVE); /* but there is no thread */
    double before = now();
    for (uint64_t i = 2; i <= MANY; i++)
        write_whole(i);
    double took = now() - before;
    ck_assert_uint_gt(tp_tls.thread->dropped, 100000);
    ck_assert_msg(took > 0.05, "waited %f s", took);
    uint32_t waits = tp_tls.thread->waited_in_vain;
    ck_assert_uint_eq(waits, 1);
    atomic_store(&tp_agent.live->state, TP_ARMED);
}
END_TEST

/* How long one record waits that finds no room. */
static double wait_in_vain(void)
{
    tp_tls.thread->waited_in_vain = false;
    double before = now();
    ck_assert(!write_whole(1));
    ck_assert(tp_tls.thread->waited_in_vain);
    return now() - before;
}

START_TEST(a_tenth_of_a_second_is_waited_at_most)
{
    double least = 1;

    tp_agent.config.alloc.choice = TP_ALLOC_ALL;
    ck_assert(tp_agent_arm());
    ck_assert(write_whole(1));
    atomic_store(&tp_agent.live->state, TP_LIVE); /* but there is no thread */
    while (write_whole(2))
        ;
    for (int i = 0; i < 5; i++) {
        double took = wait_in_vain();
        least = took < least ? took : least;
    }
    ck_assert_msg(least > 0.09 && least < 0.12, "waited %f s", least);
    atomic_store(&tp_agent.live->state, TP_ARMED);
}
END_TEST

/* ---- where a thread may be made ---- */

static volatile bool plain_in_handler; /* raise is declared to call nothing of ours */

static void on_signal(int number)
{
    (void)number;
    plain_in_handler = tp_plain_is_here();
}

static volatile bool plain_in_callback;

static int compare(const void *a, const void *b)
{
    plain_in_callback = tp_plain_is_here();
    return *(const int *)a - *(const int *)b;
}

static void *elsewhere(void *argument)
{
    *(bool *)argument = tp_plain_is_here();
    return NULL;
}

START_TEST(plain_is_what_the_program_does_by_itself)
{
    int numbers[] = {3, 1, 2};
    bool on_thread = true;
    pthread_t thread;

    tp_stack_start();
    tp_plain_start();
    ck_assert(tp_plain_is_here());
    qsort(numbers, 3, sizeof(numbers[0]), compare);
    ck_assert(plain_in_callback);
    signal(SIGUSR1, on_signal);
    plain_in_handler = true;
    raise(SIGUSR1);
    ck_assert(!plain_in_handler);
    pthread_create(&thread, NULL, elsewhere, &on_thread);
    pthread_join(thread, NULL);
    ck_assert(!on_thread);
}
END_TEST

int main(int argc, char **argv)
{
    TCase *tests = tcase_create("brief");

    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    printf("# seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    tcase_add_checked_fixture(tests, host_begin, host_end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, brief_ones_follow_a_whole_one);
    tcase_add_test(tests, somebody_else_ends_a_run);
    tcase_add_test(tests, a_window_begins_with_a_whole_one);
    tcase_add_test(tests, a_new_ring_begins_with_a_whole_one);
    tcase_add_loop_test(tests, brief_ones_leave_room_for_every_end, 0, 6);
    tcase_add_test(tests, where_all_is_recorded_a_full_ring_is_waited_for);
    tcase_add_test(tests, in_vain_is_waited_once);
    tcase_add_test(tests, a_tenth_of_a_second_is_waited_at_most);
    tcase_add_test(tests, plain_is_what_the_program_does_by_itself);
    return host_run(tests, "brief");
}
