/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 1000, STEP_MS = 200, WIDTH = 79 };

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int put_size(char *text, size_t size, uint64_t bytes)
{
    if (bytes >= 1000000000)
        return snprintf(text, size, "%.1f GB", (double)bytes / 1e9);
    return snprintf(text, size, "%.0f MB", (double)bytes / 1e6);
}

void tp_progress_line(char *line, size_t size, const char *name, uint64_t done, uint64_t total)
{
    const char *base = strrchr(name, '/');
    char amount[32];

    put_size(amount, sizeof(amount), total ? total : done);
    if (total)
        snprintf(line, size, "reading %.40s: %d%% of %s", base && base[1] ? base + 1 : name,
                 (int)(done < total ? done * 100 / total : 100), amount);
    else
        snprintf(line, size, "reading %.40s: %s", base && base[1] ? base + 1 : name, amount);
}

static void write_line(struct tp_progress *progress, const char *line)
{
    char text[WIDTH + 8];

    int size = snprintf(text, sizeof(text), "\r%-*.*s\r", WIDTH, WIDTH, line);
    if (size > 0 && write(progress->fd, text, (size_t)size) < 0)
        progress->fd = -1; /* the terminal has gone */
}

static void advance(void *context, uint64_t done, uint64_t total)
{
    struct tp_progress *progress = context;
    char line[WIDTH + 1];

    if (progress->fd < 0)
        return;
    int64_t now = now_ms();
    if (now - progress->start_ms < FIRST_MS || now - progress->shown_ms < STEP_MS)
        return;
    progress->shown_ms = now;
    progress->is_shown = true;
    tp_progress_line(line, sizeof(line), progress->name, done, total);
    write_line(progress, line);
}

void tp_progress_init(struct tp_progress *progress, int fd)
{
    *progress = (struct tp_progress){
        .watch = {.advance = advance, .context = progress},
        .name = "",
        .fd = isatty(fd) ? fd : -1,
    };
}

void tp_progress_start(struct tp_progress *progress, const char *name)
{
    progress->name = name;
    progress->start_ms = now_ms();
}

void tp_progress_clear(struct tp_progress *progress)
{
    if (progress->is_shown && progress->fd >= 0)
        write_line(progress, "");
    progress->is_shown = false;
}
