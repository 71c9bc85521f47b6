/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/torch/internal.h"
#include "source/torch/safecopy.h"

START_TEST(decimal_equals_printf)
{
    static const double cases[] = {0.1,
                                   1e22,
                                   5e-324,
                                   1.7976931348623157e308,
                                   1e-4,
                                   1e-5,
                                   9.9999999999999995e16,
                                   -0.5,
                                   1e16,
                                   1e17,
                                   123456789012345678.0,
                                   2.5,
                                   0,
                                   -0.0,
                                   1 / 3.,
                                   -1e-7,
                                   2.2250738585072014e-308,
                                   1e10,
                                   4.35,
                                   0.30000000000000004};
    uint64_t state = 88172645463325252u;

    for (unsigned i = 0; i < 6000; i++) {
        char ours[32], theirs[64];
        double value;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(&value, &state, sizeof value);
        if (i < sizeof cases / sizeof cases[0])
            value = cases[i];
        else if (i % 2)
            value = (double)(int64_t)(state >> 30) / (double)(1u << (state & 15));
        if (value != value)
            continue;
        size_t length = tp_torch_decimal(value, ours);
        ck_assert_uint_lt(length, sizeof ours);
        ours[length] = '\0';
        snprintf(theirs, sizeof theirs, "%.17g", value);
        ck_assert_msg(strcmp(ours, theirs) == 0, "%s, printf says %s; round %u", ours, theirs, i);
    }
}
END_TEST

static void bad_addresses_are_told(int by_kernel)
{
    struct tp_safecopy copy = {.by_kernel = by_kernel, .pipe = {-1, -1}};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages =
        mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *to = malloc(3 * page);

    ck_assert_ptr_ne(pages, MAP_FAILED);
    memset(pages, 7, 3 * page);
    munmap(pages + 2 * page, page);
    ck_assert_uint_eq(tp_safecopy_read(&copy, to, pages, 2 * page), 2 * page);
    ck_assert_int_eq(to[2 * page - 1], 7);
    ck_assert_uint_eq(tp_safecopy_read(&copy, to, pages + 2 * page - 24, 100), 24);
    ck_assert_uint_eq(tp_safecopy_read(&copy, to, pages + 2 * page, 8), 0);
    ck_assert_uint_eq(tp_safecopy_read(&copy, to, NULL, 8), 0);
    ck_assert_uint_eq(tp_safecopy_read(&copy, to, (void *)3, 8), 0);
    ck_assert_uint_eq(tp_safecopy_read(&copy, to, (void *)(UINTPTR_MAX - 3), 8), 0);
    ck_assert_uint_eq(tp_safecopy_read(&copy, to, (void *)(UINT64_C(1) << 60), 8), 0);
    ck_assert_uint_eq(tp_safecopy_read(&copy, to, pages, 16), 16);
    tp_safecopy_fini(&copy);
    munmap(pages, 2 * page);
    free(to);
}

START_TEST(bad_addresses_are_told_by_the_pipe)
{
    bad_addresses_are_told(0);
}
END_TEST

START_TEST(bad_addresses_are_told_by_the_kernel)
{
    struct tp_safecopy copy;

    tp_safecopy_init(&copy);
    if (copy.by_kernel) /* forbidden in some containers */
        bad_addresses_are_told(1);
    tp_safecopy_fini(&copy);
}
END_TEST

START_TEST(guess_is_the_nearest_older_version)
{
    const struct tp_torch_layout *old = tp_torch_layout_guess("1.13.1+cu117");

    ck_assert_ptr_eq(tp_torch_layout_guess(NULL), old);
    ck_assert_ptr_eq(tp_torch_layout_guess("1.8"), old);
    ck_assert_ptr_eq(tp_torch_layout_guess("2.14.9"), old);
    ck_assert_ptr_ne(tp_torch_layout_guess("2.15.0+cu132"), old);
    ck_assert_ptr_eq(tp_torch_layout_guess("3.0a"), tp_torch_layout_guess("2.15"));
}
END_TEST

START_TEST(every_field_has_a_name)
{
    unsigned bits = 0;

    while (tp_torch_layout_field(bits) != NULL)
        bits++;
    ck_assert_uint_eq((1u << bits) - 1, TP_TORCH_HAS_ALL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torch calibration");
    TCase *tcase = tcase_create("core");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, decimal_equals_printf);
    tcase_add_test(tcase, bad_addresses_are_told_by_the_pipe);
    tcase_add_test(tcase, bad_addresses_are_told_by_the_kernel);
    tcase_add_test(tcase, guess_is_the_nearest_older_version);
    tcase_add_test(tcase, every_field_has_a_name);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
