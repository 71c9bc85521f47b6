/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "event/names.h"
#include "records.h"
#include "trace/file.h"
#include "trace/wire.h"
#include "unit.h"

#define FILE_MAX (1 << 16)

static const uint8_t uuid[16] = {9, 8, 7};
static uint8_t file[FILE_MAX];
static size_t used;
static struct tp_names *names;
static struct tp_diag diag;

static void setup(void)
{
    memset(file, 0, sizeof(file));
    tp_file_header_write(file, TP_NAMES_MAGIC, uuid, 0);
    used = TP_FILE_HEADER_BYTES;
}

/* Returns where the record stands. */
static size_t add(uint32_t id, unsigned kind, const void *bytes, uint32_t length)
{
    struct tp_name_record record = {.id = id, .kind = (uint8_t)kind, .length = length};
    size_t at = used;

    record.checksum = tp_name_checksum(&record, bytes);
    memcpy(file + at, &record, sizeof(record));
    if (length)
        memcpy(file + at + sizeof(record), bytes, length);
    used += (sizeof(record) + length + 7) / 8 * 8;
    return at;
}

static size_t add_text(uint32_t id, const char *text)
{
    return add(id, TP_NAME_TEXT, text, (uint32_t)strlen(text));
}

static void reopen(size_t size)
{
    int error = tp_names_open(&names, file, size, uuid, &diag);

    ck_assert_msg(!error, "%s", diag.text);
}

static void check_text(uint32_t id, const char *text)
{
    struct tp_name name;

    ck_assert_msg(tp_names_get(names, id, &name), "name %u is missing", id);
    ck_assert_uint_eq(name.size, strlen(text));
    ck_assert_mem_eq(name.bytes, text, name.size);
}

START_TEST(names_come_back_by_id_in_any_order)
{
    struct tp_name name;

    add_text(18, "eighteen");
    add(16, TP_NAME_OPERATOR, "aten::add\0Tensor", 16);
    add_text(2000, "two thousand");
    add(17, TP_NAME_TEXT, "", 0);
    reopen(sizeof(file));
    check_text(18, "eighteen");
    check_text(2000, "two thousand");
    check_text(17, "");
    ck_assert(tp_names_get(names, 16, &name));
    ck_assert_uint_eq(name.kind, TP_NAME_OPERATOR);
    ck_assert_uint_eq(name.size, 16);
    ck_assert_mem_eq(name.bytes, "aten::add\0Tensor", 16);
    ck_assert_uint_eq(tp_names_count(names), 4);
    ck_assert_uint_eq(tp_names_highest(names), 2000);
    ck_assert_uint_eq(tp_names_damaged(names), 0);
    tp_names_close(names);
}
END_TEST

START_TEST(ids_without_a_record_have_no_name_and_the_fixed_ones_have_theirs)
{
    struct tp_name name;

    add_text(20, "x");
    reopen(used);
    ck_assert(!tp_names_get(names, 0, &name));
    ck_assert(!tp_names_get(names, 3, &name));
    ck_assert(!tp_names_get(names, 15, &name));
    ck_assert(!tp_names_get(names, 16, &name));
    ck_assert(!tp_names_get(names, 21, &name));
    ck_assert(!tp_names_get(names, UINT32_MAX, &name));
    check_text(1, "(no room for name)");
    check_text(2, "(too many names)");
    tp_names_close(names);
}
END_TEST

START_TEST(file_without_names_is_a_names_file)
{
    struct tp_name name;

    reopen(used);
    ck_assert_uint_eq(tp_names_count(names), 0);
    ck_assert_uint_eq(tp_names_highest(names), 0);
    ck_assert(!tp_names_get(names, 16, &name));
    tp_names_close(names);
    reopen(sizeof(file));
    ck_assert_uint_eq(tp_names_damaged(names), 0);
    tp_names_close(names);
}
END_TEST

START_TEST(record_that_was_never_finished_is_passed_over)
{
    struct tp_name name;

    add_text(16, "before");
    size_t at = add_text(17, "claimed and then the process died");
    add_text(18, "after");
    memset(file + at + 12, 0, 4);
    reopen(sizeof(file));
    check_text(16, "before");
    check_text(18, "after");
    ck_assert(!tp_names_get(names, 17, &name));
    ck_assert_uint_eq(tp_names_damaged(names), 0);
    ck_assert_uint_eq(tp_names_unfinished(names), 1);
    tp_names_close(names);
}
END_TEST

