/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/progress.h"

/* What a terminal gets to see; @age: how long reading has taken. */
static void step_on_terminal(int64_t age_ns, uint64_t total, char *seen, size_t size)
{
    struct tp_progress progress;
    int master = posix_openpt(O_RDWR | O_NOCTTY);

    ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    tp_progress_init(&progress, terminal);
    progress.start_ns -= age_ns;
    tp_progress_step(&progress, "file", 50, total);
    progress.shown_ns += progress.shown_ns ? 60000000000 : 0; /* just shown, however slow we are */
    tp_progress_step(&progress, "file", 51, total);
    tp_progress_end(&progress);
    ck_assert_int_eq(write(terminal, "!", 1), 1); /* what was written arrives some time later */
    size_t used = 0;
    while (!used || seen[used - 1] != '!') {
        ssize_t got = read(master, seen + used, size - used);
        ck_assert_int_gt(got, 0);
        used += (size_t)got;
    }
    seen[used - 1] = '\0';
    close(terminal);
    close(master);
}

START_TEST(a_terminal_sees_it_after_a_second)
{
    char seen[256];

    step_on_terminal(2000000000, 200, seen, sizeof(seen));
    ck_assert_str_eq(seen, "\rtpreport: reading file 25%\033[K\r\033[K");
    step_on_terminal(2000000000, 0, seen, sizeof(seen));
    ck_assert_ptr_nonnull(strstr(seen, "file 0 MB"));
}
END_TEST

START_TEST(a_short_read_shows_nothing)
{
    char seen[256];

    step_on_terminal(0, 200, seen, sizeof(seen));
    ck_assert_str_eq(seen, "");
}
END_TEST

START_TEST(a_pipe_sees_nothing)
{
    struct tp_progress progress;
    int ends[2];
    char byte;

    ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
    tp_progress_init(&progress, ends[1]);
    progress.start_ns -= 2000000000;
    tp_progress_step(&progress, "file", 1, 2);
    tp_progress_end(&progress);
    tp_progress_step(NULL, "file", 1, 2);
    ck_assert_int_lt(read(ends[0], &byte, 1), 1);
}
END_TEST

RUN_TESTS("progress", a_terminal_sees_it_after_a_second, a_short_read_shows_nothing,
          a_pipe_sees_nothing)
