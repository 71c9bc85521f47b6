/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdlib.h>

#include "input/tptrace_launch_ids.h"

#define WINDOW (TPTRACE_ID_PAGES << 10) /* ids that have a page at a time */

static struct tptrace_launch_ids ids;
static struct tp_launch_tree tree;

static void setup(void)
{
    ids = (struct tptrace_launch_ids){0};
    tree = (struct tp_launch_tree){.root = {.references = 1}};
    tptrace_launch_ids_init(&ids, &tree);
    ids.straggler_max = 4;
}

static void teardown(void)
{
    tptrace_launch_ids_reset(&ids);
    tptrace_launch_ids_fini(&ids);
    tp_launch_tree_fini(&tree);
}

/* Device work of @id ns comes. */
static void come(uint32_t id)
{
    struct tptrace_launch_entry *entry = tptrace_launch_ids_find(&ids, id);
    struct tptrace_wait *wait = tptrace_launch_ids_wait(&ids, entry, id);

    wait->works++;
    wait->device_ns += id;
}

static void place(uint32_t id, uint8_t seen)
{
    struct tptrace_launch_entry *entry = tptrace_launch_ids_find(&ids, id);

    entry->state = TPTRACE_ID_PLACED;
    entry->seen = seen;
    entry->node = tp_launch_hold(&tree.root);
}

static bool is_there(uint32_t id)
{
    struct tptrace_launch_entry *entry = tptrace_launch_ids_look(&ids, id);

    return entry && entry->state != TPTRACE_ID_FREE;
}

START_TEST(the_last_stragglers_are_kept)
{
    for (uint32_t id = 1; id <= 10; id++)
        come(id);
    come(WINDOW);
    ck_assert_uint_eq(ids.straggler_count, 4);
    ck_assert_uint_eq(ids.given_up.works, 6);
    ck_assert_int_eq(ids.given_up.device_ns, 1 + 2 + 3 + 4 + 5 + 6);
    for (uint32_t id = 1; id <= 10; id++)
        ck_assert_int_eq(is_there(id), id > 6);
    ck_assert_int_eq(tptrace_launch_ids_look(&ids, 8)->wait->device_ns, 8);
}
END_TEST

START_TEST(what_is_done_is_no_straggler)
{
    place(1, TPTRACE_ID_SAW_CALL | TPTRACE_ID_LAUNCHES | TPTRACE_ID_SAW_WORK);
    place(2, TPTRACE_ID_SAW_CALL);
    place(3, TPTRACE_ID_SAW_CALL | TPTRACE_ID_LAUNCHES); /* its work is to come */
    place(4, 0);
    come(WINDOW);
    ck_assert(!is_there(1) && !is_there(2) && is_there(3) && is_there(4));
    ck_assert_uint_eq(tree.root.references, 3);
}
END_TEST

/* Whatever a recording says, memory has a bound. */
START_TEST(late_ids_are_few_too)
{
    come(WINDOW + 100);
    for (uint32_t id = 1; id <= 1000; id++)
        come(id);
    ck_assert_uint_eq(ids.straggler_count, 4);
    ck_assert_uint_eq(ids.given_up.works, 996);
    ck_assert(is_there(1000) && is_there(WINDOW + 100));
}
END_TEST

START_TEST(looking_makes_nothing)
{
    come(WINDOW + 100);
    ck_assert_ptr_null(tptrace_launch_ids_look(&ids, 5));
    ck_assert_ptr_null(tptrace_launch_ids_look(&ids, 5 * WINDOW));
    ck_assert_uint_eq(ids.straggler_count, 0);
    ck_assert(is_there(WINDOW + 100));
}
END_TEST

/* A call is in a queue, and finds out there that it was given up. */
START_TEST(a_queued_call_is_left_to_its_queue)
{
    struct tptrace_wait_queue queue = {0};

    for (uint32_t id = 1; id <= 5; id++) {
        come(id);
        tptrace_wait_join(&ids, tptrace_launch_ids_look(&ids, id)->wait, &queue);
    }
    come(WINDOW);
    ck_assert(!is_there(1) && is_there(2));
    ck_assert_uint_eq(ids.given_up.works, 0);
    ck_assert_uint_eq(ids.queued_count, 5);
    ck_assert_uint_eq(queue.first->correlation, 1);
    while (queue.first)
        tptrace_wait_free(&ids, queue.first);
    ck_assert_uint_eq(ids.queued_count, 0);
    for (uint32_t id = 2; id <= 5; id++)
        tptrace_launch_ids_look(&ids, id)->state = TPTRACE_ID_FREE;
}
END_TEST

/* Half a million under way have places of their own. */
START_TEST(much_under_way_widens_the_window)
{
    for (uint32_t id = 1; id <= 500000; id++)
        come(id);
    ck_assert_uint_eq(ids.straggler_count, 0);
    for (uint32_t id = 1; id <= 500000; id += 1000)
        ck_assert_int_eq(tptrace_launch_ids_look(&ids, id)->wait->device_ns, id);
}
END_TEST

/* What is given up goes where an external id says. */
START_TEST(an_offer_is_taken_when_room_ends)
{
    struct tp_launch_key key = {.kind = 1};
    struct tp_launch_node *node = tp_launch_child(&tree, &tree.root, &key);

    for (uint32_t id = 1; id <= 5; id++)
        come(id);
    tptrace_launch_ids_look(&ids, 1)->wait->node = tp_launch_hold(node);
    come(WINDOW);
    ck_assert_uint_eq(ids.by_external, 1);
    ck_assert_uint_eq(ids.given_up.works, 0);
    ck_assert_int_eq(node->sums.device_ns, 1);
    ck_assert_uint_eq(node->references, 1);
}
END_TEST

/* Pages that were retired have a place again then. */
START_TEST(stragglers_are_found_when_the_window_has_widened)
{
    const uint32_t first_window = WINDOW / 4, page = 1024;

    ids.straggler_max = 1000;
    for (uint32_t id = 1; id <= 50; id++)
        come(id);
    for (uint32_t id = page; id < 2 * page; id++)
        come(id);
    come(first_window);
    ck_assert_uint_eq(ids.straggler_count, 50);
    come(first_window + page);
    ck_assert_uint_eq(ids.window, TPTRACE_ID_PAGES / 2);
    for (uint32_t id = 1; id <= 50; id += 2)
        come(id); /* the other half of it */
    for (uint32_t id = 1; id <= 50; id++) {
        struct tptrace_launch_entry *entry = tptrace_launch_ids_look(&ids, id);
        ck_assert(entry && entry->state == TPTRACE_ID_WAITING);
        ck_assert_uint_eq(entry->wait->works, 1 + id % 2);
    }
    come(WINDOW);
    come(WINDOW + first_window); /* and when they are stragglers once more */
    for (uint32_t id = 1; id <= 50; id++)
        ck_assert_uint_eq(tptrace_launch_ids_look(&ids, id)->wait->works, 1 + id % 2);
    ck_assert_uint_eq(ids.given_up.works, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tptrace_launch_ids");
    TCase *tcase = tcase_create("ids");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, the_last_stragglers_are_kept);
    tcase_add_test(tcase, what_is_done_is_no_straggler);
    tcase_add_test(tcase, late_ids_are_few_too);
    tcase_add_test(tcase, looking_makes_nothing);
    tcase_add_test(tcase, a_queued_call_is_left_to_its_queue);
    tcase_add_test(tcase, much_under_way_widens_the_window);
    tcase_add_test(tcase, an_offer_is_taken_when_room_ends);
    tcase_add_test(tcase, stragglers_are_found_when_the_window_has_widened);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
