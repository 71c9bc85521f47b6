/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/tptrace_join.h"

/* A case: pieces as "FIRST+SLOTS", ring pieces with an r, in the order in which they are found;
 * expected: in the order of their slots, "FIRST+SLOTS" with "-SKIP" and "gapN" where there are any,
 * then next/gap slots/first gap/ double slots. */
struct join_case {
    const char *claim, *pieces, *expected;
};

static const struct join_case cases[] = {
    {"nothing is nothing", "", "0/0/0/0"},
    {"blocks follow each other", "0+10 10+5", "0+10 10+5 15/0/0/0"},
    {"a ring goes on where blocks end", "0+10 10+5 r15+7", "0+10 10+5 r15+7 22/0/0/0"},
    {"a ring's slots that a block has are skipped", "0+10 10+5 r8+10", "0+10 10+5 r15+3 18/0/0/0"},
    {"the tail had not moved when the last block was written", "0+10 r5+5", "0+10 10/0/0/0"},
    {"the tail had not moved for two blocks", "0+10 10+5 15+5 r10+12",
     "0+10 10+5 15+5 r20+2 22/0/0/0"},
    {"a ring fills what a damaged block leaves", "0+10 14+2 r8+12",
     "0+10 r10+4 14+2 r16+4 20/0/0/0"},
    {"rings fill in their order", "0+4 20+2 r10+3 r4+6", "0+4 r4+6 r10+3 20+2gap7 22/7/0/0"},
    {"a ring that blocks have whole gives nothing", "0+10 10+10 r2+3", "0+10 10+10 20/0/0/0"},
    {"a successor ring goes on", "0+4 r4+3 r7+9", "0+4 r4+3 r7+9 16/0/0/0"},
    {"evicted blocks are a gap at the start", "100+10", "100+10gap100 110/0/100/0"},
    {"a damaged block is a gap", "0+10 20+5", "0+10 20+5gap10 25/10/0/0"},
    {"two gaps add up", "5+5 20+5 r30+1", "5+5gap5 20+5gap10 r30+1gap5 31/15/5/0"},
    {"a block twice counts once", "0+10 0+10", "0+10 10/0/0/10"},
    {"blocks that overlap count once", "0+10 5+10", "0+10 5+10-5 15/0/0/5"},
    {"a block before a ring of the same start", "r0+10 0+10", "0+10 10/0/0/0"},
    {"a block out of order is left out", "10+5 0+10", "10+5gap10 15/0/10/10"},
};

/* Blocks and rings apart. */
static void parse(const char *text, struct tptrace_pieces *blocks, struct tptrace_pieces *rings)
{
    char copy[256], *rest;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *t = strtok_r(copy, " ", &rest); t; t = strtok_r(NULL, " ", &rest)) {
        bool ring = *t == 'r';
        char *plus = strchr(t, '+');
        struct tptrace_piece piece = {.first_slot = strtoull(t + ring, NULL, 10),
                                      .slots = (uint32_t)strtoul(plus + 1, NULL, 10),
                                      .segment = ring ? TPTRACE_RING : 0};
        piece.offset = 1000 + piece.first_slot;
        ck_assert_int_eq(tptrace_pieces_add(ring ? rings : blocks, &piece), 0);
    }
    tptrace_rings_sort(rings);
}

static void print(char *got, size_t size, const struct tptrace_pieces *joined)
{
    for (size_t i = 0; i < joined->count; i++) {
        const struct tptrace_piece *piece = &joined->items[i];
        size_t n = strlen(got);
        ck_assert_uint_eq(piece->offset, 1000 + piece->first_slot);
        n += (size_t)snprintf(got + n, size - n, "%s%llu+%u",
                              piece->segment == TPTRACE_RING ? "r" : "",
                              (unsigned long long)piece->first_slot, piece->slots);
        if (piece->skip)
            n += (size_t)snprintf(got + n, size - n, "-%u", piece->skip);
        if (piece->gap)
            n += (size_t)snprintf(got + n, size - n, "gap%llu", (unsigned long long)piece->gap);
        snprintf(got + n, size - n, " ");
    }
}

START_TEST(every_slot_counts_once)
{
    struct tptrace_pieces blocks = {0}, rings = {0}, joined = {0};
    struct tptrace_join join = {0};
    char got[512] = "";

    parse(cases[_i].pieces, &blocks, &rings);
    for (size_t i = 0; i < blocks.count; i++)
        ck_assert_int_eq(tptrace_join_block(&join, &rings, &blocks.items[i], &joined), 0);
    ck_assert_int_eq(tptrace_join_end(&join, &rings, &joined), 0);
    print(got, sizeof(got), &joined);
    snprintf(got + strlen(got), sizeof(got) - strlen(got), "%llu/%llu/%llu/%llu",
             (unsigned long long)join.next, (unsigned long long)join.gap_slots,
             (unsigned long long)join.first_gap, (unsigned long long)join.double_slots);
    ck_assert_msg(!strcmp(got, cases[_i].expected), "%s: got %s, expected %s", cases[_i].claim, got,
                  cases[_i].expected);
    free(blocks.items);
    free(rings.items);
    free(joined.items);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tptrace_join");
    TCase *tcase = tcase_create("join");

    tcase_add_loop_test(tcase, every_slot_counts_once, 0, sizeof(cases) / sizeof(cases[0]));
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