START_TEST(damage_is_told_from_what_a_killed_writer_leaves)
{
    static const char *const noise[] = {"noise behind", "!", "nineteen bytes of it", ""};

    for (unsigned i = 0; i < UNIT_COUNT(noise); i++) {
        setup();
        add_text(16, "good");
        size_t at = add_text(17, "claimed and never finished"), behind = used + 512;
        memset(file + at + 12, 0, 4);
        memcpy(file + behind, noise[i], strlen(noise[i]));
        reopen(i % 2 ? behind + strlen(noise[i]) : sizeof(file));
        ck_assert_uint_eq(tp_names_unfinished(names), 1);
        ck_assert_uint_eq(tp_names_damaged(names), noise[i][0] != '\0');
        const struct tp_diag *first = tp_names_first_damage(names);
        ck_assert_int_eq(first != NULL, noise[i][0] != '\0');
        if (first)
            ck_assert_uint_eq(first->offset, behind);
        check_text(16, "good");
        tp_names_close(names);
    }
}
END_TEST

START_TEST(room_that_was_claimed_and_left_empty_is_passed_over)
{
    for (unsigned hole = 8; hole < 200; hole += 8) {
        setup();
        add_text(16, "before");
        used += hole;
        add_text(17, "after");
        reopen(sizeof(file));
        check_text(16, "before");
        check_text(17, "after");
        ck_assert_uint_eq(tp_names_damaged(names), 0);
        ck_assert_uint_eq(tp_names_unfinished(names), 1);
        tp_names_close(names);
    }
}
END_TEST

START_TEST(id_used_twice_keeps_its_first_name_and_counts)
{
    add_text(16, "first");
    add_text(16, "second");
    reopen(used);
    check_text(16, "first");
    ck_assert_uint_eq(tp_names_count(names), 1);
    ck_assert_uint_eq(tp_names_damaged(names), 1);
    tp_names_close(names);
}
END_TEST

START_TEST(record_that_no_writer_makes_is_passed_over)
{
    static char wide[TP_NAME_LENGTH_LIMIT + 1];

    add_text(5, "an id that is reserved");
    add_text(TP_NAME_FIRST + TP_NAME_LIMIT, "an id too high");
    add(16, 0, "no kind", 7);
    add_text(17, "good");
    reopen(sizeof(file));
    check_text(17, "good");
    ck_assert_uint_eq(tp_names_count(names), 1);
    ck_assert_uint_gt(tp_names_damaged(names), 0);
    tp_names_close(names);

    static uint8_t large[sizeof(wide) + 200];
    setup();
    memcpy(large, file, 64);
    struct tp_name_record record = {.id = 16, .kind = TP_NAME_TEXT, .length = sizeof(wide)};
    record.checksum = tp_name_checksum(&record, wide);
    memcpy(large + 64, &record, sizeof(record));
    ck_assert_int_eq(tp_names_open(&names, large, sizeof(large), uuid, &diag), 0);
    ck_assert_uint_eq(tp_names_count(names), 0);
    tp_names_close(names);
    record.length = TP_NAME_LENGTH_LIMIT;
    record.checksum = tp_name_checksum(&record, wide);
    memcpy(large + 64, &record, sizeof(record));
    ck_assert_int_eq(tp_names_open(&names, large, sizeof(large), uuid, &diag), 0);
    ck_assert_uint_eq(tp_names_count(names), 1);
    tp_names_close(names);
}
END_TEST

START_TEST(kind_of_a_later_version_is_kept)
{
    struct tp_name name;

    add(16, 200, "new", 3);
    reopen(used);
    ck_assert(tp_names_get(names, 16, &name));
    ck_assert_uint_eq(name.kind, 200);
    tp_names_close(names);
}
END_TEST

START_TEST(file_of_another_process_kind_or_version_is_refused)
{
    static const uint8_t other[16] = {1};

    ck_assert_int_eq(tp_names_open(&names, file, used, other, &diag), -TP_EFOREIGN);
    ck_assert_int_eq(tp_names_open(&names, file, 63, uuid, &diag), -TP_ETRUNCATED);
    ck_assert_int_eq(tp_names_open(&names, file, used, NULL, &diag), 0);
    tp_names_close(names);
    tp_file_header_write(file, TP_FILE_MAGIC, uuid, 0);
    ck_assert_int_eq(tp_names_open(&names, file, used, uuid, &diag), -TP_EFOREIGN);
}
END_TEST

/* Whatever is done to the file: a name that is given out is the one that was stored. Returns how
 * many are. */
static unsigned count_true_names(const uint8_t *bytes, size_t size, const char *const *texts,
                                 unsigned count)
{
    uint8_t *copy = malloc(size ? size : 1);
    unsigned found = 0;

    memcpy(copy, bytes, size);
    if (!tp_names_open(&names, copy, size, NULL, NULL)) {
        for (unsigned i = 0; i < count; i++) {
            struct tp_name name;
            if (!tp_names_get(names, 16 + i, &name))
                continue;
            if (name.size != strlen(texts[i]) || memcmp(name.bytes, texts[i], name.size))
                ck_abort_msg("name %u is not its own", 16 + i);
            found++;
        }
        tp_names_close(names);
    }
    free(copy);
    return found;
}

