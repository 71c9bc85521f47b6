/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "input/input.h"

static const struct tp_selection all;

static int open_text(struct tp_input *input, const char *text, struct tp_diag *diag)
{
    static char path[64];
    int fd = memfd_create("input", 0);

    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return tp_input_open(input, path, &all, diag);
}

START_TEST(an_event_list_is_known_by_its_content)
{
    static const char *const texts[] = {"{\"events\":[]}", " \n[{\"id\":1,\"start_us\":2}]", "[]",
                                        "{\"x\": 1}", "\xef\xbb\xbf[]"};
    struct tp_input input;
    struct tp_diag diag;

    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(open_text(&input, texts[i], &diag), 0);
        ck_assert_str_eq(input.kind->name, "event-list");
        tp_input_close(&input);
    }
}
END_TEST

START_TEST(other_files_are_described)
{
    struct tp_input input;
    struct tp_diag diag;

    ck_assert_int_eq(open_text(&input, "\x1f\x8c gzip", &diag), -TP_EFOREIGN);
    ck_assert_ptr_nonnull(
        strstr(diag.text, "it begins with \"\\u001f\xef\xbf\xbd gzip\"; expected "));
    ck_assert_ptr_nonnull(strstr(diag.text, "an event list in JSON"));
    ck_assert_int_eq(open_text(&input, "", &diag), -TP_EFOREIGN);
    ck_assert_ptr_nonnull(strstr(diag.text, "it is empty; expected "));
}
END_TEST

START_TEST(missing_files_and_empty_folders_are_errors)
{
    struct tp_input input;
    struct tp_diag diag;

    ck_assert_int_eq(tp_input_open(&input, "/nonexistent", &all, &diag), -ENOENT);
    ck_assert_str_eq(diag.file, "/nonexistent");
    char folder[] = "/tmp/test_input.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(tp_input_open(&input, folder, &all, &diag), -TP_ENOTFOUND);
    ck_assert_str_eq(diag.text, "no recording in this directory");
    rmdir(folder);
    tp_input_close(&(struct tp_input){0});
}
END_TEST

START_TEST(losses_add_up_and_the_first_is_told)
{
    struct tp_input input = {.fd = -1};

    tp_input_lost(&input, 3, "block %d", 7);
    tp_input_lost(&input, 2, "block %d", 8);
    ck_assert_uint_eq(input.lost_count, 5);
    ck_assert_str_eq(input.lost_text, "block 7");
}
END_TEST

START_TEST(reading_goes_on_behind_the_head)
{
    struct tp_input input;
    struct tp_diag diag;
    size_t size = TP_INPUT_HEAD + 5000;
    uint64_t offset = 0;
    char *text = malloc(size + 1), buffer[3000];

    memset(text, ' ', size);
    text[0] = '[';
    text[TP_INPUT_HEAD - 1] = 'a';
    text[TP_INPUT_HEAD] = 'b';
    text[size] = '\0';
    ck_assert_int_eq(open_text(&input, text, &diag), 0);
    for (size_t at = 0; at < size;) {
        ptrdiff_t got = tp_input_read(&input, &offset, buffer, sizeof(buffer));
        ck_assert_int_gt(got, 0);
        ck_assert_int_eq(memcmp(buffer, text + at, (size_t)got), 0);
        at += (size_t)got;
    }
    ck_assert_int_eq(tp_input_read(&input, &offset, buffer, sizeof(buffer)), 0);
    tp_input_close(&input);
    free(text);
}
END_TEST

RUN_TESTS("input", an_event_list_is_known_by_its_content, other_files_are_described,
          missing_files_and_empty_folders_are_errors, losses_add_up_and_the_first_is_told,
          reading_goes_on_behind_the_head)
