/* SPDX-License-Identifier: MIT */
#include "input/progress.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

enum { PATIENCE_NS = 1000000000, PAUSE_NS = 200000000 };

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* What does not fit a terminal is no loss, nor is a failed write. */
static void show(const struct tp_progress *progress, const char *line)
{
    ssize_t ignored = write(progress->fd, line, strlen(line));

    (void)ignored;
}

void tp_progress_init(struct tp_progress *progress, int fd)
{
    *progress = (struct tp_progress){.fd = isatty(fd) ? fd : -1, .start_ns = now_ns()};
}

void tp_progress_step(struct tp_progress *progress, const char *what, uint64_t done, uint64_t total)
{
    char line[160];
    struct tp_text text;

    if (!progress || progress->fd < 0)
        return;
    int64_t now = now_ns();
    if (now - progress->start_ns < PATIENCE_NS || now - progress->shown_ns < PAUSE_NS)
        return;
    progress->shown_ns = now;
    tp_text_init(&text, line, sizeof(line));
    tp_text_format(&text, "\rtpreport: reading %.*s ", 60, what);
    if (total && done <= total)
        tp_text_format(&text, "%llu%%\033[K", (unsigned long long)(done * 100 / total));
    else
        tp_text_format(&text, "%llu MB\033[K", (unsigned long long)(done >> 20));
    show(progress, line);
}

void tp_progress_end(struct tp_progress *progress)
{
    if (progress && progress->fd >= 0 && progress->shown_ns)
        show(progress, "\r\033[K");
}