static const char *const some_texts[] = {
    "aten::add",
    "aten::addmm",
    "",
    "a",
    "ProfilerStep",
    "12345678",
    "a name that is longer than the others, as names of templates are"};

START_TEST(names_file_cut_anywhere_keeps_its_whole_names)
{
    size_t ends[UNIT_COUNT(some_texts)];

    for (unsigned i = 0; i < UNIT_COUNT(some_texts); i++)
        ends[i] =
            add_text(16 + i, some_texts[i]) + sizeof(struct tp_name_record) + strlen(some_texts[i]);
    for (size_t cut = 0; cut <= used; cut++) {
        unsigned whole = 0, found = count_true_names(file, cut, some_texts, UNIT_COUNT(some_texts));
        for (unsigned i = 0; cut >= 64 && i < UNIT_COUNT(some_texts); i++)
            whole += ends[i] <= cut;
        if (found != whole)
            ck_abort_msg("cut at %zu: %u names, expected %u", cut, found, whole);
    }
}
END_TEST

START_TEST(flipped_bit_costs_one_name)
{
    for (unsigned i = 0; i < UNIT_COUNT(some_texts); i++)
        add_text(16 + i, some_texts[i]);
    for (size_t at = 64; at < used; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            file[at] ^= (uint8_t)(1u << bit);
            unsigned found =
                count_true_names(file, used + 1000, some_texts, UNIT_COUNT(some_texts));
            file[at] ^= (uint8_t)(1u << bit);
            if (found < UNIT_COUNT(some_texts) - 1)
                ck_abort_msg("byte %zu, bit %u: %u names left", at, bit, found);
        }
}
END_TEST

START_TEST(noise_gives_no_names)
{
    struct random random = {random_seed("noise")};
    static const char *const texts[] = {"x"};

    for (unsigned round = 0; round < 3000; round++) {
        setup();
        size_t size = 64 + random_below(&random, 2000);
        for (size_t i = 64; i < size; i++)
            file[i] = (uint8_t)(random_below(&random, 2) ? random_u64(&random) : 0);
        if (count_true_names(file, size, texts, 1))
            ck_abort();
    }
}
END_TEST

/* Each 8 bytes look like the header of a long record: a reader that summed each would need minutes.
 */
START_TEST(file_full_of_false_headers_costs_a_few_passes)
{
    size_t size = 32 << 20;
    uint8_t *large = calloc(1, size);
    clock_t start = clock();

    ck_assert_ptr_nonnull(large);
    memcpy(large, file, 64);
    for (size_t at = 64; at + 16 <= size; at += 8) {
        tp_wire_store_u32(large + at, 60000);
        tp_wire_store_u32(large + at + 4, 1);
    }
    ck_assert_int_eq(tp_names_open(&names, large, size, uuid, &diag), 0);
    ck_assert_uint_eq(tp_names_count(names), 0);
    ck_assert_uint_gt(tp_names_damaged(names), 0);
    tp_names_close(names);
    ck_assert_int_lt((clock() - start) / CLOCKS_PER_SEC, 10);
    free(large);
}
END_TEST

START_TEST(names_without_memory_say_so)
{
    int error = -ENOMEM;

    add_text(16, "low");
    add_text(5000, "high");
    for (unsigned number = 1; error; number++) {
        unit_fail_allocation(number);
        error = tp_names_open(&names, file, used, uuid, &diag);
        unit_fail_allocation(0);
        ck_assert(!error || error == -ENOMEM);
        ck_assert_uint_lt(number, 100);
    }
    check_text(5000, "high");
    tp_names_close(names);
    tp_names_close(NULL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        names_come_back_by_id_in_any_order,
        ids_without_a_record_have_no_name_and_the_fixed_ones_have_theirs,
        file_without_names_is_a_names_file,
        record_that_was_never_finished_is_passed_over,
        damage_is_told_from_what_a_killed_writer_leaves,
        room_that_was_claimed_and_left_empty_is_passed_over,
        id_used_twice_keeps_its_first_name_and_counts,
        record_that_no_writer_makes_is_passed_over,
        kind_of_a_later_version_is_kept,
        file_of_another_process_kind_or_version_is_refused,
        names_file_cut_anywhere_keeps_its_whole_names,
        flipped_bit_costs_one_name,
        noise_gives_no_names,
        file_full_of_false_headers_costs_a_few_passes,
        names_without_memory_say_so,
    };

    return unit_run("names", setup, NULL, tests, UNIT_COUNT(tests));
}
