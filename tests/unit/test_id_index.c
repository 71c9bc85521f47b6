/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "model/id_index.h"

START_TEST(numbers_count_up_in_order_of_first_sight)
{
    struct tp_id_index index = {0};
    uint32_t number;

    ck_assert_uint_eq(tp_id_index_find(&index, 5), TP_NO_NUMBER);
    ck_assert_int_eq(tp_id_index_put(&index, 5, &number), 1);
    ck_assert_uint_eq(number, 0);
    ck_assert_int_eq(tp_id_index_put(&index, INT64_MIN, &number), 1);
    ck_assert_uint_eq(number, 1);
    ck_assert_int_eq(tp_id_index_put(&index, 5, &number), 0);
    ck_assert_uint_eq(number, 0);
    ck_assert_uint_eq(tp_id_index_find(&index, INT64_MIN), 1);
    ck_assert_uint_eq(tp_id_index_find(&index, 6), TP_NO_NUMBER);
    tp_id_index_fini(&index);
}
END_TEST

START_TEST(many_ids_are_all_found_again)
{
    struct tp_id_index index = {0};
    uint32_t number;

    for (int64_t i = 0; i < 100000; i++) {
        ck_assert_int_eq(tp_id_index_put(&index, i << 32 ^ i, &number), 1);
        ck_assert_uint_eq(tp_id_index_find(&index, -7), TP_NO_NUMBER); /* there is always room */
    }
    for (int64_t i = 0; i < 100000; i++)
        ck_assert_uint_eq(tp_id_index_find(&index, i << 32 ^ i), (uint32_t)i);
    ck_assert_uint_eq(index.count, 100000);
    tp_id_index_fini(&index);
}
END_TEST

RUN_TESTS("id_index", numbers_count_up_in_order_of_first_sight, many_ids_are_all_found_again)
