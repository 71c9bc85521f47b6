/* SPDX-License-Identifier: MIT */
/* Texts as the sources take them: compared in words, turned from wide characters, kept for ever. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "intern.h"
#include "pool.h"
#include "scope.h"
#include "source/malloc/malloc.h"
#include "sources.h"

const struct tp_source tp_source_malloc = {0};

void tp_malloc_stop_counting(void)
{
}

/* A page of which the next one may not be touched. */
static char *last_page(long *ret_size)
{
    long size = sysconf(_SC_PAGESIZE);
    char *pages =
        mmap(NULL, 2 * (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert(pages != MAP_FAILED);
    ck_assert(!mprotect(pages + size, (size_t)size, PROT_NONE));
    *ret_size = size;
    return pages;
}

START_TEST(texts_of_every_length_and_place_are_compared_right)
{
    long size;
    char *page = last_page(&size), copy[64];

    for (size_t length = 0; length < 40; length++)
        for (size_t room = length + 1; room < length + 10; room++) {
            char *text =
                page + size - room; /* its end is 0 to 8 bytes before what may not be read */
            memset(copy, 'z', sizeof(copy));
            for (size_t i = 0; i < length; i++)
                text[i] = copy[i] = (char)('a' + i % 26);
            text[length] = '\0';
            ck_assert(tp_same_text(text, copy, length));
            if (length)
                ck_assert(!tp_same_text(text, copy, length - 1)); /* the text goes on */
            ck_assert(!tp_same_text(text, copy, length + 1));     /* it has ended */
            for (size_t i = 0; i < length; i++) {
                copy[i] ^= 1;
                ck_assert(!tp_same_text(text, copy, length));
                copy[i] ^= 1;
            }
        }
}
END_TEST

START_TEST(random_texts_are_the_same_exactly_when_strcmp_says_so)
{
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)time(NULL);
    char a[48], b[48];

    srandom(seed);
    for (int turn = 0; turn < 200000; turn++) {
        size_t n = (size_t)(random() % 20), m = random() % 2 ? n : (size_t)(random() % 20),
               at = (size_t)(random() % 9);
        memset(a, 0, sizeof(a));
        memset(b, 0, sizeof(b));
        for (size_t i = 0; i < n; i++)
            a[at + i] = (char)("xy"[random() % 16 == 0]);
        for (size_t i = 0; i < m; i++)
            b[i] = (char)("xy"[random() % 16 == 0]);
        ck_assert_msg(tp_same_text(a + at, b, m) == !strcmp(a + at, b), "seed %u: %s, %s", seed,
                      a + at, b);
    }
}
END_TEST

static const struct {
    const wchar_t *wide;
    const char *utf8;
} wide_cases[] = {
    {L"", ""},
    {L"plain", "plain"},
    {L"\u00e9\u20ac\U0001f600", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {(const wchar_t[]){0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0},
     "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80"},
    {(const wchar_t[]){0xd800, 0xdfff, 0x110000, -1, 0},
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
};

START_TEST(wide_texts_become_utf8)
{
    char buffer[64];
    bool whole;
    size_t n = tp_wide_utf8(wide_cases[_i].wide, buffer, sizeof(buffer), &whole);

    ck_assert(whole);
    ck_assert_uint_eq(n, strlen(wide_cases[_i].utf8));
    ck_assert_mem_eq(buffer, wide_cases[_i].utf8, n);
}
END_TEST

START_TEST(a_wide_text_that_does_not_fit_says_so_and_has_whole_characters)
{
    char buffer[10];
    bool whole;
    size_t n = tp_wide_utf8(L"\u20ac\u20ac\u20ac\u20ac", buffer, sizeof(buffer), &whole);

    ck_assert(!whole);
    ck_assert_uint_eq(n % 3, 0);
    ck_assert_uint_le(n, sizeof(buffer));
}
END_TEST

static bool is_filled(const unsigned char *block, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++)
        if (block[i] != value)
            return false;
    return true;
}

START_TEST(pool_gives_aligned_zeroed_memory_that_stays)
{
    unsigned char *blocks[5000];

    for (unsigned i = 0; i < 5000; i++) {
        blocks[i] = tp_pool_get(1 + i % 300);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        ck_assert(is_filled(blocks[i], 1 + i % 300, 0));
        memset(blocks[i], (int)(i & 0xff), 1 + i % 300);
    }
    for (unsigned i = 0; i < 5000; i++)
        ck_assert(is_filled(blocks[i], 1 + i % 300, (unsigned char)i));
    ck_assert_ptr_nonnull(tp_pool_get(100000));
    ck_assert_ptr_null(tp_pool_get(2u << 20));
}
END_TEST

START_TEST(scratch_of_two_borrowers_is_not_the_same)
{
    char *scratches[20];

    for (int i = 0; i < 20; i++) {
        scratches[i] = tp_scratch_take();
        ck_assert_ptr_nonnull(scratches[i]);
        for (int k = 0; k < i; k++)
            ck_assert(scratches[k] != scratches[i]);
    }
    for (int i = 0; i < 20; i++)
        tp_scratch_give(scratches[i]);
    tp_scratch_give(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("names_of_sources");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, texts_of_every_length_and_place_are_compared_right);
    tcase_add_test(tcase, random_texts_are_the_same_exactly_when_strcmp_says_so);
    tcase_add_loop_test(tcase, wide_texts_become_utf8, 0,
                        sizeof(wide_cases) / sizeof(wide_cases[0]));
    tcase_add_test(tcase, a_wide_text_that_does_not_fit_says_so_and_has_whole_characters);
    tcase_add_test(tcase, pool_gives_aligned_zeroed_memory_that_stays);
    tcase_add_test(tcase, scratch_of_two_borrowers_is_not_the_same);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
