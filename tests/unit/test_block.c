/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdlib.h>

#include "records.h"
#include "trace/block.h"

#define SLOTS 4096u

static struct tp_block_encoder *encoder;
static struct tp_block_decoder *decoder;
static void *workspace;
static uint64_t slots[SLOTS * TP_SLOT_WORDS], open[256 * TP_SLOT_WORDS];

static void setup(void)
{
    size_t size = tp_block_encoder_size(SLOTS);

    ck_assert_int_eq(posix_memalign(&workspace, 16, size), 0);
    encoder = tp_block_encoder_init(workspace, size, SLOTS);
    ck_assert_ptr_nonnull(encoder);
    decoder = tp_block_decoder_create();
    ck_assert_ptr_nonnull(decoder);
}

static void teardown(void)
{
    tp_block_decoder_destroy(decoder);
    free(workspace);
}

static void check_round_trip(uint32_t count, uint32_t open_count)
{
    const void *bytes;
    size_t size;
    struct tp_block block;
    struct tp_diag diag = {0};

    ck_assert_int_eq(tp_block_encode(encoder, 7, 0x01020304, 1000, slots, count, open, open_count,
                                     slots[0] & TP_TICKS_MASK, 0, &bytes, &size),
                     0);
    int error = tp_block_decode(decoder, bytes, size, 0, &block, &diag);
    ck_assert_msg(!error, "%s", diag.text);
    ck_assert_uint_eq(block.slot_count, count);
    ck_assert_uint_eq(block.open_slots, open_count);
    ck_assert_uint_eq(block.unknown_records, 0);
    ck_assert_mem_eq(block.slots, slots, (size_t)count * TP_SLOT_BYTES);
    ck_assert_mem_eq(block.open, open, (size_t)open_count * TP_SLOT_BYTES);
}

START_TEST(block_round_trip_is_identity_for_every_kind)
{
    struct random random = {random_seed("every kind")};

    for (unsigned kind = 1; kind < TP_EVENT_KIND_END; kind++)
        for (unsigned style = 0; style < RECORDS_STYLE_END; style++) {
            uint32_t count = records_mix(&random, slots, 600, UINT64_C(1) << kind, style);
            check_round_trip(count, 0);
        }
}
END_TEST

START_TEST(block_round_trip_is_identity_for_mixed_kinds_and_open_ranges)
{
    struct random random = {random_seed("mixed kinds")};

    for (unsigned round = 0; round < 300; round++) {
        uint32_t room = (uint32_t)random_below(&random, round % 10 ? 64 : SLOTS);
        uint32_t count = records_mix(&random, slots, room, records_kinds(TP_ROLE_NONE),
                                     round % RECORDS_STYLE_END);
        uint32_t open_count = records_mix(&random, open, (uint32_t)random_below(&random, 256),
                                          records_kinds(TP_ROLE_BEGIN), round % RECORDS_STYLE_END);
        check_round_trip(count, open_count);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("block");
    TCase *cases = tcase_create("block");

    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, block_round_trip_is_identity_for_every_kind);
    tcase_add_test(cases, block_round_trip_is_identity_for_mixed_kinds_and_open_ranges);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
