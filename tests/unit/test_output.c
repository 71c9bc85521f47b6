/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "view/output.h"

static struct tp_output output;
static char folder[] = "/tmp/test_output.XXXXXX";

static const char *path_in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int count_files(void)
{
    DIR *dir = opendir(folder);
    int count = 0;

    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void read_file(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY);
    ssize_t got = read(fd, buffer, size - 1);

    ck_assert_int_ge(got, 0);
    buffer[got] = '\0';
    close(fd);
}

static void clean(void)
{
    unlink(path_in_folder("report"));
    rmdir(folder);
}

START_TEST(a_file_appears_whole_at_close)
{
    struct tp_diag diag;
    char text[64];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    const char *path = path_in_folder("report");
    ck_assert_int_eq(tp_output_open(&output, path, &diag), 0);
    tp_output_bytes(&output, "hello", 5);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(tp_output_close(&output, true, &diag), 0);
    read_file(path, text, sizeof(text));
    ck_assert_str_eq(text, "hello");
    ck_assert_int_eq(count_files(), 1);
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0666 & ~mask);
    clean();
}
END_TEST

START_TEST(a_failed_report_leaves_the_old_file)
{
    struct tp_diag diag;
    char text[64];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    const char *path = path_in_folder("report");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(write(fd, "old", 3), 3);
    close(fd);
    ck_assert_int_eq(tp_output_open(&output, path, &diag), 0);
    tp_output_bytes(&output, "new", 3);
    ck_assert_int_eq(tp_output_close(&output, false, &diag), 0);
    read_file(path, text, sizeof(text));
    ck_assert_str_eq(text, "old");
    ck_assert_int_eq(count_files(), 1);
    clean();
}
END_TEST

START_TEST(more_than_the_buffer_arrives_in_order)
{
    struct tp_diag diag;
    int fd = memfd_create("out", 0);
    char text[8], large[TP_OUTPUT_ROOM + 10];

    memset(large, 'x', sizeof(large));
    tp_output_open(&output, NULL, &diag);
    output.fd = fd;
    tp_output_bytes(&output, "begin", 5);
    tp_output_bytes(&output, large, sizeof(large));
    tp_output_bytes(&output, "end", 3);
    ck_assert_int_eq(tp_output_close(&output, true, &diag), 0);
    ck_assert_int_eq(lseek(fd, 0, SEEK_END), (off_t)sizeof(large) + 8);
    ck_assert_int_eq(pread(fd, text, 7, 0), 7);
    ck_assert_int_eq(strncmp(text, "beginxx", 7), 0);
    ck_assert_int_eq(pread(fd, text, 3, (off_t)sizeof(large) + 5), 3);
    ck_assert_int_eq(strncmp(text, "end", 3), 0);
    close(fd);
}
END_TEST

START_TEST(a_full_disk_is_reported)
{
    struct tp_diag diag = {0};

    ck_assert_int_eq(tp_output_open(&output, "/dev/full", &diag), 0);
    tp_output_bytes(&output, "x", 1);
    ck_assert_int_eq(tp_output_close(&output, true, &diag), -ENOSPC);
    ck_assert_str_eq(diag.file, "/dev/full");
    ck_assert_ptr_nonnull(strstr(diag.text, "No space left"));
}
END_TEST

START_TEST(a_reader_that_went_away_is_epipe)
{
    struct tp_diag diag = {0};
    int ends[2];

    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    tp_output_open(&output, NULL, &diag);
    output.fd = ends[1];
    tp_output_bytes(&output, "x", 1);
    ck_assert_int_eq(tp_output_close(&output, true, &diag), -EPIPE);
    close(ends[1]);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_reported)
{
    struct tp_diag diag = {0};

    ck_assert_int_eq(tp_output_open(&output, "/nonexistent/report", &diag), -ENOENT);
    ck_assert_str_eq(diag.file, "/nonexistent/report");
}
END_TEST

RUN_TESTS("output", a_file_appears_whole_at_close, a_failed_report_leaves_the_old_file,
          more_than_the_buffer_arrives_in_order, a_full_disk_is_reported,
          a_reader_that_went_away_is_epipe, a_folder_that_is_not_there_is_reported)
