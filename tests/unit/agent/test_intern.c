/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "host.h"
#include "trace/file.h"

static struct tp_names *names;
static char *bytes;

static void read_back(void)
{
    struct tp_diag diag = {0};
    size_t size;

    host_end_keep();
    bytes = host_read("names.tpn", &size);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(tp_names_open(&names, bytes, size, tp_agent.live->uuid, &diag), 0);
    ck_assert_uint_eq(tp_names_damaged(names), 0);
}

static void check_name(uint32_t id, unsigned kind, const void *text, size_t size)
{
    struct tp_name name;

    ck_assert(tp_names_get(names, id, &name));
    ck_assert_uint_eq(name.kind, kind);
    ck_assert_uint_eq(name.size, size);
    ck_assert_mem_eq(name.bytes, text, size);
}

START_TEST(same_text_same_id_and_kinds_differ)
{
    uint32_t a = tp_intern(TP_NAME_TEXT, "abc", 3);

    ck_assert_uint_ge(a, TP_NAME_FIRST);
    ck_assert_uint_eq(tp_intern(TP_NAME_TEXT, "abc", 3), a);
    ck_assert_uint_eq(tp_intern_text(TP_NAME_TEXT, "abc"), a);
    ck_assert_uint_ne(tp_intern(TP_NAME_KEY, "abc", 3), a);
    ck_assert_uint_ne(tp_intern(TP_NAME_TEXT, "abcd", 4), a);
    uint32_t nul = tp_intern(TP_NAME_OPERATOR, "aten::add\0Tensor", 16);
    read_back();
    check_name(a, TP_NAME_TEXT, "abc", 3);
    check_name(nul, TP_NAME_OPERATOR, "aten::add\0Tensor", 16);
}
END_TEST

START_TEST(a_reused_address_is_seen_by_its_content)
{
    char text[32] = "first";
    uint32_t first = tp_intern_text(TP_NAME_TEXT, text);

    strcpy(text, "first and more");
    uint32_t second = tp_intern_text(TP_NAME_TEXT, text);
    strcpy(text, "fir");
    uint32_t third = tp_intern_text(TP_NAME_TEXT, text);
    strcpy(text, "first");
    ck_assert_uint_eq(tp_intern_text(TP_NAME_TEXT, text), first);
    ck_assert_uint_ne(second, first);
    ck_assert_uint_ne(third, first);
    read_back();
    check_name(second, TP_NAME_TEXT, "first and more", 14);
    check_name(third, TP_NAME_TEXT, "fir", 3);
}
END_TEST

START_TEST(a_name_over_64_KiB_is_cut_and_says_so)
{
    char *large = malloc(100000);
    struct tp_name name;

    memset(large, 'x', 100000);
    uint32_t id = tp_intern(TP_NAME_TEXT, large, 100000);
    read_back();
    ck_assert(tp_names_get(names, id, &name));
    ck_assert_uint_eq(name.size, TP_NAME_LENGTH_LIMIT);
    ck_assert_uint_eq(name.flags, TP_NAME_CUT);
    free(large);
}
END_TEST

#define RACERS 4
#define RACE_NAMES 2000

static uint32_t ids[RACERS][RACE_NAMES];
static pthread_barrier_t barrier;

static void *race(void *argument)
{
    long me = (long)argument;
    char text[32];

    pthread_barrier_wait(&barrier);
    for (int i = 0; i < RACE_NAMES; i++) {
        int n = snprintf(text, sizeof(text), "name %d", i);
        ids[me][i] = tp_intern(TP_NAME_TEXT, text, (size_t)n);
    }
    return NULL;
}

START_TEST(threads_that_race_for_a_name_all_get_it)
{
    pthread_t threads[RACERS];
    char text[32];

    pthread_barrier_init(&barrier, NULL, RACERS);
    ck_assert(tp_agent_arm());
    for (long i = 0; i < RACERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, (void *)i), 0);
    for (int i = 0; i < RACERS; i++)
        pthread_join(threads[i], NULL);
    read_back();
    for (int i = 0; i < RACE_NAMES; i++)
        for (int r = 0; r < RACERS; r++) {
            int n = snprintf(text, sizeof(text), "name %d", i);
            check_name(ids[r][i], TP_NAME_TEXT, text, (size_t)n);
        }
}
END_TEST

START_TEST(names_go_on_over_many_steps_of_the_file)
{
    char text[1000];
    uint32_t last = 0;

    memset(text, 'y', sizeof(text));
    for (int i = 0; i < 5000; i++) {
        snprintf(text, 16, "%d", i);
        text[strlen(text)] = 'y';
        last = tp_intern(TP_NAME_TEXT, text, sizeof(text));
        ck_assert_uint_ge(last, TP_NAME_FIRST);
    }
    ck_assert_uint_ge(atomic_load(&tp_agent.live->names.allocated), 5u << 20);
    read_back();
    check_name(last, TP_NAME_TEXT, text, sizeof(text));
    ck_assert_uint_eq(tp_names_count(names), 5000);
}
END_TEST

START_TEST(past_the_limit_names_are_refused_and_counted)
{
    ck_assert(tp_agent_arm());
    tp_intern(TP_NAME_TEXT, "a", 1);
    atomic_store(&tp_agent.live->names.next_id, TP_NAME_FIRST + TP_NAME_LIMIT);
    ck_assert_uint_eq(tp_intern(TP_NAME_TEXT, "b", 1), TP_NAME_TOO_MANY);
    ck_assert_uint_eq(tp_intern(TP_NAME_TEXT, "a", 1), TP_NAME_FIRST);
    ck_assert_uint_eq(atomic_load(&tp_agent.live->names.refused), 1);
}
END_TEST

/* Intern new names until one is refused. Return: how many there were. */
static unsigned fill_names(uint32_t *ret_id)
{
    static unsigned number;
    char text[1000] = "";
    unsigned count = 0;

    do {
        snprintf(text, sizeof(text), "%u", number++);
        *ret_id = tp_intern(TP_NAME_TEXT, text, sizeof(text));
    } while (*ret_id >= TP_NAME_FIRST && ++count < 100000);
    return count;
}

/* Each name would cost four system calls. */
START_TEST(a_full_disk_is_asked_once_a_second)
{
    struct rlimit old, less;
    uint32_t id;

    ck_assert(tp_agent_arm());
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    less = (struct rlimit){3u << 19, old.rlim_max}; /* less than the second step */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &less), 0);
    ck_assert_uint_gt(fill_names(&id), 100);
    ck_assert_uint_eq(id, TP_NAME_NO_ROOM);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    ck_assert_uint_eq(fill_names(&id), 0);
    ck_assert_uint_eq(id, TP_NAME_NO_ROOM);
    atomic_fetch_sub(&tp_agent.live->names.retry_ns, 1000000000);
    ck_assert_uint_gt(fill_names(&id), 100);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("intern");

    tcase_add_checked_fixture(tests, host_begin, host_end);
    tcase_add_test(tests, same_text_same_id_and_kinds_differ);
    tcase_add_test(tests, a_reused_address_is_seen_by_its_content);
    tcase_add_test(tests, a_name_over_64_KiB_is_cut_and_says_so);
    tcase_add_test(tests, threads_that_race_for_a_name_all_get_it);
    tcase_add_test(tests, names_go_on_over_many_steps_of_the_file);
    tcase_add_test(tests, past_the_limit_names_are_refused_and_counted);
    tcase_add_test(tests, a_full_disk_is_asked_once_a_second);
    return host_run(tests, "intern");
}
